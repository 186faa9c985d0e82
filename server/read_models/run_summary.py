"""What a run's points say of it: counts, newest values, attempts, throughput, time spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.attempts.goodput import Goodput, clock_series, measure_goodput, superseded_steps
from holter.attempts.superseded import AttemptSpan
from holter.flops.rates import batch_size_at, batch_size_series
from holter.roles import Role
from holter.server.read_models.chart_layout import (
    BINS,
    LATEST_ROLES,
    relative_throughput,
    representative_series,
)
from holter.server.store import AttemptSummary, RunOverview, SeriesOverview, SeriesSummary, Store
from holter.types import SeriesKey

STRIP_POINTS = 1000
_NO_THROUGHPUT: Mapping[str, Sequence[Any]] = {"step": [], "relative": []}


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class RunFacts:
    """What a run's points say, as of one version of it: worked out once, kept until it changes."""

    version: tuple[int, int]
    points: int
    series: int
    first_time: float | None
    last_time: float | None
    last_step: int | None
    latest: Mapping[str, Any]
    strip: Mapping[str, Any]
    drawn: int | None  # the run's last step when the strip's throughput was worked out
    damaged: str | None = None  # which of its points cannot be read, and why


def run_facts(store: Store, run_id: int, glance: RunOverview, before: RunFacts | None) -> RunFacts:
    """What the points of a run say; `before` is what they said."""
    attempts = glance.attempts
    best = representative_series(glance.series)
    newest = {one.key: one for one in glance.series}
    first_times = [one.first_time for one in attempts if one.first_time is not None]
    last_times = [one.last_time for one in attempts if one.last_time is not None]
    reach = {
        "first_step": min((one.first_step for one in attempts), default=None),
        "last_step": max((one.last_step for one in attempts), default=None),
        "attempts": _attempts(attempts),
    }
    drawn, throughput = _throughput(store, run_id, best, reach, before)
    return RunFacts(
        version=glance.version,
        points=sum(one.points for one in glance.series),
        series=len(glance.series),
        first_time=min(first_times, default=None),
        last_time=max(last_times, default=None),
        # series with steps of their own, alone, count bytes, calls or milliseconds: no training steps
        last_step=attempts[-1].last_step if attempts and _in_steps(glance.series) else None,
        latest={role.value: _latest(newest.get(best[role])) if role in best else None for role in LATEST_ROLES},
        strip={**reach, "throughput": throughput},
        drawn=drawn,
    )


def _in_steps(series: Sequence[SeriesOverview]) -> bool:
    return any(one.key.step_unit is None for one in series)


def damaged_facts(version: tuple[int, int], reason: str) -> RunFacts:
    """What is known of a run whose points are damaged: that they are."""
    return RunFacts(
        version=version,
        points=0,
        series=0,
        first_time=None,
        last_time=None,
        last_step=None,
        latest=dict.fromkeys(role.value for role in LATEST_ROLES),
        strip={"first_step": None, "last_step": None, "attempts": [], "throughput": _NO_THROUGHPUT},
        drawn=None,
        damaged=reason,
    )


def spans_of(attempts: Sequence[AttemptSummary]) -> list[AttemptSpan]:
    """The steps that attempts cover."""
    return [AttemptSpan(one.number, one.first_step, one.last_step) for one in attempts]


def time_spent(
    store: Store, run_id: int, series: Sequence[SeriesSummary], spans: Sequence[AttemptSpan]
) -> Goodput | None:
    """How a run's time was spent, by the series logged most."""
    counted = {one.key: one.points for one in series}
    clock = clock_series(counted)
    if clock is None:
        return None
    sizes = batch_size_series(counted)
    read = store.read(run_id, [clock] if sizes is None else [clock, sizes])
    work = batch_size_at(read[clock], read.get(sizes) if sizes is not None else None)
    return measure_goodput(read[clock], spans, work)


def _attempts(attempts: Sequence[AttemptSummary]) -> list[dict[str, Any]]:
    spans = spans_of(attempts)
    names = ("number", "first_step", "last_step", "first_time", "last_time")
    return [
        {name: getattr(one, name) for name in names} | {"lost_from_step": superseded_steps(span, spans)[0]}
        for one, span in zip(attempts, spans, strict=True)
    ]


def _throughput(
    store: Store,
    run_id: int,
    best: Mapping[Role, SeriesKey],
    reach: Mapping[str, Any],
    before: RunFacts | None,
) -> tuple[int | None, Mapping[str, Sequence[Any]]]:
    role = Role.THROUGHPUT if Role.THROUGHPUT in best else Role.STEP_TIME
    if role not in best:
        return None, _NO_THROUGHPUT
    if before is not None and before.drawn is not None and _is_drawn(before.drawn, before.strip, reach):
        return before.drawn, before.strip["throughput"]
    drawn = store.chart(run_id, [best[role]], points=STRIP_POINTS)
    kept = [segment for one in drawn for segment in one.segments if not segment.ghost]
    steps = [part.step if part.band is None else part.band.step for part in kept]
    values = [part.value if part.band is None else part.band.mean for part in kept]
    return reach["last_step"], relative_throughput(
        np.concatenate([np.empty(0, np.int64), *steps]),
        np.concatenate([np.empty(0), *values]),
        slower_is_more=role is Role.STEP_TIME,
    )


def _is_drawn(drawn: int, strip: Mapping[str, Any], reach: Mapping[str, Any]) -> bool:
    """Whether a strip's throughput shows this reach, but for less than one of its bins."""
    same = len(strip["attempts"]) == len(reach["attempts"]) and strip["first_step"] == reach["first_step"]
    width = max(1, (reach["last_step"] - reach["first_step"]) // BINS)
    return bool(same and reach["last_step"] - drawn < width)


def _latest(newest: SeriesOverview | None) -> dict[str, Any] | None:
    return newest and {"metric": str(newest.key.metric), "value": newest.value, "step": newest.step}
