"""The browser that the tests and `make latency` drive."""
import os
import pathlib
import shutil
import sys

PROGRAM = (shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
           or next((path for path in ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",) if pathlib.Path(path).exists()), None))
ROOT_NEEDS = ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []  # Chromium refuses to run as root otherwise
