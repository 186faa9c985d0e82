"""Reads the runs of another tracker's collection into memory, for analysis and for reports.

Trackers store series one by one; `row_batches` restores the rows in which they were logged.
"""

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
"""Approximate bound of the points of a batch; rows are not split."""
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


def row_batches(contents: RunContents) -> Iterator[Batch]:
    """The points of a run in the order of their times, those without a time first and by step.

    A row has the points of one time and step. A point with the step and time of an earlier one of its series
    is in a row of its own, after the earlier one.
    """
    logged = [series for series in contents.logged if len(series.steps)]
    if not logged:
        return
    combined = _combined_batch(logged)
    rows = max(1, MAX_BATCH_POINTS * len(combined.steps) // combined.points)
    for start in range(0, len(combined.steps), rows):
        yield combined.cut(start, min(start + rows, len(combined.steps)))


def _combined_batch(logged: Sequence[LoggedSeries]) -> Batch:
    steps = np.concatenate([series.steps for series in logged])
    times = np.concatenate([series.times for series in logged])
    clock = np.where(np.isnan(times), -np.inf, times)
    repetitions = np.concatenate([_repetitions(series) for series in logged])
    order = np.lexsort((repetitions, steps, clock))
    begins = _differs_from_previous(clock[order], steps[order], repetitions[order])
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(begins) - 1
    first = order[begins]
    columns, start = [], 0
    for series in logged:
        series_rows = row[start : start + len(series.steps)]
        start += len(series.steps)
        sorting = np.argsort(series_rows)
        rows = series_rows[sorting]
        columns.append(
            Column(
                key=series.key,
                values=series.values[sorting],
                rows=None if len(rows) == len(first) else rows,
            )
        )
    return Batch(steps=steps[first], times=times[first], columns=tuple(columns))


def _repetitions(series: LoggedSeries) -> IntArray:
    """For each point, the number of earlier points of the series with the same step and time."""
    clock = np.where(np.isnan(series.times), -np.inf, series.times)
    order = np.lexsort((series.steps, clock))  # stable: equal points stay in the order of logging
    position = np.arange(len(order))
    first = np.maximum.accumulate(
        np.where(_differs_from_previous(clock[order], series.steps[order]), position, 0)
    )
    repetitions = np.empty(len(order), dtype=np.int64)
    repetitions[order] = position - first
    return repetitions


def _differs_from_previous(*columns: FloatArray | IntArray) -> NDArray[np.bool_]:
    """Whether each row differs from the one before it."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed
