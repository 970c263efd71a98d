"""The rules that notebooks keep, a module a theme. A rule's docstring is the sentence it tells."""
from . import code, exercises, layout, numbers, outputs, sources, words  # noqa: F401  they fill RULES
from .notebook import RULES  # noqa: F401
