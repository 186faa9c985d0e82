"""The shape of a model: the numbers that determine how many floating point operations one token costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """The mixture of experts in `layers` of the model's layers; the other layers have an ordinary FFN.

    Each token visits `active` of `count` routed experts of width `ffn`; `shared` is the total width of the
    experts that every token visits (0: none).
    """

    count: int
    active: int
    ffn: int
    layers: int
    shared: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2): ranks of the compressed queries and keys, widths of a head.

    `query_rank` is None where queries are not compressed. `plain` and `rotary` are parts of a key's width.
    """

    key_value_rank: int
    plain: int
    rotary: int
    value: int
    query_rank: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """The shape of a decoder-only transformer, trained on sequences of `sequence` tokens.

    `heads` query heads share `kv_heads` keys and values, each `head_width` wide. `gated`: the FFN has three
    matrices (SwiGLU, GEGLU), not two. `vocabulary` is the size that is multiplied with, padding included.
    `positions` is the number of learned position embeddings, `stated` the number of parameters that the run
    itself states.
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
        latent = self.latent
        query_width = self.heads * (latent.plain + latent.rotary)
        queries = (
            self.hidden * query_width
            if latent.query_rank is None
            else latent.query_rank * (self.hidden + query_width)
        )
        keys_values = self.hidden * (latent.key_value_rank + latent.rotary)
        keys_values += latent.key_value_rank * self.heads * (latent.plain + latent.value)
        return queries + keys_values + self.heads * latent.value * self.hidden

    @property
    def scored_width(self) -> int:
        """Widths of all heads' keys and values together: the multiplications of one pair of tokens."""
        if self.latent is None:
            return self.heads * 2 * self.head_width
        return self.heads * (self.latent.plain + self.latent.rotary + self.latent.value)

    @property
    def block_weights(self) -> int:
        """Weights of all layers that one token is multiplied with; of experts, only those it visits."""
        matrices = 3 if self.gated else 2
        attention = self.layers * self.attention_weights
        if self.experts is None:
            return attention + self.layers * matrices * self.hidden * self.ffn
        experts = self.experts
        dense = (self.layers - experts.layers) * matrices * self.hidden * self.ffn
        visited = matrices * self.hidden * (experts.active * experts.ffn + experts.shared)
        return attention + dense + experts.layers * (visited + self.hidden * experts.count)

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
        """The number of parameters of the model, as stated or else counted from its shape.

        Weights, biases and scales of norms are counted; other parts of an architecture (norms of queries,
        ...) are below a thousandth.
        """
        if self.stated is not None:
            return self.stated
        unseen = 0
        if self.experts is not None:
            experts = self.experts
            matrices = 3 if self.gated else 2
            unseen = experts.layers * matrices * self.hidden * experts.ffn * (experts.count - experts.active)
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return (
            self.block_weights + unseen + embeddings + self.positions * self.hidden + self._norms_and_biases
        )

    @property
    def visited_parameters(self) -> int:
        """Parameters without the experts that a token does not visit."""
        if self.experts is None:
            return self.parameters
        experts = self.experts
        matrices = 3 if self.gated else 2
        return self.parameters - experts.layers * matrices * self.hidden * experts.ffn * (
            experts.count - experts.active
        )

    @property
    def _norms_and_biases(self) -> int:
        norms = (2 * self.layers + 1) * self.hidden
        if not self.biases:
            return norms
        widths = (self.heads + 2 * self.kv_heads) * self.head_width + self.hidden + self.ffn + self.hidden
        return 2 * norms + self.layers * widths
