"""The settings that a notebook may have changed, put aside where numbers don't depend on them."""
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import torch
from torch import Tensor


def no_autocast(X: Tensor) -> AbstractContextManager[object]:
    """Autocast is off for what runs on X's device, where there is such a thing."""
    kind = X.device.type
    return nullcontext() if kind == "meta" else torch.autocast(kind, enabled=False)


@contextmanager
def default_settings() -> Iterator[None]:
    """While open: gradients on, no inference mode, no autocast, float32 and the CPU as defaults."""
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if device.type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.callback(torch.set_default_dtype, dtype)
        torch.set_default_dtype(torch.float32)
        yield
