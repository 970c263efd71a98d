"""Every rule holds in every notebook; and every rule accepts a tiny good notebook and rejects it with one thing changed."""
import copy
import json
import re

import notebook_rules as rules
import pytest
from notebook_rules import ACROSS, ROOT, RULES, WIDGET, nbtext, notebook_from

NOTEBOOKS = [rules.load(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
@pytest.mark.parametrize("rule", RULES)
def test_notebook_keeps(rule, notebook):
    complaints = RULES[rule](notebook)
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize("rule", ACROSS)
def test_notebooks_keep_together(rule):
    complaints = ACROSS[rule](NOTEBOOKS)
    assert not complaints, "\n" + "\n".join(complaints)


def test_readme_table_is_true():
    assert rules.readme.main(["--check"]) == 0, "make readme"


def test_addresses_are_true():
    assert rules.address.main(["--check"]) == 0, "make address"


# ---- a tiny good lesson, as tools/notebooks/nbtext.py writes it ---------------------------------------------------------------------------------

COLAB = "https://colab.research.google.com"
SETUP = (ROOT / "tools/notebooks/setup_cell.py").read_text(encoding="utf-8").replace("ADDRESS", f"https://github.com/{rules.address.slug()}").strip()
EXERCISES = dict(zip(("four-heads", "split-heads", "mixed-up", "why-split", "count-parameters"), rules.KINDS))
ALTS = 'sentence = "Three tokens and their numbers"\n'  # alt/02.toml of the tiny lesson


def exercise(name, kind):
    return f"""%% md exercise-{name} core exercise
## {kind}: try it · 3 minutes · level 1

Do it.

%% code answer-{name} core exercise
mine = None
check("{name}", mine)

%% md solution-{name} core solution
<details><summary>Solution</summary>

```python
mine = 1
```

</details>
"""


def question(number):
    options = "\n".join(f"- **{letter}** {letter.lower()} thing" for letter in "ABCD")
    reasons = options.replace("**C** c thing", "**C** Right: it is").replace("thing", "mistake")
    return f"""%% md question-{number} core question
## Question {number}

{options}

<details><summary>Reasons</summary>

{reasons}

</details>
"""


GOOD = "\n".join([f"""%% md title core
# 02 A tiny lesson

**Afterwards you can** tell a good notebook from a bad one.

**Minutes:** 21 core, 42 with everything. **You need:** nothing.

[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({COLAB}/github/{rules.address.slug()}/blob/main/notebooks/02_multi_head_attention.ipynb)

%% code setup core setup folded
{SETUP}

%% code imports core imports
import torch
from d2l_ext.exercises import check

%% md one-screen deeper one-screen
<details><summary>In one screen</summary>

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
square = lambda x: x * x

%% code one-screen-proof deeper folded
assert square(3) == d2l_ext.square(3)

%% md recall core recall
What was it?

<details><summary>Answer</summary>That.</details>

%% code picture-block core picture folded
picture("02_multi_head_block")

%% md idea core
## A claim

Few words, after Vaswani et al. (2017), as in [01](01_attention_pooling.ipynb).

%% code sentence core sentence
tokens = ["dog", "bites", "man"]
features = ["animal", "person", "action", "height"]
X = torch.tensor([[1., 0., 0., 1.], [0., 0., 1., 0.], [0., 1., 0., 3.]])
heatmaps(X, tokens, features, name="02-sentence")

%% md ones-words core
**Predict** how they look.

%% code ones core predict
alike = torch.ones(2, 4)
mask = torch.ones(3, 3, dtype=torch.bool)

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
<details><summary>Solution</summary>

```python
mine = 2
```

</details>

%% code proof core
extra = X.sum()
assert extra == 7

%% md explorer-words core
**Predict** what it shows.

%% code explorer core explorer
explore(X)

%% md exercises core
# Exercises
""", *(exercise(name, kind) for name, kind in EXERCISES.items()), """%% md exercise-multi-head-class deeper exercise
## Build: all of it · 20 minutes · level 3 · deeper

From nothing.

%% code answer-multi-head-class deeper exercise
class Mine:
    '''Promises much.'''

check("multi-head-class", Mine)

%% md solution-multi-head-class deeper solution
<details><summary>Solution</summary>

```python
mine = 3
```

</details>

%% md homework deeper homework
## Homework: prove it · deeper

Prove it.

<details><summary>What a good answer contains</summary>A proof.</details>
""", *map(question, (1, 2, 3)), """%% md claims core claims
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


def make(text=GOOD, name="02_multi_head_attention"):
    """The notebook of such a text, as if it had run."""
    content = nbtext.pack(text, {})
    content["metadata"] = copy.deepcopy(nbtext.KERNEL)
    alt = '<img alt="Three tokens and their numbers" src="data:">'
    shown = {"sentence": ("text/html", alt), "picture-block": ("text/html", '<img alt="A block with several heads in it" src="data:">'),
             "explorer": ("text/html", "<div>alive</div>"), "aside": ("text/plain", "tensor(7.)"),
             "ones": ("text/plain", "tensor([1.])")}
    for count, cell in enumerate((cell for cell in content["cells"] if cell["cell_type"] == "code"), 1):
        cell["execution_count"] = count
        if cell["id"] in shown:
            mime, data = shown[cell["id"]]
            cell["outputs"] = [{"output_type": "execute_result", "data": {mime: data}, "metadata": {}}]
    return notebook_from(name, content)


def swap(old, new):
    """A change of the text."""
    assert old in GOOD
    return make(GOOD.replace(old, new, 1))


def stored(cell, **fields):
    """A change of what is stored with a cell."""
    notebook = make()
    for name, value in fields.items():
        setattr(notebook.cell(cell), name, value)
    return notebook


def meta(cell, **entries):
    return stored(cell, metadata=make().cell(cell).metadata | entries)


def notebook_with(cells):
    notebook = make()
    notebook.cells = cells
    return notebook


def prints(text, **more):
    return [{"output_type": "stream", "name": "stdout", "text": text} | more]


def shows(mime, content):
    return [{"output_type": "display_data", "data": {mime: content}, "metadata": {}}]


def add(cells, name="02_multi_head_attention"):
    """More cells before `# Exercises`."""
    return make(GOOD.replace("%% md exercises core", cells + "\n\n%% md exercises core"), name)


def code(line, tags="core"):
    return add(f"%% code new {tags}\n{line}")


def words(text, tags="core"):
    return add(f"%% md new {tags}\n{text}")


STATE = {"widgets": {"state": {}}}
BAD = [  # rule, the cell it must name, a notebook with one thing wrong
    ("planned_file", "title", make(name="Untitled31")),
    ("slug_ids", "Idea_2", stored("idea", id="Idea_2")),
    ("slug_ids", "proof", stored("aside", id="proof")),
    ("known_tags", "idea", meta("idea", tags=["core", "idea"])),
    ("known_tags", "idea", meta("idea", tags=[])),
    ("known_tags", "idea", meta("idea", tags=["core", "deeper"])),
    ("fixed_cells", "exit", swap("%% md exit core exit\nWhat now?", "")),
    ("fixed_cells", "title", notebook_with(make().cells[:-2] + make().cells[:-3:-1])),
    ("fixed_cells", "more", make(GOOD + "\n%% md more core\nMore.")),
    ("fixed_cells", "idea", meta("idea", tags=["core", "claims"])),
    ("fixed_cells", "claims", meta("claims", tags=["core"])),
    ("fixed_cells", "question-2", meta("question-2", tags=["core"])),
    ("title_form", "title", swap("**Afterwards you can** tell", "You can tell")),
    ("title_form", "title", swap("# 02 A", "# 03 A")),
    ("title_form", "title", swap("**You need:** nothing.", "")),
    ("title_form", "title", swap("21 core", "45 core")),
    ("title_form", "title", swap("Few words", "Few words, " + "or more, " * 200)),
    ("fits_a_class", "title", make(GOOD.replace("3 minutes", "9 minutes"))),
    ("fits_a_class", "title", words("word " * 2000)),
    ("one_screen", "one-screen", swap("- Three\n", "")),
    ("one_screen", "one-screen", swap("**Cost.** Nothing.", "It costs nothing.")),
    ("one_screen", "one-screen", swap("$$x^2$$", "x squared")),
    ("one_screen", "one-screen", swap("<details><summary>In one screen</summary>", "In one screen")),
    ("one_screen", "one-screen", swap("All the same.", "All the same. " * 90)),
    ("one_screen", "one-screen-code", swap("square = lambda", "import d2l_ext\nsquare = lambda")),
    ("one_screen", "one-screen-code", swap("import torch\nsquare", "square")),
    ("one_screen", "one-screen-code", swap("square = lambda x: x * x", "square = lambda x: x * x" + "\nx = 1" * 20)),
    ("one_screen", "one-screen-code", meta("one-screen-code", jupyter={})),
    ("one_screen", "one-screen-code", meta("one-screen-code", tags=["core"])),
    ("one_screen", "one-screen-proof", swap("assert square(3) ==", "square(3) ==")),
    ("homework", "homework", swap("## Homework: prove it · deeper", "## Prove it · deeper")),
    ("homework", "homework", swap("<details><summary>What a good answer contains</summary>A proof.</details>", "A proof.")),
    ("written_from_scratch", "exercises", make(GOOD.replace("multi-head-class", "multi-head"))),
    ("written_from_scratch", "exercises", make(name="01_attention_pooling")),
    ("written_from_scratch", "answer-multi-head-class", swap("    '''Promises much.'''", "    heads = 2")),
    ("written_from_scratch", "answer-multi-head-class", swap("%% md homework", "%% md between deeper\nWords.\n\n%% md homework")),
    ("title_form", "title", swap("notebooks/02_multi_head_attention.ipynb)", "notebooks/03_self_attention.ipynb)")),
    ("recall_question", "recall", swap("<details><summary>Answer</summary>That.</details>", "That.")),
    ("headings", "idea", swap("## A claim", "# A claim")),
    ("headings", "idea", swap("## A claim", "### A claim")),
    ("deeper_is_marked", "new", add("%% md new deeper\n## More")),
    ("deeper_is_marked", "new", add("%% md new core\n## More · deeper")),
    ("deeper_is_marked", "new", add("%% md more deeper\n## More · deeper\n\n%% md new core\nBack again.")),
    ("short_words", "new", words("word " * 91)),
    ("plain_words", "idea", swap("Few words", "Simply words")),
    ("plain_words", "next", swap("The end", "Just the end")),
    ("no_pictures_in_words", "idea", swap("Few words", "![a picture](https://a.b/c.png)")),
    ("no_pictures_in_words", "title", swap("# 02 A tiny lesson", '# 02 A tiny lesson <img src="x">')),
    ("links_lead_somewhere", "idea", swap("01_attention_pooling.ipynb", "01_attention.ipynb")),
    ("links_lead_somewhere", "idea", swap("01_attention_pooling.ipynb", "../d2l_ext/masks.py")),
    ("plain_python", "new", code("%matplotlib inline")),
    ("plain_python", "new", code("x = (")),
    ("plain_python", "new", code("")),
    ("short_code", "new", code("\n".join(["x = 1"] * 16))),
    ("narrow_code", "new", code("x = " + "1 + " * 20 + "1")),
    ("narrow_code", "solution-four-heads", swap("mine = 1\n```", "mine = " + "1 + " * 20 + "1\n```")),
    ("no_padding", "new", code("for x in (1, 2):\n    print(f'{x:5} {x:8.2f}')")),
    ("no_padding", "new", code("print(f'{x:>8}')")),
    ("predictions_are_not_spoiled", "ones", stored("ones", metadata={"tags": ["core", "predict"]})),
    ("predictions_are_not_spoiled", "proof", meta("proof", collapsed=True, jupyter={"outputs_hidden": True})),
    ("predictions_are_not_spoiled", "ones", swap("**Predict** how they look.", "They are ones.")),
    ("predictions_are_not_spoiled", "ones", stored("ones", outputs=[])),
    ("predictions_are_not_spoiled", "ones", swap("dtype=torch.bool)\n", "dtype=torch.bool)\nassert mask.all()\n")),
    ("core_runs_alone", "proof", swap("extra = X.sum()\nassert", "assert extra is total and")),
    ("core_runs_alone", "proof", swap("extra = X.sum()\nassert extra", "extra = total(X)\nassert extra")),
    ("core_runs_alone", "proof", swap("def total", "X = X + 1\ndef total")),
    ("core_runs_alone", "new", add("%% code side deeper\nstep = 1\n\n%% code new core\nstep += 1")),
    ("core_runs_alone", "new", add("%% code side deeper\nstep = 1\n\n%% code new core\ndef f(x):\n    return x + step")),
    ("same_setup", "setup", swap("pip", "conda")),
    ("folded", "setup", stored("setup", metadata={"tags": ["core", "setup"]})),
    ("folded", "picture-block", stored("picture-block", metadata={"tags": ["core", "picture"], "jupyter": {"source_hidden": True}})),
    ("offline", "new", code("import requests")),
    ("offline", "new", code("from urllib.request import urlopen")),
    ("offline", "new", code("path = 'https://example.org/data.csv'")),
    ("offline", "new", code("import subprocess; subprocess.run(['pip', 'install', 'x'])")),
    ("no_machine_paths", "new", words("See /home/me/notes.")),
    ("no_machine_paths", "aside", stored("aside", outputs=prints("found in /usr/lib/python3"))),
    ("no_machine_paths", "aside", stored("aside", outputs=prints(f"{ROOT}/images"))),
    ("no_machine_paths", "new", code(r"path = 'C:\Users'")),
    ("ones_once", "ones", meta("ones", tags=["core"])),
    ("ones_once", "ones", make(name="03_self_attention")),
    ("sentence", "sentence", swap("[0., 1., 0., 3.]", "[0., 1., 0., 2.]")),
    ("sentence", "sentence", swap('"dog", "bites"', '"cat", "bites"')),
    ("sentence", "sentence", swap("%% code sentence core sentence", "%% code phrase core")),
    ("run_in_order", "proof", stored("proof", count=None)),
    ("run_in_order", "proof", stored("proof", count=31)),
    ("clean_outputs", "aside", stored("aside", outputs=[{"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}])),
    ("clean_outputs", "aside", stored("aside", outputs=prints("oh", name="stderr"))),
    ("clean_outputs", "aside", stored("aside", outputs=prints("UserWarning: lazy modules"))),
    ("clean_outputs", "aside", stored("aside", outputs=shows("text/plain", "FloatProgress(value=0.0)"))),
    ("clean_outputs", "aside", stored("aside", outputs=shows("text/plain", "<Axes at 0x7f3a2b1c>"))),
    ("no_volatile_metadata", "title", notebook_from("02_multi_head_attention", {"cells": [], "metadata": nbtext.KERNEL | STATE})),
    ("no_volatile_metadata", "aside", meta("aside", execution={"iopub.execute_input": "2026-01-01"})),
    ("no_volatile_metadata", "aside", stored("aside", outputs=shows(WIDGET, {"model_id": "1f"}))),
    ("small_outputs", "aside", stored("aside", outputs=prints("x" * 400 * 1024))),
    ("picture_cells", "picture-block", swap('picture("02_multi_head_block")', 'picture("02_multi_head_block")\nX = 1')),
    ("picture_cells", "picture-block", swap("02_multi_head_block", "02_no_such_block")),
    ("picture_cells", "picture-block", stored("picture-block", outputs=[])),
    ("picture_cells", "new", code('picture("02_multi_head_block")')),
    ("alt_text", "sentence", stored("sentence", outputs=shows("image/png", "iVBORw0KGgo="))),
    ("figures_have_words", "sentence", swap('name="02-sentence"', 'name="02-words"')),
    ("figures_have_words", "sentence", swap(', name="02-sentence"', "")),
    ("figures_have_words", "sentence", make(GOOD.replace("%% code sentence core sentence", "%% code phrase core").replace("02-sentence", "02-phrase"))),
    ("alt_text", "picture-block", stored("picture-block", outputs=shows("text/html", '<img alt="heads" src="data:">'))),
    ("alt_text", "picture-block", stored("picture-block", outputs=shows("text/html", ['<img src="data:">']))),
    ("explorers", "explorer", swap("%% code explorer core explorer", "%% code explorer core")),
    ("explorers", "explorer", swap("**Predict** what", "See what")),
    ("explorers", "explorer", stored("explorer", outputs=shows("text/plain", "explorer"))),
    ("exercise_cells", "solution-mixed-up", stored("answer-mixed-up", id="my-answer")),
    ("exercise_cells", "answer-mixed-up", swap('check("mixed-up", mine)', 'check("four-heads", mine)')),
    ("exercise_cells", "answer-mixed-up", swap('check("mixed-up", mine)', 'check("mixed-up", mine)\nmine')),
    ("exercise_cells", "solution-four-heads", swap("```python\nmine = 1\n```", "mine = 1")),
    ("exercise_cells", "exercise-four-heads", meta("solution-four-heads", tags=["core"])),
    ("exercise_cells", "exercise-four-heads", meta("solution-four-heads", tags=["deeper", "solution"])),
    ("exercise_cells", "exercise-nonsense", make(GOOD.replace("mixed-up", "nonsense"))),
    ("exercise_kinds", "exercise-mixed-up", swap("## Break: try", "## Mend: try")),
    ("exercise_kinds", "exercise-mixed-up", swap("## Break: try it · 3 minutes", "## Break: try it")),
    ("exercise_kinds", "exercises", swap("## Break", "## Build")),
    ("exercise_kinds", "exercises", make(GOOD.replace("core exercise", "deeper exercise"))),
    ("exercise_kinds", "exercises", make(GOOD.replace("%% md homework", "\n".join(exercise(name, "Build") for name in ("pencil", "split-heads", "mixed-up")) + "\n%% md homework"))),
    ("exercise_cells", "pencil", stored("pencil-page", id="page")),
    ("exercise_kinds", "exercise-four-heads", make(GOOD.replace("%% md exercises core\n# Exercises\n", "").replace("%% md claims", "%% md exercises core\n\n%% md claims"))),
    ("questions", "question-1", swap("- **D** d thing\n", "")),
    ("questions", "question-1", swap("- **D** d mistake\n", "")),
    ("questions", "question-1", swap("Right: it is", "It is")),
    ("questions", "question-1", swap("- **C** c thing", "- **C** c thing, and a long one")),
    ("questions", "question-1", swap("- **D** d mistake", "- **D** Right, too")),
    ("claims", "claims", swap("[proof](#cell-id=proof)", "[prove](#cell-id=prove)")),
    ("claims", "claims", swap("[proof](#cell-id=proof)", "[idea](#cell-id=idea)")),
    ("claims", "claims", swap("[proof](#cell-id=proof)", "`proof`")),
    ("claims", "claims", swap("[proof](#cell-id=proof)", "[proof](#cell-id=sum)")),
    ("claims", "claims", swap("[proof](#cell-id=proof)", "see above")),
    ("claims", "claims", swap("| the numbers add up to 7 | [proof](#cell-id=proof) |", "")),
    ("sources", "references", swap("abs/1706.03762", "abs/1234.56789")),
    ("sources", "idea", swap("Vaswani et al. (2017)", "Vaswani et al. (2018)")),
]


@pytest.fixture
def alts(tmp_path, monkeypatch):
    """The tiny lesson's alternative texts, not those of the lesson that has its number."""
    (tmp_path / "02.toml").write_text(ALTS, encoding="utf-8")
    monkeypatch.setattr(rules, "ALT", tmp_path)


@pytest.mark.usefixtures("alts")
@pytest.mark.parametrize("rule", RULES)
def test_rule_accepts_the_good_notebook(rule):
    assert RULES[rule](make()) == []


@pytest.mark.usefixtures("alts")
@pytest.mark.parametrize("rule, cell, notebook", BAD, ids=[f"{rule}-{cell}-{i}" for i, (rule, cell, _) in enumerate(BAD)])
def test_rule_rejects_a_bad_notebook(rule, cell, notebook):
    complaints = RULES[rule](notebook)
    assert any(complaint.startswith(f"{notebook.name}.ipynb, cell `{cell}`: ") for complaint in complaints), complaints


def test_every_rule_was_seen_to_reject():
    assert {rule for rule, _, _ in BAD} == set(RULES)


# ---- the same for the rules about all notebooks -----------------------------------------------------------------------------------------

START = make("""%% md title core
# 00

%% md symbols core
| symbol | in code | shape | first in |
|---|---|---|---|
| $X$ | `X` | (3, 4) | 02 |
""", "00_start_here")


def start(row):
    return make(f"%% md symbols core\n| symbol | in code | shape | first in |\n|---|---|---|---|\n{row}", "00_start_here")


def exempt(count, reason="# not compared, because times vary"):
    return add("\n\n".join(f"%% code e{i} core nbval-ignore-output\n{i} {reason}" for i in range(count)))


BAD_TOGETHER = [
    ("few_exemptions", "e2", [exempt(3)]),
    ("few_exemptions", "e0", [exempt(1, reason="")]),
    ("few_exemptions", "new", [code("# NBVAL_IGNORE_OUTPUT\n1")]),
    ("symbols", "symbols", [start("| $X$ | `X` | (3, 4) |"), make()]),
    ("symbols", "symbols", [start("| $X$ | X | (3, 4) | 02 |"), make()]),
    ("symbols", "symbols", [start("| $X$ | `unheard_of` | (3, 4) | 02 |"), make()]),
    ("symbols", "symbols", [start("")]),
    ("every_exercise_is_used", "split-heads", [make(GOOD.replace("split-heads", "four-heads"))]),
]


@pytest.mark.parametrize("cell, proof, change, complaint", [
    ("aside", "proof", ("assert extra", "assert causal(extra)"), None),
    ("aside", "proof", ("extra = X", "extra = X"), "proof"),                # no call of the package's
    ("aside", "proof", ("assert extra", "causal(extra)"), "proof"),         # no assert
    ("aside", "idea", ("assert extra", "assert causal(extra)"), "idea"),    # no code
    ("nowhere", "proof", ("assert extra", "assert causal(extra)"), "nowhere"),
    ("aside", "proof", ("extra = rows.sum()", "extra = d2l_ext.causal(rows)"), "aside")])  # calls what it should show
def test_what_is_taught_is_shown(monkeypatch, cell, proof, change, complaint):
    row = {"name": "causal", "notebook": "02_multi_head_attention", "cell": cell, "proof": proof}
    monkeypatch.setattr(rules, "shown", lambda: [row])
    monkeypatch.setattr(rules.d2l_ext, "__all__", ["causal"])
    found = ACROSS["what_is_taught_is_shown"]([swap(*change)])
    assert [complaint] * len(found) == [re.search("cell `(.*?)`", words)[1] for words in found]
    assert bool(found) == bool(complaint)
    monkeypatch.setattr(rules.d2l_ext, "__all__", ["causal", "window"])
    assert any("`window`" in words for words in ACROSS["what_is_taught_is_shown"]([make()]))


@pytest.mark.parametrize("notebooks", [[START, make()], [exempt(2)]])
def test_rules_about_all_accept_good_ones(notebooks):
    assert ACROSS["few_exemptions"](notebooks) == ACROSS["symbols"](notebooks) == []
    assert not any(name in complaint for complaint in ACROSS["every_exercise_is_used"](notebooks) for name in EXERCISES)


@pytest.mark.parametrize("rule, cell, notebooks", BAD_TOGETHER)
def test_rules_about_all_reject_bad_ones(rule, cell, notebooks):
    assert any(f"cell `{cell}`: " in complaint for complaint in ACROSS[rule](notebooks))


def test_every_source_is_cited_sees_orphans_both_ways(monkeypatch):
    orphans = ACROSS["every_source_is_cited"]
    monkeypatch.setattr(rules, "references", lambda: {"vaswani2017": ("Vaswani", "2017", "https://arxiv.org/abs/1706.03762")})
    monkeypatch.setattr(rules, "docstrings", dict)
    assert orphans([make()]) == []
    assert "`vaswani2017`" in orphans([])[0]
    monkeypatch.setattr(rules, "docstrings", lambda: {"d2l_ext/masks.py": "As in Nobody et al. 1999, section 2."})
    assert "add Nobody 1999" in orphans([make()])[0]
    monkeypatch.setattr(rules, "docstrings", lambda: {"d2l_ext/masks.py": "As in Vaswani et al. 2017."})
    assert orphans([]) == []


def test_notebooks_are_stored_as_the_tools_store_them():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert nbtext.pack(nbtext.unpack(content), content) == content, f"{path.name}: make notebooks"
