"""Thins a run: most of its points go, stretch by stretch, and what tells its story stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import reading, writing
from holter.server.maintenance.downsampling_plan import Plan, plan_for
from holter.server.maintenance.select_points import NEAR, near, sieve
from holter.server.models import Chunk, DownsamplingRow, RunRecord
from holter.server.store import StoreError
from holter.server.store.compaction.compaction import add_timelines, compact, delete_chunks
from holter.server.store.compaction.summary import (
    StoredSummary,
    begin_rewrite,
    load_summary,
    recount_stats,
    save_summary,
)
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.chunk_builder import ChunkBuilder
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot
from holter.types import IntArray

AT_ONCE = 1_000_000
"""Points that are read and exchanged in one go."""

_NO_STEPS: IntArray = np.empty(0, dtype=np.int64)
NOBODY_ELSE = nullcontext()

Ends = dict[tuple[int, int], IntArray]
"""The last steps before a stretch, by series and attempt."""


class WentOnError(StoreError):
    """The run has news: it is not to be thinned now."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """How many points a run had in its chunks, and how many of them stay; `held_by`: more would go but for
    this incident, which is open."""

    before: int
    after: int
    held_by: int | None = None


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
    old: float | None = None,
    apply: bool = True,
    stopping: Callable[[], bool] = lambda: False,
    turn: AbstractContextManager[object] = NOBODY_ELSE,
) -> Thinned:
    """Thin a run's chunks to four points of every `bucket`; may end at any moment and be begun again.

    `old`: the run goes on, and what it logged before (Unix seconds) is thinned. `apply`: else only count.
    `turn` is held while chunks are exchanged, by whoever else does so. Raises, where the run is said to be
    quiet, WentOnError where points arrive meanwhile and StoreError where somebody else changes the chunks.
    """
    if apply:
        with turn:
            compact(engine, run_id)
    with reading(engine) as connection:
        plan, rows = plan_for(RunSnapshot(connection, run_id), bucket, old)
    if apply:
        _begin(engine, plan, now)
    before = after = sum(row.points for row in rows)
    ends: Ends = {}
    for together in _together(rows, plan):
        if stopping():
            return Thinned(before, after, plan.held_by)
        with turn:
            after -= _thin_some(engine, plan, together, ends, apply=apply)
    if apply:
        with writing(engine) as connection:
            connection.execute(
                update(DownsamplingRow).where(DownsamplingRow.run_id == run_id).values(done_at=now)
            )
    return Thinned(before, after, plan.held_by)


def _thin_some(engine: Engine, plan: Plan, together: Sequence[Stretch], ends: Ends, *, apply: bool) -> int:
    """Thin some stretches of a run; how many points less it has."""
    with reading(engine) as connection:
        snapshot = RunSnapshot(connection, plan.run_id)
        if plan.live and not _are_there(snapshot, together):
            return 0  # late points have come among them: another time
        cutter, gone = _sieved(snapshot, plan, together, ends)
        stored = load_summary(snapshot)
    if apply and gone:
        try:
            _exchange(engine, plan, stored, cutter, gone)
        except WentOnError:
            raise
        except StoreError:
            if not plan.live:
                raise
            return 0
    return sum(row.points for row in gone) - sum(int(row["points"]) for row in cutter.rows)


def _are_there(snapshot: RunSnapshot, together: Sequence[Stretch]) -> bool:
    wanted = {row for stretch in together for row in (*stretch.rows, stretch.following) if row is not None}
    return wanted <= set(snapshot.chunks({row.series_id for row in wanted}))


def _begin(engine: Engine, plan: Plan, now: float) -> None:
    """From now on detection leaves alone what is about to go."""
    with writing(engine) as connection:
        _hold(connection, plan)
        names = ("run_id", "revision", "attempt", "whole_from", "last_step")
        row = {name: getattr(plan, name) for name in names}
        row |= {"seen_attempt": plan.seen[0], "seen_step": plan.seen[1], "begun_at": now, "done_at": None}
        connection.execute(delete(DownsamplingRow).where(DownsamplingRow.run_id == plan.run_id))
        connection.execute(insert(DownsamplingRow).values(row))


def _hold(connection: Connection, plan: Plan) -> None:
    """Keep the run as it was planned until the transaction ends. Raises WentOnError where it is not.

    One that goes on is to go on: who deletes it sees to what was written meanwhile.
    """
    query = select(RunRecord.revision).where(RunRecord.id == plan.run_id, RunRecord.deleted_at.is_(None))
    revision = connection.scalar(query if plan.live else query.with_for_update())
    if revision is None or not (plan.live or revision == plan.revision):
        raise WentOnError(f"run {plan.run_id} has new points, or was deleted")


def _together(rows: Sequence[ChunkRow], plan: Plan) -> Iterator[list[Stretch]]:
    """Stretches that are exchanged in one transaction."""
    held: list[Stretch] = []
    size = 0
    for stretch in _stretches(rows, plan):
        points = sum(row.points for row in stretch.rows)
        if held and size + points > AT_ONCE:
            yield held
            held, size = [], 0
        held.append(stretch)
        size += points
    if held:
        yield held


def _stretches(rows: Sequence[ChunkRow], plan: Plan) -> Iterator[Stretch]:
    """Chunks of each series and attempt that are to be thinned, in parts of about one size."""
    for _, every in groupby(rows, key=attrgetter("series_id", "attempt")):
        held = list(every)
        whole = [at for at, row in enumerate(held) if plan.takes(row)]
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
    snapshot: RunSnapshot, plan: Plan, together: Sequence[Stretch], ends: Ends
) -> tuple[ChunkBuilder, list[ChunkRow]]:
    """The chunks that take the place of others, and those; `ends` has the steps before each stretch."""
    cutter, gone = ChunkBuilder(), list[ChunkRow]()
    for stretch in together:
        wanted = [*stretch.rows, *([stretch.following] if stretch.following else [])]
        held = snapshot.points(wanted)
        points = SeriesPoints._make(
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
            left = SeriesPoints._make(column[stay] for column in points)
            cutter.add(whose[1], whose[0], left, removed=len(stay) - kept, last=stretch.last)
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


def _exchange(
    engine: Engine, plan: Plan, stored: StoredSummary, cutter: ChunkBuilder, gone: list[ChunkRow]
) -> None:
    """Put the chunks in the place of others, in one transaction: all of it, or nothing."""
    with writing(engine) as connection:
        _hold(connection, plan)
        begin_rewrite(connection, plan.run_id, stored.generation)
        timelines = add_timelines(connection, plan.run_id, cutter.timelines)
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in cutter.rows]
        connection.execute(insert(Chunk), rows)
        delete_chunks(connection, gone)
        changed = RunSnapshot(connection, plan.run_id).chunks({row.series_id for row in gone})
        save_summary(connection, plan.run_id, replace(stored, chunks=recount_stats(stored.chunks, changed)))
