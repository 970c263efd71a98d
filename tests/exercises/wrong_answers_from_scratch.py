"""What learners write wrongly from an empty cell, and what they should then read.

A wrong class is a right one with one thing changed. The right ones are written in other ways than
the solutions in the notebooks; RIGHT lists more of them, which must be accepted.
"""
from rewriting import table, write
from torch import nn

import d2l_ext
from d2l_ext.transformer import DecoderBlock

# ---- 02 ------------------------------------------------------------------------------------------

MULTI_HEAD = """
class Attention(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        self.h, self.d = num_heads, num_hiddens // num_heads
        if self.h * self.d != num_hiddens:
            raise ValueError(f"{num_hiddens} hiddens, {num_heads} heads")
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        b, n, m = len(queries), queries.shape[1], keys.shape[1]
        q = self.W_q(queries).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.W_k(keys).view(b, m, self.h, self.d).transpose(1, 2)
        v = self.W_v(values).view(b, m, self.h, self.d).transpose(1, 2)
        scores = torch.einsum("bhnd,bhmd->bhnm", q, k) / math.sqrt(self.d)
        if valid_lens is not None:
            hidden = torch.arange(m)[None, None, None] >= valid_lens.view(-1, 1, 1, 1)
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        weights = torch.nan_to_num(weights)
        weights = self.dropout(weights)
        output = (weights @ v).transpose(1, 2).reshape(b, n, -1)
        return self.W_o(output)
"""
LINEAR = "self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)"
NAN = "        weights = torch.nan_to_num(weights)\n"
DROP = "        weights = self.dropout(weights)\n"
SHORT = """        if valid_lens is not None:
            weights = weights * (valid_lens > 3).view(-1, 1, 1, 1)
"""
HIDE = '            scores = scores.masked_fill(hidden, float("-inf"))\n'
WEIGH = HIDE + "        weights = F.softmax(scores, dim=-1)\n" + NAN
RECIPE = """            keep = torch.arange(m) < valid_lens[:, None, None, None]
            scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
            weights = scores.softmax(-1) * keep
        else:
            weights = scores.softmax(-1)
"""
CUT = """        if valid_lens is not None:
            weights = weights * (torch.arange(m) < valid_lens[:, None, None, None])
            weights /= weights.sum(-1, keepdim=True)
"""
SUM = "(weights @ v).transpose(1, 2).reshape(b, n, -1)"

