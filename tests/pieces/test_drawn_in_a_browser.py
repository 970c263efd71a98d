"""Words in the pieces' pictures, in a real browser's font: none is cut off, none hides another."""
import pytest
from pieces import PIECES
from screen import FAULTS, PAINTED, show

WIDE = "<style>.d2l-piece { font-family: 'DejaVu Sans', Verdana !important }</style>"


@pytest.mark.parametrize("piece", PIECES)
def test_words_in_a_picture_are_whole(page, piece):
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        show(page, PIECES[piece](), WIDE)
        page.evaluate(PAINTED)
        assert page.evaluate(FAULTS) == [], width
    assert page.errors == []


def test_a_word_that_is_cut_off_is_found(page):
    words = "".join(f'<text x="{x}" y="70">word</text>' for x in (100, 104, 490, -9))
    page.set_viewport_size({"width": 500, "height": 300})
    page.set_content(f'<body style="margin: 0"><div class="d2l-piece"><svg width="500">{words}')
    assert page.evaluate(FAULTS) == ["word is cut off", "word is cut off", "word meets another"]
