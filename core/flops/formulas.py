"""The named formulas that count the floating point operations (FLOPs) of training, each with its source.

A formula is a function of a model's shape; the docstring of each function has the formula and where it comes
from. `FORMULAS` lists them by the names that are stored and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from holter.flops.shape import LatentAttention, ModelShape


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A published way to count the floating point operations of training, forward and backward.

    `per_token(shape, recomputed)` returns the FLOPs of one token. `recomputed` says that all activations are
    computed again; it matters only to formulas that count it, and what they have divided by the peak is then
    HFU, not MFU. `causal`: only the half of the attention below the diagonal is counted. `source` names
    repository, file and version.
    """

    name: str
    title: str
    source: str
    causal: bool
    per_token: Callable[[ModelShape, bool], float]


class Recomputation(StrEnum):
    """Which part of the forward pass is computed again in the backward pass."""

    NOTHING = "nothing"
    ATTENTION = "attention"
    LAYERS = "layers"


def forward_flops(shape: ModelShape) -> float:
    """FLOPs of one token's forward pass: two for each weight, and the causal half of the attention."""
    return _layers_forward(shape) + 2 * shape.head_weights


def recomputed_flops(shape: ModelShape, recomputed: Recomputation) -> float:
    """FLOPs that are computed again for one token, without what FlashAttention recomputes by design."""
    if recomputed is Recomputation.NOTHING:
        return 0.0
    return _layers_forward(shape) if recomputed is Recomputation.LAYERS else _causal_attention_forward(shape)


def _layers_forward(shape: ModelShape) -> float:
    return 2 * shape.block_weights + _causal_attention_forward(shape)


def _causal_attention_forward(shape: ModelShape) -> float:
    """Scores and weighted values: two FLOPs for each pair of tokens and width, half of the pairs."""
    return shape.layers * shape.scored_width * shape.sequence


def _holter(shape: ModelShape, recomputed: bool) -> float:
    """Holter's own: every matrix product, half of the attention, the backward pass twice the forward pass.

    Source: docs/throughput.md, after arXiv:2205.05198, appendix A.
    """
    return 3 * forward_flops(shape)


def _palm(shape: ModelShape, recomputed: bool) -> float:
    """PaLM's 6 N + 12 L H Q T, N without position embeddings only.

    Source: arXiv:2204.02311, appendix B, as nanoGPT's GPT.estimate_mfu has it.
    """
    weights = shape.visited_parameters - shape.positions * shape.hidden
    return 6 * weights + 6 * shape.layers * shape.scored_width * shape.sequence


def _megatron_full_attention(shape: ModelShape, recomputed: bool) -> float:
    """Megatron-LM up to core 0.11: the full square of the attention; every layer has experts.

    Source: megatron/training/training.py, num_floating_point_operations, core_v0.6.0 to core_v0.11.0.
    """
    gate = 1.5 if shape.gated else 1.0
    projected = shape.head_width * shape.heads / shape.hidden
    attention = (1 + shape.kv_heads / shape.heads + shape.sequence / shape.hidden) * projected
    # this formula has a single FFN width, that of dense layers where experts have another
    width = shape.ffn
    if shape.experts is not None:
        width = (shape.ffn or shape.experts.ffn) * shape.experts.active
    shared = 0 if shape.experts is None else shape.experts.shared
    logits = shape.vocabulary / (2 * shape.layers * shape.hidden)
    inside = attention + (width + shared) / shape.hidden * gate + logits
    return 12 * shape.layers * shape.hidden**2 * inside


def _megatron_causal_attention(shape: ModelShape, recomputed: bool) -> float:
    """Megatron-LM from core 0.12 on: half of the attention; dense layers, experts and MLA counted apart.

    Source: megatron/training/training.py, transformer_flops, core_v0.12.0 to core_v0.13.1.
    """
    gate = 1.5 if shape.gated else 1.0
    widths = float(shape.layers * shape.ffn)
    experts = shape.experts
    if experts is not None:
        expert_widths = experts.layers * (experts.ffn * experts.active + experts.shared)
        widths = (shape.layers - experts.layers) * shape.ffn + expert_widths
    ffn = 12 * shape.hidden * widths * gate
    logits = 6 * shape.hidden * shape.vocabulary
    return ffn + shape.layers * _megatron_attention(shape) + logits


def _megatron_attention(shape: ModelShape) -> float:
    if shape.latent is not None:
        return _megatron_latent_attention(shape, shape.latent)
    projected = shape.head_width * shape.heads / shape.hidden
    inside = 1 + shape.kv_heads / shape.heads + shape.sequence / shape.hidden / 2
    return 12 * shape.hidden**2 * inside * projected


