"""Runs made by hand: a few series, and what their logs say of the launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from holter.types import ConfigKey, ConfigValue, RunData, Series, SeriesKey


def series(name: str, values: Sequence[float] | np.ndarray, attempt: int = 0) -> Series:
    """One attempt's values at steps from 0 on, a second apart."""
    many = len(values)
    return Series(
        key=SeriesKey(name),
        attempt=np.full(many, attempt),
        step=np.arange(many),
        time=1.7e9 + np.arange(many, dtype=np.float64),
        value=np.asarray(values, dtype=np.float64),
    )


def run(config: Mapping[str, ConfigValue], **curves: Sequence[float] | np.ndarray) -> RunData:
    """A run of one attempt."""
    made = [series(name, values) for name, values in curves.items()]
    return RunData(
        series={one.key: one for one in made},
        config={ConfigKey(name): {0: value} for name, value in config.items()},
    )


NANOGPT: dict[str, ConfigValue] = {
    "n_layer": 12, "n_head": 12, "n_embd": 768, "block_size": 1024, "bias": False, "vocab_size": 50304,
    "batch_size": 12, "gradient_accumulation_steps": 40, "dtype": "bfloat16", "world_size": 8,
    "gpu.name": "NVIDIA H100 80GB HBM3",
}  # fmt: skip
LLAMA3_8B: dict[str, ConfigValue] = {
    "model.dim": 4096, "model.n_layers": 32, "model.n_heads": 32, "model.n_kv_heads": 8,
    "model.vocab_size": 128256, "model.multiple_of": 1024, "model.ffn_dim_multiplier": 1.3,
    "training.seq_len": 8192, "training.mixed_precision_param": "bfloat16",
    "activation_checkpoint.mode": "selective", "world_size": 8, "gpu.name": "NVIDIA H100 80GB HBM3",
}  # fmt: skip
MEGATRON_8B: dict[str, ConfigValue] = {
    "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "group_query_attention": True,
    "num_query_groups": 8, "kv_channels": 128, "ffn_hidden_size": 14336, "padded_vocab_size": 128256,
    "seq_length": 8192, "swiglu": True, "untie_embeddings_and_output_weights": True, "add_bias_linear": False,
    "position_embedding_type": "rope", "num_experts": "None", "bf16": True, "fp8": "None",
    "recompute_granularity": "None", "global_batch_size": 128, "world_size": 64,
    "gpu.name": "NVIDIA H100 80GB HBM3",
}  # fmt: skip
