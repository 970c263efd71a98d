"""The piece of 07: what it writes is what PyTorch writes, character for character, with all heads
and without some; and so are its maps, threads and words."""
import itertools

import pytest
import torch
from pieces import HOSTILE, near
from tools.draw.pieces_in_node import dates, described, in_node

from attention_lessons.laboratory.dates import (DIGITS, START, STEPS, date_reader, encode, load,
                                                pairs, read)
from attention_lessons.pieces import dates_explorer, source
from attention_lessons.pieces.dates import LAYERS
from d2l_ext.heads import closed

SOURCE = source("dates")
HEADS = {f"{layer}_{head}": (name, head) for layer, name in LAYERS.items() for head in range(4)}
TWINS = ["cross_0", "cross_1"]
CLOSED = dict.fromkeys(TWINS, False)
MORE = ["encoder_1", "decoder_3", "cross_2"]
UNSEEN = [text for text, _ in pairs(400, torch.Generator().manual_seed(1), test=True)]


def same(model, texts, closings):
    """The page writes what PyTorch writes, and sees the same maps, for each text and closing."""
    given = {"data": dates_explorer(model).data, "texts": texts, "closings": closings}
    found = in_node(SOURCE, given, """given.closings.map((off) => [
        given.texts.map((text) => reading(given.data, text, off).answer),
        reading(given.data, given.texts[0], off).maps])""")
    letters, lengths = encode(texts)
    for off, (answers, maps) in zip(closings, found, strict=True):
        with closed(model, [HEADS[head] for head in off]):
            symbols = model.generate(letters, STEPS, START, lengths)
            wanted = read(model, texts[0])
        assert answers == ["".join((DIGITS + "?")[i] for i in row) for row in symbols.tolist()]
        for key, (name, head) in HEADS.items():
            near(maps[key], wanted.weights[name][head], 1e-4)


def test_it_writes_what_pytorch_writes():
    same(load(), UNSEEN[:20], [[], TWINS])


@pytest.mark.slow
def test_it_writes_what_pytorch_writes_everywhere():
    same(load(), UNSEEN, [[]])
    same(load(), UNSEEN[:20], [*([head] for head in HEADS), MORE, [*HEADS]])
    other = date_reader(seed=3, num_kv_heads=2).eval()  # untrained: single precision, shared keys
    same(other, UNSEEN[:5], [[], MORE])


def test_what_is_drawn_is_what_was_read():
    """Each digit, thread and map of a date that is read wrong without two heads."""
    text = "24/12/1999"
    with closed(model := load(), [HEADS[head] for head in TWINS]):
        wanted = read(model, text)
    look = described(dates(), ui={"digit": 5}, **CLOSED)
    assert [(digit["name"], "key" in digit["class"]) for digit in look.of("digit")] == [
        (a, a != b) for a, b in zip(wanted.answer, "1999-12-24", strict=True)]
    assert [was["name"] for was in look.of("was")] == ["1"]
    assert "".join(letter["name"] for letter in look.of("letter")) == text
    cross = wanted.weights["decoder.0.cross"]
    mean = cross[2:, 5].mean(0)
    seen, letters = (mean > 0.02).nonzero()[:, 0], look.of("rect", height=32)
    near([letter["fill-opacity"] for letter in letters], mean, 0.051)
    symbol = look.of("rect", height=40)[5]
    near([[line["x1"], line["x2"], line["stroke-width"] / 12] for line in look.of("thread")],
         [[symbol["x"] + 18, letters[i]["x"] + 20, mean[i]] for i in seen], 0.006)
    told = [f"{text[i]} {mean[i]:.2f}" for i in mean.argsort(descending=True)[:3]]
    digit, = look.of("g", name="digit of the answer")
    assert digit["aria-valuetext"] == (
        f"0 looks at {', '.join(told)} and others {1 - mean.topk(3).values.sum():.2f}")
    assert [(round(15 * shade["stroke-opacity"] / 0.85), shade["d"].count("M"))
            for shade in look.of("shade")] == [
        (shade, count) for name, head in HEADS.values() for shade in range(1, 16)
        if (count := int(((15 * wanted.weights[name][head]).round() == shade).sum()))]
    switches = look.of("head")
    assert [switch["aria-checked"] for switch in switches] == [
        str(head not in TWINS).lower() for head in HEADS]
    assert [len(look.of(kind)) for kind in ("closed", "strike", "lit")] == [2, 2, 6]
    looked = [text[i] for i in cross[3].argmax(1)]
    assert switches[11]["aria-description"] == ", ".join(
        map("{} looks at {}".format, wanted.answer, looked))
    assert switches[4]["aria-description"].startswith("1 looks at ▸, 9 looks at ")


