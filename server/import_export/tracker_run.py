"""Imports runs of other trackers into the store, adding only points that are new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from holter.attempts.step_values import last_indices
from holter.server.database import writing
from holter.server.import_export.importer import ImportContext, ImportedRun, ImportProgress, open_import
from holter.server.import_export.long_table import batches_by_attempt
from holter.server.import_export.point_rows import PointRows
from holter.server.maintenance.horizon import DownsamplingHorizon, load_horizon
from holter.server.models import RunRecord
from holter.server.store.keys import batch_digest
from holter.types import NO_CONFIG, Config, ConfigKey, Series, labels_of

MAX_RUN_LENGTH = 500
_CLOCK = 1e-6  # seconds: resolution of stored wall times


class _TrackerSetting(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    labels: dict[str, str]
    value: str | int | float | bool


class _TrackerRunHead(msgspec.Struct, forbid_unknown_fields=True):
    identity: str
    project: str
    run: str
    config: list[_TrackerSetting] = []
    over: bool = False
    ended: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerRunInfo:
    """A run of another tracker. `identity` identifies it permanently: "mlflow:" and its id.

    `over`: its tracker considers it finished, at `ended` (Unix seconds) if known.
    """

    identity: str
    project: str
    run: str
    config: Config
    over: bool = False
    ended: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the head of a file."""
        fields = {name: getattr(self, name) for name in ("identity", "project", "run", "over", "ended")}
        config = [
            {"name": key.name, "labels": dict(key.labels), "value": value}
            for key, value in self.config.items()
        ]
        return fields | {"config": config}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TrackerRunInfo:
        """Parse the result of `to_json`. Raises ValueError naming the field."""
        head = msgspec.convert(fields, _TrackerRunHead)
        config = {
            ConfigKey(setting.name, labels_of(setting.labels)): setting.value for setting in head.config
        }
        return cls(
            identity=head.identity, project=head.project, run=head.run, config=config, over=head.over,
            ended=head.ended,
        )  # fmt: skip


def candidate_names(info: TrackerRunInfo) -> Iterator[str]:
    """Yield names for the run: its tracker's name, then with parts of its id if another run has that name."""
    short_id = info.identity.rpartition(":")[2].rpartition("/")[2]
    for suffix in ("", f" {short_id[:8]}", f" {batch_digest(info.identity).hex()[:12]}"):
        yield info.run[: MAX_RUN_LENGTH - len(suffix)] + suffix


def import_tracker_run(
    context: ImportContext, info: TrackerRunInfo, portions: Iterator[PointRows], *, project: str | None = None
) -> Iterator[ImportProgress]:
    """Store the new points of a run; yields its progress, the last one `whole`.

    Stored points are recognised by comparison, so that an interrupted import is continued, and the source may
    be moved. Raises ValueError, StoreError.
    """
    run = _open_run(context, info, project or info.project)
    points = known = 0
    configured: set[int] = set()
    with context.exclude(run.id):
        horizon = None if run.is_new else load_horizon(context.engine, run.id)
        for rows in portions:
            new_rows = rows if run.is_new else _new_rows(context, run.id, rows, horizon)
            known += len(rows.step) - len(new_rows.step)
            for attempt, batch in batches_by_attempt(new_rows):
                config = NO_CONFIG if attempt in configured else info.config
                configured.add(attempt)
                points += run.store_batch(replace(batch, config=config), uuid4().hex).accepted
            yield run.progress(points, known)
        if points:
            run.compact()
        with writing(context.engine) as connection:
            run.mark_complete(connection)
            if info.over:
                _set_finished(connection, run.id, info.ended)
    yield run.progress(points, known, whole=True)


def _open_run(context: ImportContext, info: TrackerRunInfo, project: str) -> ImportedRun:
    for name in candidate_names(info):
        run = open_import(context, project, name, info.identity)
        if run is not None:
            return run
    raise ValueError(f"another run {project}/{name} exists already")


def _set_finished(connection: Connection, run_id: int, ended: float | None) -> None:
    """Store when the run ended, according to its tracker."""
    condition = RunRecord.id == run_id
    row = connection.execute(select(RunRecord.updated_at, RunRecord.finished_at).where(condition)).one()
    finished_at = ended or row.finished_at or row.updated_at
    connection.execute(update(RunRecord).where(condition).values(finished_at=finished_at))


def _new_rows(
    context: ImportContext, run_id: int, rows: PointRows, horizon: DownsamplingHorizon | None
) -> PointRows:
    """Return the points that are not stored with the same value; downsampled points are not restored."""
    if not len(rows.step):
        return rows
    first, last = int(rows.step.min()), int(rows.step.max())
    stored = context.store.read(run_id, rows.keys, from_step=first, to_step=last)
    is_new = np.ones(len(rows.step), dtype=bool)
    for index, key in enumerate(rows.keys):
        if (stored_series := stored.get(key)) is not None and len(stored_series):
            row_indices = np.flatnonzero(rows.key_index == index)
            is_new[row_indices] = ~_is_stored(rows, row_indices, stored_series)
    if horizon is not None:
        is_new &= (rows.attempt > horizon.attempt) | (
            (rows.attempt == horizon.attempt) & (rows.step >= horizon.full_from)
        )
    return _select_rows(rows, is_new)


def _select_rows(rows: PointRows, mask: NDArray[np.bool_]) -> PointRows:
    columns = {name: getattr(rows, name)[mask] for name in ("key_index", "attempt", "step", "time", "value")}
    return PointRows(keys=rows.keys, **columns)


def _is_stored(rows: PointRows, row_indices: NDArray[np.int64], series: Series) -> NDArray[np.bool_]:
    """Which of these points are in the stored series with the same value, bit by bit, and time."""
    result = np.zeros(len(row_indices), dtype=bool)
    if last_indices(series.attempt, series.step) is not None:
        stored = set(_identities(series.attempt, series.step, series.time, series.value))
        found = [
            # a wall time may have been rounded up or down
            any((number, step, moment + offset, value) in stored for offset in (-1, 0, 1))
            for number, step, moment, value in _identities(
                rows.attempt[row_indices],
                rows.step[row_indices],
                rows.time[row_indices],
                rows.value[row_indices],
            )
        ]
        return np.array(found, dtype=np.bool_)
    for attempt in np.unique(rows.attempt[row_indices]).tolist():
        first, after = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
        if first == after:
            continue
        selected = np.flatnonzero(rows.attempt[row_indices] == attempt)
        rows_at = row_indices[selected]
        position = first + np.minimum(
            np.searchsorted(series.step[first:after], rows.step[rows_at]), after - first - 1
        )
        value, time = series.value[position], series.time[position]
        same_value = value.view(np.int64) == rows.value[rows_at].view(np.int64)
        same_value |= np.isnan(value) & np.isnan(rows.value[rows_at])
        same_time = np.abs(time - rows.time[rows_at]) <= _CLOCK
        same_time |= np.isnan(time) & np.isnan(rows.time[rows_at])
        result[selected] = (series.step[position] == rows.step[rows_at]) & same_value & same_time
    return result


def _identities(
    attempt: NDArray[np.int64], step: NDArray[np.int64], time: NDArray[np.float64], value: NDArray[np.float64]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield attempt, step, wall time in microseconds and the bits of the value of each point."""
    microseconds = np.rint(np.where(np.isnan(time), -1.0, time) / _CLOCK).astype(np.int64)
    bits = np.where(np.isnan(value), np.nan, value).view(np.int64)
    return zip(attempt.tolist(), step.tolist(), microseconds.tolist(), bits.tolist(), strict=True)
