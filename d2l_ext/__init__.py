"""Attention you can read: the reusable classes of the attention notebooks.

It needs torch and nothing else. What makes the lessons teach is in ``attention_lessons``.
"""
from .attention import (AdditiveAttention, MultiHeadAttention, dot_product_attention,
                        masked_softmax, merge_heads, split_heads)
from .costs import cost, state_size
from .layers import GRU, LSTM, Convolution, Recurrence, SelfAttention
from .linear import DeltaRule, LinearAttention
from .masks import Mask, causal, padding, to_sdpa, to_torch_mha, window
from .measurements import flops, influence, reach
from .positional import LearnedPositionalEncoding, PositionalEncoding, sinusoids
from .recording import record_attention
from .relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from .tiles import tiled_attention
from .torch_weights import from_torch, to_torch

__version__ = "0.1.0"
__all__ = [
    "ALiBi", "AdditiveAttention", "Convolution", "DeltaRule", "GRU", "LSTM",
    "LearnedPositionalEncoding", "LinearAttention", "Mask", "MultiHeadAttention",
    "PositionalEncoding", "Recurrence", "RotaryEmbedding", "SelfAttention", "ShawRelativeKeys",
    "T5RelativeBias", "causal", "cost", "dot_product_attention", "flops", "from_torch", "influence",
    "masked_softmax", "merge_heads", "padding", "reach", "record_attention", "sinusoids",
    "split_heads", "state_size", "tiled_attention", "to_sdpa", "to_torch", "to_torch_mha", "window",
]
