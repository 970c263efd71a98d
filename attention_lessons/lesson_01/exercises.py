"""The exercises of lesson 01, attention pooling."""
from dataclasses import dataclass

import torch

from ..exercises.kinds import Build


# ---- kernel ----

def regression(x, known_x, known_y, sigma):
    distance = x[:, None] - known_x
    scores = -distance**2 / (2 * sigma**2)
    weights = scores.softmax(-1)
    return weights @ known_y


@dataclass
class AllPairs(Build):
    """Build. An answer whose axes don't fit is tried again with as many points as known points.

    Then it runs, and what it returns tells which axes it has confused.
    """

    def raised(self, answer, case, error):
        *_, known_y, sigma = case
        square = known_y.cos(), known_y.sin(), known_y, sigma
        return self.known(answer, [square]) or super().raised(answer, case, error)


EXERCISES = [
    AllPairs("kernel", regression,
             lambda: [(torch.randn(4), *torch.randn(2, 7), sigma) for sigma in (0.7, 2.0)]),
]
