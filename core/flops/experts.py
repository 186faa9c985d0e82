"""Experts and latent attention from a run's config, as Megatron, DeepSeek and Qwen say them."""

from __future__ import annotations

import ast

from holter.flops.names import NAMES, WORDS
from holter.flops.shape import Experts, LatentAttention
from holter.flops.told import Told


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
