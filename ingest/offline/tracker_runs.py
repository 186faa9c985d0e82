"""Reads the runs of another tracker's collection into memory, for analysis and for reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from holter.ingest.names import without_invalid_names
from holter.ingest.offline.explain import FileReport
from holter.ingest.offline.read_run import OfflineRun
from holter.ingest.offline.series_builder import SeriesBuilder
from holter.ingest.redaction import without_private
from holter.ingest.trackers.base import Collection, CollectionError, Contents, KeptRun
from holter.ingest.trackers.row_order import batches
from holter.types import NO_CONFIG, Config, RunData, Unreadable

_WRITER = "import"


def build_series(
    contents: Contents, *, until_step: int | None = None
) -> tuple[SeriesBuilder, list[Unreadable]]:
    """The points of a run in a builder, which finds attempts by their order; and what is left out."""
    builder, left_out = SeriesBuilder(until_step=until_step), list(contents.left_out)
    refused: dict[str, Unreadable] = {}
    for batch in batches(contents):
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
        if not run.why_not:
            yield run.name, _read_tracker_run(path, collection, run, until_step)


def _read_tracker_run(path: Path, collection: Collection, run: KeptRun, until_step: int | None) -> OfflineRun:
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


def _explain_run(path: Path, collection: Collection, run: KeptRun) -> FileReport:
    name = f"{run.project}/{run.name}"
    if run.why_not:
        return FileReport(path=path, run=name, why_not=run.why_not)
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


def _extent(contents: Contents) -> tuple[int | None, int | None]:
    """First and last step of the training's series."""
    extents: Sequence[tuple[int, int]] = [
        (int(logged.steps.min()), int(logged.steps.max()))
        for logged in contents.logged
        if len(logged.steps) and logged.key.step_unit is None
    ]
    if not extents:
        return None, None
    return min(first for first, _ in extents), max(last for _, last in extents)
