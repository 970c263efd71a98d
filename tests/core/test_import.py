"""Both the helper module and D2L's names load torch alone; what is public is documented."""
import subprocess
import sys

import pytest

import d2l_ext

HEAVY = {"matplotlib", "IPython", "ipywidgets", "pandas", "scipy", "requests", "PIL", "torchvision",
         "d2l"}


@pytest.mark.slow
def test_the_import_loads_nothing_heavy():
    code = ("import sys, torch; old = {*sys.modules}; import attention_lessons.compat; "
            "print(*{*sys.modules} - old)")
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "d2l_ext" in run.stdout
    assert not HEAVY & {name.partition(".")[0] for name in run.stdout.split()}


def test_every_public_name_is_there_and_documented():
    assert all(getattr(d2l_ext, name).__doc__ for name in d2l_ext.__all__)
