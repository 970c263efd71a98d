"""The browser that tests and `make latency` drive."""
import os
import pathlib
import shutil
import sys

MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
NAMES = ("chromium", "google-chrome", "chromium-browser")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), MAC if pathlib.Path(MAC).exists() else None)
# Chromium refuses to run as root otherwise.
ROOT_NEEDS = ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []
