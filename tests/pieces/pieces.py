"""Each explorer as its lesson shows it, what keys do to its controls, and tokens nobody expects."""
import torch
from screen import Step
from tools.draw._stills import LESSONS as MAKERS
from tools.draw._stills import TOKENS

from attention_lessons.pieces import attention_explorer

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


LESSONS = dict(zip(MAKERS, ("pooling", "heads", "order", "clock", "lengths", "compare", "dates",
                            "tiles", "memories")))
PIECES = dict(zip(LESSONS.values(), MAKERS.values())) | {"attention": attention}

RIGHT, LEFT, UP, DOWN, HOME, END = (
    "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End")
SPACE, ALL = " ", "Control+a"


def switches(layer):
    """Each head of a layer is closed, and opened again."""
    for name in (f"{layer} {head}" for head in range(4)):
        key = name.replace(" ", "_")
        yield Step(name, [SPACE], {key: False}, f"Without {name}")
        yield Step(name, [SPACE], {key: True}, "With all heads on")


STEPS = {
    "pooling": [
        Step("query", [LEFT], {"q1": 0.35, "q2": 9.65}, "key 2 gets 0.53"),
        Step("query", [UP, "-"], {"scale": 10}, "key 2 gets 0.34"),
        Step("scale", [HOME], {"scale": 1}, "key 2 gets 0.43"),
        Step("scale √3", ["Enter"], {"scale": 3**0.5}, "key 2 gets 0.39"),
        Step("scale 8", [SPACE], {"scale": 8}, "key 2 gets 0.34"),
        Step("scale 1", [SPACE], {"scale": 1}, "key 2 gets 0.43"),
        Step("key 1", [SPACE], {"key1": False}, None),
        Step("key 3", [SPACE], {"key3": False}, "key 4 gets"),
        Step("key 4", ["Enter"], {"key4": False}, "key 2 gets 1.00"),
        Step("key 2", [SPACE], {"key2": False}, "Every key is hidden"),
    ],
    "heads": [
        Step("cut", [LEFT], {"num_heads": 4}, "bites, 4 heads: head 1 takes dog 1.00"),
        Step("cut", [RIGHT], {"num_heads": 2}, "bites, 2 heads: head 1 takes dog 1.00"),
        Step("head 1", [UP], {"asks": 0}, "dog, 2 heads"),
        Step("head 2", [DOWN], {"asks": 1}, "bites, 2 heads"),
        Step("head 2", [RIGHT], {}, None),
        Step("heads", [LEFT], {"num_heads": 1}, "1 head: it takes dog 0.50 and man 0.50"),
        Step("asking token", [UP], {"asks": 0}, "dog, 1 head: it takes"),
        Step("asking token", [DOWN], {"asks": 1}, "bites, 1 head"),
        Step("inverse temperature", [HOME], {"inverse_temperature": 0}, "all 3 alike (0.33 each)"),
        Step("inverse temperature", [RIGHT] * 5, {"inverse_temperature": 0.5}, "dog 0.50 and man"),
    ],
    "order": [
        Step("dog", [HOME], {"order": "0213"}, None),
        Step("bites", [LEFT], {"order": "0123"}, "these are the outputs to compare with. Move a"),
        Step("pad", [LEFT], {"order": "0132"}, "every word's output is the same"),
        Step("man", [HOME], {"order": "2013"}, None),
        Step("causal", [SPACE], {"causal": True}, "later words hidden:"),
        Step("padding, length 3", [SPACE], {"padding": True}, "words and places beyond 3"),
        Step("layers", [RIGHT], {"layers": 2}, "2 layers, later words and places"),
    ],
    "clock": [
        Step("position i", [RIGHT, RIGHT], {"position": 8}, "From position 8 to 10 the hand"),
        Step("offset δ", [END], {"offset": 16}, "From position 8 to 24"),
        Step("offset δ", [HOME], {"offset": 0}, "nothing turns"),
        Step("clock of columns 6, 7", [UP], {"offset": 1}, "turns by 10.2°"),
        Step("columns", [HOME], {"hand": 0}, "the hand of columns 0 and 1 turns by 57.3°"),
        Step("width d", [LEFT], {"width": 16}, "columns 0 and 1 turns by 57.3°"),
    ],
    "lengths": [
        Step("length", [RIGHT], {"length": 48}, "copy, length 48, all positions: Shaw leads"),
        Step("scored", [RIGHT], {"scored": "beyond"}, "only positions beyond 16"),
        Step("task", [RIGHT], {"task": "reverse"}, "reverse, length 48"),
    ],
    "compare": [
        Step("output of convolution", [LEFT], {}, None),
        Step("layers of convolution", [DOWN], {"layers": 2}, None),
        Step("output of recurrence", [RIGHT], {}, None),
        Step("layers of recurrence", [UP], {"layers": 1}, None),
        Step("output of self-attention", [LEFT], {}, None),
        Step("layers of self-attention", [DOWN] * 9, {"layers": 8}, None),
        Step("tokens n", [RIGHT], {"n": 128}, "n = 128, d = 512, k = 3"),
        Step("width d", [LEFT], {"d": 256}, "n = 128, d = 256"),
        Step("kernel k", [RIGHT], {"k": 5}, "k = 5"),
        Step("heads", [RIGHT], {"num_heads": 16}, None),
    ],
    "dates": [
        Step("your date", [ALL, *"5/3/2021"], {"text": "5/3/2021"}, "5/3/2021 → 2021-03-05."),
        Step("another date", [SPACE], {"text": "24/12/1999"}, "→ 1999-12-24."),
        *switches("cross"), *switches("decoder"), *switches("encoder"),
        Step("digit of the answer", [RIGHT], {}, None),
        Step("cross 2", ["Enter"], {"cross_2": False}, "the year and day changed"),
        Step("all heads on", [SPACE], {"cross_2": True}, "With all heads on"),
    ],
    "tiles": [
        Step("next ›", [SPACE], {"step": 4}, "first multiply the sum of query 0 by 0.37."),
        Step("‹ back", ["Enter", SPACE], {"step": 2}, "queries 2 and 3 and keys 0 to 3"),
        Step("size of a tile", [DOWN], {"query_tile": 4, "step": 1}, "Step 1 of 4"),
        Step("tile", [RIGHT], {"step": 3}, "queries 0 to 3 and keys 4 to 7"),
        Step("size of a tile", [LEFT], {"key_tile": 2, "step": 1}, "Step 1 of 8"),
        Step("tile", [HOME], {"step": 0}, "nothing is in fast memory"),
        Step("tile", [END], {"step": 8}, "attention over all keys, exactly"),
        Step("tile", [UP], {"step": 7}, "Step 7 of 8"),
        Step("play", [SPACE], {"step": 8}, "attention over all keys, exactly"),
    ],
    "memories": [
        Step("tokens n", [RIGHT], {"n": 8192}, "n = 8192, 8 heads"),
        Step("width d", [LEFT], {"d": 256}, "they keep the same at n = 16"),
        Step("kernel k", [RIGHT], {"k": 5}, None),
        Step("heads", [RIGHT], {"num_heads": 16}, "16 heads"),
        Step("chunk c", [LEFT], {"c": 16}, "linear attention takes"),
    ],
    "attention": [
        Step("layer and head", [DOWN], {"layer": 1}, "encoder.1.attention, head 0: today looks at"),
        Step("layer and head", [UP, RIGHT], {"head": 1}, "encoder.0.attention, head 1: today"),
        Step("weights", [UP], {"asks": 2}, "head 1: man looks at"),
        Step("weights", [RIGHT], {}, None),
        Step("layer", [DOWN], {"layer": 1}, "encoder.1.attention, head 1: man looks at"),
        Step("head", [LEFT], {"head": 0}, "encoder.1.attention, head 0: man looks at"),
        Step("asking token", [LEFT, LEFT], {"asks": 0}, "head 0: dog looks at"),
    ],
}
