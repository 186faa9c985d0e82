"""Reads the runs of another tracker's collection into memory, for analysis and for reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holter.ingest.names import without_invalid_names
from holter.ingest.offline.explain import FileReport
from holter.ingest.offline.read_run import OfflineRun
from holter.ingest.offline.series_builder import SeriesBuilder
from holter.ingest.redaction import without_private
from holter.ingest.trackers.base import Collection, CollectionError, LoggedSeries, RunContents, TrackerRun
from holter.types import NO_CONFIG, Batch, Column, Config, FloatArray, IntArray, RunData, Unreadable

MAX_BATCH_POINTS = 65_536
"""Points, about: rows are not cut."""


def row_batches(contents: RunContents) -> Iterator[Batch]:
    """The points of a run in the order of their times, those without a time by step.

    A row is what has one time and one step. Where a series has a step and a time twice, the later stands in
    a row of its own, after the first.
    """
    logged = [one for one in contents.logged if len(one.steps)]
    if not logged:
        return
    whole = _combined_batch(logged)
    rows = max(1, MAX_BATCH_POINTS * len(whole.steps) // whole.points)
    for start in range(0, len(whole.steps), rows):
        yield whole.cut(start, min(start + rows, len(whole.steps)))


def _combined_batch(logged: Sequence[LoggedSeries]) -> Batch:
    steps = np.concatenate([one.steps for one in logged])
    times = np.concatenate([one.times for one in logged])
    clock = np.where(np.isnan(times), -np.inf, times)
    again = np.concatenate([_repetitions(one) for one in logged])
    order = np.lexsort((again, steps, clock))
    begins = _differs_from_previous(clock[order], steps[order], again[order])
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(begins) - 1
    first = order[begins]
    columns, start = [], 0
    for one in logged:
        mine = row[start : start + len(one.steps)]
        start += len(one.steps)
        sorting = np.argsort(mine)
        rows = mine[sorting]
        columns.append(
            Column(
                key=one.key,
                values=one.values[sorting],
                rows=None if len(rows) == len(first) else rows,
            )
        )
    return Batch(steps=steps[first], times=times[first], columns=tuple(columns))


def _repetitions(one: LoggedSeries) -> IntArray:
    """For each point, how many the series has before it with the same step and time."""
    clock = np.where(np.isnan(one.times), -np.inf, one.times)
    order = np.lexsort((one.steps, clock))  # stable: equal ones stay in the order in which they were logged
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(_differs_from_previous(clock[order], one.steps[order]), place, 0))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = place - first
    return found


def _differs_from_previous(*columns: FloatArray | IntArray) -> NDArray[np.bool_]:
    """Where a row differs from the one before it."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


_WRITER = "import"


def build_series(
    contents: RunContents, *, until_step: int | None = None
) -> tuple[SeriesBuilder, list[Unreadable]]:
    """The points of a run in a builder, which finds attempts by their order; and what is left out."""
    builder, left_out = SeriesBuilder(until_step=until_step), list(contents.left_out)
    refused: dict[str, Unreadable] = {}
    for batch in row_batches(contents):
        valid, reports = without_invalid_names(batch)
        refused.update({report.location: report for report in reports})
        builder.add(_WRITER, valid)
    return builder, [*left_out, *refused.values()]


def read_tracker_runs(
    path: Path, collection: Collection, *, until_step: int | None = None
) -> Iterator[tuple[str, OfflineRun]]:
    """Each run of a collection with its name; one that cannot be read has no points and a reason.

    Raises CollectionError if the collection itself cannot be read.
    """
    for run in collection.runs(path):
        if not run.skip_reason:
            yield run.name, _read_tracker_run(path, collection, run, until_step)


def _read_tracker_run(
    path: Path, collection: Collection, run: TrackerRun, until_step: int | None
) -> OfflineRun:
    name = f"{path.name}: {run.name}"
    try:
        contents = run.read()
    except (CollectionError, OSError) as error:
        problem = Unreadable(source=name, location="run", reason=str(error))
        return _offline_run(SeriesBuilder(), [problem], {})
    builder, left_out = build_series(contents, until_step=until_step)
    config, _ = without_private(contents.config)
    unreadable = [replace(problem, source=name) for problem in left_out]
    return _offline_run(builder, unreadable, {name: collection.name}, config)


def _offline_run(
    builder: SeriesBuilder,
    unreadable: list[Unreadable],
    files: dict[str, str],
    config: Config = NO_CONFIG,
) -> OfflineRun:
    series = builder.series()
    attempts = sorted({int(number) for points in series.values() for number in np.unique(points.attempt)})
    by_attempt = {key: dict.fromkeys(attempts, value) for key, value in config.items()}
    return OfflineRun(
        data=RunData(series=series, config=by_attempt),
        attempts=len(attempts),
        points=sum(map(len, series.values())),
        unreadable=unreadable,
        files=files,
    )


def explain_tracker_runs(path: Path, collection: Collection) -> list[FileReport]:
    """A report on each run of a collection. Raises CollectionError, OSError."""
    return [_explain_run(path, collection, run) for run in collection.runs(path)]


def _explain_run(path: Path, collection: Collection, run: TrackerRun) -> FileReport:
    name = f"{run.project}/{run.name}"
    if run.skip_reason:
        return FileReport(path=path, run=name, why_not=run.skip_reason)
    try:
        contents = run.read()
    except (CollectionError, OSError) as error:
        return FileReport(path=path, run=name, why_not=str(error))
    first, last = _extent(contents)
    return FileReport(
        path=path,
        format=collection.name,
        run=name,
        points={logged.key: len(logged.steps) for logged in contents.logged},
        first_step=first,
        last_step=last,
        unreadable=contents.left_out,
    )


def _extent(contents: RunContents) -> tuple[int | None, int | None]:
    """First and last step of the training's series."""
    extents: Sequence[tuple[int, int]] = [
        (int(logged.steps.min()), int(logged.steps.max()))
        for logged in contents.logged
        if len(logged.steps) and logged.key.step_unit is None
    ]
    if not extents:
        return None, None
    return min(first for first, _ in extents), max(last for _, last in extents)
