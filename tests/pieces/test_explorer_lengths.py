"""The explorer of 05: what it refuses; what it shows is what is stored, and scored as it says."""
import re
from statistics import fmean

import pytest
from javascript import compute, swap
from pieces import ROWS, lengths
from screen import expect, said, show

from attention_lessons.pieces import source
from attention_lessons.laboratory import TRIALS


def small(*strips, encoding="one", lengths=(4, 8)):
    accuracy = {str(length): list(strip) for length, strip in zip(lengths, strips)}
    return {"task": "copy", "encoding": encoding, "seed": 0, "accuracy": accuracy}


def average(parts):
    scored = [part for part in parts if part is not None]
    return fmean(scored) if scored else None


def stored_mean(task, encoding, length):
    """Over seeds and stretches of positions."""
    return average([part for row in ROWS if (row["task"], row["encoding"]) == (task, encoding)
                    for part in row["accuracy"][length]])


def test_the_words_hold_the_numbers_best_first():
    scores = {encoding: stored_mean("copy", encoding, "32")
              for encoding in TRIALS["copy"].encodings}
    ranks = sorted(scores, key=scores.get, reverse=True)
    said = ", ".join(f"{encoding} {scores[encoding]:.2f}" for encoding in ranks)
    assert lengths().numbers == f"copy, length 32, all positions: {said}."


def test_what_it_shows_is_what_is_stored():
    for task, encodings in lengths().data["accuracy"].items():
        for encoding, strips in encodings.items():
            for length, strip in strips.items():
                wanted = stored_mean(task, encoding, length)
                assert average(strip) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("change, words", [
    ({"chance": {"copy": 0.1}},
     r"needs rows with lengths of 32 or more, and a chance for each task, got tasks \['copy', "
     r"'reverse', 'repeat'\], lengths \[16, 24, 32, 48, 64\], chance \{'copy': 0.1\}"),
    ({"trained": 48}, "needs rows with lengths of 96 or more, .*"),
    ({"rows": []}, r".* got tasks \[\], lengths \[\], chance .*"),
    ({"trained": 14}, r"each row needs the lengths \[16, 24, 32, 48, 64\] in stretches of 4, which "
                      "divide trained=14"),
    ({"rows": [small([], [])], "trained": 4}, "each row needs the lengths .*"),
    ({"rows": [small([1], [1, 0]), small([1], [1])], "trained": 4}, ".* stretches of 4, .*"),
    ({"rows": [small([1], [1, 0]), small([1], [1, 0], lengths=(4, 9))], "trained": 4},
     "each row needs the lengths .*"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        lengths(**change)


@pytest.mark.parametrize("wrong", [-3, 1.01, float("nan"), "1", True])
def test_an_accuracy_or_chance_is_a_share(wrong):
    rows = [small([1], [1, None]), small([1], [1, wrong])]
    got = re.escape(f"must be a number in 0..1, got {wrong!r}")
    with pytest.raises(ValueError, match=f"^accuracy of one in copy at length 8 {got}$"):
        lengths(rows, trained=4)
    with pytest.raises(ValueError, match=f"^chance of copy {got}$"):
        lengths(rows[:1], trained=4, chance={"copy": wrong})
    assert "NaN" not in lengths(rows[:1], trained=4).html()


# ---- the mathematics in JavaScript ---------------------------------------------------------------

GRADES = """given.states.map((state) =>
  Object.fromEntries(piece.ranking(given.data, state).map((one) => [one.encoding, one.grade])))"""


def distance(folder, text):
    """How far JavaScript's grades are from the means of what is shown; infinite where one of the
    two has none."""
    data = lengths().data
    states = [{"task": task, "length": length, "scored": scope}
              for task in TRIALS for length in (16, 64) for scope in ("all", "beyond")]
    furthest = 0
    for state, grades in zip(states, compute(folder, text, GRADES, dict(data=data, states=states))):
        strips = data["accuracy"][state["task"]]
        assert set(grades) == set(TRIALS[state["task"]].encodings)
        for encoding, grade in grades.items():
            first = 4 if state["scored"] == "beyond" else 0
            wanted = average(strips[encoding][str(state["length"])][first:])
            if (grade is None) != (wanted is None):
                return float("inf")
            furthest = max(furthest, abs((grade or 0) - (wanted or 0)))
    return furthest


def test_javascript_scores_what_is_stored(tmp_path):
    assert distance(tmp_path, source("lengths")) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ('scope === "beyond" ? trained / stretch : 0', "0"),
    ("trained / stretch : 0", "trained / stretch + 1 : 0"),
    ("/ parts.length : null", "/ strip.length : null"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("lengths"), right, wrong)) > 1e-3


# ---- in a browser --------------------------------------------------------------------------------

@pytest.mark.parametrize("width", [360, 1000])
def test_it_lives_in_a_page(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    piece = show(page, lengths())
    canvas = piece.locator("canvas")
    assert canvas.bounding_box()["width"] <= width
    piece.get_by_label("repeat").check()
    piece.get_by_label("64", exact=True).check()
    said(piece).to_contain_text("ALiBi, causal leads")
    words = ("^repeat, length 64. A strip of accuracies by position for each encoding, best first: "
             "ALiBi, causal ")
    expect(canvas).to_have_attribute("aria-label", re.compile(words))
    assert page.errors == []
