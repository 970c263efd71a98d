"""Memories of one size in place of all earlier keys and values: attention without the softmax.

Every layer is causal, and takes and returns (batch, steps, num_hiddens). Inside, a row is one head
of one sequence: q and k (rows, steps, head_size), v (rows, steps, width), a number per step
(rows, steps), and a memory S (rows, head_size, width), None while empty.
"""
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import merge_heads
from .checks import check_divides, check_sequence, check_size
from .settings import no_autocast

FeatureMap = Callable[[Tensor], Tensor]


def decay_mask(log_decay: Tensor) -> Tensor:
    """What step i still has of what step j stored: (rows, steps, steps), 0 where j > i.

    M_ij = a_{j+1} ⋯ a_i (Dao & Gu 2024, section 3.2.2). log_decay (rows, steps): log a, finite.
    """
    since, steps = log_decay.cumsum(1), log_decay.shape[1]
    later = torch.ones(steps, steps, dtype=torch.bool, device=log_decay.device).triu(1)
    return (since[:, :, None] - since[:, None]).masked_fill(later, -math.inf).exp()


def products(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None = None) -> Tensor:
    """All steps at once: (q kᵀ ⊙ M) v, with M as in ``decay_mask``."""
    scores = q @ k.mT
    return (scores.tril() if log_decay is None else scores * decay_mask(log_decay)) @ v


