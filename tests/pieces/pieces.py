"""Each explorer as its lesson shows it, and tokens that nobody expects."""
import torch
from tools.draw.pieces_in_node import LESSONS, TOKENS

from attention_lessons.pieces import attention_explorer


def near(one, other, far=0.01):
    """Numbers are others, up to ``far``."""
    one, other = (torch.as_tensor(each).double() for each in (one, other))
    torch.testing.assert_close(one, other, rtol=0, atol=far)


def corners(line):
    """The points of a polyline or a polygon."""
    return [tuple(map(float, point.split(","))) for point in line["points"].split()]


HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "🐕‍🦺", "כלב נושך",
    "x" * 500, "", "$a$ `b`\n\x1b[31m\ud800", "<!--",
]


def attention(tokens=(*TOKENS, "today"), layers=2, heads=3):
    """Maps of scores that grow and fall by place."""
    scores = torch.arange(layers * heads * len(tokens)**2) * 7 % 11 / 2
    maps = scores.reshape(layers, 1, heads, len(tokens), -1).softmax(-1)
    seen = {f"encoder.{i}.attention": [each] for i, each in enumerate(maps)}
    return attention_explorer(seen, tokens)


PIECES = {make.__name__.removesuffix("_explorer"): make for make in (*LESSONS.values(), attention)}
