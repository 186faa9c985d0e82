"""Faults out of series that go by the clock: what changed when, on which device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from holter.detectors.health.xid import LINK, MEMORY, REBOOT, RESET, WATCH, describe_xid
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.wall_clock import YEAR_9999
from holter.types import Labels, RunData, Series, Severity

_OF_DEVICES = frozenset({"host", "gpu", "pci", "mig", "partition", "file", "folder", "nvswitch"})
_LAST_XID = re.compile(r"(gpu_last_xid|DCGM_FI_DEV_XID_ERRORS|xid)")
_FLAG = re.compile(r"gpu_requires_reset|row_remap_\w+|DCGM_FI_DEV_ROW_REMAP_\w+")
_COUNTED = frozenset(
    {"xid_errors", "sxid_errors", "gpu_lost", "gpu_resets", "ring_timeouts", "gpu_requires_reset"}
)
"""Series that say nothing while all is well: their first point is an event, too."""
_SAID = (
    (re.compile(r"sxid_errors"), "an NVSwitch reported an error", LINK),
    (re.compile(r"gpu_lost"), "it has fallen off the bus", REBOOT),
    (re.compile(r"gpu_requires_reset"), "it requires a reset", RESET),
    (re.compile(r"gpu_resets"), "the driver reset it", RESET),
    (re.compile(r"ring_timeouts"), "a queue of its work hangs", RESET),
    (re.compile(r".*row_remap_failure", re.IGNORECASE), "a row of its memory could not be replaced", MEMORY),
    (re.compile(r".*row_remap_pending", re.IGNORECASE), "a row of its memory waits to be replaced", MEMORY),
    (re.compile(r".*remapped_rows.*", re.IGNORECASE), "rows of its memory were replaced", MEMORY),
    (re.compile(r".*nvlink.*(crc|replay).*", re.IGNORECASE), "an NVLink had to repeat itself", WATCH),
    (re.compile(r".*nvlink.*", re.IGNORECASE), "an NVLink failed and was set up again", LINK),
    (
        re.compile(r".*(ecc|uncorrect|dbe).*", re.IGNORECASE),
        "errors in its memory could not be corrected",
        RESET,
    ),
)


_MOST = 10_000
"""Faults that are remembered of a series: one that has more has said enough."""


class FaultEvent(NamedTuple):
    """Something that happened to a device. `xid` is its code, None for other faults; `amount` how often."""

    time: float
    metric: str
    amount: float
    meaning: str
    severity: Severity
    advice: str
    xid: int | None = None


class _Known(NamedTuple):
    """What a series has shown: its last value that is one, and its faults."""

    last: float | None = None
    events: tuple[FaultEvent, ...] = ()

    def and_then(self, series: Series, first: int) -> _Known:
        """With the rows from `first` on."""
        time, value = series.time[first:], series.value[first:]
        some = np.isfinite(value) & (time > 0) & (time < YEAR_9999)
        time, value = time[some], value[some]
        if not len(value):
            return self
        metric = series.key.metric
        begin = self.last if self.last is not None else 0.0 if metric in _COUNTED else float(value[0])
        more = np.diff(value, prepend=begin)
        if _LAST_XID.fullmatch(metric) or _FLAG.fullmatch(metric):
            rows = np.flatnonzero((more != 0) & (value != 0))
        elif metric in _COUNTED:  # a log that is read anew counts anew
            rows = np.flatnonzero((more != 0) & (value > 0))
        else:
            rows = np.flatnonzero(more > 0)
        found = zip(time[rows].tolist(), value[rows].tolist(), more[rows].tolist(), strict=True)
        fresh = [_event(series, *one) for one in found]
        return _Known(float(value[-1]), (*self.events, *fresh)[-_MOST:])


def read_fault_events(series: Series, checkpoints: ScanCheckpoints[_Known]) -> tuple[FaultEvent, ...]:
    """The faults of one series in the order of its rows, from where the last look ended; values that are
    none say nothing."""
    checkpoint = checkpoints.latest([series]) or Checkpoint(_Known(), (0,))
    known = (
        checkpoint.state.and_then(series, checkpoint.rows[0])
        if checkpoint.rows[0] < len(series)
        else checkpoint.state
    )
    checkpoints.save(Checkpoint(known, (len(series),)))
    return known.events


def _event(series: Series, time: float, value: float, count: float) -> FaultEvent:
    metric, count = series.key.metric, max(count, 1.0)
    said = next((label for name, label in series.key.labels if name == "xid"), None)
    code = int(said) if said is not None and said.isdecimal() else None
    if code is None and _LAST_XID.fullmatch(metric) and abs(value) < 1e6:
        code, count = int(value), 1.0
    if code is not None:
        xid = describe_xid(code)
        return FaultEvent(time, metric, count, xid.meaning, xid.severity, xid.advice, code)
    if _FLAG.fullmatch(metric):
        count = 1.0
    meaning, advice = next(
        ((words, todo) for pattern, words, todo in _SAID if pattern.fullmatch(metric)),
        (f"{metric} rose", RESET),
    )
    severity = Severity.WARNING if advice in (WATCH,) or "pending" in metric else Severity.CRITICAL
    return FaultEvent(time, metric, count, meaning, severity, advice)


def device_labels(series: Series) -> Labels:
    """The labels that tell one device from others."""
    return tuple((name, value) for name, value in series.key.labels if name in _OF_DEVICES)


def known_devices(run: RunData) -> Mapping[tuple[str, str], Labels]:
    """GPUs by host and bus address, as far as logs state those: their number, and their rank."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for key, values in run.config.items():
        if key.name == "gpu.pci_bus_id":
            for value in values.values():
                labels = dict(key.labels)
                mine = found.setdefault((labels.get("host", ""), str(value)), {})
                mine |= {name: labels[name] for name in ("gpu", "rank") if name in labels}
    return {place: tuple(sorted(labels.items())) for place, labels in found.items()}


def complete_device_labels(device: Labels, known: Mapping[tuple[str, str], Labels]) -> Labels:
    """A device's labels, with its number and rank where its bus address tells them."""
    labels = dict(device)
    if "pci" not in labels:
        pci = next((bus for (host, bus), more in known.items() if _is(labels, host, dict(more))), None)
        if pci is None:
            return device
        labels["pci"] = pci
    host = labels.get("host", "")
    at_host = known.get((host, labels["pci"]))
    anywhere = [more for (_, bus), more in known.items() if bus == labels["pci"]]
    more = at_host if at_host is not None else anywhere[0] if len(anywhere) == 1 and not host else ()
    return tuple(sorted((labels | dict(more)).items()))


def _is(labels: Mapping[str, str], host: str, more: Mapping[str, str]) -> bool:
    return "gpu" in labels and labels.get("host", "") == host and more.get("gpu") == labels["gpu"]