MULTI_HEADS = table(MULTI_HEAD, [
    ("class Attention(nn.Module):\n",
     "class Attention(nn.Module):\n    def other(self): return 1\n", "def __init__", "def init",
     "(?s)no __init__ yet.*num_heads, dropout"),
    ("def forward", "def call", "no forward yet.*queries, keys, values, valid_lens=None"),
    ("        super().__init__()\n", "",
     r"\(10, 2, dropout=0.0, bias=False\) raises AttributeError"),
    (", dropout=0.0, bias=False", "", "        self.dropout = nn.Dropout(dropout)\n", "",
     "bias=bias", "bias=False", "raises TypeError.*unexpected keyword"),
    ("values, valid_lens=None)", "values)", "valid_lens is not None", "False",
     r"forward\(queries, keys, values, valid_lens\) raises TypeError"),
    ("valid_lens=None", "valid_lens", "raises TypeError: .*missing 1 required"),
    ("W_k", "key_map", "has no W_k.weight: it holds W_q.weight, key_map.weight"),
    (LINEAR, LINEAR + "\n        self.extra = nn.Linear(3, 3)",
     "holds extra.weight, extra.bias, which the promise doesn't ask for: a parameter"),
    (LINEAR, LINEAR + "\n        self.register_buffer('root', torch.ones(1))",
     "holds root, .*persistent=False"),
    (LINEAR, "self.W_v = nn.Linear(num_hiddens, self.d, bias=bias)",
     r"W_v.weight of .* should have shape \(10, 10\), yours has \(5, 10\)"),
    ("bias=bias", "bias=False", "no W_q.bias"),
    ("bias=bias", "bias=True", "holds W_q.bias"),
    ("math.sqrt(self.d)", "math.sqrt(self.d * self.h)", "width of the model"),
    ("math.sqrt(self.d)", "self.d", "not by its square root"),
    (" / math.sqrt(self.d)", "", "not scaled"),
    ("math.sqrt(self.d)", "math.sqrt(self.h)", "root of the number of heads"),
    ("math.sqrt(self.d)", "math.sqrt(m)", "output differs.*(?s:.)*2 heads of width 5"),
    ("dim=-1", "dim=-2", "over the queries"),
    ("view(b, n, self.h, self.d).transpose(1, 2)", "view(b, self.h, n, self.d)",
     "m, self.h, self.d).transpose(1, 2)", "self.h, m, self.d)", "sentence. Cut"),
    ("view(b, n, self.h, self.d).transpose(1, 2)", "view(b, self.h, n, self.d)",
     "m, self.h, self.d).transpose(1, 2)", "self.h, m, self.d)",
     ".transpose(1, 2).reshape(b, n, -1)", ".reshape(b, n, -1)", "and merging one before it"),
    ("self.h, self.d).transpose(1, 2)", "self.d, self.h).permute(0, 3, 1, 2)",
     "dealt out to the heads"),
    (".transpose(1, 2).reshape(b, n, -1)", ".reshape(b, n, -1)", "merging is not"),
    ("return self.W_o(output)", "return output", "W_o is built and never used"),
    ("return self.W_o(output)", "return self.W_o(output), weights", "got tuple of 2"),
    ("return self.W_o(output)", "self.W_o(output)", "got NoneType"),
    ("self.W_k(keys)", "self.W_q(keys)", "keys go through W_q"),
    ("self.W_v(values)", "self.W_k(values)", "values go through W_k"),
    (HIDE, "", "lengths have no effect"),
    (">= valid", "> valid", "One key too many"),
    (">= valid", "< valid", "upside down"),
    (NAN, "", "output is NaN: a softmax over minus infinities"),
    (NAN, "", 'float("-inf")', "-1e9", "spread over the padding"),
    ('float("-inf")', "0.0", r"e\^0 = 1"),
    ('float("-inf")', "-100.0", "nan_to_num(weights)",
     "nan_to_num(weights) if valid_lens is None else weights * (valid_lens > 0).view(-1, 1, 1, 1)",
     "scores far below 0 differs"),
    ("nan_to_num(weights)", "nan_to_num(weights) if valid_lens is None else weights * ~hidden",
     'float("-inf")', "-100.0", "a hidden key still wins"),
    (HIDE.strip(),
     "weights = scores.softmax(-1) * ~hidden", "        weights = F.softmax(scores, dim=-1)\n",
     "        if valid_lens is None:\n            weights = F.softmax(scores, dim=-1)\n",
     "after the softmax, so"),
    ("valid_lens.view(-1, 1, 1, 1)", "valid_lens.view(-1, 1, 1)",
     r"(?s)valid_lens\) raises RuntimeError.*four axes: valid_lens\[:, None, None, None\]"),
    ("valid_lens.view(-1, 1, 1, 1)", "valid_lens", "(?s)must match.*need four axes"),
    ("arange(m)", "arange(n)",  # axes are right, their sizes are not
     r"valid_lens\) raises RuntimeError: [^\n]*must match[^\n]*$"),
    (HIDE, "            scores[hidden] = -1e9\n", "(?s)shape of the mask.*own shape"),
    (HIDE, "", NAN, CUT, "no weight is left, and you divide 0 by the sum 0"),
    (HIDE, "", NAN, CUT + "            weights = weights.nan_to_num()\n", "divide by what is left"),
    (NAN, "        weights = weights if valid_lens is None else weights * ~hidden\n",
     "softmax over minus infinities. NaN times 0 stays NaN"),
    (WEIGH, RECIPE.replace("~keep", "keep"), "Hide the others"),
    (WEIGH, RECIPE.replace("torch.finfo(scores.dtype).min", "0.0"), r"e\^0 = 1"),
    (WEIGH, RECIPE.replace("torch.finfo(scores.dtype).min", "-1000.0"), "what you fill in"),
    (WEIGH, RECIPE.replace("torch.finfo(scores.dtype).min", "-1e6"), "what you fill in"),
    (HIDE, "", NAN, CUT.replace("True)", "True) + 1e-9"), "divide by what is left"),
    (NAN, NAN + SHORT, "lengths 0, 3, 5 differs"),
    ("q, k) /", "q, k).detach() /", "No gradient flows through the scores"),
    ("q, k) /", "q, k.detach()) /", "gradient of keys is missing"),
    ("self.W_v(values)", "self.W_v(values.detach())", "gradient of values is missing"),
    (DROP, "        weights = F.dropout(weights, self.dropout.p)\n",
     "evaluation mode numbers are still dropped"),
    (DROP, "        weights = weights if self.training else weights * (1 - self.dropout.p)\n",
     "in evaluation mode differs"),
    (DROP, "", "no effect on the weights"),
    (DROP, "", "/ math.sqrt(self.d)\n",
     "/ math.sqrt(self.d)\n        scores = self.dropout(scores)\n", "no effect on the weights"),
    (DROP, "", SUM, f"self.dropout({SUM})", "drop numbers of the answers"),
    (DROP,
     "        if self.training: weights = weights * (torch.rand_like(weights) >= self.dropout.p)\n",
     "divided by 1 - dropout"),
    ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)", "multiplied by|evaluation|differs"),
    (DROP, "        weights = weights * self.dropout(torch.ones(b, self.h, 1, 1))\n",
     "heads and queries are dropped independently: expected 'yes', yours: 'no'"),
    ("if self.h * self.d != num_hiddens", "if False", "are accepted"),
    ("raise ValueError", "raise KeyError", "expected 'a ValueError', yours: 'the error KeyError'"),
]) + [
    (nn.MultiheadAttention, "raises|has no"),
    (dict, r"begin with class dict\(nn.Module\)"),
    (d2l_ext.MultiHeadAttention(10, 2), "Give the class itself, got MultiHeadAttention"),
]

