"""The explorer of 05: its numbers are the stored ones, its settings are checked, its still picture agrees, and in a browser its controls do the same."""
from statistics import fmean

import pytest
from javascript import FORBIDDEN, compute
from pieces import lengths as lesson
from screen import result, show

from d2l_ext.explorers import source
from d2l_ext.laboratory import TRIALS, results
from d2l_ext.plotting import Picture

ROWS = results("05")["rows"]


def small(*strips, task="copy", encoding="one", lengths=(4, 8)):
    return {"task": task, "encoding": encoding, "seed": 0, "accuracy": {str(length): list(strip) for length, strip in zip(lengths, strips)}}


def mean(task, encoding, length, first):
    """Over seeds and stretches of positions, from what is stored."""
    return average([part for row in ROWS if (row["task"], row["encoding"]) == (task, encoding) for part in row["accuracy"][length][first:]])


def average(parts):
    scored = [part for part in parts if part is not None]
    return fmean(scored) if scored else None


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

def test_the_words_hold_the_numbers_best_first():
    scores = {encoding: mean("copy", encoding, "32", 0) for encoding in TRIALS["copy"].encodings}
    said = ", ".join(f"{encoding} {score:.2f}" for encoding, score in sorted(scores.items(), key=lambda pair: -pair[1]))
    assert lesson().numbers == f"copy, length 32, all positions: {said}."


def test_the_still_picture_shows_the_default_state():
    assert lesson().numbers in Picture("05_explorer").alt and '<img class="d2l-still"' in lesson().html()
    assert '<p class="d2l-still">' in lesson(ROWS[:9]).html()  # other runs: words, not a wrong picture


def test_settings_are_checked():
    explorer = lesson()
    assert explorer.state == {"task": "copy", "length": 32, "scored": "all"}
    explorer.set(task="repeat", length=64, scored="only beyond training")
    assert explorer.state == {"task": "repeat", "length": 64, "scored": "beyond"}
    for wrong in ({"task": "sort"}, {"length": 40}, {"scored": "some"}, {"encoding": "Shaw"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explorer.set(**wrong)
    assert explorer.state["length"] == 64


@pytest.mark.parametrize("change, words", [
    ({"rows": []}, "needs rows"), ({"chance": {"copy": 0.1}}, "a chance for each task"), ({"trained": 48}, "lengths of 96"), ({"trained": 14}, "trained=14"),
    ({"rows": [small([1], [1, 0]), small([1], [1])], "trained": 4}, "stretches of 4"), ({"rows": [small([1], [1, 0]), small([1], [1, 0], lengths=(4, 9))], "trained": 4}, "lengths")])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        lesson(**change)


@pytest.mark.parametrize("wrong", [5, -3, 1.01, float("nan"), float("inf"), "1", True])
def test_an_accuracy_or_chance_is_a_share(wrong):
    rows = [small([1], [1, None]), small([1], [1, wrong])]
    with pytest.raises(ValueError, match="accuracy of one in copy at length 8 must be a number"):
        lesson(rows, trained=4)
    with pytest.raises(ValueError, match="chance of copy must be a number in 0..1, got"):
        lesson(rows[:1], trained=4, chance={"copy": wrong})
    assert "NaN" not in lesson(rows[:1], trained=4).html()


def test_rows_without_stretches_are_refused():
    with pytest.raises(ValueError, match="each row needs the lengths"):
        lesson([small([], [])], trained=4)


def test_hostile_names_stay_text():
    explorer = lesson([small([1], [1, 0], encoding="</script><b>\n")], trained=4)
    assert "</script><b>" not in explorer.html() and repr(explorer).count("\n") == 1


def test_source_can_stand_in_a_page():
    for never in FORBIDDEN:
        assert never not in source("lengths"), never


# ---- the mathematics in JavaScript ------------------------------------------------------------------------------------------------------

def grades(folder, text, task, length, scope):
    found = compute(folder, text, f"piece.ranking(given, {{ task: '{task}', length: {length}, scored: '{scope}' }}).map((each) => [each.encoding, each.grade])", lesson().data)
    return dict(found)


def agree(folder, text):
    data = lesson().data["accuracy"]
    for task in TRIALS:
        for length in (16, 64):
            for scope, first in (("all", 0), ("beyond", 4)):
                found = grades(folder, text, task, length, scope)
                assert sorted(found) == sorted(TRIALS[task].encodings)
                for encoding, score in found.items():
                    wanted = average(data[task][encoding][str(length)][first:])
                    if score != wanted and (None in (score, wanted) or abs(score - wanted) > 1e-6):
                        return False
    return True


def test_what_it_shows_is_what_is_stored():
    for task, encodings in lesson().data["accuracy"].items():
        for encoding, strips in encodings.items():
            for length, strip in strips.items():
                assert average(strip) == pytest.approx(mean(task, encoding, length, 0), abs=1e-4)


def test_the_browser_scores_what_is_stored(tmp_path):
    assert agree(tmp_path, source("lengths"))


@pytest.mark.parametrize("right, wrong", [('scope === "beyond" ? trained / stretch : 0', "0"), ("trained / stretch : 0", "trained / stretch + 1 : 0"), ("/ parts.length : null", "/ strip.length : null")])
def test_a_mistake_in_scoring_is_noticed(tmp_path, right, wrong):
    assert right in source("lengths")
    assert not agree(tmp_path, source("lengths").replace(right, wrong))


def test_what_it_says(tmp_path):
    said = [compute(tmp_path, source("lengths"), f"piece.tell(given, {{ task: '{task}', length: {length}, scored: '{scope}' }})", lesson().data)
            for task, length, scope in (("copy", 32, "all"), ("copy", 64, "beyond"), ("reverse", 64, "beyond"), ("copy", 16, "beyond"))]
    assert "Shaw leads with 1.00" in said[0] and "flatter learned and sinusoidal" in said[0]
    assert "only positions beyond 16: Shaw leads with 1.00, then rotary" in said[1] and "flatter" not in said[1]
    assert "nobody is ahead" in said[2] and "no position is scored" in said[3]


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("width", [360, 1000])
def test_it_lives_in_a_page(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    piece = show(page, lesson())
    assert page.locator(".d2l-still").is_hidden() and "flatter learned and sinusoidal" in result(piece)
    assert piece.locator("canvas").bounding_box()["width"] <= width
    piece.get_by_label("only beyond 16").check()
    assert "only positions beyond 16: Shaw leads" in result(piece) and "flatter" not in result(piece)
    piece.get_by_label("repeat").check()
    piece.get_by_label("64", exact=True).check()
    assert "ALiBi, causal leads" in result(piece)
    words = "repeat, length 64. A strip of accuracies by position for each encoding, best first: ALiBi, causal "
    assert piece.locator("canvas").get_attribute("aria-label").startswith(words)
    piece.get_by_label("16", exact=True).check()
    assert "Choose a longer input" in result(piece)
    piece.get_by_label("16", exact=True).press("ArrowRight")  # to 24
    assert "length 24" in result(piece) and page.errors == []
