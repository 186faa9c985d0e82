"""What of a run is thinned: all of a quiet one but its newest end, of one that goes on what is old."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
from sqlalchemy import select

from holter.detectors.positions import Place
from holter.server.alerting.lifecycle import IncidentState
from holter.server.maintenance.horizon import horizon_in
from holter.server.maintenance.select_points import Event
from holter.server.models import AnalysisRow, Attempt, IncidentRow, RunRecord
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot

TAIL = 4096
"""Points before what stays to be judged, and at the end of a quiet run, that stay: it is judged by them."""
SURELY_SEEN = 3600.0
"""Seconds before the newest point that was looked at; what was logged earlier has been looked at."""

_BEGINNING = -(2**63)


@dataclass(frozen=True, slots=True)
class Plan:
    """What holds while a run is thinned. `seen`: up to here, all was looked at while it was whole.

    Older attempts than `attempt`, and its own steps before `whole_from`, are thinned; what detection has
    said up to `last_step` of it stays said. `aside` are the series with steps of their own: of the attempt,
    they stay whole. `held_by` is the open incident but for which more would be thinned.
    """

    run_id: int
    revision: int
    live: bool
    attempt: int
    whole_from: int
    last_step: int
    seen: Place
    bucket: int
    events: list[Event]
    aside: frozenset[int]
    held_by: int | None = None

    def takes(self, row: ChunkRow) -> bool:
        """Whether a chunk may be thinned, which happens once."""
        if row.points != row.logged or row.attempt > self.attempt:
            return False
        if row.attempt < self.attempt:
            return True
        return row.series_id not in self.aside and (not self.live or row.step_max < self.whole_from)


def plan_for(snapshot: RunSnapshot, bucket: int, old: float | None) -> tuple[Plan, list[ChunkRow]]:
    """The plan for a run, and its chunks; `old`: it goes on, what it logged before (Unix seconds) goes."""
    rows = sorted(snapshot.chunks(), key=attrgetter("series_id", "attempt", "step_min"))
    named = snapshot.series()
    aside = frozenset(number for number, key in named.items() if key.own_steps is not None)
    line = _quiet(snapshot, rows, aside) if old is None else _live(snapshot, rows, aside, old)
    plan = Plan(
        run_id=snapshot.run_id,
        revision=snapshot.connection.scalar(select(RunRecord.revision).where(RunRecord.id == snapshot.run_id))
        or 0,
        live=old is not None,
        attempt=line.attempt,
        whole_from=line.whole_from,
        last_step=line.last_step,
        seen=line.seen,
        bucket=bucket,
        events=_events(snapshot),
        aside=aside,
        held_by=line.held_by,
    )
    return plan, rows


@dataclass(frozen=True, slots=True)
class _Line:
    attempt: int
    whole_from: int
    last_step: int
    seen: Place
    held_by: int | None = None


def _quiet(snapshot: RunSnapshot, rows: Sequence[ChunkRow], aside: Collection[int]) -> _Line:
    newest = max(snapshot.spans(), key=attrgetter("number"))
    longest = _longest(rows, newest.number, aside)
    whole_from = _tail_before(snapshot, longest, None)
    return _Line(newest.number, whole_from, newest.last_step, (newest.number, newest.last_step))


def _live(snapshot: RunSnapshot, rows: Sequence[ChunkRow], aside: Collection[int], old: float) -> _Line:
    """Before what is old, and before all that is still open; never further back than it was."""
    young = _first_since(snapshot, rows, aside, old)
    opened = select(IncidentRow.attempt, IncidentRow.start_step, IncidentRow.id).where(
        IncidentRow.run_id == snapshot.run_id, IncidentRow.state == IncidentState.OPEN.value
    )
    held = min(((a, s, number) for a, s, number in snapshot.connection.execute(opened)), default=None)
    held_by = held[2] if held is not None and held[:2] < young else None
    attempt, first = young if held is None else min(young, held[:2])
    looked = select(AnalysisRow.seen_at).where(AnalysisRow.run_id == snapshot.run_id)
    seen_at = snapshot.connection.scalar(looked)
    seen = young if seen_at is None else _first_since(snapshot, rows, aside, seen_at - SURELY_SEEN)
    whole_from = _tail_before(snapshot, _longest(rows, attempt, aside), first)
    before = horizon_in(snapshot.connection, snapshot.run_id)
    if before is not None and (before.attempt, before.whole_from) >= (attempt, whole_from):
        return _Line(before.attempt, before.whole_from, before.last_step, before.seen, held_by)
    return _Line(attempt, whole_from, max(_BEGINNING, first - 1), seen, held_by)


def _first_since(
    snapshot: RunSnapshot, rows: Sequence[ChunkRow], aside: Collection[int], moment: float
) -> Place:
    """Where the run was at a moment: its first point since, by the series with the most points.

    A point without a clock counts as logged since.
    """
    query = select(Attempt.number, Attempt.last_time).where(Attempt.run_id == snapshot.run_id)
    attempts = snapshot.connection.execute(query.order_by(Attempt.number)).all()
    since = [one.number for one in attempts if one.last_time is None or one.last_time >= moment]
    attempt = since[0] if since else max((one.number for one in attempts), default=0)
    first = None
    held = _longest(rows, attempt, aside)
    for points in _from_the_end(snapshot, held):
        later = np.flatnonzero(~(points.time < moment))
        if not len(later):
            break
        first = int(points.step[later[0]])
    if first is None:
        first = held[-1].step_max + 1 if held else _BEGINNING
    return attempt, first


def _tail_before(snapshot: RunSnapshot, rows: Sequence[ChunkRow], step: int | None) -> int:
    """The step from which on so many points stand before a step (None: at the end) of a series' chunks."""
    missing = TAIL
    for points in _from_the_end(snapshot, [row for row in rows if step is None or row.step_min < step]):
        mine = points.step if step is None else points.step[: np.searchsorted(points.step, step)]
        if len(mine) >= missing:
            return int(mine[-missing])
        missing -= len(mine)
    return _BEGINNING


def _from_the_end(snapshot: RunSnapshot, rows: Sequence[ChunkRow]) -> Iterator[SeriesPoints]:
    for row in reversed(rows):
        yield snapshot.points([row])[row.id]


def _longest(rows: Sequence[ChunkRow], attempt: int, aside: Collection[int]) -> list[ChunkRow]:
    """The chunks of the series that logged most in an attempt, of those that count steps as the run does."""
    mine = [row for row in rows if row.attempt == attempt and row.series_id not in aside]
    each = [list(held) for _, held in groupby(mine, key=attrgetter("series_id"))]
    return max(each, key=lambda held: sum(row.logged for row in held), default=[])


def _events(snapshot: RunSnapshot) -> list[Event]:
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
        Event(attempt, tuple(sorted(step for step in steps if step is not None)))
        for attempt, *steps in snapshot.connection.execute(query)
    ]
