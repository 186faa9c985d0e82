"""Memory leak: memory in use grows and grows, for long, and nothing takes it back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.hardware import MEMORY_LEAK
from holter.detectors.formatting import figure
from holter.detectors.health.memory_growth import FIRST, MemoryGrowth, MemoryGrowthScan
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

_SHARE = 0.02
_NEAR_LIMIT, _SOON = 0.9, 7200.0
_Evidence = dict[str, float | int | str | None]
_FREE = re.compile(r"free|available", re.IGNORECASE)
_LIMIT = re.compile(r"total|limit|capacity|size", re.IGNORECASE)
_HOST = re.compile(r"host|rss|proc|cpu|system[./]memory|(^|[._/])ram", re.IGNORECASE)
_UNITS = (
    (re.compile(r"percent|%", re.IGNORECASE), 1.0, "%"),
    (re.compile(r"gi?b(?![a-z])", re.IGNORECASE), 1.0, "GB"),
    (re.compile(r"mi?b(?![a-z])", re.IGNORECASE), 1 / 1024, "GB"),
    (re.compile(r"ki?b(?![a-z])", re.IGNORECASE), 1 / 1024**2, "GB"),
    (re.compile(r"bytes", re.IGNORECASE), 1e-9, "GB"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Use:
    """A series of memory, as memory in use in `unit` by a `factor`; `limit`: what there is, if known."""

    series: Series
    factor: float
    unit: str
    limit: float | None

    def used(self, rows: IntArray | slice) -> FloatArray:
        """What is in use at some rows."""
        used: FloatArray = np.clip(self.series.value[rows], -1e30, 1e30) * self.factor
        return used

    def last(self, attempt: int) -> int:
        """The last row of an attempt that says something."""
        row = rows_of_attempt(self.series, attempt).after - 1
        while not np.isfinite(self.series.value[row]):
            row -= 1
        return row

    def least_from(self, row: int) -> float:
        """The least of a few points from a row on."""
        value, size = self.series.value, FIRST
        while (good := np.flatnonzero(np.isfinite(value[row : row + size]))[:FIRST]).size < FIRST:
            size *= 2
        return float(self.used(row + good).min())

    def least_upto(self, row: int) -> float:
        """The least of a few points up to a row."""
        value, size = self.series.value, FIRST
        while (good := np.flatnonzero(np.isfinite(value[row + 1 - size : row + 1]))[-FIRST:]).size < FIRST:
            size = min(2 * size, row + 1)
        return float(self.used(row + 1 - size + good).min())

    def is_over(self, attempt: int) -> bool:
        """Whether another attempt has begun."""
        return bool(self.series.attempt[-1] != attempt)


_Found = tuple[_Use, MemoryGrowth]


@dataclass(frozen=True)
class MemoryLeakDetector:
    """Looks at the least memory in use of longer and longer blocks: whether it rises, steadily, for long."""

    name: ClassVar[str] = "memory_leak"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MEMORY_LEAK})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per leak, for the GPUs and for the host, named by the series that showed it first."""
        state = context.state
        found: list[_Found] = []
        for use in _uses(run):
            share = _SHARE / context.tuning.of(use.series.key.metric).sensitivity
            checkpoints = state.checkpoints((self.name, use.series.key), [use.series])
            found += [(use, growth) for growth in _growths(use, share, checkpoints)]
        found.sort(key=lambda one: (one[1].attempt, one[0].series.step[one[1].seen], one[0].series.key))
        groups: dict[tuple[int, bool], list[list[_Found]]] = {}
        for use, growth in found:
            same = groups.setdefault((growth.attempt, bool(_HOST.search(use.series.key.metric))), [])
            last = same[-1] if same else None
            if last is not None and _overlaps(last[0], (use, growth)):
                last.append((use, growth))
            else:
                same.append([(use, growth)])
        for same in groups.values():
            for leak in same:
                yield _finding(*leak[0], len({use.series.key for use, _ in leak}))


def _growths(
    use: _Use, share: float, checkpoints: ScanCheckpoints[MemoryGrowthScan]
) -> tuple[MemoryGrowth, ...]:
    """Every growth in a series, looked for from where the last look ended."""
    series = use.series
    checkpoint = checkpoints.latest([series])
    growths, done = (
        (checkpoint.state.copy(), checkpoint.rows[0]) if checkpoint else (MemoryGrowthScan(share), 0)
    )
    for span in attempt_rows(series, done):
        row = span.first + np.flatnonzero(np.isfinite(series.value[span.rows]))
        taken = growths.look(span.attempt, series, row, use.used(row))
        done = int(row[taken - 1]) + 1 if taken else span.first
    checkpoints.save(Checkpoint(growths.copy(), (done,)))
    return growths.found


def _overlaps(earlier: _Found, later: _Found) -> bool:
    """Whether the later one had begun when the earlier one was spoken, or the earlier one still went on."""
    use, growth = earlier
    step, (begun, seen) = use.series.step, later[0].series.step[[later[1].start, later[1].seen]].tolist()
    lasting = growth.known is None or bool(step[growth.known] > seen)
    return lasting or bool(begun <= step[growth.seen])


