"""The explorer of 07: the kernel reads what is typed with the heads that are on, and it shows."""
import json
import re

import pytest
import torch
from screen import expect, said, until

from attention_lessons.pieces import dates_explorer, source
from d2l_ext.heads import all_heads, closed
from attention_lessons.laboratory.dates import date_reader, load, read
from d2l_ext.transformer import EncoderDecoder

NAMES = [f"{layer} {head}" for layer in ("encoder", "decoder", "cross") for head in range(4)]


@pytest.fixture(scope="module")
def model():
    return load()


@pytest.fixture
def explorer(model):
    return dates_explorer(model)


# ---- in Python -----------------------------------------------------------------------------------

def test_it_starts_with_all_heads_on(explorer, model):
    assert repr(explorer).endswith("All 12 heads on: 24/12/1999 -> 1999-12-24.")
    assert explorer.reading().answer == "1999-12-24"
    assert re.search(r"[^.]\.$", dates_explorer(model, "   ").numbers)
    looks = read(model, "24/12/1999").weights["decoder.0.cross"].mean(0).argmax(-1)
    lines = {0: 5, 1: 7, 2: 8, 3: 9, 5: 3, 6: 4, 8: 0, 9: 1}  # of the still picture
    assert {symbol: int(looks[symbol]) for symbol in lines} == lines


@pytest.mark.parametrize("name", NAMES)
def test_each_switch_closes_its_head(explorer, model, name):
    explorer.set(off=[name])
    with closed(model, [all_heads(model)[NAMES.index(name)]]):
        wanted = read(model, "24/12/1999")
    data = explorer.widget.data
    assert explorer.reading().answer == data["answer"] == wanted.answer
    shown = torch.tensor(data["maps"]["cross"]) / 100
    assert torch.allclose(shown, wanted.weights["decoder.0.cross"], atol=0.0051)


def test_switching_off_changes_the_answer_and_on_again_brings_it_back(explorer):
    explorer.set(off=["cross 2"])
    assert explorer.widget.data["answer"] != "1999-12-24" == explorer.widget.data["full"]
    explorer.set(off=[])
    assert explorer.widget.data["answer"] == "1999-12-24"
    explorer.set(off=NAMES)  # all of them: nonsense, but no error
    assert len(explorer.widget.data["answer"]) == 10


def test_the_answer_with_all_heads_is_that_of_the_weights_as_they_are():
    model = load()
    explorer = dates_explorer(model)
    explorer.set(off=["cross 2"])
    with torch.no_grad():
        model.scores.bias[1] += 50  # now all it writes is ones
    explorer.set(off=["cross 3"])
    assert explorer.widget.data["full"] == explorer.widget.data["answer"] == "1111111111"


def test_typing_in_the_browser_is_answered(explorer):
    asked = {"text": "Friday, 5 March 2021", "off": [], "layer": "encoder"}
    explorer.widget.set_state({"state": asked})
    data = explorer.widget.data
    assert data["answer"] == "2021-03-05" and data["text"] == "Friday, 5 March 2021"
    assert "".join(data["letters"]) == "friday, 5 march 2021" and data["live"]
    assert torch.tensor(data["maps"]["encoder"]).shape == (4, 20, 20)
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("text, words", [
    ("   ", "nothing to read"), ("5 März 2021", "never met"), ("x" * 5000, "characters"),
    ("<script>", "never met"), ("\ud800\x00", "never met|nothing"),
])
def test_what_cannot_be_read_gets_a_sentence(explorer, text, words):
    explorer.set(text=text)
    data = explorer.widget.data
    assert re.search(words, data["problem"]) and data["answer"] == "" and data["maps"] == {}
    explorer.set(text="5/3/2021")
    assert explorer.widget.data["answer"] == "2021-03-05"


