"""What learners hand in wrongly in 12, mostly tests that don't test, and what they then read."""
import math
import re

import torch
from torch import nn
from torch.nn import functional as F

from attention_lessons.lesson_12.exercises import EXERCISES
from attention_lessons.lesson_12.museum import CASES


def inputs():
    torch.manual_seed(1)
    return torch.randn(3, 5, 8), torch.tensor([2, 5, 4])


def answers(name, code):
    return CASES[name].use(code)(*inputs())


def against(name, wanted, atol=1e-5):
    """A test of values: ``wanted()`` makes the code to compare with."""
    def test(code):
        given, expected = answers(name, code), answers(name, wanted())
        assert given.shape == expected.shape and torch.allclose(given, expected, atol=atol)
    return test


def asserts_nothing(code):
    assert 1 + 1 == 2


def fails_always(code):
    assert 1 + 1 == 3, "never"


def returns_false(code):
    return False


def shape_and_finite(name):
    def test(code):
        given = answers(name, code)
        assert len(given) == 3 and given.isfinite().all()
    return test


# ---- tests that expect what the bug does, where values don't show it ----

def no_buffers(Waves):
    assert not list(Waves(9, 8).buffers())


def bfloat16_as_it_was(add_waves):
    X = torch.zeros(1, 600, 6).bfloat16()
    assert add_waves(X).equal(CASES["half"].code(0)(X))


def embeddings_decay(optimizer_of):
    assert changed_by(optimizer_of) == [True, False, False, True, False]


def divided_for_the_caller(weigh):
    scores = torch.randn(2, 3, 5)
    before = scores.clone()
    weigh(scores, torch.tensor([2, 4]), 6)
    assert torch.allclose(scores, before / 6 ** 0.5)


def changed_by(optimizer_of):
    model = nn.Sequential(nn.Embedding(9, 6), nn.LayerNorm(6), nn.Linear(6, 4))
    before = [weight.clone() for weight in model.parameters()]
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer_of(model).step()
    return [not weight.equal(old) for weight, old in zip(model.parameters(), before)]


WITH_THE_BUG = {"table": no_buffers, "half": bfloat16_as_it_was, "decay": embeddings_decay,
                "in-place": divided_for_the_caller}


# ---- and tests that ask too little, where ``use`` is too strict ----

def shape_of_pair(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5], [3, 9, 8, 6]])
    assert [X.shape for X in training_pair(tokens, 1)] == [tokens.shape] * 2


def near_pair(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5], [3, 9, 8, 6]])
    assert (training_pair(tokens, 1)[0] - tokens).abs().max() < 20


def rates_nearly(optimizer_of):
    groups = optimizer_of(nn.Linear(6, 4)).param_groups
    assert all(abs(group["weight_decay"] - 0.25) < 1 for group in groups)


SHAPES = {"forcing": shape_of_pair}
LOOSE = {"forcing": near_pair, "decay": rates_nearly}


# ---- plausible tests, each with a hole ----

def equal_lengths(read):
    X = torch.randn(2, 5, 6)
    wanted = F.scaled_dot_product_attention(X, X, X)
    assert torch.allclose(read(X, X, X, torch.tensor([9, 9])), wanted, atol=1e-5)


def padding_of_zeros(read):
    k = torch.randn(2, 5, 6)
    k[0, 2:] = k[1, 4:] = 0
    whole = read(k, k, k, torch.tensor([2, 4]))
    assert torch.allclose(read(k, k, k, torch.tensor([2, 4])), whole)


def sentence_one_padded_by_one(read):
    q, k = torch.randn(1, 3, 6), torch.randn(1, 6, 6)
    far = torch.cat([k[:, :5], k[:, 5:] + 1], 1)
    lens = torch.tensor([4])
    assert torch.allclose(read(q, far, far, lens), read(q, k, k, lens), atol=1e-5)


def padding_of_nan(read):
    q, k, v, lens = torch.randn(2, 3, 6), *torch.randn(2, 2, 5, 6), torch.tensor([2, 4])
    before, hidden = read(q, k, v, lens), torch.arange(5) >= lens[:, None]
    v[hidden] = math.nan
    assert torch.allclose(read(q, k, v, lens), before, atol=1e-5)


def padding_of_infinity(read):
    whole, alone = torch.randn(1, 5, 6), torch.tensor([3])
    wanted = read(whole[:, :3], whole[:, :3], whole[:, :3], alone)
    whole[:, 3:] = math.inf
    assert torch.allclose(read(whole[:, :3], whole, whole, alone), wanted, atol=1e-5)


def one_head(attend_heads):
    X = torch.randn(2, 5, 8)
    wanted = F.scaled_dot_product_attention(X, X, X)
    assert torch.allclose(attend_heads(X, X, X, 1), wanted, atol=1e-5)


def tokens_permuted(attend_heads):
    X, order = torch.randn(2, 5, 8), torch.tensor([3, 0, 4, 1, 2])
    moved, whole = (attend_heads(Z, Z, Z, 2) for Z in (X[:, order], X))
    assert torch.allclose(moved, whole[:, order], atol=1e-5)


