"""Attention you can read: the reusable classes of the attention notebooks.

It needs torch and nothing else. What makes the lessons teach is in ``attention_lessons``.
"""
from .attention import (AdditiveAttention, MultiHeadAttention, dot_product_attention,
                        masked_softmax, merge_heads, split_heads)
from .linear import DeltaRule, LinearAttention
from .masks import Mask, causal, padding, to_sdpa, to_torch_mha, window
from .positional import LearnedPositionalEncoding, PositionalEncoding, sinusoids
from .recording import record_attention
from .relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from .sequence import (GRU, LSTM, Convolution, Recurrence, SelfAttention, cost, flops, influence,
                       reach, state_size)
from .tiles import tiled_attention

__version__ = "0.1.0"
__all__ = [name for name, value in globals().items() if callable(value) and name[0] != "_"]
