"""Imports the runs of another tracker one by one, into a store or through a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holter.ingest.names import storable_text
from holter.ingest.offline.tracker_runs import build_series
from holter.ingest.redaction import without_private
from holter.ingest.trackers.base import Collection, CollectionError, RunContents, TrackerRun
from holter.server.import_export.importer import IMPORT_BATCH_POINTS, ImportProgress
from holter.server.import_export.point_rows import PointRows, SeriesPiece
from holter.server.import_export.tracker_run import MAX_RUN_LENGTH, TrackerRunInfo, candidate_names
from holter.server.store import StoreError
from holter.types import Series, Unreadable

_MAX_PROJECT_LENGTH = 200

RunImporter = Callable[[TrackerRunInfo, Sequence[Series]], ImportProgress]
"""Imports a run with its points completely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerImportResult:
    """The result for one run: how many points are new, and how many were stored before.

    If `reason` is set, nothing was imported. `run_id` is empty in a dry run.
    """

    project: str
    run: str
    run_id: str = ""
    points: int = 0
    known: int = 0
    series: int = 0
    attempts: int = 0
    left_out: tuple[Unreadable, ...] = ()
    private: tuple[str, ...] = ()
    reason: str = ""


def import_collection(
    collection: Collection,
    path: Path,
    importer: RunImporter,
    *,
    project: str | None = None,
    private: bool = False,
) -> Iterator[TrackerImportResult]:
    """Import every run of a collection with `importer`.

    An unreadable run does not stop the others. With `private`, settings that name people, machines or secrets
    are imported, too. Raises CollectionError where nothing can be read, and what `importer` raises except
    ValueError and StoreError, which concern the run.
    """
    for run in collection.runs(path):
        names = (
            project or storable_text(run.project)[:_MAX_PROJECT_LENGTH] or "default",
            storable_text(run.name or run.id)[:MAX_RUN_LENGTH] or "unnamed",
        )
        if run.skip_reason:
            yield TrackerImportResult(project=names[0], run=names[1], reason=run.skip_reason)
            continue
        try:
            yield _import_run(f"{collection.name}:{run.id}", run, names, importer, private=private)
        except (CollectionError, StoreError, OSError, ValueError) as error:
            yield TrackerImportResult(project=names[0], run=names[1], reason=str(error))


def dry_run_importer() -> RunImporter:
    """Return an importer that stores nothing, and reports the name each run would get."""
    names: dict[tuple[str, str], str] = {}

    def import_nothing(info: TrackerRunInfo, series: Sequence[Series]) -> ImportProgress:
        free_names = (
            name
            for name in candidate_names(info)
            if names.get((info.project, name), info.identity) == info.identity
        )
        name = next(free_names, info.run)
        names[info.project, name] = info.identity
        return ImportProgress(
            project=info.project, run=name, run_id="", points=sum(map(len, series)), whole=True
        )

    return import_nothing


def _import_run(
    identity: str, run: TrackerRun, names: tuple[str, str], importer: RunImporter, *, private: bool
) -> TrackerImportResult:
    contents = run.read()
    config, redacted = without_private(contents.config)
    if private:
        config, redacted = dict(contents.config), []
    assembly, left_out = build_series(RunContents(logged=contents.logged, left_out=contents.left_out))
    series = list(assembly.all_points().values())
    result = TrackerImportResult(
        project=names[0], run=names[1], left_out=tuple(left_out), private=tuple(redacted)
    )
    if not any(map(len, series)):
        return replace(result, private=(), reason="it has no metrics")
    info = TrackerRunInfo(
        identity=identity,
        project=names[0],
        run=names[1],
        config=config,
        over=run.is_finished,
        ended=run.ended,
    )
    progress = importer(info, series)
    attempts = {int(attempt_number) for single in series for attempt_number in np.unique(single.attempt)}
    return replace(
        result, run=progress.run, run_id=progress.run_id, points=progress.points, known=progress.known,
        series=len(series), attempts=len(attempts),
    )  # fmt: skip


def rows_by_attempt(series: Sequence[Series]) -> Iterator[PointRows]:
    """Yield the points of a run attempt by attempt, in portions of about IMPORT_BATCH_POINTS."""
    for attempt in sorted(
        {int(attempt_number) for single in series for attempt_number in np.unique(single.attempt)}
    ):
        portion: list[Series] = []
        size = 0
        for single in series:
            for piece in _attempt_pieces(single, attempt):
                portion.append(piece)
                size += len(piece)
                if size >= IMPORT_BATCH_POINTS:
                    yield _concatenate(portion)
                    portion, size = [], 0
        if portion:
            yield _concatenate(portion)


def pieces_by_series(series: Sequence[Series]) -> Iterator[list[SeriesPiece]]:
    """Yield the points of a run series by series, as files have them, in portions of IMPORT_BATCH_POINTS."""
    for single in series:
        for begin in range(0, len(single), IMPORT_BATCH_POINTS):
            piece = _slice_series(single, slice(begin, begin + IMPORT_BATCH_POINTS))
            # derived from the points on import: the column is not read
            yield [SeriesPiece(piece, np.zeros(len(piece), dtype=bool))]


def _attempt_pieces(series: Series, attempt: int) -> Iterator[Series]:
    start, stop = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
    for begin in range(start, stop, IMPORT_BATCH_POINTS):
        yield _slice_series(series, slice(begin, min(begin + IMPORT_BATCH_POINTS, stop)))


def _concatenate(pieces: Sequence[Series]) -> PointRows:
    keys = {piece.key: index for index, piece in enumerate({piece.key: piece for piece in pieces}.values())}
    lengths = [len(piece) for piece in pieces]
    return PointRows(
        keys=list(keys),
        key_index=np.repeat(np.array([keys[piece.key] for piece in pieces], dtype=np.int64), lengths),
        attempt=np.concatenate([piece.attempt for piece in pieces]),
        step=np.concatenate([piece.step for piece in pieces]),
        time=np.concatenate([piece.time for piece in pieces]),
        value=np.concatenate([piece.value for piece in pieces]),
    )


def _slice_series(series: Series, rows: slice | NDArray[np.bool_]) -> Series:
    return Series(
        key=series.key, attempt=series.attempt[rows], step=series.step[rows], time=series.time[rows],
        value=series.value[rows],
    )  # fmt: skip
