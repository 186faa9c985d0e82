"""What running jobs log: metrics, configurations and measurements of the machine. Each row is stored once.

A client that cannot reach the server writes its rows into a database of its own, and sends them later with
the time of writing. Some of them may have arrived at first, without that time, when only the answer was lost:
they are recognised by step and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from math import isnan

import numpy as np

from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.telemetry.timestamped import clock_row
from holter.ingest.wandb.settings import public_settings
from holter.ingest.wandb.step_metrics import COUNTER, TrainingStep
from holter.server.context import ServerContext
from holter.server.tracked_runs import RUN_LOCKS, TrackedRun, empty_delivery, note_discarded, tracker_delivery
from holter.server.trackio_api.call import TRACKER, Handler, TrackioCall
from holter.server.trackio_api.entries import LoggedRow, RunEntries, RunName, metric_entries, system_entries
from holter.server.trackio_api.launches import (
    TrackioLaunch,
    first_attempt,
    read_state,
    write_state,
)
from holter.server.trackio_api.runs import note_discarded as note_files_discarded
from holter.server.trackio_api.runs import open_run
from holter.types import SeriesKey

SYSTEM_PREFIX = "system."
_ROWS_OF_A_BATCH = 10_000
_MAX_PROBLEMS = 20
_STORE_SECONDS = 30.0


def bulk_log(call: TrackioCall) -> None:
    """Store rows of `trackio.log`. Blocks until they are durable."""
    for name, entries in metric_entries(call.entries("logs")).items():
        with RUN_LOCKS.locked(name.project, f"{TRACKER}:{name.id}"):
            _RunWriter(call.context, name, entries).write_metrics()


def bulk_log_system(call: TrackioCall) -> None:
    """Store measurements of the machine, at their times. Blocks until they are durable."""
    for name, entries in system_entries(call.entries("logs")).items():
        with RUN_LOCKS.locked(name.project, f"{TRACKER}:{name.id}"):
            _RunWriter(call.context, name, entries).write_system_metrics()


_Rows = list[tuple[str, LogRow]]
"""Rows with the ids that the client gave them."""
_Conversion = Callable[[Sequence[LoggedRow], TrackioLaunch], _Rows]
"""Converts the rows of a launch."""


class _RunWriter:
    """Stores the rows of one run.

    The launches are stored before the rows: rows that are sent again after a failure in between belong to the
    same attempt.
    """

    def __init__(self, context: ServerContext, name: RunName, entries: RunEntries) -> None:
        self._context, self._entries = context, entries
        self._run = open_run(context, name)
        self._state = read_state(context, self._run)
        self._stored_state = self._state.to_json()

    def write_metrics(self) -> None:
        """Store the configuration of a new launch, and the rows."""
        begun = self._begin_launch()
        parts = self._by_launch(self._metric_rows)
        self._save_state()
        if begun is not None:
            self._store_config(begun)
        for rows in parts:
            self._accept(rows, "rows")
        self._note()

    def write_system_metrics(self) -> None:
        """Store the rows at their times, since these series do not state how far a run is."""
        parts = self._by_launch(_system_rows)
        self._save_state()
        for rows in parts:
            self._accept(rows, "system")
        self._note()

    def _begin_launch(self) -> TrackioLaunch | None:
        """The launch that begins with the configuration of a call; a request to stop the last one is over."""
        if self._entries.config is None:
            return None
        launch = self._state.begin(self._entries.created, self._first_attempt())
        details = self._context.run_details
        if details.details(self._run.id).stop_requested_at is not None:
            details.withdraw_stop(self._run.id)
        return launch

    def _first_attempt(self) -> int:
        return 0 if self._state.launches else first_attempt(self._context, self._run)

    def _by_launch(self, convert: _Conversion) -> list[_Rows]:
        rows_of: dict[int, list[LoggedRow]] = {}
        for row in self._entries.rows:
            launch = self._state.launch_at(row.time, self._first_attempt())
            rows_of.setdefault(launch.attempt, []).append(row)
        launches = [launch for launch in self._state.launches if launch.attempt in rows_of]
        return [convert(rows_of[launch.attempt], launch) for launch in launches]

    def _metric_rows(self, rows: Sequence[LoggedRow], launch: TrackioLaunch) -> _Rows:
        """Rows by training step; the client's counter is a metric where the two differ."""
        now, delayed = self._context.clock(), [not isnan(row.time) for row in rows]
        training_step = TrainingStep(None, launch.step, counted=launch.logged and launch.step is None)
        converted = []
        for row in rows:
            step = training_step.of(row.counter, row.values)
            values = row.values if step == row.counter else row.values | {COUNTER: float(row.counter)}
            time = now if isnan(row.time) else row.time
            converted.append(LogRow(step, time, values, attempt=str(launch.attempt)))
        if not all(delayed) or launch.step is None:
            launch.step = training_step.latest
        if launch.logged and any(delayed):
            converted = _without_stored(self._context, self._run, launch.attempt, converted, delayed)
        launch.logged = True
        return [(row.id, logged) for row, logged in zip(rows, converted, strict=True) if logged.values]

    def _save_state(self) -> None:
        if self._state.to_json() != self._stored_state:
            write_state(self._context, self._run, self._state)

    def _store_config(self, launch: TrackioLaunch) -> None:
        stated = self._entries.config or {}
        config = public_settings({name: value for name, value in stated.items() if not name.startswith("_")})
        run = self._run
        if config:
            self._context.store.accept(
                empty_delivery(TRACKER, run.project, run.name, attempt=launch.attempt, config=config)
            )
        if isinstance(group := stated.get("_Group"), str) and group:
            self._context.run_details.update(run.id, group_name=group[:500])

    def _accept(self, rows: _Rows, kind: str) -> None:
        """Store rows of a launch. The id of a batch is made of those of its rows."""
        for start in range(0, len(rows), _ROWS_OF_A_BATCH):
            ids, logged = zip(*rows[start : start + _ROWS_OF_A_BATCH], strict=True)
            content = "\0".join(ids).encode(errors="replace")
            batch_id = f"{kind}/{logged[0].attempt}/{blake2b(content, digest_size=16).hexdigest()}"
            delivery = tracker_delivery(
                TRACKER,
                self._run.project,
                self._run.name,
                batch_from_rows(logged),
                batch_id=batch_id if all(ids) else None,
            )
            self._context.store.accept(delivery, timeout=_STORE_SECONDS)

    def _note(self) -> None:
        if self._entries.has_media:
            note_files_discarded(self._context, self._run)
        for problem in dict.fromkeys(self._entries.problems[:_MAX_PROBLEMS]):
            note_discarded(self._context, TRACKER, self._run, "rows", f"a row was not stored: {problem}")


