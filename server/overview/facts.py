"""What a run's points say of it: counts, newest values, attempts, throughput, time spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.metrics import Role
from holter.server.overview.goodput import Goodput, goodput, lost_from
from holter.server.overview.strip import SPEAKING, relative_throughput, speakers
from holter.server.store import AttemptSummary, SeriesSummary, Store
from holter.timeline import Span
from holter.types import SeriesKey

STRIP_POINTS = 1000


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Facts:
    """What a run's points say, as of one `updated_at`: worked out once, kept until points arrive."""

    updated_at: float
    points: int
    series: int
    first_time: float | None
    last_time: float | None
    last_step: int | None
    latest: Mapping[str, Any]
    strip: Mapping[str, Any]


def read_facts(store: Store, run_id: int, updated_at: float) -> Facts:
    """What the points of a run say now; `updated_at` is that of the run before they were read."""
    series = store.series(run_id)
    attempts = store.attempts(run_id)
    best = speakers(series)
    newest = store.latest(run_id)
    first_times = [one.first_time for one in attempts if one.first_time is not None]
    last_times = [one.last_time for one in attempts if one.last_time is not None]
    return Facts(
        updated_at=updated_at,
        points=sum(one.points for one in series),
        series=len(series),
        first_time=min(first_times, default=None),
        last_time=max(last_times, default=None),
        last_step=attempts[-1].last_step if attempts else None,
        latest={role.value: _latest(best.get(role), newest) for role in SPEAKING},
        strip={
            "first_step": min((one.first_step for one in attempts), default=None),
            "last_step": max((one.last_step for one in attempts), default=None),
            "attempts": _attempts(attempts),
            "throughput": _throughput(store, run_id, best),
        },
    )


def spans_of(attempts: Sequence[AttemptSummary]) -> list[Span]:
    """The steps that attempts cover."""
    return [Span(one.number, one.first_step, one.last_step) for one in attempts]


def spent(store: Store, run_id: int, series: Sequence[SeriesSummary], spans: Sequence[Span]) -> Goodput:
    """How a run's time was spent, by the series logged most."""
    if not series:
        return Goodput(lost_seconds=None, share=None)
    clock = max(series, key=lambda one: one.points).key
    return goodput(store.read(run_id, [clock])[clock], spans)


def _attempts(attempts: Sequence[AttemptSummary]) -> list[dict[str, Any]]:
    spans = spans_of(attempts)
    names = ("number", "first_step", "last_step", "first_time", "last_time")
    return [
        {name: getattr(one, name) for name in names} | {"lost_from_step": lost_from(span, spans)[0]}
        for one, span in zip(attempts, spans, strict=True)
    ]


def _throughput(store: Store, run_id: int, best: Mapping[Role, SeriesKey]) -> Mapping[str, Sequence[Any]]:
    role = Role.THROUGHPUT if Role.THROUGHPUT in best else Role.STEP_TIME
    if role not in best:
        return {"step": [], "relative": []}
    drawn = store.chart(run_id, [best[role]], points=STRIP_POINTS)
    kept = [segment for one in drawn for segment in one.segments if not segment.ghost]
    steps = [part.step if part.band is None else part.band.step for part in kept]
    values = [part.value if part.band is None else part.band.mean for part in kept]
    return relative_throughput(
        np.concatenate([np.empty(0, np.int64), *steps]),
        np.concatenate([np.empty(0), *values]),
        slower_is_more=role is Role.STEP_TIME,
    )


def _latest(
    key: SeriesKey | None, newest: Mapping[SeriesKey, tuple[int, int, float, float]]
) -> dict[str, Any] | None:
    if key is None or key not in newest:
        return None
    _, step, _, value = newest[key]
    return {"metric": key.metric, "value": value, "step": step}
