"""nanotron: every product counted, the whole square of the attention, three matrices in each FFN."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    width = shape.hidden // shape.heads
    projections = 2 * shape.hidden * width * (2 * shape.heads + 2 * shape.kv_heads)
    scores = 4 * shape.heads * width * shape.sequence
    layer = projections + scores + 6 * shape.hidden * shape.ffn
    return 3.0 * (shape.layers * layer + 2 * shape.hidden * shape.vocabulary)


NANOTRON = Formula(
    name="nanotron",
    title="nanotron, every product of a Llama, the whole square of the attention",
    source=(
        "huggingface/nanotron src/nanotron/models/llama.py, get_flops (2411b02, 2026-04-07); what it "
        "prints as hardware_tflops_per_gpu is the same number"
    ),
    causal=False,
    per_token=_per_token,
)
