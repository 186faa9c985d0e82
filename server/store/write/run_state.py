"""The state of a run that the writer thread caches, and how it is loaded from the database."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

import numpy as np
from sqlalchemy import Connection, func, select

from holter.attempts import Attempts
from holter.attempts.writers import WriterState
from holter.server.models import Attempt, Chunk, LogEntry, RunRecord, SeriesRow, WriterRow
from holter.server.store.encoding.attempt_progress import AttemptProgress, step_ranges
from holter.server.store.encoding.block import PointBlock, decode_log_entry
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import parse_series_key
from holter.server.store.write.cardinality import NamePatterns
from holter.types import Column, DenseColumns, FloatArray, IntArray, SeriesKey, SeriesLayout

_log = logging.getLogger(__name__)

# bytes, slightly more than measured (tests/store/test_bounds.py)
_RUN_BYTES = 4000
_SERIES_BYTES = 300
_PROGRESS_BYTES = 24
_WRITER_BYTES = 12_000
_MIN_LAYOUT_INDICES = 1000


@dataclass(slots=True)
class AttemptRecord:
    """The columns of an attempt's row other than its steps; times are NaN without a clock."""

    name: str | None = None
    first_time: float = nan
    last_time: float = nan
    points: int = 0

    def add(self, times: FloatArray, points: int) -> None:
        """Include more points."""
        known = times[~np.isnan(times)]
        if len(known):
            self.first_time = float(np.fmin(self.first_time, known.min()))
            self.last_time = float(np.fmax(self.last_time, known.max()))
        self.points += points


@dataclass(slots=True)
class RunState:
    """One run as of `revision`.

    `series_index` numbers the run's series from 0, `ids` has their ids by index. `own_step_series` are the
    indices of series whose steps are their own.
    """

    id: int
    public_id: str
    revision: int
    updated_at: float
    attempts: Attempts
    stated: int = 0  # number of commits that state launch configuration
    series_index: dict[SeriesKey, int] = field(default_factory=dict)
    ids: array[int] = field(default_factory=lambda: array("q"))
    progress: dict[int, AttemptProgress] = field(default_factory=dict)
    attempt_records: dict[int, AttemptRecord] = field(default_factory=dict)
    layouts: dict[SeriesLayout, IntArray] = field(default_factory=dict)  # series indices of each layout
    reported_refusals: set[str] = field(default_factory=set)  # refusals that the run's page lists already
    name_patterns: NamePatterns | None = None
    own_step_series: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Approximate bytes of memory."""
        return (
            _RUN_BYTES
            + (_SERIES_BYTES + _PROGRESS_BYTES * len(self.progress)) * len(self.series_index)
            + _WRITER_BYTES * len(self.attempts.writers)
        )

    def add_series(self, keys: Iterable[SeriesKey]) -> None:
        """Assign indices to new series; the caller appends their ids to `ids`."""
        for key in keys:
            index = self.series_index[key] = len(self.series_index)
            if key.labels and key.step_unit is not None:
                self.own_step_series.append(index)
            if self.name_patterns is not None:
                self.name_patterns.add(key, index)

    def counts_as_progress(self, indices: IntArray) -> bool:
        """Whether any of these series shows how far the run is.

        Series with steps of their own do only if there are no others.
        """
        if not self.own_step_series or len(self.own_step_series) == len(self.series_index):
            return True
        return not bool(np.isin(indices, self.own_step_series).all())

    def indices_of(self, columns: Sequence[Column]) -> IntArray:
        """The indices of the series of these columns; cached for a repeated layout."""
        if not isinstance(columns, DenseColumns):
            return np.array([self.series_index[column.key] for column in columns], dtype=np.int64)
        indices = self.layouts.get(columns.layout)
        if indices is None:
            indices = np.array([self.series_index[key] for key in columns.layout.keys], dtype=np.int64)
            # each rank of a run may have its own layout: together they take no more memory than the series
            if sum(map(len, self.layouts.values())) > 2 * len(self.series_index) + _MIN_LAYOUT_INDICES:
                self.layouts.clear()
            self.layouts[columns.layout] = indices
        return indices

    def ids_of(self, indices: IntArray) -> IntArray:
        """The ids of the series at these indices."""
        return np.frombuffer(self.ids, dtype=np.int64)[indices]


def load_run_state(connection: Connection, run_id: int) -> RunState:
    """Load the run's state from the database."""
    columns = (
        RunRecord.id,
        RunRecord.public_id,
        RunRecord.revision,
        RunRecord.updated_at,
        RunRecord.stated,
        RunRecord.attempt_state,
    )
    query = select(*columns)
    row = connection.execute(query.where(RunRecord.id == run_id)).one()
    attempts = Attempts.from_json(row.attempt_state)
    writers = select(WriterRow.name, WriterRow.state).where(WriterRow.run_id == row.id)
    attempts.writers = {writer: WriterState.from_json(state) for writer, state in connection.execute(writers)}
    run = RunState(row.id, row.public_id, row.revision, row.updated_at, attempts, row.stated)
    series = connection.execute(
        select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run.id)
    ).all()
    run.add_series(parse_series_key(row.metric, row.labels) for row in series)
    run.ids.extend(row.id for row in series)
    _load_attempt_records(connection, run)
    _load_progress(connection, run)
    return run


def none_if_nan(time: float) -> float | None:
    """Return a time as the tables store it: None for NaN."""
    return None if isnan(time) else time


def _load_attempt_records(connection: Connection, run: RunState) -> None:
    for row in connection.execute(select(Attempt.__table__).where(Attempt.run_id == run.id)):
        first = nan if row.first_time is None else row.first_time
        last = nan if row.last_time is None else row.last_time
        run.attempt_records[row.number] = AttemptRecord(row.name, first, last, row.points)


def _load_progress(connection: Connection, run: RunState) -> None:
    index_of = {number: index for index, number in enumerate(run.ids)}
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
        columns = ([index_of[row.series_id]], [int(row.points)], [row.first], [row.last])
        run.progress.setdefault(row.attempt, AttemptProgress()).add(
            *(np.array(c, dtype=np.int64) for c in columns)
        )
    log = select(LogEntry.id, LogEntry.attempt, LogEntry.payload).where(LogEntry.run_id == run.id)
    for entry, attempt, payload in connection.execute(log):
        try:
            block = decode_log_entry(payload)
        except CorruptDataError as error:
            # readers get the error; new points of the run are still accepted
            _log.error("run %d, log entry %d: %s", run.id, entry, error)
            continue
        indices = np.array([index_of[number] for number in block.ids.tolist()], dtype=np.int64)
        add_progress(run, attempt, indices, block)


def add_progress(run: RunState, attempt: int, indices: IntArray, block: PointBlock) -> None:
    """Add a block's points to the progress of an attempt."""
    run.progress.setdefault(attempt, AttemptProgress()).add(indices, block.counts, *step_ranges(block))
