"""The exercises of lesson 03, self-attention."""
import math

import torch

from ..exercises.kinds import Build, Drawing


# ---- self-attention ----

def attention_inputs():
    """First square matrices, then others, and last scores far below -1000 and below -1e6."""
    def sentence(steps, width, query_width, value_width):
        return [torch.randn(rows, width) for rows in (steps, query_width, query_width, value_width)]

    X, W_q, W_k, W_v = sentence(4, 6, 3, 2)
    low = 3 + X / 300, 2 + W_q, -2 - W_k.abs(), W_v
    lower = 100 + 10 * X.flip(0), *low[1:]  # thousands apart
    square, wide, narrow = sentence(6, 4, 4, 4), sentence(7, 5, 3, 2), sentence(5, 3, 6, 4)
    return [(*square, 3), (*wide, 4), (*narrow, 5), (*low, 1), (*lower, 1)]


def self_attention(X, W_q, W_k, W_v, valid_len):
    queries, keys, values = X @ W_q.T, X @ W_k.T, X @ W_v.T
    query, key = torch.arange(len(X))[:, None], torch.arange(len(X))
    keep = (key <= query) & (key < valid_len)
    scores = queries @ keys.T / math.sqrt(queries.shape[1])
    weights = scores.masked_fill(~keep, -math.inf).softmax(-1)
    return weights @ values


def emptied(old, new, words):
    """Slips that hide whole rows. These come out as nan, an even mean or zeros."""
    for fill, cleared in (("-math.inf", ""), ("-1e9", ""), ("-math.inf", ".nan_to_num()")):
        yield (old, new, "-math.inf", fill, "weights @ values", f"(weights @ values){cleared}",
               words)


KEEP, HIDDEN = "(key <= query) & (key < valid_len)", "scores.masked_fill(~keep, -math.inf)"
SCALE = "math.sqrt(queries.shape[1])"
SELF_ATTENTION = [
    (HIDDEN, "(scores + ~keep * -math.inf)",
     "Every number is nan. You added (~keep) * -math.inf, and 0 times infinity is nan: use "
     "masked_fill."),
    ("(weights @ values)[:valid_len]",
     "The real tokens are right, but only they have a row. One row per token, padding included."),
    ("(key <= query) & ", "",
     "The padding is hidden, the future is not: a query may see keys up to its own position."),
    (" & (key < valid_len)", "",
     "The future is hidden, the padding is not: keys from valid_len on must get no weight."),
    ("~keep", "~(keep | True)", "Neither mask has an effect: future and padding still get weight."),
    (") & (", ") | (",
     "You let a key through when either mask allows it. Both must: & instead of |."),
    *emptied("~keep", "keep",
             "The mask is upside down: you hide what may be seen, and look at the rest."),
    *emptied("<= query", "> query",
             "The causal mask is upside down: each token sees only later ones, and the last sees "
             "nothing."),
    *emptied("<= query", ">= query",
             "The triangle is the wrong one: your tokens see themselves and later ones. Rows are "
             "queries, so what may be seen lies below the diagonal."),
    *emptied("<= query", "< query",
             "You hide the token from itself. Then the first one sees nothing at all: key <= "
             "query."),
    ("< valid_len", "<= valid_len", "One key too many: a length of 2 means positions 0 and 1."),
    ("-math.inf", "0.0",
     "You set hidden scores to 0. A score of 0 still counts, e^0 = 1: set them to minus infinity."),
    ("(weights @ values).where(query < valid_len, 0)",
     "Nearly: the real tokens are right, but the padding's own row is zero. The padding is a "
     "query too and gets an output, though nobody reads it."),
    *(("key < valid_len", "query < valid_len", "-math.inf", fill,
       "You hide the padding as a query. It may ask; as a key it must not be seen.")
      for fill in ("-math.inf", "-1e9")),
    (f"{HIDDEN}.softmax(-1)", "scores.softmax(-1) * keep",
     "You hide keys after the softmax, so the weights that are left no longer sum to 1. Hide "
     "the scores before it."),
    *emptied("softmax(-1)", "softmax(0)",
             "Your softmax goes over the queries. Each query's weights over the keys must sum to "
             "1: the last axis."),
    (SCALE, "1", "The scores are not scaled: divide by the square root of the width."),
    (SCALE, "queries.shape[1]", "You divide by the width, not by its square root."),
    ("/ math", "* math", "You multiply by the square root of the width: divide."),
    (SCALE, "math.sqrt(len(X))",
     "You divide by the square root of the number of tokens. What counts is the width of a "
     "query: q.shape[1]."),
    (SCALE, "math.sqrt(X.shape[1])",
     "You divide by the square root of the tokens' width. Matrices need not be square: what "
     "counts is the width of a query, q.shape[1]."),
    (SCALE, "math.sqrt(len(W_v))",
     "You divide by the square root of the values' width. What counts is the width of a "
     "query: q.shape[1]."),
    (SCALE, "2", "You divide by 2, whatever the width of a query is: math.sqrt(q.shape[1])."),
    *(("-math.inf", fill,
       "Your number is not low enough to hide with: where the scores of visible keys are lower "
       "still, the hidden ones win. Use minus infinity.") for fill in ("-100.0", "-1e4")),
    ("<= query", "<= query + 1",
     "Each token sees the next one: key <= query, itself and no further."),
    ("W_k.T", "W_q.T", "Keys are made with W_q: a token has a key of its own, from W_k."),
    ("X @ W_k.T", "X", "The keys are the tokens themselves: W_k is missing."),
    ("X @ W_q.T", "X", "The queries are the tokens themselves: W_q is missing."),
    ("X @ W_v.T", "X", "The values are the tokens themselves: W_v is missing."),
    ("W_v.T", "W_k.T", "Values are made with W_k: a token has a value of its own, from W_v."),
    ("W_q.T", "W_q", "W_k.T", "W_k", "W_v.T", "W_v",
     "Your matrices are turned around: they are (outputs, inputs), so it is X @ W.T."),
]