# ---- 03 ------------------------------------------------------------------------------------------

SELF = """
class Attention(nn.Module):
    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__()
        if num_hiddens % num_heads != 0:
            raise ValueError("heads must divide hiddens")
        self.num_heads = num_heads
        self.causal = causal
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(num_hiddens, num_hiddens, bias=False))

    def forward(self, X, valid_lens=None):
        b, n, d = X.shape
        q, k, v = [W(X).reshape(b, n, self.num_heads, d // self.num_heads).permute(0, 2, 1, 3)
                   for W in (self.W_q, self.W_k, self.W_v)]
        scores = q.matmul(k.transpose(-1, -2)) / (d // self.num_heads) ** 0.5
        keep = torch.ones(b, 1, n, n)
        if self.causal:
            keep = torch.tril(keep)
        if valid_lens is not None:
            for i, length in enumerate(valid_lens):
                keep[i, :, :, length:] = 0
        weights = torch.softmax(scores + (1 - keep) * -1e9, dim=-1) * keep
        return self.W_o((weights @ v).permute(0, 2, 1, 3).flatten(2))
"""
LENS = """            for i, length in enumerate(valid_lens):
                keep[i, :, :, length:] = 0
"""
AXES = "            keep = keep * (torch.arange(n) < valid_lens[:, None, None])\n"
EITHER = """            real = torch.arange(n) < valid_lens.view(-1, 1, 1, 1)
            keep = (keep.bool() | real).float()
"""
OUT = "self.W_o((weights @ v).permute(0, 2, 1, 3).flatten(2))"
RETURN_ROWS = ("if valid_lens is not None: Y = Y * (torch.arange(n) < valid_lens[:, None])[..., "
               "None]\n        return Y")
SELVES = table(SELF, [
    ("def forward(self, X, valid_lens=None)",
     "def forward(self, queries, keys, values, valid_lens=None)", r"forward\(X\) raises TypeError"),
    (", causal=False)", ")", "= causal", "= False", "raises TypeError.*causal"),
    ("num_heads=1, causal=False", "causal=False, num_heads=1",
     "raises TypeError.*multiple values for argument 'causal'"),
    (".permute(0, 2, 1, 3).flatten(2)", ".flatten(2)", r"raises RuntimeError"),
    ("(self.W_q, self.W_k, self.W_v)", "(self.W_q, self.W_q, self.W_v)", "keys go through W_q"),
    ("(self.W_q, self.W_k, self.W_v)", "(self.W_k, self.W_q, self.W_v)",
     "output with one head, nothing hidden differs"),
    ("if self.causal:", "if False:", "causal=True has no effect"),
    ("torch.tril(keep)", "torch.triu(keep)", "looks the wrong way"),
    ("torch.tril(keep)", "torch.tril(keep, -1)", "doesn't see itself"),
    ("torch.tril(keep)", "torch.tril(keep, 1)", "one step too many"),
    ("if self.causal:", "if self.causal and valid_lens is None:", "causal mask is lost"),
    ("if valid_lens is not None:", "if valid_lens is not None and not self.causal:",
     "lengths are lost"),
    ("if valid_lens is not None:", "if False:", "lengths have no effect"),
    ("keep[i, :, :, length:] = 0", "keep[i, :, length:, :] = 0", "Your lengths hide queries"),
    ("keep[i, :, :, length:] = 0", "keep[i, :, length:, :] = 0", " * keep\n", "\n",
     "Your lengths hide queries"),
    ("keep[i, :, :, length:] = 0", "keep[i, :, length:, :] = keep[i, :, :, length:] = 0",
     "rows of padded queries are lost"),
    ("return " + OUT, f"Y = {OUT}\n        " + RETURN_ROWS, "rows of padded queries are lost"),
    (LENS, EITHER, "either mask"),
    (LENS, AXES, r"(?s)must match.*need four axes: valid_lens\[:, None, N"),
    ("* -1e9", "* -100", "hidden key still wins where its score was high"),
    ("torch.softmax(", "(1 if self.training else 0.5) * torch.softmax(",
     "output in evaluation mode differs"),
])