def _megatron_latent_attention(shape: ModelShape, latent: LatentAttention) -> float:
    width = shape.heads * (latent.plain + latent.rotary)
    queries = (
        shape.hidden * width if latent.query_rank is None else latent.query_rank * (shape.hidden + width + 1)
    )
    keys_values = latent.key_value_rank * (shape.hidden + shape.heads * (latent.plain + latent.value) + 1)
    output = shape.heads * latent.value * shape.hidden
    core = shape.sequence * (width + shape.heads * latent.value) / 2
    return 6 * (queries + keys_values + shape.hidden * latent.rotary + output + core)


def _torchtitan(shape: ModelShape, recomputed: bool) -> float:
    """torchtitan's 6 (N - embeddings) + 6 L H (key + value width) s, the full square of the attention.

    Source: torchtitan/models/utils.py, quadratic_attention_flops_per_token. OLMo-core counts the same.
    """
    # an embedding that is tied to the output layer is multiplied with, and stays
    embedding = 0 if shape.tied else shape.vocabulary * shape.hidden
    attention = 6 * shape.layers * shape.scored_width * shape.sequence
    return 6 * (shape.visited_parameters - embedding) + attention


def _llmc(shape: ModelShape, recomputed: bool) -> float:
    """llm.c's 6 N + 6 L C T, half of the attention, N with every parameter.

    Source: train_gpt2.cu, gpt2_estimate_mfu.
    """
    return 6 * shape.parameters + 6 * shape.layers * shape.hidden * shape.sequence


def _megatron_paper(shape: ModelShape, recomputed: bool) -> float:
    """The Megatron paper's 24 (3 or 4) s L h^2 (1 + s/6h + V/16Lh); four passes with recomputation (HFU).

    Source: arXiv:2104.04473, equation 3, as GPT-NeoX's get_actual_flops has it.
    """
    return _by_paper(shape, recomputed, 24)


def _bigscience(shape: ModelShape, recomputed: bool) -> float:
    """The Megatron paper's formula with a coefficient of 32 instead of 24 where the FFN is gated.

    Source: bigscience-workshop/Megatron-DeepSpeed megatron/training.py, training_log.
    """
    return _by_paper(shape, recomputed, 32 if shape.gated else 24)


def _by_paper(shape: ModelShape, recomputed: bool, coefficient: int) -> float:
    passes = 4 if recomputed else 3
    logits = shape.vocabulary / (16 * shape.layers * shape.hidden)
    inside = 1 + shape.sequence / (6 * shape.hidden) + logits
    return coefficient * passes * shape.layers * shape.hidden**2 * inside


def _ml_engineering(shape: ModelShape, recomputed: bool) -> float:
    """The rule of thumb parameters x 2 x (3 or 4), without attention and experts.

    Source: stas00/ml-engineering training/performance/README.md.
    """
    return 2 * (4 if recomputed else 3) * shape.parameters


def _llm_foundry(shape: ModelShape, recomputed: bool) -> float:
    """llm-foundry's 3 (2 N s + 4 L d s^2) for a sequence, divided by its length.

    Source: llmfoundry/models/mpt/modeling_mpt.py, flops_per_batch.
    """
    embedding = 0 if shape.tied else shape.vocabulary * shape.hidden
    weights = shape.visited_parameters - embedding
    return 3 * (2 * weights + 4 * shape.layers * shape.hidden * shape.sequence)


def _nanotron(shape: ModelShape, recomputed: bool) -> float:
    """nanotron: every product of a Llama, the full square of the attention, three matrices in each FFN.

    Source: src/nanotron/models/llama.py, get_flops.
    """
    width = shape.hidden // shape.heads
    projections = 2 * shape.hidden * width * (2 * shape.heads + 2 * shape.kv_heads)
    scores = 4 * shape.heads * width * shape.sequence
    layer = projections + scores + 6 * shape.hidden * shape.ffn
    return 3.0 * (shape.layers * layer + 2 * shape.hidden * shape.vocabulary)


