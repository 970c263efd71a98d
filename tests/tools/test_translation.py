"""The other languages' lessons: whole, up to date, faithful, in letters that can be drawn."""
import copy
import html
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache

import pytest
import torch
import translation
from readme import ROOT

import d2l_ext
from d2l_ext import plotting
from d2l_ext.exercises import all_exercises, check, hint
from d2l_ext.explorers import pooling_explorer
from d2l_ext.explorers.base import lean, source, texts
from d2l_ext.sequence import FORMULAS, LINEAR_FORMULAS, STATES
from d2l_ext.translation import entries, outside, scripts, translated

ZH = translation.load("zh")
needed = cache(translation.everything)


@pytest.fixture
def chinese():
    d2l_ext.language("zh")
    yield
    d2l_ext.language("en")


def found(english=None, catalogue=None):
    return list(translation.faults(catalogue or ZH, english or needed()))


# ---- drift -------------------------------------------------------------------------------------

def test_every_text_is_translated_and_nothing_is_stale():
    assert found() == []


def test_what_is_made_from_the_catalogue_is_up_to_date():
    stale = [path.relative_to(ROOT).as_posix()
             for path, content in translation.wanted_files("zh", ZH).items()
             if not path.exists() or path.read_bytes() != content]
    assert stale == []
    assert translation.lacking(ZH, plotting.CHINESE) == []


def changed(context, new):
    """The lessons, but for one cell with other words; without words the cell is gone."""
    made = {}
    for (where, text), places in needed().items():
        if where != context:
            made[where, text] = places
        elif new is not None:
            made[where, new(text)] = places
    return made


@pytest.mark.parametrize("new, fault", [
    (lambda text: text.replace("one mixture", "two mixtures", 1), "stale: 02/one-way"),
    (lambda text: text + "\n", "stale: 02/one-way"),
    (None, "surplus: 02/one-way"),
])
def test_a_wrong_english_cell_is_named(new, fault):
    english = changed("02/one-way", new)
    assert english != needed() and found(english) == [fault]


def test_a_wrong_catalogue_is_named():
    """A new cell, a new message, and one whose translation is empty."""
    new = needed() | {("02/brand-new", "Some words."): []}
    new |= {(None, "Six new words of a check."): []}
    assert found(new) == ["missing: 02/brand-new", "missing: 'Six new words of a check.'"]


def one_cell(context, new):
    """The catalogue with another translation of one cell."""
    made = copy.copy(ZH)
    made._messages = ZH._messages.copy()
    key = next(key for key, entry in made._messages.items() if entry.context == context)
    entry = made._messages[key].clone()
    entry.string = new(entry.string)
    assert entry.string != made._messages[key].string
    made._messages[key] = entry
    return made


@pytest.mark.parametrize("context, new, fault", [
    ("02/head-one-words", lambda text: text.replace("20", "10"), "02/head-one-words: a number"),
    ("02/one-row-words", lambda text: text.replace("cell-id=cheat", "cell-id=chat"),
     "02/one-row-words: a link"),
    ("02/head-words", lambda text: text.replace(r"\mathbf W^{(q)}", r"\mathbf W^{(k)}"),
     "02/head-words: a formula"),
    ("02/one-way", lambda text: text.replace("`bites`", "bites"), "02/one-way: code"),
    ("02/one-way", lambda text: text.replace("## ", "### "), "02/one-way: a heading"),
    ("02/recall", lambda text: text.replace("</details>", ""), "02/recall: a tag"),
    ("02/exercise-four-heads", lambda text: text.replace("- **d**", "**d**"),
     "02/exercise-four-heads: an item of a list"),
    ("00/clashes", lambda text: text.replace("\n| $i$", "\n$i$"), "00/clashes: a row of a table"),
    ("02/one-way", lambda text: text.replace("权重", "weights"), None),
    ("02/recall", lambda text: text.replace("查询", "问题"), "02/recall: query is 查询"),
    ("02/recall", lambda text: text.replace("，", ",", 1), "02/recall: a half-width sign"),
    ("02/recall", lambda text: text.replace("softmax", " softmax"), "02/recall: a space beside"),
    ("02/recall", lambda text: text.replace("**：", "：**", 1), "02/recall: bold that does not"),
])
def test_a_wrong_translation_is_named(context, new, fault):
    faults = found(catalogue=one_cell(context, new))
    assert faults == [] if fault is None else any(each.startswith(fault) for each in faults)


