"""Downsamples runs: removes most points, and retains extremes, ends and what is near incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import reading, writing
from holter.server.maintenance.downsampling_plan import DownsamplingPlan, plan_downsampling
from holter.server.maintenance.select_points import MARGIN_POINTS, near_incidents, select_points
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

PART_POINTS = 1_000_000
"""Points that are read and rewritten in one transaction."""

_NO_STEPS: IntArray = np.empty(0, dtype=np.int64)
NO_LOCK = nullcontext()

PrecedingSteps = dict[tuple[int, int], IntArray]
"""The last steps before a chunk group, by series and attempt."""


class RunChangedError(StoreError):
    """The run has new points: it is not downsampled now."""


@dataclass(frozen=True, slots=True)
class DownsamplingResult:
    """Points of a run's chunks before and after downsampling.

    `blocking_incident` is the id of the open incident without which more points would be removed.
    """

    before: int
    after: int
    blocking_incident: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Consecutive full-resolution chunks of a series in an attempt, and whether they are its first or last.

    `following` is the chunk after them: its steps show what is near their end.
    """

    rows: list[ChunkRow]
    first: bool
    last: bool
    following: ChunkRow | None


def downsample_run(
    engine: Engine,
    run_id: int,
    bucket: int,
    now: float,
    *,
    older_than: float | None = None,
    apply: bool = True,
    stopping: Callable[[], bool] = lambda: False,
    rewrite_lock: AbstractContextManager[object] = NO_LOCK,
) -> DownsamplingResult:
    """Reduce a run's chunks to four points per `bucket`; an interrupted call can be repeated.

    `older_than`: the run is live, and points logged before (Unix seconds) are reduced. `apply`: False to
    count only. `rewrite_lock` is held while chunks are rewritten. Raises RunChangedError where points of an
    idle run arrive meanwhile, and StoreError where another process rewrites its chunks.
    """
    if apply:
        with rewrite_lock:
            compact(engine, run_id)
    with reading(engine) as connection:
        plan, rows = plan_downsampling(RunSnapshot(connection, run_id), bucket, older_than)
    if apply:
        _record_start(engine, plan, now)
    before = after = sum(row.points for row in rows)
    preceding: PrecedingSteps = {}
    for groups in _group_batches(rows, plan):
        if stopping():
            return DownsamplingResult(before, after, plan.blocking_incident)
        with rewrite_lock:
            after -= _downsample_groups(engine, plan, groups, preceding, apply=apply)
    if apply:
        with writing(engine) as connection:
            connection.execute(
                update(DownsamplingRow).where(DownsamplingRow.run_id == run_id).values(done_at=now)
            )
    return DownsamplingResult(before, after, plan.blocking_incident)


def _downsample_groups(
    engine: Engine,
    plan: DownsamplingPlan,
    groups: Sequence[ChunkGroup],
    preceding: PrecedingSteps,
    *,
    apply: bool,
) -> int:
    """Downsample some groups of a run; returns the number of points removed."""
    with reading(engine) as connection:
        snapshot = RunSnapshot(connection, plan.run_id)
        if plan.live and not _still_exist(snapshot, groups):
            return 0  # late points were merged into these chunks: left for the next time
        builder, replaced = _reduce(snapshot, plan, groups, preceding)
        summary = load_summary(snapshot)
    if apply and replaced:
        try:
            _replace_chunks(engine, plan, summary, builder, replaced)
        except RunChangedError:
            raise
        except StoreError:
            if not plan.live:
                raise
            return 0
    return sum(row.points for row in replaced) - sum(int(row["points"]) for row in builder.rows)


def _still_exist(snapshot: RunSnapshot, groups: Sequence[ChunkGroup]) -> bool:
    wanted = {row for group in groups for row in (*group.rows, group.following) if row is not None}
    return wanted <= set(snapshot.chunks({row.series_id for row in wanted}))


def _record_start(engine: Engine, plan: DownsamplingPlan, now: float) -> None:
    """Store the downsampling row, so that detection ignores what is about to be removed."""
    with writing(engine) as connection:
        _lock_run(connection, plan)
        names = ("run_id", "revision", "attempt", "last_step")
        row = {name: getattr(plan, name) for name in names} | {"whole_from": plan.full_from}
        row |= {"seen_attempt": plan.seen[0], "seen_step": plan.seen[1], "begun_at": now, "done_at": None}
        connection.execute(delete(DownsamplingRow).where(DownsamplingRow.run_id == plan.run_id))
        connection.execute(insert(DownsamplingRow).values(row))


