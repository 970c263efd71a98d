"""Reading the values of tensors, where they exist: not under compile, vmap or on ``meta``."""
import torch
from torch import Tensor


def readable(X: Tensor) -> bool:
    """Whether values can be read: not under compile, export, trace, vmap, nor on ``meta``."""
    tracing = torch.jit.is_tracing()  # type: ignore[attr-defined]  # public, but not for mypy
    if tracing or torch.compiler.is_compiling() or X.is_meta:
        return False
    try:
        X.data_ptr()
    except RuntimeError:  # what stands for numbers without having any
        return False
    return True


def min_and_max(X: Tensor) -> tuple[int, int]:
    """Of integers, read at once; 0 and 0 where there are none or they can't be read."""
    if not X.numel() or not readable(X):
        return 0, 0
    low, high = torch.stack(X.long().aminmax()).tolist()
    return low, high


def surely_all(answer: Tensor) -> bool:
    """Whether all are True and this is known at once: reading from a GPU would wait for it."""
    return answer.device.type == "cpu" and readable(answer) and bool(answer.all())