# ---- 04 ------------------------------------------------------------------------------------------

POSITION = """
class Encoding(nn.Module):
    def __init__(self, num_hiddens, dropout=0.0, max_len=1000):
        super().__init__()
        self.p = dropout
        self.max_len = max_len
        P = torch.empty(max_len, num_hiddens, dtype=torch.float64)
        where = torch.arange(0, max_len).double()
        for column in range(num_hiddens):
            angle = where / 10000 ** ((column - column % 2) / num_hiddens)
            P[:, column] = torch.cos(angle) if column % 2 else torch.sin(angle)
        self.register_buffer("P", P.float().unsqueeze(0), persistent=False)

    def forward(self, X):
        if X.size(1) > self.max_len:
            raise ValueError("too long")
        Y = X + self.P[:, :X.size(1)].to(X.dtype)
        return F.dropout(Y, self.p, self.training)
"""
BUFFER = 'self.register_buffer("P", P.float().unsqueeze(0), persistent=False)'
HALVES = "torch.cat([self.P[:, :X.size(1), i::2] for i in range(2)], -1).to(X.dtype)"
ADD = "X + self.P[:, :X.size(1)].to(X.dtype)"
POSITIONS = table(POSITION, [
    ("def forward(self, X)", "def forward(self)", "X.size(1)", "1", ADD.replace("X.size(1)", "1"),
     "0", r"forward\(X\) raises TypeError"),
    (", max_len=1000", "", "self.max_len = max_len", "self.max_len = max_len = 1000",
     "raises TypeError.*max_len"),
    ("torch.cos(angle) if column % 2 else torch.sin(angle)",
     "torch.sin(angle) if column % 2 else torch.cos(angle)", "changed places"),
    ("10000 **", "1000 **", "base is 10000"),
    ("(column - column % 2) / num_hiddens", "2 * (column - column % 2) / num_hiddens",
     "twice as large"),
    ("torch.arange(0, max_len)", "torch.arange(1, max_len + 1)", "counted from 1"),
    ("for column in range(num_hiddens)", "P.fill_(0)\n        for column in range(num_hiddens - 1)",
     "output for width 6 differs"),
    ("for column in range(num_hiddens)",
     "P.fill_(0)\n        for column in range(num_hiddens // 2 * 2)", "odd width 7 differs"),
    (ADD, "X + self.P[0, :X.size(0)].unsqueeze(1)", "row of its own number"),
    (ADD, f"X + {HALVES}", "All sines stand before"),
    (ADD, "self.P[:, :X.size(1)].to(X.dtype).repeat(len(X), 1, 1)", "You return the table alone"),
    (ADD, ADD.removeprefix("X + "), "shape should be|table alone"),
    (ADD, ADD.replace("X +", "X.detach() +"), "X is detached"),
    (ADD, "X * X.size(2) ** 0.5" + ADD[1:], "square root of the width"),
    ("        Y = " + ADD, "        X += self.P[:, :X.size(1)]\n        Y = X",
     "X \\+= P writes into it"),
    (BUFFER, "self.P = P.float().unsqueeze(0)", "plain attribute"),
    (BUFFER, "self.P = nn.Parameter(P.float().unsqueeze(0))", "holds P, .*a parameter is trained"),
    (BUFFER, BUFFER.replace(", persistent=False", ""), "holds P, .*persistent=False"),
    (BUFFER, BUFFER.replace(".float()", ""), "torch.float64"),
    (BUFFER, BUFFER.replace(".unsqueeze(0)", ""), "self.P[:, :X.size(1)]", "self.P[:X.size(1)]",
     r"The shape and the kind of number of P: expected '\(1, 9, 6\)"),
    (BUFFER, BUFFER.replace('"P"', '"table"'), "self.P[", "self.table[",
     "The buffers: expected 'P', yours: 'table'"),
    ("torch.arange(0, max_len).double()", "torch.arange(0, max_len).float()", "single precision"),
    (".to(X.dtype)", "", "not of X's kind"),
    (", self.training", "", "evaluation mode numbers are still dropped"),
    ("F.dropout(Y, self.p, self.training)", "Y", "nothing is dropped"),
    ("F.dropout(Y, self.p, self.training)", "Y", "Y = X +",
     "Y = F.dropout(X, self.p, self.training) +", "acts on X alone"),
    ('raise ValueError("too long")', "pass", "message about shapes"),
    (">", ">=", "With max_len=9 and 9 steps"),
])

# ---- 05 ------------------------------------------------------------------------------------------

