"""Names of GPU metrics, the same for every tool that measures them, and parsers for the tools' values."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from holter.types import ConfigKey, labels_of

UTIL, MEMORY_UTIL = "gpu_util (%)", "gpu_memory_util (%)"
MEMORY_USED, MEMORY_TOTAL = "gpu_memory_used (MiB)", "gpu_memory_total (MiB)"
POWER, POWER_LIMIT = "gpu_power (W)", "gpu_power_limit (W)"
TEMPERATURE, MEMORY_TEMPERATURE = "gpu_temperature (C)", "gpu_memory_temperature (C)"
SM_CLOCK, MEMORY_CLOCK = "gpu_sm_clock (MHz)", "gpu_memory_clock (MHz)"
XID = "gpu_last_xid"
TENSOR_ACTIVE = "gpu_tensor_active"
ECC_CORRECTED, ECC_UNCORRECTED = "ecc_errors_corrected", "ecc_errors_uncorrected"
ROW_REMAP_FAILURE, ROW_REMAP_PENDING = "row_remap_failure", "row_remap_pending"
REQUIRES_RESET = "gpu_requires_reset"
THROTTLE = "gpu_throttle/"
"""Prefix of a throttle reason's metric, which is 1 while the GPU runs slower for that reason."""

THROTTLE_BITS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
"""Throttle reasons that matter, by their bits in NVML's mask (nvml.h, nvmlClocksEventReason*)."""

_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([^\s\d.,xX]\S{0,7})?")
_FLAGS = {"Active": 1.0, "Not Active": 0.0, "Yes": 1.0, "No": 0.0}
_BUS_ID = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.[0-7])?", re.IGNORECASE)
_GENERIC_WORD = re.compile(
    r"nvidia|smi|rocm|amd|gpus?|dcgm|exporter|node|prom(etheus)?|metrics?|telemetry|monitor(ing)?|stats?|logs?"
    r"|usage|util(ization)?|power|memory|dmesg|kern(el)?|syslog|messages|journal(ctl)?|slurm|job|trace|data|hw|xid"
    r"|[0-9a-f]{32,}|\d{1,2}[_-]\d\d[_-]\d\d(?:[_-]\d\d)?|\d{4}-\d\d-\d\d|\d{8}([T_-]\d{4,6})?",
    re.IGNORECASE,
)
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9-]*?\d{1,8}[a-z]?")
_MODEL = re.compile(
    r"(?i)(?:rtx|gtx|gb|gh|mi|[abhlptv])\d{1,4}(?:x|s|a|ti)?(?:-.*)?|.*-(?:[abhlv]|mi|gb)\d{2,3}x?"
)


class Quantity(NamedTuple):
    """A number with its unit as it is written; `unit` is empty where there is none."""

    value: float
    unit: str


def parse_quantity(cell: str) -> Quantity | None:
    """The value of a cell: "97 %" is 97, "Not Active" is 0; None for a cell without a value: "[N/A]", "-"."""
    text = cell.strip()
    if text in _FLAGS:
        return Quantity(_FLAGS[text], "")
    match = _NUMBER.fullmatch(text)
    return None if match is None else Quantity(float(match[1]), match[2] or "")


def normalize_bus_id(text: str) -> str | None:
    """A PCI address in the form "0000:9b:00"; None for other text.

    Tools write 00000000:9B:00.0, the kernel writes 0000:9b:00.
    """
    match = _BUS_ID.fullmatch(text.strip())
    return None if match is None else f"{(match[1] or '0')[-4:].rjust(4, '0')}:{match[2]}:{match[3]}".lower()


def labels_from_path(path: PurePath) -> dict[str, str]:
    """Labels from a file's name, for logs that do not state their host: `smi-node3.csv` is from host node3.

    Generic words such as `smi` or `power` are left out. The rest is the label `host` if it ends in a number,
    as names of hosts do, and is not a GPU model; otherwise it is the label `file`.
    """
    parts = [part for part in re.split(r"[._ ]|(?<![0-9])-|-(?![0-9])", path.stem) if part]
    specific = [part for part in parts if not _GENERIC_WORD.fullmatch(part)]
    if not specific:
        return {}
    name = "-".join(specific)
    return {"host" if _HOST.fullmatch(name) and not _MODEL.fullmatch(name) else "file": name[:100]}


def device_setting(name: str, labels: dict[str, str]) -> ConfigKey:
    """The key of a GPU's setting: its name, and the labels of the GPU."""
    return ConfigKey(name, labels_of(labels))
