"""Pictures of the lessons are compared by their pixels; what is drawn wrongly is noticed."""
import pytest
import torch
from pictures import pinned, unlike, vary

from attention_lessons.plotting import bars, curves, heatmaps

MAPS = torch.tensor([[[0.9, 0.1, 0.0], [0.25, 0.5, 0.25]], [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]])
CODE = 'heatmaps(X, rows, columns, name="02-loop")'


def maps(values=MAPS, titles=("head 1", "head 2"), **more):
    return heatmaps(values, ["a", "b"], ["dog", "bites", "man"], titles=titles, **more)


def lines(xlabel="n", **more):
    ends = {"one": [1, 2, 4], "two": [3, 2.5, 1]}
    return curves([1, 2, 3], ends, xlabel=xlabel, ylabel="y", **more)


def column(labels=("dog", "bites", "man")):
    return bars([1.0, 2.5, 2.0], labels, ylabel="score")


def output(drawing):
    return [{"data": drawing._repr_mimebundle_()}]


pytestmark = [  # what they test compares the notebooks that `make quick` leaves out
    pytest.mark.skipif(not pinned(), reason="matplotlib is not here as pinned"), pytest.mark.slow]


@pytest.mark.parametrize("draw, change", [
    (maps, dict(values=MAPS.flip(2))), (maps, dict(titles=("head 2", "head 1"))),
    (maps, dict(signed=True)), (lines, dict(xlabel="m")), (lines, dict(marks={"here": 2})),
    (column, dict(labels=("bites", "dog", "man")))])
def test_another_picture_is_noticed(draw, change):
    right, again, wrong = output(draw()), output(draw()), output(draw(**change))
    assert unlike(CODE, again, right) == ""
    assert "differs by" in unlike(CODE, wrong, right)


def test_pictures_that_vary_and_those_without_a_name_are_left_to_their_words():
    right, wrong = output(maps()), output(maps(MAPS.flip(2)))
    for code in (CODE.replace("loop", "seeds"), "heatmaps(X, rows, columns)"):
        assert vary(code) and unlike(code, wrong, right) == ""
    assert not vary(CODE)


def test_a_picture_of_another_size_or_too_many_is_noticed():
    right = output(maps())
    assert "differs by 1.00" in unlike(CODE, output(maps(size=0.7)), right)
    assert unlike(CODE, right, right + right) == "There are 1 pictures, and 2 were stored."