ROTARY = """
class Turn(nn.Module):
    def __init__(self, head_size, base=10000.0):
        super().__init__()
        if head_size % 2 == 1:
            raise ValueError("odd")
        self.base = base

    def forward(self, X, offset=0):
        steps, d = X.shape[2:]
        r = torch.arange(d // 2, dtype=torch.float64, device=X.device)
        i = torch.arange(offset, offset + steps, dtype=torch.float64, device=X.device)
        angles = torch.outer(i, self.base ** (-2 * r / d))
        pairs = torch.view_as_complex(X.to(torch.float64).unflatten(-1, (-1, 2)))
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2).to(X.dtype)
"""
TURN = "pairs * torch.polar(torch.ones_like(angles), angles)"
ROTARIES = table(ROTARY, [
    ("def forward(self, X, offset=0)", "def forward(self, X)",
     "torch.arange(offset, offset + steps", "torch.arange(0, steps",
     r"forward\(X, offset\) raises TypeError"),
    (", base=10000.0", "", "= base", "= 10000.0", "raises TypeError.*base"),
    ("def forward", "def transform", "no forward yet"),
    ("torch.ones_like(angles), angles", "torch.ones_like(angles), -angles", "wrong way"),
    (TURN, "pairs * angles.cos()", "output differs"),
    (TURN, "pairs", "Nothing is turned"),
    (TURN, "torch.complex(first := pairs.real * angles.cos() - pairs.imag * angles.sin(), "
     "first * angles.sin() + pairs.imag * angles.cos())", "after it was turned"),
    (TURN, "torch.complex(pairs.real * angles.cos(), pairs.imag * angles.sin())",
     "multiplied alone"),
    (TURN, "torch.complex(pairs.real + angles.sin(), pairs.imag + angles.cos())",
     "Rotary multiplies"),
    ("X.to(torch.float64).unflatten(-1, (-1, 2))",
     "X.to(torch.float64).unflatten(-1, (2, -1)).mT.contiguous()", "flatten(-2).to",
     "mT.flatten(-2).to", "first half with the second"),
    ("flatten(-2).to", "mT.flatten(-2).to", "the order is not"),
    ("-2 * r / d", "-4 * r / d", "twice as large"),
    ("-2 * r / d", "2 * r / d", "upside down"),
    ("torch.arange(offset, offset + steps", "torch.arange(offset + 1, offset + steps + 1",
     "counted from 1"),
    ("torch.arange(offset, offset + steps", "torch.arange(0, steps", "offset has no effect"),
    ("torch.arange(offset, offset + steps", "torch.arange(-offset, steps - offset",
     "offset is subtracted"),
    ("self.base **", "10_000 **", "base has no effect"),
    ("self.base = base", "columns = torch.arange(head_size // 2).double()\n"
     "        self.register_buffer('speeds', base ** (-2 * columns / head_size), False)",
     "self.base ** (-2 * r / d)", "self.speeds", "cast with the module"),
    ("X.to(torch.float64)", "X.detach().to(torch.float64)", "X is detached"),
    ("return torch", "return X.copy_(torch", ".to(X.dtype)", ".to(X.dtype))",
     "changes the X it is given"),
    ("torch.float64, device", "torch.float32, device", "torch.ones_like(angles), angles",
     "torch.ones_like(angles), angles.float()", "single precision"),
    ("steps, dtype=torch.float64", "steps, dtype=X.dtype", "in 16 bits"),
    (".to(X.dtype)", ".float()", "not of X's kind"),
    ("torch.float64, device=X.device", "torch.float64",
     r"On another device \('meta'\), forward\(X\) raises RuntimeError"),
    ("self.base = base", "self.base = nn.Parameter(torch.tensor(base))",
     "holds base, .*a parameter is trained"),
    ("self.base = base",
     "self.base = base\n        self.register_buffer('r', torch.arange(head_size // 2))",
     "holds r, .*persistent=False"),
    (TURN, TURN + " * (1 if self.training else 0.5)", "output in evaluation mode differs"),
    ("if head_size % 2 == 1", "if False", "is accepted"),
])

# ---- 07 ------------------------------------------------------------------------------------------

