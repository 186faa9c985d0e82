"""Hugging Face's `trainer_state.json`: the full log of its Trainer, rewritten at each checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

import msgspec

from holter.attempts.config_values import to_config_value
from holter.ingest.console.dialects.hf_trainer import metric_name
from holter.ingest.errors import ProblemBuffer, describe_error
from holter.ingest.format import FormatRole
from holter.ingest.json_objects import flatten_object, json_number
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.step_columns import read_step
from holter.types import NO_CONFIG, Batch, Config, ConfigKey, Unreadable

STATE_FILE = "trainer_state.json"
MAX_STATE_BYTES = 256 * 1024 * 1024
MARK = 8  # characters
_LARGEST_BATCH = 4096  # rows
_SETTINGS = ("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps", "train_batch_size")
_decode = msgspec.json.Decoder().decode


class TrainerState:
    """The metrics under the names they have in TensorBoard: `train/loss`, `eval/loss`, `epoch`.

    A file is read once it is complete. Of one that was rewritten, the added rows are read; if it differs from
    the old one, the training was rolled back, and a new launch begins.
    """

    name: ClassVar[str] = "trainer-state"
    role: ClassVar[FormatRole] = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """The Trainer's file name, or an object that begins with the Trainer's keys."""
        if head.lstrip()[:1] != b"{" or path.suffix.lower() != ".json":
            return False
        return path.name == STATE_FILE or (b'"log_history"' in head and b'"global_step"' in head)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> TrainerStateReader:
        """A reader that resumes from `state`, or that continues in a rewritten file."""
        return TrainerStateReader(state)


class TrainerStateReader:
    """Reads one file at once. If stopped before the end, its position is the number of yielded rows."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        before: Mapping[str, Any] | None = state.get("rewritten")
        while before is not None and "rewritten" in before:  # it was rewritten again before it was read
            before = before["rewritten"]
        self._before: str | None = None if before is None else before.get("marks", "")
        self._marks: str = state.get("marks", "")
        self._complete: bool = state.get("whole", False)
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """A mark of each row that has been yielded, by which it is recognised."""
        if self._before is not None:
            return {"rewritten": {"marks": self._before}}
        return {"marks": self._marks, "whole": self._complete, **self._problems.state()}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of a complete file that were not yielded before; see `Reader`."""
        yield from self._problems.drain()
        position = stream.tell()
        if self._complete and position:
            return
        stream.seek(0)
        data = stream.read(MAX_STATE_BYTES + 1)
        document = decode_state(data) if len(data) <= MAX_STATE_BYTES else {}
        if document is None:
            stream.seek(position)
            return
        if len(data) > MAX_STATE_BYTES:
            self._problems.add("file", f"expected at most {MAX_STATE_BYTES} bytes")
        rows, marks = self._rows(document)
        for batch, yielded in self._batches(rows, marks, trainer_config(document)):
            self._marks, self._complete = marks[: MARK * yielded], yielded == len(rows)
            if self._complete:
                stream.seek(0, 2)
            else:
                stream.seek(yielded)
            yield batch
        self._marks, self._complete, self._before = marks, True, None
        stream.seek(0, 2)
        yield from self._problems.drain()

    def _batches(self, rows: Sequence[LogRow], marks: str, config: Config) -> Iterator[tuple[Batch, int]]:
        """Batches of the rows that are not yielded yet, each with the number of rows yielded with it."""
        known = self._marks if self._before is None else self._before
        first = common_rows(known, marks)
        resumed = self._before is None and bool(self._marks)  # it was stopped before the end
        restarts, self._before = first < len(known) // MARK, None
        for start in range(first, len(rows), _LARGEST_BATCH):
            batch = batch_from_rows(rows[start : start + _LARGEST_BATCH])
            begins = start == first
            batch = replace(
                batch, restarts=restarts and begins, config=config if begins and not resumed else NO_CONFIG
            )
            yield batch, start + len(batch.steps)

    def _rows(self, document: Mapping[str, Any]) -> tuple[list[LogRow], str]:
        rows = []
        for index, logged in enumerate(log_history(document)):
            try:
                if not isinstance(logged, dict) or "step" not in logged:
                    raise ValueError("expected an object with a step")
                values = {
                    metric_name(name): reported
                    for name, value in flatten_object(logged)
                    if name != "step" and (reported := json_number(value)) is not None
                }
                rows.append(LogRow(read_step(logged["step"]), nan, values))
            except Exception as error:  # whatever is wrong with one object must not stop the others
                if not self._marks:  # else it has been reported
                    message = str(error) if isinstance(error, ValueError) else describe_error(error)
                    self._problems.add(f"log_history {index}", message)
        return rows, row_marks(rows)


def decode_state(data: bytes) -> dict[str, Any] | None:
    """The object in a file; None while the file is incomplete, or if it has none."""
    try:
        decoded = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:  # NaN and Infinity, which msgspec does not know
            decoded = json.loads(data)
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None
    return decoded if isinstance(decoded, dict) else None


def log_history(document: Mapping[str, Any]) -> Sequence[Any]:
    """The log calls in the file."""
    logged = document.get("log_history")
    return logged if isinstance(logged, list) else []


def row_marks(rows: Sequence[LogRow]) -> str:
    """Eight characters per row, by which it is recognised."""
    return "".join(f"{crc32(repr((row.step, sorted(row.values.items()))).encode()):08x}" for row in rows)


def common_rows(some: str, others: str) -> int:
    """The number of rows with which two histories begin alike."""
    rows = min(len(some), len(others)) // MARK
    if some[: MARK * rows] == others[: MARK * rows]:
        return rows
    return next(
        (
            row
            for row in range(rows)
            if some[MARK * row : MARK * row + MARK] != others[MARK * row : MARK * row + MARK]
        ),
        rows,
    )


def trainer_config(document: Mapping[str, Any]) -> Config:
    """The settings of the launch in the file."""
    settings = {name: document[name] for name in _SETTINGS if isinstance(document.get(name), int | float)}
    return {ConfigKey(name): to_config_value(value) for name, value in settings.items()}
