"""The other languages' lessons: whole, up to date, faithful, in letters that can be drawn."""
import html
import json
import re
import tokenize
import tomllib
import warnings
from functools import cache

import pytest
import tiny
import torch
from answers import WRONG
from tools import ROOT
from tools.notebooks import catalogue, check_translation, nbtext, translatable, translation
from tools.notebooks.catalogue import Entry

import attention_lessons
from attention_lessons import plotting
from attention_lessons.exercises import Result, all_exercises, check, hint
from attention_lessons.languages import catalogue as spoken
from attention_lessons.languages import outside, translations_in
from attention_lessons.pieces import pooling_explorer, source

ZH = catalogue.load("zh")
needed = cache(translatable.everything)


# What comes in one order in both languages: numbers and our words; the first of two opposites.
LEFT_OUT = re.compile(r"\]\([^)]*\)|\$+[^$]+\$|```.*?```|`(?!(?:dog|bites|man)`)[^`]+`", re.S)
NAMED = re.compile(r"\d[\d,.]*\d|\d|\b(?:dog|bites|man)\b")
OPPOSITES = [("row|(column)", "行|(列)"), (r"\bleft\b|\b(right)\b", "左|(右)"),
             ("first|(last)", "第一|最先|首先|第1|(最后|末)")]
OTHER_ORDER = ROOT / "tests/tools/other_order.txt"  # somebody looked at these, and they are right


@pytest.fixture
def chinese():
    attention_lessons.language("zh")
    yield
    attention_lessons.language("en")


# ---- order ----

def orders(entry):
    """What stands in both languages, each in its order: pairs of texts."""
    texts = [LEFT_OUT.sub(" ", text) for text in (entry.text, entry.twin)]
    found = [NAMED.findall(text) for text in texts]
    if sorted(found[0]) == sorted(found[1]):
        yield [" ".join(each) for each in found]
    for words in OPPOSITES:
        found = [[*re.finditer(each, text, re.I)] for each, text in zip(words, texts)]
        if all({bool(match[1]) for match in each} == {True, False} for each in found):
            yield [f"{words[0]}: {'AB'[bool(each[0][1])]}" for each in found]


def test_numbers_names_and_opposites_come_in_the_order_of_the_english():
    """Or in another that somebody looked at: "first" for "last" is a wrong sentence in either."""
    known = set(OTHER_ORDER.read_text(encoding="utf-8").splitlines())
    other = {f"{room}: {one} | {twin}" for room, entries in ZH.items() for entry in entries
             if entry.is_done for one, twin in orders(entry) if one != twin}
    assert other - known == set() and known - other == set()


# ---- drift -------------------------------------------------------------------------------------

def test_every_text_is_translated_and_nothing_is_out_of_date(monkeypatch, capsys):
    monkeypatch.setattr(translation, "everything", needed)
    assert translation.main(["--check"]) == 0
    assert capsys.readouterr().out == "\n"
    assert all(path.read_bytes() == catalogue.po(ZH[path.stem], "zh")
               for path in catalogue.FOLDER.glob("zh/*.po"))
    wrong = {**ZH, "pages": [ZH["pages"][0]._replace(fuzzy=True), *ZH["pages"][1:]]}
    monkeypatch.setattr(translation, "load", lambda language: wrong)
    monkeypatch.setattr(translation, "wanted_files", lambda *given: {ROOT / "new": ""})
    assert translation.main(["--check"]) == 1 and not (ROOT / "new").exists()
    assert capsys.readouterr().out == (
        f"new is out of date\nzh: pages: fuzzy: {check_translation.name(wrong['pages'][0].key)}\n")


LONG = "A message of an exercise that says at length what is the matter with an answer."
CELL, MESSAGE, PIECE = (Entry("02/idea", "Some words.", "一些话。"), Entry("", LONG, "一个信息。"),
                        Entry("", "head", "头"))


def test_what_has_changed_is_brought_up_to_date_and_asked_for():
    """A cell, a message and one of another room keep their words; new ones are missing."""
    keys = [("02/idea", "Some words. And more."), ("02/brand-new", "New words."),
            ("", LONG + " More."), PIECE.key]
    made = catalogue.merged({"02": [CELL, MESSAGE], "pieces": [PIECE]}, {"02": keys})
    cell, new, message, other = made["02"]
    assert (cell.fuzzy, cell.twin) == (True, CELL.twin)
    assert (message.fuzzy, message.twin) == (True, MESSAGE.twin) and other == PIECE
    assert [*check_translation.faults(made, {"02": keys})] == [f"02: fuzzy: {message.text!r}"]
    assert [entry for entry in made["02"] if check_translation.lags(entry)] == [cell, new]
    assert " More." not in translation.spoken(made)
    assert catalogue.entries(catalogue.po(made["02"], "zh")) == made["02"]
    again = catalogue.merged(made, {"02": [("02/idea", "Others.")]})["02"]
    assert (cell.previous, again[0].previous) == (CELL.text, CELL.text)  # what the twin belongs to


