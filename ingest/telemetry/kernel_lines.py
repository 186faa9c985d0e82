"""Lines of the kernel's log: XID and ECC errors, lost or reset GPUs, processes killed for lack of memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

from holter.ingest.communication.labels import series_labels
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.telemetry import gpu_metrics as metrics
from holter.ingest.telemetry.timestamped import TimestampParser, clock_step
from holter.types import CLOCK_STEPS

BOOT = "milliseconds since boot"
EVENTS = "events"
"""Units of steps where a line has no wall time."""

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{5,16})\): (\d{1,4})\b")
_SXID = re.compile(r"SXid \((?:PCI:)?([0-9a-fA-F:.]{5,16})\): (\d{1,6})\b")
_LOST = re.compile(r"NVRM: GPU (?:at PCI:)?([0-9a-fA-F:.]{5,16}): GPU has fallen off the bus")
_AMD = re.compile(r"amdgpu ([0-9a-fA-F:.]{7,16}): (?:amdgpu: )?(.*)")
_AMD_ECC = re.compile(
    r"\b(\d{1,9}) (?:new )?((?:un)?correctable) hardware errors detected in (\w{1,20}) block"
)
_OOM = re.compile(r"ut of memory: Kill(?:ed)? process \d{1,9} \(([^)]{1,40})\)")
_EDAC = re.compile(r"EDAC MC\d{1,4}: (\d{1,9}) (CE|UE) ")
_HOST = re.compile(r"(?:^|\s)([A-Za-z0-9][\w.-]{0,100}) kernel: ")
_SINCE_BOOT = re.compile(r"\[\s*(\d{1,10}\.\d{1,9})\]")
_MAX_COUNTED = 8192


def _xid(line: str, state: DialectState) -> LineValues | None:
    match = _XID.search(line)
    if match is None:
        return None
    return count_event(
        line, state, match.start(), "xid_errors", pci=metrics.normalize_bus_id(match[1]), xid=int(match[2])
    )


def _sxid(line: str, state: DialectState) -> LineValues | None:
    """An error of an NVSwitch."""
    match = _SXID.search(line)
    if match is None:
        return None
    return count_event(
        line, state, match.start(), "sxid_errors", pci=metrics.normalize_bus_id(match[1]), sxid=int(match[2])
    )


def _lost(line: str, state: DialectState) -> LineValues | None:
    match = _LOST.search(line)
    if match is None or "Xid" in line:
        return None
    return count_event(line, state, match.start(), "gpu_lost", pci=metrics.normalize_bus_id(match[1]))


def _amd(line: str, state: DialectState) -> LineValues | None:
    """A line of amdgpu: RAS errors by block of the chip, a reset of the GPU, or a ring that timed out."""
    match = _AMD.search(line)
    if match is None:
        return None
    end, pci, text = match.start(), metrics.normalize_bus_id(match[1]), match[2]
    errors = _AMD_ECC.search(text)
    if errors is not None:
        metric = f"ras_{errors[2]}_errors"
        return count_event(line, state, end, metric, increase=int(errors[1]), pci=pci, block=errors[3])
    if "GPU reset begin" in text:
        return count_event(line, state, end, "gpu_resets", pci=pci)
    return (
        count_event(line, state, end, "ring_timeouts", pci=pci)
        if re.search(r"ring \S+ timeout", text)
        else None
    )


def _oom(line: str, state: DialectState) -> LineValues | None:
    match = _OOM.search(line)
    return None if match is None else count_event(line, state, match.start(), "oom_kills", process=match[1])


def _edac(line: str, state: DialectState) -> LineValues | None:
    """Errors of the host's memory, as the kernel's EDAC drivers report them."""
    match = _EDAC.search(line)
    if match is None:
        return None
    kind = "corrected" if match[2] == "CE" else "uncorrected"
    return count_event(line, state, match.start(), f"host_memory_errors_{kind}", increase=int(match[1]))


def count_event(
    line: str,
    state: DialectState,
    end: int,
    metric: str,
    /,
    *,
    increase: int = 1,
    time_text: str = "",
    **labels: Hashable,
) -> LineValues | None:
    """Count an event: the value is the number of events with these labels so far, at the time of the line.

    The time and the host are in the first `end` characters of the line; or the time is `time_text`. None
    beyond `_MAX_COUNTED` different events.
    """
    before = line[:end]
    if "host" not in labels and (host := _HOST.search(before + " ")):
        labels["host"] = host[1]
    elif "host" not in labels:  # from the file's name
        labels |= {name: state[name] for name in ("host", "file") if name in state}
    name = f"count {metric} {sorted((key, str(value)) for key, value in labels.items())}"
    if name not in state and len(state) >= _MAX_COUNTED:
        return None
    count = state[name] = min(int(state.get(name, 0)) + increase, LARGEST_STEP)
    values = {metric: float(count)}
    timestamps = TimestampParser(state)
    time = timestamps.parse(time_text or before)
    state.update(timestamps.state())
    if time > 0:  # not NaN
        return LineValues(clock_step(time), values, time, series_labels(CLOCK_STEPS, **labels))
    boot = _SINCE_BOOT.search(before)
    if boot is not None:
        return LineValues(int(float(boot[1]) * 1000), values, labels=series_labels(BOOT, **labels))
    return LineValues(count, values, labels=series_labels(EVENTS, **labels))


def _kind(literal: bytes, parse: Callable[[str, DialectState], LineResult]) -> LineKind:
    return LineKind(pattern=re.compile(re.escape(literal)), parse=parse, own_steps=True, with_prefixes=True)


DIALECT = ConsoleDialect(
    name="kernel",
    signature=re.compile(
        rb"NVRM: Xid \(|SXid \((?:PCI:)?[0-9a-f]|NVRM: GPU \S{7,22} GPU has fallen"
        rb"|ut of memory: Kill(?:ed)? process \d|EDAC MC\d+: \d+ [CU]E "
        rb"|amdgpu [0-9a-f:.]{7,16}: .{0,400}?"
        rb"(?:hardware errors detected|GPU reset begin|ring \S{1,60} timeout)"
    ),
    kinds=(
        _kind(b"NVRM: Xid (", _xid),
        _kind(b"SXid (", _sxid),
        _kind(b"fallen off the bus", _lost),
        _kind(b"amdgpu ", _amd),
        _kind(b"ut of memory: Kill", _oom),
        _kind(b"EDAC MC", _edac),
    ),
)
"""Lines of the kernel, from dmesg, journalctl or syslog, in files of their own or in a program's output."""
