"""The Megatron paper's: 24 (3 or 4) s L h^2 (1 + s/6h + V/16Lh). With activations recomputed it is HFU."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    return _counted(shape, recomputed, 24)


def _bigscience(shape: ModelShape, recomputed: bool) -> float:
    return _counted(shape, recomputed, 32 if shape.gated else 24)


def _counted(shape: ModelShape, recomputed: bool, coefficient: int) -> float:
    passes = 4 if recomputed else 3
    logits = shape.vocabulary / (16 * shape.layers * shape.hidden)
    inside = 1 + shape.sequence / (6 * shape.hidden) + logits
    return coefficient * passes * shape.layers * shape.hidden**2 * inside


MEGATRON_PAPER = Formula(
    name="megatron-paper",
    title="the Megatron paper's 24(3|4)sLh²(1 + s/6h + V/16Lh), as GPT-NeoX has it",
    source=(
        "EleutherAI/gpt-neox megatron/logging.py, get_actual_flops (ea7aefd, 2026-05-19), and "
        "Megatron-DeepSpeed, after arXiv:2104.04473, equation 3. Four passes with checkpoint_activations;"
        " the FFN is 4h wide and not gated, heads share nothing, whatever the model"
    ),
    causal=False,
    per_token=_per_token,
)
BIGSCIENCE = Formula(
    name="bigscience",
    title="BigScience's (24|32)(3|4)sLh²(1 + s/6h + V/16Lh)",
    source=(
        "bigscience-workshop/Megatron-DeepSpeed megatron/training.py, training_log (8387ae1, 2023-12-07):"
        " as the Megatron paper, 32 instead of 24 with a gated FFN"
    ),
    causal=False,
    per_token=_bigscience,
)