def test_what_goes_wrong_in_the_kernel_is_shown(explorer):
    with pytest.raises(ValueError, match="off="):
        explorer.widget.set_state({"state": explorer.state | {"off": ["cross 9"]}})
    assert explorer.widget.data["problem"].startswith("This could not be computed: ValueError: off")
    assert explorer.widget.data["maps"] == {} and explorer.widget.data["answer"] == ""
    explorer.set(off=[])  # it reads the same text again
    assert explorer.widget.data["answer"] == "1999-12-24"


@pytest.mark.parametrize("wrong, got", [
    (date_reader(layers=2), "EncoderDecoder"), (None, "NoneType"),
    (EncoderDecoder(40, 9, 8, 2), "EncoderDecoder")])
def test_other_models_are_refused(wrong, got):
    with pytest.raises(ValueError, match=r"^needs a model as laboratory.dates.date_reader "
                                         f"makes it, with layers=1, got {got}$"):
        dates_explorer(wrong)


@pytest.mark.parametrize("settings, words", [
    ({"text": 5}, "text=5 must be text"),
    ({"off": "head 1"}, rf"off=\['head 1'\] is not possible: choose from {', '.join(NAMES)}"),
    ({"off": 3}, r"off=\[3\] is not possible: .*")])
def test_an_impossible_setting_is_named_with_what_is_possible(explorer, settings, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        explorer.set(**settings)


# ---- in a browser --------------------------------------------------------------------------------

def imported():
    return f"import('data:text/javascript,' + encodeURIComponent({json.dumps(source('dates'))}))"


def live(page, explorer):
    """The piece with a kernel behind it, here this very process: the page's state comes in, the
    kernel's data goes out."""
    page.errors.clear()
    page.set_content("<!doctype html><html lang='en'><title>piece</title><div id='here'></div>")
    values = json.dumps({"data": explorer.widget.data, "state": explorer.state})
    page.evaluate(f"""{imported()}.then((piece) => {{
        window.model = piece.fakeModel({values});
        piece.default.render({{ model: window.model, el: document.getElementById("here") }});
    }})""")
    page.wait_for_selector(".looks canvas")
    return page.locator(".d2l-piece")


def answer(page, explorer):
    """Wait until the page's state has changed; let the kernel hear of it, and the page of its
    answer."""
    def state():
        return page.evaluate("window.model.get('state')")

    until(lambda: state() != explorer.state)
    explorer.widget.set_state({"state": state()})
    page.evaluate(f"window.model.set('data', {json.dumps(explorer.widget.data)})")


def test_typing_and_switching(page, explorer):
    piece = live(page, explorer)
    piece.get_by_role("checkbox", name="cross 2").uncheck()
    answer(page, explorer)
    said(piece).to_contain_text("Without cross 2: 24/12/1999 → ")
    said(piece).to_contain_text(", not 1999-12-24: the ")
    differ = sum(a != b for a, b in zip(explorer.reading().answer, "1999-12-24"))
    expect(piece.locator(".answer .other")).to_have_count(differ)
    expect(piece.locator(".looks .off")).to_contain_text("off: nobody listens")
    piece.get_by_role("checkbox", name="cross 2").check()
    answer(page, explorer)
    piece.get_by_label("your date").fill("Friday, 5 March 2021")
    answer(page, explorer)
    said(piece).to_have_text("With all heads on: friday, 5 march 2021 → 2021-03-05.")
    expect(piece.get_by_label("your date")).to_have_value("Friday, 5 March 2021")
    assert page.errors == []


def test_unreadable_text_in_the_page(page, explorer):
    piece = live(page, explorer)
    for text, words in (("", "nothing to read"), ("<img onerror=alert(1)>", "never met")):
        piece.get_by_label("your date").fill(text)
        answer(page, explorer)
        said(piece).to_contain_text(words)
        expect(piece.locator(".answer span")).to_have_count(0)
        expect(piece.locator(".looks")).to_be_hidden()
    piece.get_by_label("your date").fill("5/3/2021")
    answer(page, explorer)
    said(piece).to_contain_text("→ 2021-03-05.")
    expect(piece.locator(".looks")).to_be_visible()
    assert page.errors == []
