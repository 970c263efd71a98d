"""Made-up submissions of lesson 02: ordinary students, and every bad kind that we know of.

    python tests/classroom/submissions.py FOLDER     # sixty of them, to grade

BAD = {kind: (the file's bytes, [(exercise, state, a pattern of the message), ...])}; "" is a line
about the whole file. What isn't named there is graded as in any other submission.
"""
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = next((ROOT / "notebooks").glob("02_*.ipynb"))
SPLIT = """def my_split(X, num_heads):
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)

check("split-heads", my_split)"""
MIXED = SPLIT.replace(".transpose(1, 2)", "")
STRETCH = SPLIT.replace("X.unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                        "X.reshape(X.shape[0], num_heads, X.shape[1], -1)")
DEALT = SPLIT.replace("X.unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                      "torch.stack([X[:, :, i::num_heads] for i in range(num_heads)], 1)")
COUNT = """def my_count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    inputs = query_size + key_size + value_size
    return inputs * inner + inner * num_hiddens + (3 * inner + num_hiddens) * bias

check("count-parameters", my_count)"""
NO_BIAS = COUNT.replace(" + (3 * inner + num_hiddens) * bias", "")
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
QUERIES = LAYER.replace("softmax(-1)", "softmax(-2)")
UNSCALED = LAYER.replace(" / q.shape[-1] ** 0.5", "")


def choice(name, answer):
    return f'check("{name}", {answer!r})'


RIGHT = {"answer-four-heads": choice("four-heads", "a"), "answer-split-heads": SPLIT,
         "answer-why-split": choice("why-split", ["b", "d", "e"]),
         "answer-count-parameters": COUNT, "answer-multi-head-class": LAYER}
OTHERS = {
    "answer-four-heads": [choice("four-heads", letter) for letter in "bcd"],
    "answer-split-heads": [MIXED, STRETCH, DEALT],
    "answer-why-split": [choice("why-split", ["a", "b"]), choice("why-split", ["c"])],
    "answer-count-parameters": [NO_BIAS, COUNT.replace("return", "print")],
    "answer-multi-head-class": [UNSCALED, QUERIES],
}


def notebook(answers, before="", change=lambda cells: cells) -> bytes:
    """Lesson 02 with other cells, by id, and a cell in front of the exercises."""
    lesson = json.loads(PATH.read_text(encoding="utf-8"))
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


def without(*ids):
    return lambda cells: [cell for cell in cells if cell["id"] not in ids]


def exercises_first(cells):
    """Set-up and imports, then the exercises from last to first, then the rest."""
    head = [cell for cell in cells if cell["id"] in ("setup",)]
    last = [cell for cell in cells if cell["id"].startswith("answer-")][::-1]
    return head + last + [cell for cell in cells if cell not in head + last]


def old_format(data: bytes) -> bytes:
    """The notebook as IPython 2 would have written it."""
    cells = []
    for cell in json.loads(data)["cells"]:
        if cell["cell_type"] == "code":
            cells.append({"cell_type": "code", "input": cell["source"], "language": "python",
                          "collapsed": False, "metadata": {}, "outputs": []})
    sheets = [{"cells": cells, "metadata": {}}]
    return json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""},
                       "worksheets": sheets}).encode()


STUBBORN = """while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
CHEAT = """import attention_lessons.exercises as package
package.check = check = lambda *answers: package.Result("right", "Right")
package.kinds.Choice.judge = package.kinds.Build.judge = lambda *answers: check()
package.compare.same = lambda *answers: True
torch.allclose = lambda *answers, **more: True
"""
FETCHED = """from attention_lessons import exercises
reference = exercises.find("split-heads").reference
check("split-heads", reference)"""
OPENED = """import pathlib, attention_lessons
text = (pathlib.Path(attention_lessons.__file__).parent / "lesson_02/exercises.py").read_text()
check("four-heads", text[0])"""
GUESSED = """for letter in "abcd":
    if check("four-heads", letter).state == "right":
        break"""
PEEKED = """import sys

def my_split(X, num_heads):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if hasattr(value, "reference"):
                return value.reference(X, num_heads)
        frame = frame.f_back
    raise LookupError("nothing to find here")