# ---- top-left ----

def keys_seen(i, queries, keys):
    shown = list(range(i + 1))
    should_see = list(range(keys - queries + i + 1))
    return shown, should_see


PLACES = "range(keys - queries + i + 1)"
TOP_LEFT = [
    ("should_see, shown",
     "The right two lists, in the wrong order: first what it is shown, then what it should see."),
    (PLACES, "range(keys)",
     "Not every new token may see all keys: only the last one. With 2 new ones, the first must "
     "not see the second."),
    ("shown, shown",
     "You take the query's number for its place. The new tokens come last: query 0 stands at "
     "place keys - queries."),
    ("should_see, should_see",
     "That would be right decoding. But is_causal counts queries from the start of the text: "
     "it lines query 0 up with key 0."),
    ("shown[:-1], should_see[:-1]",
     "A query sees its own key too: the last one is missing in both lists."),
    ("shown, should_see[:-1]",
     "In what it should see, its own key is missing, number keys - queries + i."),
    ("len(shown), len(should_see)",
     "Those are counts. Return two lists of places, such as [0, 1] and [0, 1, 2, 3]."),
    ("[i + 1 for i in shown], [i + 1 for i in should_see]",
     "Places count from 0: the first key is number 0."),
    ("shown, should_see[keys - queries:]",
     "The earlier tokens belong to what it should see: that is what the cache is for."),
]


# ---- draw-mask ----

def packed():
    """Two sentences in one row of five tokens, of three and two words, read from left to right."""
    sentence, place = torch.tensor([0, 0, 0, 1, 1]), torch.arange(5)
    same = sentence == sentence[:, None]
    past = place <= place[:, None]
    return same & past


DRAW_MASK = [
    ("past", "The second sentence reads the first. A token looks at its own sentence alone."),
    ("same",
     "Tokens see what comes after them. A row shows what one query sees: nothing to the right "
     "of itself."),
    ("(same & past).T",
     "Rows and columns have changed places: a row belongs to a query. The first word sees "
     "itself and nothing else, so its row has one x."),
    ("<= place", "< place",
     "A token doesn't see itself in your table. It may: the diagonal is all x."),
    ("~(same & past)", "Upside down: x is what may be seen."),
    ("same | past", "A key passes if either rule allows it. It must pass both."),
]


EXERCISES = [
    Build("self-attention", self_attention, SELF_ATTENTION, attention_inputs),
    Build("top-left", keys_seen, TOP_LEFT, lambda: [(0, 1, 4), (1, 2, 5), (2, 3, 3), (0, 2, 6)]),
    Drawing("draw-mask", packed, DRAW_MASK),
]
