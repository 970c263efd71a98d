"""A small Transformer made of the package's parts: two blocks, and an encoder-decoder."""
import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .checks import check_sequence, check_size
from .positional import PositionalEncoding


class Block(nn.Module):
    """Attentions, a feed-forward network, a norm before each.

    num_kv_heads: as in ``MultiHeadAttention``.
    """

    attentions: tuple[str, ...] = ("attention",)
    attention: MultiHeadAttention

    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float = 0.0, *,
        num_kv_heads: int | None = None,
    ):
        super().__init__()
        for name in self.attentions:
            layer = MultiHeadAttention(num_hiddens, num_heads, num_kv_heads=num_kv_heads)
            setattr(self, name, layer)
        inner = 4 * num_hiddens
        self.network = nn.Sequential(
            nn.Linear(num_hiddens, inner), nn.ReLU(), nn.Linear(inner, num_hiddens))
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens)
                                   for _ in (*self.attentions, self.network))
        self.dropout = nn.Dropout(dropout)


class EncoderBlock(Block):
    """Self-attention, then a feed-forward network, pre-norm (Xiong et al. 2020, section 3).

    X + attention(norm(X)), then X + network(norm(X)). Takes (batch, steps, num_hiddens) and lengths
    (batch,), returns the shape of X.
    """

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        check_sequence(X, self.attention.W_q.in_features)
        Y = self.norms[0](X)
        X = X + self.dropout(self.attention(Y, Y, Y, valid_lens))
        return X + self.dropout(self.network(self.norms[1](X)))


class DecoderBlock(Block):
    """Causal self-attention, cross-attention to the encoder's output, then a feed-forward network.

    From Vaswani et al. 2017, section 3.1, here pre-norm. Takes (batch, steps, num_hiddens),
    ``memory`` (batch, source steps, num_hiddens) and the source's lengths (batch,); returns the
    shape of X.
    """

    attentions = "attention", "cross"
    cross: MultiHeadAttention

    def forward(self, X: Tensor, memory: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        check_sequence(X, self.attention.W_q.in_features)
        Y = self.norms[0](X)
        X = X + self.dropout(self.attention(Y, Y, Y, causal=True))
        X = X + self.dropout(self.cross(self.norms[1](X), memory, memory, valid_lens))
        return X + self.dropout(self.network(self.norms[2](X)))


class EncoderDecoder(nn.Module):
    """A Transformer with sinusoidal positions (Vaswani et al. 2017, section 3).

    layers: blocks on either side. Takes symbols, integers from 0, source (batch, source steps) and
    target (batch, steps), at most ``max_len``, and the source's lengths (batch,); returns scores
    (batch, steps, target_vocab_size) for the symbol *after* each step.
    """

    def __init__(
        self, source_vocab_size: int, target_vocab_size: int, num_hiddens: int, num_heads: int,
        layers: int = 1, dropout: float = 0.0, max_len: int = 1000, *,
        num_kv_heads: int | None = None,
    ):
        super().__init__()
        check_size(layers=layers)
        self.source = nn.Embedding(source_vocab_size, num_hiddens)
        self.target = nn.Embedding(target_vocab_size, num_hiddens)
        self.positions = PositionalEncoding(num_hiddens, dropout, max_len)
        sizes, kv = (num_hiddens, num_heads, dropout), num_kv_heads
        self.encoder = nn.ModuleList(EncoderBlock(*sizes, num_kv_heads=kv) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderBlock(*sizes, num_kv_heads=kv) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens) for _ in range(2))
        self.scores = nn.Linear(num_hiddens, target_vocab_size)

    def forward(self, source: Tensor, target: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        return self.decode(target, self.encode(source, valid_lens), valid_lens)

    def encode(self, source: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """What the decoder reads: (batch, source steps, num_hiddens)."""
        X = self.positions(self.source(source.long()))
        for block in self.encoder:
            X = block(X, valid_lens)
        return self.norms[0](X)

    def decode(self, target: Tensor, memory: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Scores for the symbol after each step: (batch, steps, target_vocab_size)."""
        X = self.positions(self.target(target.long()))
        for block in self.decoder:
            X = block(X, memory, valid_lens)
        return self.scores(self.norms[1](X))

    @torch.no_grad()
    def generate(
        self, source: Tensor, length: int, start: int, valid_lens: Tensor | None = None,
    ) -> Tensor:
        """Greedy decoding: the likeliest symbol after ``start``, and so on: (batch, length)."""
        check_size(0, length=length)
        memory = self.encode(source, valid_lens)
        target = source.new_full((len(source), 1), start)
        for _ in range(length):
            following = self.decode(target, memory, valid_lens)[:, -1].argmax(-1)
            target = torch.cat([target, following[:, None]], dim=1)
        return target[:, 1:]