def advance(
    S: Tensor | None, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Go on by some steps: the output of each, and the memory after the last.

    One step: S' = a S + k vᵀ, y = S'ᵀ q (Katharopoulos et al. 2020, equations 18 to 20). More:
    ``products``, one reading of what came before, one update (Dao & Gu 2024, section 6).
    """
    since = torch.zeros_like(v[..., 0]) if log_decay is None else log_decay.cumsum(1)
    kept, left = since.exp()[..., None], (since[:, -1:] - since).exp()[..., None]
    new = (k * left).mT
    # One operation, as one update waits for another.
    later = new @ v if S is None else torch.baddbmm(S * kept[:, -1:], new, v)
    if q.shape[1] == 1:
        return q @ later, later
    Y = products(q, k, v, log_decay)
    return Y if S is None else Y + q * kept @ S, later


def corrections(S: Tensor | None, k: Tensor, v: Tensor, rate: Tensor) -> Tensor:
    """What to store in place of v by the delta rule: u_i = rate_i (v_i - what k_i finds).

    It finds Sᵀk_i + Σ_{j<i} (k_j·k_i) u_j: a triangular system for all u (Yang et al. 2024,
    section 3).
    """
    rate = rate[..., None]
    missing = rate * (v if S is None else v - k @ S)
    if k.shape[1] == 1:
        return missing
    earlier = rate * (k @ k.mT)  # only what is below the diagonal is read
    return torch.linalg.solve_triangular(earlier, missing, upper=False, unitriangular=True)


def elu_plus_one(X: Tensor) -> Tensor:
    """elu(x) + 1: x + 1 above 0, eˣ below, so positive (Katharopoulos et al. 2020, equation 7)."""
    return torch.where(X > 0, X + 1, X.clamp(max=0).exp())


class Memory(nn.Module):
    """What layers with a matrix as memory share: projections, heads, a state to hand on.

    W_q, W_k, W_v and W_o are those of ``MultiHeadAttention``. chunk_size chooses how the same is
    computed: 1, token by token; c, in chunks of c steps; None, all at once.
    """

    extra = 0  # columns of the memory beyond the width of a head
    gate: Callable[[Tensor], Tensor | None]  # a number for each head of each step, if any
    step: Callable[..., tuple[Tensor, Tensor]]  # as ``advance``, with the gate last

    def __init__(
        self, num_hiddens: int, num_heads: int, feature_map: FeatureMap | None,
        chunk_size: int | None,
    ):
        super().__init__()
        check_size(num_hiddens=num_hiddens, num_heads=num_heads,
                   chunk_size=1 if chunk_size is None else chunk_size)
        check_divides(num_heads, num_hiddens)
        self.num_heads, self.head_size = num_heads, num_hiddens // num_heads
        self.feature_map, self.chunk_size = feature_map, chunk_size
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(
        self, X: Tensor, *, state: Tensor | None = None, need_state: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """X (batch, steps, num_hiddens), at least one step. Returns the output, of X's shape.

        With ``need_state=True`` also the state after the last step, (batch, heads, head_size,
        head_size), in single precision at least; as ``state``, another call goes on from there.
        """
        check_sequence(X, self.W_q.in_features)
        heads, size = self.num_heads, self.head_size
        shape = len(X), heads, size, size + self.extra
        if state is not None and state.shape != shape:
            raise ValueError(f"state has shape {tuple(state.shape)}, expected {shape}")
        single = torch.promote_types(X.dtype, torch.float32)  # half precision loses sums
        q, k, v = (W(X).to(single).unflatten(-1, (heads, size))
                   for W in (self.W_q, self.W_k, self.W_v))
        gate = self.gate(X)
        with no_autocast(X):  # it would round each product, and with it the memory
            if self.feature_map is not None:
                q, k = self.feature_map(q), self.feature_map(k)
            inputs = [part.transpose(1, 2).flatten(0, 1) for part in (q, k, v)]
            if gate is not None:
                inputs.append(gate.to(q.dtype).mT.flatten(0, 1))
            S = None if state is None else state.to(q.dtype).flatten(0, 1)
            Y, S = self.run_chunks(S, need_state, *inputs)
        output = self.W_o(merge_heads(Y.unflatten(0, (-1, heads))).to(X.dtype))
        if S is None or not need_state:
            return output
        return output, S.unflatten(0, (-1, heads))

    def run_chunks(
        self, S: Tensor | None, need_state: bool, *inputs: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """One chunk after another; the last may be shorter."""
        outputs = []
        for parts in zip(*(X.split(self.chunk_size or X.shape[1], 1) for X in inputs)):
            Y, S = self.step(S, *parts)
            outputs.append(Y)
        return torch.cat(outputs, 1), S


class LinearAttention(Memory):
    """Causal attention without the softmax: the past fits in a memory that doesn't grow.

    y_i = Σ_{j≤i} M_ij (φ(q_i)·φ(k_j)) v_j / Σ_{j≤i} M_ij (φ(q_i)·φ(k_j)), in each head
    (Katharopoulos et al. 2020, section 3.2). feature_map: φ, positive where there is a normaliser,
    or None. normalise: whether to divide; the state then has one more column, for the sum. decay:
    None, M = 1; "input", M as in ``decay_mask``, with a_i = σ(w·x_i + b): the scalar case of
    Dao & Gu 2024, with Δ = softplus(-w·x_i - b) and A = -1.
    It starts near 1 - 2^(-5-h) in head h = 0, 1, ..., as Sun et al. 2023, section 2.2.
    """

    step = staticmethod(advance)

    def __init__(
        self, num_hiddens: int, num_heads: int = 1, *,
        feature_map: FeatureMap | None = elu_plus_one, normalise: bool = True,
        decay: str | None = None, chunk_size: int | None = None,
    ):
        super().__init__(num_hiddens, num_heads, feature_map, chunk_size)
        if decay not in (None, "input"):
            raise ValueError(f"{decay=} must be None or 'input'")
        if normalise and feature_map is None:
            raise ValueError("normalise=True needs a feature_map that is positive: "
                             "scores of both signs may add up to 0")
        self.decay, self.extra = decay, int(normalise)
        if decay == "input":
            self.W_a = nn.Linear(num_hiddens, num_heads)
            odds = 2.0 ** (5 + torch.arange(num_heads)) - 1  # of a = 1 - 1 / 2^(5 + head)
            self.W_a.bias.data = odds.log().to(self.W_a.bias)

    def gate(self, X: Tensor) -> Tensor | None:
        return None if self.decay is None else F.logsigmoid(self.W_a(X))

    def run_chunks(
        self, S: Tensor | None, need_state: bool, *inputs: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        q, k, v, *gate = inputs
        v = F.pad(v, (0, self.extra), value=1.0)  # its sum normalises
        if S is None and self.chunk_size is None and not need_state:
            Y = products(q, k, v, *gate)
        else:
            Y, S = super().run_chunks(S, need_state, q, k, v, *gate)
        if self.extra:
            Y = Y[..., :-1] / Y[..., -1:].clamp(min=torch.finfo(Y.dtype).tiny)
        return Y, S


class DeltaRule(Memory):
    """Linear attention whose memory stores what is missing, in place of all that comes.

    S_i = S_{i-1} + β_i k_i (v_i - S_{i-1}ᵀ k_i)ᵀ, y_i = S_iᵀ q_i, in each head: one step of
    gradient descent on |Sᵀk_i - v_i|² / 2 with rate β_i = max_rate σ(w·x_i + b) (Schlag et al.
    2021, section 4.2). Keys and queries have length 1, so that β = 1 replaces what a key had
    stored; rates above 1 turn its sign (Grazzi et al. 2025); beyond 2 it would grow without bound.
    """

    def __init__(
        self, num_hiddens: int, num_heads: int = 1, *, max_rate: float = 1.0,
        chunk_size: int | None = None,
    ):
        super().__init__(num_hiddens, num_heads, partial(F.normalize, dim=-1), chunk_size)
        if not 0 < max_rate <= 2:
            raise ValueError(f"{max_rate=} must lie in (0, 2]")
        self.max_rate = max_rate
        self.W_b = nn.Linear(num_hiddens, num_heads)

    def gate(self, X: Tensor) -> Tensor:
        return self.max_rate * self.W_b(X).sigmoid()

    def step(
        self, S: Tensor | None, q: Tensor, k: Tensor, v: Tensor, rate: Tensor,
    ) -> tuple[Tensor, Tensor]:
        return advance(S, q, k, corrections(S, k, v, rate))
