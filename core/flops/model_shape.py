"""A model's shape from a run's config, by the names that frameworks give its numbers. Nothing is guessed.

Experts and latent attention from a run's config, as Megatron, DeepSeek and Qwen say them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from holter.flops.launch_settings import Told
from holter.flops.names import GATED, NAMES, PLAIN, WORDS
from holter.flops.shape import Experts, LatentAttention, ModelShape


def latent_of(told: Told) -> LatentAttention | None:
    rank = told.whole(("kv_lora_rank",))
    if rank is None or told.flag(("multi_latent_attention",)) is False:
        return None
    plain = told.whole(("qk_nope_head_dim", "qk_head_dim"))
    rotary = told.whole(("qk_rope_head_dim", "qk_pos_emb_head_dim"))
    value = told.whole(("v_head_dim",))
    if plain is None or rotary is None or value is None:
        return None
    query = told.whole(("q_lora_rank",))
    return LatentAttention(key_value_rank=rank, plain=plain, rotary=rotary, value=value, query_rank=query)


def experts_of(told: Told, layers: int, ffn: int | None) -> tuple[Experts | None, list[str]]:
    count = told.whole(NAMES["experts"])
    if count is None or count == 1:
        return None, []
    active = told.whole(NAMES["active"])
    width = told.whole(NAMES["expert_ffn"]) or ffn
    which = _expert_layers(told, layers)
    missing = []
    if active is not None and active > count:  # `top_k` of sampling, say
        active = None
    if active is None:
        missing.append(f"{WORDS['active']} ({', '.join(NAMES['active'])})")
    if width is None:
        missing.append(f"the width of an expert ({', '.join(NAMES['expert_ffn'])})")
    if which is None:
        missing.append("which layers have experts (moe_layer_freq, first_k_dense_replace)")
    if active is None or width is None or which is None:
        return None, missing
    shared = (
        told.whole(NAMES["shared"]) or (told.whole(("n_shared_experts", "num_shared_experts")) or 0) * width
    )
    return Experts(count=count, active=active, ffn=width, layers=which, shared=shared), []


def _expert_layers(told: Told, layers: int) -> int | None:
    """How many layers have experts, as Megatron, DeepSeek and Qwen say it; all where nothing is said."""
    dense_first = told.whole(("first_k_dense_replace", "n_dense_layers", "num_dense_layers"))
    if dense_first is not None:
        return max(layers - dense_first, 0)
    every = told.whole(
        ("decoder_sparse_step", "interleave_moe_layer_step")
    )  # every one at the end of so many
    if every is not None:
        return layers // every
    pattern = told.get(("moe_layer_freq",))
    if pattern is None:
        return layers
    every = told.whole(("moe_layer_freq",))  # every one at the beginning of so many
    if every is not None:
        return -(-layers // every)
    return _marked(str(pattern), layers)


def _marked(pattern: str, layers: int) -> int | None:
    """How many layers a pattern such as "[0, 1, 1]" marks; arithmetic like "([0]*1+[1]*26)" is not run."""
    try:
        given = ast.literal_eval(pattern) if len(pattern) < 10_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(given, list | tuple) or len(given) != layers or not all(one in (0, 1) for one in given):
        return None
    return sum(given)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A shape, or what is missing for one, in words with the names that were looked for."""

    shape: ModelShape | None
    missing: tuple[str, ...] = ()


def shape_of(told: Told) -> Reading:
    """The shape of the model of a launch."""
    lacking = [
        name for name in ("layers", "hidden", "heads", "vocabulary", "sequence") if not _whole(told, name)
    ]
    layers, hidden, heads = (_whole(told, name) or 1 for name in ("layers", "hidden", "heads"))
    kv_heads, latent = _kv_heads(told, heads), latent_of(told)
    ffn, gated = _ffn(told, hidden), _gated(told)
    experts, wrong = experts_of(told, layers, ffn)
    missing = [f"{WORDS[name]} ({', '.join(NAMES[name])})" for name in lacking] + wrong
    if ffn is None and not (experts is not None and experts.layers == layers):
        missing.append(f"{WORDS['ffn']} ({', '.join(NAMES['ffn'])})")
    if gated is None:
        missing.append("whether the FFN is gated (swiglu, hidden_act with model_type, mlp_class_name)")
    if _is_hybrid(told):
        missing.append("a formula for layers that are no transformer's (a hybrid model)")
    if missing:
        return Reading(shape=None, missing=tuple(missing))
    head_width = _whole(told, "head_width") or hidden // heads
    shape = ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        ffn=ffn or 0,
        vocabulary=_whole(told, "vocabulary") or 1,
        sequence=_whole(told, "sequence") or 1,
        gated=bool(gated),
        tied=_tied(told),
        biases=_biases(told),
        positions=_positions(told),
        experts=experts,
        latent=latent,
        stated=told.whole(
            ("n_params", "num_params", "num_parameters", "total_parameters", "model.parameters")
        ),
    )
    return Reading(shape=shape)


