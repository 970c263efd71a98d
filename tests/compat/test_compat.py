"""D2L's code runs with the import line changed, and gives D2L's numbers wherever D2L is right."""
import copy
import inspect
import json
import pathlib
import subprocess
import sys
import warnings
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn.parameter import is_lazy

import d2l_ext
from d2l_ext import compat
from d2l_ext.compat import d2l_0_17, d2l_1_0, fetch_d2l, real_d2l

ROOT = pathlib.Path(__file__).parents[2]

# What sections 11.5 and 11.6 do with D2L's names, in our words: a class of one's own, the toy example, the two drawings.
CLASS_1_0 = '''
import torch
from torch import nn

class MultiHeadAttention(d2l.Module):
    def __init__(self, num_hiddens, num_heads, dropout, bias=False, **kwargs):
        super().__init__()
        self.num_heads, self.attention = num_heads, d2l.DotProductAttention(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = [nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4)]

    def forward(self, queries, keys, values, valid_lens):
        lens = valid_lens if valid_lens is None else torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)
        folded = [self.transpose_qkv(W(X)) for W, X in ((self.W_q, queries), (self.W_k, keys), (self.W_v, values))]
        return self.W_o(self.transpose_output(self.attention(*folded, lens)))

@d2l.add_to_class(MultiHeadAttention)
def transpose_qkv(self, X):
    return X.reshape(*X.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3).flatten(0, 1)

@d2l.add_to_class(MultiHeadAttention)
def transpose_output(self, X):
    return X.reshape(-1, self.num_heads, *X.shape[1:]).permute(0, 2, 1, 3).flatten(2)
'''
CLASS_0_17 = '''
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, key_size, query_size, value_size, num_hiddens, num_heads, dropout, bias=False, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.attention = num_heads, d2l.DotProductAttention(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = [nn.Linear(n, num_hiddens, bias=bias) for n in (query_size, key_size, value_size, num_hiddens)]

    def forward(self, queries, keys, values, valid_lens):
        lens = valid_lens if valid_lens is None else torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)
        folded = [d2l.transpose_qkv(W(X), self.num_heads) for W, X in ((self.W_q, queries), (self.W_k, keys), (self.W_v, values))]
        return self.W_o(d2l.transpose_output(self.attention(*folded, lens), self.num_heads))
'''
TOY = '''
num_hiddens, num_heads, batch_size, num_queries, num_kvpairs = 100, 5, 2, 4, 6
valid_lens = d2l.tensor([3, 2])
X, Y = d2l.ones((batch_size, num_queries, num_hiddens)), d2l.ones((batch_size, num_kvpairs, num_hiddens))
for Attention in (MultiHeadAttention, d2l.MultiHeadAttention):
    attention = Attention(*SIZES, num_hiddens, num_heads, 0.5)
    d2l.check_shape(attention(X, Y, Y, valid_lens), (batch_size, num_queries, num_hiddens))
    attention.eval()
    d2l.check_shape(attention(X, X, X, valid_lens), (batch_size, num_queries, num_hiddens))
    weights = d2l.concat([attention.attention.attention_weights], 0).reshape((1, num_heads, -1, num_queries))
    d2l.check_shape(weights, (1, num_heads, batch_size * num_queries, num_queries))
'''
POSITIONS = '''
encoding_dim, num_steps = 32, 60
pos_encoding = d2l.PositionalEncoding(encoding_dim, 0)
X = pos_encoding(d2l.zeros((1, num_steps, encoding_dim)))
P = pos_encoding.P[:, :X.shape[1], :]
d2l.plot(d2l.arange(num_steps), P[0, :, 6:10].T, xlabel="Row (position)", figsize=(6, 2.5), legend=["Col %d" % d for d in d2l.arange(6, 10)])
'''
HEATMAP = '''
d2l.show_heatmaps(P[0, :, :].unsqueeze(0).unsqueeze(0), xlabel="Column (encoding dimension)", ylabel="Row (position)", figsize=(3.5, 4), cmap="Blues")
'''
# Any warning is an error, but for what an old matplotlib asks of a newer pyparsing: nobody sees it, and it isn't ours.
STRICT = "import warnings; warnings.simplefilter('error'); warnings.filterwarnings('ignore', category=DeprecationWarning, module='matplotlib|pyparsing')"
VERSIONS = {"d2l_1_0": (d2l_1_0, CLASS_1_0, "SIZES = ()"), "d2l_0_17": (d2l_0_17, CLASS_0_17, "SIZES = (100, 100, 100)")}
both = pytest.mark.parametrize("version", VERSIONS)