def _system_rows(rows: Sequence[LoggedRow], launch: TrackioLaunch) -> _Rows:
    converted: _Rows = []
    for row in rows:
        logged = clock_row(row.time, {SYSTEM_PREFIX + name: value for name, value in row.values.items()})
        if logged is not None and logged.values:
            converted.append((row.id, logged._replace(attempt=str(launch.attempt))))
    return converted


def _without_stored(
    context: ServerContext, run: TrackedRun, attempt: int, rows: Sequence[LogRow], delayed: Iterable[bool]
) -> list[LogRow]:
    """The rows without the values of delayed ones that the attempt has at their steps already."""
    checked = [row for row, is_delayed in zip(rows, delayed, strict=True) if is_delayed]
    steps = [row.step for row in checked]
    keys = {SeriesKey(name) for row in checked for name in row.values}
    known: dict[str, set[tuple[int, bytes]]] = {}
    for key, series in context.store.read(run.id, keys, from_step=min(steps), to_step=max(steps)).items():
        own = series.attempt == attempt
        values = (np.float64(value).tobytes() for value in series.value[own])
        known[key.metric] = set(zip(series.step[own].tolist(), values, strict=True))
    chosen = {id(row) for row in checked}
    return [
        row._replace(values=_new_values(row, known)) if known and id(row) in chosen else row for row in rows
    ]


def _new_values(row: LogRow, known: Mapping[str, set[tuple[int, bytes]]]) -> dict[str, float]:
    return {
        name: value
        for name, value in row.values.items()
        if (row.step, np.float64(value).tobytes()) not in known.get(name, ())
    }


HANDLERS: Mapping[str, Handler] = {"bulk_log": bulk_log, "bulk_log_system": bulk_log_system}
