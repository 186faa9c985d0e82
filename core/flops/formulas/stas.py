"""The rule of thumb of "Machine Learning Engineering": parameters x 2 x (3 or 4)."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    return 2 * (4 if recomputed else 3) * shape.parameters


STAS = Formula(
    name="ml-engineering",
    title="Machine Learning Engineering's N · (3|4) · 2",
    source=(
        "stas00/ml-engineering training/performance/README.md: model_size_in_B * 4 * 2 * seqlen * "
        "global_batch_size / (time * gpus * 1e3) (744d01e, 2026-08-22). No attention, no experts"
    ),
    causal=False,
    per_token=_per_token,
)
