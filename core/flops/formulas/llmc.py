"""llm.c: 6 N + 6 L C T, half of the attention."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    return 6 * shape.parameters + 6 * shape.layers * shape.hidden * shape.sequence


LLMC = Formula(
    name="llm.c",
    title="llm.c 6N + 6LCT",
    source=(
        "karpathy/llm.c train_gpt2.cu, gpt2_estimate_mfu (f1e2ace, 2025-05-10). N is every parameter, "
        "position embeddings and norms included; the peak is llmc/mfu.h's"
    ),
    causal=True,
    per_token=_per_token,
)
