"""Reads a model's shape from a launch's settings, by the names that frameworks give them; nothing is guessed.

Experts and latent attention are read as Megatron, DeepSeek and Qwen state them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from holter.flops.config_names import DESCRIPTIONS, GATED, NAMES, NOT_GATED
from holter.flops.launch_settings import LaunchSettings
from holter.flops.shape import Experts, LatentAttention, ModelShape


def parse_latent_attention(settings: LaunchSettings) -> LatentAttention | None:
    """The latent attention that a launch states; None where it has none, or states only a part."""
    rank = settings.integer(("kv_lora_rank",))
    if rank is None or settings.flag(("multi_latent_attention",)) is False:
        return None
    plain = settings.integer(("qk_nope_head_dim", "qk_head_dim"))
    rotary = settings.integer(("qk_rope_head_dim", "qk_pos_emb_head_dim"))
    value = settings.integer(("v_head_dim",))
    if plain is None or rotary is None or value is None:
        return None
    query = settings.integer(("q_lora_rank",))
    return LatentAttention(key_value_rank=rank, plain=plain, rotary=rotary, value=value, query_rank=query)


def parse_experts(settings: LaunchSettings, layers: int, ffn: int | None) -> tuple[Experts | None, list[str]]:
    """The experts that a launch states, if any, and a description of each missing number."""
    count = settings.integer(NAMES["experts"])
    if count is None or count == 1:
        return None, []
    active = settings.integer(NAMES["active"])
    width = settings.integer(NAMES["expert_ffn"]) or ffn
    expert_layers = _expert_layers(settings, layers)
    missing = []
    if active is not None and active > count:  # for example the `top_k` of sampling
        active = None
    if active is None:
        missing.append(f"{DESCRIPTIONS['active']} ({', '.join(NAMES['active'])})")
    if width is None:
        missing.append(f"the width of an expert ({', '.join(NAMES['expert_ffn'])})")
    if expert_layers is None:
        missing.append("which layers have experts (moe_layer_freq, first_k_dense_replace)")
    if active is None or width is None or expert_layers is None:
        return None, missing
    shared_experts = settings.integer(("n_shared_experts", "num_shared_experts")) or 0
    shared = settings.integer(NAMES["shared"]) or shared_experts * width
    return Experts(count=count, active=active, ffn=width, layers=expert_layers, shared=shared), []


def _expert_layers(settings: LaunchSettings, layers: int) -> int | None:
    """The number of layers with experts; all where nothing is stated, None where a pattern is unreadable."""
    dense_first = settings.integer(("first_k_dense_replace", "n_dense_layers", "num_dense_layers"))
    if dense_first is not None:
        return max(layers - dense_first, 0)
    # DeepSeek and Qwen count the last layer of each period
    period = settings.integer(("decoder_sparse_step", "interleave_moe_layer_step"))
    if period is not None:
        return layers // period
    pattern = settings.get(("moe_layer_freq",))
    if pattern is None:
        return layers
    period = settings.integer(("moe_layer_freq",))  # Megatron counts the first layer of each period
    if period is not None:
        return -(-layers // period)
    return _count_marked_layers(str(pattern), layers)


def _count_marked_layers(pattern: str, layers: int) -> int | None:
    """The number of layers that a pattern such as "[0, 1, 1]" marks; None where it is no such list.

    Arithmetic like "([0]*1+[1]*26)" is not evaluated.
    """
    try:
        marks = ast.literal_eval(pattern) if len(pattern) < 10_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if (
        not isinstance(marks, list | tuple)
        or len(marks) != layers
        or any(mark not in (0, 1) for mark in marks)
    ):
        return None
    return sum(marks)


@dataclass(frozen=True, kw_only=True)
class ParsedShape:
    """A shape, or a description of what is missing for one, with the names that were looked for."""

    shape: ModelShape | None
    missing: tuple[str, ...] = ()


def parse_shape(settings: LaunchSettings) -> ParsedShape:
    """The shape of a launch's model."""
    absent = [
        name
        for name in ("layers", "hidden", "heads", "vocabulary", "sequence")
        if not _integer(settings, name)
    ]
    layers, hidden, heads = (_integer(settings, name) or 1 for name in ("layers", "hidden", "heads"))
    kv_heads, latent = _kv_heads(settings, heads), parse_latent_attention(settings)
    ffn, gated = _ffn(settings, hidden), _gated(settings)
    experts, missing_of_experts = parse_experts(settings, layers, ffn)
    missing = [f"{DESCRIPTIONS[name]} ({', '.join(NAMES[name])})" for name in absent] + missing_of_experts
    if ffn is None and not (experts is not None and experts.layers == layers):
        missing.append(f"{DESCRIPTIONS['ffn']} ({', '.join(NAMES['ffn'])})")
    if gated is None:
        missing.append("whether the FFN is gated (swiglu, hidden_act with model_type, mlp_class_name)")
    if _is_hybrid(settings):
        missing.append("a formula for layers that are not a transformer's (a hybrid model)")
    if missing:
        return ParsedShape(shape=None, missing=tuple(missing))
    head_width = _integer(settings, "head_width") or hidden // heads
    shape = ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        ffn=ffn or 0,
        vocabulary=_integer(settings, "vocabulary") or 1,
        sequence=_integer(settings, "sequence") or 1,
        gated=bool(gated),
        tied=_tied(settings),
        biases=_biases(settings),
        positions=_positions(settings),
        experts=experts,
        latent=latent,
        stated=settings.integer(
            ("n_params", "num_params", "num_parameters", "total_parameters", "model.parameters")
        ),
    )
    return ParsedShape(shape=shape)


