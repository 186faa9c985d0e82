"""Identifies the framework behind a logged TFLOPS or MFU, its formula and its unit by the metric's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ReportedQuantity(StrEnum):
    """The quantity that a logged figure of throughput states."""

    MFU = "MFU"
    TFLOPS = "TFLOPS"


@dataclass(frozen=True, kw_only=True)
class Framework:
    """How a training framework counts TFLOPS and MFU.

    `formulas` are names of `FORMULAS`, several where versions differ; without any, `how` describes the count.
    `assumed_peak` is the peak in TFLOPS that it divides by whatever the device is, `fallback_peaks` are those
    that its versions divide by where they do not know the device, and `sparse_peaks` the entries of its
    tables that hold for sparse matrices.
    """

    name: str
    formulas: tuple[str, ...] = ()
    how: str = ""
    assumed_peak: float | None = None
    fallback_peaks: tuple[float, ...] = ()
    sparse_peaks: tuple[float, ...] = ()


MEGATRON = Framework(name="Megatron-LM", formulas=("megatron-0.12", "megatron-0.11"))
BIGSCIENCE = Framework(name="Megatron-DeepSpeed", formulas=("bigscience", "megatron-paper"))
NEOX = Framework(name="GPT-NeoX", formulas=("megatron-paper",))
TORCHTITAN = Framework(name="torchtitan", formulas=("torchtitan",), fallback_peaks=(312.0,))
NANOGPT = Framework(name="nanoGPT", formulas=("palm",), assumed_peak=312.0)
LLMC = Framework(name="llm.c", formulas=("llm.c",))
COMPOSER = Framework(name="Composer", formulas=("llm-foundry",))
OLMO_CORE = Framework(name="OLMo-core", formulas=("olmo-core",), fallback_peaks=(312.0, 156.0))
OLMO = Framework(name="OLMo", how="OLMo's own count, not repeated here")
NANOTRON = Framework(name="nanotron", formulas=("nanotron",))
# src/lightning/fabric/utilities/throughput.py: H200 SXM and NVL in 2.5.6 to 2.6.0, H100 NVL up to 2.6.0
FABRIC = Framework(
    name="Lightning Fabric",
    how="counted by torch's FlopCounterMode on the model itself",
    sparse_peaks=(2000.0, 1700.0, 1978.8),
)
MAXTEXT = Framework(name="MaxText", how="MaxText's own count, not repeated here")
DEEPSPEED = Framework(
    name="DeepSpeed", how="counted by DeepSpeed's profiler, or by the script that prints it"
)


@dataclass(frozen=True, kw_only=True)
class ReportedMetric:
    """The meaning of a metric's name: its values times `scale` are an MFU (a share) or TFLOPS of one device.

    `scale` is None where the name does not state whether the values are shares or percents.
    """

    quantity: ReportedQuantity
    framework: Framework | None
    scale: float | None = 1.0


def _metric(
    quantity: ReportedQuantity, framework: Framework | None, scale: float | None = 1.0
) -> ReportedMetric:
    return ReportedMetric(quantity=quantity, framework=framework, scale=scale)


_MFU, _TFLOPS = ReportedQuantity.MFU, ReportedQuantity.TFLOPS
_METRICS: tuple[tuple[re.Pattern[str], ReportedMetric], ...] = tuple(
    (re.compile(pattern), metric)
    for pattern, metric in (
        (r"throughput_per_gpu_\(tflop/s/gpu\)", _metric(_TFLOPS, MEGATRON)),
        (r"throughput/device/mfu(_\(actual_avg\))?", _metric(_MFU, None, None)),  # Composer's or OLMo-core's
        (r"throughput/device/flops_per_sec", _metric(_TFLOPS, COMPOSER, 1e-12)),
        (r"throughput/device/flopsps", _metric(_TFLOPS, OLMO, 1e-12)),
        (r"(.*[|/])?device[|/]mfu", _metric(_MFU, FABRIC)),
        (r"(.*[|/])?device[|/]flops_per_sec", _metric(_TFLOPS, FABRIC, 1e-12)),
        (r"(runtime/)?flops_per_sec_per_gpu|approx_flops_per_gpu", _metric(_TFLOPS, NEOX, 1e-12)),
        (
            r"tflop/s/device|perf/per_device_tflops_per_sec|per_device_tflops_per_sec",
            _metric(_TFLOPS, MAXTEXT),
        ),
        (r"(model|hardware)_tflops_per_gpu", _metric(_TFLOPS, NANOTRON)),
        (r"(.*/)?(mfu|hfu)(\(%\)|_\(%\)|_pct|_percent)", _metric(_MFU, None, 0.01)),
        (r"(.*/)?(mfu|hfu|model_flops_utili[sz]ation)", _metric(_MFU, None, None)),
        (r"(.*/)?(device/)?(t?flops|tflop/s)(_per_gpu|/gpu|_per_device)?", _metric(_TFLOPS, None)),
    )
)


def reported_metric(
    name: str, other_metrics: frozenset[str], stated_framework: str | None
) -> ReportedMetric | None:
    """The meaning of a metric by its name, and by the other metrics of the run where the name is ambiguous.

    `stated_framework` is the framework as the log names itself. Returns None for a metric that is neither
    TFLOPS nor MFU.
    """
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    match = next((metric for pattern, metric in _METRICS if pattern.fullmatch(plain)), None)
    if match is None or (plain.endswith("flops") and "total" in plain):
        return None
    framework = (
        match.framework
        or _framework_by_name(stated_framework)
        or _framework_by_other_metrics(name, other_metrics)
    )
    scale = match.scale
    if name.startswith("throughput/device/") and match.quantity is ReportedQuantity.MFU:
        is_olmo = name.startswith("throughput/device/MFU")
        framework, scale = (OLMO_CORE, 0.01) if is_olmo else (COMPOSER, 1.0)
    return ReportedMetric(quantity=match.quantity, framework=framework, scale=scale)


def _framework_by_name(stated: str | None) -> Framework | None:
    plain = re.sub(r"[\s_-]+", "", (stated or "").lower())
    names = {
        "megatron": MEGATRON, "megatronlm": MEGATRON, "megatrondeepspeed": BIGSCIENCE, "gptneox": NEOX,
        "torchtitan": TORCHTITAN, "nanogpt": NANOGPT, "llm.c": LLMC, "composer": COMPOSER,
        "olmocore": OLMO_CORE,
        "nanotron": NANOTRON, "litgpt": FABRIC, "maxtext": MAXTEXT, "deepspeed": DEEPSPEED,
    }  # fmt: skip
    return names.get(plain)


def _framework_by_other_metrics(metric: str, others: frozenset[str]) -> Framework | None:
    """The framework by the metrics that it logs together, where one name alone is ambiguous."""
    if metric in {"mfu(%)", "tflops"} and "throughput(tps)" in others:
        return TORCHTITAN
    if metric == "mfu(%)" and {"tok/s", "step_time (ms)"} <= others:
        return LLMC
    if metric == "mfu(%)" and {"loss", "step_time (ms)"} <= others:
        return NANOGPT
    if metric == "mfu" and {"iter", "train/loss", "val/loss"} <= others:
        return NANOGPT  # its W&B log
    if metric == "TFLOPs" and {"samples per second", "lm loss"} & others:
        return BIGSCIENCE
    return None
