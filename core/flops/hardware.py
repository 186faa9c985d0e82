"""Reads devices, precision, batch size and recomputation of a launch from its settings."""

from __future__ import annotations

from dataclasses import dataclass

from holter.flops.formulas import Recomputation
from holter.flops.launch_settings import LaunchSettings
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
    """The device of a launch with its peak; `missing` describes what the logs lack where the peak is unknown.

    `precision_assumed`: the launch does not state its precision, bf16 is assumed.
    """

    name: str | None
    peak: Peak | None
    precision: Precision
    precision_assumed: bool
    missing: tuple[str, ...] = ()


def device_of(settings: LaunchSettings, peaks: Peaks) -> Device:
    """The device that a launch runs on, with its peak in the precision that the launch states."""
    stated = precision_of(settings)
    precision = stated or Precision.BF16
    name = settings.get(DEVICE)
    if not isinstance(name, str):
        missing = f"the kind of accelerator ({', '.join(DEVICE)})"
        return Device(
            name=None, peak=None, precision=precision, precision_assumed=stated is None, missing=(missing,)
        )
    peak = peaks.of(name, precision)
    if peak is None:
        missing = f"the {precision} peak of {name}: none is known, set it under [peaks] of holter.toml"
        return Device(
            name=name, peak=None, precision=precision, precision_assumed=stated is None, missing=(missing,)
        )
    return Device(name=name, peak=peak, precision=precision, precision_assumed=stated is None)


def precision_of(settings: LaunchSettings) -> Precision | None:
    """The precision in which a launch multiplies matrices; None where it does not state it."""
    fp8_recipe = settings.word(("fp8", "fp8_format", "fp8_recipe"))
    if settings.flag(("fp8", "enable_fp8")) or (fp8_recipe is not None and settings.flag(("fp8",)) is None):
        return Precision.FP8
    for names, precision in (
        (("bf16", "bf16.enabled"), Precision.BF16),
        (("fp16", "fp16.enabled"), Precision.FP16),
    ):
        if settings.flag(names):
            return precision
    word = settings.word(_FORMATS)
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


def devices_of(settings: LaunchSettings) -> int | None:
    """The number of devices of a launch, all nodes together."""
    stated = settings.integer(DEVICES)
    if stated is not None:
        return stated
    nodes = settings.integer(("num_nodes", "nnodes", "slurm.nodes"))
    per_node = settings.integer(("devices", "gpus_per_node"))
    return nodes * per_node if nodes is not None and per_node is not None else None


def batch_of(settings: LaunchSettings, sequence: int | None) -> int | None:
    """Tokens of one step, all devices together; `sequence` is the length of a sequence in tokens."""
    tokens = settings.integer(TOKENS)
    if tokens is not None:
        return tokens
    # the train_batch_size of Hugging Face's Trainer is that of one device
    is_trainer = settings.mentions(("num_train_epochs", "logging_steps"))
    sequences = settings.integer(BATCH[:-1] if is_trainer else BATCH) or _sequences_by_device(settings)
    return None if sequences is None or sequence is None else sequences * sequence


def _sequences_by_device(settings: LaunchSettings) -> int | None:
    accumulation = settings.integer(("gradient_accumulation_steps",))
    if settings.get(("n_embd",)) is not None and settings.get(("block_size",)) is not None:
        # nanoGPT's gradient accumulation steps are those of all processes together
        micro = settings.integer(("batch_size",))
        return micro * accumulation if micro is not None and accumulation is not None else None
    per_device, devices = settings.integer(("per_device_train_batch_size",)), devices_of(settings)
    if per_device is None or devices is None:
        return None
    return per_device * devices * (accumulation or 1)


def recomputed_of(settings: LaunchSettings) -> Recomputation | None:
    """The part of the forward pass that is computed twice; None where a launch does not state how much."""
    if settings.get(("channels",)) is not None:
        return Recomputation.NOTHING  # llm.c recomputes only activations and norms, no matrix products
    flag = settings.flag(_RECOMPUTING)
    word = settings.word(_RECOMPUTING)
    if word is None and flag is None:
        return Recomputation.NOTHING if settings.mentions(_RECOMPUTING) else None
    if flag is not None:
        return Recomputation.LAYERS if flag else Recomputation.NOTHING
    if word == "full":
        return None if settings.word(("recompute_method",)) == "block" else Recomputation.LAYERS
    if (
        word == "selective" and settings.get(_RECOMPUTING[:2]) is not None
    ):  # Megatron's; others choose operations
        modules = settings.word(("recompute_modules",))
        return Recomputation.ATTENTION if modules is None or modules.strip("[]'\" ") == "core_attn" else None
    return None