_FORMULAS = (
    Formula(
        name="holter",
        title="Holter's 6 · active weights + 6LHQs, causal",
        source=(
            "docs/throughput.md: matrices that a token is multiplied with (grouped queries, gated FFN, "
            "visited and shared experts, router, output layer), the attention's half below the diagonal, "
            "backward twice forward; after arXiv:2205.05198, appendix A"
        ),
        causal=True,
        per_token=_holter,
    ),
    Formula(
        name="palm",
        title="PaLM 6N + 12LHQT, as nanoGPT has it",
        source=(
            "karpathy/nanoGPT model.py, GPT.estimate_mfu and get_num_params (3adf61e, 2025-11-12), after "
            "arXiv:2204.02311, appendix B. N leaves out position embeddings only. MFU is against 312 TFLOPS, "
            "whatever the device"
        ),
        causal=False,
        per_token=_palm,
    ),
    Formula(
        name="megatron-0.11",
        title="Megatron-LM up to 0.11, the full square of the attention",
        source=(
            "NVIDIA/Megatron-LM megatron/training/training.py, num_floating_point_operations, core_v0.6.0 to "
            "core_v0.11.0 (shared experts from 0.10 on)"
        ),
        causal=False,
        per_token=_megatron_full_attention,
    ),
    Formula(
        name="megatron-0.12",
        title="Megatron-LM from 0.12 on, half of the attention",
        source=(
            "NVIDIA/Megatron-LM megatron/training/training.py, num_floating_point_operations "
            "(transformer_flops), core_v0.12.0 to core_v0.13.1 and, for unpacked sequences, d98e8a6 of "
            "2026-08-22; without its terms for multi-token prediction and for hybrid models"
        ),
        causal=True,
        per_token=_megatron_causal_attention,
    ),
    Formula(
        name="torchtitan",
        title="torchtitan 6(N - embeddings) + 6LH(qk + v)s",
        source=(
            "pytorch/torchtitan torchtitan/models/utils.py, get_nparams_and_active_nparams and "
            "quadratic_attention_flops_per_token (b5bcd76, 2026-08-21); v0.2.0 "
            "get_dense_model_nparams_and_flops has 12LHQs, which is the same, and leaves out tied embeddings "
            "too"
        ),
        causal=False,
        per_token=_torchtitan,
    ),
    Formula(
        name="olmo-core",
        title="OLMo-core 6N of blocks and head + 12LHQs",
        source=(
            "allenai/OLMo-core src/olmo_core/nn/transformer/model.py, num_flops_per_token, with those of "
            "attention, feed_forward and lm_head (v2.5.0); the count is torchtitan's"
        ),
        causal=False,
        per_token=_torchtitan,
    ),
    Formula(
        name="llm.c",
        title="llm.c 6N + 6LCT",
        source=(
            "karpathy/llm.c train_gpt2.cu, gpt2_estimate_mfu (f1e2ace, 2025-05-10). N is every parameter, "
            "position embeddings and norms included; the peak is llmc/mfu.h's"
        ),
        causal=True,
        per_token=_llmc,
    ),
    Formula(
        name="megatron-paper",
        title="the Megatron paper's 24(3|4)sLh²(1 + s/6h + V/16Lh), as GPT-NeoX has it",
        source=(
            "EleutherAI/gpt-neox megatron/logging.py, get_actual_flops (ea7aefd, 2026-05-19), and "
            "Megatron-DeepSpeed, after arXiv:2104.04473, equation 3. Four passes with checkpoint_activations;"
            " the FFN is 4h wide and not gated, heads share nothing, whatever the model"
        ),
        causal=False,
        per_token=_megatron_paper,
    ),
    Formula(
        name="bigscience",
        title="BigScience's (24|32)(3|4)sLh²(1 + s/6h + V/16Lh)",
        source=(
            "bigscience-workshop/Megatron-DeepSpeed megatron/training.py, training_log (8387ae1, 2023-12-07):"
            " as the Megatron paper, 32 instead of 24 with a gated FFN"
        ),
        causal=False,
        per_token=_bigscience,
    ),
    Formula(
        name="ml-engineering",
        title="Machine Learning Engineering's N · (3|4) · 2",
        source=(
            "stas00/ml-engineering training/performance/README.md: model_size_in_B * 4 * 2 * seqlen * "
            "global_batch_size / (time * gpus * 1e3) (744d01e, 2026-08-22). No attention, no experts"
        ),
        causal=False,
        per_token=_ml_engineering,
    ),
    Formula(
        name="llm-foundry",
        title="llm-foundry 3(2N + 4Lds)",
        source=(
            "mosaicml/llm-foundry llmfoundry/models/mpt/modeling_mpt.py, flops_per_batch and "
            "get_attention_flops, with mpt_get_active_params (8c8dd48, 2025-07-21); divided by Composer's "
            "peaks in composer/callbacks/speed_monitor.py"
        ),
        causal=False,
        per_token=_llm_foundry,
    ),
    Formula(
        name="nanotron",
        title="nanotron, every product of a Llama, the full square of the attention",
        source=(
            "huggingface/nanotron src/nanotron/models/llama.py, get_flops (2411b02, 2026-04-07); what it "
            "prints as hardware_tflops_per_gpu is the same number"
        ),
        causal=False,
        per_token=_nanotron,
    ),
)

FORMULAS: Mapping[str, Formula] = {formula.name: formula for formula in _FORMULAS}
"""All formulas by name. Holter's own comes first: the order decides which of several that fit is named."""