def make(version, **kwargs):
    """The version's own attention, 8 hidden units and 2 heads, keys 6, queries 4 and values 7 wide."""
    sizes = dict(key_size=6, query_size=4, value_size=7) if version == "d2l_0_17" else {}
    return VERSIONS[version][0].MultiHeadAttention(**{**sizes, "num_hiddens": 8, "num_heads": 2, "dropout": 0.0, **kwargs})


def inputs(batch=3, queries=4, keys=5):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(batch, steps, width, generator=generator) for steps, width in ((queries, 4), (keys, 6), (keys, 7))]


@pytest.fixture(scope="module")
def real():
    """d2l 1.0.3 itself."""
    found = real_d2l()
    if found is None:
        pytest.skip("d2l can't be imported")
    return found


@pytest.fixture
def pyplot(monkeypatch):
    """matplotlib without a screen, with no figure left behind; any warning is an error."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield pyplot
        pyplot.close("all")


# D2L's code

@both
def test_the_sections_code_runs(version, pyplot):
    d2l, their_class, sizes = VERSIONS[version]
    names = {"d2l": d2l}
    exec("\n".join([their_class, sizes, TOY, POSITIONS]), names)
    lines = pyplot.gca().lines
    assert [text.get_text() for text in pyplot.gca().get_legend().get_texts()] == ["Col 6", "Col 7", "Col 8", "Col 9"]
    for column, line in zip(range(6, 10), lines):
        assert torch.equal(torch.as_tensor(line.get_ydata()), names["P"][0, :, column])
    exec(HEATMAP, names)
    assert len(pyplot.get_fignums()) == 2 and pyplot.gcf().axes[0].images[0].get_array().shape == (60, 32)


@both
def test_the_older_style_with_saved_hyperparameters_runs(version):
    d2l = VERSIONS[version][0]

    class Attention(d2l.Module):
        def __init__(self, num_hiddens, num_heads, dropout=0.1, secret=None):
            super().__init__()
            self.save_hyperparameters(ignore=["secret"])

    attention = Attention(8, 2)
    assert attention.hparams == {"num_hiddens": 8, "num_heads": 2, "dropout": 0.1} and attention.num_heads == 2
    assert not hasattr(attention, "secret") and attention.plot_train_per_epoch == 2
    assert d2l.Module(plot_train_per_epoch=5).plot_train_per_epoch == 5


@pytest.mark.parametrize("module", ["d2l_1_0", "d2l_0_17"])
def test_import_loads_torch_only(module):
    heavy = {"matplotlib", "IPython", "d2l", "pandas", "ipywidgets"}
    code = f"import sys; from d2l_ext.compat import {module} as d2l; print({heavy} & set(sys.modules)); d2l.try_gpu(); d2l.plt; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split("\n")[:2] == ["set()", "True"]


def test_every_public_name_exists_and_an_unknown_one_is_an_attribute_error():
    for d2l, _, _ in VERSIONS.values():
        assert all(hasattr(d2l, name) for name in d2l.__all__)
        with pytest.raises(AttributeError, match="load_data_fra_eng"):
            d2l.load_data_fra_eng
    assert d2l_ext.compat.d2l_1_0 is d2l_1_0


# The real d2l

NAMES = ("MultiHeadAttention AdditiveAttention DotProductAttention PositionalEncoding Module masked_softmax add_to_class plot show_heatmaps set_figsize "
         "use_svg_display check_shape try_gpu").split()


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_1_0(real, name):
    for theirs, ours in ((getattr(real, name), getattr(d2l_1_0, name)), (getattr(getattr(real, name), "forward", None), getattr(getattr(d2l_1_0, name), "forward", None))):
        if theirs is None or name == "Module" and inspect.isfunction(theirs):
            continue
        mine = {key: value.default for key, value in inspect.signature(ours).parameters.items()}
        for key, parameter in inspect.signature(theirs).parameters.items():
            assert key in mine and parameter.default in (mine[key], inspect.Parameter.empty), key
        assert list(mine) == list(inspect.signature(theirs).parameters)


@pytest.mark.parametrize("name, arguments", [
    ("MultiHeadAttention", "key_size query_size value_size num_hiddens num_heads dropout bias kwargs"),
    ("AdditiveAttention", "key_size query_size num_hiddens dropout kwargs"),
    ("transpose_qkv", "X num_heads"), ("transpose_output", "X num_heads"), ("masked_softmax", "X valid_lens")])
def test_signatures_are_those_of_0_17(name, arguments):
    assert list(inspect.signature(getattr(d2l_0_17, name)).parameters) == arguments.split()


LENGTHS = {"none": None, "per row": torch.tensor([1, 5, 3]), "per query": torch.tensor([[1, 2, 3, 4], [5, 5, 1, 2], [3, 1, 4, 1]])}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_seed_gives_d2ls_numbers_in_training_too(real, lengths, bias):
    results = []
    for d2l in (real, d2l_1_0):
        torch.manual_seed(0)
        attention = d2l.MultiHeadAttention(8, 2, dropout=0.5, bias=bias)
        output = attention(*inputs(), lengths)
        output.sum().backward()
        results.append((output, attention.attention.attention_weights, attention.W_k.weight.grad))
    for theirs, ours in zip(*results):
        assert theirs.shape == ours.shape and torch.allclose(theirs, ours, atol=1e-6)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_additive_attention_and_softmax_equal_d2ls(real, lengths):
    results = []
    for d2l in (real, d2l_1_0):
        torch.manual_seed(0)
        attention = d2l.AdditiveAttention(8, dropout=0.5)
        results.append((attention(*inputs(), lengths), attention.attention_weights, attention.w_v.weight, d2l.masked_softmax(torch.randn(3, 4, 5), lengths)))
    for theirs, ours in zip(*results):
        assert torch.allclose(theirs, ours, atol=1e-6)


def test_0_17_draws_its_weights_in_d2ls_order():
    for version_class, sizes, order in ((d2l_0_17.MultiHeadAttention, (6, 4, 7, 8, 2, 0.5), dict(W_q=(4, 8), W_k=(6, 8), W_v=(7, 8), W_o=(8, 8))),
                                        (d2l_0_17.AdditiveAttention, (6, 4, 8, 0.5), dict(W_k=(6, 8), W_q=(4, 8), w_v=(8, 1)))):
        torch.manual_seed(0)
        attention = version_class(*sizes)
        torch.manual_seed(0)
        for name, widths in order.items():
            assert torch.equal(getattr(attention, name).weight, nn.Linear(*widths, bias=False).weight), name


def test_tables_of_positions_equal_d2ls(real):
    assert torch.allclose(real.PositionalEncoding(32, 0).P, d2l_1_0.PositionalEncoding(32, 0).P, atol=1e-4)  # theirs is computed in single precision


@pytest.mark.parametrize("bias", [False, True])
def test_weights_move_between_all_four_as_they_are(real, bias):
    X = torch.randn(2, 4, 8)
    lengths, wide = torch.tensor([4, 2]), dict(key_size=8, query_size=8, value_size=8)
    classes = {"d2l": real.MultiHeadAttention(8, 2, 0, bias), "1.0": make("d2l_1_0", bias=bias), "0.17": make("d2l_0_17", bias=bias, **wide),
               "d2l_ext": d2l_ext.MultiHeadAttention(8, 2, bias=bias)}
    for source in classes.values():
        expected = source(X, X, X, lengths)
        for target in classes.values():
            fresh = copy.deepcopy(target) if target is not classes["d2l"] else real.MultiHeadAttention(8, 2, 0, bias)
            fresh.load_state_dict(source.state_dict())
            assert torch.allclose(fresh(X, X, X, lengths), expected, atol=1e-6)
            assert set(fresh.state_dict()) == set(source.state_dict())
    assert not set(d2l_1_0.PositionalEncoding(8, 0).state_dict()) ^ set(real.PositionalEncoding(8, 0).state_dict())


def test_the_comparison_catches_wrong_attentions(real):
    """Lengths repeated in the wrong order, and heads cut without transposing, pass D2L's shape check but not the comparison above."""
    class Unordered(d2l_1_0.DotProductAttention):
        def forward(self, queries, keys, values, valid_lens=None):
            return super().forward(queries, keys, values, valid_lens.reshape(-1, 2).T.reshape(-1))

    class Uncut(d2l_1_0.MultiHeadAttention):
        def transpose_qkv(self, X):
            return X.reshape(len(X) * self.num_heads, X.shape[1], -1)

    right, X = real.MultiHeadAttention(8, 2, 0), torch.randn(3, 5, 8)
    expected = right(X, X, X, LENGTHS["per row"])
    unordered, uncut = make("d2l_1_0"), Uncut(8, 2, 0)
    unordered.attention = Unordered(0.0)
    for wrong in (unordered, uncut):
        wrong.load_state_dict(right.state_dict())
        output = wrong(X, X, X, LENGTHS["per row"])
        assert output.shape == expected.shape and not torch.allclose(output, expected, atol=1e-3)


