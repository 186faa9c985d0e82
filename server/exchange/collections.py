"""Imports the runs that another tracker keeps: each once, and what is new in it each time it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select, update

from holter.ingest.imports.collection import Collection, CollectionError, Contents, KeptRun
from holter.ingest.names import as_text
from holter.ingest.secrets import without_private
from holter.ingest.whole.collections import assemble
from holter.server.database import reading, writing
from holter.server.exchange.rows import Rows, batches
from holter.server.keeping.horizon import Horizon, horizon_of
from holter.server.models import AcceptedBatch, Project, Run
from holter.server.store import Store, StoreError
from holter.server.store.intake import digest_of
from holter.types import Batch, Config, Delivery, Series, Unreadable

_PORTION = 250_000  # points that are stored, and then compacted, at a time
_CLOCK = 1e-6  # seconds: what the store keeps of a wall time
_LONGEST_PROJECT, _LONGEST_RUN = 200, 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What became of one run: how many points are new, and how many were there before.

    Where `why_not` is not empty nothing was taken. `public_id` is empty where the run is not in the store.
    """

    project: str
    run: str
    public_id: str = ""
    points: int = 0
    known: int = 0
    series: int = 0
    attempts: int = 0
    left_out: tuple[Unreadable, ...] = ()
    private: tuple[str, ...] = ()
    why_not: str = ""


def import_collection(
    collection: Collection,
    path: Path,
    into: tuple[Engine, Store] | None,
    *,
    project: str | None = None,
    private: bool = False,
) -> Iterator[Taken]:
    """Take every run of a collection into the store, or only look at it where there is no store to take it.

    What is stored already is recognised by comparing, so that an import that was cut short goes on, and the
    source may be moved. A run that cannot be read does not stop the others. With `private`, settings that
    name people, machines or secrets are taken, too. Raises CollectionError where nothing can be read.
    """
    for run in collection.runs(path):
        place = (
            project or as_text(run.project)[:_LONGEST_PROJECT] or "default",
            as_text(run.name or run.id)[:_LONGEST_RUN] or "unnamed",
        )
        if run.why_not:
            yield Taken(project=place[0], run=place[1], why_not=run.why_not)
            continue
        try:
            yield _taken(f"{collection.name}:{run.id}", run, place, into, private=private)
        except (CollectionError, StoreError, OSError, ValueError) as error:
            yield Taken(project=place[0], run=place[1], why_not=str(error))


def _taken(
    identity: str, run: KeptRun, place: tuple[str, str], into: tuple[Engine, Store] | None, *, private: bool
) -> Taken:
    contents = run.read()
    config, hidden = without_private(contents.config)
    if private:
        config, hidden = dict(contents.config), []
    assembly, left_out = assemble(Contents(logged=contents.logged, left_out=contents.left_out))
    series = list(assembly.series().values())
    points = sum(map(len, series))
    project, name = place
    if not points:
        return Taken(project=project, run=name, left_out=tuple(left_out), why_not="it has no metrics")
    new, public_id = points, ""
    if into is not None:
        home = _Home(*into, project, name, identity)
        new = home.take(series, config)
        public_id = home.finish(run)
        name = home.run
    return Taken(
        project=project, run=name, public_id=public_id, points=new, known=points - new, series=len(series),
        attempts=len({int(one) for held in series for one in np.unique(held.attempt)}),
        left_out=tuple(left_out), private=tuple(hidden),
    )  # fmt: skip


