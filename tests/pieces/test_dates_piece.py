"""The piece of 07: what it writes is what PyTorch writes, character for character, with all heads
and without some; and so are its maps, threads and words."""
import pytest
import torch
from pieces import HOSTILE
from tools.draw._stills import dates, described, in_node

from attention_lessons.laboratory.dates import (DIGITS, START, STEPS, date_reader, encode, load,
                                                pairs, read)
from attention_lessons.pieces import dates_explorer, source
from attention_lessons.pieces.dates import LAYERS
from d2l_ext.heads import closed

SOURCE = source("dates")
HEADS = [(layer, head) for layer in LAYERS for head in range(4)]
SEVERAL = [[("cross", 0), ("cross", 1)], [("encoder", 1), ("decoder", 3), ("cross", 2)], HEADS]


@pytest.fixture(scope="module")
def model():
    return load()


def same(model, texts, closings):
    """The page writes what PyTorch writes, and sees the same maps, for each text and closing."""
    given = {"data": dates_explorer(model).data, "texts": texts, "closings": closings}
    found = in_node(SOURCE, given, """given.closings.map((off) => [
        given.texts.map((text) => reading(given.data, text, off).answer),
        reading(given.data, given.texts[0], off).maps])""")
    source, lengths = encode(texts)
    for off, (answers, maps) in zip(closings, found, strict=True):
        with closed(model, [(LAYERS[layer], head) for layer, head in off]):
            symbols = model.generate(source, STEPS, START, lengths)
            wanted = read(model, texts[0])
        assert answers == ["".join((DIGITS + "?")[i] for i in row) for row in symbols.tolist()]
        for layer, name in LAYERS.items():
            assert torch.allclose(torch.tensor(maps[layer]), wanted.weights[name], atol=1e-4)


def unseen(count):
    return [text for text, _ in pairs(count, torch.Generator().manual_seed(1), test=True)]


def test_it_writes_what_pytorch_writes(model):
    same(model, unseen(20), [[], SEVERAL[0]])


@pytest.mark.slow
def test_it_writes_what_pytorch_writes_everywhere(model):
    same(model, unseen(400), [[]])
    same(model, unseen(20), [*([head] for head in HEADS), *SEVERAL])
    other = date_reader(seed=3, num_kv_heads=2).eval()  # untrained: single precision, shared keys
    same(other, unseen(5), [[], SEVERAL[1]])


def test_what_is_drawn_is_what_was_read(model):
    """Each digit, thread and map of a date that is read wrong without two heads."""
    off = [("cross", 0), ("cross", 1)]
    with closed(model, [(LAYERS[layer], head) for layer, head in off]):
        wanted = read(model, "24/12/1999")
    look = described(dates(), ui={"digit": 5}, cross_0=False, cross_1=False)
    assert "".join(digit["name"] for digit in look.of("digit")) == wanted.answer == "1999-02-24"
    assert ["other" in digit["class"] for digit in look.of("digit")] == [
        a != b for a, b in zip(wanted.answer, "1999-12-24")]
    assert [was["name"] for was in look.of("was")] == ["1"]
    assert "".join(letter["name"] for letter in look.of("letter")) == "24/12/1999"
    mean = wanted.weights["decoder.0.cross"][2:, 5].mean(0)
    threads = look.of("thread")
    assert len({thread["x1"] for thread in threads}) == 1
    assert [round(thread["x2"] - threads[0]["x2"]) // 40 for thread in threads] == [
        letter - int((mean > 0.02).nonzero()[0]) for letter in range(10) if mean[letter] > 0.02]
    assert torch.allclose(torch.tensor([thread["stroke-width"] / 12 for thread in threads]),
                          mean[mean > 0.02], atol=0.006)
    told = [f"{'24/12/1999'[i]} {weight:.2f}" for i, weight in enumerate(mean) if weight > 0.2]
    digit, = [part for part in look.elements if part["name"] == "digit of the answer"]
    assert digit["aria-valuetext"] == f"0 looks at {' and '.join(told)}"
    for (layer, head), marks in zip(HEADS, cells(look), strict=True):
        shades = (wanted.weights[LAYERS[layer]][head] * 15).round()
        assert len(marks) == int((shades > 0).sum())
        assert sum(marks) / 0.85 * 15 == pytest.approx(shades.sum().item(), abs=0.5)
    assert [switch["aria-checked"] for switch in look.of("head")] == [
        str((layer, head) not in off).lower() for layer, head in HEADS]
    assert len(look.of("closed")) == len(look.of("strike")) == 2 and len(look.of("lit")) == 6
    letter = "24/12/1999"[wanted.weights["decoder.0.cross"][2, 5].argmax()]
    assert f"0 looks at {letter}" in look.of("head")[10]["aria-description"]


def cells(look):
    """The opacity of each cell that isn't empty, a list a map."""
    maps = []
    for each in look.elements:
        if "head" in each.get("class", "").split():
            maps.append([])
        if each.get("class") == "shade":
            maps[-1] += [each["stroke-opacity"]] * each["d"].count("M")
    return maps


def test_twins():
    """Either alone can go, both together can't: the reader is told when he has seen it."""
    switch = [(f"cross {head}", "onClick", {}) for head in (0, 1)]
    one, both = described(dates(), switch[0]), described(dates(), *switch)
    assert one.sentence.endswith("the same as with all heads on. Now close cross 1 as well.")
    assert both.sentence == (
        "Without cross 0 and cross 1: 24/12/1999 → 1999-02-24, not 1999-12-24: the month changed. "
        "Either alone breaks nothing: each stands in for the other.")
    again = described(dates(), *switch, ("all heads on", "onClick", {}))
    assert again.state == dates().state and "press it to close" in again.sentence


@pytest.mark.slow
def test_whatever_is_typed_gets_an_answer_or_a_sentence(model):
    for typed in [*HOSTILE, "  5   MARCH 2021 ", "may may may", "5 марта", "9" * 29, "x" * 50]:
        look = described(dates(), ("your date", "onInput", {"target": {"value": typed}}))
        wanted = read(model, typed)
        if wanted.answer:
            assert f"→ {wanted.answer}" in look.sentence and wanted.problem in look.sentence
        else:
            assert not look.of("shade") and not look.of("thread")
            assert look.sentence == wanted.problem or "The model never met" in look.sentence
    dated = in_node(SOURCE, ["2021-03-05", "2021-02-30", "2000-02-29", "1900-02-29", "202-1-0-10"],
                    "given.map(isDate)")
    assert dated == [True, False, True, False, False]
