"""What learners answer wrongly in 00, and what they should then read."""

WRONG = {
    "softmax-axis": [("a", "each key's column"), ("c", "accident|different"),
                     ("d", "all weights together")],
    "reshape-transpose": [("b", "moves numbers"), ("c", r"A\.T"), ("d", "two numbers")],
    "broadcasting": [("a", "fits"), ("b", "middle axis"), ("c", "last axis")],
    "train-eval": [("a", "no_grad"), ("b", "nothing is dropped"), ("d", "requires_grad")],
    "variance": [("a", "one number"), ("c", "is the variance"), ("d", "mean")],
    "matmul": [("a", "4 and 5"), ("b", "4 and 2"), ("d", "5 and 2")],
}
