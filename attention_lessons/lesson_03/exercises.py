"""The exercises of lesson 03, self-attention."""
import math

import torch

from ..exercises.kinds import Build, Choice

# ---- self-attention ----


def attention_inputs():
    """First square matrices, then others, and last scores far below -1000 and below -1e6."""
    generator = torch.Generator().manual_seed(5)

    def sentence(steps, width, query_width, value_width):
        shapes = (steps, width), (query_width, width), (query_width, width), (value_width, width)
        return [torch.randn(*shape, generator=generator) for shape in shapes]

    X, W_q, W_k, W_v = sentence(4, 6, 3, 2)
    low = 3 + X / 300, 2 + W_q, -2 - W_k.abs(), W_v
    lower = 100 + 10 * X.flip(0), *low[1:]  # thousands apart
    square, wide, narrow = sentence(6, 4, 4, 4), sentence(7, 5, 3, 2), sentence(5, 3, 6, 4)
    return [(*square, 3), (*wide, 4), (*narrow, 5), (*low, 1), (*lower, 1)]


def self_attention(X, W_q, W_k, W_v, valid_len, **choices):
    return attend(X @ W_q.T, X @ W_k.T, X @ W_v.T, valid_len, **choices)


def attend(q, k, v, valid_len, *, keep=None, axis=-1, scale=math.sqrt, fill=-math.inf, after=False,
           strip=False):
    """Attention with a causal and a padding mask, with one thing to get wrong at a time."""
    query, key = torch.arange(len(q))[:, None], torch.arange(len(q))
    keep = (key <= query) & (key < valid_len) if keep is None else keep(query, key, valid_len)
    scores = q @ k.T / scale(q.shape[1])
    if after:
        return scores.softmax(axis) * keep @ v
    output = scores.masked_fill(~keep, fill).softmax(axis) @ v
    return torch.where(query < valid_len, output, 0.0) if strip else output


def scaled_by(width):
    """Self-attention whose scale is the root of ``width(X, W_q, W_k, W_v)``."""
    def wrong(*arguments):
        return self_attention(*arguments, scale=lambda d: math.sqrt(width(*arguments[:4])))
    return wrong


def variant(**choices):
    return lambda *arguments: self_attention(*arguments, **choices)


def emptied(**choices):
    """Ways to hide whole rows. They come out as nan, an even mean or zeros."""
    def cleared(*arguments):
        return self_attention(*arguments, **choices).nan_to_num(0.0)

    return variant(**choices), variant(fill=-1e9, **choices), cleared