KEPT = {"rotary", "Recurrence", "cache", "decay"}  # of a name, and of code
# Where Chinese has places in another order than English, as someone has read.
ORDERS = {
    "{0} of {1} should have": "1023", "numbers are not. The first": "10234",
    "operations, {2} {3}, longest": "01324", "In tiles of": "01324657", "for width {0}": "021",
    "The last output knows": "10243", "Step {0} of {1}. Moved": "01324"}


def mistaken(entries):
    """Terms alone that the glossary has otherwise; what two different words are called in pieces
    and frames; places in an order that nobody has read."""
    glossary, called, found = translation.terms("zh")[0], {}, []
    for english, chinese, places in entries:
        if glossary.get(english.lower(), chinese) != chinese and english not in KEPT:
            found.append(english)
        if any(place.endswith(".js") or place in translation.FRAMES for place in places):
            word = re.sub(r"s\b", "", english.lower())
            if called.setdefault(chinese, word) != word and english not in ("none", "nothing"):
                found.append(english)
        order = "".join(re.findall(r"\{=?(\d)\}", chinese))
        read = [ORDERS[words] for words in ORDERS if words in english]
        if order != "".join(read or re.findall(r"\{(\d)\}", english)):
            found.append(english)
    return found


def test_words_alone_and_places_say_what_the_english_ones_say():
    entries = [(entry.id, entry.string, [place for place, _ in entry.locations])
               for entry in ZH if entry.id and not entry.context]
    assert mistaken(entries) == []
    wrong = {"query": "键", "more than": "少于", "sine, column {0}": "余弦，第{0}列",
             "From position {0} to {1}": "从位置{1}到{0}"}
    for words, other in wrong.items():
        assert mistaken([(english, other if english == words else chinese, places)
                         for english, chinese, places in entries]), words


def test_the_map_has_the_minutes_of_the_titles():
    rows = translation.overview("zh", ZH, 0).splitlines()[2:]
    for row, path in zip(rows, translation.LESSONS, strict=True):
        said = translation.MINUTES.findall(translation.cells(path)[0]["source"])
        assert f"({path.name})" in row and row.endswith(f"| {' / '.join(said)} |")


def test_bringing_up_to_date_keeps_what_is_known_and_asks_for_the_rest():
    english = changed("02/one-way", lambda text: text + " And more.")
    merged = translation.merged(ZH, english)
    entry, = [each for each in merged if each.context == "02/one-way"]
    before, = [each for each in ZH if each.context == "02/one-way"]
    assert entry.fuzzy and entry.string == before.string
    assert [before.id] == [*entry.previous_id]
    shown, = translation.side_by_side(merged)
    assert "+ " in shown and before.string in shown and "And more." in shown
    assert [each for each in merged if each.id and each.fuzzy] == [entry]
    again = translation.merged(ZH, needed())
    assert [(each.context, each.id, each.string) for each in again] == [
        (each.context, each.id, each.string) for each in ZH]
    assert b"And more" not in translation.mo(merged)


def test_the_catalogue_is_one_that_others_can_read(tmp_path):
    from babel.messages.pofile import read_po
    with (ROOT / "translations/zh.po").open("rb") as file:
        assert len(read_po(file, abort_invalid=True)) == len(ZH)


# ---- the lessons -------------------------------------------------------------------------------

@pytest.mark.parametrize("path", translation.LESSONS, ids=lambda path: path.stem[:2])
def test_code_cells_are_those_of_the_english_lesson(path):
    english = translation.cells(path)
    twin = translation.cells(path.parent / "zh" / path.name)
    assert [cell["id"] for cell in english] == [cell["id"] for cell in twin]
    for one, other in zip(english, twin):
        assert one["cell_type"] == other["cell_type"]
        tags = {key: value for key, value in other["metadata"].items() if key != "english"}
        assert one["metadata"] == tags
        if one["id"] == "setup":
            assert other["source"] == f'{one["source"]}\n{translation.SET_UP.format("zh")}'
        elif one["cell_type"] == "code":
            assert one["source"] == other["source"]
    ran = [bool(cell["execution_count"]) for cell in english if cell["cell_type"] == "code"]
    assert ran == [bool(cell["execution_count"]) for cell in twin if cell["cell_type"] == "code"]


