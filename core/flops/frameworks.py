"""Which framework reports a TFLOPS or an MFU, how it counts, and in what unit: by the names it gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Quantity(StrEnum):
    """What is reported."""

    MFU = "MFU"
    TFLOPS = "TFLOPS"


@dataclass(frozen=True, kw_only=True)
class Framework:
    """How a framework counts. `formulas`: their names, several where versions differ; none: `how` says it.

    `always`: the peak in TFLOPS that it divides by, whatever the device; `unknown`: those that its versions
    divide by where they do not know the device; `sparse`: those in its tables that are with sparsity.
    """

    name: str
    formulas: tuple[str, ...] = ()
    how: str = ""
    always: float | None = None
    unknown: tuple[float, ...] = ()
    sparse: tuple[float, ...] = ()


MEGATRON = Framework(name="Megatron-LM", formulas=("megatron-0.12", "megatron-0.11"))
BIGSCIENCE = Framework(name="Megatron-DeepSpeed", formulas=("bigscience", "megatron-paper"))
NEOX = Framework(name="GPT-NeoX", formulas=("megatron-paper",))
TORCHTITAN = Framework(name="torchtitan", formulas=("torchtitan",), unknown=(312.0,))
NANOGPT = Framework(name="nanoGPT", formulas=("palm",), always=312.0)
LLMC = Framework(name="llm.c", formulas=("llm.c",))
COMPOSER = Framework(name="Composer", formulas=("llm-foundry",))
OLMO_CORE = Framework(name="OLMo-core", formulas=("olmo-core",), unknown=(312.0, 156.0))
OLMO = Framework(name="OLMo", how="OLMo's own count, not repeated here")
NANOTRON = Framework(name="nanotron", formulas=("nanotron",))
# src/lightning/fabric/utilities/throughput.py: H200 SXM and NVL in 2.5.6 to 2.6.0, H100 NVL up to 2.6.0
FABRIC = Framework(
    name="Lightning Fabric",
    how="counted by torch's FlopCounterMode on the model itself",
    sparse=(2000.0, 1700.0, 1978.8),
)
MAXTEXT = Framework(name="MaxText", how="MaxText's own count, not repeated here")
DEEPSPEED = Framework(
    name="DeepSpeed", how="counted by DeepSpeed's profiler, or by the script that prints it"
)


@dataclass(frozen=True, kw_only=True)
class Reports:
    """What a metric of some name reports: a quantity, times `scale` as MFU (a share) or TFLOPS of one device.

    `scale` None: the name does not say whether it is a share or percents.
    """

    quantity: Quantity
    framework: Framework | None
    scale: float | None = 1.0


def _reports(quantity: Quantity, framework: Framework | None, scale: float | None = 1.0) -> Reports:
    return Reports(quantity=quantity, framework=framework, scale=scale)


_MFU, _TFLOPS = Quantity.MFU, Quantity.TFLOPS
_NAMES: tuple[tuple[re.Pattern[str], Reports], ...] = tuple(
    (re.compile(pattern), reports)
    for pattern, reports in (
        (r"throughput_per_gpu_\(tflop/s/gpu\)", _reports(_TFLOPS, MEGATRON)),
        (r"throughput/device/mfu(_\(actual_avg\))?", _reports(_MFU, None, None)),  # Composer's or OLMo-core's
        (r"throughput/device/flops_per_sec", _reports(_TFLOPS, COMPOSER, 1e-12)),
        (r"throughput/device/flopsps", _reports(_TFLOPS, OLMO, 1e-12)),
        (r"(.*[|/])?device[|/]mfu", _reports(_MFU, FABRIC)),
        (r"(.*[|/])?device[|/]flops_per_sec", _reports(_TFLOPS, FABRIC, 1e-12)),
        (r"(runtime/)?flops_per_sec_per_gpu|approx_flops_per_gpu", _reports(_TFLOPS, NEOX, 1e-12)),
        (
            r"tflop/s/device|perf/per_device_tflops_per_sec|per_device_tflops_per_sec",
            _reports(_TFLOPS, MAXTEXT),
        ),
        (r"(model|hardware)_tflops_per_gpu", _reports(_TFLOPS, NANOTRON)),
        (r"(.*/)?(mfu|hfu)(\(%\)|_\(%\)|_pct|_percent)", _reports(_MFU, None, 0.01)),
        (r"(.*/)?(mfu|hfu|model_flops_utili[sz]ation)", _reports(_MFU, None, None)),
        (r"(.*/)?(device/)?(t?flops|tflop/s)(_per_gpu|/gpu|_per_device)?", _reports(_TFLOPS, None)),
    )
)


def reports_of(metric: str, beside: frozenset[str], stated: str | None) -> Reports | None:
    """What a metric reports, told by its name and by those `beside` it in the run; `stated`: the framework as
    the log names itself. None: it reports neither TFLOPS nor MFU.
    """
    plain = re.sub(r"[\s-]+", "_", metric.strip().lower())
    found = next((one for pattern, one in _NAMES if pattern.fullmatch(plain)), None)
    if found is None or (plain.endswith("flops") and "total" in plain):
        return None
    framework = found.framework or _by_name(stated) or _by_company(metric, beside)
    scale = found.scale
    if metric.startswith("throughput/device/") and found.quantity is Quantity.MFU:
        olmo = metric.startswith("throughput/device/MFU")
        framework, scale = (OLMO_CORE, 0.01) if olmo else (COMPOSER, 1.0)
    return Reports(quantity=found.quantity, framework=framework, scale=scale)


def _by_name(stated: str | None) -> Framework | None:
    plain = re.sub(r"[\s_-]+", "", (stated or "").lower())
    names = {
        "megatron": MEGATRON, "megatronlm": MEGATRON, "megatrondeepspeed": BIGSCIENCE, "gptneox": NEOX,
        "torchtitan": TORCHTITAN, "nanogpt": NANOGPT, "llm.c": LLMC, "composer": COMPOSER,
        "olmocore": OLMO_CORE,
        "nanotron": NANOTRON, "litgpt": FABRIC, "maxtext": MAXTEXT, "deepspeed": DEEPSPEED,
    }  # fmt: skip
    return names.get(plain)


def _by_company(metric: str, beside: frozenset[str]) -> Framework | None:
    """A framework by what it logs together, where one name alone says little."""
    if metric in {"mfu(%)", "tflops"} and "throughput(tps)" in beside:
        return TORCHTITAN
    if metric == "mfu(%)" and {"tok/s", "step_time (ms)"} <= beside:
        return LLMC
    if metric == "mfu(%)" and {"loss", "step_time (ms)"} <= beside:
        return NANOGPT
    if metric == "mfu" and {"iter", "train/loss", "val/loss"} <= beside:
        return NANOGPT  # its W&B log
    if metric == "TFLOPs" and {"samples per second", "lm loss"} & beside:
        return BIGSCIENCE
    return None
