"""Fault events of devices from series whose steps are wall times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from holter.detectors.health.xid import LINK, MEMORY, REBOOT, RESET, WATCH, describe_xid
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.wall_clock import YEAR_9999
from holter.types import Labels, RunData, Series, Severity

_DEVICE_LABELS = frozenset({"host", "gpu", "pci", "mig", "partition", "file", "folder", "nvswitch"})
_LAST_XID = re.compile(r"(gpu_last_xid|DCGM_FI_DEV_XID_ERRORS|xid)")
_FLAG = re.compile(r"gpu_requires_reset|row_remap_\w+|DCGM_FI_DEV_ROW_REMAP_\w+")
_COUNTERS_FROM_ZERO = frozenset(
    {"xid_errors", "sxid_errors", "gpu_lost", "gpu_resets", "ring_timeouts", "gpu_requires_reset"}
)
"""Series without points while there is no fault: their first point is an event, too."""
_FAULT_TYPES = (
    (re.compile(r"sxid_errors"), "an NVSwitch reported an error", LINK),
    (re.compile(r"gpu_lost"), "it has fallen off the bus", REBOOT),
    (re.compile(r"gpu_requires_reset"), "it requires a reset", RESET),
    (re.compile(r"gpu_resets"), "the driver reset it", RESET),
    (re.compile(r"ring_timeouts"), "one of its work queues hangs", RESET),
    (re.compile(r".*row_remap_failure", re.IGNORECASE), "a row of its memory could not be replaced", MEMORY),
    (re.compile(r".*row_remap_pending", re.IGNORECASE), "a row of its memory waits to be replaced", MEMORY),
    (re.compile(r".*remapped_rows.*", re.IGNORECASE), "rows of its memory were replaced", MEMORY),
    (re.compile(r".*nvlink.*(crc|replay).*", re.IGNORECASE), "an NVLink had to repeat transfers", WATCH),
    (re.compile(r".*nvlink.*", re.IGNORECASE), "an NVLink failed and was re-established", LINK),
    (
        re.compile(r".*(ecc|uncorrect|dbe).*", re.IGNORECASE),
        "errors in its memory could not be corrected",
        RESET,
    ),
)


_MAX_EVENTS = 10_000
"""The latest events that are stored of a series."""


class FaultEvent(NamedTuple):
    """A fault of a device. `xid` is its code, None for other faults; `amount` is how often it happened."""

    time: float
    metric: str
    amount: float
    meaning: str
    severity: Severity
    advice: str
    xid: int | None = None


class _FaultHistory(NamedTuple):
    """The last finite value of a series, and its events."""

    last: float | None = None
    events: tuple[FaultEvent, ...] = ()

    def after(self, series: Series, first: int) -> _FaultHistory:
        """The history after the rows from `first` on."""
        time, value = series.time[first:], series.value[first:]
        usable = np.isfinite(value) & (time > 0) & (time < YEAR_9999)
        time, value = time[usable], value[usable]
        if not len(value):
            return self
        metric = series.key.metric
        begin = (
            self.last if self.last is not None else 0.0 if metric in _COUNTERS_FROM_ZERO else float(value[0])
        )
        change = np.diff(value, prepend=begin)
        if _LAST_XID.fullmatch(metric) or _FLAG.fullmatch(metric):
            rows = np.flatnonzero((change != 0) & (value != 0))
        elif metric in _COUNTERS_FROM_ZERO:  # a log that is read again counts from zero again
            rows = np.flatnonzero((change != 0) & (value > 0))
        else:
            rows = np.flatnonzero(change > 0)
        points = zip(time[rows].tolist(), value[rows].tolist(), change[rows].tolist(), strict=True)
        events = [_event(series, *point) for point in points]
        return _FaultHistory(float(value[-1]), (*self.events, *events)[-_MAX_EVENTS:])


def read_fault_events(series: Series, checkpoints: ScanCheckpoints[_FaultHistory]) -> tuple[FaultEvent, ...]:
    """The fault events of one series in the order of its rows, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest([series]) or Checkpoint(_FaultHistory(), (0,))
    history = checkpoint.state
    if checkpoint.rows[0] < len(series):
        history = history.after(series, checkpoint.rows[0])
    checkpoints.save(Checkpoint(history, (len(series),)))
    return history.events


def _event(series: Series, time: float, value: float, count: float) -> FaultEvent:
    metric, count = series.key.metric, max(count, 1.0)
    labelled = series.key.label("xid")
    code = int(labelled) if labelled is not None and labelled.isdecimal() else None
    if code is None and _LAST_XID.fullmatch(metric) and abs(value) < 1e6:
        code, count = int(value), 1.0
    if code is not None:
        xid = describe_xid(code)
        return FaultEvent(time, metric, count, xid.meaning, xid.severity, xid.advice, code)
    if _FLAG.fullmatch(metric):
        count = 1.0
    meaning, advice = next(
        ((meaning, advice) for pattern, meaning, advice in _FAULT_TYPES if pattern.fullmatch(metric)),
        (f"{metric} rose", RESET),
    )
    severity = Severity.WARNING if advice in (WATCH,) or "pending" in metric else Severity.CRITICAL
    return FaultEvent(time, metric, count, meaning, severity, advice)


def device_labels(series: Series) -> Labels:
    """The labels that identify the device of a series."""
    return tuple((name, value) for name, value in series.key.labels if name in _DEVICE_LABELS)


def known_devices(run: RunData) -> Mapping[tuple[str, str], Labels]:
    """Number and rank of GPUs by host and bus address, as far as logs state them."""
    devices: dict[tuple[str, str], dict[str, str]] = {}
    for key, values in run.config.items():
        if key.name == "gpu.pci_bus_id":
            for value in values.values():
                labels = dict(key.labels)
                device = devices.setdefault((labels.get("host", ""), str(value)), {})
                device |= {name: labels[name] for name in ("gpu", "rank") if name in labels}
    return {address: tuple(sorted(labels.items())) for address, labels in devices.items()}


def complete_device_labels(device: Labels, known: Mapping[tuple[str, str], Labels]) -> Labels:
    """A device's labels, with its number and rank where its bus address is known."""
    labels = dict(device)
    if "pci" not in labels:
        pci = next((bus for (host, bus), more in known.items() if _matches(labels, host, dict(more))), None)
        if pci is None:
            return device
        labels["pci"] = pci
    host = labels.get("host", "")
    at_host = known.get((host, labels["pci"]))
    anywhere = [more for (_, bus), more in known.items() if bus == labels["pci"]]
    more = at_host if at_host is not None else anywhere[0] if len(anywhere) == 1 and not host else ()
    return tuple(sorted((labels | dict(more)).items()))


def _matches(labels: Mapping[str, str], host: str, more: Mapping[str, str]) -> bool:
    return "gpu" in labels and labels.get("host", "") == host and more.get("gpu") == labels["gpu"]
