"""Which heads matter: gates on heads, four measures of their worth, and smaller layers.

A head is named by its layer, as in ``model.named_modules()``, and its number:
``("decoder.0.cross", 2)``. Layers are ``MultiHeadAttention`` or, except for pruning,
``nn.MultiheadAttention``.
"""
from .comparing import compare_recordings, patched
from .gates import all_heads, attention_layers, closed, gates
from .measures import ablate_one, gradient, greedy, keep_one, rank_correlation
from .pruning import prune, prune_heads

__all__ = ["ablate_one", "all_heads", "attention_layers", "closed", "compare_recordings", "gates",
           "gradient", "greedy", "keep_one", "patched", "prune", "prune_heads", "rank_correlation"]