# D2L's own models, built of our parts

def ours_in(real):
    return mock.patch.multiple(real, MultiHeadAttention=d2l_1_0.MultiHeadAttention, PositionalEncoding=d2l_1_0.PositionalEncoding)


def run_encoder(d2l, lengths, model=None):
    torch.manual_seed(0)
    encoder = model or d2l.TransformerEncoder(200, 24, 48, 8, 2, 0.5, True)
    output = encoder(torch.randint(200, (3, 6)), lengths)
    output.square().sum().backward()
    return encoder, [output, *encoder.attention_weights, encoder.embedding.weight.grad, encoder.blks[0].attention.W_k.weight.grad]


@pytest.mark.parametrize("lengths", [None, torch.tensor([1, 6, 3]), torch.tensor([[1, 2, 3, 4, 5, 6]] * 3)], ids=LENGTHS)
def test_d2ls_encoder_of_our_parts_gives_its_numbers_and_takes_its_weights(real, lengths):
    theirs, expected = run_encoder(real, lengths)
    with ours_in(real):
        ours, found = run_encoder(real, lengths)
        fresh = real.TransformerEncoder(200, 24, 48, 8, 2, 0.5, True)
    assert type(ours.pos_encoding) is d2l_1_0.PositionalEncoding and all(type(block.attention) is d2l_1_0.MultiHeadAttention for block in ours.blks)
    assert type(theirs.pos_encoding) is type(real.TransformerEncoder(9, 8, 8, 2, 1, 0).pos_encoding) is real.PositionalEncoding is not d2l_1_0.PositionalEncoding
    assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(expected, found, strict=True))
    fresh.load_state_dict(theirs.state_dict())
    for encoder in (theirs, fresh):
        encoder.eval()
    X = torch.randint(200, (3, 6))
    assert torch.allclose(fresh(X, lengths), theirs(X, lengths), atol=1e-5)