def _lock_run(connection: Connection, plan: DownsamplingPlan) -> None:
    """Lock an idle run as planned until the end of the transaction. Raises RunChangedError where it differs.

    A live run is not locked, as it continues; `purge` also removes rows that were written meanwhile.
    """
    query = select(RunRecord.revision).where(RunRecord.id == plan.run_id, RunRecord.deleted_at.is_(None))
    revision = connection.scalar(query if plan.live else query.with_for_update())
    if revision is None or not (plan.live or revision == plan.revision):
        raise RunChangedError(f"run {plan.run_id} has new points, or was deleted")


def _group_batches(rows: Sequence[ChunkRow], plan: DownsamplingPlan) -> Iterator[list[ChunkGroup]]:
    """Yield groups that are rewritten in one transaction."""
    batch: list[ChunkGroup] = []
    size = 0
    for group in _chunk_groups(rows, plan):
        points = sum(row.points for row in group.rows)
        if batch and size + points > PART_POINTS:
            yield batch
            batch, size = [], 0
        batch.append(group)
        size += points
    if batch:
        yield batch


def _chunk_groups(rows: Sequence[ChunkRow], plan: DownsamplingPlan) -> Iterator[ChunkGroup]:
    """Yield the chunks of each series and attempt to downsample, in groups of about equal size."""
    for _, grouped in groupby(rows, key=attrgetter("series_id", "attempt")):
        chunks = list(grouped)
        selected = [index for index, row in enumerate(chunks) if plan.includes(row)]
        breaks = [
            index
            for index, (previous, following) in enumerate(pairwise(selected), start=1)
            if following != previous + 1
        ]
        for start, stop in pairwise([0, *breaks, len(selected)]):
            consecutive = selected[start:stop]
            parts = -(-sum(chunks[index].points for index in consecutive) // PART_POINTS)
            bounds = [len(consecutive) * part // max(1, parts) for part in range(parts + 1)]
            for begin, end in pairwise(bounds):
                part = consecutive[begin:end]
                if part:
                    after = part[-1] + 1
                    yield ChunkGroup(
                        rows=chunks[part[0] : after],
                        first=part[0] == 0,
                        last=after == len(chunks),
                        following=chunks[after] if after < len(chunks) else None,
                    )


def _reduce(
    snapshot: RunSnapshot, plan: DownsamplingPlan, groups: Sequence[ChunkGroup], preceding: PrecedingSteps
) -> tuple[ChunkBuilder, list[ChunkRow]]:
    """Return the builder with the new chunks, and the chunks they replace; updates the preceding steps."""
    builder, replaced = ChunkBuilder(), list[ChunkRow]()
    for group in groups:
        wanted = [*group.rows, *([group.following] if group.following else [])]
        points_by_chunk = snapshot.points(wanted)
        points = SeriesPoints._make(
            np.concatenate(column)
            for column in zip(*(points_by_chunk[row.id] for row in group.rows), strict=True)
        )
        after = points_by_chunk[group.following.id].step[:MARGIN_POINTS] if group.following else _NO_STEPS
        key = (group.rows[0].series_id, group.rows[0].attempt)
        protected = _protected(plan, group, preceding.get(key, _NO_STEPS), points.step, after)
        preceding[key] = points.step[-MARGIN_POINTS:]
        mask = select_points(points, plan.bucket, protected)
        retained = int(mask.sum())
        # not worthwhile for a tenth of the points
        if retained <= 0.9 * len(mask):
            remaining = SeriesPoints._make(column[mask] for column in points)
            builder.add(key[1], key[0], remaining, removed=len(mask) - retained, last=group.last)
            replaced += group.rows
    return builder, replaced


def _protected(
    plan: DownsamplingPlan, group: ChunkGroup, before: IntArray, step: IntArray, after: IntArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points stay: near incidents, at both ends of an attempt, and at the run's newest end."""
    attempt = group.rows[0].attempt
    around = np.concatenate((before, step, after))
    incidents = [incident for incident in plan.incidents if incident.attempt == attempt]
    mask = near_incidents(around, incidents)[len(before) : len(before) + len(step)]
    if group.first:
        mask[:MARGIN_POINTS] = True
    if group.last:
        mask[-MARGIN_POINTS:] = True
    if attempt == plan.attempt:
        mask |= step >= plan.full_from
    return mask


def _replace_chunks(
    engine: Engine,
    plan: DownsamplingPlan,
    summary: StoredSummary,
    builder: ChunkBuilder,
    replaced: list[ChunkRow],
) -> None:
    """Replace chunks in one transaction."""
    with writing(engine) as connection:
        _lock_run(connection, plan)
        begin_rewrite(connection, plan.run_id, summary.generation)
        timelines = add_timelines(connection, plan.run_id, builder.timelines)
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in builder.rows]
        connection.execute(insert(Chunk), rows)
        delete_chunks(connection, replaced)
        changed = RunSnapshot(connection, plan.run_id).chunks({row.series_id for row in replaced})
        save_summary(connection, plan.run_id, replace(summary, chunks=recount_stats(summary.chunks, changed)))
