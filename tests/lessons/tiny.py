"""A lesson, its deeper notebook and a start that keep every rule, in few words."""
from rules.code import SENTENCE
from rules.notebook import Notebook

from tools.notebooks import nbtext

CLASS = "class Mine:\n    'What it does.'\n"


def trio(name, heading, answer):
    return f"""%% md exercise-{name} exercise
{heading}

Which?

%% code answer-{name} exercise
{answer}
check("{name}", answer)

%% md solution-{name} solution
<details><summary>Solution</summary>

```python
answer
```
</details>
"""


def question(number):
    return f"""%% md question-{number} question
## Question {number}

Why?

- **A** yes
- **B** no, it never is
- **C** maybe, it depends
- **D** both

<details>

- **A** Wrong, it isn't.
- **B** Right, it isn't.
- **C** Wrong: it isn't.
- **D** Wrong, only one.
</details>
"""


SETUP = """%% code setup setup folded
# @title Set-up and imports
import torch
import d2l_ext
"""
START = f"""%% md title
# 00 Start

{SETUP}
%% md afterwards
**Afterwards you can** begin.

%% code sentence sentence
{SENTENCE}

%% md map
| lesson |
|---|

%% md next next
**Next:** [02](02_tiny.ipynb#cell-id=idea).

%% md symbols
| symbol | in code | what it is | first in |
|---|---|---|---|
| $h$ | `num_heads` | a number of heads | 02 |
"""
LESSON = f"""%% md title
# 02 Tiny

Why?

{SETUP}
%% code picture-block picture folded
picture("02_block")

%% md afterwards
**Afterwards you can** do it.

%% md recall recall
**From the last lesson.** What is returned?

<details>It.</details>

%% code sentence sentence
{SENTENCE}

%% md idea
## An idea

It weighs 0.39, as [Vaswani et al. 2017](#cell-id=references) say. **Predict** the map.

%% code weights predict
num_heads = X.mean()
heatmaps(X, name="02-weights")

%% md exercises
# Exercises

{trio("four-heads", "## Predict: heads · 2 minutes · level 1", "answer = ''")}
{trio("split-heads", "## Build: split · 5 minutes · level 1", "answer = ''")}
{question(1)}
{question(2)}
{question(3)}
%% md exit exit
## Before you go

Why?

%% md next next
**Next:** nothing.

%% md one-screen one-screen
# The lesson on one screen

It is this:

%% code one-screen-code
import torch

%% md at-home
# At home

{trio("multi-head-class", "## Build: a class · 20 minutes · level 3", CLASS)}
{trio("mixed-up", "## Break: it · 4 minutes · level 2", "answer = ''")}
%% md homework homework
## Homework: more

Why?

<details>So.</details>

%% md proofs
# Proofs

%% code idea-proof proof folded
# @title Proof: an idea
mean = X.mean()
assert mean == num_heads

%% code one-screen-proof proof folded
# @title Proof: the one screen equals the package's
assert torch and d2l_ext

%% md claims claims
## What was claimed

| claim | proof |
|---|---|
| an idea | [idea-proof](#cell-id=idea-proof) |

%% md references references
## References

- [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)
"""
DEEPER = f"""%% md title
# 02 Tiny, deeper

More of [lesson 02](../02_tiny.ipynb).

{SETUP}
%% md contents
- [Is it so?](#cell-id=so)

%% md so
## Is it so? · 1 minute

[Lesson 02](../02_tiny.ipynb#cell-id=idea) asks for an idea.

%% code so-recap folded
# @title Recap: what this section uses
i = 1

{trio("count-parameters", "### Transfer: it · 4 minutes · level 2", "answer = i")}
%% md why
## And why? · 1 minute

[Lesson 02](../02_tiny.ipynb) asks. **Predict** it.

%% code why-code predict
k = 2

{trio("lengths", "### Explain: it · 3 minutes · level 2", "answer = k")}"""


def notebook(name, text, outputs=()):
    """A notebook whose code has run, with these outputs of its cells."""
    content = nbtext.pack(text, {})
    for count, cell in enumerate((each for each in content["cells"]
                                  if each["cell_type"] == "code"), 1):
        cell |= {"execution_count": count, "outputs": dict(outputs).get(cell["id"], [])}
    return Notebook(name, content)


def shows(text, kind="text/html"):
    return [{"output_type": "display_data", "data": {kind: text}, "metadata": {}}]


ALT = {"weights": "A map of weights, all alike."}
NUMBERS = {("02", "0.39"): (1, "weights")}
NOTEBOOKS = [notebook("00_start", START),
             notebook("02_tiny", LESSON, {"weights": shows(f'<img alt="{ALT["weights"]}"> 0.39')}),
             notebook("deeper/02_tiny_deeper", DEEPER)]