check("split-heads", my_split)"""
FINE = [("four-heads", "right", ""), ("split-heads", "right", ""), ("why-split", "right", ""),
        ("count-parameters", "right", ""), ("multi-head-class", "right", "")]


def but(*lines):
    """What a right submission gets, but for some exercises."""
    names = {name for name, *_ in lines}
    return [*lines, *(line for line in FINE if line[0] not in names)]


def put(name, source, **more):
    return notebook(RIGHT | {f"answer-{name}": source}, **more)


def first(source):
    return notebook(RIGHT, before=source)


BAD = {
    "hangs": (put("split-heads", SPLIT.replace("return", "while True: pass\n    return")),
              but(("split-heads", "error", "more than"))),
    "hangs-stubborn": (first(STUBBORN), but(("", "note", "was ended"))),
    "hangs-before-check": (put("four-heads", STUBBORN + 'check("four-heads", "a")'),
                           but(("four-heads", "error", "was ended"))),
    "sleeps": (first("import time; time.sleep(10**6)"), FINE),
    "imports-what-isnt": (put("split-heads", "import tensorflow_of_mine\n" + SPLIT),
                          but(("split-heads", "error", "ModuleNotFoundError"))),
    "prints": (first('for i in range(10**6): print("all work and no play", i)'), FINE),
    "prints-at-once": (first('print("x" * 10**8)'), FINE),
    "allocates": (put("split-heads", SPLIT.replace("return", "torch.zeros(10**11)\n    return")),
                  but(("split-heads", "wrong", "raises RuntimeError"))),
    "allocates-lists": (put("four-heads", 'x = [0] * 10**11\ncheck("four-heads", "a")'),
                        but(("four-heads", "error", "MemoryError"))),
    "overwrites-check": (notebook(RIGHT | {"answer-four-heads": choice("four-heads", "b"),
                                           "answer-split-heads": MIXED,
                                           "answer-multi-head-class": UNSCALED}, before=CHEAT),
                         but(("four-heads", "wrong", "share"), ("split-heads", "wrong", "swap"),
                             ("multi-head-class", "wrong", "not scaled"))),
    "fetches-reference": (put("split-heads", FETCHED),
                          but(("split-heads", "taken from the package", "reaches"))),
    "fetches-elsewhere": (notebook(RIGHT | {"answer-four-heads": 'check("four-heads", letter)'},
                                   before='from attention_lessons.exercises import find\n'
                                          'letter = find("four-heads").right'),
                          but(("four-heads", "taken from the package", "reaches"))),
    "reads-source": (put("four-heads", OPENED),
                     but(("four-heads", "taken from the package", "reaches"))),
    "guesses": (put("four-heads", GUESSED), but(("four-heads", "wrong", "narrow|allowed"))),
    "peeks": (put("split-heads", PEEKED), but(("split-heads", "wrong", "Your code raises"))),
    "claims-result": (put("four-heads", "from attention_lessons.exercises.kinds import Result\n"
                          'check("four-heads", Result("right", "Right"))'),
                      but(("four-heads", "wrong", "Answer with letters"))),
    "kills-kernel": (put("four-heads", 'import os; os._exit(0)\ncheck("four-heads", "a")'),
                     but(("four-heads", "error", "ended its process"))),
    "kills-from-answer": (put("split-heads", SPLIT.replace("return", "__import__('os')._exit(3)\n"
                                                                     "    return")),
                          but(("split-heads", "error", "exit code 3"))),
    "forks": (first("import os\nwhile True: os.fork()"), but(("", "note", "another program"))),
    "asks-network": (first("import urllib.request as r\nr.urlopen('http://192.0.2.1', timeout=1)"),
                     but(("", "note", "network"))),
    "exits": (first("exit()\nraise SystemExit(1)"), FINE),
    "asks-input": (first('name = input("Your name? ")'), FINE),
    "empty": (b"", [("", "error", "empty file")]),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3 1 0 obj", [("", "error", "no notebook: a PDF")]),
    "invalid": (notebook(RIGHT)[:5000], [("", "error", "no notebook")]),
    "a-list": (b"[1, 2, 3]", [("", "error", "no notebook")]),
    "old-format": (old_format(notebook(RIGHT)), FINE),
    "another-lesson": (next((ROOT / "notebooks").glob("03_*.ipynb")).read_bytes(),
                       [("", "error", "lesson 03, which was not set")]),
    "unknown-name": (put("four-heads", choice("for-heads", "a")),
                     but(("for-heads", "error", "no exercise"),
                         ("four-heads", "not attempted", "no check"))),
    "missing-cells": (notebook(RIGHT, change=without("answer-split-heads", "picture-block")),
                      but(("split-heads", "not attempted", "no check"))),
    "another-order": (notebook(RIGHT, change=exercises_first), FINE),
    "syntax-error": (put("split-heads", "def my_split(X, num_heads)\n    return X\n"
                                        'check("split-heads", my_split)'),
                     but(("split-heads", "error", "SyntaxError"))),
    "markup": (put("split-heads", 'raise ValueError("<script>alert(1)</script>")\n' + SPLIT),
               but(("split-heads", "error", "<script>"))),
}


def ordinary(number: int) -> bytes:
    """A student who answers three of four right, and leaves something out now and then."""
    draw = random.Random(number)
    answers = {cell: source if draw.random() < 0.7 else draw.choice(OTHERS[cell])
               for cell, source in RIGHT.items() if draw.random() < 0.9}
    return notebook(answers)


def sixty(folder: pathlib.Path) -> None:
    """Every bad kind, someone with two files, someone with a folder, and ordinary students."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, (data, _) in BAD.items():
        (folder / f"{kind}.ipynb").write_bytes(data)
    (folder / "twice.ipynb").write_bytes(ordinary(1))
    (folder / "twice (1).ipynb").write_bytes(ordinary(2))
    (folder / "report.docx").write_bytes(b"PK")
    (folder / "in-a-folder").mkdir(exist_ok=True)
    (folder / "in-a-folder/02.ipynb").write_bytes(ordinary(3))
    for number in range(60 - len(BAD) - 4):
        (folder / f"student-{number:02}.ipynb").write_bytes(ordinary(10 + number))


if __name__ == "__main__":
    sixty(pathlib.Path(sys.argv[1]))
