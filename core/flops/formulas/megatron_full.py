"""Megatron-LM up to core 0.11: the whole square of the attention; every layer has experts."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    gate = 1.5 if shape.gated else 1.0
    projected = shape.head_width * shape.heads / shape.hidden
    attention = (1 + shape.kv_heads / shape.heads + shape.sequence / shape.hidden) * projected
    # this formula knows one width of FFN alone, that of dense layers where experts have another
    width = shape.ffn
    if shape.experts is not None:
        width = (shape.ffn or shape.experts.ffn) * shape.experts.active
    shared = 0 if shape.experts is None else shape.experts.shared
    logits = shape.vocabulary / (2 * shape.layers * shape.hidden)
    inside = attention + (width + shared) / shape.hidden * gate + logits
    return 12 * shape.layers * shape.hidden**2 * inside


MEGATRON_FULL = Formula(
    name="megatron-0.11",
    title="Megatron-LM up to 0.11, the whole square of the attention",
    source=(
        "NVIDIA/Megatron-LM megatron/training/training.py, num_floating_point_operations, core_v0.6.0 to "
        "core_v0.11.0 (shared experts from 0.10 on)"
    ),
    causal=False,
    per_token=_per_token,
)