def _is_hybrid(told: Told) -> bool:
    """Whether some layers are no transformer's."""
    patterns = ("hybrid_override_pattern", "hybrid_layer_pattern", "ssm_cfg", "mamba_state_dim")
    return bool(told.get(patterns)) and told.flag(("is_hybrid_model",)) is not False


def _whole(told: Told, name: str) -> int | None:
    return told.whole(NAMES[name])


def _kv_heads(told: Told, heads: int) -> int:
    grouped = told.flag(("group_query_attention",))
    if grouped is not None:  # Megatron's num_query_groups is 1 where nothing is grouped
        return (told.whole(("num_query_groups",)) or heads) if grouped else heads
    if told.flag(("multi_query_attention", "multi_query")):
        return 1
    return _whole(told, "kv_heads") or heads


def _ffn(told: Told, hidden: int) -> int | None:
    """The width of the FFN, by the rules of those frameworks that do not say it."""
    stated = _whole(told, "ffn")
    if stated is not None:
        return stated
    multiple = told.whole(("multiple_of",))
    if multiple is not None:  # llama's ModelArgs, which torchtitan and others took over
        factor = told.number(("ffn_dim_multiplier",)) or 1.0
        width = int(factor * int(2 * 4 * hidden / 3))
        return multiple * -(-width // multiple)
    ratio = told.number(("mlp_ratio", "expansion_ratio"))
    if ratio is not None:
        return int(ratio * hidden)
    known = _plain_by_name(told)
    return 4 * hidden if known else None


def _plain_by_name(told: Told) -> bool:
    """Whether this is GPT-2's shape: nanoGPT, llm.c (`channels`), Hugging Face's gpt2."""
    nano = told.get(("n_embd",)) is not None and told.get(("block_size",)) is not None
    litgpt = told.get(("mlp_class_name", "gpt_neox_mlp")) is not None
    return (
        (nano and not litgpt) or told.get(("channels",)) is not None or told.word(("model_type",)) == "gpt2"
    )


def _gated(told: Told) -> bool | None:
    for names in (("swiglu",), ("glu_activation",), ("gated_linear_unit",)):
        flag = told.flag(names)
        word = told.word(names)
        if flag is not None or word is not None:
            return bool(flag) or (word is not None and word not in {"false", "0"} and flag is not False)
    if told.named(("swiglu", "glu_activation", "bias_gelu_fusion")):
        return False  # Megatron's, without a value; its older versions knew no gate at all
    activation = told.word(("activation", "activation_type", "mlp_type", "ffn_type", "activation_func")) or ""
    if activation.endswith("glu"):  # swiglu, geglu, reglu, mptglu
        return True
    mlp = told.word(("mlp_class_name",))
    if mlp is not None:
        return mlp in {"llamamlp", "gemmamlp", "llamamoe"}
    model = told.word(("model_type",))
    if model in GATED or model in PLAIN:
        return model in GATED
    if told.get(("multiple_of",)) is not None or told.word(("hidden_act", "hidden_activation")) == "silu":
        return True
    return False if activation or _plain_by_name(told) or told.word(("hidden_act",)) else None


def _tied(told: Told) -> bool:
    untied = told.flag(("untie_embeddings_and_output_weights", "no_weight_tying"))
    if untied is not None:
        return not untied
    tied = told.flag(("tie_word_embeddings", "weight_tying", "tie_embeddings", "enable_weight_tying"))
    # GPT-2 and its kin tie them without a word
    return tied if tied is not None else _plain_by_name(told)


def _biases(told: Told) -> bool:
    disabled = told.flag(("disable_bias_linear", "no_bias"))
    if disabled is not None:
        return not disabled
    stated = told.flag(("add_bias_linear", "bias", "use_bias", "include_bias"))
    return (
        stated if stated is not None else told.word(("model_type",)) in PLAIN or bool(told.get(("channels",)))
    )


def _positions(told: Told) -> int:
    kind = told.word(("position_embedding_type",))
    learnt = kind == "learned_absolute" or (kind is None and _plain_by_name(told))
    names = ("n_positions", "max_position_embeddings", *NAMES["sequence"])
    return (told.whole(names) or 0) if learnt else 0
