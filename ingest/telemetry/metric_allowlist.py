"""The metrics of Prometheus exporters that are stored, and Holter's names for them and their labels.

A node's exporter has thousands of series, most of which are irrelevant to training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import re2  # type: ignore[import-untyped]

from holter.ingest.telemetry import gpu_metrics as metrics
from holter.types import ConfigKey, Labels

_NAMES = {
    "DCGM_FI_DEV_GPU_UTIL": metrics.UTIL,
    "DCGM_FI_DEV_MEM_COPY_UTIL": metrics.MEMORY_UTIL,
    "DCGM_FI_DEV_FB_USED": metrics.MEMORY_USED,
    "DCGM_FI_DEV_FB_TOTAL": metrics.MEMORY_TOTAL,
    "DCGM_FI_DEV_POWER_USAGE": metrics.POWER,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": metrics.POWER_LIMIT,
    "DCGM_FI_DEV_GPU_TEMP": metrics.TEMPERATURE,
    "DCGM_FI_DEV_MEMORY_TEMP": metrics.MEMORY_TEMPERATURE,
    "DCGM_FI_DEV_SM_CLOCK": metrics.SM_CLOCK,
    "DCGM_FI_DEV_MEM_CLOCK": metrics.MEMORY_CLOCK,
    "DCGM_FI_DEV_XID_ERRORS": metrics.XID,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": metrics.ECC_CORRECTED,
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": metrics.ECC_UNCORRECTED,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": metrics.ROW_REMAP_FAILURE,
    "DCGM_FI_DEV_ROW_REMAP_PENDING": metrics.ROW_REMAP_PENDING,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": metrics.TENSOR_ACTIVE,
    "DCGM_FI_PROF_SM_ACTIVE": "gpu_sm_active",
    "DCGM_FI_PROF_DRAM_ACTIVE": "gpu_dram_active",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "gpu_engine_active",
    "gpu_gfx_activity": metrics.UTIL,  # AMD's device-metrics-exporter
    "gpu_umc_activity": metrics.MEMORY_UTIL,
    "gpu_package_power": metrics.POWER,
    "gpu_used_vram": metrics.MEMORY_USED,
    "gpu_total_vram": metrics.MEMORY_TOTAL,
    "gpu_junction_temperature": metrics.TEMPERATURE,
    "gpu_memory_temperature": metrics.MEMORY_TEMPERATURE,
    "gpu_ecc_correct_total": metrics.ECC_CORRECTED,
    "gpu_ecc_uncorrect_total": metrics.ECC_UNCORRECTED,
}
_ALLOWED = re.compile(
    r"DCGM_FI_(?:DEV|PROF)_\w+|DCGM_EXP_\w+"
    r"|node_(?:load1|vmstat_oom_kill|memory_Mem(?:Total|Available)_bytes|memory_Swap(?:Total|Free)_bytes"
    r"|edac_(?:un)?correctable_errors_total|pressure_(?:cpu|io|memory)_(?:waiting|stalled)_seconds_total"
    r"|infiniband_(?:port_data_(?:received|transmitted)_bytes|link_(?:downed|error_recovery)|port_transmit_wait"
    r"|port_errors_received|symbol_error|(?:excessive_buffer_overrun|local_link_integrity)_errors)_total"
    r"|network_(?:receive|transmit)_(?:bytes|errs)_total)"
)
_EXCLUDED = re.compile(r"DCGM_FI_DEV_(?:FB_RESERVED|VGPU_LICENSE_STATUS|(?:ENC|DEC)_UTIL)")
_DCGM_LABELS = {
    "gpu": "gpu",
    "Hostname": "host",
    "hostname": "host",
    "GPU_I_ID": "mig",
    "nvlink": "link",
    "link": "link",
}
_DCGM_LABELS |= {
    "nvswitch": "nvswitch",
    "err_code": "",
    "window_size_in_ms": "",
    "clock_event": "reason",
    "xid": "xid",
}
_AMD_LABELS = {"gpu_id": "gpu", "hostname": "host", "gpu_partition_id": "partition"}
_NODE_LABELS = {"instance": "host", "nodename": "host", "hostname": "host"}
_SETTINGS = {
    "modelName": "gpu.name",
    "card_series": "gpu.name",
    "card_model": "gpu.name",
    "pci_bus_id": "gpu.pci_bus_id",
    "DCGM_FI_DRIVER_VERSION": "gpu.driver",
    "driver_version": "gpu.driver",
}


@lru_cache(maxsize=16_384)
def is_allowed(name: str) -> bool:
    """Whether a metric of this name is stored by default."""
    return name in _NAMES or (_ALLOWED.fullmatch(name) is not None and _EXCLUDED.fullmatch(name) is None)


def build_allowlist(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A predicate for metric names: `is_allowed`, or a match of a pattern such as `node_disk_*`."""
    if not patterns:
        return is_allowed
    # RE2, since several stars would make a backtracking search slow, and an exporter chooses the names
    more = [re2.compile(".*".join(re2.escape(part) for part in pattern.split("*"))) for pattern in patterns]
    return lru_cache(maxsize=16_384)(
        lambda name: is_allowed(name) or any(pattern.fullmatch(name) for pattern in more)
    )


@lru_cache(maxsize=65_536)  # every scrape has the same series
def standard_names(
    name: str, labels: Labels
) -> tuple[str, Mapping[str, str], tuple[tuple[ConfigKey, str], ...]]:
    """Holter's name of a sample's metric, its labels, and the device's settings that its labels state."""
    gpu_labels = _gpu_labels(name)
    if gpu_labels is None:
        own = {_NODE_LABELS.get(label, label): value for label, value in labels}
        return _NAMES.get(name, name), own, ()
    own = {gpu_labels[label]: value for label, value in labels if gpu_labels.get(label) and value}
    device = {label: value for label, value in own.items() if label in ("gpu", "host", "mig")}
    stated = [(_SETTINGS[label], value) for label, value in labels if label in _SETTINGS and value]
    settings = tuple(
        (metrics.device_setting(setting, device), metrics.normalize_bus_id(value) or value[:200])
        for setting, value in stated
    )
    return _NAMES.get(name, name), own, settings


def _gpu_labels(name: str) -> Mapping[str, str] | None:
    """Holter's names for the labels that identify a GPU; None if the metric is not one of a GPU."""
    if name.startswith("DCGM_"):
        return _DCGM_LABELS
    return _AMD_LABELS if name.startswith("gpu_") else None