SELF_ATTENTION = [
    (lambda *arguments: self_attention(*arguments) * math.nan,
     "Every number is nan. You added (~keep) "
     "* -math.inf, and 0 times infinity is nan: use masked_fill."),
    (lambda X, *rest: self_attention(X, *rest)[:rest[-1]],
     "The real tokens are right, but only they have a row. One row per token, padding included."),
    (variant(keep=lambda query, key, n: key < n),
     "The padding is hidden, the future is not: a query may see keys up to its own position."),
    (variant(keep=lambda query, key, n: key <= query),
     "The future is hidden, the padding is not: keys from valid_len on must get no weight."),
    (variant(keep=lambda query, key, n: key + query >= 0),
     "Neither mask has an effect: future and padding still get weight."),
    (variant(keep=lambda query, key, n: (key <= query) | (key < n)),
     "You let a key through when either mask allows it. Both must: & instead of |."),
    (*emptied(keep=lambda query, key, n: ~((key <= query) & (key < n))),
     "The mask is upside down: you hide what may be seen, and look at the rest."),
    (*emptied(keep=lambda query, key, n: (key > query) & (key < n)),
     "The causal mask is upside down: each token sees only later ones, and the last sees nothing."),
    (*emptied(keep=lambda query, key, n: (key >= query) & (key < n)),
     "The triangle is the wrong one: your tokens see themselves and later ones. "
     "Rows are queries, so what may be seen lies below the diagonal."),
    (*emptied(keep=lambda query, key, n: (key < query) & (key < n)),
     "You hide the token from itself. Then the first one sees nothing at all: key <= query."),
    (variant(keep=lambda query, key, n: (key <= query) & (key <= n)),
     "One key too many: a length of 2 means positions 0 and 1."),
    (variant(fill=0.0),
     "You set hidden scores to 0. A score of 0 still counts, e^0 = 1: set them to minus infinity."),
    (variant(strip=True),
     "Nearly: the real tokens are right, but the padding's own row is zero. "
     "The padding is a query too and gets an output, though nobody reads it."),
    (*emptied(keep=lambda query, key, n: (key <= query) & (query < n))[:2],
     "You hide the padding as a query. It may ask; as a key it must not be seen."),
    (variant(after=True),
     "You hide keys after the softmax, so the weights that are left no longer sum to 1. "
     "Hide the scores before it."),
    (*emptied(axis=0),
     "Your softmax goes over the queries. "
     "Each query's weights over the keys must sum to 1: the last axis."),
    (variant(scale=lambda d: 1.0),
     "The scores are not scaled: divide by the square root of the width."),
    (variant(scale=float), "You divide by the width, not by its square root."),
    (variant(scale=lambda d: 1 / math.sqrt(d)),
     "You multiply by the square root of the width: divide."),
    (scaled_by(lambda X, W_q, W_k, W_v: len(X)),
     "You divide by the square root of the number of tokens. "
     "What counts is the width of a query: q.shape[1]."),
    (scaled_by(lambda X, W_q, W_k, W_v: X.shape[1]),
     "You divide by the square root of the tokens' width. "
     "Matrices need not be square: what counts is the width of a query, q.shape[1]."),
    (scaled_by(lambda X, W_q, W_k, W_v: len(W_v)),
     "You divide by the square root of the values' width. "
     "What counts is the width of a query: q.shape[1]."),
    (scaled_by(lambda X, W_q, W_k, W_v: 4),
     "You divide by 2, whatever the width of a query is: math.sqrt(q.shape[1])."),
    (variant(fill=-100.0), variant(fill=-1e4),
     "Your number is not low enough to hide with: "
     "where the scores of visible keys are lower still, the hidden ones win. Use minus infinity."),
    (variant(keep=lambda query, key, n: (key <= query + 1) & (key < n)),
     "Each token sees the next one: key <= query, itself and no further."),
    (lambda X, W_q, W_k, W_v, n: attend(X @ W_q.T, X @ W_q.T, X @ W_v.T, n),
     "Keys are made with W_q: a token has a key of its own, from W_k."),
    (lambda X, W_q, W_k, W_v, n: attend(X @ W_q.T, X, X @ W_v.T, n),
     "The keys are the tokens themselves: W_k is missing."),
    (lambda X, W_q, W_k, W_v, n: attend(X, X @ W_k.T, X @ W_v.T, n),
     "The queries are the tokens themselves: W_q is missing."),
    (lambda X, W_q, W_k, W_v, n: attend(X @ W_q.T, X @ W_k.T, X, n),
     "The values are the tokens themselves: W_v is missing."),
    (lambda X, W_q, W_k, W_v, n: attend(X @ W_q.T, X @ W_k.T, X @ W_k.T, n),
     "Values are made with W_k: a token has a value of its own, from W_v."),
    (lambda X, W_q, W_k, W_v, n: self_attention(X, W_q.T, W_k.T, W_v.T, n),
     "Your matrices are turned around: they are (outputs, inputs), so it is X @ W.T."),
]

# ---- top-left ----


def keys_seen(i, queries, keys):
    return list(range(i + 1)), list(range(keys - queries + i + 1))


def should_see(places):
    """What is shown is right, what the query should see is ``places(i, queries, keys)``."""
    return lambda i, m, n: (keys_seen(i, m, n)[0], list(places(i, m, n)))


TOP_LEFT = [
    (lambda i, m, n: keys_seen(i, m, n)[::-1],
     "The right two lists, in the wrong order: first what it is shown, then what it should see."),
    (should_see(lambda i, m, n: range(n)),
     "Not every new token may see all keys: only the last one. "
     "With 2 new ones, the first must not see the second."),
    (should_see(lambda i, m, n: range(i + 1)),
     "You take the query's number for its place. "
     "The new tokens come last: query 0 stands at place keys - queries."),
    (lambda i, m, n: (keys_seen(i, m, n)[1],) * 2,
     "That would be right decoding. "
     "But is_causal counts queries from the start of the text: it lines query 0 up with key 0."),
    (lambda i, m, n: tuple(seen[:-1] for seen in keys_seen(i, m, n)),
     "A query sees its own key too: the last one is missing in both lists."),
    (should_see(lambda i, m, n: range(n - m + i)),
     "In what it should see, its own key is missing, number keys - queries + i."),
    (lambda i, m, n: tuple(map(len, keys_seen(i, m, n))),
     "Those are counts. Return two lists of places, such as [0, 1] and [0, 1, 2, 3]."),
    (lambda i, m, n: tuple([place + 1 for place in seen] for seen in keys_seen(i, m, n)),
     "Places count from 0: the first key is number 0."),
    (should_see(lambda i, m, n: range(n - m, n - m + i + 1)),
     "The earlier tokens belong to what it should see: that is what the cache is for."),
]

# ---- cross-cost ----


def cost(queries, keys, d):
    return 4 * queries * d**2 + 4 * keys * d**2 + 4 * queries * keys * d