def test_twins():
    """Either alone can go, both together can't: the reader is told when he has seen it."""
    one, both = described(dates(), cross_0=False), described(dates(), **CLOSED)
    again = described(dates(), ("all heads on", "onClick", {}), **CLOSED)
    assert one.sentence.endswith("the same as with all heads on. Now close cross 1 as well.")
    assert both.sentence == (
        "Without cross 0 and cross 1: 24/12/1999 → 1999-02-24, not 1999-12-24. "
        "Either alone breaks nothing: each stands in for the other.")
    assert again.state == dates().state and "press it to close" in again.sentence


@pytest.mark.slow
def test_whatever_is_typed_gets_an_answer_or_a_sentence():
    unreadable = {
        "": "There is nothing to read: type a date, such as 5 march 2021.",
        "x" * 50: "These are 50 characters; the model was trained on up to 29. Type a shorter "
                  "date."}
    for typed in [*HOSTILE, *unreadable, "5 марта"]:
        look = described(dates(), ("your date", "onInput", {"target": {"value": typed}}))
        assert not look.of("shade") and not look.of("thread")
        begins = unreadable.get(typed, ("The model never met ", "These are "))
        assert look.sentence.startswith(begins)
    model = load()
    for typed in ["  5   MARCH 2021 ", "may may may", "9" * 29]:
        look = described(dates(), ("your date", "onInput", {"target": {"value": typed}}))
        answer = read(model, typed).answer
        assert f"→ {answer}" in look.sentence
        unreal = in_node(SOURCE, answer, "!isDate(given)")
        assert ("That is not a real date." in look.sentence) == unreal
    dated = in_node(SOURCE, ["2021-03-05", "2021-02-30", "2000-02-29", "1900-02-29", "202-1-0-10"],
                    "given.map(isDate)")
    assert dated == [True, False, True, False, False]


# ---- the riddle of the day ----

def closings(count):
    return [list(heads) for heads in itertools.combinations(HEADS, count)]


@pytest.mark.parametrize("day", ["2026-11-28", "2027-01-01", "2028-02-29"])
def test_a_riddle_has_a_solution_and_no_smaller_one(day):
    """As PyTorch's own model answers, for all sets of heads."""
    given = {"data": dates_explorer(load()).data, "day": day}
    asked, texts = in_node(SOURCE, given, """Promise.all([
        riddle(given.data, given.day, () => null), ways(given.day)])""")
    assert asked["given"] in texts
    sizes = [len(off) for count in range(asked["least"] + 1) for off in closings(count)
             if wrong_month(written_without(asked["given"], off), day)]
    assert sizes and set(sizes) == {asked["least"]} and asked["least"] in (1, 2, 3)


def written_without(text, off):
    with closed(model := load(), [HEADS[head] for head in off]):
        return read(model, text).answer


def wrong_month(answer, day):
    return answer[:5] + answer[7:] == day[:5] + day[7:] and answer[5:7] != day[5:7]


def test_each_day_begins_with_another_way_to_write_it():
    days = [f"2026-12-{day:02}" for day in range(1, 6)]
    texts = in_node(SOURCE, {"days": days}, "given.days.map(ways)")
    assert len({len(text) for text in texts}) == 1 and len({*sum(texts, [])}) == 25


@pytest.mark.parametrize("off, words", [
    ([], "How few are enough?"),
    (["encoder_0"], "Nothing has changed"),
    (["cross_0", "cross_1"], "Solved, with 2 heads closed, and fewer can't do it."),
    (["cross_0", "cross_1", "encoder_0"], "Fewer are enough"),
])
def test_it_says_how_good_an_attempt_is(off, words):
    """24/12/1999 without both heads is read as 1999-02-24 (see the test above)."""
    task = {"given": "24/12/1999", "least": 2}
    look = described(dates(), ui={"task": task}, riddle=True, **dict.fromkeys(off, False))
    assert words in look.sentence
    line = [each["value"] for each in look.of("text", name="to copy")]
    assert line == [f"Attention, head by head, 1999-12-24: a wrong month, {len(off)} heads closed, "
                    "2 needed"] * (len(off) > 1)
