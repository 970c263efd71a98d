"""What the explorer of 07 shows of what the kernel answers, without a browser: letters that differ,
each head's map and labels, what is asked, and which heads are off."""
import copy

import pytest
import torch
from stage import DARK, LIGHT, SIZE, check_map, check_picture, expected, perform

NAMES = ["encoder", "decoder", "cross"]
HEADS = [f"{name} {head}" for name in NAMES for head in range(4)]
TEXT, ANSWER, FULL = "5 may 2021", "2021-05-06", "2021-05-05"
GIVEN = ["start", *ANSWER[:-1]]
SIDES = {"encoder": (list(TEXT), list(TEXT)), "decoder": (GIVEN, GIVEN),
         "cross": (list(ANSWER), list(TEXT))}


def percents(name):
    """Maps of four heads, whose rows and columns differ in length for `cross`."""
    down, across = (len(side) for side in SIDES[name])
    torch.manual_seed(NAMES.index(name))
    return (2 * torch.randn(4, down, across)).softmax(-1).mul(100).round().int()


class Reading:
    """An explorer of a reader that answers one day too late without two of its heads."""
    piece = "dates"
    state = {"text": TEXT, "off": ["cross 1", "encoder 3"], "layer": "cross"}
    data = {"text": TEXT, "off": state["off"], "heads": HEADS, "letters": list(TEXT),
            "answer": ANSWER, "full": FULL, "problem": "", "live": True,
            "maps": {name: percents(name).tolist() for name in NAMES}}


def reading(**change):
    explorer = copy.deepcopy(Reading())
    explorer.data = explorer.data | change
    return explorer


def spoken(letter):
    return "blank" if letter == " " else letter


def check_looks(stage, theme, layer, off, width=1000):
    looks = stage.one(kind="looks")
    assert looks.told["hidden"] is False
    down, across = SIDES[layer]
    for head, (card, picture) in enumerate(zip(looks.parts, stage.pictures, strict=True)):
        check_picture(picture, width)
        name = f"{layer} {head}"
        assert card.one("p").text == name + " (off: nobody listens)" * (name in off)
        assert card.one("b").text == name and card.classes == ["off"] * (name in off)
        big, = picture.maps
        weights = percents(layer)[head]
        check_map(big, weights / 100, theme)
        cell = big.wide / len(across)
        assert big.high == pytest.approx(cell * len(down))
        frame, = picture.frames
        assert frame[:5] == (*big[:4], expected("query", theme))
        above = picture.grid(big.x, big.y - SIZE - 8, cell, SIZE + 7.9, 1, len(across))[0]
        assert above == [{" ": "␣", "start": "s"}.get(letter, letter) for letter in across]
        left = [text for text in picture.texts if text.align == "right"]
        assert [text.text for text in left] == ["␣" if letter == " " else letter
                                                for letter in down]
        assert [text.y for text in left] == pytest.approx(
            [big.y + (i + 0.5) * cell for i in range(len(down))])
        assert {text.x for text in left} == {big.x - 6}
        assert all(text.bold == (text.text != "start") for text in picture.texts)
        told = ", ".join(f"{spoken(a)} looks at {spoken(across[int(row.argmax())])}"
                         for a, row in zip(down, weights))
        assert picture.alt == (f"{name}, a map of weights: rows ask, columns are asked. {told}")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_answer_and_every_map(tmp_path, theme):
    cross, encoder, decoder = perform(tmp_path, reading(), "pick('maps of', 'encoder')",
                                      "pick('maps of', 'decoder')", colours=theme)
    off = Reading.state["off"]
    for stage, layer in ((cross, "cross"), (encoder, "encoder"), (decoder, "decoder")):
        check_looks(stage, theme, layer, off)
        assert stage.state["layer"] == layer and stage.chosen()["maps of"] == [layer]
        assert stage.result == ("Without cross 1 and encoder 3: 5 may 2021 → 2021-05-06, not "
                                "2021-05-05: the day changed.")
        answer = stage.one(kind="answer")
        assert [(letter.text, letter.classes) for letter in answer.parts] == [
            (a, [] if a == b else ["other"]) for a, b in zip(ANSWER, FULL)]
        assert (answer.given["role"], answer.given["aria-label"]) == ("img", f"Answer: {ANSWER}")
        ticked = [part.given["aria-label"] for part in stage.all("input")
                  if part.told.get("checked") and part.given["type"] == "checkbox"]
        assert ticked == [head for head in HEADS if head not in off]
        boxes = {group.parts[0].text: group.words(kind="pill")
                 for group in stage.all("fieldset")}
        assert {name: boxes[name] for name in NAMES} == dict.fromkeys(NAMES, list("0123"))
        text = next(part for part in stage.all("input") if part.given["type"] == "text")
        assert text.told["value"] == TEXT and text.given["spellcheck"] == "false"
        assert text.given["maxlength"] == "200" and text.given["autocomplete"] == "off"
        assert not any(part.told.get("disabled") for part in stage.all("input"))
        assert "run the cell" not in stage.text


