"""Memory leak: memory in use grows steadily for long, and nothing releases it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.machines import MEMORY_LEAK
from holter.detectors.formatting import figure, from_to
from holter.detectors.health.memory_growth import MemoryGrowth, MemoryGrowthScan, MemoryGrowthThresholds
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.metric_units import memory_scale
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class MemoryLeakThresholds(Thresholds):
    """When a memory leak is reported, and how severe it is."""

    growth: MemoryGrowthThresholds = MemoryGrowthThresholds()
    """When memory grows steadily."""
    near_limit_share: float = 0.9
    """Share of the limit. A leak is critical once more is used..."""
    near_limit_seconds: float = 7200.0
    """Seconds. ... or once the limit is reached sooner than this, at the present rate."""
    clear_share: float = 0.1
    """Share of the memory at the start. Larger growth is reported with more confidence."""
    clear_confidence: float = 0.9
    """Confidence of larger growth."""
    base_confidence: float = 0.75
    """Confidence of smaller growth."""


_Evidence = dict[str, float | int | str | None]
_FREE = re.compile(r"free|available", re.IGNORECASE)
_LIMIT = re.compile(r"total|limit|capacity|size", re.IGNORECASE)
_HOST = re.compile(r"host|rss|proc|cpu|system[./]memory|(^|[._/])ram", re.IGNORECASE)


@dataclass(frozen=True, eq=False, kw_only=True)
class _MemoryUse:
    """A series of memory, converted to memory in use in `unit` by a `factor`.

    `limit` is the memory that exists, None where unknown. `points` is the number of points of which the
    lowest counts as the memory in use at a row.
    """

    series: Series
    factor: float
    unit: str
    limit: float | None
    points: int

    def used(self, rows: IntArray | slice) -> FloatArray:
        """The memory in use at some rows."""
        used: FloatArray = np.clip(self.series.value[rows], -1e30, 1e30) * self.factor
        return used

    def last_row(self, attempt: int) -> int:
        """The last row of an attempt with a finite value."""
        row = rows_of_attempt(self.series, attempt).after - 1
        while not np.isfinite(self.series.value[row]):
            row -= 1
        return row

    def lowest_from(self, row: int) -> float:
        """The lowest of a few points from a row on."""
        value, size, count = self.series.value, self.points, self.points
        while (good := np.flatnonzero(np.isfinite(value[row : row + size]))[:count]).size < count:
            size *= 2
        return float(self.used(row + good).min())

    def lowest_up_to(self, row: int) -> float:
        """The lowest of a few points up to a row."""
        value, size, count = self.series.value, self.points, self.points
        while (good := np.flatnonzero(np.isfinite(value[row + 1 - size : row + 1]))[-count:]).size < count:
            size = min(2 * size, row + 1)
        return float(self.used(row + 1 - size + good).min())

    def is_over(self, attempt: int) -> bool:
        """Whether another attempt has begun."""
        return bool(self.series.attempt[-1] != attempt)


_Leak = tuple[_MemoryUse, MemoryGrowth]


@dataclass(frozen=True)
class MemoryLeakDetector:
    """Detects memory whose lowest use in longer and longer blocks rises steadily for long."""

    name: ClassVar[str] = "memory_leak"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MEMORY_LEAK})
    thresholds: MemoryLeakThresholds = MemoryLeakThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per leak, of the GPUs and of the host, on the series that showed it first."""
        limits = self.thresholds
        leaks: list[_Leak] = []
        for use in _memory_uses(run, limits.growth.first_points):
            share = limits.growth.min_share / context.tuning.of(use.series.key.metric).sensitivity
            checkpoints = context.state.checkpoints((self.name, use.series.key), [use.series])
            growths = _find_growths(use, MemoryGrowthScan(share, limits.growth), checkpoints)
            leaks += [(use, growth) for growth in growths]
        leaks.sort(
            key=lambda leak: (leak[1].attempt, leak[0].series.step[leak[1].detected], leak[0].series.key)
        )
        groups: dict[tuple[int, bool], list[list[_Leak]]] = {}
        for use, growth in leaks:
            is_host = bool(_HOST.search(use.series.key.metric))
            events = groups.setdefault((growth.attempt, is_host), [])
            last = events[-1] if events else None
            if last is not None and _overlaps(last[0], (use, growth)):
                last.append((use, growth))
            else:
                events.append([(use, growth)])
        for events in groups.values():
            for event in events:
                yield _finding(*event[0], len({use.series.key for use, _ in event}), limits)


def _find_growths(
    use: _MemoryUse, new_scan: MemoryGrowthScan, checkpoints: ScanCheckpoints[MemoryGrowthScan]
) -> tuple[MemoryGrowth, ...]:
    """Every growth in a series, scanned from the last checkpoint on, or by a new scan."""
    series = use.series
    checkpoint = checkpoints.latest([series])
    scan, done = (checkpoint.state.copy(), checkpoint.rows[0]) if checkpoint else (new_scan, 0)
    for span in attempt_rows(series, done):
        row = span.first + np.flatnonzero(np.isfinite(series.value[span.rows]))
        scanned = scan.scan(span.attempt, series, row, use.used(row))
        done = int(row[scanned - 1]) + 1 if scanned else span.first
    checkpoints.save(Checkpoint(scan.copy(), (done,)))
    return scan.growths


