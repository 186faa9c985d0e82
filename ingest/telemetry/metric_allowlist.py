"""Which metrics of Prometheus exporters are kept, and their names and labels here.

An exporter of a node has thousands of series, most of which say nothing of training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from holter.ingest.telemetry import gpu_metrics as q
from holter.types import ConfigKey, Labels

_NAMES = {
    "DCGM_FI_DEV_GPU_UTIL": q.UTIL,
    "DCGM_FI_DEV_MEM_COPY_UTIL": q.MEMORY_UTIL,
    "DCGM_FI_DEV_FB_USED": q.MEMORY_USED,
    "DCGM_FI_DEV_FB_TOTAL": q.MEMORY_TOTAL,
    "DCGM_FI_DEV_POWER_USAGE": q.POWER,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": q.POWER_LIMIT,
    "DCGM_FI_DEV_GPU_TEMP": q.TEMPERATURE,
    "DCGM_FI_DEV_MEMORY_TEMP": q.MEMORY_TEMPERATURE,
    "DCGM_FI_DEV_SM_CLOCK": q.SM_CLOCK,
    "DCGM_FI_DEV_MEM_CLOCK": q.MEMORY_CLOCK,
    "DCGM_FI_DEV_XID_ERRORS": q.XID,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": q.ECC_CORRECTED,
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": q.ECC_UNCORRECTED,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": q.ROW_REMAP_FAILURE,
    "DCGM_FI_DEV_ROW_REMAP_PENDING": q.ROW_REMAP_PENDING,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": q.TENSOR_ACTIVE,
    "DCGM_FI_PROF_SM_ACTIVE": "gpu_sm_active",
    "DCGM_FI_PROF_DRAM_ACTIVE": "gpu_dram_active",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "gpu_engine_active",
    "gpu_gfx_activity": q.UTIL,  # AMD's device-metrics-exporter
    "gpu_umc_activity": q.MEMORY_UTIL,
    "gpu_package_power": q.POWER,
    "gpu_used_vram": q.MEMORY_USED,
    "gpu_total_vram": q.MEMORY_TOTAL,
    "gpu_junction_temperature": q.TEMPERATURE,
    "gpu_memory_temperature": q.MEMORY_TEMPERATURE,
    "gpu_ecc_correct_total": q.ECC_CORRECTED,
    "gpu_ecc_uncorrect_total": q.ECC_UNCORRECTED,
}
_KEPT = re.compile(
    r"DCGM_FI_(?:DEV|PROF)_\w+|DCGM_EXP_\w+"
    r"|node_(?:load1|vmstat_oom_kill|memory_Mem(?:Total|Available)_bytes|memory_Swap(?:Total|Free)_bytes"
    r"|edac_(?:un)?correctable_errors_total|pressure_(?:cpu|io|memory)_(?:waiting|stalled)_seconds_total"
    r"|infiniband_(?:port_data_(?:received|transmitted)_bytes|link_(?:downed|error_recovery)|port_transmit_wait"
    r"|port_errors_received|symbol_error|(?:excessive_buffer_overrun|local_link_integrity)_errors)_total"
    r"|network_(?:receive|transmit)_(?:bytes|errs)_total)"
)
_DROPPED = re.compile(r"DCGM_FI_DEV_(?:FB_RESERVED|VGPU_LICENSE_STATUS|(?:ENC|DEC)_UTIL)")
_OF_DCGM = {
    "gpu": "gpu",
    "Hostname": "host",
    "hostname": "host",
    "GPU_I_ID": "mig",
    "nvlink": "link",
    "link": "link",
}
_OF_DCGM |= {
    "nvswitch": "nvswitch",
    "err_code": "",
    "window_size_in_ms": "",
    "clock_event": "reason",
    "xid": "xid",
}
_OF_AMD = {"gpu_id": "gpu", "hostname": "host", "gpu_partition_id": "partition"}
_OF_NODES = {"instance": "host", "nodename": "host", "hostname": "host"}
_STATED = {
    "modelName": "gpu.name",
    "card_series": "gpu.name",
    "card_model": "gpu.name",
    "pci_bus_id": "gpu.pci_bus_id",
    "DCGM_FI_DRIVER_VERSION": "gpu.driver",
    "driver_version": "gpu.driver",
}


@lru_cache(maxsize=16_384)
def is_chosen(name: str) -> bool:
    """Whether a metric of this name is kept."""
    return name in _NAMES or (_KEPT.fullmatch(name) is not None and _DROPPED.fullmatch(name) is None)


def choice(patterns: Sequence[str]) -> Callable[[str], bool]:
    """`is_chosen`, or a name that one of these patterns takes: `node_disk_*`."""
    if not patterns:
        return is_chosen
    more = [re.compile(".*".join(re.escape(part) for part in pattern.split("*"))) for pattern in patterns]
    return lru_cache(maxsize=16_384)(
        lambda name: is_chosen(name) or any(pattern.fullmatch(name) for pattern in more)
    )


@lru_cache(maxsize=65_536)  # the same series, scrape after scrape
def named(name: str, labels: Labels) -> tuple[str, Mapping[str, str], tuple[tuple[ConfigKey, str], ...]]:
    """A sample's metric and labels here, and what its other labels say of the device."""
    of_gpu = _labels_of_gpus(name)
    if of_gpu is None:
        own = {_OF_NODES.get(label, label): value for label, value in labels}
        return _NAMES.get(name, name), own, ()
    own = {of_gpu[label]: value for label, value in labels if of_gpu.get(label) and value}
    device = {label: value for label, value in own.items() if label in ("gpu", "host", "mig")}
    said = [(_STATED[label], value) for label, value in labels if label in _STATED and value]
    about = tuple((q.about(setting, device), q.bus_id(value) or value[:200]) for setting, value in said)
    return _NAMES.get(name, name), own, about


def _labels_of_gpus(name: str) -> Mapping[str, str] | None:
    """How the labels that tell GPUs apart are called here; None for metrics of no GPU."""
    if name.startswith("DCGM_"):
        return _OF_DCGM
    return _OF_AMD if name.startswith("gpu_") else None
