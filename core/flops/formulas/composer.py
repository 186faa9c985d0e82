"""Composer with llm-foundry: 3 (2 N s + 4 L d s^2) for a sequence."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    embedding = 0 if shape.tied else shape.vocabulary * shape.hidden
    weights = shape.visited_parameters - embedding
    return 3 * (2 * weights + 4 * shape.layers * shape.hidden * shape.sequence)


COMPOSER = Formula(
    name="llm-foundry",
    title="llm-foundry 3(2N + 4Lds)",
    source=(
        "mosaicml/llm-foundry llmfoundry/models/mpt/modeling_mpt.py, flops_per_batch and "
        "get_attention_flops, with mpt_get_active_params (8c8dd48, 2025-07-21); divided by Composer's "
        "peaks in composer/callbacks/speed_monitor.py"
    ),
    causal=False,
    per_token=_per_token,
)
