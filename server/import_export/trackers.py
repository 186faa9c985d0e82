"""Looks through the runs that another tracker keeps, and hands each to who takes it: a store, or a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holter.ingest.names import storable_text
from holter.ingest.offline.tracker_runs import build_series
from holter.ingest.redaction import without_private
from holter.ingest.trackers.base import Collection, CollectionError, Contents, KeptRun
from holter.server.import_export.importer import PORTION, Imported
from holter.server.import_export.long_table import Piece, Rows
from holter.server.import_export.tracker_run import LONGEST_RUN, Kept, names
from holter.server.store import StoreError
from holter.types import Series, Unreadable

_LONGEST_PROJECT = 200

Taker = Callable[[Kept, Sequence[Series]], Imported]
"""Takes a run with its points to the end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What became of one run: how many points are new, and how many were there before.

    Where `why_not` is not empty nothing was taken. `run_id` is empty where the run is not in a store.
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
    why_not: str = ""


def take_collection(
    collection: Collection,
    path: Path,
    taker: Taker,
    *,
    project: str | None = None,
    private: bool = False,
) -> Iterator[Taken]:
    """Hand every run of a collection to `taker`.

    A run that cannot be read does not stop the others. With `private`, settings that name people, machines
    or secrets are taken, too. Raises CollectionError where nothing can be read, and what `taker` raises but
    ValueError and StoreError: those are the run's.
    """
    for run in collection.runs(path):
        place = (
            project or storable_text(run.project)[:_LONGEST_PROJECT] or "default",
            storable_text(run.name or run.id)[:LONGEST_RUN] or "unnamed",
        )
        if run.why_not:
            yield Taken(project=place[0], run=place[1], why_not=run.why_not)
            continue
        try:
            yield _taken(f"{collection.name}:{run.id}", run, place, taker, private=private)
        except (CollectionError, StoreError, OSError, ValueError) as error:
            yield Taken(project=place[0], run=place[1], why_not=str(error))


def only_looking() -> Taker:
    """Takes nothing, and says what each run would be called among those before it."""
    called: dict[tuple[str, str], str] = {}

    def look(kept: Kept, series: Sequence[Series]) -> Imported:
        free = (
            name for name in names(kept) if called.get((kept.project, name), kept.identity) == kept.identity
        )
        name = next(free, kept.run)
        called[kept.project, name] = kept.identity
        return Imported(project=kept.project, run=name, run_id="", points=sum(map(len, series)), whole=True)

    return look


def _taken(identity: str, run: KeptRun, place: tuple[str, str], taker: Taker, *, private: bool) -> Taken:
    contents = run.read()
    config, hidden = without_private(contents.config)
    if private:
        config, hidden = dict(contents.config), []
    assembly, left_out = build_series(Contents(logged=contents.logged, left_out=contents.left_out))
    series = list(assembly.series().values())
    told = Taken(project=place[0], run=place[1], left_out=tuple(left_out), private=tuple(hidden))
    if not any(map(len, series)):
        return replace(told, private=(), why_not="it has no metrics")
    kept = Kept(
        identity=identity, project=place[0], run=place[1], config=config, over=run.over, ended=run.ended
    )
    done = taker(kept, series)
    attempts = {int(one) for held in series for one in np.unique(held.attempt)}
    return replace(
        told, run=done.run, run_id=done.run_id, points=done.points, known=done.known, series=len(series),
        attempts=len(attempts),
    )  # fmt: skip


def portions(series: Sequence[Series]) -> Iterator[Rows]:
    """The points of a run attempt by attempt, in portions of about `PORTION`."""
    for attempt in sorted({int(number) for one in series for number in np.unique(one.attempt)}):
        held: list[Series] = []
        size = 0
        for one in series:
            for piece in _pieces(one, attempt):
                held.append(piece)
                size += len(piece)
                if size >= PORTION:
                    yield _rows(held)
                    held, size = [], 0
        if held:
            yield _rows(held)


def pieces_of(series: Sequence[Series]) -> Iterator[list[Piece]]:
    """The points of a run as a file has them: series by series, in portions of about `PORTION`."""
    for one in series:
        for begin in range(0, len(one), PORTION):
            piece = _part(one, slice(begin, begin + PORTION))
            # what newer attempts superseded is told from the points; nobody reads this of such a file
            yield [Piece(piece, np.zeros(len(piece), dtype=bool))]


def _pieces(series: Series, attempt: int) -> Iterator[Series]:
    start, stop = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
    for begin in range(start, stop, PORTION):
        yield _part(series, slice(begin, min(begin + PORTION, stop)))


def _rows(held: Sequence[Series]) -> Rows:
    keys = {one.key: place for place, one in enumerate({one.key: one for one in held}.values())}
    lengths = [len(one) for one in held]
    return Rows(
        keys=list(keys),
        which=np.repeat(np.array([keys[one.key] for one in held], dtype=np.int64), lengths),
        attempt=np.concatenate([one.attempt for one in held]),
        step=np.concatenate([one.step for one in held]),
        time=np.concatenate([one.time for one in held]),
        value=np.concatenate([one.value for one in held]),
    )


def _part(series: Series, rows: slice | NDArray[np.bool_]) -> Series:
    return Series(
        key=series.key, attempt=series.attempt[rows], step=series.step[rows], time=series.time[rows],
        value=series.value[rows],
    )  # fmt: skip
