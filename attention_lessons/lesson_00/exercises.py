"""The six warm-up questions of 00: what the lessons assume."""
from ..exercises.kinds import Choice

EXERCISES = []


EXERCISES.append(Choice(
    "softmax-axis", right="b",
    praise="Right: the last axis holds the keys.",
    hints=["Which axis should sum to 1: that of the queries or that of the keys?",
           "scores.softmax(axis).sum(axis) is 1 everywhere."],
    reasons={
        "a": "That makes each key's column sum to 1 over the queries. "
             "The axis you name is the one that sums to 1.",
        "c": "Rows and columns are normalised by different sums; "
             "the numbers agree only by accident.",
        "d": "Then all weights together sum to 1, not each query's.",
    }))


EXERCISES.append(Choice(
    "reshape-transpose", right="a",
    praise="Right: reshape keeps the order 1, 2, 3, 4, 5, 6.",
    hints=["Write the six numbers in one line, in the order in which they are stored.",
           "Reshape fills the new rows from that line."],
    reasons={
        "b": "That is the transpose, which moves numbers. "
             "Reshape keeps their order and changes only where a row ends.",
        "c": "The first row of A.T is 1, 4. "
             "Reshape and transpose give the same shape here, and different numbers.",
        "d": "A row of a (3, 2) tensor has two numbers.",
    }))


EXERCISES.append(Choice(
    "broadcasting", right="d",
    praise="Right: aligned at the right, (2, 1, 5) and (1, 4, 1) stretch to (2, 4, 5).",
    hints=["Write the shapes below each other, aligned at the right.",
           "A missing axis counts as 1, and a 1 stretches to the other's size."],
    reasons={
        "a": "Every pair of sizes is equal or has a 1 in it, so it fits.",
        "b": "The middle axis is 1 against 4: the 1 stretches to 4.",
        "c": "The last axis is 5 against 1: the 1 stretches to 5.",
    }))


EXERCISES.append(Choice(
    "train-eval", right="c",
    praise="Right: eval() makes dropout pass everything through.",
    hints=["eval() tells layers that behave differently in training and evaluation.",
           "Dropout is such a layer. What should it do when you evaluate?"],
    reasons={
        "a": "eval() leaves gradients alone; torch.no_grad() switches them off.",
        "b": "In evaluation nothing is dropped at all.",
        "d": "Freezing is requires_grad_(False). eval() leaves parameters alone.",
    }))


EXERCISES.append(Choice(
    "variance", right="b",
    praise="Right: the variance is 64, the standard deviation its root, 8.",
    hints=["Variances of independent numbers add up. What is the variance of the sum?",
           "The standard deviation is the square root of the variance."],
    reasons={
        "a": "That holds for one number. Sums of more numbers spread further.",
        "c": "64 is the variance; its square root is the standard deviation.",
        "d": "1/8 belongs to the mean of 64 numbers, not to their sum.",
    }))


EXERCISES.append(Choice(
    "matmul", right="c",
    praise="Right: (5, 4) times (4, 2) is (5, 2).",
    hints=["Write the two shapes side by side: the inner sizes must agree.",
           "W.T has the shape (4, 2)."],
    reasons={
        "a": "(2, 4) times (5, 4): the inner sizes 4 and 5 differ.",
        "b": "(5, 4) times (2, 4): the inner sizes 4 and 2 differ.",
        "d": "(4, 5) times (2, 4): the inner sizes 5 and 2 differ.",
    }))
