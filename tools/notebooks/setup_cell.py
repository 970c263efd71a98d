# @title Set-up: finds the helper package, or fetches it where it is missing.
import importlib.util
import pathlib
import subprocess
import sys

here = pathlib.Path.cwd()
sys.path += [str(folder) for folder in (here, *here.parents[:2])
             if (folder / "d2l_ext").is_dir()]
if importlib.util.find_spec("d2l_ext") is None:  # Colab, Kaggle
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
    package = "git+ADDRESS"
    if subprocess.run([*pip, package]).returncode:
        raise SystemExit("d2l_ext could not be fetched. Without a network, "
                         "put the folder d2l_ext beside this notebook.")
    importlib.invalidate_caches()
if "google.colab" in sys.modules:
    from google.colab import output as colab_output
    colab_output.enable_custom_widget_manager()
