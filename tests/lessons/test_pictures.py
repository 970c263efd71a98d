"""Pictures of the lessons are compared by their pixels; what is drawn wrongly is noticed."""
import pytest
import torch
from pictures import pinned, unlike, vary

from attention_lessons.plotting import heatmaps

MAPS = torch.tensor([[[0.9, 0.1, 0.0], [0.25, 0.5, 0.25]], [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]])
CODE = 'heatmaps(X, rows, columns, name="02-own")'


def maps(values=MAPS, titles=("head 1", "head 2"), **more):
    drawing = heatmaps(values, ["a", "b"], ["dog", "bites", "man"], titles=titles, **more)
    return [{"data": drawing._repr_mimebundle_()}]


pytestmark = [  # what they test compares the notebooks that `make quick` leaves out
    pytest.mark.slow,
    pytest.mark.skipif(not pinned("matplotlib"), reason="matplotlib is not here as pinned")]


@pytest.mark.parametrize("change, said", [
    (dict(values=MAPS.flip(2)), "A picture differs by 0."),
    (dict(titles=("head 2", "head 1")), "A picture differs by 0."),
    (dict(size=0.7), "A picture differs by 1.00")])
def test_another_picture_is_noticed_where_its_words_are_the_same(change, said):
    assert unlike(CODE, maps(), maps()) == ""
    assert unlike(CODE, maps(**change), maps()).startswith(said)
    assert unlike(CODE, maps(), maps() * 2) == "There are 1 pictures, and 2 were stored."
    for code in (CODE.replace("own", "seeds"), "heatmaps(X, rows, columns)"):
        assert vary(code) and unlike(code, maps(**change), maps()) == ""
