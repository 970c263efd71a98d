"""What hints show as code is run as code.

In an answer made of them, «...» is what stands in the exercise's hints; so a sign that changed
there is seen, and a hint whose code leads nowhere.
"""
import ast
import re

import pytest
import torch
from torch import nn

from attention_lessons.exercises import all_exercises, check

HINTED = {
    "pooling": """
def answer(queries, keys, values, keep):
    scores = queries @ keys.T / queries.shape[-1] ** 0.5
    lowest = «torch.finfo(scores.dtype).min»
    weights = «scores.masked_fill(~keep, lowest)».softmax(-1) * keep
    return weights @ values, weights
""",
    "lengths": """
def answer(valid_lens, queries, keys):
    column = «valid_lens[:, None, None]» if valid_lens.dim() == 1 else «valid_lens[:, :, None]»
    return («torch.arange(keys)» < column).«expand(-1, queries, -1)»
""",
    "kernel": """
def answer(x, known_x, known_y, sigma):
    return (-(«x[:, None] - known_x») ** 2 / (2 * sigma**2)).softmax(-1) @ known_y
""",
    "split-heads": """
def answer(X, num_heads):
    batch, steps, hiddens = X.shape
    return «X.reshape(batch, steps, num_heads, hiddens // num_heads)».«transpose(1, 2)»
""",
    "mixed-up": """
def answer(head, steps, hiddens, num_heads):
    filled = «torch.arange(steps)[:, None].expand(steps, hiddens)»
    return filled.reshape(num_heads, -1)[head]«.unique().tolist()»
""",
    "self-attention": """
def answer(X, W_q, W_k, W_v, valid_len):
    «position = torch.arange(len(X))»
    keep = («position <= position[:, None]») & («position < valid_len»)
    queries, keys, values = «X @ W_q.T», X @ W_k.T, X @ W_v.T
    scores = (queries @ keys.T / queries.shape[1] ** 0.5).masked_fill(~keep, -torch.inf)
    return scores.softmax(-1) «@ values»
""",
    "sinusoid-table": """
def answer(steps, num_hiddens):
    P = torch.zeros(steps, num_hiddens)
    row = «10_000 ** (torch.arange(0, num_hiddens, 2) / num_hiddens)»
    angles = torch.arange(steps)[:, None] / row
    «P[:, 0::2] = angles.sin()»
    P[:, 1::2] = angles.cos()
    return P
""",
    "shift": """
def answer(P, offset):
    turn = offset / 10_000 ** (torch.arange(0, P.shape[1], 2) / P.shape[1])
    sines, cosines, Q = «P[:, 0::2]», «P[:, 1::2]», P.clone()
    Q[:, 0::2] = sines * turn.cos() + cosines * turn.sin()
    Q[:, 1::2] = cosines * turn.cos() - sines * turn.sin()
    return Q
""",
    "read-clock": """
def answer(row):
    d, (sine, cosine) = len(row), row[-2:]
    return round(float(«torch.atan2(sine, cosine)» * «10_000 ** ((d - 2) / d)»))
""",
    "offset-rows": """
def answer(queries, keys, c):
    query = «keys - queries» + torch.arange(queries)[:, None]
    return (torch.arange(keys) - query).clamp(-c, c) + c
""",
    "untrained": """
def answer(bucket, num_buckets, trained):
    met = bucket(torch.arange(«-(trained - 1)», trained)).tolist()
    return [number for number in range(num_buckets) if number not in met]
""",
    "multi-head-class": """
class Answer(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens=None):
        num_heads = self.num_heads
        q, k, v = (X.«unflatten(-1, (num_heads, -1)).transpose(1, 2)» for X in (
            self.W_q(queries), self.W_k(keys), self.W_v(values)))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        «places = torch.arange(keys.shape[1])»
        keep = places >= 0
        if valid_lens is not None:
            keep = «places < valid_lens[:, None, None, None]»
        weights = «scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep»
        return self.W_o((self.dropout(weights) @ v).«transpose(1, 2).flatten(2)»)
""",
    "self-attention-class": """
class Answer(nn.Module):
    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.causal = num_heads, causal
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(self, X, valid_lens=None):
        steps = X.shape[1]
        «position = torch.arange(steps)»
        «keep = torch.ones(steps, steps, dtype=torch.bool)»
        if self.causal:
            keep = keep & («position <= position[:, None]»)
        if valid_lens is not None:
            keep = keep & («position < valid_lens[:, None, None, None]»)
        q, k, v = (project(X).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                   for project in (self.W_q, self.W_k, self.W_v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = «scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep»
        return self.W_o((weights @ v).transpose(1, 2).flatten(2))
""",
    "positional-class": """
class Answer(nn.Module):
    def __init__(self, num_hiddens, dropout=0.0, max_len=1000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        positions = torch.arange(max_len, dtype=torch.float64)
        columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64)
        angles = «positions[:, None] / 10_000 ** (columns / num_hiddens)»
        P = torch.zeros(max_len, num_hiddens, dtype=torch.float64)
        «P[:, 0::2]» = angles.sin()
        «P[:, 1::2]» = «angles[:, :num_hiddens // 2].cos()»
        self.«register_buffer("P", P.float()[None], persistent=False)»

    def forward(self, X):
        if X.shape[1] > self.P.shape[1]:
            raise ValueError
        return self.dropout(X + self.P[:, :X.shape[1]].to(X.dtype))
""",
    "rotary-class": """
class Answer(nn.Module):
    def __init__(self, head_size, base=10000.0):
        super().__init__()
        if head_size % 2:
            raise ValueError
        self.base = base

    def forward(self, X, offset=0):
        head_size, base = X.shape[-1], self.base
        positions = offset + torch.arange(X.shape[2], dtype=torch.float64)
        columns = torch.arange(0, head_size, 2, dtype=torch.float64)
        angles = «positions[:, None] / base ** (columns / head_size)»
        cos, sin = angles.cos()«.to(X)», angles.sin().to(X)
        x, y = «X[..., 0::2]», X[..., 1::2]
        pairs = [x * cos - y * sin, x * sin + y * cos]
        return torch.stack(pairs, -1).flatten(-2)
""",
}


def given(name):
    """The answer, and what of it stands in the hints."""
    return re.sub("[«»]", "", HINTED[name]), re.findall("«(.*?)»", HINTED[name])


@pytest.mark.parametrize("name", HINTED)
def test_an_answer_made_of_the_code_in_hints_is_right(name):
    text, parts = given(name)
    names, hints = {"torch": torch, "nn": nn}, " ".join(all_exercises()[name].hints)
    exec(text, names)
    assert check(name, [*names.values()][-1]).state == "right"
    assert [part for part in parts if part not in hints] == []


@pytest.mark.parametrize("name", HINTED)
def test_all_code_in_hints_is_tried(name):
    """Whatever a hint indexes or calls, beyond a name, can be read in the answer."""
    call = r"~?[\w.]+[\[(](?:[^()\[\]]|[\[(](?:[^()\[\]]|\[[^\]]*\])*[\])])*[\])]"
    text = given(name)[0]
    for code in re.findall(call, " ".join(all_exercises()[name].hints)):
        try:
            ast.parse(code.lstrip("."))
        except SyntaxError:
            continue
        assert "..." in code or "W_" in code or re.match(r"\w+\([a-z] \+", code) or code in text
