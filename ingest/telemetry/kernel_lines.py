"""What kernels write about machines: XID and ECC errors, GPUs that are gone or reset, memory that ran out."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

from holter.ingest.communication.labels import labels_beside
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.timestamped import LocalClock, step_of
from holter.types import CLOCK_STEPS

BOOT = "milliseconds since boot"
EVENTS = "events"
"""What steps count where a line has no wall time."""

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
_MOST_COUNTED = 8192


def _xid(line: str, state: DialectState) -> LineValues | None:
    match = _XID.search(line)
    if match is None:
        return None
    return said(line, state, match.start(), "xid_errors", pci=q.bus_id(match[1]), xid=int(match[2]))


def _sxid(line: str, state: DialectState) -> LineValues | None:
    """An error of an NVSwitch."""
    match = _SXID.search(line)
    if match is None:
        return None
    return said(line, state, match.start(), "sxid_errors", pci=q.bus_id(match[1]), sxid=int(match[2]))


def _lost(line: str, state: DialectState) -> LineValues | None:
    match = _LOST.search(line)
    if match is None or "Xid" in line:
        return None
    return said(line, state, match.start(), "gpu_lost", pci=q.bus_id(match[1]))


def _amd(line: str, state: DialectState) -> LineValues | None:
    """RAS: errors of memory and units by block; resets; rings that hang."""
    match = _AMD.search(line)
    if match is None:
        return None
    at, pci, text = match.start(), q.bus_id(match[1]), match[2]
    errors = _AMD_ECC.search(text)
    if errors is not None:
        metric = f"ras_{errors[2]}_errors"
        return said(line, state, at, metric, more=int(errors[1]), pci=pci, block=errors[3])
    if "GPU reset begin" in text:
        return said(line, state, at, "gpu_resets", pci=pci)
    return said(line, state, at, "ring_timeouts", pci=pci) if re.search(r"ring \S+ timeout", text) else None


def _oom(line: str, state: DialectState) -> LineValues | None:
    match = _OOM.search(line)
    return None if match is None else said(line, state, match.start(), "oom_kills", process=match[1])


def _edac(line: str, state: DialectState) -> LineValues | None:
    """Errors of the host's memory."""
    match = _EDAC.search(line)
    if match is None:
        return None
    kind = "corrected" if match[2] == "CE" else "uncorrected"
    return said(line, state, match.start(), f"host_memory_errors_{kind}", more=int(match[1]))


def said(
    line: str,
    state: DialectState,
    stop: int,
    metric: str,
    /,
    *,
    more: int = 1,
    at: str = "",
    **labels: Hashable,
) -> LineValues | None:
    """An event, counted: the values of a series are how many there were so far, at the time of the line.

    The time and the host stand before `stop`, or the time in the text `at`.
    """
    before = line[:stop]
    if "host" not in labels and (host := _HOST.search(before + " ")):
        labels["host"] = host[1]
    elif "host" not in labels:  # what the file's name says
        labels |= {name: state[name] for name in ("host", "file") if name in state}
    name = f"count {metric} {sorted((key, str(value)) for key, value in labels.items())}"
    if name not in state and len(state) >= _MOST_COUNTED:
        return None
    count = state[name] = min(int(state.get(name, 0)) + more, LARGEST_STEP)
    values = {metric: float(count)}
    clock = LocalClock(state)
    moment = clock.read(at or before)
    state.update(clock.state())
    if moment == moment and moment > 0:
        return LineValues(step_of(moment), values, moment, labels_beside(CLOCK_STEPS, **labels))
    boot = _SINCE_BOOT.search(before)
    if boot is not None:
        return LineValues(int(float(boot[1]) * 1000), values, labels=labels_beside(BOOT, **labels))
    return LineValues(count, values, labels=labels_beside(EVENTS, **labels))


def _kind(mark: bytes, read: Callable[[str, DialectState], LineResult]) -> LineKind:
    return LineKind(pattern=re.compile(re.escape(mark)), parse=read, own_steps=True, with_prefixes=True)


DIALECT = ConsoleDialect(
    name="kernel",
    signature=re.compile(
        rb"NVRM: Xid \(|SXid \((?:PCI:)?[0-9a-f]|NVRM: GPU \S{7,22} GPU has fallen"
        rb"|ut of memory: Kill(?:ed)? process \d|EDAC MC\d+: \d+ [CU]E "
        rb"|amdgpu [0-9a-f:.]{7,16}: .*(?:hardware errors detected|GPU reset begin|ring \S+ timeout)"
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
"""A kernel's lines: of dmesg, journalctl, syslog, in files of their own or among what programs print."""
