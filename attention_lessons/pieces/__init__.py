"""Pieces to play with: computed and drawn in the browser, with a kernel and without.

Each explorer has a Python file, which checks what it is given, and a JavaScript file of the same
name, which shows it; ``base.py`` and ``shared.js`` hold what all share.
"""
from .attention import attention_explorer
from .base import Explorer, source
from .clock import clock_explorer
from .compare import compare_explorer
from .dates import dates_explorer
from .heads import heads_explorer
from .lengths import lengths_explorer
from .order import order_explorer
from .pooling import pooling_explorer
from .tiles import tiles_explorer

__all__ = [
    "Explorer", "attention_explorer", "clock_explorer", "compare_explorer", "dates_explorer",
    "heads_explorer", "lengths_explorer", "order_explorer", "pooling_explorer", "source",
    "tiles_explorer",
]
