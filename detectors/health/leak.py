"""Memory leak: memory in use grows and grows, for long, and nothing takes it back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.figures import figure
from holter.detectors.places import spans_of
from holter.metrics import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

_BLOCKS = 24
"""Blocks looked at together. The least of a block is what stays when caches and buffers are emptied."""
_RISING = 21
"""Of their 23 differences so many rise: once in 30,000 where memory goes up and down by chance."""
_FIRST = 8
_SHARE = 0.02
_STEPS, _SECONDS = 2000, 1800.0
"""Growth over less is a warm-up, of caches, pools and workers, until it has gone on."""
_STEADY, _ONE_OFF, _TAKEN_BACK = 0.8, 0.34, 0.15
"""The second half grows by this share of the first or more: what slows down comes to an end. No single
difference is more than that share of the whole growth, and no more than that is taken back on the way."""
_ANEW = 0.5
"""Share of the growth that lies above everything before: a cache that fills again is no leak."""
_STOPPED = 0.25
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
    """One attempt's points of a series, as memory in use [n] in `unit`; `limit`: what there is, if known."""

    series: Series
    attempt: int
    step: IntArray
    time: FloatArray
    used: FloatArray
    unit: str
    limit: float | None
    over: bool


@dataclass(frozen=True, kw_only=True)
class _Growth:
    """Steady growth; `start`, `seen`, `end`, `known` index points: `end` and where it was known to have
    ended are None while it lasts."""

    start: int
    seen: int
    end: int | None = None
    known: int | None = None


@dataclass(frozen=True)
class MemoryLeak:
    """Looks at the least memory in use of longer and longer blocks: whether it rises, steadily, for long."""

    name: ClassVar[str] = "memory_leak"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MEMORY_LEAK})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per leak, for the GPUs and for the host, named by the series that showed it first."""
        found: list[tuple[_Use, _Growth]] = []
        for use in _uses(run):
            sensitivity = self.tuning.of(use.series.key.metric).sensitivity
            found += [(use, growth) for growth in _growths(use, _SHARE / sensitivity)]
        found.sort(key=lambda one: (one[0].attempt, one[0].step[one[1].seen], one[0].series.key))
        groups: dict[tuple[int, bool], list[list[tuple[_Use, _Growth]]]] = {}
        for use, growth in found:
            same = groups.setdefault((use.attempt, bool(_HOST.search(use.series.key.metric))), [])
            last = same[-1] if same else None
            if last is not None and _overlaps(last[0], (use, growth)):
                last.append((use, growth))
            else:
                same.append([(use, growth)])
        for same in groups.values():
            for leak in same:
                yield _finding(*leak[0], len({id(use.series) for use, _ in leak}))


def _overlaps(earlier: tuple[_Use, _Growth], later: tuple[_Use, _Growth]) -> bool:
    """Whether the later one had begun when the earlier one was spoken, or the earlier one still went on."""
    use, growth = earlier
    begun, seen = later[0].step[later[1].start], later[0].step[later[1].seen]
    lasting = growth.known is None or bool(use.step[growth.known] > seen)
    return lasting or bool(begun <= use.step[growth.seen])


def _uses(run: RunData) -> Iterator[_Use]:
    """Every attempt of every series of memory that is in use, or free."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.MEMORY]
    limits = {key for key in keys if _LIMIT.search(key.metric) and not _FREE.search(key.metric)}
    for key in keys:
        if key in limits:
            continue
        series = run.series[key]
        factor, unit = _unit(key.metric, series.value)
        sign = -1.0 if _FREE.search(key.metric) else 1.0
        for span in spans_of(series):
            good = np.isfinite(series.value[span.rows])
            yield _Use(
                series=series,
                attempt=span.attempt,
                step=series.step[span.rows][good],
                time=series.time[span.rows][good],
                used=np.clip(series.value[span.rows][good], -1e30, 1e30) * factor * sign,
                unit=unit,
                limit=0.0 if sign < 0 else _limit(run, series, limits, unit),
                over=span.after < len(series),
            )


def _unit(metric: str, value: FloatArray) -> tuple[float, str]:
    for pattern, factor, unit in _UNITS:
        if pattern.search(metric):
            return factor, unit
    finite = value[np.isfinite(value)][:1]
    return (1e-9, "GB") if len(finite) and abs(finite[0]) > 1e7 else (1.0, "")


def _limit(run: RunData, series: Series, limits: set[SeriesKey], unit: str) -> float | None:
    """What a series of the same labels says there is in all; of shares, all of it."""
    if unit == "%":
        return 100.0
    host = bool(_HOST.search(series.key.metric))
    for key in sorted(limits):
        if key.labels == series.key.labels and bool(_HOST.search(key.metric)) == host:
            factor, other = _unit(key.metric, run.series[key].value)
            known = run.series[key].value[np.isfinite(run.series[key].value)]
            if other == unit and len(known):
                return float(known[0]) * factor
    return None


