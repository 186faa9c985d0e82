"""Holter's own formula: every product, forward and backward, half of the attention; what is recomputed."""

from __future__ import annotations

from enum import StrEnum

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


class Recomputed(StrEnum):
    """Which part of the forward pass is computed again in the backward pass."""

    NOTHING = "nothing"
    ATTENTION = "attention"
    LAYERS = "layers"


def forward(shape: ModelShape) -> float:
    """FLOPs of one token's forward pass: two for each weight, and the causal half of the attention."""
    return _layers(shape) + 2 * shape.head_weights


def again(shape: ModelShape, recomputed: Recomputed) -> float:
    """FLOPs of what is computed again for one token, without what FlashAttention repeats by itself."""
    if recomputed is Recomputed.NOTHING:
        return 0.0
    return _layers(shape) if recomputed is Recomputed.LAYERS else _attention(shape)


def _layers(shape: ModelShape) -> float:
    return 2 * shape.block_weights + _attention(shape)


def _attention(shape: ModelShape) -> float:
    """Scores and weighted values: two FLOPs for each pair of tokens and width, half of the pairs."""
    return shape.layers * shape.scored_width * shape.sequence


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    return 3 * forward(shape)


OWN = Formula(
    name="holter",
    title="Holter's 6 · active weights + 6LHQs, causal",
    source=(
        "docs/throughput.md: matrices that a token is multiplied with (grouped queries, gated FFN, "
        "visited and shared experts, router, output layer), the attention's half below the diagonal, "
        "backward twice forward; after arXiv:2205.05198, appendix A"
    ),
    causal=True,
    per_token=_per_token,
)
