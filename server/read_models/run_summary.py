"""Facts about a run that are computed from its points: counts, newest values, attempts, throughput, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holter.attempts.goodput import Goodput, clock_series, measure_goodput, superseded_steps
from holter.attempts.step_values import last_of_each_step
from holter.attempts.superseded import AttemptSpan
from holter.flops.rates import batch_size_at, batch_size_series
from holter.json_values import number
from holter.roles import Role
from holter.server.read_models.chart_layout import BINS, relative_throughput, representative_series
from holter.server.read_models.judgement import why_unjudged
from holter.server.schemas.runs import LatestByRole, LatestValue, StripAttempt, StripThroughput
from holter.server.store import AttemptSummary, RunOverview, SeriesOverview, SeriesSummary, Store
from holter.types import FloatArray, IntArray, SeriesKey

STRIP_POINTS = 1000
"""Points of a reduced series from which the bins of a health strip are computed."""
TREND_BINS = 48
"""Values of the loss, or of the reward, in the overview."""
_NO_THROUGHPUT: StripThroughput = {"step": [], "relative": []}


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class RunFacts:
    """Facts about one version of a run's points, cached until the version changes.

    `first_step` and `max_step` span all attempts; `last_step` is the newest training step. `drawn_upto`: the
    `max_step` for which `throughput` and `trend` were computed. `damaged`: why its points cannot be read.
    `unjudged`: why nothing is known about its health.
    """

    version: tuple[int, int]
    points: int
    series: int
    first_time: float | None
    last_time: float | None
    last_step: int | None
    latest: LatestByRole
    first_step: int | None
    max_step: int | None
    attempts: list[StripAttempt]
    throughput: StripThroughput
    drawn_upto: int | None
    trend: tuple[float, ...] = ()
    damaged: str | None = None
    unjudged: str | None = None


def run_facts(store: Store, run_id: int, overview: RunOverview, before: RunFacts | None) -> RunFacts:
    """The facts about a run's points; `before`: those of an earlier version."""
    attempts = overview.attempts
    best = representative_series(overview.series)
    by_key = {series.key: series for series in overview.series}
    first_times = [attempt.first_time for attempt in attempts if attempt.first_time is not None]
    last_times = [attempt.last_time for attempt in attempts if attempt.last_time is not None]
    facts = RunFacts(
        version=overview.version,
        points=sum(series.points for series in overview.series),
        series=len(overview.series),
        first_time=min(first_times, default=None),
        last_time=max(last_times, default=None),
        # series with their own step unit count bytes, calls or milliseconds, not training steps
        last_step=attempts[-1].last_step if attempts and _has_steps(overview.series) else None,
        latest=_latest_by_role({role: by_key[key] for role, key in best.items() if key in by_key}),
        first_step=min((attempt.first_step for attempt in attempts), default=None),
        max_step=max((attempt.last_step for attempt in attempts), default=None),
        attempts=_strip_attempts(attempts),
        throughput=_NO_THROUGHPUT,
        drawn_upto=None,
        unjudged=why_unjudged(overview.series),
    )
    return _with_curves(facts, store, run_id, best, before)


def _has_steps(series: Sequence[SeriesOverview]) -> bool:
    return any(each.key.step_unit is None for each in series)


def damaged_facts(version: tuple[int, int], reason: str) -> RunFacts:
    """The facts about a run whose points are damaged."""
    return RunFacts(
        version=version,
        points=0,
        series=0,
        first_time=None,
        last_time=None,
        last_step=None,
        latest=_latest_by_role({}),
        first_step=None,
        max_step=None,
        attempts=[],
        throughput=_NO_THROUGHPUT,
        drawn_upto=None,
        damaged=reason,
        unjudged="Points cannot be read",
    )


def spans_of(attempts: Sequence[AttemptSummary]) -> list[AttemptSpan]:
    """The ranges of steps of attempts."""
    return [AttemptSpan(attempt.number, attempt.first_step, attempt.last_step) for attempt in attempts]


def time_spent(
    store: Store, run_id: int, series: Sequence[SeriesSummary], spans: Sequence[AttemptSpan]
) -> Goodput | None:
    """How a run's time was used, by the clock of its longest series; None without a clock."""
    points = {summary.key: summary.points for summary in series}
    clock = clock_series(points)
    if clock is None:
        return None
    sizes = batch_size_series(points)
    stored = store.read(run_id, [clock] if sizes is None else [clock, sizes])
    read = {key: last_of_each_step(points) for key, points in stored.items()}
    work = batch_size_at(read[clock], read.get(sizes) if sizes is not None else None)
    return measure_goodput(read[clock], spans, work)


