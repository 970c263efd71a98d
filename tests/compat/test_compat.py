"""D2L's code runs with the import line changed, and gives D2L's numbers wherever D2L is right."""
import copy
import inspect
import json
import pathlib
import subprocess
import sys
import warnings
from operator import attrgetter

import pytest
import torch
from torch import nn

from attention_lessons import compat
from attention_lessons.compat import d2l_0_17, d2l_1_0, fetch_d2l, real_d2l

ROOT = pathlib.Path(__file__).parents[2]

# What sections 11.5 and 11.6 do with D2L's names, in our words: a class of one's own, the toy
# example, the two drawings.
CLASS = """
class MultiHeadAttention(d2l.Module):
    def __init__(self, num_hiddens, num_heads, dropout, bias=False, **kwargs):
        super().__init__()
        self.num_heads = num_heads
        self.attention = d2l.DotProductAttention(dropout)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.LazyLinear(num_hiddens, bias=bias))

    def forward(self, queries, keys, values, lens):
        lens = torch.repeat_interleave(lens, repeats=self.num_heads, dim=0)
        folded = map(self.transpose_qkv, (self.W_q(queries), self.W_k(keys), self.W_v(values)))
        return self.W_o(self.transpose_output(self.attention(*folded, lens)))

@d2l.add_to_class(MultiHeadAttention)
def transpose_qkv(self, X):
    return X.reshape(*X.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3).flatten(0, 1)

@d2l.add_to_class(MultiHeadAttention)
def transpose_output(self, X):
    return X.reshape(-1, self.num_heads, *X.shape[1:]).permute(0, 2, 1, 3).flatten(2)
"""
OURS = "MultiHeadAttention = d2l.MultiHeadAttention\n"
CODE = """
num_hiddens, num_heads, batch_size, num_queries, num_kvpairs = 100, 5, 2, 4, 6
valid_lens = d2l.tensor([3, 2])
X = d2l.ones((batch_size, num_queries, num_hiddens))
Y = d2l.ones((batch_size, num_kvpairs, num_hiddens))
attention = MultiHeadAttention(*SIZES, num_hiddens, num_heads, 0.5)
d2l.check_shape(attention(X, Y, Y, valid_lens), (batch_size, num_queries, num_hiddens))
weights = d2l.concat([attention.attention.attention_weights], 0)
weights = d2l.reshape(weights, (1, num_heads, -1, num_kvpairs))
d2l.show_heatmaps(weights.cpu(), xlabel="Key positions", ylabel="Query positions")
encoding = d2l.PositionalEncoding(32, 0)
encoding(d2l.zeros((1, 60, 32)))
P = encoding.P[:, :60, :]
d2l.plot(d2l.arange(60), P[0, :, 6:10].T, xlabel="Row (position)", figsize=(6, 2.5),
         legend=["Col %d" % d for d in d2l.arange(6, 10)])
"""
# Any warning is an error, but for those of an old matplotlib with a newer pyparsing.
STRICT = """
import sys, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib|pyparsing")
"""
MAKERS = {  # 8 hidden units; keys 6, queries 4 and values 7 wide
    "d2l_1_0": lambda heads=2, bias=True: d2l_1_0.MultiHeadAttention(8, heads, 0.0, bias),
    "d2l_0_17": lambda heads=2, bias=True: d2l_0_17.MultiHeadAttention(6, 4, 7, 8, heads, 0.0,
                                                                        bias)}
both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def inputs():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(3, *shape, generator=generator) for shape in ((4, 4), (5, 6), (5, 7))]


@pytest.fixture(scope="module")
def real():
    """d2l 1.0.3 itself."""
    return real_d2l() or pytest.skip("d2l can't be imported")


