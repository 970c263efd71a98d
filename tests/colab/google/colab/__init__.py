"""A stand-in for what Colab's kernels have loaded: what set-up cells and anywidget use of it."""
from . import output  # noqa: F401 -- anywidget looks for it in sys.modules
