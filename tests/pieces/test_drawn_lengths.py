"""What the explorer of 05 draws, without a browser: each strip, bar, name and mark against the
numbers that it was given."""
from statistics import fmean

import pytest
from stage import DARK, LIGHT, SIZE, check_picture, expected, perform, shade

from attention_lessons.pieces import lengths_explorer

ENCODINGS, CHANCE = ["Shaw", "ALiBi", "none"], {"copy": 0.1, "sort": 0.35}
LENGTHS, TRAINED, STRETCH = (8, 12, 20), 8, 2


def share(task, encoding, length, part):
    """An accuracy, None at the start of what is sorted."""
    if task == "sort" and part == 0:
        return None
    start = {"Shaw": 0.3, "ALiBi": 0.45, "none": 0.999}[encoding] - 0.1 * (task == "sort")
    falls = 0.11 * part * (encoding == "none")
    return round(min(0.9991, max(0.02, start - falls + length / 100)), 4)


def strip(task, encoding, length):
    return [share(task, encoding, length, part) for part in range(length // STRETCH)]


ROWS = [{"task": task, "encoding": encoding, "seed": 0,
         "accuracy": {str(length): strip(task, encoding, length) for length in LENGTHS}}
        for task in CHANCE for encoding in ENCODINGS]


def mean(parts):
    return fmean(part for part in parts if part is not None)


def ranks(task, length, scored):
    first = TRAINED // STRETCH if scored == "beyond" else 0
    grades = {encoding: mean(strip(task, encoding, length)[first:]) for encoding in ENCODINGS}
    return sorted(grades.items(), key=lambda one: -one[1])


def check(stage, theme, task, length, scored):
    picture, = stage.pictures
    check_picture(picture, 1000)
    ranking = ranks(task, length, scored)
    names = [text for text in picture.texts if text.text in ENCODINGS]
    assert [text.text for text in names] == [encoding for encoding, _ in ranking]
    down = names[1].y - names[0].y
    positions = [text for text in picture.texts if text.align == "center" and text.text.isdigit()
                 and text.y < names[0].y]
    assert [int(text.text) for text in positions] == list(range(0, length + 1, TRAINED // 2))
    origin, end = (picture.text(text).x for text in ("0", str(TRAINED)))
    per = (end - origin) / TRAINED  # pixels a position
    for text in positions:
        assert text.x == pytest.approx(origin + per * int(text.text))
    across = STRETCH * per

    heading = picture.text("of all" if scored == "all" else f"beyond {TRAINED}")
    assert heading.bold and picture.text("mean").bold and picture.text("mean").x == heading.x
    assert picture.text("position").y == positions[0].y == heading.y > picture.text("mean").y
    assert {text.x for text in names} == {picture.text("position").x}
    assert names[0].align == "right" and names[0].box[2] < origin
    bars = [block for block in picture.blocks if block.x == heading.x]
    whole = [block for block in picture.blocks if block.wide == 1.5]
    cells = [block for block in picture.blocks if block.x < heading.x]
    for (encoding, grade), name, bar, mark in zip(ranking, names, bars, whole, strict=True):
        assert name.bold == (name is names[0] and grade >= 0.4)
        assert bar.y + bar.high / 2 == pytest.approx(name.y) and bar.alpha == mark.alpha == 1
        assert (bar.colour, mark.colour) == (expected("query", theme), expected("ink", theme))
        unit = bar.wide / grade  # as wide as 1 would be
        assert mark.x == pytest.approx(bar.x + CHANCE[task] * unit)
        assert mark.high == down and mark.y + down / 2 == pytest.approx(name.y)
        number = next(text for text in picture.texts
                      if text.text == f"{grade:.2f}" and abs(text.y - name.y) < 2)
        assert bar.x + bar.wide < number.x <= bar.x + bar.wide + 8 and number.align == "left"
        parts = strip(task, encoding, length)
        row = [cell for cell in cells if abs(cell.y + cell.high / 2 - name.y) < 1]
        assert down * 0.8 < row[0].high < down
        for i, (part, cell) in enumerate(zip(parts, row, strict=True)):
            assert cell.x == pytest.approx(origin + i * across) and across - 2 < cell.wide < across
            near = shade(part, theme) if part is not None else expected("faint", theme)
            assert max(abs(a - b) for a, b in zip(cell.colour, near)) <= 1
            faded = scored == "beyond" and i < TRAINED // STRETCH
            assert cell.alpha == (0.3 if faded else 1)
        table = picture.grid(origin, name.y - down / 2, across, down, 1, len(parts))[0]
        assert table == [None if part is None else "1" if part > 0.995 else f"{part:.2f}"[1:]
                         for part in parts]
        inks = {text.colour for text in picture.texts if abs(text.y - name.y) < 2
                and text.align == "center"}
        assert inks <= {(0, 0, 0), (255, 255, 255)}
    last = names[-1].y + down / 2
    chance = picture.text(f"chance {CHANCE[task]:.2f}")
    assert chance.box[1] > last and abs(chance.x - whole[0].x) < 2
    if length > TRAINED:
        line, = picture.frames
        assert line.x == pytest.approx(origin + TRAINED * per, abs=1) and line.wide == 0
        assert line.y < names[0].y - down / 2 and line.y + line.high > last
        assert line.colour == expected("ink", theme)
        beyond = picture.text("beyond training →")
        assert 0 <= beyond.x - line.x < 6 and beyond.y < positions[0].y
    else:
        assert not picture.frames and "beyond training →" not in picture.said()
    assert picture.alt.startswith(f"{task}, length {length}. A strip")
    assert [picture.alt.index(f"{encoding} {grade:.2f}, up to {TRAINED} ")
            for encoding, grade in ranking] == sorted(
        picture.alt.index(f"{encoding} {grade:.2f}") for encoding, grade in ranking)
    assert f"{ranking[0][0]} leads with {ranking[0][1]:.2f}" in stage.result
    assert stage.result.startswith(f"{task}, length {length}, ")
    assert stage.chosen() == {"task": [task], "length": [str(length)], "scored": [
        "all positions" if scored == "all" else f"only beyond {TRAINED}"]}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_strips_and_bars_are_what_was_stored(tmp_path, theme):
    stages = perform(tmp_path, lengths_explorer(ROWS, TRAINED, CHANCE), "pick('task', 'sort')",
                     f"pick('scored', 'only beyond {TRAINED}')", "pick('length', '12')",
                     "pick('task', 'copy')", colours=theme)
    for stage, case in zip(stages, (("copy", 20, "all"), ("sort", 20, "all"),
                                    ("sort", 20, "beyond"), ("sort", 12, "beyond"),
                                    ("copy", 12, "beyond")), strict=True):
        check(stage, theme, *case)


def test_a_length_within_training(tmp_path):
    within, nothing = perform(tmp_path, lengths_explorer(ROWS, TRAINED, CHANCE),
                              "pick('length', '8')", f"pick('scored', 'only beyond {TRAINED}')")[1:]
    check(within, LIGHT, "copy", 8, "all")
    picture, = nothing.pictures
    assert "no position is scored there" in nothing.result
    assert "mean" in picture.said() and not [text for text in picture.texts if "0." in text.text
                                             and "chance" not in text.text]
    assert picture.alt.count("beyond not scored") == 3


def scaled(change):
    """All rows, their accuracies changed."""
    return [row | {"accuracy": {length: [part and change(part) for part in parts]
                                for length, parts in row["accuracy"].items()}} for row in ROWS]


def test_the_number_of_a_whole_bar_fits(tmp_path):
    explorer = lengths_explorer(scaled(lambda part: 1), TRAINED, CHANCE)
    for width in (500, 1000):
        picture, = perform(tmp_path, explorer, width=width)[0].pictures
        check_picture(picture, width)
        assert picture.said().count("1.00") == 3
        assert {round(picture.wide - text.box[2]) for text in picture.texts
                if text.text == "1.00"} == {2}


@pytest.mark.parametrize("width", [280, 340, 600, 1400])
def test_it_fits_narrow_and_wide_pages(tmp_path, width):
    for trained in (TRAINED, STRETCH):  # more positions have names
        explorer = lengths_explorer(ROWS, trained, CHANCE)
        for stage in perform(tmp_path, explorer, f"pick('scored', 'only beyond {trained}')",
                             width=width):
            picture, = stage.pictures
            check_picture(picture, width)
            assert picture.wide == min(width - 12, 980)
            cells = [text for text in picture.texts if text.text.startswith(".")]
            assert bool(cells) == (width > 340)  # numbers where they fit
            arrow, = [text for text in picture.said() if text.endswith("→")]
            assert arrow == ("beyond →" if (width, trained) == (280, TRAINED)
                             else "beyond training →")
            kept = [text for text in picture.texts if text.align == "center"
                    and text.text.isdigit() and text.y == picture.text("position").y]
            last = int(kept[-1].text)
            for first, second in zip(kept, kept[1:]):  # what is left out has no room
                for position in range(int(first.text) + trained // 2, int(second.text),
                                      trained // 2):
                    x = kept[0].x + (kept[-1].x - kept[0].x) * position / last
                    assert x - 0.275 * SIZE * len(str(position)) < first.box[2] + 6


def test_nobody_leads_below_what_is_worth_it(tmp_path):
    explorer = lengths_explorer(scaled(lambda part: part / 4), TRAINED, CHANCE)
    stage, = perform(tmp_path, explorer)
    picture, = stage.pictures
    assert "nobody is ahead" in stage.result
    assert {text.text for text in picture.texts if text.bold} == {"mean", "of all"}
    explorer = lengths_explorer(scaled(lambda part: 0.4), TRAINED, CHANCE)
    edge = perform(tmp_path, explorer, "pick('length', '8')")[1]
    assert "leads with 0.40" in edge.result and ENCODINGS[0] in {
        text.text for text in edge.pictures[0].texts if text.bold}
