"""Made-up submissions of lesson 03: right answers, mistakes, and every bad kind that we know of.

BAD = {kind: (the file's bytes, [(exercise, state, a pattern of the message), ...])}; "" is a line
about the whole file. What isn't named there is graded as in any other submission.
"""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = next((ROOT / "notebooks").glob("02_*.ipynb"))
CUT = "X.unflatten(-1, (num_heads, -1)).transpose(1, 2)"
SPLIT = f'''def my_split(X, num_heads):
    return {CUT}

check("split-heads", my_split)'''
MIXED = SPLIT.replace(".transpose(1, 2)", "")
COUNT = '''def my_count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    inputs = query_size + key_size + value_size
    return inputs * inner + inner * num_hiddens + (3 * inner + num_hiddens) * bias

check("count-parameters", my_count)'''
LAYER = '''class MyMultiHead(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError("sizes")
        self.h, self.dropout = num_heads, nn.Dropout(dropout)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(num_hiddens, num_hiddens, bias))

    def forward(self, queries, keys, values, valid_lens=None):
        q, k, v = (W(X).unflatten(-1, (self.h, -1)).transpose(1, 2) for W, X in (
            (self.W_q, queries), (self.W_k, keys), (self.W_v, values)))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        keep = torch.ones_like(scores)
        if valid_lens is not None:
            keep = keep * (torch.arange(k.shape[2]) < valid_lens[:, None, None, None])
        weights = scores.masked_fill(keep == 0, -1e30).softmax(-1) * keep
        return self.W_o((self.dropout(weights) @ v).transpose(1, 2).flatten(2))

check("multi-head-class", MyMultiHead)'''
UNSCALED = LAYER.replace(" / q.shape[-1] ** 0.5", "")
LETTER = 'check("four-heads", "a")'
RIGHT = {"answer-four-heads": LETTER, "answer-split-heads": SPLIT,
         "answer-why-split": 'check("why-split", ["b", "d", "e"])',
         "answer-count-parameters": COUNT, "answer-multi-head-class": LAYER}
NAMES = [name.removeprefix("answer-") for name in RIGHT]
WRONG = RIGHT | {"answer-four-heads": 'check("four-heads", "b")', "answer-split-heads": MIXED,
                 "answer-multi-head-class": UNSCALED}
HEARD = [("four-heads", "wrong", "share"), ("split-heads", "wrong", "swap axes"),
         ("multi-head-class", "wrong", "not scaled")]


def notebook(answers, before="", change=lambda cells: cells, path=PATH) -> bytes:
    """Lesson 03 with other cells, by id, and a cell in front of the exercises."""
    lesson = json.loads(path.read_text(encoding="utf-8"))
    for cell in lesson["cells"]:
        cell["source"] = answers.get(cell["id"], "".join(cell["source"]))
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    place = next(i for i, cell in enumerate(lesson["cells"]) if cell["id"] == "exercises")
    if before:
        lesson["cells"].insert(place, {"cell_type": "code", "id": "mine", "metadata": {},
                                       "outputs": [], "execution_count": None, "source": before})
    lesson["cells"] = change(lesson["cells"])
    return json.dumps(lesson).encode()


def backwards(cells):
    """Set-up, then the exercises from last to first, then the rest."""
    head = [cell for cell in cells if cell["id"] == "setup"]
    last = [cell for cell in cells if cell["id"].startswith("answer-")][::-1]
    return head + last + [cell for cell in cells if cell not in head + last]


def old_format(data: bytes) -> bytes:
    """The notebook as IPython 2 would have written it."""
    cells = [{"cell_type": "code", "input": cell["source"], "language": "python",
              "collapsed": False, "metadata": {}, "outputs": []}
             for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    return json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""},
                       "worksheets": [{"cells": cells, "metadata": {}}]}).encode()


def but(*lines):
    """What a right submission gets, but for some exercises."""
    named = {name for name, *_ in lines}
    return [*lines, *((name, "right", "") for name in NAMES if name not in named)]