def test_each_place_of_an_answer_has_its_name(tmp_path):
    names = ["year"] * 4 + ["hyphens"] + ["month"] * 2 + ["hyphens"] + ["day"] * 2
    wrong = [FULL[:i] + "7" + FULL[i + 1:] for i in range(10)]
    stages = perform(tmp_path, reading(), *[f"set('data', {{ answer: '{each}' }})"
                                            for each in [*wrong, "1" * 10]])
    for stage, name in zip(stages[1:], [*names, "year, hyphens, month and day"], strict=True):
        assert stage.result.endswith(f"not {FULL}: the {name} changed.")


def test_what_is_asked_of_the_kernel_and_what_it_answers(tmp_path):
    new = {"letters": list("6/6/21"), "answer": "2021-06-06", "full": "2021-06-06", "off": []}
    asked, on, off, focused, answered, failed, empty, left = perform(
        tmp_path, reading(), "type('your date', '6/6/21')", "tick('encoder 3')",
        "tick('decoder 0')", "focus('your date')", f"set('data', {new})".replace("'", '"'),
        'set("data", { answer: "", problem: "What date is that?", maps: {} })',
        'focus() || h.set("state", { text: "again" })',
        'stop() || h.set("data", { problem: "Nobody hears" })')[1:]
    assert asked.state["text"] == "6/6/21" and asked.waits == [0]
    assert asked.result.startswith("Without cross 1")  # until the kernel has answered
    assert on.state["off"] == ["cross 1"] and off.state["off"] == ["decoder 0", "cross 1"]
    assert focused.state == off.state
    assert answered.result == "With all heads on: 6/6/21 → 2021-06-06."
    assert failed.result == left.result == "What date is that?"
    assert failed.one(kind="looks").told["hidden"] is True
    assert failed.one(kind="answer").given["aria-label"] == "No answer"
    assert failed.one(kind="answer").parts == []
    assert next(part for part in empty.all("input")
                if part.given["type"] == "text").told["value"] == "again"


def test_what_is_being_typed_is_left_alone(tmp_path):
    stage = perform(tmp_path, reading(), "focus('your date')", 'set("state", { text: "other" })')[2]
    assert next(part for part in stage.all("input")
                if part.given["type"] == "text").told["value"] == TEXT


def test_without_a_kernel_only_the_maps_can_be_chosen(tmp_path):
    stage, = perform(tmp_path, reading(live=False))
    disabled = {part.given["type"]: part.told.get("disabled", False) for part in stage.all("input")}
    assert disabled == {"text": True, "checkbox": True, "radio": False}
    assert all(part.told["disabled"] for part in stage.all("input")
               if part.given["type"] == "checkbox")
    assert stage.one(kind="body").parts[0].text == (
        "To type a date and to switch heads off, run the cell: the kernel computes here. The maps "
        "can be looked at.")


@pytest.mark.parametrize("width, side, cell", [
    (330, 1, 26), (380, 2, 13), (500, 2, 19), (759, 2, 26), (760, 4, 13), (1000, 4, 19),
    (1400, 4, 22)])
def test_maps_stand_side_by_side_where_letters_stay_legible(tmp_path, width, side, cell):
    stage, = perform(tmp_path, reading(), width=width)
    looks = stage.one(kind="looks")
    assert looks.style["gridTemplateColumns"] == f"repeat({side}, max-content)"
    assert {picture.maps[0].wide for picture in stage.pictures} == {10 * cell}
    check_looks(stage, LIGHT, "cross", Reading.state["off"], width)
