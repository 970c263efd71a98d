"""Bad calls beyond the core: the laboratory, dates, exercises, explorers, D2L's names.

One row a call, as in test_bad_input.py.
"""
import datetime

import pytest
import torch
from test_bad_input import assert_refused
from torch import nn

from d2l_ext import MultiHeadAttention, exercises, explorers
from d2l_ext import laboratory as lab
from d2l_ext.compat import d2l_0_17, d2l_1_0
from d2l_ext.explorers import clock_explorer, compare_explorer, dates_explorer, heads_explorer
from d2l_ext.explorers import lengths_explorer, order_explorer, pooling_explorer
from d2l_ext.laboratory import dates
from d2l_ext.transformer import EncoderDecoder

X, ONE = torch.randn(2, 5, 8), torch.tensor([[1, 2]])
CODER, ATTENTION = EncoderDecoder(9, 5, 8, 2), MultiHeadAttention(8, 2)
FIVE, EIGHT = list("abcde"), list("abcdefgh")
