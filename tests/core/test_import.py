"""``import d2l_ext`` loads torch and nothing heavier; the rest comes when first used."""
import subprocess
import sys


import d2l_ext

HEAVY = {"matplotlib", "IPython", "ipywidgets", "anywidget", "ipykernel", "traitlets", "pandas",
         "scipy", "requests", "PIL", "torchvision", "d2l"}


def loaded_by(statement):
    """The heavy packages that a statement loads in a fresh Python, beyond what torch loads."""
    code = ("import sys, torch; before = set(sys.modules); " + statement
            + "; print(*{name.partition('.')[0] for name in set(sys.modules) - before})")
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return HEAVY & set(run.stdout.split())


def test_the_import_loads_nothing_heavy():
    use = "d2l_ext.MultiHeadAttention(4, 2), d2l_ext.PositionalEncoding(4)"
    assert loaded_by(f"import d2l_ext; from d2l_ext import *; {use}") == set()


def test_every_public_name_is_there_and_documented():
    assert all(getattr(d2l_ext, name).__doc__ for name in d2l_ext.__all__)
