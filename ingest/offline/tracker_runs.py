"""The runs of a collection put together, to be analysed, and told in numbers."""

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
from holter.types import NO_CONFIG, Config, RunData, Series, SeriesKey, Unreadable

_WRITER = "import"


def build_series(
    contents: Contents, *, until_step: int | None = None
) -> tuple[SeriesBuilder, list[Unreadable]]:
    """A run's points in their attempts, told from their order; and what is left out of it."""
    assembly, left_out = SeriesBuilder(until_step=until_step), list(contents.left_out)
    refused: dict[str, Unreadable] = {}
    for batch in batches(contents):
        kept, words = without_invalid_names(batch)
        refused.update({word.location: word for word in words})
        assembly.add(_WRITER, kept)
    return assembly, [*left_out, *refused.values()]


def read_tracker_runs(
    path: Path, collection: Collection, *, until_step: int | None = None
) -> Iterator[tuple[str, OfflineRun]]:
    """Each run of a collection by its name; one that cannot be read has no points, and says why.

    Raises CollectionError where the collection as a whole cannot be read.
    """
    for run in collection.runs(path):
        if not run.why_not:
            yield run.name, _gathered(path, collection, run, until_step)


def _gathered(path: Path, collection: Collection, run: KeptRun, until_step: int | None) -> OfflineRun:
    name = f"{path.name}: {run.name}"
    try:
        contents = run.read()
    except (CollectionError, OSError) as error:
        return _gathering(SeriesBuilder(), [Unreadable(source=name, location="run", reason=str(error))], {})
    assembly, left_out = build_series(contents, until_step=until_step)
    config, _ = without_private(contents.config)
    return _gathering(
        assembly,
        [replace(unreadable, source=name) for unreadable in left_out],
        {name: collection.name},
        config,
    )


def _gathering(
    assembly: SeriesBuilder,
    unreadable: list[Unreadable],
    files: dict[str, str],
    config: Config = NO_CONFIG,
) -> OfflineRun:
    series: dict[SeriesKey, Series] = assembly.series()
    numbers = sorted({int(number) for one in series.values() for number in np.unique(one.attempt)})
    said = {key: dict.fromkeys(numbers, value) for key, value in config.items()}
    return OfflineRun(
        data=RunData(series=series, config=said),
        attempts=len(numbers),
        points=sum(map(len, series.values())),
        unreadable=unreadable,
        files=files,
    )


def explain_tracker_runs(path: Path, collection: Collection) -> list[FileReport]:
    """What each run of a collection holds, or why it is not taken. Raises CollectionError, OSError."""
    return [_explained(path, collection, run) for run in collection.runs(path)]


def _explained(path: Path, collection: Collection, run: KeptRun) -> FileReport:
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
        points={one.key: len(one.steps) for one in contents.logged},
        first_step=first,
        last_step=last,
        unreadable=contents.left_out,
    )


def _extent(contents: Contents) -> tuple[int | None, int | None]:
    """First and last step of the training's series."""
    ends: Sequence[tuple[int, int]] = [
        (int(one.steps.min()), int(one.steps.max()))
        for one in contents.logged
        if len(one.steps) and one.key.step_unit is None
    ]
    return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else (None, None)
