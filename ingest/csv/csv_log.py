"""CSV logs: a header with a column for the step, then a row per log call; empty cells were not logged."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest import step_columns
from holter.ingest.csv.csv_table import CsvLayout, CsvTable, parse_rows
from holter.ingest.csv.rewritten import RowFingerprint
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import FormatRole
from holter.ingest.lines import LineBlock, LineBlocks
from holter.ingest.open_log import HEAD_BYTES
from holter.ingest.text_encoding import decode_line
from holter.ingest.wandb.chart_csv import is_chart_export
from holter.types import Batch, Unreadable

_ATTEMPT = re.compile(r"attempt-(\d+)\.csv")


class CsvLog:
    """`step,wall_time,loss,lr`: also Lightning's metrics.csv, Keras' CSVLogger, TensorBoard's download.

    `attempt-3.csv` is attempt 3; a column `attempt` names the attempt of each row; the columns `rank`,
    `host`, `node` and `dataset` are labels of the series.
    """

    name: ClassVar[str] = "csv"
    role: ClassVar[FormatRole] = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A name that ends in .csv or .tsv, and a header with a column for the step."""
        if path.suffix.lower() not in {".csv", ".tsv"}:
            return False
        line, end, _ = head.partition(b"\n")
        names, _ = _split_header(line)
        complete = bool(end) or len(head) >= HEAD_BYTES
        if step_columns.is_long_table(names) or is_chart_export(names):  # for holter import
            return False
        return complete and step_columns.find_step(names) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> CsvReader:
        """A reader that resumes from `state`, or that continues in a rewritten file."""
        return CsvReader(path, state)


class CsvReader:
    """Reads one CSV file that is being written; `subjects` are columns known to state what each row is of."""

    def __init__(self, path: PurePath, state: Mapping[str, Any], subjects: Collection[str] = ()) -> None:
        self._subjects = subjects
        named = _ATTEMPT.fullmatch(path.name)
        self._attempt = named and named.group(1)
        self._before = before = state.get("rewritten", {})
        self._header: list[str] | None = state.get("header")
        self._old_header: list[str] | None = before.get("header")
        self._delimiter: str = state.get("delimiter", before.get("delimiter", ","))
        self._lines = LineBlocks(state, expected="a row")
        self._layout = CsvLayout(self._header or [], state)
        self._fingerprint = RowFingerprint(state.get("trail", {}))
        self._expected = RowFingerprint(before.get("trail", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """Header, line number, the kinds of the columns, and the fingerprint of the rows read so far."""
        if self._expected.rows:
            return {"rewritten": {**self._before, "trail": self._expected.state()}}
        return {
            "header": self._header,
            "delimiter": self._delimiter,
            **self._lines.state(),
            **self._layout.state(),
            "trail": self._fingerprint.state(),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete line; see `Reader`."""
        yield from self._problems.drain()
        if self._expected.rows and not self._skip_known(stream):
            return
        while (block := self._lines.next(stream, self._problems)) is not None:
            yield from self._batches(self._table(block), block, stream)
            yield from self._problems.drain()

    def _table(self, block: LineBlock) -> CsvTable:
        """The rows of a block; the first line of the file is its header."""
        lines, first_line = block.lines, self._lines.number + 1
        skip = 0
        if self._header is None and lines:
            skip = self._take_header(lines[0])
        self._lines.number += len(lines)
        return parse_rows(
            lines[skip:],
            layout=self._layout,
            delimiter=self._delimiter,
            first_line=first_line + skip,
        )

    def _take_header(self, line: bytes) -> int:
        """Take the header from the first line; returns 0 if that line is a row and the old header holds."""
        names, delimiter = _split_header(line)
        known = self._old_header
        if known and step_columns.find_step(names) is None and len(names) == len(known):
            names, skip = known, 0
        else:
            self._delimiter, skip = delimiter, 1
        self._header = names
        self._layout = CsvLayout(names, subjects=self._subjects)
        if self._layout.step is None:
            self._problems.add("line 1", f"expected a column named step, found {', '.join(names)[:200]}")
        return skip

    def _batches(self, table: CsvTable, block: LineBlock, stream: BinaryIO) -> Iterator[Batch]:
        """Batches of one attempt each; stream and state are right after each batch when it is yielded."""
        line, position, taken = self._lines.number, stream.tell(), 0
        for start, stop in table.attempt_spans():
            if stop < len(table):
                following = int(table.lines[stop])
                self._lines.number = following - 1
                stream.seek(block.offsets[len(block.lines) - (line - following) - 1])
            else:
                self._lines.number = line
                stream.seek(position)
            taken = self._take_problems(table, taken)
            self._fingerprint.extend(table, start, stop)
            yield table.batch(start, stop, attempt=self._attempt)
        self._take_problems(table, taken)

    def _take_problems(self, table: CsvTable, taken: int) -> int:
        """Report the table's problems up to the current line; returns how many are reported by now."""
        due = [problem for problem in table.problems[taken:] if problem[0] <= self._lines.number]
        for line, reason in due:
            self._problems.add(f"line {line}", reason)
        return taken + len(due)

    def _skip_known(self, stream: BinaryIO) -> bool:
        """Skip the rows of a rewritten file that were read from the old one; False to wait for more.

        A logger that rewrites the complete file (Lightning does when a new metric appears) repeats every row.
        If the rows are the known ones, reading continues after them; if they differ, the file is a new one.
        """
        start = stream.tell()
        while self._fingerprint.rows < self._expected.rows:
            here, line, layout = stream.tell(), self._lines.number, self._layout.state()
            block = self._lines.next(stream, self._problems)
            if block is None:
                if self._fingerprint.agrees(self._expected):
                    self._restart(stream, start)
                    return False
                break
            table = self._table(block)
            wanted = min(len(table), self._expected.rows - self._fingerprint.rows)
            self._fingerprint.extend(table, 0, wanted)
            if wanted < len(table):
                self._lines.number = int(table.lines[wanted]) - 1
                stream.seek(block.offsets[self._lines.number - line])
                self._layout = CsvLayout(self._header or [], layout)  # as it was behind the known rows
                known = block.lines[: self._lines.number - line]
                parse_rows(known, layout=self._layout, delimiter=self._delimiter, first_line=line + 1)
            assert stream.tell() > here
        agrees = self._fingerprint.agrees(self._expected)
        self._expected = RowFingerprint({})
        self._problems = ProblemBuffer({})  # reported before, or again when the file is read from its start
        if not agrees:
            self._restart(stream, start)
        return True

    def _restart(self, stream: BinaryIO, start: int) -> None:
        stream.seek(start)
        self._header, self._lines = None, LineBlocks({}, expected="a row")
        self._layout, self._fingerprint, self._problems = CsvLayout([]), RowFingerprint({}), ProblemBuffer({})


def _split_header(line: bytes) -> tuple[list[str], str]:
    text = decode_line(line).removeprefix("\ufeff").rstrip("\r")
    delimiter = delimiter_of(text)
    return _cells(text, delimiter), delimiter


def delimiter_of(line: str) -> str:
    """What is between the cells of a line: a comma, a tab or a semicolon, whichever comes most often."""
    return max(",\t;", key=line.count)


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        rows: Sequence[list[str]] = list(csv.reader([text], delimiter=delimiter))
    except csv.Error:
        return []
    return [name.strip() for name in rows[0]] if rows else []