CROSS_COST = [
    (lambda m, n, d: cost(m, n, d) / 2,
     "You count a multiply and an add as one: everything is half of what it should be."),
    (lambda m, n, d: 8 * m * d**2 + 4 * m * n * d,
     "Keys and values are made from the other text: "
     "two of the four projections have `keys` rows, not `queries`."),
    (lambda m, n, d: 8 * n * d**2 + 4 * m * n * d,
     "Queries and outputs have `queries` rows: two of the four projections are theirs."),
    (lambda m, n, d: 8 * n * d**2 + 4 * n**2 * d,
     "That is self-attention. Here queries and keys may differ in number."),
    (lambda m, n, d: 8 * m * d**2 + 4 * m**2 * d,
     "That is self-attention of the queries alone. "
     "Keys and values are made from the other text, and every query meets each of them."),
    (lambda m, n, d: 2 * m * d**2 + 4 * n * d**2 + 4 * m * n * d,
     "One projection is missing: W_o, which has `queries` rows."),
    (lambda m, n, d: 2 * m * d**2 + 6 * n * d**2 + 4 * m * n * d,
     "W_o works on the outputs, and there is one per query, not one per key."),
    (lambda m, n, d: 4 * m * d**2 + 4 * n * d**2 + 2 * m * n * d,
     "One product is missing: scores and weighted sums are two."),
    (lambda m, n, d: 4 * (m + n) * d**2 + 4 * m**2 * d,
     lambda m, n, d: 4 * (m + n) * d**2 + 4 * n**2 * d,
     lambda m, n, d: 4 * (m + n) * d**2 + 4 * (m + n) ** 2 * d,
     "The projections are right. "
     "In the products every query meets every key: there are queries * keys pairs."),
    (lambda m, n, d: 4 * m * n * d,
     "Those are the two products. The four projections are missing."),
    (lambda m, n, d: 4 * (m + n) * d**2, "The two products are missing: scores and weighted sums."),
    (lambda m, n, d: 8 * (m + n) * d**2 + 4 * m * n * d,
     "Every text passes through two of the four matrices, not through all."),
]


EXERCISES = [
    Choice(
        "swapped-end", right="b",
        praise="Right. Only dog still sees the same words, itself.",
        hints=["For each word, write down the set of words that it sees, before and after.",
               "dog sees dog, both times. What does man see, third or second?"],
        reasons={
            "a": "Order is invisible only where nothing is hidden. "
                 "Here a word that moves sees other words.",
            "c": "man saw all three words and now sees two; bites saw two and now sees three. "
                 "Other words, other outputs.",
            "d": "One word still sees what it saw before: look at the first.",
        },
    ),
    Build(
        "self-attention", reference=self_attention, inputs=attention_inputs,
        misconceptions=SELF_ATTENTION,
        praise="Right: causal and padded, and every row sums to 1 before it meets the values.",
        hints=["Queries, keys and values first: X @ W_q.T and so on. "
               "Then scores, divided by the square root of a query's width.",
               "position = torch.arange(len(X)); "
               "a key may be seen where position <= position[:, None] and position < valid_len.",
               "Set the scores that are not kept to minus infinity, "
               "then softmax over the last axis, then @ values."],
    ),
    Build(
        "top-left", reference=keys_seen,
        inputs=lambda: [(0, 1, 4), (1, 2, 5), (2, 3, 3), (0, 2, 6)], misconceptions=TOP_LEFT,
        praise="Right. So nothing is wrong in training, "
               "where both counts agree, and everything in decoding.",
        hints=["Shown is what is_causal does: query i sees the keys 0 to i.",
               "The new tokens are the last ones. Which place in the text has the first of them, "
               "if there are 5 tokens and 2 are new?"],
    ),
    Choice(
        "hidden", right="ade",
        praise="Right: a mask hides a token as a key; as a query it stays.",
        hints=["Three statements are true.",
               "The sections 'Does a causal layer see order?', "
               "'Hiding' and 'What does a masked token still change?' decide three of the five."],
        reasons={
            "b": "is false: the last query sees a set of words. The "
                 "section 'Does a causal layer see order?' found equal outputs after one layer.",
            "c": "is false: the padding has a query of its own and gets an output. "
                 "Nobody should read it, that is all.",
        },
    ),
    Build(
        "cross-cost", reference=cost, inputs=lambda: [(3, 5, 4), (1, 7, 6), (4, 4, 2)],
        misconceptions=CROSS_COST,
        praise="Right. With one query it is the cost of a step without a cache of keys and values.",
        hints=["Which of the four matrices work on the queries' side, which on the keys'? "
               "The output has as many rows as there are queries.",
               "A product of (a, b) and (b, c) takes 2abc operations.",
               "Two projections of the queries' side, "
               "two of the keys' side, two products of 2 * queries * keys * d."],
    ),
]
