"""D2L's names over this package: change the import line of code from D2L's sections 11.5 and 11.6, and it runs.

``from d2l import torch as d2l`` becomes ``from d2l_ext.compat import d2l_1_0 as d2l``, or ``d2l_0_17`` for the older signatures.
``d2l`` itself is not needed. Loads torch only; matplotlib loads with the first drawing.
"""
from . import d2l_0_17, d2l_1_0

__all__ = ["d2l_0_17", "d2l_1_0"]
