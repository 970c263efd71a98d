"""D2L's names over this package: code from D2L's sections 11.5 and 11.6 runs with another import.

``from d2l import torch as d2l`` becomes ``from attention_lessons.compat import d2l_1_0 as d2l``, or
``d2l_0_17`` for the older signatures. ``d2l`` itself is not needed; matplotlib loads with the first
drawing.
"""
import subprocess
import sys
import warnings
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from types import ModuleType

from . import d2l_0_17, d2l_1_0

__all__ = ["d2l_0_17", "d2l_1_0", "fetch_d2l", "real_d2l"]


def fetch_d2l() -> None:
    """In Colab, install d2l 1.0.3 if it is missing. Elsewhere do nothing.

    Its pinned dependencies of 2023 are left out, so that nothing that is installed changes.
    """
    if "google.colab" in sys.modules and find_spec("d2l") is None:
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "d2l==1.0.3"]
        subprocess.run(install, capture_output=True)
        invalidate_caches()


def real_d2l() -> ModuleType | None:
    """D2L's own ``d2l.torch``, to compare with; None where it can't be imported.

    d2l imports torchvision, which its attention classes don't use. Where torchvision can't be
    imported, d2l gets an empty stand-in, and its functions for images fail when they are called.
    Warnings of the import are not shown.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not importable("d2l.torch") and not importable("torchvision.transforms"):
            names = "torchvision", "torchvision.transforms"
            stand_ins = {name: ModuleType(name) for name in names}
            stand_ins["torchvision"].transforms = stand_ins["torchvision.transforms"]
            sys.modules.update(stand_ins)
            importable("d2l.torch")
            for name in stand_ins:
                del sys.modules[name]
    return sys.modules.get("d2l.torch")


def importable(name: str) -> bool:
    """Whether a module can be imported here; if so, it is imported."""
    try:
        import_module(name)
    except Exception:  # torchvision for another torch raises RuntimeError, an old d2l anything
        return False
    return True