@pytest.fixture
def tiny_lesson(tmp_path):
    """A tiny lesson's path, and a catalogue that has a twin of each of its translatable."""
    path = tmp_path / "02_tiny.ipynb"
    content = nbtext.pack(tiny.LESSON + '\n%% code label\ntable(["Some words"])\n', {})
    nbtext.write(content, path)
    (tmp_path / "zh").mkdir()
    keys = [translatable.key(path, cell) for cell in nbtext.cells_of(content)
            if translatable.translates(cell)] + [("code", "Some words")]
    return path, {"02": [Entry(*key, f"译{key[1]}") for key in keys],
                  "pages": [Entry("page", translatable.BEHIND, "未译：{0}。")]}


def test_cells_that_lag_are_shown_in_english_and_counted(tiny_lesson):
    """Without a translation, with one of other words, and a label of code without one."""
    path, whole = tiny_lesson
    first = translation.translated(path, "zh", whole)[0]["source"]
    assert translation.lagging(path, whole) == [] and first == "译# 02 Tiny\n\nWhy?"
    late = whole | {"02": [
        entry._replace(fuzzy=True) if entry.context == "02/idea" else
        entry._replace(twin="") if entry.context in ("02/recall", "code") else entry
        for entry in whole["02"]]}
    made = {cell["id"]: cell["source"] for cell in translation.translated(path, "zh", late)}
    assert translation.lagging(path, late) == ["recall", "idea", "label"]
    assert made["title"].endswith("\n\n未译：3。") and made["exit"][0] == "译"
    assert made["recall"].startswith("**From") and made["idea"].startswith("## An idea")


def test_minutes_of_sections_are_those_of_the_english_words(tmp_path):
    path, words = tmp_path / "deeper/02_tiny_deeper.ipynb", "word " * 520
    path.parent.mkdir()
    nbtext.write(nbtext.pack(f"{tiny.DEEPER}\n%% md more\n{words.strip()}\n", {}), path)
    short = {"02": [Entry("deeper/02/more", words.strip(), "词")], "pages": []}
    made = {cell["id"]: cell["source"] for cell in translation.translated(path, "zh", short)}
    assert made["more"] == "词" and made["why"].startswith("## And why? · 8 minutes")
    assert "- [And why?](#cell-id=why) · 8 minutes" in made["contents"]


def test_an_output_goes_when_its_code_changed(tiny_lesson):
    path, whole = tiny_lesson
    cells = translation.translated(path, "zh", whole)
    stored = [cell | {"outputs": ["one"]} if "outputs" in cell else cell for cell in cells]
    nbtext.write({"cells": stored}, path.parent / "zh" / path.name)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("num_heads = X.mean()", "num_heads = 2"), encoding="utf-8")
    made = translation.translated(path, "zh", whole)
    assert [cell["id"] for cell in made if cell.get("outputs") == []] == ["weights"]


def test_an_output_stays_when_a_comment_or_the_title_changed(tiny_lesson):
    path, whole = tiny_lesson
    cells = translation.translated(path, "zh", whole)
    stored = [cell | {"outputs": ["one"]} if "outputs" in cell else cell for cell in cells]
    nbtext.write({"cells": stored}, path.parent / "zh" / path.name)
    title = Entry("code", "Set-up and imports", "准备工作")
    made = translation.translated(path, "zh", whole | {"02": [*whole["02"], title]})
    setup = next(cell for cell in made if cell["id"] == "setup")
    assert setup["source"].startswith("# @title 准备工作\n") and setup["outputs"] == ["one"]


@pytest.mark.parametrize("text, twin, fault", [
    ("20 heads", "10个头", "a number: lacks"), ("two heads", "三个头", "a number: lacks two"),
    ("[so](#so)", "[这样](#no)", "a link"), ("$a$", "$b$", "a formula"),
    ("`bites`", "bites", "code"), ("## So", "### 这样", "a heading"), ("<b>So", "这样", "a tag"),
    ("- so", "这样", "an item of a list"), ("| so", "这样", "a row of a table"),
    ("a query", "一个问题", "query is 查询"), ("so, yes", "这样,是", "a half-width sign"),
    ("so softmax", "这样 softmax", "a space beside"),
    ("**so:** yes", "**这样：**是", "bold that does not close"),
    ("so **(yes)**", "这样**（是）**", "bold that does not open")])
