"""Okabe and Ito's colours, one for each job, for figures, pieces, drawings and pages."""
import json
from pathlib import Path

PALETTE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
