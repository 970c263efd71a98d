"""The explorer of 07: the kernel reads what is typed with the heads that are on; words, still picture and page show that."""
import json
import re

import pytest
import torch
from javascript import FORBIDDEN
from pieces import HEADS as NAMES
from screen import result, show, until

from d2l_ext.laboratory.dates import date_reader, load, read
from d2l_ext.explorers import dates_explorer, source
from d2l_ext.heads import all_heads, closed
from d2l_ext.plotting import Picture


@pytest.fixture(scope="module")
def model():
    return load()


@pytest.fixture
def explorer(model):
    return dates_explorer(model)


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

def test_it_starts_with_all_heads_on(explorer):
    assert explorer.state == {"text": "24/12/1999", "off": [], "layer": "cross"}
    assert repr(explorer).endswith("All 12 heads on: 24/12/1999 -> 1999-12-24.") and explorer.reading().answer == "1999-12-24"


def test_the_still_picture_shows_the_default_state(explorer, model):
    assert explorer.numbers in Picture("07_explorer").alt and '<img class="d2l-still"' in explorer.html()
    assert '<p class="d2l-still">' in dates_explorer(model, "5 march 2021").html()  # another text: words, not a wrong picture
    looks = read(model, "24/12/1999").weights["decoder.0.cross"].mean(0).argmax(-1).tolist()
    assert [looks[i] for i in (0, 1, 2, 3, 5, 6, 8, 9)] == [5, 7, 8, 9, 3, 4, 0, 1]  # the lines of the picture


@pytest.mark.parametrize("name", NAMES)
def test_each_switch_closes_its_head(explorer, model, name):
    explorer.set(off=[name])
    with closed(model, [all_heads(model)[NAMES.index(name)]]):
        wanted = read(model, "24/12/1999")
    assert explorer.reading().answer == explorer.widget.data["answer"] == wanted.answer
    shown = torch.tensor(explorer.widget.data["maps"]["cross"]) / 100
    assert torch.allclose(shown, wanted.weights["decoder.0.cross"], atol=0.0051)


def test_switching_off_changes_the_answer_and_on_again_brings_it_back(explorer):
    explorer.set(off=["cross 2"])
    assert explorer.widget.data["answer"] != "1999-12-24" == explorer.widget.data["full"]
    explorer.set(off=[])
    assert explorer.widget.data["answer"] == "1999-12-24"
    explorer.set(off=NAMES)  # all of them: nonsense, but no error
    assert len(explorer.widget.data["answer"]) == 10


def test_typing_in_the_browser_is_answered(explorer):
    explorer.widget.set_state({"state": {"text": "Friday, 5 March 2021", "off": [], "layer": "encoder"}})
    data = explorer.widget.data
    assert data["answer"] == "2021-03-05" and "".join(data["letters"]) == "friday, 5 march 2021" and data["text"] == "Friday, 5 March 2021"
    assert len(data["maps"]["encoder"]) == 4 and len(data["maps"]["encoder"][0]) == 20 and data["live"]
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("text, words", [("", "nothing to read"), ("   ", "nothing to read"), ("5 März 2021", "never met"), ("x" * 5000, "characters"), ("<script>", "never met"), ("\ud800\x00", "never met|nothing")])
def test_what_cannot_be_read_gets_a_sentence(explorer, text, words):
    explorer.set(text=text)
    data = explorer.widget.data
    assert re.search(words, data["problem"]) and data["answer"] == "" and data["maps"] == {}
    explorer.set(text="5/3/2021")
    assert explorer.widget.data["answer"] == "2021-03-05"


