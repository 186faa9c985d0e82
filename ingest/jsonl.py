"""JSON Lines: an object per line with a step; each number is a metric, nested keys are joined by "/"."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest import step_columns
from holter.ingest.console.writers.repeated_rows import RepeatedRows
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import FormatRole
from holter.ingest.json_epochs import EpochAxis, PartsOfEpochs
from holter.ingest.json_objects import flatten_object, read_object, row_from_fields, step_name
from holter.ingest.json_results import ResultsBelow
from holter.ingest.json_settings import SettingsAbove
from holter.ingest.json_subjects import ObjectSubjects
from holter.ingest.lines import LineBlocks
from holter.ingest.repeated_epochs import RepeatedEpochs
from holter.ingest.rows import LogRow, batch_from_rows, row_from_json, row_to_json
from holter.ingest.wrapped_lines import is_wrapped
from holter.types import Batch, Unreadable

# last values and settings, no history
_SUMMARIES = frozenset({"wandb-summary.json", "wandb-metadata.json", "trainer_state.json"})
_OTHER_FORMATS = frozenset({"current_steps", "log_type_name"})
"""Keys of objects that other formats read: LLaMA-Factory's, torchtitan's."""


class JsonLines:
    """`{"step": 7, "loss": 2.31, "train": {"lr": 3e-4}}`; the strings "NaN" and "Infinity" are numbers.

    The key `attempt` names the launch; `rank`, `host`, `node` and `dataset` are labels of the series.
    """

    name: ClassVar[str] = "jsonl"
    role: ClassVar[FormatRole] = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A name that ends in .jsonl or .ndjson, or a first line that is an object with a step."""
        if path.name in _SUMMARIES or is_wrapped(head):
            return False
        suffix = path.suffix.lower()
        named = suffix in {".jsonl", ".ndjson"}
        if not (named or (suffix in {".json", ".log", ".txt", ""} and head.startswith(b"{"))):
            return False
        line, end, _ = head.partition(b"\n")
        try:
            names = _names_of_values(line) if end else []
        except ValueError:
            names = []
        if _OTHER_FORMATS.intersection(names):
            return False
        if named:
            return head.lstrip()[:1] in {b"{", b""} and not step_columns.is_long_table(names)
        if step_columns.is_long_table(names):
            return False
        return step_columns.find_step(names) is not None or (bool(names) and _has_step(head))

    def reader(
        self, path: PurePath, state: Mapping[str, Any], subjects: Collection[str] = ()
    ) -> JsonLinesReader:
        """A reader that resumes from `state`; `subjects` are keys known to state what each row is of."""
        known = {} if "rewritten" in state else state
        return JsonLinesReader(
            known,
            _row_with_step,
            EpochAxis(known.get("epochs", {})),
            RepeatedEpochs(known.get("repeated epochs", {})),
            ObjectSubjects(known.get("subjects", {}), subjects),
        )


def _names_of_values(line: bytes) -> list[str]:
    """The names of an object's fields, without those of lists: a list of steps is no step."""
    return [name for name, value in flatten_object(read_object(line)) if not isinstance(value, list)]


def _has_step(head: bytes) -> bool:
    """Whether the second line has a step, where the first one has settings, as in OpenMMLab's logs."""
    lines = head.split(b"\n", 2)
    try:
        names = _names_of_values(lines[1]) if len(lines) == 3 else []
    except ValueError:
        return False
    return step_columns.find_step(names) is not None and not step_columns.is_long_table(names)


