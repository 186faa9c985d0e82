"""torchtitan: 6 (N - embeddings) + 6 L H (key + value width) s, the whole square of the attention."""

from __future__ import annotations

from holter.flops.formulas.formula import Formula
from holter.flops.shape import ModelShape


def _per_token(shape: ModelShape, recomputed: bool) -> float:
    # an embedding that is tied to the output is multiplied with, and stays
    embedding = 0 if shape.tied else shape.vocabulary * shape.hidden
    attention = 6 * shape.layers * shape.scored_width * shape.sequence
    return 6 * (shape.visited_parameters - embedding) + attention


TORCHTITAN = Formula(
    name="torchtitan",
    title="torchtitan 6(N - embeddings) + 6LH(qk + v)s",
    source=(
        "pytorch/torchtitan torchtitan/models/utils.py, get_nparams_and_active_nparams and "
        "quadratic_attention_flops_per_token (b5bcd76, 2026-08-21); v0.2.0 "
        "get_dense_model_nparams_and_flops has 12LHQs, which is the same, and leaves out tied embeddings "
        "too"
    ),
    causal=False,
    per_token=_per_token,
)
OLMO_CORE = Formula(
    name="olmo-core",
    title="OLMo-core 6N of blocks and head + 12LHQs",
    source=(
        "allenai/OLMo-core src/olmo_core/nn/transformer/model.py, num_flops_per_token, with those of "
        "attention, feed_forward and lm_head (v2.5.0); the count is torchtitan's"
    ),
    causal=False,
    per_token=_per_token,
)