BLOCK = """
class Block(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0):
        super().__init__()
        self.attention = d2l_ext.MultiHeadAttention(num_hiddens, num_heads)
        self.cross = d2l_ext.MultiHeadAttention(num_hiddens, num_heads)
        wide = 4 * num_hiddens
        into, out = nn.Linear(num_hiddens, wide), nn.Linear(wide, num_hiddens)
        self.network = nn.Sequential(into, nn.ReLU(), out)
        self.norms = nn.ModuleList([nn.LayerNorm(num_hiddens) for _ in range(3)])
        self.p = dropout

    def forward(self, X, memory, valid_lens=None):
        first, second, third = self.norms
        Y = first(X)
        past = torch.ones(X.shape[1], X.shape[1]).tril().bool()
        X = X + self.drop(self.attention(Y, Y, Y, mask=past))
        Y = second(X)
        X = X + self.drop(self.cross(Y, memory, memory, valid_lens))
        Y = third(X)
        X = X + self.drop(self.network(Y))
        return X

    def drop(self, Y):
        return F.dropout(Y, self.p, self.training)
"""
CROSS = "self.cross(Y, memory, memory, valid_lens)"
INSIDE = "self.cross = d2l_ext.MultiHeadAttention(num_hiddens, num_heads)"
BLOCKS = table(BLOCK, [
    ("memory, valid_lens=None)", "memory)", ", valid_lens)", ")",
     r"forward\(X, memory, valid_lens\) raises TypeError"),
    (", dropout=0.0", "", "= dropout", "= 0.0", "raises TypeError.*dropout"),
    ("self.cross", "self.reading", "has no cross.W_q.weight"),
    ("4 * num_hiddens", "2 * num_hiddens",
     r"network.0.weight of .* should have shape \(40, 10\), yours has \(20, 10\)"),
    ("range(3)", "range(2)", "first, second, third = self.norms",
     "first, second = self.norms; third = second", "has no norms.2.weight"),
    (", mask=past", "", "sees the steps after it"),
    (".tril()", ".tril(-1)", "doesn't see itself"),
    ("Y = first(X)", "Y = X", "Y = second(X)", "Y = X", "Y = third(X)", "Y = X", "never used"),
    ("Y = second(X)", "Y = first(X)", "Y = third(X)", "Y = first(X)", "One norm serves"),
    ("Y = first(X)", "Y = X", "Y = second(X)", "X = Y = first(X)", "Y = third(X)",
     "X = Y = second(X)", "return X", "return third(X)", "post-norm"),
    ("X = X + ", "X = ", "residual connections are missing"),
    ("X = X + ", "X = Y + ", "add to the normalised X"),
    (CROSS, "self.cross(Y, Y, Y)", "never looks at memory"),
    (CROSS, "self.attention(Y, memory, memory, valid_lens)", "use the same matrices"),
    (CROSS, "self.cross(Y, second(memory), second(memory), valid_lens)", "normalised once more"),
    (CROSS, "self.cross(Y, memory, memory)", "lengths have no effect"),
    (CROSS, "self.cross(Y, memory, memory, None if valid_lens is None else valid_lens + 1)",
     "One source step too many"),
    ("mask=past", "mask=past, valid_lens=None if valid_lens is None else valid_lens.clamp(max=4)",
     "lengths are the source's"),
    ("mask=past", "mask=past, valid_lens=valid_lens if X.shape == memory.shape else None",
     "have as many steps"),
    ("mask=past", "mask=past, valid_lens=valid_lens", "raises ValueError: valid_lens contains 5"),
    (CROSS, "self.cross(Y, memory.detach(), memory.detach(), valid_lens)", "memory is detached"),
    ("nn.ReLU()", "nn.GELU()", "GELU"),
    ("nn.ReLU()", "nn.Identity()", "no ReLU"),
    ("Y = third(X)\n", "Y = third(X.detach())\n", "gradient of X differs|gradient of memory"),
    (", self.training", "", "evaluation mode numbers are still dropped"),
    ("F.dropout(Y, self.p, self.training)", "Y", "Nothing is dropped"),
    ("self.drop(self.network(Y))", "self.network(Y)",
     "what network adds to X is multiplied by: expected '0 or 1.25', yours: '1'"),
    ("X + self.drop(self.network(Y))", "self.drop(X + self.network(Y))",
     "drop numbers of X itself"),
    (INSIDE, INSIDE.replace("num_heads)", "num_heads, dropout)"),
     "what cross adds to X"),
])
SIDE = write(BLOCK, "        Y = first(X)\n", "        Z = X\n        Y = first(X)\n",
             "Y = second(X)", "Y = second(Z)", "Y = third(X)", "Y = third(Z)")
PAST = "self.attention(Y, Y, Y, mask=past)"
SWAPPED = write(BLOCK, "first(X)", "other(X)", "second(X)", "first(X)", "other(X)", "second(X)",
                PAST, "PAST", CROSS, PAST, "PAST", CROSS)
BLOCKS += [(SIDE, "All three parts read the same X"), (SWAPPED, "comes before self-attention")]

# ---- 09 ------------------------------------------------------------------------------------------

