"""The exercises of lesson 07, convolution, recurrence and self-attention."""
from ..exercises.kinds import Build


def receptive_field(kernel_size, dilations):
    return (kernel_size - 1) // 2 * sum(dilations)


def operations(n, d, inner):
    projections = 4 * 2 * n * d**2
    products = 2 * 2 * n**2 * d
    network = 2 * n * d * inner + 2 * n * inner * d
    return projections + products + network


def unconnected(dilations, n):
    known = [{i} for i in range(n)]
    for gap in dilations:
        after = [set() for i in range(n)]
        for i in range(n):
            for j in (i - gap, i, i + gap):
                if 0 <= j < n:
                    after[i] = after[i] | known[j]
        known = after
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


EXERCISES = [
    Build("receptive-field", receptive_field,
          lambda: [(5, [1, 6, 4]), (3, [1, 2, 4]), (7, [2]), (9, [1, 3, 9, 27])]),
    Build("work", operations, lambda: [(7, 5, 11), (60, 16, 64), (3, 2, 1)]),
    Build("unconnected", unconnected,
          lambda: [([2, 3], 5), ([1, 4], 8), ([1, 3, 9], 10), ([1, 1], 5), ([9, 3, 1], 10),
                   ([1, 2, 4, 8], 10)]),
]
