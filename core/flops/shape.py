"""A model's shape: the numbers that say how many floating point operations one token costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """The mixture of experts in `layers` of the model's layers; the others have an ordinary FFN.

    Of `count` routed experts of width `ffn` each token visits `active`; `shared` is the width of the experts
    that every token visits, all together (0: none).
    """

    count: int
    active: int
    ffn: int
    layers: int
    shared: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2): ranks of the compressed queries and keys, widths of a head.

    `query_rank` None: queries are not compressed. `plain` and `rotary` are the two parts of a key's width.
    """

    key_value_rank: int
    plain: int
    rotary: int
    value: int
    query_rank: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """A decoder-only transformer as its run is trained: `sequence` tokens long, every width in numbers.

    `heads` query heads share `kv_heads` keys and values, each `head_width` wide. `gated`: the FFN has three
    matrices (SwiGLU, GEGLU), not two. `vocabulary` as it is multiplied with, padding included. `positions`:
    how many position embeddings are learnt. `stated`: how many parameters the run itself says it has.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    ffn: int
    vocabulary: int
    sequence: int
    gated: bool = False
    tied: bool = False
    biases: bool = False
    positions: int = 0
    experts: Experts | None = None
    latent: LatentAttention | None = None
    stated: int | None = None

    @property
    def attention_weights(self) -> int:
        """Weights of one layer's projections: queries, keys, values, output."""
        if self.latent is None:
            return self.hidden * self.head_width * (2 * self.heads + 2 * self.kv_heads)
        one = self.latent
        query_width = self.heads * (one.plain + one.rotary)
        queries = (
            self.hidden * query_width
            if one.query_rank is None
            else one.query_rank * (self.hidden + query_width)
        )
        keys_values = self.hidden * (one.key_value_rank + one.rotary)
        keys_values += one.key_value_rank * self.heads * (one.plain + one.value)
        return queries + keys_values + self.heads * one.value * self.hidden

    @property
    def scored_width(self) -> int:
        """Widths of all heads' keys and values together: what one pair of tokens costs in multiplications."""
        if self.latent is None:
            return self.heads * 2 * self.head_width
        return self.heads * (self.latent.plain + self.latent.rotary + self.latent.value)

    @property
    def block_weights(self) -> int:
        """Weights of all layers that one token is multiplied with: of experts, only those that it visits."""
        matrices = 3 if self.gated else 2
        attention = self.layers * self.attention_weights
        if self.experts is None:
            return attention + self.layers * matrices * self.hidden * self.ffn
        one = self.experts
        dense = (self.layers - one.layers) * matrices * self.hidden * self.ffn
        visited = matrices * self.hidden * (one.active * one.ffn + one.shared)
        return attention + dense + one.layers * (visited + self.hidden * one.count)

    @property
    def head_weights(self) -> int:
        """Weights of the output layer, which every token is multiplied with, also where they are tied."""
        return self.vocabulary * self.hidden

    @property
    def active_weights(self) -> int:
        """All weights that one token is multiplied with; embeddings are looked up, not multiplied."""
        return self.block_weights + self.head_weights

    @property
    def parameters(self) -> int:
        """How many parameters the model has: as stated, or else counted from its shape.

        Counted are weights, biases and scales of norms; what else an architecture has (norms of queries, ...)
        is below a thousandth.
        """
        if self.stated is not None:
            return self.stated
        unseen = 0
        if self.experts is not None:
            one = self.experts
            matrices = 3 if self.gated else 2
            unseen = one.layers * matrices * self.hidden * one.ffn * (one.count - one.active)
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.block_weights + unseen + embeddings + self.positions * self.hidden + self._small

    @property
    def visited_parameters(self) -> int:
        """Parameters without the experts that a token does not visit."""
        if self.experts is None:
            return self.parameters
        one = self.experts
        matrices = 3 if self.gated else 2
        return self.parameters - one.layers * matrices * self.hidden * one.ffn * (one.count - one.active)

    @property
    def _small(self) -> int:
        norms = (2 * self.layers + 1) * self.hidden
        if not self.biases:
            return norms
        widths = (self.heads + 2 * self.kv_heads) * self.head_width + self.hidden + self.ffn + self.hidden
        return 2 * norms + self.layers * widths
