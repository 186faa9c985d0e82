"""PaLM, appendix B, as nanoGPT has it: 6 N + 12 L H Q T."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    weights = shape.visited_parameters - shape.positions * shape.hidden
    return 6 * weights + 6 * shape.layers * shape.scored_width * shape.sequence


PALM = Formula(
    name="palm",
    title="PaLM 6N + 12LHQT, as nanoGPT has it",
    source=(
        "karpathy/nanoGPT model.py, GPT.estimate_mfu and get_num_params (3adf61e, 2025-11-12), after "
        "arXiv:2204.02311, appendix B. N leaves out position embeddings alone. MFU is against 312 TFLOPS,"
        " whatever the device"
    ),
    causal=False,
    per_token=_per_token,
)