def _strip_attempts(attempts: Sequence[AttemptSummary]) -> list[StripAttempt]:
    spans = spans_of(attempts)
    return [
        StripAttempt(
            number=attempt.number,
            first_step=attempt.first_step,
            last_step=attempt.last_step,
            first_time=attempt.first_time,
            last_time=attempt.last_time,
            lost_from_step=superseded_steps(span, spans)[0],
        )
        for attempt, span in zip(attempts, spans, strict=True)
    ]


def _with_curves(
    facts: RunFacts, store: Store, run_id: int, best: Mapping[Role, SeriesKey], before: RunFacts | None
) -> RunFacts:
    """The facts with the curves of the overview, which are drawn again once they have grown by a bin."""
    speed = Role.THROUGHPUT if Role.THROUGHPUT in best else Role.STEP_TIME
    progress = Role.REWARD if Role.REWARD in best else Role.LOSS
    if speed not in best and progress not in best:
        return facts
    if before is not None and _still_drawn(before, facts):
        return replace(facts, throughput=before.throughput, trend=before.trend, drawn_upto=before.drawn_upto)
    throughput = facts.throughput
    if speed in best:
        slower_is_more = speed is Role.STEP_TIME
        throughput = relative_throughput(*_curve(store, run_id, best[speed]), slower_is_more=slower_is_more)
    trend = binned_means(*_curve(store, run_id, best[progress])) if progress in best else ()
    return replace(facts, throughput=throughput, trend=trend, drawn_upto=facts.max_step)


def _curve(store: Store, run_id: int, key: SeriesKey) -> tuple[IntArray, FloatArray]:
    """Steps and values of a reduced series without superseded points, arrays [n]."""
    reduced = store.chart(run_id, [key], points=STRIP_POINTS)
    segments = [segment for series in reduced for segment in series.segments if not segment.ghost]
    steps = [segment.step if segment.band is None else segment.band.step for segment in segments]
    values = [segment.value if segment.band is None else segment.band.mean for segment in segments]
    return (
        np.concatenate([np.empty(0, np.int64), *steps]),
        np.concatenate([np.empty(0), *values]),
    )


def binned_means(step: IntArray, value: FloatArray) -> tuple[float, ...]:
    """Means of a curve over up to `TREND_BINS` equal ranges of steps, with four digits; empty ones are left
    out.
    """
    if not len(step):
        return ()
    low, high = int(step.min()), int(step.max())
    # as floats: steps up to 2**62 in size are accepted, whose differences exceed 64 bits
    offset = step.astype(np.float64) - low
    index = np.floor(offset * TREND_BINS / max(high - low + 1, TREND_BINS)).astype(np.int64)
    index = np.minimum(index, TREND_BINS - 1)
    count = np.bincount(index)
    filled = np.flatnonzero(count)
    mean = np.bincount(index, weights=value)[filled] / count[filled]
    return tuple(float(f"{each:.4g}") for each in mean.tolist())


def _still_drawn(before: RunFacts, now: RunFacts) -> bool:
    """Whether the earlier throughput covers all steps but less than one bin of them."""
    if before.drawn_upto is None or now.first_step is None or now.max_step is None:
        return False
    same = len(before.attempts) == len(now.attempts) and before.first_step == now.first_step
    return same and now.max_step - before.drawn_upto < max(1, (now.max_step - now.first_step) // BINS)


def _latest_by_role(series: Mapping[Role, SeriesOverview]) -> LatestByRole:
    return {
        "loss": _latest_value(series.get(Role.LOSS)),
        "reward": _latest_value(series.get(Role.REWARD)),
        "throughput": _latest_value(series.get(Role.THROUGHPUT)),
        "step_time": _latest_value(series.get(Role.STEP_TIME)),
        "mfu": _latest_value(series.get(Role.MFU)),
        "grad_norm": _latest_value(series.get(Role.GRAD_NORM)),
        "learning_rate": _latest_value(series.get(Role.LEARNING_RATE)),
    }


def _latest_value(series: SeriesOverview | None) -> LatestValue | None:
    if series is None:
        return None
    return {"metric": str(series.key.metric), "value": number(series.value), "step": series.step}
