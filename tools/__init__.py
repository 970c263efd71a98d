"""What makes, checks and publishes the lessons: `make` lists the entrances."""
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
