"""Shapes are read from configs as the frameworks write them; missing settings are named, not guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.flops import Experts, LatentAttention, ModelShape, Precision, Recomputation
from holter.flops.hardware import batch_of, devices_of, precision_of, recomputed_of
from holter.flops.launch_settings import LaunchSettings, settings_of_attempt
from holter.flops.shape_from_config import parse_shape
from holter.types import ConfigKey, ConfigValue
from tests.support import model_runs as made

LLAMA3_8B = ModelShape(
    layers=32, hidden=4096, heads=32, kv_heads=8, head_width=128, ffn=14336, vocabulary=128256, sequence=8192,
    gated=True,
)  # fmt: skip


def read(config: dict[str, ConfigValue]) -> ModelShape:
    reading = parse_shape(LaunchSettings(config))
    assert reading.shape is not None, reading.missing
    return reading.shape


@pytest.mark.parametrize(
    "config",
    [
        made.LLAMA3_8B,
        made.MEGATRON_8B,
        {  # config.json of Hugging Face beside a trainer's argument
            "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu",
            "max_position_embeddings": 131072, "tie_word_embeddings": False, "max_seq_length": 8192,
        },
        {  # litgpt
            "n_layer": 32, "n_embd": 4096, "n_head": 32, "n_query_groups": 8, "head_size": 128,
            "intermediate_size": 14336, "padded_vocab_size": 128256, "vocab_size": 128000, "block_size": 8192,
            "mlp_class_name": "LLaMAMLP", "bias": False,
        },
        {  # W&B's nested names, as text
            "model/config.n": "x", "model.config.num_hidden_layers": "32", "model.config.hidden_size": "4096",
            "model.config.num_attention_heads": "32", "model.config.num_key_value_heads": "8",
            "model.config.intermediate_size": "14336", "model.config.vocab_size": "128256",
            "model.config.model_type": "llama", "data.max_seq_length": "8192",
            "vision_config.hidden_size": "1280", "vision_config.num_hidden_layers": "24",
        },
    ],
    ids=["torchtitan", "megatron", "hugging face", "litgpt", "wandb"],
)  # fmt: skip
def test_one_model_in_the_settings_of_each_framework(config: dict[str, ConfigValue]) -> None:
    assert read(config) == LLAMA3_8B


def test_gpt2_in_nanogpts_settings() -> None:
    shape = read(made.NANOGPT)
    assert shape.parameters - shape.positions * shape.hidden == 123_587_328
    assert not shape.gated
    assert shape.tied


def test_megatrons_single_group_is_ignored_without_grouped_queries() -> None:
    config = made.MEGATRON_8B | {"group_query_attention": False, "num_query_groups": 1}
    assert read(config).kv_heads == 32


def test_mixtral() -> None:
    shape = read(
        {
            "model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
            "num_local_experts": 8, "num_experts_per_tok": 2, "max_seq_length": 4096,
        }
    )  # fmt: skip
    assert shape.experts == Experts(count=8, active=2, ffn=14336, layers=32)
    assert shape.parameters == 46_702_792_704


DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
    "moe_layer_freq": 1, "vocab_size": 129280, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "max_seq_length": 4096,
}  # fmt: skip


def test_deepseek_v3() -> None:
    shape = read(DEEPSEEK)
    assert shape.experts == Experts(count=256, active=8, ffn=2048, layers=58, shared=2048)
    assert shape.latent == LatentAttention(
        key_value_rank=512, plain=128, rotary=64, value=128, query_rank=1536
    )
    assert shape.visited_parameters == pytest.approx(37e9, rel=0.02)


@pytest.mark.parametrize(
    ("stated", "layers"),
    [
        ({"moe_layer_freq": 2}, 16),
        ({"moe_layer_freq": "[0, 1, 1, " + "1, " * 28 + "1]"}, 31),
        ({"moe_layer_freq": "[0, 1]"}, None),
        ({"moe_layer_freq": "([0]*1+[1]*31)"}, None),
        ({"decoder_sparse_step": 1}, 32),
        ({"first_k_dense_replace": 1}, 31),
        ({}, 32),
    ],
)
def test_which_layers_have_experts(stated: dict[str, ConfigValue], layers: int | None) -> None:
    config = made.MEGATRON_8B | {"num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 1024} | stated
    reading = parse_shape(LaunchSettings(config))
    if layers is None:
        assert any("which layers have experts" in word for word in reading.missing)
    else:
        assert reading.shape is not None
        assert reading.shape.experts is not None
        assert reading.shape.experts.layers == layers


def test_the_top_k_of_sampling_is_not_that_of_experts() -> None:
    config = made.MEGATRON_8B | {"num_experts": 8, "generation.top_k": 50}
    assert any("how many experts" in word for word in parse_shape(LaunchSettings(config)).missing)


@pytest.mark.parametrize(
    ("left_out", "word"),
    [
        ("num_layers", "how many layers"),
        ("padded_vocab_size", "the size of the vocabulary"),
        ("seq_length", "how long sequences are"),
        ("ffn_hidden_size", "the width of the FFN"),
        ("swiglu", "whether the FFN is gated"),
    ],
)
def test_a_missing_setting_is_named(left_out: str, word: str) -> None:
    reading = parse_shape(
        LaunchSettings({name: value for name, value in made.MEGATRON_8B.items() if name != left_out})
    )
    assert reading.shape is None
    assert any(word in missing for missing in reading.missing)


def test_a_hybrid_model_has_no_shape_here() -> None:
    reading = parse_shape(LaunchSettings(made.MEGATRON_8B | {"hybrid_override_pattern": "M-M*-"}))
    assert reading.shape is None


def test_contradicting_values_give_none() -> None:
    assert LaunchSettings({"a.num_layers": 2, "b.num_layers": 3}).integer(("num_layers",)) is None
    assert LaunchSettings({"a.num_layers": 2, "b.num_layers": 2}).integer(("num_layers",)) == 2


def test_an_attempt_uses_its_own_settings_or_the_last_ones_before() -> None:
    config = {
        ConfigKey("world_size"): {0: 64, 2: 128},
        ConfigKey("gpu.name", (("rank", "0"),)): {0: "NVIDIA H100 80GB HBM3"},
        ConfigKey("gpu.name", (("rank", "1"),)): {0: "NVIDIA H100 80GB HBM3"},
        ConfigKey("nccl.net", (("rank", "0"),)): {0: "IB"},
        ConfigKey("nccl.net", (("rank", "1"),)): {0: "Socket"},
    }
    assert [devices_of(settings_of_attempt(config, attempt)) for attempt in range(4)] == [64, 64, 128, 128]
    assert settings_of_attempt(config, 1).get(("gpu.name",)) == "NVIDIA H100 80GB HBM3"
    assert settings_of_attempt(config, 1).get(("nccl.net",)) is None
    assert devices_of(settings_of_attempt(config, -1)) is None


@pytest.mark.parametrize(
    ("stated", "precision"),
    [
        ({"bf16": True, "fp16": False}, Precision.BF16),
        ({"bf16": "True", "fp8": "hybrid"}, Precision.FP8),
        ({"bf16": True, "fp8": "None"}, Precision.BF16),
        ({"precision": "bf16-mixed"}, Precision.BF16),
        ({"precision": "amp_fp16"}, Precision.FP16),
        ({"precision": "32-true"}, Precision.FP32),
        ({"precision": "16"}, Precision.FP16),
        ({"params_dtype": "torch.bfloat16"}, Precision.BF16),
        ({"dtype": "'float16'"}, Precision.FP16),
        ({"bf16.enabled": True}, Precision.BF16),
        ({}, None),
    ],
)
def test_precision_as_launches_state_it(stated: dict[str, ConfigValue], precision: Precision | None) -> None:
    assert precision_of(LaunchSettings(stated)) is precision


@pytest.mark.parametrize(
    ("stated", "recomputed"),
    [
        ({"recompute_granularity": "full", "recompute_method": "uniform"}, Recomputation.LAYERS),
        ({"recompute_granularity": "full", "recompute_method": "block"}, None),
        ({"recompute_granularity": "selective"}, Recomputation.ATTENTION),
        ({"recompute_granularity": "selective", "recompute_modules": "['core_attn', 'mlp']"}, None),
        ({"recompute_granularity": "None"}, Recomputation.NOTHING),
        ({"checkpoint_activations": True}, Recomputation.LAYERS),
        ({"gradient_checkpointing": False}, Recomputation.NOTHING),
        ({"activation_checkpoint.mode": "selective"}, None),
        ({"activation_checkpoint.mode": "full"}, Recomputation.LAYERS),
        ({"activation_checkpoint.mode": "none"}, Recomputation.NOTHING),
        ({}, None),
    ],
)
def test_recomputation_as_launches_state_it(
    stated: dict[str, ConfigValue], recomputed: Recomputation | None
) -> None:
    assert recomputed_of(LaunchSettings(stated)) is recomputed


def test_tokens_of_a_step_by_each_frameworks_settings() -> None:
    assert batch_of(LaunchSettings(made.NANOGPT), 1024) == 491_520  # "tokens per iteration will be: 491,520"
    assert batch_of(LaunchSettings({"global_batch_size": 128}), 8192) == 128 * 8192
    assert batch_of(LaunchSettings({"total_batch_size": 524288}), 1024) == 524_288
    trainer: dict[str, ConfigValue] = {
        "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "world_size": 2,
    }  # fmt: skip
    assert batch_of(LaunchSettings(trainer), 512) == 4 * 8 * 2 * 512
    assert batch_of(LaunchSettings({}), 1024) is None
    state: dict[str, ConfigValue] = {"train_batch_size": 4, "num_train_epochs": 3, "logging_steps": 10}
    assert batch_of(LaunchSettings(state), 512) is None  # trainer_state.json has that of one device
    assert batch_of(LaunchSettings({"train_batch_size": 64}), 512) == 64 * 512  # DeepSpeed's is that of all


names = st.one_of(
    st.sampled_from(
        ["num_layers", "hidden_size", "n_embd", "moe_layer_freq", "num_experts", "swiglu", "fp8"]
    ),
    st.text(max_size=20),
)
values = st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.booleans())


@given(st.dictionaries(names, values, max_size=12))
def test_any_config_can_be_read(config: dict[str, ConfigValue]) -> None:
    settings = LaunchSettings(config | {"model." + name: value for name, value in config.items()})
    (
        parse_shape(settings),
        precision_of(settings),
        recomputed_of(settings),
        devices_of(settings),
        batch_of(settings, 1024),
    )