TILES = """
class ByTiles(nn.Module):
    def __init__(self, tile):
        super().__init__()
        if tile <= 0:
            raise ValueError(f"tile {tile}")
        self.tile = tile

    def forward(self, queries, keys, values):
        b, h, n, d = queries.shape
        m, l = queries.new_full((b, h, n, 1), -1e30), queries.new_zeros(b, h, n, 1)
        out = queries.new_zeros(b, h, n, values.shape[3])
        for start in range(0, keys.shape[2], self.tile):
            k, v = keys[:, :, start:start + self.tile], values[:, :, start:start + self.tile]
            s = queries @ k.transpose(2, 3) * d ** -0.5
            top = torch.maximum(m, s.max(dim=-1, keepdim=True)[0])
            p = torch.exp(s - top)
            old = l * torch.exp(m - top)
            l = old + p.sum(dim=-1, keepdim=True)
            out = (out * old + p @ v) / l
            m = top
        return out
"""
BY_TILES = table(TILES, [
    ("old = l * torch.exp(m - top)", "old = l", "Nothing is rescaled"),
    ("l = old + p", "l = l + p", "but not the sum"),
    ("torch.maximum(m, s.max(dim=-1, keepdim=True)[0])", "s.max(dim=-1, keepdim=True)[0]",
     "maximum is that of"),
    ("out * old + p @ v", "out * l_before + p @ v", "old = l * torch.exp(m - top)",
     "l_before, old = l, l * torch.exp(m - top)", "but not the output"),
    ("torch.exp(s - top)", "torch.exp(s)", "old = l * torch.exp(m - top)", "old = l",
     "Powers of the scores"),
    (" / l\n", "\n", "(out * old + p @ v)", "out * torch.exp(m - top) + p @ v", "Not divided"),
    (" * d ** -0.5", "", "not scaled"),
    ("range(0, keys.shape[2], self.tile)", "range(0, keys.shape[2] - self.tile + 1, self.tile)",
     "The last keys are lost"),
    ("self.tile = tile", "self.tile = 10 ** 6", "all scores are made at once"),
    ("b, h, n, d = queries.shape", "return F.scaled_dot_product_attention(queries, keys, values)\n"
     "        b, h, n, d = queries.shape", "own function does it for you"),
    ("if tile <= 0:", "if tile < 0:", "A tile of 0 keys passes"),
    ("torch.exp(s - top)", "torch.exp(s - top).detach()", "cut off"),
    ("d ** -0.5", "d ** -1", "differs"),
    ("super().__init__()", "super().__init__()\n        self.W = nn.Linear(tile, 1)",
     "which the promise doesn't ask for"),
])

# ---- 10 ------------------------------------------------------------------------------------------

RECURRENT = """
class Remember(nn.Module):
    def __init__(self, num_hiddens, num_heads=1):
        super().__init__()
        if num_hiddens % num_heads != 0:
            raise ValueError("heads")
        self.h = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=False)

    def forward(self, X):
        b, n, d = X.shape
        q = F.elu(self.W_q(X).view(b, n, self.h, -1)) + 1
        k = F.elu(self.W_k(X).view(b, n, self.h, -1)) + 1
        v = self.W_v(X).view(b, n, self.h, -1)
        S = torch.zeros(b, self.h, d // self.h, d // self.h)
        z = torch.zeros(b, self.h, d // self.h)
        rows = []
        for t in range(n):
            S = S + torch.einsum("bhk,bhv->bhkv", k[:, t], v[:, t])
            z = z + k[:, t]
            top = torch.einsum("bhk,bhkv->bhv", q[:, t], S)
            below = torch.einsum("bhk,bhk->bh", q[:, t], z)
            rows.append((top / below[..., None]).reshape(b, d))
        return self.W_o(torch.stack(rows, dim=1))
"""
AT_ONCE = """
class Quadratic(d2l_ext.LinearAttention):
    def __init__(self, num_hiddens, num_heads=1):
        super().__init__(num_hiddens, num_heads)

    def forward(self, X):
        return super().forward(X)
"""
LINEARS = [
    *table(RECURRENT, [
        ("F.elu(self.W_q(X).view(b, n, self.h, -1)) + 1", "self.W_q(X).view(b, n, self.h, -1)",
         "Queries need the feature map"),
        ("F.elu(self.W_k(X).view(b, n, self.h, -1)) + 1", "self.W_k(X).view(b, n, self.h, -1)",
         "Keys need the feature map"),
        ("F.elu(", "(", " + 1", "", "There is no feature map"),
        (" + 1", "", "The 1 is missing"),
        ("F.elu(", "F.relu(", "relu . 1 is 1"),
        ("S = S + torch", "S_next = S + torch", "            below", "            S = S_next\n"
         "            below", ", q[:, t], S)", ", q[:, t], S)", "You read before you write"),
        ("S = torch.zeros(b, self.h, d // self.h, d // self.h)",
         "S = torch.einsum('bnhk,bnhv->bhkv', k, v)", "            S = S + torch",
         "            torch",
         "The memory holds all tokens"),
        (" / below[..., None]", "", "The outputs are sums"),
        (" / below[..., None]", " / (t + 1)", "number of tokens"),
        (" / below[..., None]", " / (below[..., None] + 1e-6)", "an epsilon in the divisor"),
        ("z = z + k[:, t]", "z = k.sum(1)", "still to come"),
        ("S = S + torch", "S = torch", "replaced at each token"),
        ("self.h = num_heads", "self.h = 1", "num_heads has no effect"),
        ("return self.W_o(torch.stack(rows, dim=1))", "return torch.stack(rows, dim=1)",
         "W_o, is missing"),
        ("v = self.W_v(X)", "v = self.W_v(X.detach())", "gradient"),
        ("S = S + torch", "S = S.detach() + torch", "memory is detached"),
        ("raise ValueError(\"heads\")", "pass", "ValueError"),
    ]),
    (write(AT_ONCE), "Twice the steps take this many times the operations: expected '2.0'"),
]