class _Home:
    """The run of the store that a run of a collection is, or is to become.

    It has the collection's name for it; where another run has that, part of the tracker's id is added. The
    key of its first batch says whose it is.
    """

    def __init__(self, engine: Engine, store: Store, project: str, name: str, identity: str) -> None:
        self._engine, self._store, self._project = engine, store, project
        self._identity, self._mark = identity, digest_of(f"import:{identity}")
        short = identity.rpartition(":")[2].rpartition("/")[2]
        endings = ("", f" {short[:8]}", f" {digest_of(identity).hex()[:12]}")
        for ending in endings:
            self.run = name[: _LONGEST_RUN - len(ending)] + ending
            self._id, ours = self._find()
            if self._id is None or ours:
                return
        raise ValueError(f"there is another run {project}/{self.run} already")

    def take(self, series: Sequence[Series], config: Config) -> int:
        """Store what is new among the series; how many points that is."""
        new = series
        if self._id is not None:
            known = self._store.read(self._id)
            horizon = horizon_of(self._engine, self._id)
            new = [_new(one, known.get(one.key), horizon) for one in series]
        waiting = total = 0
        begun: set[int] = set()
        for attempt, batch in _batches(new):
            self._deliver(batch, {} if attempt in begun else config)
            begun.add(attempt)
            waiting, total = waiting + batch.points, total + batch.points
            if waiting >= _PORTION:  # a log that has grown takes more memory to compact
                self._store.compact(self._id)
                waiting = 0
        if total:
            self._store.compact(self._id)
        return total

    def finish(self, run: KeptRun) -> str:
        """Say when the run ended, where its tracker does; the run's public id."""
        mine = Run.id == self._id
        with writing(self._engine) as connection:
            if run.over:
                newest = connection.execute(select(Run.updated_at, Run.finished_at).where(mine)).one()
                ended = run.ended or newest.finished_at or newest.updated_at
                connection.execute(update(Run).where(mine).values(finished_at=ended))
            return str(connection.scalar(select(Run.public_id).where(mine)))

    def _deliver(self, batch: Batch, config: Config) -> None:
        named = Batch(
            steps=batch.steps, times=batch.times, columns=batch.columns, attempt=batch.attempt, config=config
        )
        receipt = self._store.accept(
            Delivery(
                project=self._project, run=self.run, writer=f"import:{self._identity}"[:1000],
                batch_id=f"import:{self._identity if self._id is None else uuid4().hex}", batch=named,
            )
        )  # fmt: skip
        if receipt.refused:
            raise ValueError("; ".join(refusal.reason for refusal in receipt.refused))
        self._id = receipt.run_id

    def _find(self) -> tuple[int | None, bool]:
        """The run of that name, and whether it came from this one of the collection."""
        query = select(Run.id).join(Project).where(Project.name == self._project, Run.name == self.run)
        with reading(self._engine) as connection:
            found = connection.scalar(query.where(Run.deleted_at.is_(None)))
            mark = select(AcceptedBatch.run_id).where(
                AcceptedBatch.run_id == found, AcceptedBatch.digest == self._mark
            )
            return found, found is not None and connection.scalar(mark) is not None


def _batches(series: Sequence[Series]) -> Iterator[tuple[int, Batch]]:
    """The points attempt by attempt, in portions of about `_PORTION`."""
    for attempt in sorted({int(number) for one in series for number in np.unique(one.attempt)}):
        held: list[Series] = []
        size = 0
        for one in series:
            for piece in _pieces(one, attempt):
                held.append(piece)
                size += len(piece)
                if size >= _PORTION:
                    yield from batches(_rows(held))
                    held, size = [], 0
        if held:
            yield from batches(_rows(held))


def _pieces(series: Series, attempt: int) -> Iterator[Series]:
    start, stop = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
    for begin in range(start, stop, _PORTION):
        yield _part(series, slice(begin, min(begin + _PORTION, stop)))


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


def _new(series: Series, known: Series | None, horizon: Horizon | None) -> Series:
    """The points that the store does not have as they are. What was thinned away there does not come back."""
    fresh = np.ones(len(series), dtype=bool)
    if known is not None and len(known):
        for attempt in np.unique(series.attempt).tolist():
            ours = slice(*np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist())
            theirs = slice(*np.searchsorted(known.attempt, (attempt, attempt + 1)).tolist())
            fresh[ours] = ~_same(_part(series, ours), _part(known, theirs))
    if horizon is not None:
        whole = (series.attempt > horizon.attempt) | (
            (series.attempt == horizon.attempt) & (series.step >= horizon.whole_from)
        )
        fresh &= whole
    return _part(series, fresh)


def _same(ours: Series, theirs: Series) -> NDArray[np.bool_]:
    """Which points of one attempt stand in the other series with the same value, bit by bit, and time."""
    if not len(theirs):
        return np.zeros(len(ours), dtype=bool)
    place = np.minimum(np.searchsorted(theirs.step, ours.step), len(theirs) - 1)
    value, time = theirs.value[place], theirs.time[place]
    same_value = (value.view(np.int64) == ours.value.view(np.int64)) | (
        np.isnan(value) & np.isnan(ours.value)
    )
    same_time = (np.abs(time - ours.time) <= _CLOCK) | (np.isnan(time) & np.isnan(ours.time))
    return np.asarray((theirs.step[place] == ours.step) & same_value & same_time)
