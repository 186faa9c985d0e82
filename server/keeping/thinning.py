"""Thins a run: most of its points go, stretch by stretch, and what tells its story stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import reading, writing
from holter.server.keeping.sieve import NEAR, Event, near, sieve
from holter.server.models import Chunk, Incident, Run, Thinning
from holter.server.store import StoreError
from holter.server.store.block import Points
from holter.server.store.compaction import add_timelines, compact, delete_chunks
from holter.server.store.cutter import Cutter
from holter.server.store.snapshot import ChunkRow, Snapshot
from holter.server.store.summary import Stored, claim, load, recount, save
from holter.types import IntArray

TAIL = 4096
"""Points at the end of the newest attempt that stay: what comes next is judged by them."""
AT_ONCE = 1_000_000
"""Points that are read and exchanged in one go."""

_NO_STEPS: IntArray = np.empty(0, dtype=np.int64)


class WentOnError(StoreError):
    """The run has news: it is not to be thinned now."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """How many points a run had in its chunks, and how many of them stay."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What holds while a run is thinned."""

    run_id: int
    revision: int
    attempt: int
    whole_from: int
    last_step: int
    bucket: int
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring chunks of a series in an attempt, whole so far, and whether they are its first or last.

    `following` is the chunk after them, which tells what is near their end.
    """

    rows: list[ChunkRow]
    first: bool
    last: bool
    following: ChunkRow | None


def thin(
    engine: Engine,
    run_id: int,
    bucket: int,
    now: float,
    *,
    apply: bool = True,
    stopping: Callable[[], bool] = lambda: False,
) -> Thinned:
    """Thin a run's chunks to four points of every `bucket`; may end at any moment and be begun again.

    `apply`: else only count. Raises WentOnError where points arrive meanwhile, StoreError where somebody
    else changes the same chunks.
    """
    if apply:
        compact(engine, run_id)
    with reading(engine) as connection:
        plan, rows = _plan(Snapshot(connection, run_id), bucket)
    if apply:
        _begin(engine, plan, now)
    before = after = sum(row.points for row in rows)
    ends: dict[tuple[int, int], IntArray] = {}
    for together in _together(rows):
        if stopping():
            return Thinned(before, after)
        with reading(engine) as connection:
            snapshot = Snapshot(connection, run_id)
            cutter, gone = _sieved(snapshot, plan, together, ends)
            stored = load(snapshot)
        after -= sum(row.points for row in gone) - sum(row["points"] for row in cutter.rows)
        if apply and gone:
            _exchange(engine, plan, stored, cutter, gone)
    if apply:
        with writing(engine) as connection:
            connection.execute(update(Thinning).where(Thinning.run_id == run_id).values(done_at=now))
    return Thinned(before, after)


def _plan(snapshot: Snapshot, bucket: int) -> tuple[Plan, list[ChunkRow]]:
    rows = sorted(snapshot.chunks(), key=attrgetter("series_id", "attempt", "step_min"))
    newest = max(snapshot.spans(), key=attrgetter("number"))
    return (
        Plan(
            run_id=snapshot.run_id,
            revision=snapshot.connection.scalar(select(Run.revision).where(Run.id == snapshot.run_id)) or 0,
            attempt=newest.number,
            whole_from=_whole_from(snapshot, [row for row in rows if row.attempt == newest.number]),
            last_step=newest.last_step,
            bucket=bucket,
            events=_events(snapshot.connection, snapshot.run_id),
        ),
        rows,
    )


def _whole_from(snapshot: Snapshot, rows: Sequence[ChunkRow]) -> int:
    """The step from which on the newest attempt stays whole, by the series with the most points."""
    if not rows:
        return -(2**63)
    each = [list(held) for _, held in groupby(rows, key=attrgetter("series_id"))]
    longest = max(each, key=lambda held: sum(row.points for row in held))
    end: list[ChunkRow] = []
    while longest and sum(row.points for row in end) < TAIL:
        end.append(longest.pop())
    points = snapshot.points(end)
    return int(np.concatenate([points[row.id].step for row in reversed(end)])[-TAIL:][0])


def _events(connection: Connection, run_id: int) -> list[Event]:
    columns = (Incident.start_step, Incident.peak_step, Incident.detected_step, Incident.classified_step)
    query = select(Incident.attempt, *columns, Incident.end_step).where(Incident.run_id == run_id)
    return [
        Event(attempt, tuple(sorted(step for step in steps if step is not None)))
        for attempt, *steps in connection.execute(query)
    ]


def _begin(engine: Engine, plan: Plan, now: float) -> None:
    """From now on detection leaves alone what is about to go."""
    with writing(engine) as connection:
        _hold(connection, plan)
        names = ("run_id", "revision", "attempt", "whole_from", "last_step")
        row = {name: getattr(plan, name) for name in names} | {"begun_at": now, "done_at": None}
        connection.execute(delete(Thinning).where(Thinning.run_id == plan.run_id))
        connection.execute(insert(Thinning).values(row))


def _hold(connection: Connection, plan: Plan) -> None:
    """Keep the run as it was planned until the transaction ends. Raises WentOnError where it is not."""
    query = select(Run.revision).where(Run.id == plan.run_id, Run.deleted_at.is_(None))
    if connection.scalar(query.with_for_update()) != plan.revision:
        raise WentOnError(f"run {plan.run_id} has new points, or was deleted")


def _together(rows: Sequence[ChunkRow]) -> Iterator[list[Stretch]]:
    """Stretches that are exchanged in one transaction."""
    held: list[Stretch] = []
    size = 0
    for stretch in _stretches(rows):
        points = sum(row.points for row in stretch.rows)
        if held and size + points > AT_ONCE:
            yield held
            held, size = [], 0
        held.append(stretch)
        size += points
    if held:
        yield held


def _stretches(rows: Sequence[ChunkRow]) -> Iterator[Stretch]:
    """Chunks of each series and attempt that are whole, in parts of about one size."""
    for _, every in groupby(rows, key=attrgetter("series_id", "attempt")):
        held = list(every)
        whole = [at for at, row in enumerate(held) if row.points == row.logged]
        breaks = [at for at, (one, other) in enumerate(pairwise(whole), start=1) if other != one + 1]
        for start, stop in pairwise([0, *breaks, len(whole)]):
            run = whole[start:stop]
            parts = -(-sum(held[at].points for at in run) // AT_ONCE)
            bounds = [len(run) * part // max(1, parts) for part in range(parts + 1)]
            for begin, end in pairwise(bounds):
                part = run[begin:end]
                if part:
                    after = part[-1] + 1
                    yield Stretch(
                        rows=held[part[0] : after],
                        first=part[0] == 0,
                        last=after == len(held),
                        following=held[after] if after < len(held) else None,
                    )


def _sieved(
    snapshot: Snapshot, plan: Plan, together: Sequence[Stretch], ends: dict[tuple[int, int], IntArray]
) -> tuple[Cutter, list[ChunkRow]]:
    """The chunks that take the place of others, and those; `ends` has the steps before each stretch."""
    cutter, gone = Cutter(), list[ChunkRow]()
    for stretch in together:
        wanted = [*stretch.rows, *([stretch.following] if stretch.following else [])]
        held = snapshot.points(wanted)
        points = Points._make(
            np.concatenate(column) for column in zip(*(held[row.id] for row in stretch.rows), strict=True)
        )
        after = held[stretch.following.id].step[:NEAR] if stretch.following else _NO_STEPS
        whose = (stretch.rows[0].series_id, stretch.rows[0].attempt)
        whole = _whole(plan, stretch, ends.get(whose, _NO_STEPS), points.step, after)
        ends[whose] = points.step[-NEAR:]
        stay = sieve(points, plan.bucket, whole)
        kept = int(stay.sum())
        # for a tenth of the points it is not worth while
        if kept <= 0.9 * len(stay):
            left = Points._make(column[stay] for column in points)
            cutter.add(whose[1], whose[0], left, thinned=len(stay) - kept, last=stretch.last)
            gone += stretch.rows
    return cutter, gone


def _whole(
    plan: Plan, stretch: Stretch, before: IntArray, step: IntArray, after: IntArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """What stays whole of a stretch: what is near incidents, both ends of an attempt, the newest end."""
    attempt = stretch.rows[0].attempt
    around = np.concatenate((before, step, after))
    events = [event for event in plan.events if event.attempt == attempt]
    whole = near(around, events)[len(before) : len(before) + len(step)]
    if stretch.first:
        whole[:NEAR] = True
    if stretch.last:
        whole[-NEAR:] = True
    if attempt == plan.attempt:
        whole |= step >= plan.whole_from
    return whole


def _exchange(engine: Engine, plan: Plan, stored: Stored, cutter: Cutter, gone: list[ChunkRow]) -> None:
    """Put the chunks in the place of others, in one transaction: all of it, or nothing."""
    with writing(engine) as connection:
        _hold(connection, plan)
        claim(connection, plan.run_id, stored.generation)
        timelines = add_timelines(connection, plan.run_id, cutter.timelines)
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in cutter.rows]
        connection.execute(insert(Chunk), rows)
        delete_chunks(connection, gone)
        changed = Snapshot(connection, plan.run_id).chunks({row.series_id for row in gone})
        save(connection, plan.run_id, replace(stored, chunks=recount(stored.chunks, changed)))
