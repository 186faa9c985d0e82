"""Reads batches from chunks of what a job prints, in any dialect, wherever in the text it begins."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from holter.custom_format import CustomFormat
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.discovery.run_layout import RunAssignment
from holter.ingest.format import Reader
from holter.ingest.jsonl import JsonLines
from holter.ingest.names import FirstReports, without_invalid_names
from holter.ingest.stdout import console_dialects
from holter.ingest.stdout.system_text import SystemText
from holter.types import Batch, Labels, Unreadable

MAX_LINE_BYTES = 2**20
_MAX_PRINTERS = 4096
_NO_PATH = PurePath("-")
_OBJECT = re.compile(rb"^[^\n{]{0,400}\{\"[^\r\n]*", re.MULTILINE)


class StdinReader:
    """Reads one stream of text in bounded memory: an incomplete line and the state of the readers.

    Lines that are JSON objects with a step are read as JSON, with the labels of the process that printed
    them. All other lines are read by the first dialect that recognises one, even after gigabytes of other
    text.
    """

    def __init__(self, custom_formats: Sequence[CustomFormat] = ()) -> None:
        self._text: Reader = SystemText(console_dialects(custom_formats)).reader(_NO_PATH, {})
        self._json = JsonLines()
        self._json_readers: dict[Labels, Reader] = {}
        # the first process that prints an object gives the run's unlabelled series, as among ranks
        self._main_labels: Labels | None = None
        self._rest = b""
        self._first_reports = FirstReports()

    def read(self, data: bytes) -> Iterator[Batch | Unreadable]:
        """Read the lines that this chunk completes."""
        text = self._rest + data
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        if end == 0 and len(text) > MAX_LINE_BYTES:  # no line with metrics is that long
            end = len(text)
        self._rest = text[end:]
        if end:
            yield from self._read_lines(text[:end])

    def finish(self) -> Iterator[Batch | Unreadable]:
        """Read a last line without a line end."""
        rest, self._rest = self._rest, b""
        if rest:
            yield from self._read_lines(rest + b"\n")

    def _read_lines(self, block: bytes) -> Iterator[Batch | Unreadable]:
        for record in self._records(block):
            if isinstance(record, Unreadable):
                yield record
                continue
            batch, refused = without_invalid_names(record)
            yield from self._first_reports.new(refused)
            yield batch

    def _records(self, block: bytes) -> Iterator[Batch | Unreadable]:
        objects: dict[Labels, list[bytes]] = {}
        if b'{"' in block:
            block = _OBJECT.sub(lambda line: self._extract_object(line[0], objects), block)
        yield from self._text.read(io.BytesIO(block))
        for labels, lines in objects.items():
            add_labels = RunAssignment(run="", writer="", labels=labels).apply
            for record in self._json_reader(labels).read(io.BytesIO(b"\n".join([*lines, b""]))):
                yield record if isinstance(record, Unreadable) else add_labels(record)

    def _extract_object(self, line: bytes, objects: dict[Labels, list[bytes]]) -> bytes:
        """Add a line that is an object with a step to `objects`; returns the rest for the text reader."""
        stripped = strip_prefixes(line)
        content = stripped.text.encode()
        if not content.startswith(b"{") or not self._json.sniff(_NO_PATH, content + b"\n"):
            return line
        self._main_labels = stripped.labels if self._main_labels is None else self._main_labels
        known = stripped.labels in self._json_readers or len(self._json_readers) < _MAX_PRINTERS
        labels = stripped.labels if known and stripped.labels != self._main_labels else ()
        objects.setdefault(labels, []).append(content)
        return b""

    def _json_reader(self, labels: Labels) -> Reader:
        if labels not in self._json_readers:
            self._json_readers[labels] = self._json.reader(_NO_PATH, {})
        return self._json_readers[labels]