def test_addresses_lead_to_the_same_language():
    for path in translation.LESSONS:
        title = translation.cells(path.parent / "zh" / path.name)[0]["source"]
        assert f"/blob/main/notebooks/zh/{path.name})" in title
    home, twins = (re.findall(r"\((https://[^)]*github\.io[^)]*)\)", translation.read(ROOT / name))
                   for name in ("README.md", "README.zh.md"))
    assert len(home) == 2 and twins == [f"{each}zh/" for each in home]
    image, = re.findall('<img src="([^"]*)"', translation.read(ROOT / "README.zh.md"))
    assert image == "images/zh/02_explorer.svg" and (ROOT / image).exists()


# ---- what is shown -----------------------------------------------------------------------------

def test_a_language_is_chosen(monkeypatch, tmp_path):
    assert d2l_ext.language() == "en"
    with pytest.raises(ValueError, match="code='xx' has no catalogue: choose from en, zh"):
        d2l_ext.language("xx")
    monkeypatch.setattr("d2l_ext.translation.chosen", "")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    for metadata, code in (({"language": "zh"}, "zh"), ({"language": "xx"}, "en"), ({}, "en")):
        (tmp_path / "a.ipynb").write_text(json.dumps({"metadata": metadata}))
        outside.cache_clear()
        assert d2l_ext.language() == code
    monkeypatch.setenv("D2L_EXT_LANGUAGE", "zh")
    outside.cache_clear()
    assert d2l_ext.language() == "zh"
    monkeypatch.setenv("D2L_EXT_LANGUAGE", "xx")
    outside.cache_clear()
    with pytest.raises(ValueError, match="D2L_EXT_LANGUAGE='xx' has no catalogue"):
        d2l_ext.language()
    monkeypatch.undo()
    outside.cache_clear()


def test_words_are_found_whole_in_places_and_in_parts(monkeypatch):
    words = {"{0} heads": "{0}个头", "head {0}: {1}": "第{0}个头：{1}", "the animal?": "动物？",
             "Right.": "对。", "Go on.": "继续。", "{0} {1}": "never: too short to be found",
             "{0} to {1}": "{0}到{1}", "gradient": "梯度", "best": "最好",
             "sum": "总和", "none, causal": "无，因果", "score": "分数",
             "{0} raises {1}: {2}": "{0}抛出{=1}：{=2}", "The gradient of {0}": "{0}的梯度",
             "Called with {0}.": "传入的是{0}。", "Use x[:, None].": "用x[:, None]。",
             "{0} {1} operations": "{0} {1}次运算",
             "there {0} says: {1}": "那里{0}说：{=1}", "it fails; {0}.": "它失败；{0}。",
             "{0} is missing: go on": "没有{0}：继续",
             '"{0}" helps': '"{=0}"有用', "all": "全部", "Look here:": "看这里："}
    monkeypatch.setattr("d2l_ext.translation.entries", lambda code: words)
    monkeypatch.setattr("d2l_ext.translation.chosen", "zh")
    from d2l_ext.translation import patterns, put_together
    patterns.cache_clear(), put_together.cache_clear()
    for text, wanted in [
            ("the animal?", "动物？"), ("12 heads", "12个头"), ("head 2: x", "第2个头：x"),
            ("head 1: the animal?", "第1个头：动物？"), ("Right. Go on.", "对。继续。"),
            ("Right.\n  Go on.", "对。\n  继续。"), ("dog bites", "dog bites"),
            ("-3.7 to 31", "-3.7到31"), ("from dog to man", "from dog to man"),
            ("best, gradient: 1", "最好，梯度：1"), ("dog, best; man", "dog，最好；man"),
            ("dog, man", "dog, man"),
            ("sum 1.52, -4; none, causal 0.27", "总和1.52, -4；无，因果0.27"),
            ("sum 2", "sum 2"), ("score raises score: score", "分数抛出score：score"),
            ("sum raises E: sum (2)\n  Called with sum.", "总和抛出E：sum (2)\n  传入的是总和。"),
            ("sum raises E: sum\nbest of two", "总和抛出E：sum\nbest of two"),
            ("f(best, sum) raises E: sum\n  Use x[:, None].",
             "f(best, sum)抛出E：sum\n  用x[:, None]。"),
            ("sum 12 operations", "总和12次运算"), ("GRU 12 operations", "GRU 12次运算"),
            ("it fails; there sum says: best.", "它失败；那里总和说：best。"),
            ("The gradient of sum is missing: go on", "没有总和的梯度：继续"),
            ("'the animal?'", "'动物？'"), ('"12 heads"', '"12个头"'), ("'all\"", "'all\""),
            ('"all" helps', '"all"有用'), ("all heads", "全部个头"),
            ("12 dogs, all", "12 dogs，全部"), ("Look here: all", "看这里：全部"),
            ("dogs; Go on.", "dogs；继续。")]:
        assert translated(text) == wanted
    patterns.cache_clear(), put_together.cache_clear()


