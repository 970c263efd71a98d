"""Tasks ask what they say; readers have equal sizes, and see what they should."""
import pytest
import torch
from torch.nn import functional as F

from attention_lessons.laboratory import (
    MAKERS, MEMORIES, READERS, RECALLERS, STACKS, Reader, copy_back, find_marked, parity, reader,
    recall, recaller, repeat, reverse)
from d2l_ext import reach, window


def generator():
    return torch.Generator().manual_seed(0)


# ---- tasks ----

TASKS = {  # the task, its symbols, and the answer at position i of a row, None if it isn't scored
    "parity": (parity, 2, lambda row, i: sum(row[:i + 1]) % 2),
    "copy": (copy_back, 10, lambda row, i: row[i - 2] if i >= 2 else None),
    "reverse": (reverse, 10, lambda row, i: row[-1 - i]),
    "repeat": (repeat, 32, lambda row, i: row[i - 3] if 4 <= i < 7 else None),
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_hold_every_claim(name):
    task, symbols, answer = TASKS[name]
    for length in (8, 9):
        inputs, targets, scored = task(generator(), 200, length)
        for row, asked, counts in zip(inputs.tolist(), targets.tolist(), scored.tolist()):
            told = [target if counted else None for target, counted in zip(asked, counts)]
            assert told == [answer(row, i) for i in range(len(row))]
        assert inputs.unique().tolist() == list(range(symbols))


def test_find_marked_holds_every_claim():
    for distance in (None, 0, 3, 8):
        inputs, targets, scored = find_marked(distance)(generator(), 200, 9)
        assert scored.sum(1).tolist() == [1] * 200 and scored[:, -1].all()
        rows, places = (inputs >= 8).nonzero(as_tuple=True)
        assert rows.tolist() == list(range(200))
        assert inputs[rows, places].equal(targets[:, -1] + 8)
        wanted = list(range(9)) if distance is None else [8 - distance]
        assert places.unique().tolist() == wanted
        assert targets[:, -1].unique().tolist() == list(range(8))


def test_recall_asks_each_key_once_for_its_value():
    inputs, targets, scored = recall(generator(), 8, 17)
    assert inputs.shape == (8, 15) and scored.equal((torch.arange(15) >= 10).expand(8, 15))
    for row, target in zip(inputs.tolist(), targets.tolist()):
        value_of = dict(zip(row[:10:2], row[1:10:2]))
        assert len(value_of) == 5 and sorted(value_of) == sorted(row[10:])
        assert [value_of[key] - 128 for key in row[10:]] == target[10:]
    assert inputs[:, 1:10:2].min() >= 128 > inputs[:, :10:2].max()
    assert not inputs[:, :10:2].equal(inputs[:, 10:]), "asked in another order"
    most, _, asked = recall(generator(), 2, 386)
    assert most[asked].reshape(2, 128).sort(1).values.equal(torch.arange(128).expand(2, 128))
    assert recall(generator(), 2, 3)[0].shape == (2, 3)


# ---- readers ----

def test_readers_hold_equal_numbers():
    def size(layers):
        return sum(W.numel() for W in layers.parameters())

    for kind in (*READERS, *MEMORIES):
        assert size(reader(kind, 16, 8).layers) == pytest.approx(16_400, rel=0.02)
    sizes = [size(recaller(kind).layers[1]) for kind in RECALLERS]
    assert sizes == [4096] * 4 + [4129] * 3


def test_the_two_stacks_start_alike_and_one_sees_a_window():
    full, near = (reader(kind, 16, 8) for kind in STACKS)
    assert all(map(torch.equal, full.parameters(), near.parameters()))
    seen = [reach(Reader(list(stack.layers[:1]), 28, 16, 8), 32) for stack in (full, near)]
    assert seen[0].all() and seen[1].equal(window(7).tensor(32, 32))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_reader_answers_at_every_position_and_causal_ones_see_the_past_alone(kind, causal):
    model, X = reader(kind, 5, 3, causal=causal), torch.randint(5, (2, 32))
    moved = X.clone()
    moved[:, 7] = (X[:, 7] + 1) % 5
    changed = (model(moved) != model(X)).any(-1)
    assert changed.shape == (2, 32) and changed[:, 7].all()
    one_way = {"recurrence", "GRU", "LSTM", *MEMORIES}
    assert changed[:, :7].any() == (not causal and kind not in one_way)


@pytest.mark.parametrize("kind", RECALLERS)
def test_a_recaller_joins_neighbours_and_sees_the_past_alone(kind):
    model = recaller(kind)
    assert reach(model.layers[0], 5).equal(torch.ones(5, 5).tril().triu(-1).bool())
    assert reach(model, 6).equal(torch.ones(6, 6).tril().bool())


def test_what_is_told_when_to_write_keeps_the_pairs_alone():
    """Keys and questions change no memory; with rate 1, a value replaces what its key had."""
    X = torch.randn(1, 12, 32).double()
    moved = X.clone()
    moved[:, [0, 2, 4, 6, 8, 9, 10]] += 1
    other = moved.clone()
    other[:, 3] += 1
    for kind in [kind for kind in RECALLERS if "told" in kind] + ["delta rule"]:
        layer = recaller(kind).layers[1].double()
        kept, same, changed = (layer(each, need_state=True)[1] for each in (X, moved, other))
        assert torch.allclose(kept, same) == ("told" in kind) and not torch.allclose(kept, changed)
        answer = F.normalize(layer.W_k(X[0, 7]), dim=0) @ kept[0, 0]
        assert torch.allclose(answer, layer.W_v(X[0, 7])) == kind.endswith("rate 1")
