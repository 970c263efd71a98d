"""What learners answer wrongly in 02, and what they should then read."""
import torch

SPLITS = [
    (lambda X, h: X.reshape(X.shape[0], h, X.shape[1], X.shape[2] // h), "without a transpose"),
    (lambda X, h: X.view(*X.shape[:2], h, -1), "swap axes 1 and 2"),
    (lambda X, h: X.view(*X.shape[:2], h, -1).permute(0, 2, 3, 1), "not the last two"),
    (lambda X, h: torch.stack([X[:, :, i::h] for i in range(h)], 1), "deal the columns out"),
    (lambda X, h: X.transpose(1, 2).reshape(len(X), h, X.shape[1], -1), "You transpose"),
    (lambda X, h: torch.stack(X.chunk(h, dim=-1)), "heads stand before the batch"),
    (lambda X, h: list(X.chunk(h, dim=-1)), "got list of 3"),
    (lambda X, h: torch.stack(X.chunk(h, dim=-1), 1).view(-1, X.shape[1], X.shape[2] // h),
     "axis of their own"),
    (lambda X, h: X.unflatten(-1, (2, -1)).transpose(1, 2), "two heads, whatever"),
    (lambda X, h: X.reshape(1, 3, 2, 2).transpose(1, 2), "raises RuntimeError"),  # the lesson's
    (lambda X: X, "raises TypeError"),
    (torch.zeros(2, 3, 5, 4), "Give the function itself, got Tensor"),
]


def stretch(head, steps, hiddens, num_heads):
    return torch.arange(steps).repeat_interleave(hiddens).reshape(num_heads, -1)[head]


MIXED_UP = [
    (lambda head, n, d, h: sorted(range(n)), "That would be the right split"),
    (lambda head, n, d, h: [head], "not the same count"),
    (lambda head, n, d, h: [*range(head * n // h, (head + 1) * n // h)], "middle of a token"),
    (lambda head, n, d, h: [t for t in range(n) if t % h == head], "not dealt out"),
    (lambda *sizes: stretch(*sizes).tolist(), r"Expected \[1, 2, 3\], got \[1, 1,"),
    (lambda *sizes: stretch(*sizes).unique(), "Return a list, got Tensor"),
    (lambda *sizes: len(stretch(*sizes).unique()), "Return a list, got int"),
    (lambda *sizes: (stretch(*sizes).unique() + 1).tolist(), "Tokens count from 0"),
    (lambda head, n, d, h: stretch(head, d, n, h).unique().tolist(), "Those are columns"),
]
COUNTS = [
    (lambda d, h, p, q, k, v, bias: 4 * d**2, "widths of their own"),
    (lambda d, h, p, q, k, v, bias: (q + k + v) * h * p + 3 * h * p * bias, "W_o is missing"),
    (lambda d, h, p, q, k, v, bias: h * ((q + k + v + d) * h * p + (3 * h * p + d) * bias),
     "num_heads twice"),
    (lambda d, h, p, q, k, v, bias: (q + k + v) * h * p + d**2 + (3 * h * p + d) * bias,
     "W_o isn't square"),
    (lambda d, h, p, q, k, v, bias: (q + k + v + h * p) * h * p + (3 * h * p + d) * bias,
     "W_o isn't square"),
    (lambda d, h, p, q, k, v, bias: (q + k + v) * d + h * p * d,
     r"Expected 174, got 216.\n  It was called with 8, 2, 3, 5, 7, 9, False\."),
    (lambda d, h, p, q, k, v, bias: (q + k + v + d) * h * p, "biases are missing"),
    (lambda d, h, p, q, k, v, bias: (q + k + v + d) * h * p + 3 * h * p + d, "where bias=False"),
    (lambda d, h, p, q, k, v, bias: (q + k + v + d) * h * p + (q + k + v + h * p) * bias,
     "output, not its input"),
    (lambda d, h, p, q, k, v, bias: (q + k + v + d) * h * p + 4 * h * p * bias,
     "as wide as its output, num_hiddens"),
    (lambda d, h, p, q, k, v, bias: h * p * (q + k + v + d + 3 * bias), "W_o has a bias too"),
    (lambda d, h, p, q, k, v, bias: [q * h * p, k * h * p], r"Expected 174, got \[30"),
    (174, "Give the function itself, got int"),
    (lambda d, h, p, q, k, v, bias: p * (q + k + v + d) + (3 * p + d) * bias, "That is one head"),
    (lambda d, h, p, q, k, v, bias: h * p * (q + k + v + d) + 4 * d * bias, "biases of W_q, W_k"),
    (lambda d, h, p, q, k, v, bias: d * (q + k + v + d) + 4 * d * bias, "heads' common width"),
]

# ---- the page for pencil -------------------------------------------------------------------------

LINES = {1: [2, 1, 1, 2], 2: [2, 1, 1], 3: [2, 2, 1], 4: [0.5, 0.25, 0.25], 5: [0.4, 0.4, 0.2],
         6: [1.25, 0.5, 1.0, 0.2]}


def up_to(line, *numbers):
    return {i: LINES[i] for i in range(1, line)} | {line: list(numbers)}


PENCIL = [
    (up_to(1, 0, 0, 1, 0), "Line 1: .*column"),  # the row of W_q instead of the column
    (up_to(1, 2, 1), "Line 1: there should be 4 numbers, got 2"),
    (up_to(2, 4, 3, 2), "Line 2: .*all four"),
    (up_to(2, 2, 2, 1), "Line 2: .*head 1"),
    (up_to(2, 1.41, 0.71, 0.71), "Line 2 is before scaling"),
    (up_to(3, 2, 1, 1), "That is head 1: head 2 has the rows 3 and 4"),
    (up_to(4, 0.58, 0.21, 0.21), "left out the scaling"),
    (up_to(4, 4.11, 2.03, 2.03), "Line 4: .*divide"),
    (up_to(4, 0.45, 0.27, 0.27), "Line 4: the number in place 1, 0.45, is not right"),
    (up_to(5, 0.42, 0.42, 0.16), "left out the scaling"),
    (up_to(6, 1.25, 0.5, 1.25, 0.25), "own weights, line 5"),
    (up_to(6, 1, 0, 3, 0), "other example"),
    (up_to(6, 1.25, 0.5, 1.0, float("nan")), "Line 6: the number in place 4"),
    ({1: "2 1 1 2"}, "Line 1: give a list of numbers, got str"),
    ({"1": [2, 1, 1, 2]}, "numbered 1 to 6, with whole numbers; there is no line '1'"),
    (LINES | {7: [1, 2]}, "there is no line 7"),
    ([2, 1, 1, 2], "Give a dictionary"),
    (up_to(3, 4, 3, 2), "Line 3: .*all four numbers: head 2"),
    (up_to(3, 1.41, 1.41, 0.71), "Line 3 is before scaling"),
]

WRONG = {
    "four-heads": [("b", "share"), ("c", "empty"), ("d", "Width 1 is allowed")],
    "split-heads": SPLITS,
    "mixed-up": MIXED_UP,
    "why-split": [({"a", "b", "d", "e"}, "Statement a is false"), ({"b", "c"}, "Statement c is"),
                  ({"b"}, "2 more"), ({"b", "e"}, "1 more"), ({1, 2}, "letters from")],
    "count-parameters": COUNTS,
    "pencil": PENCIL,
}
RIGHT = {
    "count-parameters": [lambda d, h, p, q, k, v, bias:
                         float((q + k + v + d) * h * p + (3 * h * p + d) * bias)],
    "pencil": [{number: tuple(line) for number, line in LINES.items()},
               {float(number): line for number, line in LINES.items()}],
}