@pytest.mark.parametrize("wrong", [{"off": ["cross 4"]}, {"off": ["head 1"]}, {"off": 3}, {"text": 5}, {"layer": "both"}, {"sharp": 1}])
def test_settings_are_checked(explorer, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        explorer.set(**wrong)
    assert explorer.state["off"] == [] and explorer.state["text"] == "24/12/1999"


def test_heads_come_in_the_model_s_order_once(explorer):
    explorer.set(off=("cross 2", "encoder 0", "cross 2"))
    assert explorer.state["off"] == ["encoder 0", "cross 2"]
    explorer.set(off="decoder 1")
    assert explorer.state["off"] == ["decoder 1"]


def test_what_is_stored_does_not_follow_the_reader(explorer, model):
    before = explorer.html()
    explorer.set(text="5/3/2021", off=["cross 0"], layer="encoder")
    assert explorer.html() == before == dates_explorer(model).html() and '"live": false' in before


@pytest.mark.parametrize("wrong", [date_reader(layers=2), torch.nn.Linear(2, 2), None])
def test_other_models_are_refused(wrong):
    with pytest.raises(ValueError, match="date_reader"):
        dates_explorer(wrong)


def test_without_anywidget_settings_work(monkeypatch, model):
    import sys
    monkeypatch.setitem(sys.modules, "anywidget", None)
    explorer = dates_explorer(model)
    explorer.set(off=["cross 2"])
    assert explorer.widget is None and explorer.reading().answer != "1999-12-24"


def test_source_can_stand_in_a_page():
    for never in FORBIDDEN:
        assert never not in source("dates"), never


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

def live(page, explorer):
    """The piece with a kernel behind it, here this very process: the page's state comes in, the kernel's data goes out."""
    page.errors.clear()
    page.set_content("<!doctype html><html lang='en'><title>piece</title><div id='here'></div>")
    values = json.dumps({"data": explorer.widget.data, "state": explorer.state})
    page.evaluate(f"import('data:text/javascript,' + encodeURIComponent({json.dumps(source('dates'))})).then((piece) => {{ "
                  f"window.model = piece.fakeModel({values}); piece.default.render({{ model: window.model, el: document.getElementById('here') }}); }})")
    page.wait_for_selector(".looks canvas")
    return page.locator(".d2l-piece")


def answer(page, explorer):
    """Wait until the page's state has changed; let the kernel hear of it, and the page of its answer."""
    def state():
        return page.evaluate("window.model.get('state')")

    until(lambda: state() != explorer.state)
    explorer.widget.set_state({"state": state()})
    page.evaluate(f"window.model.set('data', {json.dumps(explorer.widget.data)})")


def test_without_a_kernel_it_shows_and_says_so(page, explorer):
    piece = show(page, explorer)
    assert result(piece) == "With all heads on: 24/12/1999 → 1999-12-24." and page.locator(".d2l-still").is_hidden()
    assert piece.get_by_label("your date").is_disabled() and piece.get_by_role("checkbox", name="cross 2").is_disabled()
    assert "run the cell" in piece.inner_text()
    piece.get_by_label("encoder", exact=True).check()  # maps can still be chosen
    result(piece)
    assert "encoder 0" in piece.locator(".looks").inner_text() and page.errors == []


def test_typing_and_switching(page, explorer):
    piece = live(page, explorer)
    piece.get_by_role("checkbox", name="cross 2").uncheck()
    answer(page, explorer)
    assert result(piece).startswith("Without cross 2: 24/12/1999 → ") and ", not 1999-12-24: the " in result(piece)
    assert piece.locator(".answer .other").count() == sum(a != b for a, b in zip(explorer.reading().answer, "1999-12-24"))
    assert "off: nobody listens" in piece.locator(".looks").inner_text() and piece.locator(".looks .off").count() == 1
    piece.get_by_role("checkbox", name="cross 2").check()
    answer(page, explorer)
    piece.get_by_label("your date").fill("Friday, 5 March 2021")
    answer(page, explorer)
    assert result(piece) == "With all heads on: friday, 5 march 2021 → 2021-03-05."
    assert piece.get_by_label("your date").input_value() == "Friday, 5 March 2021" and page.errors == []


def test_unreadable_text_in_the_page(page, explorer):
    piece = live(page, explorer)
    for text, words in (("", "nothing to read"), ("<img src=x onerror=alert(1)>", "never met"), ("5 März", "never met")):
        piece.get_by_label("your date").fill(text)
        answer(page, explorer)
        assert words in result(piece) and piece.locator(".answer span").count() == 0 and piece.locator(".looks").is_hidden()
    piece.get_by_label("your date").fill("5/3/2021")
    answer(page, explorer)
    assert result(piece).endswith("→ 2021-03-05.") and piece.locator(".looks").is_visible() and page.errors == []


@pytest.mark.parametrize("width, least", [(1280, 16), (820, 13), (380, 8)])
def test_letters_stay_legible(page, explorer, width, least):
    page.set_viewport_size({"width": width, "height": 900})
    live(page, explorer)
    cell = page.evaluate(f"import('data:text/javascript,' + encodeURIComponent({json.dumps(source('dates'))})).then((piece) => piece.arrange(20, {width} - 30).cell)")
    assert cell >= least
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.locator(".looks canvas").first.get_attribute("aria-label").startswith("cross 0, a map of weights")
    page.set_viewport_size({"width": 1280, "height": 900})
