"""Plans downsampling: all but the newest end of an idle run, the old part of a live run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
from sqlalchemy import select

from holter.detectors.positions import Position
from holter.server.alerting.incident import IncidentState
from holter.server.maintenance.horizon import query_horizon
from holter.server.maintenance.select_points import IncidentSteps
from holter.server.models import AnalysisRow, Attempt, IncidentRow, RunRecord
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot

TAIL_POINTS = 4096
"""Points that detection needs as a baseline: retained at the end of an idle run and before the live part."""
SEEN_MARGIN = 3600.0
"""Seconds before the newest analysed point; points logged earlier have certainly been analysed."""

_INT64_MIN = -(2**63)


@dataclass(frozen=True, slots=True)
class DownsamplingPlan:
    """What is removed from a run. `seen`: up to this position, detection has seen all points.

    Attempts before `attempt`, and its steps before `full_from`, are downsampled; findings up to its
    `last_step` are final. `own_step_series` are series with steps of their own, retained in this attempt.
    `blocking_incident` is the open incident without which more would be removed.
    """

    run_id: int
    revision: int
    live: bool
    attempt: int
    full_from: int
    last_step: int
    seen: Position
    bucket: int
    incidents: list[IncidentSteps]
    own_step_series: frozenset[int]
    blocking_incident: int | None = None

    def includes(self, row: ChunkRow) -> bool:
        """Whether a chunk may be downsampled, which happens once."""
        if row.points != row.logged or row.attempt > self.attempt:
            return False
        if row.attempt < self.attempt:
            return True
        return row.series_id not in self.own_step_series and (not self.live or row.step_max < self.full_from)


def plan_downsampling(
    snapshot: RunSnapshot, bucket: int, older_than: float | None
) -> tuple[DownsamplingPlan, list[ChunkRow]]:
    """Return the plan for a run and its chunks; `older_than` as for `downsample_run`."""
    rows = sorted(snapshot.chunks(), key=attrgetter("series_id", "attempt", "step_min"))
    series = snapshot.series()
    own_step_series = frozenset(series_id for series_id, key in series.items() if key.step_unit is not None)
    limit = (
        _idle_limit(snapshot, rows, own_step_series)
        if older_than is None
        else _live_limit(snapshot, rows, own_step_series, older_than)
    )
    plan = DownsamplingPlan(
        run_id=snapshot.run_id,
        revision=snapshot.connection.scalar(select(RunRecord.revision).where(RunRecord.id == snapshot.run_id))
        or 0,
        live=older_than is not None,
        attempt=limit.attempt,
        full_from=limit.full_from,
        last_step=limit.last_step,
        seen=limit.seen,
        bucket=bucket,
        incidents=_incident_steps(snapshot),
        own_step_series=own_step_series,
        blocking_incident=limit.blocking_incident,
    )
    return plan, rows


@dataclass(frozen=True, slots=True)
class _DownsamplingLimit:
    attempt: int
    full_from: int
    last_step: int
    seen: Position
    blocking_incident: int | None = None


def _idle_limit(
    snapshot: RunSnapshot, rows: Sequence[ChunkRow], own_step_series: Collection[int]
) -> _DownsamplingLimit:
    newest = max(snapshot.spans(), key=attrgetter("number"))
    longest = _longest_series(rows, newest.number, own_step_series)
    full_from = _tail_start(snapshot, longest, None)
    return _DownsamplingLimit(newest.number, full_from, newest.last_step, (newest.number, newest.last_step))


def _live_limit(
    snapshot: RunSnapshot, rows: Sequence[ChunkRow], own_step_series: Collection[int], older_than: float
) -> _DownsamplingLimit:
    """Before the retained time and before every open incident; never earlier than the previous limit."""
    live_start = _first_since(snapshot, rows, own_step_series, older_than)
    open_incidents = select(IncidentRow.attempt, IncidentRow.start_step, IncidentRow.id).where(
        IncidentRow.run_id == snapshot.run_id, IncidentRow.state == IncidentState.OPEN.value
    )
    oldest_open = min(
        (
            (attempt, step, incident_id)
            for attempt, step, incident_id in snapshot.connection.execute(open_incidents)
        ),
        default=None,
    )
    blocking_incident = oldest_open[2] if oldest_open is not None and oldest_open[:2] < live_start else None
    attempt, first_step = live_start if oldest_open is None else min(live_start, oldest_open[:2])
    last_seen = select(AnalysisRow.seen_at).where(AnalysisRow.run_id == snapshot.run_id)
    seen_at = snapshot.connection.scalar(last_seen)
    seen = (
        live_start
        if seen_at is None
        else _first_since(snapshot, rows, own_step_series, seen_at - SEEN_MARGIN)
    )
    full_from = _tail_start(snapshot, _longest_series(rows, attempt, own_step_series), first_step)
    previous = query_horizon(snapshot.connection, snapshot.run_id)
    if previous is not None and (previous.attempt, previous.full_from) >= (attempt, full_from):
        return _DownsamplingLimit(
            previous.attempt, previous.full_from, previous.last_step, previous.seen, blocking_incident
        )
    return _DownsamplingLimit(attempt, full_from, max(_INT64_MIN, first_step - 1), seen, blocking_incident)


def _first_since(
    snapshot: RunSnapshot, rows: Sequence[ChunkRow], own_step_series: Collection[int], moment: float
) -> Position:
    """Return the position of a run at a moment: its first point since, of the series with the most points.

    A point without a clock counts as logged since.
    """
    query = select(Attempt.number, Attempt.last_time).where(Attempt.run_id == snapshot.run_id)
    attempts = snapshot.connection.execute(query.order_by(Attempt.number)).all()
    since = [row.number for row in attempts if row.last_time is None or row.last_time >= moment]
    attempt = since[0] if since else max((row.number for row in attempts), default=0)
    first = None
    chunks = _longest_series(rows, attempt, own_step_series)
    for points in _reversed_points(snapshot, chunks):
        later_index = np.flatnonzero(~(points.time < moment))
        if not len(later_index):
            break
        first = int(points.step[later_index[0]])
    if first is None:
        first = chunks[-1].step_max + 1 if chunks else _INT64_MIN
    return attempt, first


def _tail_start(snapshot: RunSnapshot, rows: Sequence[ChunkRow], step: int | None) -> int:
    """Return the step from which TAIL_POINTS points precede a step (None: the end) in a series' chunks."""
    missing = TAIL_POINTS
    for points in _reversed_points(snapshot, [row for row in rows if step is None or row.step_min < step]):
        steps = points.step if step is None else points.step[: np.searchsorted(points.step, step)]
        if len(steps) >= missing:
            return int(steps[-missing])
        missing -= len(steps)
    return _INT64_MIN


def _reversed_points(snapshot: RunSnapshot, rows: Sequence[ChunkRow]) -> Iterator[SeriesPoints]:
    for row in reversed(rows):
        yield snapshot.points([row])[row.id]


def _longest_series(
    rows: Sequence[ChunkRow], attempt: int, own_step_series: Collection[int]
) -> list[ChunkRow]:
    """The chunks of the series that logged most in an attempt, among those counting steps as the run does."""
    attempt_rows = [row for row in rows if row.attempt == attempt and row.series_id not in own_step_series]
    groups = [list(group) for _, group in groupby(attempt_rows, key=attrgetter("series_id"))]
    return max(groups, key=lambda group: sum(row.logged for row in group), default=[])


def _incident_steps(snapshot: RunSnapshot) -> list[IncidentSteps]:
    columns = (
        IncidentRow.start_step,
        IncidentRow.peak_step,
        IncidentRow.detected_step,
        IncidentRow.classified_step,
    )
    query = select(IncidentRow.attempt, *columns, IncidentRow.end_step).where(
        IncidentRow.run_id == snapshot.run_id
    )
    return [
        IncidentSteps(attempt, tuple(sorted(step for step in steps if step is not None)))
        for attempt, *steps in snapshot.connection.execute(query)
    ]
