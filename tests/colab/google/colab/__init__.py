"""A stand-in for what Colab's kernels have loaded: as much of it as set-up cells and anywidget use."""
from . import output  # noqa: F401 -- anywidget looks for it in sys.modules