class JsonLinesReader:
    """Reads one file of JSON Lines that is being written; `row` converts an object, None without a step.

    `epochs` continues iterations over epochs; `repeated` recognises launches by an epoch that comes again;
    `subjects` finds what rows are of, and with it rows that repeat a step have a label.
    """

    def __init__(
        self,
        state: Mapping[str, Any],
        row: Callable[[Mapping[str, Any]], LogRow | None],
        epochs: EpochAxis | None = None,
        repeated: RepeatedEpochs | None = None,
        subjects: ObjectSubjects | None = None,
    ) -> None:
        self._row_of = row
        self._epochs = epochs
        self._repeated = repeated
        self._subjects = subjects
        self._repeats = RepeatedRows(state.get("repeats", ()))
        self._attempt: str | None = state.get("attempt")
        self._ready = [row_from_json(row) for row in state.get("ready", ())]
        """Rows that are read but not yielded yet."""
        self._lines = LineBlocks(state, expected="an object")
        self._stepless: bool = state.get("stepless", False)
        self._results = ResultsBelow(state.get("results", {}))
        self._parts = PartsOfEpochs(state.get("parts", {}))
        self._settings = SettingsAbove(state.get("settings", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The line number, which problems have been reported, and what is known of epochs."""
        epochs = {} if self._epochs is None else self._epochs.state()
        repeated = {} if self._repeated is None else self._repeated.state()
        subjects = {} if self._subjects is None else self._subjects.state()
        repeats = {} if self._subjects is None else {"repeats": self._repeats.state()}
        return {
            **({"subjects": subjects} if subjects else {}),
            **({"attempt": self._attempt} if self._attempt else {}),
            **repeats,
            **({"epochs": epochs} if epochs else {}),
            **({"repeated epochs": repeated} if repeated else {}),
            **self._lines.state(),
            **({"ready": [row_to_json(row) for row in self._ready]} if self._ready else {}),
            **({"stepless": True} if self._stepless else {}),
            **({"parts": parts} if (parts := self._parts.state()) else {}),
            **({"results": results} if (results := self._results.state()) else {}),
            **({"settings": settings} if (settings := self._settings.state()) else {}),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete line; see `Reader`."""
        yield from self._problems.drain()
        yield from self._batches()
        while (block := self._lines.next(stream, self._problems)) is not None:
            before = self._lines.number
            for index, line in enumerate(block.lines):
                row = self._row(line, before + index + 1)
                if row is None or not row.values:
                    continue
                if self._add(row, line):
                    self._lines.number = before + index + 1
                    stream.seek(block.offsets[index + 1])
                    yield from self._batches(of_last=False)
            self._lines.number = before + len(block.lines)
            stream.seek(block.offsets[-1])
            yield from self._batches()
            yield from self._problems.drain()

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back until more lines show whether a launch begins with them."""
        return self._repeated is not None and self._repeated.is_holding

    def finish(self) -> Iterator[Batch]:
        """Yield the rows that more lines of the file would have decided on; there are none."""
        if self._repeated is not None:
            self._ready += self._repeated.release()
        yield from self._batches()

    def _batches(self, *, of_last: bool = True) -> Iterator[Batch]:
        """The rows that are read, those of each launch in a batch; those of the last one if asked for."""
        while self._ready:
            numbers = (
                number for number, pair in enumerate(pairwise(self._ready), 1) if _is_next_launch(*pair)
            )
            end = next(numbers, len(self._ready))
            if end == len(self._ready) and not of_last:
                return
            rows, self._ready = self._ready[:end], self._ready[end:]
            yield self._batch(rows)

    def _batch(self, rows: Sequence[LogRow]) -> Batch:
        """A batch of rows of one launch; those that repeat a step have a label."""
        if self._subjects is None:
            return batch_from_rows(rows, restarts=rows[0].begins)
        if rows[0].attempt != self._attempt:
            self._repeats.forget()
            self._attempt = rows[0].attempt
        return self._repeats.batch(rows, restarts=rows[0].begins)

    def _add(self, row: LogRow, line: bytes) -> bool:
        """Add the rows that are clear with that of a line; whether a launch begins behind others."""
        clear, repeated = [row], self._repeated
        if repeated is not None:
            # several ranks may log the same step
            counts_epochs = repeated.may_begin(row) and (
                step_name(dict(flatten_object(read_object(line)))) == "epoch"
            )
            clear = repeated.add(row, counts_epochs=counts_epochs)
        is_next = False
        for each in clear:
            is_next |= bool(self._ready) and _is_next_launch(self._ready[-1], each)
            self._ready.append(each)
        return is_next

    def _row(self, line: bytes, number: int) -> LogRow | None:
        if not line or line.isspace():
            return None
        try:
            logged: Mapping[str, Any] = read_object(line)
            if self._subjects is not None:
                logged = self._parts.numbered(logged)
            row = self._row_of(logged)
            if row is not None and self._epochs is not None:
                row = self._epochs.row(logged, row)
            if row is not None and self._subjects is not None:
                row = self._settings.without(self._subjects.row(logged, row))
                self._results.note(row)
            elif row is None and self._subjects is not None and (row := self._results.row(logged)):
                return row
            if row is None and self._subjects is not None:
                self._settings.note(logged, is_first=number == 1)
        except (ValueError, OverflowError) as error:
            self._problems.add(f"line {number}", str(error))
            return None
        except Exception as error:
            self._problems.add_failure(f"line {number}", "an object", error)
            return None
        if row is None and not self._stepless:
            self._problems.add(
                f"line {number}", "expected a key named step; more such lines are not reported"
            )
            self._stepless = True
        return row


def _is_next_launch(last: LogRow, row: LogRow) -> bool:
    """Whether a row behind another one is of another launch."""
    return row.begins or row.attempt != last.attempt


def _row_with_step(logged: Mapping[str, Any]) -> LogRow | None:
    fields = dict(flatten_object(logged))
    name = step_name(fields)
    return None if name is None else row_from_fields(fields, name)
