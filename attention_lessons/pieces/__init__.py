"""Pieces to play with: computed and drawn in the browser, with a kernel and without.

Each explorer has a Python file, which checks what it is given, and a JavaScript file of the same
name, which shows it: ``heads_explorer`` is in ``heads.py``, beside ``heads.js``. ``base.py`` and
``kit.js`` hold what all share.
"""
from importlib import import_module

from .. import PIECES
from .base import Explorer, source

__all__ = ["Explorer", *PIECES, "source"]


def __getattr__(name: str):
    if name in PIECES:
        return getattr(import_module(f"..{PIECES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