@pytest.fixture
def pyplot():
    """matplotlib without a screen, with no figure left behind; warnings are errors, see STRICT."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    with matplotlib.rc_context(), warnings.catch_warnings():
        exec(STRICT)
        yield pyplot
        pyplot.close("all")


# ---- D2L's code ----

@pytest.mark.parametrize("d2l, own, sizes", [
    (d2l_1_0, CLASS, ()), (d2l_1_0, OURS, ()), (d2l_0_17, OURS, (100,) * 3)])
def test_the_sections_code_runs(d2l, own, sizes, pyplot):
    names = {"d2l": d2l, "torch": torch, "nn": nn, "SIZES": sizes}
    exec(own + CODE, names)
    legend = [text.get_text() for text in pyplot.gca().get_legend().get_texts()]
    assert legend == ["Col 6", "Col 7", "Col 8", "Col 9"]
    for column, line in zip(range(6, 10), pyplot.gca().lines, strict=True):
        assert torch.equal(torch.as_tensor(line.get_ydata()), names["P"][0, :, column])
    assert d2l.plt is pyplot
    with pytest.raises(AttributeError, match="^no 'load_data_fra_eng' here: .* 11.5 and 11.6$"):
        d2l.load_data_fra_eng


# ---- D2L's numbers ----

LAYERS = "MultiHeadAttention DotProductAttention PositionalEncoding".split()


@pytest.mark.parametrize("name", [*LAYERS, *(f"{layer}.forward" for layer in LAYERS),
                                  "add_to_class", "check_shape", "plot", "show_heatmaps"])
def test_signatures_are_those_of_1_0(real, name):
    wanted, found = (inspect.signature(attrgetter(name)(d2l)).parameters
                     for d2l in (real, d2l_1_0))
    assert list(found) == list(wanted)
    for key, parameter in wanted.items():
        assert parameter.default in (found[key].default, inspect.Parameter.empty), key


def test_0_17_has_d2ls_order_of_arguments_and_of_layers():
    """The random numbers that each layer draws say which came first."""
    arguments = inspect.signature(d2l_0_17.MultiHeadAttention).parameters
    assert [*arguments] == ["key_size", "query_size", "value_size", "num_hiddens", "num_heads",
                            "dropout", "bias", "kwargs"]
    torch.manual_seed(0)
    found = MAKERS["d2l_0_17"](bias=False).state_dict()
    torch.manual_seed(0)
    widths = {"W_q": 4, "W_k": 6, "W_v": 7, "W_o": 8}
    assert found.keys() == {f"{name}.weight" for name in widths}
    for name, width in widths.items():
        assert torch.equal(found[f"{name}.weight"], nn.Linear(width, 8, bias=False).weight), name


LENGTHS = {"none": None, "per row": torch.tensor([1, 5, 3]),
           "per query": torch.tensor([[1, 2, 3, 4], [5, 5, 1, 2], [3, 1, 4, 1]])}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_seed_gives_d2ls_numbers_in_training_too(real, lengths, bias):
    def run(d2l):
        torch.manual_seed(0)
        attention = d2l.MultiHeadAttention(8, 2, dropout=0.5, bias=bias)
        output = attention(*inputs(), lengths)
        output.sum().backward()
        return (output, attention.attention.attention_weights, attention.W_k.weight.grad,
                d2l.masked_softmax(torch.randn(3, 4, 5), lengths))
    for ours, theirs in zip(run(d2l_1_0), run(real), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


# ---- finding the real d2l, or not ----

@pytest.mark.slow
def test_lesson_13_runs_to_its_end_without_d2l():
    """Its asserts say how ours differs: lengths that are none, copies."""
    text = (ROOT / "notebooks/13_coming_from_d2l.ipynb").read_text(encoding="utf-8")
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]
               if cell["cell_type"] == "code"]
    code = (f"{STRICT}\nsys.modules['d2l'] = None\nnames = {{'__name__': '__main__'}}\n"
            f"for source in {sources!r}: exec(source, names)\nprint('end')")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True, check=True, cwd=ROOT)
    printed = done.stdout.splitlines()
    assert printed[-1] == "end"
    missing = [line for line in printed if line.startswith("d2l")]
    assert missing == ["d2l can't be imported here, so you see our side alone"]
    assert sum(line.startswith("ours: ") for line in printed) == 5


@pytest.mark.parametrize("colab, there, fetches", [
    (True, False, True), (True, True, False), (False, False, False)])
def test_d2l_is_fetched_in_colab_where_it_is_missing(monkeypatch, colab, there, fetches):
    commands = []
    monkeypatch.setattr(compat, "find_spec", lambda name: there and name == "d2l" or None)
    monkeypatch.setattr(compat.subprocess, "run",
                        lambda command, capture_output: capture_output and commands.append(command))
    if colab:
        monkeypatch.setitem(sys.modules, "google.colab", sys)
    fetch_d2l()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "d2l==1.0.3"]
    assert commands == [install] * fetches


# ---- where D2L errs ----

@both
def test_nothing_hidden_gets_through_and_lengths_of_nothing_give_zeros(make):
    attention, (queries, keys, values) = make(), inputs()
    lengths = torch.tensor([0, 3, 3])
    expected = attention(queries, keys, values, lengths)
    keys[:, 3:], values[:, 3:] = 1e6, -1e6
    output = attention(queries, keys, values, lengths)
    output.sum().backward()
    assert torch.equal(output, expected)
    assert torch.equal(output[0], attention.W_o.bias.expand(4, 8))
    assert not attention.attention.attention_weights[:2].any()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())
    copy.deepcopy(attention)  # the weights are kept detached


@both
def test_what_does_not_fit_is_refused(make):
    attention, (queries, keys, values) = make(), inputs()
    for _ in range(2):  # before and after the first call, which settles the widths
        for words, *refused in [("5 keys but 4 values", queries, keys, values[:, 1:], None),
                                ("6.*keys=5", queries, keys, values, torch.tensor([6, 1, 1]))]:
            with pytest.raises(ValueError, match=words):
                attention(*refused)
        attention(queries, keys, values, None)
    for refused, words in [
            (lambda: make(heads=3), "num_heads=3 does not divide num_hiddens=8"),
            (lambda: make(heads=0), "num_heads=0 must be at least 1"),
            (lambda: attention(queries, values, values, None), "keys have width 7, expected 6"),
            (lambda: d2l_1_0.DotProductAttention(0)(queries, keys, values), "width 6, expected 4"),
            (lambda: d2l_1_0.check_shape(queries, (3, 4)), r"\(3, 4, 4\) != .* shape \(3, 4\)")]:
        with pytest.raises((ValueError, AssertionError), match=words):
            refused()


# ---- drawings ----

x = torch.arange(3.)
PLOTS = {"a list": ([5, 7],), "one x for all": (x, [x, 2 * x, x ** 3]),
         "each its x": ([x, x + 1], [x, x])}


@pytest.mark.parametrize("arguments", PLOTS.values(), ids=PLOTS)
def test_plot_draws_what_d2ls_draws(real, pyplot, arguments):
    def run(d2l):
        figure, axes = d2l.plt.subplots()
        d2l.plt.figure()  # another one is the current one now
        for _ in range(2):  # the first one's curves are gone
            d2l.plot(*arguments, ylabel="y", legend=["a"], axes=axes, xscale="symlog", ylim=[0, 5])
        figure.canvas.draw()
        about = axes.get_ylabel(), axes.get_xscale(), axes.get_ylim(), len(axes.lines)
        return [about, *((*line.get_xdata(), *line.get_ydata(), line.get_linestyle(),
                          line.get_color(), line.get_label()) for line in axes.lines)]
    assert run(d2l_1_0) == run(real)


def test_plot_takes_more_curves_than_styles_and_gradients(pyplot):
    d2l_1_0.plot(x.tolist(), [x.clone().requires_grad_()] * 5)
    assert len(pyplot.gca().lines) == 5


def test_one_colour_bar_is_true_of_every_map(pyplot):
    maps = torch.stack([torch.eye(3), torch.eye(3) / 10])[None].requires_grad_()
    d2l_1_0.show_heatmaps(maps, "Keys", "Queries", titles=["a", "b"])
    first, second, _ = pyplot.gcf().axes
    assert [axes.images[0].get_clim() for axes in (first, second)] == [(0, 1)] * 2
    assert [first.get_title(), second.get_title()] == ["a", "b"]
    assert [first.get_ylabel(), second.get_ylabel()] == ["Queries", ""]
    assert [first.get_xlabel(), second.get_xlabel()] == ["Keys", "Keys"]
    with pytest.raises(ValueError, match=r"got \(3, 3\)"):
        d2l_1_0.show_heatmaps(torch.eye(3), "Keys", "Queries")