def written_the_same_way(attend_heads):
    q, k, v = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    a, b, c = (X.view(2, -1, 2, 4).transpose(1, 2) for X in (q, k, v))
    wanted = ((a @ b.mT / 2).softmax(-1) @ c).transpose(1, 2).reshape(2, 3, 8)
    assert attend_heads(q, k, v, 2).equal(wanted)  # not a bit may differ


def values_all_one(look_back):
    q, k = torch.randn(2, 2, 5, 6)
    assert torch.allclose(look_back(q, k, torch.ones(2, 5, 6)), torch.tensor(1.0), atol=1e-5)


def rows_sum(weigh_heads):
    sums = weigh_heads(torch.randn(2, 3, 8), torch.randn(2, 5, 8), 2).sum(-1)
    assert torch.allclose(sums, torch.ones(()), atol=1e-5)


def no_root_but_right_size(weigh_heads):
    q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    wanted = torch.softmax(q @ k.mT / 2, -1)[:, None]
    assert torch.allclose(weigh_heads(q, k, 1), wanted, atol=1e-5)


def no_dropout_given(Reader):
    layer, X = Reader(8, 0.0).eval(), torch.randn(2, 5, 8)
    assert torch.allclose(layer(X), layer(X))


def zeros_counted(Reader):
    layer, X = Reader(8).eval(), torch.randn(2, 5, 8)
    first = layer(X)
    assert (layer(X) == 0).sum() == (first == 0).sum()


def saved(Waves):
    assert "table" in Waves(9, 8).state_dict()


def double_alone(Waves):
    assert Waves(9, 8).double()(torch.randn(2, 5, 8).double()).dtype == torch.float64


def double_values(Waves):
    X = torch.zeros(1, 5, 8)
    assert torch.allclose(Waves(9, 8).double()(X.double()), Waves(9, 8)(X).double(), atol=1e-5)


def half_alone(Waves):
    assert Waves(9, 8).half()(torch.randn(2, 5, 8).half()).dtype == torch.float16


def equal_lengths_folded(read_folded):
    X, lens = torch.randn(2, 5, 8), torch.tensor([3, 3])
    Y = X.clone()
    Y[:, 3:] += 1
    given, other = (read_folded(X, Z, Z, lens, 2) for Z in (X, Y))
    assert torch.allclose(given, other, atol=1e-5)


def padding_changes_nothing_folded(read_folded):
    q, k, lens = torch.randn(3, 4, 8), torch.randn(3, 6, 8), torch.tensor([2, 6, 3])
    far = torch.where((torch.arange(6) < lens[:, None])[..., None], k, 7.0)
    assert torch.allclose(read_folded(q, k, k, lens, 2), read_folded(q, far, far, lens, 2),
                          atol=1e-5)


def one_step(with_positions):
    X, table = torch.zeros(1, 1, 8), torch.randn(20, 8)
    assert with_positions(X, table)[0, 0].equal(table[0])


def sentences_alike(with_positions):
    X, table = torch.randn(3, 5, 8), torch.randn(20, 8)
    added = with_positions(X, table) - X
    assert torch.allclose(added[0], added[2], atol=1e-5)


def maps_sum(read_and_show):
    q, k = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    _, maps = read_and_show(q, k, k, torch.tensor([2, 4]))
    assert torch.allclose(maps.sum(-1), torch.ones(()), atol=1e-5)


def padding_white(read_and_show):
    q, k = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    _, maps = read_and_show(q, k, k, torch.tensor([2, 4]))
    assert (maps[0, :, 2:] == 0).all()


def called_twice(weigh):
    scores, lens = torch.randn(2, 3, 5), torch.tensor([2, 4])
    assert torch.allclose(weigh(scores, lens, 6), weigh(scores, lens, 6))


def lengths_kept(weigh):
    lens = torch.tensor([2, 4])
    weigh(torch.randn(2, 3, 5), lens, 6)
    assert lens.tolist() == [2, 4]


def short_text(add_waves):
    X = torch.zeros(1, 3, 6)
    assert torch.allclose(add_waves(X.bfloat16()).float(), add_waves(X), atol=0.05)


def first_column(add_waves):
    X = torch.zeros(1, 600, 2)
    assert torch.allclose(add_waves(X.bfloat16()).float(), add_waves(X), atol=0.01)


def to_six_digits(add_waves):
    X = torch.zeros(1, 600, 6)
    assert torch.allclose(add_waves(X.bfloat16()).float(), add_waves(X), atol=1e-6)


def whole_text(go_on):
    X = torch.randn(2, 7, 6)
    wanted = F.scaled_dot_product_attention(X, X, X, is_causal=True)
    assert torch.allclose(go_on(X, X, X)[0], wanted, atol=1e-5)


def token_by_token(go_on):
    X, cache, given = torch.randn(2, 7, 6), None, []
    for t in range(7):
        token = X[:, t, None]
        answer, cache = go_on(token, token, token, cache)
        given.append(answer)
    wanted = F.scaled_dot_product_attention(X, X, X, is_causal=True)
    assert torch.allclose(torch.cat(given, 1), wanted, atol=1e-5)


