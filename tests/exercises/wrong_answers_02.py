"""Answers to 02 that no slip makes, and what their writers should then read."""
import torch

LINES = {1: [2, 1, 1, 2], 2: [2, 1, 1], 3: [2, 2, 1], 4: [0.5, 0.25, 0.25], 5: [0.4, 0.4, 0.2],
         6: [1.25, 0.5, 1.0, 0.2]}


def stretch(head, steps, hiddens, num_heads):
    return torch.arange(steps).repeat_interleave(hiddens).reshape(num_heads, -1)[head]


WRONG = {
    "split-heads": [(lambda X, h: torch.stack(X.chunk(h, -1)), "heads stand before the batch"),
                    (lambda X, h: list(X.chunk(h, -1)), "got list of 3")],
    "mixed-up": [(lambda *sizes: stretch(*sizes).tolist(), r"Expected \[1, 2, 3\], got \[1, 1,"),
                 (lambda *sizes: stretch(*sizes).unique(), "Return a list, got Tensor")],
    "count-parameters": [
        (lambda d, h, p, q, k, v, bias: (q + k + v) * d + h * p * d,
         r"Expected 174, got 216.\n  It was called with 8, 2, 3, 5, 7, 9, False\.")],
    "pencil": [(LINES | {4: [0.45, 0.27, 0.27]}, "Line 4: the number in place 1, 0.45, is not"),
               (LINES | {6: [1.25, 0.5, 1, float("nan")]}, "Line 6: the number in place 4")],
}
RIGHT = {"pencil": [{float(line): tuple(numbers) for line, numbers in LINES.items()}]}
