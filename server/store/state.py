"""What the writer thread remembers of a run, and how it is loaded from the database."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan, nan
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from holter.attempts import Attempts, Writer
from holter.server.models import Attempt, Chunk, LogEntry, Project, Run, SeriesRow, WriterRow
from holter.server.store.block import Block, decode_entry
from holter.server.store.errors import CorruptDataError
from holter.server.store.progress import Progress, ranges
from holter.types import FloatArray, Labels, SeriesKey

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class AttemptFacts:
    """What the attempt's row says beyond its steps; times are NaN without a clock."""

    name: str | None = None
    first_time: float = nan
    last_time: float = nan
    points: int = 0

    def add(self, times: FloatArray, points: int) -> None:
        """Take in some more points."""
        known = times[~np.isnan(times)]
        if len(known):
            self.first_time = float(np.fmin(self.first_time, known.min()))
            self.last_time = float(np.fmax(self.last_time, known.max()))
        self.points += points


@dataclass(slots=True)
class RunState:
    """One run as of `revision`. `places` numbers the run's series from 0, `ids` has their ids by place."""

    id: int
    public_id: str
    revision: int
    updated_at: float
    attempts: Attempts
    places: dict[SeriesKey, int] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)
    progress: dict[int, Progress] = field(default_factory=dict)
    facts: dict[int, AttemptFacts] = field(default_factory=dict)

    def add_series(self, keys: Iterable[SeriesKey], ids: Iterable[int]) -> None:
        """Know these series by their ids."""
        for key, number in zip(keys, ids, strict=True):
            self.places[key] = len(self.ids)
            self.ids.append(number)


def load(connection: Connection, project: str, name: str) -> RunState | None:
    """The run's state as stored, None if there is no such run."""
    query = (
        select(Run.id, Run.public_id, Run.revision, Run.updated_at, Run.attempt_state)
        .join(Project)
        .where(Project.name == project, Run.name == name)
        .with_for_update(of=Run)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    attempts = Attempts.from_json(row.attempt_state)
    writers = select(WriterRow.name, WriterRow.state).where(WriterRow.run_id == row.id)
    attempts.writers = {writer: Writer.from_json(state) for writer, state in connection.execute(writers)}
    run = RunState(row.id, row.public_id, row.revision, row.updated_at, attempts)
    series = connection.execute(
        select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run.id)
    ).all()
    run.add_series((key_of(one.metric, one.labels) for one in series), (one.id for one in series))
    _load_facts(connection, run)
    _load_progress(connection, run)
    return run


def key_of(metric: str, labels: str) -> SeriesKey:
    """A series' key out of the columns of its row."""
    return SeriesKey(metric, _labels_of(labels))


@lru_cache(maxsize=10_000)
def _labels_of(text: str) -> Labels:
    return tuple((name, value) for name, value in json.loads(text))


def state_json(attempts: Attempts) -> dict[str, Any]:
    """What the run's row keeps of its attempts; the writers have rows of their own."""
    return Attempts(names=attempts.names, started=attempts.started).to_json()


def known(time: float) -> float | None:
    """A time as the tables keep it."""
    return None if isnan(time) else time


def _load_facts(connection: Connection, run: RunState) -> None:
    for row in connection.execute(select(Attempt.__table__).where(Attempt.run_id == run.id)):
        first = nan if row.first_time is None else row.first_time
        last = nan if row.last_time is None else row.last_time
        run.facts[row.number] = AttemptFacts(row.name, first, last, row.points)


def _load_progress(connection: Connection, run: RunState) -> None:
    place = {number: at for at, number in enumerate(run.ids)}
    grouped = (
        select(
            Chunk.attempt,
            Chunk.series_id,
            func.sum(Chunk.logged).label("points"),
            func.min(Chunk.step_min).label("first"),
            func.max(Chunk.step_max).label("last"),
        )
        .join(SeriesRow)
        .where(SeriesRow.run_id == run.id)
        .group_by(Chunk.attempt, Chunk.series_id)
    )
    for row in connection.execute(grouped):
        columns = ([place[row.series_id]], [int(row.points)], [row.first], [row.last])
        run.progress.setdefault(row.attempt, Progress()).add(*(np.array(c, dtype=np.int64) for c in columns))
    log = select(LogEntry.id, LogEntry.attempt, LogEntry.payload).where(LogEntry.run_id == run.id)
    for entry, attempt, payload in connection.execute(log):
        try:
            block = decode_entry(payload)
        except CorruptDataError as error:
            # a reader must be told, but the run goes on: new points are not to be refused for it
            _log.error("run %d, log entry %d: %s", run.id, entry, error)
            continue
        places = np.array([place[number] for number in block.ids.tolist()], dtype=np.int64)
        take_in(run, attempt, places, block)


def take_in(run: RunState, attempt: int, places: np.ndarray[Any, np.dtype[np.int64]], block: Block) -> None:
    """Count a block's points into the attempt's progress."""
    run.progress.setdefault(attempt, Progress()).add(places, block.counts, *ranges(block))