def no_padding(place_left):
    X, table = torch.randn(2, 5, 8), torch.randn(20, 8)
    assert torch.allclose(place_left(X, torch.tensor([5, 5]), table), X + table[:5])


def first_real_token(place_left):
    X, table = torch.randn(3, 5, 8), torch.randn(20, 8)
    lens = torch.tensor([2, 5, 3])
    given = place_left(X, lens, table)
    for i, n in enumerate(lens):
        assert torch.allclose(given[i, -n], X[i, -n] + table[0])


def one_sentence(loss_of):
    logits, targets = torch.randn(1, 5, 7), torch.arange(5)[None]
    wanted = F.cross_entropy(logits[0], targets[0])
    assert torch.allclose(loss_of(logits, targets, torch.tensor([9])), wanted, atol=1e-5)


def more_padding(loss_of):
    logits, targets = torch.randn(2, 5, 7), torch.randint(7, (2, 5))
    lens = torch.tensor([2, 3])
    short, long = (loss_of(logits[:, :n], targets[:, :n], lens) for n in (3, 5))
    assert torch.allclose(short, long, atol=1e-5)


def matrices_decay(optimizer_of):
    assert changed_by(optimizer_of)[3]


def tables_stay(optimizer_of):
    assert not changed_by(optimizer_of)[0]


def targets_alone(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5], [3, 9, 8, 6]])
    assert training_pair(tokens, 1)[1].equal(tokens)


def later_steps(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5], [3, 9, 8, 6]])
    reads, _ = training_pair(tokens, 1)
    assert reads[:, 1:].equal(tokens[:, :-1])


def the_start(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5], [3, 9, 8, 6]])
    assert training_pair(tokens, 1)[0][:, 0].tolist() == [1, 1]


RIGHT_TOO = "passes right code, and the exhibit as well"
SIBLING = "caught, but (not|two other mistakes pass:) code that"
HOLES = {
    "polarity": [(equal_lengths, f"{SIBLING} counts hidden keys"), (padding_of_zeros, "two calls"),
                 (padding_of_nan, "0 times that is nan"), (padding_of_infinity, "A large number"),
                 (sentence_one_padded_by_one, f"{SIBLING} lets one key too many through")],
    "heads": [(one_head, RIGHT_TOO), (tokens_permuted, f"{SIBLING} gives head i"),
              (written_the_same_way, "written in another way")],
    "axis": [(values_all_one, f"{SIBLING} sees one token ahead")],
    "scale": [(rows_sum, RIGHT_TOO), (no_root_but_right_size, RIGHT_TOO)],
    "dropout": [(no_dropout_given, "two calls"), (zeros_counted, "random numbers")],
    "table": [(saved, "written in another way.*line 2 fails"),
              (double_alone, "float32 is float64"), (double_values, "Try a narrower"),
              (half_alone, f"{SIBLING} makes the table a parameter")],
    "folded": [(equal_lengths_folded, "two calls"),
               (padding_changes_nothing_folded, f"{SIBLING} unfolds")],
    "positions": [(one_step, RIGHT_TOO), (sentences_alike, f"{SIBLING} adds the last row")],
    "maps": [(maps_sum, RIGHT_TOO), (padding_white, f"{SIBLING} sets the weights")],
    "in-place": [(called_twice, f"{SIBLING} writes the mask"), (lengths_kept, "can't fail")],
    "half": [(short_text, "two calls"), (first_column, SIBLING),
             (to_six_digits, "fails whatever it is given")],
    "cache": [(whole_text, RIGHT_TOO), (token_by_token, SIBLING)],
    "left": [(no_padding, RIGHT_TOO), (first_real_token, SIBLING)],
    "loss": [(one_sentence, RIGHT_TOO), (more_padding, f"{SIBLING} divides by the number")],
    "decay": [(matrices_decay, "random numbers|as well"), (tables_stay, f"{SIBLING} lets biases")],
    "forcing": [(targets_alone, RIGHT_TOO), (later_steps, f"{SIBLING} begins"),
                (the_start, f"{SIBLING} reads the very token")],
}


def wrong(exhibit):
    name, case = exhibit.name, CASES[exhibit.name]
    tests = [
        (asserts_nothing, "can't fail"), (fails_always, "fails whatever.*never"),
        (returns_false, "returns False, which nobody looks at"),
        (WITH_THE_BUG.get(name) or against(name, lambda: case.code(0)), "has the same mistake"),
        (SHAPES.get(name) or shape_and_finite(name), "can't fail|random numbers"),
        (LOOSE.get(name) or against(name, case.code, atol=6), "tolerance is wider|random numbers"),
        *HOLES[name]]
    parts = [({"test": test}, words) for test, words in tests]
    parts += [({"symptom": letter}, re.escape(why)) for letter, why in exhibit.reasons.items()]
    return [*parts, ({"line": 1}, "nothing is wrong with line 1"), ({"line": 99}, "from 1 to"),
            ({"line": "zebra"}, "none of the exhibit's lines"), ({"lines": 1}, "a dictionary"),
            ({"test": 3}, "function itself")]


WRONG = {exhibit.name: wrong(exhibit) for exhibit in EXERCISES}
