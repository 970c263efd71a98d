"""Are the pictures of a cell those that it stored? nbval compares all other outputs.

Machines may round a pixel otherwise, and pictures of trained models vary, as their words do
(``varies`` in alt.toml). Other versions of matplotlib than the pinned one set letters elsewhere.
"""
import base64
import io
import re
import tomllib
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from PIL import Image
from tools import ROOT

PNG = re.compile(r"data:image/png;base64,([\w+/=]+)")
NAME = re.compile(r'name="(\d\d)-([\w-]+)"')
BLOCK = 8  # pixels
APART = 0.05  # of the way from black to white, as the mean of a block


def pinned(*names):
    """Whether packages are here as pinned; 2.13.0+cpu is the pinned 2.13.0."""
    here = {f"{name}=={version(name).partition('+')[0]}" for name in names if find_spec(name)}
    pins = (ROOT / "pins.txt").read_text(encoding="utf-8").splitlines()
    return len(here) == len(names) and here.issubset(pins)


def vary(source):
    """Whether numbers that this code draws may differ between machines, as far as it says."""
    texts = [(ROOT / f"attention_lessons/lesson_{lesson}/alt.toml", cell)
             for lesson, cell in NAME.findall(source)]
    entries = [tomllib.loads(path.read_text("utf-8")).get(cell) for path, cell in texts]
    return not entries or any(not entry or "varies" in entry for entry in entries
                              if not isinstance(entry, str))


def pictures(outputs):
    pages = [str(output.get("data", {}).get("text/html", "")) for output in outputs]
    return [Image.open(io.BytesIO(base64.b64decode(png)))
            for page in pages for png in PNG.findall(page)]


def apart(one, other):
    """The largest difference of the mean colours of a block, 0 to 1; 1 for other sizes."""
    if one.size != other.size:
        return 1.0
    high, wide = (-(-side // BLOCK) for side in one.size[::-1])
    small = [np.asarray(each.convert("RGB").resize((wide, high), Image.Resampling.BOX), dtype=float)
             for each in (one, other)]
    return np.abs(small[0] - small[1]).max() / 255


def unlike(source, new, stored):
    """What is wrong with the new pictures of a cell, in a sentence; empty where nothing is."""
    if vary(source) or not pinned("matplotlib"):
        return ""
    drawn, kept = pictures(new), pictures(stored)
    if len(drawn) != len(kept):
        return f"There are {len(drawn)} pictures, and {len(kept)} were stored."
    worst = max(map(apart, drawn, kept), default=0.0)
    return f"A picture differs by {worst:.2f} from the stored one." if worst > APART else ""
