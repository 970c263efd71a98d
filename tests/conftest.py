"""The same random numbers and the same Hypothesis examples on every machine."""
import pytest
import torch
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=30)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