def _growths(use: _Use, share: float) -> Iterator[_Growth]:
    """Every steady growth of an attempt, in order."""
    since, known = 0, 0
    leasts = _leasts(use.used)
    while True:
        found = [_first(use, (since, known), length, least, share) for length, least in leasts]
        growth = min((one for one in found if one), key=lambda one: (one.seen, one.start), default=None)
        if growth is None:
            return
        yield growth
        if growth.end is None or growth.known is None:
            return
        since, known = growth.end, growth.known


def _leasts(used: FloatArray) -> list[tuple[int, FloatArray]]:
    """The least of each block [blocks], of eight points, and of twice as many again and again, with how many
    points they are, while there are enough blocks."""
    least = used[: len(used) // _FIRST * _FIRST].reshape(-1, _FIRST).min(axis=1)
    leasts = []
    length = _FIRST
    while len(least) >= _BLOCKS:
        leasts.append((length, least))
        even = least[: len(least) // 2 * 2]
        least, length = np.minimum(even[::2], even[1::2]), 2 * length
    return leasts


def _first(use: _Use, after: tuple[int, int], length: int, least: FloatArray, share: float) -> _Growth | None:
    """The first steady growth in blocks of one length that begins after a point and is seen after another."""
    rises = np.concatenate(([0], np.cumsum(np.diff(least) > 0)))
    width = _BLOCKS - 1
    windows = np.flatnonzero(rises[width:] - rises[:-width] >= _RISING)
    for window in windows[windows * length >= after[0]].tolist():
        inside, earlier = least[window : window + _BLOCKS], least[:window]
        if inside[-1] - earlier.max(initial=-np.inf) < _ANEW * (inside[-1] - inside[0]):
            continue  # it has been there before, and came back
        start, seen = window * length, (window + _BLOCKS) * length - 1
        if seen > after[1] and _long_enough(use, start, seen) and _is_steady(inside, share):
            ended = _over(least[window:])
            if ended is None:
                return _Growth(start=start, seen=seen)
            end, known = ((window + block) * length for block in ended)
            return _Growth(start=start, seen=seen, end=end, known=known + length - 1)
    return None


def _long_enough(use: _Use, start: int, seen: int) -> bool:
    seconds = float(use.time[seen] - use.time[start])
    return bool(use.step[seen] - use.step[start] >= _STEPS) and not seconds < _SECONDS


def _is_steady(least: FloatArray, share: float) -> bool:
    total = float(least[-1] - least[0])
    # of free memory the level is what is left; a share of it is as good
    if total <= share * abs(float(np.median(least))):
        return False
    half = _BLOCKS // 2
    along = np.arange(half) - (half - 1) / 2
    first, last = float(along @ least[:half]), float(along @ least[half:])
    taken_back = float(np.max(np.maximum.accumulate(least) - least))
    one_off = float(np.diff(least).max())
    return bool(last >= _STEADY * first and one_off <= _ONE_OFF * total and taken_back <= _TAKEN_BACK * total)


def _over(least: FloatArray) -> tuple[int, int] | None:
    """The block, counted from the growth's first, from which it has hardly grown any more or was given back,
    and the block that told."""
    reached = float(np.median(least[:_BLOCKS])) * 2 - float(least[0])
    given_back = np.flatnonzero(least[_BLOCKS:] < 0.5 * (least[0] + reached))
    ends = [(_BLOCKS + int(given_back[0]),) * 2] if len(given_back) else []
    begin, slope = _BLOCKS - 1, (reached - float(least[0])) / (_BLOCKS - 1)
    if len(least) >= begin + _BLOCKS:
        later = sliding_window_view(least[begin:], _BLOCKS)
        slow = np.flatnonzero(later[:, -1] - later[:, 0] < _STOPPED * slope * (_BLOCKS - 1))
        if len(slow):
            inside, first = later[slow[0]], begin + int(slow[0])
            rest = int(np.argmax(inside >= np.median(inside[_BLOCKS // 2 :]) - slope / 2))
            ends.append((first + rest, first + _BLOCKS - 1))
    return min(ends, key=lambda one: one[1], default=None)


def _finding(use: _Use, growth: _Growth, series: int) -> Finding:
    last = len(use.used) - 1 if growth.end is None else growth.end
    start, step = growth.start, use.step
    steps = max(int(step[last] - step[start]), 1)
    begun = float(use.used[start : start + _FIRST].min())
    now = float(use.used[max(last - _FIRST + 1, 0) : last + 1].min())
    grown = now - begun
    hours = float(use.time[last] - use.time[start]) / 3600
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
    ended = growth.end is not None or use.over
    return Finding(
        kind=Kind.MEMORY_LEAK,
        metric=use.series.key.metric,
        labels=use.series.key.labels,
        attempt=use.attempt,
        start_step=int(step[start]),
        peak_step=int(step[last]),
        end_step=int(step[last]) if ended else None,
        detected_step=int(step[growth.seen]),
        classified_step=int(step[growth.seen]),
        severity=_severity(use, now, left, hours, steps) if not ended else Severity.WARNING,
        confidence=0.9 if grown > 0.1 * abs(begun) else 0.75,
        summary=_summary(use, int(step[start]), (begun, now), evidence, ended=ended),
        advice=(
            "Look for what keeps references: losses that are summed up without .item(), growing caches, "
            "data loader workers. Restart from a checkpoint before the limit is reached."
        ),
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
