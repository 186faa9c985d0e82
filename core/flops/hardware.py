"""What a launch says of itself beside its model's shape: devices, precision, batch, what is recomputed."""

from __future__ import annotations

from dataclasses import dataclass

from holter.flops.formulas import Recomputed
from holter.flops.launch_settings import Told
from holter.flops.peaks import Peak, Peaks, Precision

DEVICES = ("world_size", "gpu.count", "num_gpus", "n_gpus", "num_devices", "num_processes")
BATCH = ("global_batch_size", "global_train_batch_size", "total_train_batch_size", "train_batch_size")
"""Sequences of one step, all devices together."""
TOKENS = ("tokens_per_step", "tokens_per_iteration", "total_batch_size", "tokens_per_iter")
DEVICE = ("gpu.name", "gpu_name", "gpu_type", "device_name", "gpu")
_FORMATS = ("dtype", "torch_dtype", "params_dtype", "precision", "mixed_precision", "mixed_precision_param")
_RECOMPUTING = (
    "recompute_granularity",
    "activations_checkpoint_granularity",
    "checkpoint_activations",
    "gradient_checkpointing",
    "activation_checkpoint.mode",
    "activation_checkpointing",
)


@dataclass(frozen=True, kw_only=True)
class Device:
    """What one device can do, or what is missing to know it. `assumed`: the precision is not stated."""

    name: str | None
    peak: Peak | None
    precision: Precision
    assumed: bool
    missing: tuple[str, ...] = ()


def device_of(told: Told, peaks: Peaks) -> Device:
    """The device that a launch runs on, with its peak in the precision that the launch says."""
    stated = precision_of(told)
    precision = stated or Precision.BF16
    name = told.get(DEVICE)
    if not isinstance(name, str):
        missing = f"the kind of accelerator ({', '.join(DEVICE)})"
        return Device(name=None, peak=None, precision=precision, assumed=stated is None, missing=(missing,))
    peak = peaks.of(name, precision)
    if peak is None:
        missing = f"the {precision} peak of {name}: none is known, say it under [peaks] of holter.toml"
        return Device(name=name, peak=None, precision=precision, assumed=stated is None, missing=(missing,))
    return Device(name=name, peak=peak, precision=precision, assumed=stated is None)


def precision_of(told: Told) -> Precision | None:
    """In what a launch multiplies matrices; None where it does not say."""
    eighth = told.word(("fp8", "fp8_format", "fp8_recipe"))
    if told.flag(("fp8", "enable_fp8")) or (eighth is not None and told.flag(("fp8",)) is None):
        return Precision.FP8
    for names, precision in (
        (("bf16", "bf16.enabled"), Precision.BF16),
        (("fp16", "fp16.enabled"), Precision.FP16),
    ):
        if told.flag(names):
            return precision
    word = told.word(_FORMATS)
    if word is None:
        return None
    for part, precision in (
        ("fp8", Precision.FP8), ("float8", Precision.FP8), ("bf16", Precision.BF16),
        ("bfloat16", Precision.BF16), ("tf32", Precision.TF32), ("float32", Precision.FP32),
        ("fp32", Precision.FP32), ("32", Precision.FP32), ("16", Precision.FP16), ("half", Precision.FP16),
    ):  # fmt: skip
        if part in word:
            return precision
    return None


def devices_of(told: Told) -> int | None:
    """How many devices take part, all nodes together."""
    stated = told.whole(DEVICES)
    if stated is not None:
        return stated
    nodes, each = told.whole(("num_nodes", "nnodes", "slurm.nodes")), told.whole(("devices", "gpus_per_node"))
    return nodes * each if nodes is not None and each is not None else None


def batch_of(told: Told, sequence: int | None) -> int | None:
    """Tokens of one step, all devices together, by what each framework calls it."""
    tokens = told.whole(TOKENS)
    if tokens is not None:
        return tokens
    trainer = told.named(("num_train_epochs", "logging_steps"))  # whose train_batch_size is one device's
    sequences = told.whole(BATCH[:-1] if trainer else BATCH) or _by_device(told)
    return None if sequences is None or sequence is None else sequences * sequence


def _by_device(told: Told) -> int | None:
    gathered = told.whole(("gradient_accumulation_steps",))
    if told.get(("n_embd",)) is not None and told.get(("block_size",)) is not None:
        micro = told.whole(
            ("batch_size",)
        )  # nanoGPT's steps of gathering are those of all processes together
        return micro * gathered if micro is not None and gathered is not None else None
    each, devices = told.whole(("per_device_train_batch_size",)), devices_of(told)
    return each * devices * (gathered or 1) if each is not None and devices is not None else None


def recomputed_of(told: Told) -> Recomputed | None:
    """Which part of the forward pass is computed twice; None where a launch does not say, or not how much."""
    if told.get(("channels",)) is not None:
        return Recomputed.NOTHING  # llm.c repeats activations and norms alone, no products
    flag = told.flag(_RECOMPUTING)
    word = told.word(_RECOMPUTING)
    if word is None and flag is None:
        return Recomputed.NOTHING if told.named(_RECOMPUTING) else None
    if flag is not None:
        return Recomputed.LAYERS if flag else Recomputed.NOTHING
    if word == "full":
        return None if told.word(("recompute_method",)) == "block" else Recomputed.LAYERS
    if word == "selective" and told.get(_RECOMPUTING[:2]) is not None:  # Megatron's; others choose operations
        modules = told.word(("recompute_modules",))
        return Recomputed.ATTENTION if modules is None or modules.strip("[]'\" ") == "core_attn" else None
    return None