def _overlaps(earlier: _Leak, later: _Leak) -> bool:
    """Whether the later growth began before the earlier one was detected, or while it still lasted."""
    use, growth = earlier
    later_rows = [later[1].start, later[1].detected]
    step, (start, detected) = use.series.step, later[0].series.step[later_rows].tolist()
    lasting = growth.end_known is None or bool(step[growth.end_known] > detected)
    return lasting or bool(start <= step[growth.detected])


def _memory_uses(run: RunData, points: int) -> Iterator[_MemoryUse]:
    """Every series of memory that is in use, or free."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.MEMORY and not key.has_clock_steps]
    limits = {key for key in keys if _LIMIT.search(key.metric) and not _FREE.search(key.metric)}
    for key in keys:
        if key not in limits:
            series, is_free = run.series[key], bool(_FREE.search(key.metric))
            factor, unit = _unit(series)
            limit = 0.0 if is_free else _limit(run, series, limits, unit)
            signed = -factor if is_free else factor
            yield _MemoryUse(series=series, factor=signed, unit=unit, limit=limit, points=points)


def _unit(series: Series) -> tuple[float, str]:
    scale = memory_scale(series.key.metric)
    if scale is not None:
        return scale
    known = _first_known(series)
    return (1e-9, "GB") if known is not None and abs(known) > 1e7 else (1.0, "")


def _first_known(series: Series) -> float | None:
    """The first finite value; None where there is none."""
    first, size = 0, 64
    while first < len(series):
        good = np.flatnonzero(np.isfinite(series.value[first : first + size]))
        if len(good):
            return float(series.value[first + good[0]])
        first, size = first + size, 2 * size
    return None


def _limit(run: RunData, series: Series, limits: set[SeriesKey], unit: str) -> float | None:
    """The total memory by a series with the same labels; 100 for percents, None where unknown."""
    if unit == "%":
        return 100.0
    is_host = bool(_HOST.search(series.key.metric))
    for key in sorted(limits):
        if key.labels == series.key.labels and bool(_HOST.search(key.metric)) == is_host:
            (factor, other), known = _unit(run.series[key]), _first_known(run.series[key])
            if other == unit and known is not None:
                return known * factor
    return None


def _finding(use: _MemoryUse, growth: MemoryGrowth, series: int, limits: MemoryLeakThresholds) -> Finding:
    last = use.last_row(growth.attempt) if growth.end is None else growth.end
    start, step, time = growth.start, use.series.step, use.series.time
    steps = max(int(step[last] - step[start]), 1)
    before, now = use.lowest_from(start), use.lowest_up_to(last)
    grown = now - before
    hours = float(time[last] - time[start]) / 3600
    evidence: _Evidence = {
        "baseline": abs(before),
        "now": abs(now),
        "unit": use.unit,
        "growth_per_1000_steps": grown * 1000 / steps,
        "growth_per_hour": grown / hours if hours > 0 else None,
        "duration_steps": steps,
        "series": series,
    }
    steps_left = None
    if use.limit is not None and grown > 0:
        steps_left = (use.limit - now) / grown * steps
        evidence |= {"limit": use.limit, "limit_reached_at_step": int(step[last] + max(steps_left, 0.0))}
    ended = growth.end is not None or use.is_over(growth.attempt)
    severity = Severity.WARNING if ended else _severity(use, now, steps_left, hours, steps, limits)
    is_clear = grown > limits.clear_share * abs(before)
    return Finding(
        kind=Kind.MEMORY_LEAK,
        metric=use.series.key.metric,
        labels=use.series.key.labels,
        attempt=growth.attempt,
        start_step=int(step[start]),
        peak_step=int(step[last]),
        end_step=int(step[last]) if ended else None,
        detected_step=int(step[growth.detected]),
        classified_step=int(step[growth.detected]),
        severity=severity,
        confidence=limits.clear_confidence if is_clear else limits.base_confidence,
        summary=_summary(use, int(step[start]), (before, now), evidence, ended=ended),
        advice=MEMORY_LEAK.advice,
        evidence=evidence,
    )


def _severity(
    use: _MemoryUse,
    now: float,
    steps_left: float | None,
    hours: float,
    steps: int,
    limits: MemoryLeakThresholds,
) -> Severity:
    """Critical once the limit is near: nearly all memory is used, or little time is left."""
    if steps_left is None or use.limit is None:
        return Severity.WARNING
    soon = hours > 0 and steps_left * hours * 3600 / steps < limits.near_limit_seconds
    full = use.limit > 0 and now > limits.near_limit_share * use.limit
    return Severity.CRITICAL if soon or full else Severity.WARNING


def _summary(
    use: _MemoryUse, start: int, span: tuple[float, float], evidence: _Evidence, *, ended: bool
) -> str:
    per_hour = evidence["growth_per_hour"]
    unit = f" {use.unit}" if use.unit else ""
    rate = f"{figure(float(evidence['growth_per_1000_steps'] or 0))}{unit} per 1,000 steps"
    if isinstance(per_hour, float):
        rate += f", {figure(per_hour)}{unit} an hour"
    reach = evidence.get("limit_reached_at_step")
    until = f", and reaches its limit at about step {reach:,}" if isinstance(reach, int) and not ended else ""
    verb = "has grown" if not ended else "grew"
    change = ": free memory has shrunk" if use.limit == 0.0 else f" {verb}"
    return (
        f"{use.series.key}{change} steadily since step {start:,}, "
        f"{from_to(abs(span[0]), abs(span[1]))}{unit}: {rate}{until}."
    )
