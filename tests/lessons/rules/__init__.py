"""The rules that notebooks keep, by theme. A rule's docstring is the sentence that it tells.

    layout     ids, tags, fixed cells, length, headings, sections of deeper notebooks
    words      prose, links, pictures
    code       what a code cell may hold, the running example
    outputs    what is stored: order, warnings, figures, predictions, interactive pieces
    exercises  exercises, questions, homework
    numbers    those in sentences, with their sources
    sources    claims, references, symbols
    limits     how long things may be
    notebook   what rules are written with: Notebook, Cell, `rule`, `rule_for_all`
"""
from . import code, exercises, layout, numbers, outputs, sources, words  # noqa: F401  they fill RULES
from .notebook import RULES  # noqa: F401