def put(name, source, **more):
    return notebook(RIGHT | {f"answer-{name}": source}, **more)


def first(source, *lines):
    """A cell before right answers, and what they get."""
    return notebook(RIGHT, before=source), but(*lines)


BAD = {
    "hangs": (put("split-heads", SPLIT.replace("return", "while True: pass\n    return")),
              but(("split-heads", "error", "more than"))),
    "hangs-stubborn": first("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
                            "while True:\n  try:\n    while True: pass\n  except BaseException: 0",
                            ("", "note", "took more than")),
    "allocates": (put("split-heads", SPLIT.replace("return", "torch.zeros(10**11)\n    return")),
                  but(("split-heads", "wrong", "raises RuntimeError"))),
    "prints": first('print("x" * 10**8)'),
    "kills": (put("four-heads", f"import os; os._exit(3)\n{LETTER}"),
              but(("four-heads", "error", "exit code 3"))),
    "kills-from-answer": (put("split-heads", SPLIT.replace("return", "__import__('os')._exit(0)\n"
                                                                     "    return")),
                          but(("split-heads", "error", "exit code 0"))),
    "exits": first('exit()\nraise SystemExit(1)\nname = input("Your name? ")'),
    "cuts-the-line": first("import os\nos.closerange(3, 250)", ("", "note", "ended|read")),
    "floods-the-line": first("import os\nfor n in range(3, 250):\n  try:\n"
                             "    while True: os.write(n, b'[' * 2**20)\n  except OSError: 0",
                             ("", "note", "read|ended")),
    "patches-check": first("import attention_lessons.exercises as package\n"
                           "class Right: state, message = 'right', 'Right'\n"
                           "package.check = check = lambda *a, **b: Right()",
                           *((name, "not attempted", "was not run") for name in NAMES)),
    "another-seed": (put("four-heads", 'check("four-heads", "b", seed="s2")'),  # its right one
                     but(("", "note", "notebook says seed s2"))),
    "slow-to-read": first("# " + "check(" * 10**5 + ', seed="' * 10**5),
    "guesses": (put("four-heads", 'for letter in "abcd":\n    check("four-heads", letter)'),
                but(("four-heads", "wrong", "narrow|allowed"))),
    "nests": (put("four-heads", 'x = []\nx.append(x)\ncheck("four-heads", x)'),
              but(("four-heads", "wrong", "letters"))),
    # one line
    "surrogate": (put("four-heads",
                      f'raise ValueError("\\ud800\\n2/2 eve: right\\x1b[2J")\n{LETTER}'),
                  but(("four-heads", "error", "ValueError"))),
    "too-deep": (put("four-heads", f"x = {'-' * 100_000}1\n{LETTER}"),
                 but(("four-heads", "error", ""))),
    "mentions": (put("four-heads",
                     f'# find("four-heads")\n"a pencil".find("four-heads")\n{LETTER}'), but()),
    "fraction": (put("count-parameters", COUNT.replace(
        "return inputs", "from fractions import Fraction\n    return Fraction(1) * inputs")),
        but()),
    "bom": (b"\xef\xbb\xbf" + notebook(RIGHT), but()),
    "chinese": (notebook(WRONG, path=PATH.parent / "zh" / PATH.name), but(*HEARD)),
    "old-format": (old_format(notebook(RIGHT)), but()),
    "another-order": (notebook(RIGHT, change=backwards), but()),
    "unknown-name": (put("four-heads", 'check("for-heads", "a")'),
                     but(("for-heads", "error", "no exercise"),
                         ("four-heads", "missing", "no check"))),
    "tried-again": (put("four-heads", f'{LETTER}\ncheck("four-heads", "")'), but()),
    "empty": (b"", [("", "error", "empty file")]),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3 1 0 obj", [("", "error", "no notebook: a PDF")]),
    "cut-short": (notebook(RIGHT)[:5000], [("", "error", "no notebook")]),
    "another-lesson": (next((ROOT / "notebooks").glob("03_*.ipynb")).read_bytes(),
                       [("", "error", "lesson 02, which was not set")]),
}