def test_the_comparison_of_encoders_catches_a_wrong_part(real):
    class NoPositions(d2l_1_0.PositionalEncoding):
        def forward(self, X):
            return self.dropout(X)

    class Backwards(d2l_1_0.MultiHeadAttention):
        def forward(self, queries, keys, values, valid_lens):
            return super().forward(queries, keys.flip(1), values.flip(1), valid_lens)

    lengths = torch.tensor([1, 6, 3])
    _, expected = run_encoder(real, lengths)
    for wrong in ({"PositionalEncoding": NoPositions}, {"MultiHeadAttention": Backwards}):
        with mock.patch.multiple(real, **wrong):
            _, found = run_encoder(real, lengths)
        assert not torch.allclose(found[0], expected[0], atol=1e-3)


def decode(d2l, lengths):
    """One block like those of section 11.7, which d2l's package lacks: in training all steps at once, then in evaluation step by step."""
    torch.manual_seed(0)
    looking, reading = (d2l.MultiHeadAttention(24, 8, 0.5) for _ in range(2))
    norms, ffn, position = nn.ModuleList(d2l.AddNorm(24, 0.5) for _ in range(3)), d2l.PositionWiseFFN(48, 24), d2l.PositionalEncoding(24, 0.5)
    source, target = torch.randn(2, 6, 24), torch.randn(2, 5, 24)

    def block(X, keys, seen):
        Y = norms[0](X, looking(X, keys, keys, seen))
        Z = norms[1](Y, reading(Y, source, source, lengths))
        return norms[2](Z, ffn(Z)), looking.attention.attention_weights, reading.attention.attention_weights

    X = position(target)
    training = block(X, X, torch.arange(1, 6).repeat(2, 1))
    for module in (looking, reading, norms, position):
        module.eval()
    X = position(target)
    return [*training, *(tensor for i in range(5) for tensor in block(X[:, i:i + 1], X[:, :i + 1], None))], block(X, X, torch.arange(1, 6).repeat(2, 1))[0]


