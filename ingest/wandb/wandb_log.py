"""`run-ID.wandb`: the wandb client's log of a run, offline or online, while it runs and afterwards.

Metrics come from the records of history and system statistics, settings from those of the config; private
settings are left out. The step of a row is that of rows that clients send to the server: `step_metrics`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from google.protobuf.message import DecodeError

from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import FormatRole
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.wandb.leveldb import BLOCK, MAGIC, WalkedRecords, walk_records
from holter.ingest.wandb.protobuf import Record
from holter.ingest.wandb.settings import public_settings
from holter.ingest.wandb.step_metrics import COUNTER, TrainingStep, defined_step, definition
from holter.types import Batch, ConfigKey, ConfigValue, Unreadable

_OWN = "_wandb"


def settings_of(record: Any) -> dict[ConfigKey, ConfigValue]:
    """The settings in a record of a run's start or of later additions to its config.

    Left out are names of people, machines and commands, paths, and what looks like a key or a password.
    """
    items = [*record.run.config.update, *record.config.update]
    if not items:
        return {}
    return public_settings(dict(_values(items)))


def _values(items: Any) -> Iterator[tuple[str, Any]]:
    for item in items:
        name = ".".join(item.nested_key) or item.key
        try:
            value = json.loads(item.value_json)
        except (ValueError, RecursionError):
            continue
        if name.partition(".")[0] != _OWN:
            yield name, value


_READ = 8 * BLOCK
_LARGEST_RECORD = 64 * 1024 * 1024
_LARGEST_BATCH = 32_768
_MOST_DEFINITIONS = 1000
_NOT_METRICS = frozenset({"_step", "_timestamp", "_runtime", "_wandb"})


class WandbLog:
    """Metrics by the training step; measurements of the machine as `system.…` at the last step before."""

    name: ClassVar[str] = "wandb"
    role: ClassVar[FormatRole] = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """The header that every client since 0.10 writes."""
        return head.startswith(MAGIC)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> WandbReader:
        """A reader that resumes from `state`."""
        return WandbReader({} if "rewritten" in state else state)


class WandbReader:
    """Reads one transaction log that is being written."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._step: int = state.get("step", 0)
        self._defined: str | None = state.get("defined")
        self._training_step = TrainingStep(
            self._defined, state.get("latest"), counted=state.get("counted", False)
        )
        self._definitions: list[dict[str, str]] = list(state.get("definitions", ()))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The step that was logged last, definitions of steps, and the problems that are not reported yet."""
        known: dict[str, Any] = {"step": self._step}
        if self._definitions:
            known |= {"definitions": list(self._definitions), "defined": self._defined}
        if self._training_step.latest is not None:
            known["latest"] = self._training_step.latest
        if self._training_step.counted:
            known["counted"] = True
        return {**known, **self._problems.state()}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete record; see `Reader`."""
        yield from self._problems.drain()
        if stream.tell() == 0 and not _pass_header(stream):
            return
        size = _READ
        while True:
            base = stream.tell()
            data = stream.read(size)
            walked = walk_records(data, base)
            for position in walked.damaged:
                self._problems.add(f"byte {position}", "expected a record, but its checksum does not match")
            yield from self._batches(walked, stream)
            stream.seek(walked.stop)
            yield from self._problems.drain()
            if len(data) < size:
                return
            size = _READ if walked.stop > base else 2 * size
            if size > _LARGEST_RECORD:
                self._problems.add(f"byte {base}", f"expected records below {_LARGEST_RECORD} bytes")
                stream.seek(base - base % BLOCK + BLOCK)
                size = _READ

    def _batches(self, walked: WalkedRecords, stream: BinaryIO) -> Iterator[Batch]:
        rows: list[LogRow] = []
        config: dict[ConfigKey, ConfigValue] = {}
        points = before = 0
        for payload, end in walked.frames:
            record, stated = self._record(payload, end), {}
            try:
                stated = settings_of(record) if record is not None else {}
                row = self._row(record) if record is not None else None
            except Exception as error:
                self._problems.add_failure(f"byte {end - len(payload)}", "one of wandb's records", error)
                row = None
            if stated and rows:  # these settings apply to the rows that follow
                stream.seek(before)
                yield batch_from_rows(rows, config=config)
                rows, config, points = [], {}, 0
            config.update(stated)
            if row is not None:
                rows.append(row)
                points += len(row.values)
            before = end
            if points >= _LARGEST_BATCH:
                stream.seek(end)
                yield batch_from_rows(rows, config=config)
                rows, config, points = [], {}, 0
        if rows or config:
            stream.seek(walked.stop)
            yield batch_from_rows(rows, config=config)

    def _record(self, payload: bytes, end: int) -> Any:
        try:
            return Record.FromString(payload)
        except DecodeError:
            self._problems.add(f"byte {end - len(payload)}", "expected one of wandb's records")
            return None

    def _row(self, record: Any) -> LogRow | None:
        row = None
        if record.HasField("history"):
            row = self._history(record.history)
        elif record.HasField("stats"):
            row = self._stats(record.stats)
        elif record.HasField("metric"):
            self._define(record.metric)
        return row if row is not None and row.values else None

    def _history(self, history: Any) -> LogRow | None:
        values: dict[str, float] = {}
        for item in history.item:
            value = _number(item.value_json)
            if value is not None:
                values["/".join(item.nested_key) or item.key] = value
        step = values.get("_step", float(history.step.num))
        if not abs(step) <= LARGEST_STEP:
            return None
        time = values.get("_timestamp", float("nan"))
        metrics = {name: value for name, value in values.items() if name not in _NOT_METRICS}
        self._step = self._training_step.of(int(step), metrics)
        if metrics and self._step != int(step):
            metrics[COUNTER] = step
        return LogRow(self._step, time, metrics)

    def _define(self, metric: Any) -> None:
        """A definition of a metric, which may name the training step of the rows that follow."""
        stated = definition(metric.name, metric.glob_name, metric.step_metric)
        if metric.step_metric and stated not in self._definitions[:_MOST_DEFINITIONS]:
            self._definitions = [*self._definitions, stated][:_MOST_DEFINITIONS]
            self._defined = defined_step(self._definitions)
            self._training_step = TrainingStep(
                self._defined, self._training_step.latest, counted=self._training_step.counted
            )

    def _stats(self, stats: Any) -> LogRow:
        values = {f"system.{item.key}": _number(item.value_json) for item in stats.item}
        numbers = {name: value for name, value in values.items() if value is not None}
        return LogRow(self._step, stats.timestamp.seconds + stats.timestamp.nanos / 1e9, numbers)


def _pass_header(stream: BinaryIO) -> bool:
    """Skip the header of the file; False while it is incomplete."""
    if stream.read(len(MAGIC)) == MAGIC:
        return True
    stream.seek(0)
    return False


def _number(text: str) -> float | None:
    """The number in JSON text, None for text, lists and objects: pictures and tables are not stored."""
    try:
        return float(text)
    except ValueError:
        return None
