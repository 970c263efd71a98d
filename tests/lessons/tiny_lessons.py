"""Two tiny notebooks that keep every rule, and what changes one thing in them."""
from tools.notebooks import nbtext
from tools.notebooks import readme
from rules.code import SENTENCE
from rules.exercises import KINDS
from rules.notebook import Notebook

START, LESSON = "00_start_here", "02_multi_head_attention"
NAMES = ("four-heads", "split-heads", "mixed-up", "why-split", "count-parameters")
COLAB = "https://colab.research.google.com"


def title(name):
    return f"""%% md title core
# {name[:2]} Tiny

**Afterwards you can** tell a good notebook from a bad one.

**Minutes:** 1 core, 2 with everything. **You need:** nothing.

[Open in Colab]({COLAB}/github/a/b/blob/main/{name}.ipynb)

%% code setup core setup folded
{SETUP}
"""


def exercise(name, kind):
    return f"""%% md exercise-{name} core exercise
## {kind}: try it · 3 minutes · level 1

Do it.

%% code answer-{name} core exercise
mine = None
check("{name}", mine)

%% md solution-{name} core solution
<details>

```python
mine = 1
```

</details>
"""


def question(number):
    options = "\n".join(f"- **{letter}** {letter} thing" for letter in "ABCD")
    reasons = options.replace("**C** C thing", "**C** Right: it is").replace("thing", "mistake")
    return f"""%% md question-{number} core question
## Question {number}

{options}

<details>

{reasons}

</details>
"""


SETUP = readme.setup_source()
FIRST = f"""{title(START)}
%% code sentence core sentence
{SENTENCE}

%% md symbols core
| symbol | in code | shape | first in |
|---|---|---|---|
| $X$ | `X` | (3, 4) | 02 |

%% md next core next
The end.
"""
GOOD = "\n".join([title(LESSON), """\
%% md recall core recall
What was it?

<details>That.</details>

%% code picture-block core picture folded
picture("02_multi_head_block")

%% md idea core
## A claim

Few words, after Vaswani et al. (2017), as in [01](01_attention_pooling.ipynb).

%% code sentence core sentence
""" + SENTENCE + """
heatmaps(X, tokens, features, name="02-sentence")

%% md ones-words core
**Predict** how they look.

%% code ones core predict
alike = torch.ones(2, 4)

%% code aside deeper
def total(rows):
    extra = rows.sum()
    return extra
total(X)

%% md pencil-page deeper
A page to print.

%% code pencil deeper exercise
check("pencil", None)

%% md solution-pencil deeper solution
<details>

```python
mine = 2
```

</details>

%% code proof core proof folded
# @title Proof: the numbers add up to 7
extra = X.sum()
mask = torch.ones(3, 3).tril().bool() | torch.ones(3, 3, dtype=torch.bool)
assert extra == 7

%% md explorer-words core
**Predict** what it shows.

%% code explorer core explorer
explore(X)

%% md exercises core
# Exercises
""", *map(exercise, NAMES, KINDS), """\
%% md exercise-multi-head-class deeper exercise
## Build: all of it · 20 minutes · level 3 · deeper

From nothing.

%% code answer-multi-head-class deeper exercise
class Mine:
    '''Promises much.'''

check("multi-head-class", Mine)

%% md solution-multi-head-class deeper solution
<details>

```python
mine = 3
```

</details>

%% md homework deeper homework
## Homework: prove it · deeper

Prove it.

<details>A proof.</details>
""", *map(question, (1, 2, 3)), """\
%% md one-screen deeper one-screen
<details>

$$x^2$$

**Shapes.** All the same.

**Cost.** Nothing.

**Traps.**

- One
- Two
- Three

</details>

%% code one-screen-code deeper folded
import torch
mine = lambda x: x * x

%% code one-screen-proof deeper folded
assert mine(3) == d2l_ext.square(3)

%% md claims core claims
| claim | proof |
|---|---|
| the numbers add up to 7 | [proof](#cell-id=proof) |

%% md exit core exit
What now?

%% md references core references
- [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3

%% md next core next
The end.
"""])


def shows(data, kind="text/html"):
    return [{"output_type": "display_data", "data": {kind: data}, "metadata": {}}]


def prints(text, name="stdout"):
    return [{"output_type": "stream", "name": name, "text": text}]


IMAGE = shows('<img alt="Three tokens and their numbers" src="data:">')
OUTPUTS = {"sentence": IMAGE, "picture-block": IMAGE, "explorer": shows("<div>alive</div>"),
           "aside": prints("7"), "ones": prints("1")}


def content(text):
    """The JSON of a notebook's text, as if it had run."""
    made = nbtext.pack(text, {})
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, 1):
        cell |= {"execution_count": count, "outputs": OUTPUTS.get(cell["id"], [])}
    return made


# ---- one thing changed -----------------------------------------------------------------------

def lessons(text=GOOD, name=LESSON, first=FIRST):
    return [Notebook(START, content(first)), Notebook(name, content(text))]


def swap(old, new, count=1):
    """A change of the text, in the first notebook that has it."""
    assert old in FIRST + GOOD
    if old in GOOD:
        return lessons(GOOD.replace(old, new, count))
    return lessons(first=FIRST.replace(old, new))


def stored(name, **fields):
    """A change of what is stored with a cell of the lesson."""
    changed = content(GOOD)
    next(cell for cell in changed["cells"] if cell["id"] == name).update(fields)
    return [Notebook(START, content(FIRST)), Notebook(LESSON, changed)]


def add(cells):
    """More cells, before `# Exercises`."""
    return swap("%% md exercises core", f"{cells}\n\n%% md exercises core")


def code(text):
    return add(f"%% code new core\n{text}")


def words(text):
    return add(f"%% md new core\n{text}")
