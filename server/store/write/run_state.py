"""What the writer thread remembers of a run, and how it is loaded from the database."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

import numpy as np
from sqlalchemy import Connection, func, select

from holter.attempts import Attempts
from holter.attempts.writers import Writer
from holter.server.models import Attempt, Chunk, LogEntry, Run, SeriesRow, WriterRow
from holter.server.store.encoding.attempt_progress import Progress, ranges
from holter.server.store.encoding.block import Block, decode_entry
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import key_of
from holter.server.store.write.cardinality import Births
from holter.types import Column, DenseColumns, FloatArray, IntArray, SeriesKey, Shape

_log = logging.getLogger(__name__)

# bytes, a little more than what was measured (tests/store/test_bounds.py)
_RUN_BYTES = 4000
_SERIES_BYTES = 300
_PROGRESS_BYTES = 24
_WRITER_BYTES = 12_000
_SHAPES_PLACES = 1000


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
    """One run as of `revision`. `places` numbers the run's series from 0, `ids` has their ids by place.

    `aside` are the places of series whose steps are their own.
    """

    id: int
    public_id: str
    revision: int
    updated_at: float
    attempts: Attempts
    stated: int = 0  # commits that say how launches are set up
    places: dict[SeriesKey, int] = field(default_factory=dict)
    ids: array[int] = field(default_factory=lambda: array("q"))
    progress: dict[int, Progress] = field(default_factory=dict)
    facts: dict[int, AttemptFacts] = field(default_factory=dict)
    shapes: dict[Shape, IntArray] = field(default_factory=dict)  # places of the series of a shape
    told: set[str] = field(default_factory=set)  # refusals that stand on the run's page
    births: Births | None = None
    aside: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return (
            _RUN_BYTES
            + (_SERIES_BYTES + _PROGRESS_BYTES * len(self.progress)) * len(self.places)
            + _WRITER_BYTES * len(self.attempts.writers)
        )

    def place(self, keys: Iterable[SeriesKey]) -> None:
        """Give new series places; their ids are to follow in `ids`."""
        for key in keys:
            place = self.places[key] = len(self.places)
            if key.labels and key.own_steps is not None:
                self.aside.append(place)
            if self.births is not None:
                self.births.add(key, place)

    def tells(self, places: IntArray) -> bool:
        """Whether any of the series at these places tells how far the run is.

        Those with steps of their own do only where there are no others.
        """
        if not self.aside or len(self.aside) == len(self.places):
            return True
        return not bool(np.isin(places, self.aside).all())

    def places_of(self, columns: Sequence[Column]) -> IntArray:
        """Where the series of these columns stand, in their order; the same shape again costs nothing."""
        if not isinstance(columns, DenseColumns):
            return np.array([self.places[column.key] for column in columns], dtype=np.int64)
        places = self.shapes.get(columns.shape)
        if places is None:
            places = np.array([self.places[key] for key in columns.shape.keys], dtype=np.int64)
            # ranks of one run have shapes of their own: together these are to take no more than the series
            if sum(map(len, self.shapes.values())) > 2 * len(self.places) + _SHAPES_PLACES:
                self.shapes.clear()
            self.shapes[columns.shape] = places
        return places

    def ids_at(self, places: IntArray) -> IntArray:
        """The ids of the series at these places."""
        return np.frombuffer(self.ids, dtype=np.int64)[places]


def load(connection: Connection, run_id: int) -> RunState:
    """The run's state as stored."""
    columns = (Run.id, Run.public_id, Run.revision, Run.updated_at, Run.stated, Run.attempt_state)
    query = select(*columns)
    row = connection.execute(query.where(Run.id == run_id)).one()
    attempts = Attempts.from_json(row.attempt_state)
    writers = select(WriterRow.name, WriterRow.state).where(WriterRow.run_id == row.id)
    attempts.writers = {writer: Writer.from_json(state) for writer, state in connection.execute(writers)}
    run = RunState(row.id, row.public_id, row.revision, row.updated_at, attempts, row.stated)
    series = connection.execute(
        select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run.id)
    ).all()
    run.place(key_of(one.metric, one.labels) for one in series)
    run.ids.extend(one.id for one in series)
    _load_facts(connection, run)
    _load_progress(connection, run)
    return run


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


def take_in(run: RunState, attempt: int, places: IntArray, block: Block) -> None:
    """Count a block's points into the attempt's progress."""
    run.progress.setdefault(attempt, Progress()).add(places, block.counts, *ranges(block))