def _uses(run: RunData) -> Iterator[_Use]:
    """Every series of memory that is in use, or free."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.MEMORY and not key.has_clock_steps]
    limits = {key for key in keys if _LIMIT.search(key.metric) and not _FREE.search(key.metric)}
    for key in keys:
        if key not in limits:
            series, is_free = run.series[key], bool(_FREE.search(key.metric))
            factor, unit = _unit(series)
            limit = 0.0 if is_free else _limit(run, series, limits, unit)
            yield _Use(series=series, factor=-factor if is_free else factor, unit=unit, limit=limit)


def _unit(series: Series) -> tuple[float, str]:
    for pattern, factor, unit in _UNITS:
        if pattern.search(series.key.metric):
            return factor, unit
    known = _first_known(series)
    return (1e-9, "GB") if known is not None and abs(known) > 1e7 else (1.0, "")


def _first_known(series: Series) -> float | None:
    """The first finite value, None where there is none."""
    first, size = 0, 64
    while first < len(series):
        good = np.flatnonzero(np.isfinite(series.value[first : first + size]))
        if len(good):
            return float(series.value[first + good[0]])
        first, size = first + size, 2 * size
    return None


def _limit(run: RunData, series: Series, limits: set[SeriesKey], unit: str) -> float | None:
    """What a series of the same labels says there is in all; of shares, all of it."""
    if unit == "%":
        return 100.0
    host = bool(_HOST.search(series.key.metric))
    for key in sorted(limits):
        if key.labels == series.key.labels and bool(_HOST.search(key.metric)) == host:
            (factor, other), known = _unit(run.series[key]), _first_known(run.series[key])
            if other == unit and known is not None:
                return known * factor
    return None


def _finding(use: _Use, growth: MemoryGrowth, series: int) -> Finding:
    last = use.last(growth.attempt) if growth.end is None else growth.end
    start, step, time = growth.start, use.series.step, use.series.time
    steps = max(int(step[last] - step[start]), 1)
    begun, now = use.least_from(start), use.least_upto(last)
    grown = now - begun
    hours = float(time[last] - time[start]) / 3600
    evidence: _Evidence = {
        "baseline": abs(begun),
        "now": abs(now),
        "unit": use.unit,
        "growth_per_1000_steps": grown * 1000 / steps,
        "growth_per_hour": grown / hours if hours > 0 else None,
        "duration_steps": steps,
        "series": series,
    }
    left = None
    if use.limit is not None and grown > 0:
        left = (use.limit - now) / grown * steps
        evidence |= {"limit": use.limit, "limit_reached_at_step": int(step[last] + max(left, 0.0))}
    ended = growth.end is not None or use.is_over(growth.attempt)
    return Finding(
        kind=Kind.MEMORY_LEAK,
        metric=use.series.key.metric,
        labels=use.series.key.labels,
        attempt=growth.attempt,
        start_step=int(step[start]),
        peak_step=int(step[last]),
        end_step=int(step[last]) if ended else None,
        detected_step=int(step[growth.seen]),
        classified_step=int(step[growth.seen]),
        severity=_severity(use, now, left, hours, steps) if not ended else Severity.WARNING,
        confidence=0.9 if grown > 0.1 * abs(begun) else 0.75,
        summary=_summary(use, int(step[start]), (begun, now), evidence, ended=ended),
        advice=MEMORY_LEAK.advice,
        evidence=evidence,
    )


def _severity(use: _Use, now: float, left: float | None, hours: float, steps: int) -> Severity:
    """Critical once the limit is near: nine tenths are used, or two hours are left."""
    if left is None or use.limit is None:
        return Severity.WARNING
    soon = hours > 0 and left * hours * 3600 / steps < _SOON
    full = use.limit > 0 and now > _NEAR_LIMIT * use.limit
    return Severity.CRITICAL if soon or full else Severity.WARNING


def _summary(use: _Use, start: int, span: tuple[float, float], evidence: _Evidence, *, ended: bool) -> str:
    rate = evidence["growth_per_hour"]
    unit = f" {use.unit}" if use.unit else ""
    pace = f"{figure(float(evidence['growth_per_1000_steps'] or 0))}{unit} per 1,000 steps"
    if isinstance(rate, float):
        pace += f", {figure(rate)}{unit} an hour"
    reach = evidence.get("limit_reached_at_step")
    until = f", and reaches its limit at about step {reach:,}" if isinstance(reach, int) and not ended else ""
    verb = "has grown" if not ended else "grew"
    word = ": free memory has shrunk" if use.limit == 0.0 else f" {verb}"
    return (
        f"{use.series.key}{word} steadily since step {start:,}, from {figure(abs(span[0]))} to "
        f"{figure(abs(span[1]))}{unit}: {pace}{until}."
    )