WRONG = {
    "tiles-class": BY_TILES,
    "multi-head-class": MULTI_HEADS,
    "self-attention-class": SELVES,
    "positional-class": POSITIONS,
    "rotary-class": ROTARIES,
    "decoder-block-class": BLOCKS,
    "linear-class": LINEARS,
}

# ---- unusual and right ---------------------------------------------------------------------------

FUSED = """
class Fused(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.dropout = num_heads, dropout
        for name in ("W_q", "W_k", "W_v", "W_o"):
            self.add_module(name, nn.Linear(num_hiddens, num_hiddens, bias))

    def forward(self, queries, keys, values, valid_lens=None):
        projected = self.W_q(queries), self.W_k(keys), self.W_v(values)
        heads = [X.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for X in projected]
        keep = None
        if valid_lens is not None:
            keep = torch.arange(keys.shape[1]) < valid_lens[:, None, None, None]
        p = self.dropout if self.training else 0.0
        output = F.scaled_dot_product_attention(*heads, attn_mask=keep, dropout_p=p)
        if keep is not None:
            output = output.masked_fill(~keep.any(-1, keepdim=True), 0.0)
        return self.W_o(output.transpose(1, 2).flatten(2))
"""
LOOP = """
class Loop(nn.Module):
    def __init__(self, size, heads=1, causal=False):
        super().__init__()
        self.size, self.heads, self.causal = size // heads, heads, causal
        if size != self.size * heads:
            raise ValueError(f"{heads} heads, {size} hiddens")
        self.W_q, self.W_k, self.W_v, self.W_o = [
            nn.Linear(size, size, bias=False) for _ in range(4)]

    def forward(self, X, lengths=None):
        q, k, v = self.W_q(X), self.W_k(X), self.W_v(X)
        sentences = []
        for b in range(len(X)):
            rows = []
            for i in range(X.shape[1]):
                seen = X.shape[1] if lengths is None else int(lengths[b])
                seen = min(seen, i + 1) if self.causal else seen
                parts = []
                for h in range(self.heads):
                    c = slice(h * self.size, (h + 1) * self.size)
                    weights = (k[b, :seen, c] @ q[b, i, c] / self.size ** 0.5).softmax(0)
                    parts.append(weights @ v[b, :seen, c])
                rows.append(torch.cat(parts))
            sentences.append(torch.stack(rows))
        return self.W_o(torch.stack(sentences))
"""
SLICED = """
class Sliced(nn.Module):
    def __init__(self, head_size, base=10000.0):
        super().__init__()
        if head_size % 2:
            raise ValueError
        self.base, self.columns = base, range(0, head_size, 2)

    def forward(self, X, offset=0):
        columns = torch.tensor(list(self.columns), device=X.device).double()
        turn = self.base ** (-columns / X.shape[-1])
        angles = (torch.arange(X.shape[-2], device=X.device) + offset).double()[:, None] * turn
        angles = angles.repeat_interleave(2, -1)
        cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
        other = torch.stack([-X[..., 1::2], X[..., 0::2]], -1).reshape(X.shape)
        return X * cos + other * sin
"""
RIGHT = {
    "tiles-class": [write(TILES)],
    "multi-head-class": [write(MULTI_HEAD), write(MULTI_HEAD, WEIGH, RECIPE), write(FUSED),
                         d2l_ext.MultiHeadAttention],
    "self-attention-class": [write(SELF), write(LOOP)],
    "positional-class": [write(POSITION), d2l_ext.PositionalEncoding],
    "rotary-class": [write(ROTARY), write(SLICED)],
    "decoder-block-class": [write(BLOCK), DecoderBlock],
    "linear-class": [write(RECURRENT)],
}
