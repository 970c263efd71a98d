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
from torch.nn.parameter import is_lazy

import d2l_ext
from attention_lessons import compat
from attention_lessons.compat import d2l_0_17, d2l_1_0, fetch_d2l, real_d2l

ROOT = pathlib.Path(__file__).parents[2]

# What sections 11.5 and 11.6 do with D2L's names, in our words: a class of one's own, the toy
# example, the two drawings.
CLASS = """
class MultiHeadAttention(d2l.Module):
    def __init__(self, num_hiddens, num_heads, dropout, bias=False, **kwargs):
        super().__init__()
        self.save_hyperparameters(ignore=["num_hiddens"])
        assert self.hparams == {"num_heads": 5, "dropout": 0.5, "bias": False, "kwargs": {}}
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
weights = weights.reshape((1, num_heads, -1, num_kvpairs))
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
VERSIONS = {"d2l_1_0": d2l_1_0, "d2l_0_17": d2l_0_17}
both = pytest.mark.parametrize("version", VERSIONS)


def make(version, kind="MultiHeadAttention", **kwargs):
    """8 hidden units and 2 heads; keys 6, queries 4 and values 7 wide."""
    new = getattr(VERSIONS[version], kind)
    given = {"num_hiddens": 8, "num_heads": 2, "dropout": 0.0, "key_size": 6, "query_size": 4,
             "value_size": 7} | kwargs
    takes = inspect.signature(new).parameters
    return new(**{name: value for name, value in given.items() if name in takes})


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


def python(code):
    """What a fresh Python prints."""
    command = [sys.executable, "-W", "error", "-c", f"{STRICT}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.split("\n")[:-1]


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


@both
def test_an_unknown_name_is_an_attribute_error(version):
    with pytest.raises(AttributeError, match="^no 'load_data_fra_eng' here: .* 11.5 and 11.6$"):
        VERSIONS[version].load_data_fra_eng
    assert d2l_1_0.try_gpu() in (torch.device("cpu"), torch.device("cuda:0"))


# ---- D2L's numbers ----

LAYERS = "MultiHeadAttention AdditiveAttention DotProductAttention PositionalEncoding".split()
OTHERS = ("Module masked_softmax add_to_class plot show_heatmaps set_figsize use_svg_display "
          "check_shape try_gpu").split()


@pytest.mark.parametrize("name", [*LAYERS, *OTHERS, *(f"{layer}.forward" for layer in LAYERS)])
def test_signatures_are_those_of_1_0(real, name):
    wanted, found = (inspect.signature(attrgetter(name)(d2l)).parameters
                     for d2l in (real, d2l_1_0))
    assert list(found) == list(wanted)
    for key, parameter in wanted.items():
        assert parameter.default in (found[key].default, inspect.Parameter.empty), key


# The order of 0.17's arguments, and of its layers: the random numbers that each draws.
ORDERS = {
    "MultiHeadAttention": (
        "key_size query_size value_size num_hiddens num_heads dropout bias kwargs",
        {"W_q": (4, 8), "W_k": (6, 8), "W_v": (7, 8), "W_o": (8, 8)}),
    "AdditiveAttention": ("key_size query_size num_hiddens dropout kwargs",
                          {"W_k": (6, 8), "W_q": (4, 8), "w_v": (8, 1)})}


@pytest.mark.parametrize("kind", ORDERS)
def test_0_17_has_d2ls_order(kind):
    arguments, layers = ORDERS[kind]
    assert " ".join(inspect.signature(getattr(d2l_0_17, kind)).parameters) == arguments
    torch.manual_seed(0)
    attention = make("d2l_0_17", kind)
    assert set(attention.state_dict()) == {f"{name}.weight" for name in layers}
    torch.manual_seed(0)
    for name, widths in layers.items():
        wanted = nn.Linear(*widths, bias=False).weight
        assert torch.equal(getattr(attention, name).weight, wanted), name


LENGTHS = {"none": None, "per row": torch.tensor([1, 5, 3]),
           "per query": torch.tensor([[1, 2, 3, 4], [5, 5, 1, 2], [3, 1, 4, 1]])}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_seed_gives_d2ls_numbers_in_training_too(real, lengths, bias):
    def run(d2l):
        torch.manual_seed(0)
        attention = d2l.MultiHeadAttention(8, 2, dropout=0.5, bias=bias)
        output, additive = attention(*inputs(), lengths), d2l.AdditiveAttention(8, dropout=0.5)
        output.sum().backward()
        return (output, attention.attention.attention_weights, attention.W_k.weight.grad,
                additive(*inputs(), lengths), additive.attention_weights, additive.w_v.weight,
                d2l.masked_softmax(torch.randn(3, 4, 5), lengths))
    for ours, theirs in zip(run(d2l_1_0), run(real), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_move_between_all_four_as_they_are(real, bias):
    X, lengths = torch.randn(2, 4, 8), torch.tensor([4, 2])
    classes = [lambda: real.MultiHeadAttention(8, 2, 0, bias), lambda: make("d2l_1_0", bias=bias),
               lambda: d2l_0_17.MultiHeadAttention(8, 8, 8, 8, 2, 0.0, bias),
               lambda: d2l_ext.MultiHeadAttention(8, 2, bias=bias)]
    for source in (new() for new in classes):
        expected = source(X, X, X, lengths)
        for target in (new() for new in classes):
            target.load_state_dict(source.state_dict())
            assert torch.allclose(target(X, X, X, lengths), expected, atol=1e-6)


# ---- finding the real d2l, or not ----

@pytest.mark.slow
def test_notebook_08_runs_to_its_end_without_d2l():
    """Its asserts say how ours differs: lengths that are none, copies, one colour bar."""
    text = (ROOT / "notebooks/13_coming_from_d2l.ipynb").read_text(encoding="utf-8")
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]
               if cell["cell_type"] == "code"]
    printed = python("sys.modules['d2l'] = None\nnames = {'__name__': '__main__'}\n"
                     f"for source in {sources!r}: exec(source, names)\nprint('end')")
    assert printed[-1] == "end"
    missing = [line for line in printed if line.startswith("d2l")]
    assert missing == ["d2l can't be imported here, so you see our side alone"]
    assert sum(line.startswith("ours: ") for line in printed) > 10


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
def test_nothing_hidden_gets_through_and_lengths_of_nothing_give_zeros(version):
    attention, (queries, keys, values) = make(version, bias=True), inputs()
    lengths = torch.tensor([0, 3, 3])
    expected = attention(queries, keys, values, lengths)
    keys[:, 3:], values[:, 3:] = torch.nan, torch.inf
    output = attention(queries, keys, values, lengths)
    output.sum().backward()
    assert torch.equal(output, expected) and keys[:, 3:].isnan().all()
    assert torch.equal(output[0], attention.W_o.bias.expand(4, 8))
    assert not attention.attention.attention_weights[:2].any()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


@both
def test_weights_are_kept_detached_so_that_a_trained_model_can_be_copied(version):
    for kind, inner in (("MultiHeadAttention", "attention"), ("AdditiveAttention", "")):
        attention = make(version, kind)
        attention(*inputs(), None).sum().backward()
        weights = copy.deepcopy(attention).get_submodule(inner).attention_weights
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


# ---- lazy sizes, bad input ----

@pytest.mark.parametrize("kind", ORDERS)
def test_lazy_sizes_behave_as_torchs_do(kind):
    attention = make("d2l_1_0", kind)
    untouched = copy.deepcopy(attention)
    with pytest.raises(ValueError, match="5 keys but 4 values"):
        attention(*inputs()[:2], torch.randn(3, 4, 7))
    assert is_lazy(attention.W_q.weight)  # a refused input settles nothing
    expected = attention(*inputs(), None)
    assert type(attention.W_q) is nn.Linear and attention.W_k.weight.shape == (8, 6)
    untouched.load_state_dict(attention.state_dict())
    with pytest.raises(ValueError, match="queries have width 9, expected 4"):
        untouched(torch.randn(3, 4, 9), *inputs()[1:], None)
    assert torch.equal(untouched(*inputs(), None), expected)


@both
def test_what_does_not_fit_is_refused(version):
    attention, (queries, keys, values) = make(version), inputs()
    attention(queries, keys, values, None)  # settles the lazy sizes
    rows = [
        (lambda: make(version, num_heads=3), "num_heads=3 does not divide num_hiddens=8"),
        (lambda: attention(queries, values, values, None), "keys have width 7, expected 6"),
        (lambda: attention(queries, keys, values, torch.tensor([6, 1, 1])), "6.*keys=5"),
        (lambda: d2l_1_0.DotProductAttention(0)(queries, keys, values), "width 6, expected 4"),
        (lambda: d2l_1_0.check_shape(queries, (3, 4)), r"\(3, 4, 4\) != expected shape \(3, 4\)")]
    for refused, words in rows:
        with pytest.raises((ValueError, TypeError, AssertionError), match=words):
            refused()
    assert d2l_1_0.Module(3).plot_train_per_epoch == 3
    assert make(version, num_heads=1, num_hiddens=1).num_heads == 1


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
    d2l_1_0.plot(x.tolist(), [x.requires_grad_()] * 5)
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
