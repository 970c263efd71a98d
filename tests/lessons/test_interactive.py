"""A reader's function under sliders: what is shown where no kernel runs, and what is refused."""
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from attention_lessons import bars, sliders


@pytest.fixture
def shell(tmp_path):
    """IPython without a history, which would be written to the reader's home."""
    settings = Config(HistoryAccessor={"enabled": False})
    yield InteractiveShell.instance(ipython_dir=str(tmp_path), config=settings)
    InteractiveShell.clear_instance()


def show(draw, **ranges):
    """What a page without a kernel shows, as HTML."""
    with capture_output() as captured:
        sliders(draw, **ranges)
    (output,) = captured.outputs
    assert "application/vnd.jupyter.widget-view+json" in output.data
    return output.data["text/html"]


def test_the_first_picture_is_that_of_the_defaults(shell):
    def draw(height=3, kind="a"):
        print("height", height)
        return bars([height, 1], [kind, "b"], ylabel="h")

    shown = show(draw, height=(0, 10), kind=["c", "a"])
    assert 'alt="h: a 3, b 1"' in shown and "<pre>height 3\n</pre>" in shown
    assert "A still picture" in shown


def test_without_a_default_a_slider_starts_in_the_middle(shell):
    assert "<pre>25</pre>" in show(lambda n: n ** 2, n=(0, 10))


def test_a_default_gives_a_range(shell):
    assert "<pre>6</pre>" in show(lambda n, times=3: n * times, n=[2, 4])


def test_what_is_printed_cannot_break_the_page(shell):
    assert "&lt;b&gt;" in show(lambda n: print("<b>"), n=(0, 10))


@pytest.mark.parametrize("ranges", [{}, {"m": (0, 1)}, {"n": (0, 1), "m": (0, 1)}])
def test_arguments_and_ranges_are_the_same(ranges):
    with pytest.raises(ValueError, match=f"{', '.join(ranges) or 'nothing'}.* arguments are n$"):
        sliders(lambda n: n, **ranges)


def test_an_error_of_the_reader_is_raised():
    with pytest.raises(ZeroDivisionError):
        sliders(lambda n: n / 0, n=(0, 10))


def test_the_function_is_called_once_at_first(shell):
    calls = []
    show(lambda n: calls.append(n), n=(0, 10))
    assert calls == [5]
