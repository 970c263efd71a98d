"""The repository's address: see readme.py."""
from readme import slug  # noqa: F401
from readme import main  # noqa: F401