def test_a_key_is_known_in_entries_and_scripts_and_else_stays(chinese):
    from d2l_ext.translation import known
    assert known("query") == entries("zh")["query"] != "query"
    assert known("may attend") == scripts("zh")["may attend"]
    assert known("six words that nobody has said") == "six words that nobody has said"


def test_figures_tables_pictures_and_messages_speak_it(chinese):
    figure = plotting.heatmaps([[0.5, 0.5]], ["dog"], ["dog", "man"], titles=["by hand"])
    axis = figure.axes[0]
    assert (axis.get_title(), axis.get_xlabel(), axis.get_ylabel()) == tuple(
        entries("zh")[word] for word in ("by hand", "key", "query"))
    assert [label.get_text() for label in axis.get_xticklabels()] == ["dog", "man"]
    assert entries("zh")["score"] in plotting.table([("dog", 1)], ["token", "score"])._repr_html_()
    assert "查询" in plotting.picture("02_multi_head_block").alt
    assert "空位" in plotting.heatmaps([[1.0]], ["a"], ["a"], name="02-lengths").alt
    wrong = repr(check("split-heads", lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1)))
    assert "转置" in wrong and not english_left(wrong)
    assert not english_left(repr(hint("split-heads", 1)))


def test_no_word_of_a_table_stays_english():
    """But for those that zh.toml lists, and names in code."""
    lists = tomllib.loads(translation.read(ROOT / "translations/zh.toml"))
    stays = set(lists["stays"]["words"].split())
    left, used = set(), set()
    for path in translation.LESSONS:
        for cell in translation.cells(path.parent / "zh" / path.name):
            for text in words_of_tables(cell):
                words = set(re.findall(r"(?<![\w.])[A-Za-z][a-z]{2,}(?![\w(=.])", text))
                used |= words & stays
                left |= {(cell["id"], text)} if words - stays else set()
    assert left == set() and used == stays


def words_of_tables(cell):
    for output in cell.get("outputs", ()):
        page = "".join(output.get("data", {}).get("text/html", ""))
        for text in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", page):
            yield html.unescape(re.sub("<code>.*?</code>", "", text))


def test_a_name_to_be_typed_is_not_translated(chinese):
    shown = plotting.table([("`heads`", "heads"), ("`scale`", 1)], ["`score`", "score"])
    word, score = entries("zh")["heads"], entries("zh")["score"]
    assert f'<th scope="row"><code>heads</code></th><td>{word}</td>' in shown._repr_html_()
    assert f"<code>score</code></th><th scope=\"col\">{score}</th>" in shown._repr_html_()
    assert repr(shown).split() == ["score", score, "heads", word, "scale", "1"]


def test_a_formula_is_not_translated(chinese):
    """2nd of lesson 10 is no place: two times n times d."""
    shown = [text for row in (FORMULAS | LINEAR_FORMULAS).values()
             for what, text in row.items() if what != "holds for"] + [*STATES.values()]
    assert "2nd" in shown and [translated(text) for text in shown] == shown


def english_left(text):
    """Three English words in a row that are no code."""
    code = r"`[^`]*`|\[[^\]]*\]|\w+\([^)]*\)|\w+=\S+|[\w.]+\.[\w.]+|\"[^\"]*\"|'[^']*'"
    bare = re.sub(code, "x1", text)
    return re.findall(r"(?:\b[A-Za-z]{2,}\b[ ,]+){2}\b[A-Za-z]{2,}\b", bare)