def test_a_wrong_translation_is_named(text, twin, fault):
    entry = Entry("02/idea", text, twin)
    found = [*check_translation.faults({"02": [entry]}, {"02": [entry.key]})]
    assert len(found) == 1 and found[0].startswith(f"02: 02/idea: {fault}"), found


STAYS = tomllib.loads(translation.read(ROOT / "translations/zh/glossary.toml"))[
    "stays"]["words"].split()
KEPT = {"symptom", "rotary", "Recurrence", "cache", "decay"}  # of a name, and of code


def test_words_alone_say_what_the_english_ones_say():
    """Terms alone are those of the glossary; two words of pieces are not called the same."""
    glossary, called = check_translation.terms("zh")[0], {}
    entries = [(room, entry) for room in ZH for entry in ZH[room]
               if "/" not in entry.context and entry.context != "README"]
    for room, (_, english, chinese, *_) in entries:
        assert glossary.get(english.lower(), chinese) == chinese or english in KEPT, english
        if room == "pieces":
            word = re.sub(r"s\b", "", english.lower())
            same = called.setdefault(chinese, word) == word
            assert same or english in ("none", "nothing"), english


# ---- what is shown -----------------------------------------------------------------------------

def test_a_language_is_chosen(monkeypatch, tmp_path):
    def chosen():
        outside.cache_clear()
        return attention_lessons.language()

    assert attention_lessons.language() == "en"
    with pytest.raises(ValueError, match="code='xx' has no catalogue: choose from en, .*zh"):
        attention_lessons.language("xx")
    monkeypatch.setattr("attention_lessons.languages.chosen", "")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    for metadata, code in (({"language": "zh"}, "zh"), ({"language": "xx"}, "en"), ({}, "en")):
        (tmp_path / "a.ipynb").write_text(json.dumps({"metadata": metadata}))
        assert chosen() == code
    monkeypatch.setenv("D2L_EXT_LANGUAGE", "zh")
    assert chosen() == "zh"
    monkeypatch.setenv("D2L_EXT_LANGUAGE", "xx")
    with pytest.raises(ValueError, match="D2L_EXT_LANGUAGE='xx' has no catalogue"):
        chosen()
    monkeypatch.undo()
    outside.cache_clear()


def test_figures_tables_pictures_and_messages_speak_it(chinese):
    axis = plotting.heatmaps([[0.5, 0.5]], ["dog"], ["dog", "man"]).figure.axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("键", "查询")
    assert "查询" in plotting.picture("03_multi_head_block").alt
    assert "空位" in plotting.heatmaps([[1.0]], ["a"], ["a"], name="04-padding").alt
    wrong = repr(check("split-heads", lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1)))
    assert "转置" in wrong and not english_left(wrong)
    assert not english_left(repr(hint("split-heads", 1)))


def test_no_word_of_a_table_stays_english():
    """But for those that zh.toml lists, and names in code."""
    left, used, stays = set(), set(), {*STAYS}
    for path in translatable.NOTEBOOKS:
        for cell in translatable.cells(nbtext.in_language(path, "zh")):
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


def test_what_a_learner_calls_a_row_stays_and_the_packages_names_are_spoken(chinese):
    shown = plotting.table([("key", 1), ("head of the table", 2), ("rotary", 3)], ["score", "n"])
    assert [row[0] for row in shown.rows] == ["key", "head of the table", "旋转位置编码"]
    assert shown.columns == ["score", "n"]


def english_left(text):
    """Three English words in a row that are no code."""
    code = r"`[^`]*`|\[[^\]]*\]|\w+\([^)]*\)|\w+=\S+|[\w.]+\.[\w.]+|\"[^\"]*\"|'[^']*'"
    bare = re.sub(code, "x1", text)
    return re.findall(r"(?:\b[A-Za-z]{2,}\b[ ,]+){2}\b[A-Za-z]{2,}\b", bare)


def test_what_figures_say_is_in_letters_that_they_have():
    letters = "".join(translation.characters(ZH))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Glyph .* missing")
        lines = {letters[i::40]: [i] for i in range(40)}
        assert plotting.curves([1], lines, xlabel="", ylabel="")._repr_mimebundle_()


