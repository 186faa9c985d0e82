"""JSON Lines: an object per line with a step; each number is a metric, nested keys are joined by "/"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest import step_columns
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import FormatRole
from holter.ingest.json_epochs import EpochAxis
from holter.ingest.json_objects import flatten_object, read_object, row_from_fields
from holter.ingest.lines import LineBlocks
from holter.ingest.repeated_epochs import RepeatedEpochs
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.wrapped_lines import is_wrapped
from holter.types import Batch, Unreadable

# last values and settings, no history
_SUMMARIES = frozenset({"wandb-summary.json", "wandb-metadata.json", "trainer_state.json"})
_LINES_AHEAD = 8
"""Lines that are looked at to see how the rows behind an epoch that comes again go on."""
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

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> JsonLinesReader:
        """A reader that resumes from `state`."""
        known = {} if "rewritten" in state else state
        return JsonLinesReader(
            known,
            _row_with_step,
            EpochAxis(known.get("epochs", {})),
            RepeatedEpochs(known.get("repeated epochs", {})),
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

    `epochs` continues iterations over epochs; `repeated` recognises launches by an epoch that comes again.
    """

    def __init__(
        self,
        state: Mapping[str, Any],
        row: Callable[[Mapping[str, Any]], LogRow | None],
        epochs: EpochAxis | None = None,
        repeated: RepeatedEpochs | None = None,
    ) -> None:
        self._row_of = row
        self._epochs = epochs
        self._repeated = repeated
        self._lines = LineBlocks(state, expected="an object")
        self._stepless: bool = state.get("stepless", False)
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The line number, which problems have been reported, and what is known of epochs."""
        epochs = {} if self._epochs is None else self._epochs.state()
        repeated = {} if self._repeated is None else self._repeated.state()
        return {
            **({"epochs": epochs} if epochs else {}),
            **({"repeated epochs": repeated} if repeated else {}),
            **self._lines.state(),
            **({"stepless": True} if self._stepless else {}),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete line; see `Reader`."""
        yield from self._problems.drain()
        while (block := self._lines.next(stream, self._problems)) is not None:
            rows: list[LogRow] = []
            restarts = False
            before = self._lines.number
            for index, line in enumerate(block.lines):
                row = self._row(line, before + index + 1)
                if row is None or not row.values:
                    continue
                begins = self._begins(row, line, block.lines, index)
                if rows and (begins or row.attempt != rows[-1].attempt):
                    self._lines.number = before + index
                    stream.seek(block.offsets[index])
                    yield batch_from_rows(rows, restarts=restarts)
                    rows, restarts = [], False
                rows.append(row)
                restarts |= begins
                if self._repeated is not None:
                    self._repeated.note(row, begins=begins)
            self._lines.number = before + len(block.lines)
            stream.seek(block.offsets[-1])
            if rows:
                yield batch_from_rows(rows, restarts=restarts)
            yield from self._problems.drain()

    def _begins(self, row: LogRow, line: bytes, lines: Sequence[bytes], index: int) -> bool:
        """Whether a launch begins with the row of a line by its index, though its step does not go back."""
        if self._repeated is None or not self._repeated.may_begin(row):
            return False
        if step_columns.find_step([name for name, _ in flatten_object(read_object(line))]) != "epoch":
            return False  # several ranks may log the same step
        behind = map(self._peek, lines[index + 1 : index + 1 + _LINES_AHEAD])
        return self._repeated.begins(row, [*filter(None, behind)])

    def _peek(self, line: bytes) -> LogRow | None:
        """The row of a line that is read later."""
        try:
            return self._row_of(read_object(line)) if line.strip() else None
        except Exception:  # it is reported when it is read
            return None

    def _row(self, line: bytes, number: int) -> LogRow | None:
        if not line or line.isspace():
            return None
        try:
            logged = read_object(line)
            row = self._row_of(logged)
            if row is not None and self._epochs is not None:
                row = self._epochs.row(logged, row)
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


def _row_with_step(logged: Mapping[str, Any]) -> LogRow | None:
    fields = dict(flatten_object(logged))
    name = step_columns.find_step(list(fields))
    return None if name is None else row_from_fields(fields, name)
