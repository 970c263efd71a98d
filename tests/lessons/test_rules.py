"""Every rule accepts two tiny lessons, and rejects them with one thing changed."""
import pytest
from rules import RULES, exercises, outputs, sources
from rules.notebook import Notebook
from tiny_lessons import (GOOD, LESSON, NAMES, add, code, content, exercise, lessons, prints, shows,
                          stored, swap, words)

ERROR = [{"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}]
WIDE = "1 + " * 20 + "1"
PROOF = "[proof](#cell-id=proof)"
X = "| $X$ | `X` | (3, 4) | 02 |"
BAD = [  # rule, what is changed, words of the complaint: cell, what is wrong
    # layout
    ("slug_ids", stored("aside", id="proof"), "proof: two cells"),
    ("slug_ids", stored("aside", id="An_aside"), "An_aside: not of this form"),
    ("known_tags", swap("idea core", "idea core idea"), "idea: unknown tags ['idea']"),
    ("known_tags", swap("idea core", "idea"), "idea: core or deeper"),
    ("known_tags", swap("idea core", "idea core deeper"), "idea: core or deeper"),
    ("fixed_cells", swap("%% md exit core exit\nWhat now?", ""), "exit: this cell is missing"),
    ("fixed_cells", swap("%% md exercises", "%% md exit core\n\n%% md exercises"), "order"),
    ("fixed_cells", lessons(GOOD + "\n%% md more core\nMore."), "title: begin with"),
    ("fixed_cells", swap("idea core", "idea core claims"), "idea: id and tag"),
    ("fixed_cells", swap("question-2 core question", "question-2 core"), "question-2: id and tag"),
    ("title_form", swap("**Afterwards you can** tell", "You can tell"), "title: write"),
    ("title_form", swap("# 02 Tiny", "# 03 Tiny"), "title: it begins with 03"),
    ("title_form", lessons(name="Untitled31"), "title: it begins with 02"),
    ("title_form", swap("**You need:** nothing.", ""), "title: **You need:**"),
    ("fits_a_class", swap("3 minutes", "9 minutes", -1), "the core takes 50 minutes"),
    ("fits_a_class", words("word " * 2000), "title: the core has 2"),
    ("one_screen", swap("- Three\n", ""), "one-screen: a formula"),
    ("one_screen", swap("**Cost.** Nothing.", "It costs nothing."), "one-screen: a formula"),
    ("one_screen", swap("<details>\n\n$$", "$$"), "one-screen: fold"),
    ("one_screen", swap("All the same.", "All the same. " * 90), "one-screen: fold"),
    ("one_screen", swap("torch\nmine", "torch, d2l_ext\nmine"), "one-screen-code: up to"),
    ("one_screen", swap("import torch\nmine", "mine"), "one-screen-code: up to"),
    ("one_screen", swap("x * x", "x * x" + "\nx = 1" * 20), "one-screen-code: up to"),
    ("one_screen", swap("code deeper", "code core"), "one-screen-code: tag it"),
    ("one_screen", swap("assert mine", "mine"), "one-screen-proof: assert"),
    ("folded", swap("core setup folded", "core setup"), "setup: its source"),
    ("folded", swap("code deeper folded", "code deeper"), "one-screen-code: its source"),
    ("stored_by_the_tools", stored("ones", metadata={"tags": ["core", "predict"]}), "ones: f"),
    ("stored_by_the_tools", stored("idea", attachments={}), "idea: fields"),
    ("stored_by_the_tools", [Notebook(LESSON, content(GOOD) | {"metadata": {}})], "title: the"),
    ("headings", swap("## A claim", "# A claim"), "idea: `A claim` is of the first"),
    ("headings", swap("## A claim", "### A claim"), "idea: `A claim` skips"),
    ("deeper_is_marked", add("%% md new deeper\n## More"), "new: `· deeper` is missing"),
    ("deeper_is_marked", words("## More · deeper"), "new: `· deeper` is wrong"),
    ("deeper_is_marked", add("%% md more deeper\n## A · deeper\n\n%% md new core\nB"), "new: with"),
    # words
    ("short_words", words("word " * 91), "new: 91 words"),
    ("plain_words", swap("Few words", "Simply words"), "idea: `Simply`"),
    ("no_pictures_in_words", words("![a picture](https://a.b/c.png)"), "new: a picture"),
    ("no_pictures_in_words", swap("# 02 Tiny", '# 02 Tiny <img src="x">'), "title: a picture"),
    ("links_lead_somewhere", swap("01_attention_pooling.ipynb", "01.ipynb"), "idea: 01.ipynb"),
    ("links_lead_somewhere", words("[masks](../d2l_ext/masks.py)"), "new: ../d2l_ext"),
    # code
    ("plain_python", code("%matplotlib inline"), "new: not Python"),
    ("plain_python", code("x = 1\n%%framework jax"), "new: not Python"),
    ("fits_the_screen", code("\n".join(["x = 1"] * 16)), "new: 16 lines"),
    ("fits_the_screen", code(f"x = {WIDE}"), "new: 85 characters"),
    ("fits_the_screen", swap("mine = 1\n", f"mine = {WIDE}\n"), "solution-four-heads: 88"),
    ("no_padding", code("for x in (1, 2):\n    print(f'{x:.1f} {x:8.2f}')"), "new: `:8.2f` pads"),
    ("no_padding", code("print(f'{x:>8}')"), "new: `:>8` pads"),
    ("core_runs_alone", swap("assert extra", "assert total"), "proof: `total` comes from"),
    ("core_runs_alone", swap("def total", "X = X + 1\ndef total"), "proof: `X` comes from"),
    ("core_runs_alone", add("%% code a deeper\ni = 1\n\n%% code new core\ni += 1"), "new: `i`"),
    ("core_runs_alone", add("%% code a deeper\ni = 1\n\n%% code new core\ni = -i"), "new: `i`"),
    ("core_runs_alone", add("%% code a deeper\ni = 1\n\n%% code new core\nlambda: i"), "new: `i`"),
    ("core_runs_alone", add("%% code a deeper needs-jax\n%%framework jax\ni = 1\n\n"
                            "%% code new core needs-jax\n%%framework jax\ni + 1"), "new: `i`"),
    ("core_runs_alone", code("extra"), "new: `extra` comes from the proof `proof`"),
    ("proofs_stand_apart", swap("# @title Proof: the numbers", "# The numbers"), "proof: no title"),
    ("proofs_stand_apart", code("assert tokens"), "new: an assert in the story"),
    ("frameworks_are_tagged", code("%%framework jax\nx = 1"), "new: tagged [], not ['needs-jax']"),
    ("frameworks_are_tagged", add("%% code new core needs-jax\n%%framework mxnet\nx = 1"), "new"),
    ("same_setup", swap("Colab, Kaggle", "elsewhere"), "setup: not the set-up"),
    ("offline", code("import requests"), "new: `requests`"),
    ("offline", code("path = 'https://example.org/data.csv'"), "new: `https://`"),
    ("no_machine_paths", words("See /home/me/notes."), "new: `/home/`"),
    ("no_machine_paths", stored("aside", outputs=prints(f"{sources.ROOT}/images")), "aside: `/"),
    ("no_machine_paths", code(r"path = 'C:\Users'"), "new: `C:"),
    ("ones_once", swap("code ones core predict", "code ones core"), "ones: `torch.ones(2, 4)`"),
    ("ones_once", lessons(name="03_self_attention"), "ones: `torch.ones(2, 4)`"),
    ("sentence", lessons(GOOD.replace("0., 3.]", "0., 2.]")), "sentence: missing"),
    ("sentence", swap("code sentence core sentence", "code phrase core"), "sentence: missing"),
    # outputs
    ("run_in_order", stored("proof", execution_count=None), "proof: its number is None"),
    ("clean_outputs", stored("aside", outputs=ERROR), "aside: it raises"),
    ("clean_outputs", stored("aside", outputs=prints("oh", name="stderr")), "aside: it writes"),
    ("clean_outputs", stored("aside", outputs=prints("UserWarning: x")), "aside: `UserWarning`"),
    ("clean_outputs", stored("aside", outputs=prints("<Axes at 0x7f3a2b1c>")), "aside: `at 0x7f"),
    ("clean_outputs", stored("aside", outputs=shows({}, outputs.WIDGET)), "aside: a live widget"),
    ("small_outputs", stored("aside", outputs=prints("x" * 400 * 1024)), "aside: the largest"),
    ("picture_cells", swap('block")', 'block")\nX = 1'), "picture-block: tag and code"),
    ("picture_cells", code('picture("02_multi_head_block")'), "new: tag and code"),
    ("picture_cells", stored("picture-block", outputs=prints("block")), "picture-block: the"),
    ("alt_text", stored("sentence", outputs=shows("iVBORw0KGgo=", "image/png")), "sentence: a"),
    ("alt_text", stored("sentence", outputs=shows(['<img alt="heads">'])), "sentence: words of"),
    ("figures_have_words", swap('name="02-sentence"', 'name="02-x"'), "sentence: a figure"),
    ("figures_have_words", swap(', name="02-sentence"', ""), "sentence: nothing draws"),
    ("predictions", swap("**Predict** how they look.", "They are ones."), "ones: the cell before"),
    ("predictions", swap("**Predict** what", "See what"), "explorer: the cell before"),
    ("predictions", stored("ones", outputs=[]), "ones: it shows nothing"),
    ("predictions", swap("ones(2, 4)", "ones(2, 4)\nassert alike.all()"), "ones: an assert"),
    ("explorers", swap("code explorer core explorer", "code explorer core"), "explorer: there"),
    ("explorers", stored("explorer", outputs=prints("explorer")), "explorer: no page"),
    ("few_exemptions", code("'NBVAL_IGNORE_OUTPUT because'"), "new: no reason"),
    ("few_exemptions", add("\n\n".join(
        f"%% code e{i} core nbval-skip\n{i}  # because" for i in range(3))), "e2: one cell"),
    # exercises
    ("exercise_cells", swap("code answer-mixed-up", "code mine"), "solution-mixed-up: not"),
    ("exercise_cells", swap("md pencil-page", "md page"), "pencil: not one of three"),
    ("exercise_cells", swap('check("mixed-up", mine)', "mine"), "answer-mixed-up: it"),
    ("exercise_cells", swap("```python\nmine = 1\n```", "mine = 1"), "solution-four-heads: fold"),
    ("exercise_cells", swap("four-heads core solution", "four-heads deeper solution"), "heads: ("),
    ("exercise_cells", swap("mixed-up", "nonsense", -1), "exercise-nonsense: no exercise"),
    ("exercise_kinds", swap("## Break: try", "## Mend: try"), "exercise-mixed-up: not a heading"),
    ("exercise_kinds", swap("## Break", "## Build"), "exercises: ['Break'] missing"),
    ("exercise_kinds", swap("core exercise", "deeper exercise", -1), "exercises: 6 exercises, or"),
    ("exercise_kinds", add(exercise("pencil", "Build")), "exercise-pencil: not between"),
    ("exercise_kinds", swap("%% md homework", "\n".join(
        exercise(name, "Build") for name in "abc") + "\n%% md homework"), "exercises: 9 exercises"),
    ("every_exercise_is_used", swap("split-heads", "four-heads", -1), "split-heads: no notebook"),
    ("written_from_scratch", swap("multi-head-class", "multi-head", -1), "exercises: 0 here"),
    ("written_from_scratch", lessons(name="01_attention_pooling"), "exercises: 1 here"),
    ("written_from_scratch", swap("much.'''", "much.'''\n    heads = 2"), "class: give"),
    ("written_from_scratch", swap("%% md homework", "%% md x core\nX\n\n%% md homework"), "not"),
    ("folded_answers", swap("<details>That.</details>", "That."), "recall: not"),
    ("folded_answers", swap("## Homework: prove it", "## Prove it"), "homework: not"),
    ("folded_answers", swap("<details>A proof.</details>", "A proof."), "homework: not"),
    ("questions", swap("- **D** D thing\n", ""), "question-1: not of this form"),
    ("questions", swap("Right: it is", "It is"), "question-1: exactly"),
    ("questions", swap("**D** D mistake", "**D** Right, too"), "question-1: exactly one"),
    ("questions", swap("**C** C thing", "**C** C thing, and a long one"), "question-1: the right"),
    # sources
    ("claims", swap(PROOF, "[idea](#cell-id=idea)"), "claims: `the numbers"),
    ("claims", swap(PROOF, "[proof](#cell-id=sum)"), "claims: `the numbers"),
    ("claims", swap(f"| the numbers add up to 7 | {PROOF} |", ""), "claims: no table"),
    ("sources", swap("abs/1706.03762", "abs/1234.56789"), "references: https://arxiv"),
    ("sources", swap("Vaswani et al. (2017)", "Vaswani et al. (2018)"), "idea: Vaswani 2018"),
    ("every_source_is_cited", swap("abs/1706.03762", "abs/1"), "vaswani2017: nothing"),
    ("what_is_taught_is_shown", swap("d2l_ext.square(3)", "9"), "one-screen-proof: no assert"),
    ("what_is_taught_is_shown", swap("assert mine", "mine"), "one-screen-proof: no assert"),
    ("what_is_taught_is_shown", swap("mine = lambda x: x * x", "mine = square"), "-code: no own"),
    ("what_is_taught_is_shown", swap("code one-screen-code", "md one-screen-code"), "-code: no"),
    ("symbols", swap(X, "| $X$ | `X` | (3, 4) |"), "symbols: `$X$` is not of this form"),
    ("symbols", swap(X, "| $X$ | X | (3, 4) | 02 |"), "symbols: `$X$` is not of this form"),
    ("symbols", swap(X, "| $X$ | `unknown` | (3, 4) | 02 |"), "symbols: `unknown` does"),
    ("symbols", swap(X, ""), "symbols: no table"),
]


@pytest.fixture(autouse=True)
def tiny_world(tmp_path, monkeypatch):
    """What the rules compare notebooks with: as little as the tiny lessons have."""
    (tmp_path / "lesson_02").mkdir()
    alt = tmp_path / "lesson_02/alt.toml"
    alt.write_text('sentence = "Three tokens and their numbers"', "utf-8")
    names = {*NAMES, "pencil", "multi-head-class"}
    few = {name: each for name, each in exercises.all_exercises().items() if name in names}
    own = {"name": "square", "notebook": LESSON, "cell": "one-screen-code",
           "proof": "one-screen-proof"}
    entries = {"vaswani2017": ("Vaswani", "2017", "https://arxiv.org/abs/1706.03762"),
               "gers2000": ("Gers", "2000", "https://doi.org/10.1162/089976600300015015")}
    monkeypatch.setattr(outputs, "LESSONS", tmp_path)
    monkeypatch.setattr(exercises, "all_exercises", lambda: few)
    monkeypatch.setattr(sources, "shown", lambda: [own])
    monkeypatch.setattr(sources.d2l_ext, "__all__", ["square"])
    monkeypatch.setattr(sources, "references", lambda: entries)
    monkeypatch.setattr(sources, "docstrings", lambda: {"sequence.py": "Gers et al. 2000"})


@pytest.mark.parametrize("rule", RULES)
def test_rule_accepts_good_notebooks(rule):
    assert RULES[rule](lessons()) == []


@pytest.mark.parametrize("rule, notebooks, complaint", BAD)
def test_rule_rejects_bad_ones(rule, notebooks, complaint):
    complaints = RULES[rule](notebooks)
    assert any(complaint in each for each in complaints), complaints


def test_every_rule_was_seen_to_reject():
    assert {rule for rule, *_ in BAD} == set(RULES)


def test_what_the_package_has_is_compared_as_well(monkeypatch):
    monkeypatch.setattr(sources, "docstrings", lambda: {"masks.py": "Nobody et al. 1999"})
    assert "masks.py, docstring: Nobody 1999" in RULES["every_source_is_cited"](lessons())[-1]
    monkeypatch.setattr(sources.d2l_ext, "__all__", ["square", "window"])
    assert "window: no lesson" in RULES["what_is_taught_is_shown"](lessons())[0]
