"""Megatron-LM from core 0.12 on: half of the attention; dense layers, experts and MLA told apart."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import LatentAttention, ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    gate = 1.5 if shape.gated else 1.0
    widths = float(shape.layers * shape.ffn)
    if shape.experts is not None:
        one = shape.experts
        widths = (shape.layers - one.layers) * shape.ffn + one.layers * (one.ffn * one.active + one.shared)
    ffn = 12 * shape.hidden * widths * gate
    logits = 6 * shape.hidden * shape.vocabulary
    return ffn + shape.layers * _attention(shape) + logits


def _attention(shape: ModelShape) -> float:
    if shape.latent is not None:
        return _latent(shape, shape.latent)
    projected = shape.head_width * shape.heads / shape.hidden
    inside = 1 + shape.kv_heads / shape.heads + shape.sequence / shape.hidden / 2
    return 12 * shape.hidden**2 * inside * projected


def _latent(shape: ModelShape, one: LatentAttention) -> float:
    width = shape.heads * (one.plain + one.rotary)
    queries = shape.hidden * width if one.query_rank is None else one.query_rank * (shape.hidden + width + 1)
    keys_values = one.key_value_rank * (shape.hidden + shape.heads * (one.plain + one.value) + 1)
    output = shape.heads * one.value * shape.hidden
    core = shape.sequence * (width + shape.heads * one.value) / 2
    return 6 * (queries + keys_values + shape.hidden * one.rotary + output + core)


MEGATRON_CAUSAL = Formula(
    name="megatron-0.12",
    title="Megatron-LM from 0.12 on, half of the attention",
    source=(
        "NVIDIA/Megatron-LM megatron/training/training.py, num_floating_point_operations "
        "(transformer_flops), core_v0.12.0 to core_v0.13.1 and, for unpacked sequences, d98e8a6 of "
        "2026-08-22; without its terms for multi-token prediction and for hybrid models"
    ),
    causal=True,
    per_token=_per_token,
)