def _is_hybrid(settings: LaunchSettings) -> bool:
    """Whether some layers are not a transformer's."""
    patterns = ("hybrid_override_pattern", "hybrid_layer_pattern", "ssm_cfg", "mamba_state_dim")
    return bool(settings.get(patterns)) and settings.flag(("is_hybrid_model",)) is not False


def _integer(settings: LaunchSettings, name: str) -> int | None:
    return settings.integer(NAMES[name])


def _kv_heads(settings: LaunchSettings, heads: int) -> int:
    grouped = settings.flag(("group_query_attention",))
    if grouped is not None:  # Megatron's num_query_groups is 1 where queries are not grouped
        return (settings.integer(("num_query_groups",)) or heads) if grouped else heads
    if settings.flag(("multi_query_attention", "multi_query")):
        return 1
    return _integer(settings, "kv_heads") or heads


def _ffn(settings: LaunchSettings, hidden: int) -> int | None:
    """The width of the FFN, as stated or by the rule of a framework that does not state it."""
    stated = _integer(settings, "ffn")
    if stated is not None:
        return stated
    multiple = settings.integer(("multiple_of",))
    if multiple is not None:  # llama's ModelArgs, which torchtitan and others adopted
        factor = settings.number(("ffn_dim_multiplier",)) or 1.0
        width = int(factor * int(2 * 4 * hidden / 3))
        return multiple * -(-width // multiple)
    ratio = settings.number(("mlp_ratio", "expansion_ratio"))
    if ratio is not None:
        return int(ratio * hidden)
    return 4 * hidden if _is_gpt2(settings) else None


def _is_gpt2(settings: LaunchSettings) -> bool:
    """Whether the model is a GPT-2, by the settings of nanoGPT, llm.c (`channels`) and Hugging Face."""
    nano = settings.get(("n_embd",)) is not None and settings.get(("block_size",)) is not None
    litgpt = settings.get(("mlp_class_name", "gpt_neox_mlp")) is not None
    return (
        (nano and not litgpt)
        or settings.get(("channels",)) is not None
        or settings.word(("model_type",)) == "gpt2"
    )


def _gated(settings: LaunchSettings) -> bool | None:
    for names in (("swiglu",), ("glu_activation",), ("gated_linear_unit",)):
        flag = settings.flag(names)
        word = settings.word(names)
        if flag is not None or word is not None:
            return bool(flag) or (word is not None and word not in {"false", "0"} and flag is not False)
    if settings.mentions(("swiglu", "glu_activation", "bias_gelu_fusion")):
        return False  # Megatron's, without a value; its older versions have no gated FFN
    activation = (
        settings.word(("activation", "activation_type", "mlp_type", "ffn_type", "activation_func")) or ""
    )
    if activation.endswith("glu"):  # swiglu, geglu, reglu, mptglu
        return True
    mlp = settings.word(("mlp_class_name",))
    if mlp is not None:
        return mlp in {"llamamlp", "gemmamlp", "llamamoe"}
    model = settings.word(("model_type",))
    if model in GATED or model in NOT_GATED:
        return model in GATED
    if (
        settings.get(("multiple_of",)) is not None
        or settings.word(("hidden_act", "hidden_activation")) == "silu"
    ):
        return True
    return False if activation or _is_gpt2(settings) or settings.word(("hidden_act",)) else None


def _tied(settings: LaunchSettings) -> bool:
    untied = settings.flag(("untie_embeddings_and_output_weights", "no_weight_tying"))
    if untied is not None:
        return not untied
    tied = settings.flag(("tie_word_embeddings", "weight_tying", "tie_embeddings", "enable_weight_tying"))
    # GPT-2 and its variants tie them without stating it
    return tied if tied is not None else _is_gpt2(settings)


def _biases(settings: LaunchSettings) -> bool:
    disabled = settings.flag(("disable_bias_linear", "no_bias"))
    if disabled is not None:
        return not disabled
    stated = settings.flag(("add_bias_linear", "bias", "use_bias", "include_bias"))
    if stated is not None:
        return stated
    return settings.word(("model_type",)) in NOT_GATED or bool(settings.get(("channels",)))


def _positions(settings: LaunchSettings) -> int:
    kind = settings.word(("position_embedding_type",))
    learned = kind == "learned_absolute" or (kind is None and _is_gpt2(settings))
    names = ("n_positions", "max_position_embeddings", *NAMES["sequence"])
    return (settings.integer(names) or 0) if learned else 0