def test_a_piece_speaks_it(chinese):
    given = torch.eye(3, 2), torch.eye(3, 4), [1.0, 2.0]
    piece = pooling_explorer(*given)
    assert piece.words["drag me"] == spoken("zh")["drag me"] != "drag me"
    assert json.dumps({"words": piece.words})[1:-1] in piece.html() and "注意力汇聚" in piece.title
    attention_lessons.language("en")
    piece = pooling_explorer(*given)
    assert piece.words == {}


@pytest.mark.parametrize("path", sorted((translatable.PACKAGE / "pieces").glob("*.js")),
                         ids=lambda path: path.stem)
def test_each_text_of_a_script_is_found_and_goes_into_its_page(path, chinese):
    """Also one within the arguments of another call, where Babel sees none."""
    twins = {entry.text: entry.twin for entry in ZH["pieces"]}
    for start in re.findall(r'\bt\(\s*"([^"]*)"', translatable.read(path)):
        assert any(text.startswith(start) for text in twins), start
    said = {text: twins[text] for text in translatable.texts_in_calls(path) if twins[text] != text}
    assert said.items() <= translations_in(source(path.stem)).items()


def test_readme_says_in_the_other_language_what_was_run_and_opens_its_lessons():
    page = translation.read(ROOT / "README.zh.md")
    table = re.search(r"(?s)<!-- versions.*?\n(.*)<!-- /versions", page)[1]
    assert table.startswith("| 运行的是什么 |") and table.count("：`make test") == 7
    assert not re.search(r"passed|failed|not yet", table)
    assert not re.findall(r"(?m)(?:make(?: -C lessons)? lab|tools\.lab)(?! (?:ARGS=)?zh)", page)


@pytest.mark.slow
def test_no_message_of_a_check_stays_english(chinese):
    """But for what Python itself says of an error."""
    left = {}
    for name, exercise in all_exercises().items():
        messages = [check(name, answer).message for answer, *_ in WRONG.get(name, ())[:4]]
        messages += [*getattr(exercise, "reasons", {}).values(), exercise.praise, *(
            slip.words for slip in getattr(exercise, "slips", ()))]
        said = [repr(Result("wrong", message)) for message in messages]
        said += [repr(hint(name, step + 1)) for step in range(len(exercise.hints))]
        left |= {(name, text): english for text in said
                 if (english := english_left(re.sub("抛出.*|return output, weights", "", text)))}
    assert left == {}


def english_comments(cell):
    """The comments and the title of a cell that are neither in Chinese, nor names that stand in its
    code, nor words of the sentence."""
    known = {*re.findall(r"\w+", " ".join(translation.instructions(cell))), *STAYS}
    found = [token.string for token in translatable.comments(cell)]
    found += translatable.CELL_TITLE.findall(cell["source"])
    return [text for text in found if not re.search(r"[\u4e00-\u9fff]", text)
            and {*re.findall("[A-Za-z]{3,}", translatable.SHAPE.sub("", text))} - known]


def test_no_comment_in_code_stays_english_or_leaves_the_screen():
    planted = {"cell_type": "code", "metadata": {}, "source": """# @title A title
n = heads(X)  # (batch, n), n: heads
m = n         # 头
k = {"dog"}   # dog, man; the heads of n
"""}
    assert english_comments(planted) == ["# dog, man; the heads of n", "A title"]
    left, wide = [], []
    for path in translatable.NOTEBOOKS:
        for cell in translatable.cells(nbtext.in_language(path, "zh")):
            if cell["cell_type"] == "code":
                left += [(path.name, cell["id"], text) for text in english_comments(cell)]
                wide += [token.line for token in translatable.tokens(cell)
                         if token.type == tokenize.COMMENT and columns(token.line.rstrip()) > 79
                         and not translatable.CELL_TITLE.match(token.string)]
    assert left == [] and wide == []


def columns(line):
    """How many columns a line takes: a Chinese character takes two."""
    return len(line) + sum(ord(letter) > 0x2e7f for letter in line)


def test_what_the_comments_of_code_say_is_translated():
    source = 'class A:\n    """One,\n    two."""\n\nx = ""  # one word\ny = 1  # (n, d)\n'
    cell = {"cell_type": "code", "source": source, "metadata": {"tags": ["exercise"]}}
    assert [token.string for token in translatable.comments(cell)] == ["# one word"]
    assert translatable.comments(cell | {"metadata": {"tags": ["setup"]}}) == []
    twins = {"One,\n    two.": "一，\n    二。", "# one word": "# 一个词"}
    made = translation.relabelled(cell, twins)
    assert made == 'class A:\n    """一，\n    二。"""\n\nx = ""  # 一个词\ny = 1  # (n, d)\n'