def test_a_decoder_of_our_parts_gives_d2ls_numbers_in_training_and_step_by_step(real):
    lengths = torch.tensor([3, 6])
    expected, _ = decode(real, lengths)
    with ours_in(real):
        found, at_once = decode(real, lengths)
    assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(expected, found, strict=True))
    assert torch.allclose(torch.cat(found[3::3], 1), at_once, atol=1e-5)


def test_d2ls_bert_needs_whole_lengths(real):
    def bert(lengths):
        torch.manual_seed(0)
        encoder, X = real.BERTEncoder(200, 24, 48, 8, 2, 0.0), torch.randint(200, (2, 6))
        return encoder(X, torch.zeros_like(X), lengths)

    lengths = torch.tensor([3., 6.])
    expected = bert(lengths)
    with ours_in(real):
        with pytest.raises(TypeError, match="integers, got torch.float32"):
            bert(lengths)
        assert torch.allclose(bert(lengths.long()), expected, atol=1e-5)


# Finding the real d2l, or not

def python(code):
    """What a fresh Python prints."""
    return subprocess.run([sys.executable, "-W", "error", "-c", f"{STRICT}\n{code}"], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split("\n")[:-1]


def test_real_d2l_is_found_once_and_leaves_no_stand_in(real):
    assert python("import sys; from d2l_ext.compat import real_d2l; d2l = real_d2l(); print(d2l.__name__, real_d2l() is d2l); "
                  "t = sys.modules.get('torchvision'); print(t is None or hasattr(t, '__version__'))") == ["d2l.torch True", "True"]


def test_a_real_torchvision_is_used_and_a_broken_one_is_not(real, tmp_path):
    (tmp_path / "torchvision").mkdir()
    for source, expected in (("", "True"), ("raise RuntimeError('operator torchvision::nms does not exist')", "False")):
        (tmp_path / "torchvision/__init__.py").write_text(source)
        (tmp_path / "torchvision/transforms.py").write_text("")
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from d2l_ext.compat import real_d2l; d2l = real_d2l(); print(hasattr(d2l.torchvision, '__path__'), 'torchvision' in sys.modules)"
        assert python(code) == [f"{expected} {expected}"]


HIDDEN = "import sys; sys.modules['d2l'] = None; "


def test_without_d2l_there_is_none():
    assert python(HIDDEN + "from d2l_ext.compat import real_d2l; print(real_d2l(), 'torchvision' in sys.modules)") in (["None False"], ["None True"])


def test_notebook_08_runs_to_its_end_without_d2l():
    cells = json.loads((ROOT / "notebooks/08_coming_from_d2l.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    printed = python(HIDDEN + f"names = {{'__name__': '__main__'}}\nfor source in {sources!r}: exec(source, names)\nprint('end')")
    assert printed[-1] == "end" and [line for line in printed if line.startswith("d2l")] == ["d2l can't be imported here, so you see our side alone"]
    assert sum(line.startswith("ours: ") for line in printed) > 10 and not any(line.startswith(" d2l: ") for line in printed)


@pytest.mark.parametrize("colab, there, fetches", [(True, False, True), (True, True, False), (False, False, False)])
def test_d2l_is_fetched_in_colab_alone_where_it_is_missing_and_without_its_pins(monkeypatch, colab, there, fetches):
    commands = []
    monkeypatch.setattr(compat, "find_spec", lambda name: name if there else None)
    monkeypatch.setattr(compat.subprocess, "run", lambda command, **options: commands.append(command))
    if colab:
        monkeypatch.setitem(sys.modules, "google.colab", sys)
    fetch_d2l()
    assert commands == ([[sys.executable, "-m", "pip", "install", "-q", "--no-deps", "d2l==1.0.3"]] if fetches else [])


# Where D2L errs

@both
def test_differences_from_d2l(version, real):
    scores = torch.randn(1, 2, 3)
    before = scores.clone()
    VERSIONS[version][0].masked_softmax(scores, torch.tensor([1]))
    assert torch.equal(scores, before)
    real.masked_softmax(scores, torch.tensor([1]))
    assert not torch.equal(scores, before)

    attention, X = make(version, bias=True), inputs()
    output = attention(*X, torch.tensor([0, 5, 5]))
    assert torch.equal(output[0], attention.W_o.bias.expand(4, 8)) and not attention.attention.attention_weights[:2].any()
    for lengths, error, words in ((torch.tensor([True, False, True]), TypeError, "bool"), (torch.tensor([2.5, 1, 1]), TypeError, "float32"),
                                  (torch.tensor([6, 1, 1]), ValueError, "6.*keys=5"), (torch.tensor([1, -1, 1]), ValueError, "-1"),
                                  (torch.tensor([1, 1]), ValueError, r"\(2,\), expected \(3,\)")):
        with pytest.raises(error, match=words):
            attention(*X, lengths)


@both
def test_nothing_hidden_gets_through(version):
    attention, (queries, keys, values) = make(version), inputs()
    lengths = torch.tensor([3, 3, 3])
    expected = attention(queries, keys, values, lengths)
    keys[:, 3:], values[:, 3:] = torch.nan, torch.inf
    output = attention(queries, keys, values, lengths)
    output.sum().backward()
    assert torch.equal(output, expected) and all(parameter.grad.isfinite().all() for parameter in attention.parameters())
    assert keys[:, 3:].isnan().all()


@both
def test_weights_are_kept_detached_so_that_a_trained_model_can_be_copied(version, real):
    for attention, kept in ((make(version), lambda a: a.attention), (additive(version), lambda a: a)):
        attention(*inputs(), None).sum().backward()
        weights = kept(copy.deepcopy(attention)).attention_weights
        assert not weights.requires_grad and torch.allclose(weights.sum(-1), torch.ones(()))
    theirs = real.MultiHeadAttention(8, 2, 0)
    theirs(*inputs(), None)
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(theirs)


# Lazy sizes and bad input

def additive(version, dropout=0.0):
    sizes = dict(key_size=6, query_size=4) if version == "d2l_0_17" else {}
    return VERSIONS[version][0].AdditiveAttention(**sizes, num_hiddens=8, dropout=dropout)


@pytest.mark.parametrize("make_one", [make, additive])
def test_lazy_sizes_behave_as_torchs_do(make_one):
    attention = make_one("d2l_1_0")
    assert all(is_lazy(parameter) for parameter in attention.parameters()) and isinstance(attention.W_q, nn.LazyLinear)
    with pytest.raises(ValueError, match="uninitialized"):
        sum(parameter.numel() for parameter in attention.parameters())
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
    assert make_one("d2l_1_0")(*inputs(), None).shape == expected.shape


@both
def test_bad_input_is_refused_where_the_mistake_is(version):
    with pytest.raises(ValueError, match="num_heads=3 does not divide num_hiddens=8"):
        make(version, num_heads=3)
    with pytest.raises(ValueError, match="num_heads=0"):
        make(version, num_heads=0)
    for make_one in (make, additive):
        with pytest.raises(ValueError, match=r"dropout=1 must lie in \[0, 1\)"):
            make_one(version, dropout=1)
    attention, (queries, keys, values) = make(version), inputs()
    attention(queries, keys, values, None)
    with pytest.raises(ValueError, match="keys have width 7, expected 6"):
        attention(queries, values, values, None)
    with pytest.raises(TypeError, match="queries must be a floating-point tensor"):
        attention(queries.long(), keys, values, None)
    with pytest.raises(ValueError, match="keys have width 6, expected 4"):
        VERSIONS[version][0].DotProductAttention(0)(queries, keys, values)
    with pytest.raises(AssertionError, match=r"\(3, 4, 4\) != expected shape \(3, 4\)"):
        VERSIONS[version][0].check_shape(queries, (3, 4))


@both
def test_methods_replaced_and_hooks_on_the_inner_attention_are_honoured(version):
    attention, seen = make(version), []
    attention.attention.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    expected = attention(*inputs(), None)
    assert seen == [(6, 4, 4)]
    attention.attention.register_forward_hook(lambda module, args, output: output * 0)
    assert not torch.equal(attention(*inputs(), None), expected) and not attention(*inputs(), None).any()


@both
def test_transposes_undo_each_other(version):
    d2l, X = VERSIONS[version][0], torch.randn(3, 5, 8)
    if version == "d2l_1_0":
        attention = make(version)
        fold, unfold = attention.transpose_qkv, attention.transpose_output
    else:
        fold, unfold = (lambda X: d2l.transpose_qkv(X, 2)), (lambda X: d2l.transpose_output(X, 2))
    assert torch.equal(fold(X)[3], X[1, :, 4:]) and torch.equal(unfold(fold(X)), X)


# Drawings

def test_plot_takes_what_d2ls_takes(pyplot):
    x = torch.arange(3.)
    cases = [((x,), [[0, 1, 2]], [[0, 1, 2]]), (([5, 7],), [[0, 1]], [[5, 7]]), ((x, [x, 2 * x]), [[0, 1, 2]] * 2, [[0, 1, 2], [0, 2, 4]]),
             ((x.tolist(), (x * 2).requires_grad_()), [[0, 1, 2]], [[0, 2, 4]]), (([x, x + 1], [x, x]), [[0, 1, 2], [1, 2, 3]], [[0, 1, 2]] * 2),
             ((x, [x.tolist()] * 5), [[0, 1, 2]] * 5, [[0, 1, 2]] * 5)]
    for arguments, xs, ys in cases:
        assert d2l_1_0.plot(*arguments, xlabel="position", xlim=[0, 2], yscale="symlog", legend=["a"] * len(ys)) is None
        axes = pyplot.gca()
        assert [list(line.get_xdata()) for line in axes.lines] == xs and [list(line.get_ydata()) for line in axes.lines] == ys
        assert axes.get_xlabel() == "position" and axes.get_ylabel() == "" and axes.get_xlim() == (0, 2) and axes.get_yscale() == "symlog"
    assert len(pyplot.get_fignums()) == 1 and list(pyplot.rcParams["figure.figsize"]) == [3.5, 2.5]


def test_plot_draws_what_d2ls_draws(real, pyplot):
    lines = []
    for d2l in (real, d2l_1_0):
        figure, axes = d2l.plt.subplots()
        d2l.plot(torch.arange(4), torch.randn(3, 4, generator=torch.Generator().manual_seed(0)), ylabel="y", legend=["a", "b", "c"], axes=axes)
        figure.canvas.draw()
        lines.append([(tuple(line.get_xdata()), tuple(line.get_ydata()), line.get_linestyle(), line.get_color(), line.get_label()) for line in axes.lines])
    assert lines[0] == lines[1]


def test_one_colour_bar_is_true_of_every_map(real, pyplot):
    maps = torch.stack([torch.eye(3), torch.eye(3) / 10])[None].requires_grad_()
    limits = []
    for d2l in (real, d2l_1_0):
        assert d2l.show_heatmaps(maps, "Keys", "Queries", titles=["a", "b"]) is None
        first, second, bar = pyplot.gcf().axes
        assert [first.get_title(), second.get_title(), first.get_ylabel(), second.get_ylabel(), second.get_xlabel()] == ["a", "b", "Queries", "", "Keys"]
        limits.append([axes.images[0].get_clim() for axes in (first, second)])
    assert limits[0][0] != limits[0][1] and limits[1] == [(0, 1)] * 2  # d2l's bar speaks of its last map alone
    with pytest.raises(ValueError, match=r"got \(3, 3\)"):
        d2l_1_0.show_heatmaps(torch.eye(3), "Keys", "Queries")


@both
def test_in_a_notebook_each_figure_shows_once_without_a_warning(version):
    nbclient, v4 = pytest.importorskip("nbclient"), pytest.importorskip("nbformat").v4
    _, their_class, sizes = VERSIONS[version]
    sources = [f"{STRICT}\nfrom d2l_ext.compat import {version} as d2l", f"{their_class}\n{sizes}\n{TOY}", POSITIONS, HEATMAP, POSITIONS]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [[set(output.data) for output in cell] for cell in outputs] == [[], [], *[[{"text/plain", "image/svg+xml"}]] * 3]
    assert outputs[2][0].data["image/svg+xml"] == outputs[4][0].data["image/svg+xml"]  # the same figure is the same text: it can be compared