def test_english_that_is_left_is_noticed():
    assert english_left("对。The heads hold stretches of it")
    assert not english_left("对。softmax的和") and not english_left("`one two three` f(a, b, c)")


@pytest.mark.slow
def test_a_map_in_chinese_needs_no_font_of_the_machine():
    """Only matplotlib's fonts and the package's, and each warning an error."""
    code = f"""import pathlib, warnings
import matplotlib
from matplotlib import font_manager
own = matplotlib.get_data_path()
font_manager.fontManager.ttflist[:] = [
    font for font in font_manager.fontManager.ttflist if font.fname.startswith(own)]
import d2l_ext
from d2l_ext.plotting import curves
warnings.simplefilter("error")
d2l_ext.language("zh")
words = {sorted(drawn())!r}
lines = {{word: [i] for i, word in enumerate(words)}}
curves([1], lines, xlabel="", ylabel="")._repr_mimebundle_()
print(len(words))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert "font" not in done.stderr.lower() and int(done.stdout) > 20


def drawn():
    """Words with every character that figures need."""
    letters, words = set(translation.characters(ZH)), []
    for entry in ZH:
        if entry.id and not entry.context and letters & set(entry.string):
            if any(place.startswith("notebooks") for place, _ in entry.locations):
                words.append(translation.MINUTES.sub("", entry.id))
                letters -= set(entry.string)
    return words


def test_a_piece_speaks_it(chinese):
    given = torch.eye(3, 2), torch.eye(3, 4), [1.0, 2.0]
    piece = pooling_explorer(*given)
    assert piece.words["may attend"] == scripts("zh")["may attend"] != "may attend"
    assert json.dumps({"words": piece.words})[1:-1] in piece.html() and "注意力汇聚" in piece.title
    d2l_ext.language("en")
    piece = pooling_explorer(*given)
    assert piece.words == {} and '"words":' not in piece.html()


@pytest.mark.parametrize("name", sorted(path.stem for path in
                                        (ROOT / "d2l_ext/explorers").glob("*.js")
                                        if path.stem != "shared"))
def test_what_a_piece_says_is_the_same_in_what_is_stored(name):
    said = texts(lean(source(name)))
    assert set(said) <= set(texts(source(name))) and len(said) > 12
    assert set(said) <= set(entries("zh") | scripts("zh"))


def test_what_a_frame_says_is_found_and_missed(tmp_path):
    (tmp_path / "a.j2").write_text(
        '<p>{{ _("One "\n"line {0}", x) }} {{ "none" }} {{ f(_("Two")) }}')
    (tmp_path / "a.py").write_text(
        'A = """{% if x %}{{ _("In it") }}{% endif %}"""\nb = _("By it")')
    said = [translation.said_by_template(tmp_path / name) for name in ("a.j2", "a.py")]
    assert [sorted(texts) for texts in said] == [["One line {0}", "Two"], ["By it", "In it"]]
    more = {(None, text): ["a.j2"] for text in said[0]}
    faults = set(translation.faults(ZH, needed() | more))
    assert faults - set(translation.faults(ZH, needed())) == {
        "missing: 'One line {0}'", "missing: 'Two'"}


def test_what_frames_say_is_not_looked_up_in_lessons():
    from d2l_ext.translation import pages
    assert pages("zh")["In"] == "见" and "In" not in entries("zh")
    assert pages("zh")["query"] == entries("zh")["query"] and pages("en") == {}


@pytest.mark.slow
def test_no_message_of_a_check_stays_english(chinese):
    """But for what Python itself says of an error."""
    answers = {name: wrong for module in modules() for name, wrong in module.WRONG.items()}
    left = {}
    for name, wrong in answers.items():
        said = [repr(check(name, answer[0])) for answer in wrong[:4] if isinstance(answer, tuple)]
        said += [repr(hint(name, step + 1)) for step in range(len(all_exercises()[name].hints))]
        said.append(translated(all_exercises()[name].praise))
        left |= {(name, text): english for text in said
                 if (english := english_left(re.sub("抛出.*", "", text)))}
    assert len(answers) > 60 and left == {}


def modules():
    paths = sorted((ROOT / "tests/exercises").glob("wrong_answers_*.py"))
    found = [importlib.import_module(path.stem) for path in paths]
    return [module for module in found if hasattr(module, "WRONG")]
