"""What makes the lessons teach: checks and hints, figures, pieces to move, small models.

The classes that the lessons are about are in ``d2l_ext``. Here a lesson finds the rest by one line,
``from attention_lessons import check, heatmaps, hint``; each part loads when it is first used.
"""
from importlib import import_module
from pathlib import Path

MODULES = {
    "exercises": "check hint",
    "plotting": "bars curves heatmaps picture table",
    "pieces": "",  # PIECES
    "laboratory": "TRIALS accuracy dates results try_encoding",
    "compat": "d2l_0_17 d2l_1_0 fetch_d2l real_d2l",
    "frameworks": "everywhere switch",
    "progress": "progress_bar",
    "interactive": "sliders",
    "languages": "language",
    "lesson_12.exercises": "CASES",
}
PIECES = {f"{path.stem}_explorer": f"pieces.{path.stem}"
          for path in sorted(Path(__file__).parent.glob("pieces/*.py"))
          if path.with_suffix(".js").exists()}
HOMES = PIECES | {name: place for place, names in MODULES.items() for name in names.split()}
__all__ = sorted(HOMES)


def __getattr__(name: str):
    if name in HOMES:
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    if name in MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*__all__, *MODULES]
