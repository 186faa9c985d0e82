"""What a job prints, as it comes: batches from pieces of text, in whatever dialect, whenever that begins."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from holter.custom_format import CustomFormat
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.discovery.run_layout import RunAssignment
from holter.ingest.format import Reader
from holter.ingest.jsonl import JsonLines
from holter.ingest.names import FirstReports, without_invalid_names
from holter.ingest.stdout import console_dialects
from holter.ingest.stdout.system_text import SystemText
from holter.types import Batch, Labels, Unreadable

LONGEST_LINE = 2**20
_PRINTERS = 4096
_NOWHERE = PurePath("-")
_OBJECT = re.compile(rb"^[^\n{]{0,400}\{\"[^\r\n]*", re.MULTILINE)


class Listener:
    """Reads one stream of text in bounded memory: what it remembers is a line, and what readers keep.

    Lines that are JSON objects with a step are read as such, under their printers' labels; all others by
    the dialect that speaks first, be that after gigabytes of other text.
    """

    def __init__(self, house: Sequence[CustomFormat] = ()) -> None:
        self._text: Reader = SystemText(console_dialects(house)).reader(_NOWHERE, {})
        self._json = JsonLines()
        self._objects: dict[Labels, Reader] = {}
        self._voice: Labels | None = None  # who speaks first is the run's voice, as among ranks
        self._rest = b""
        self._told = FirstReports()

    def hear(self, data: bytes) -> Iterator[Batch | Unreadable]:
        """What the lines say that are complete with this piece."""
        text = self._rest + data
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        if end == 0 and len(text) > LONGEST_LINE:  # nothing that says something is that long
            end = len(text)
        self._rest = text[end:]
        if end:
            yield from self._lines(text[:end])

    def end(self) -> Iterator[Batch | Unreadable]:
        """What a last line without its end says."""
        rest, self._rest = self._rest, b""
        if rest:
            yield from self._lines(rest + b"\n")

    def _lines(self, block: bytes) -> Iterator[Batch | Unreadable]:
        for record in self._records(block):
            if isinstance(record, Unreadable):
                yield record
                continue
            batch, refused = without_invalid_names(record)
            yield from self._told.new(refused)
            yield batch

    def _records(self, block: bytes) -> Iterator[Batch | Unreadable]:
        objects: dict[Labels, list[bytes]] = {}
        if b'{"' in block:
            block = _OBJECT.sub(lambda line: self._put_aside(line[0], objects), block)
        yield from self._text.read(io.BytesIO(block))
        for labels, lines in objects.items():
            put = RunAssignment(run="", writer="", labels=labels).apply
            for record in self._reader(labels).read(io.BytesIO(b"\n".join([*lines, b""]))):
                yield record if isinstance(record, Unreadable) else put(record)

    def _put_aside(self, line: bytes, objects: dict[Labels, list[bytes]]) -> bytes:
        """Collect a line that is an object with a step; what is left of it for those who read text."""
        found = strip_prefixes(line)
        content = found.text.encode()
        if not content.startswith(b"{") or not self._json.sniff(_NOWHERE, content + b"\n"):
            return line
        self._voice = found.labels if self._voice is None else self._voice
        known = found.labels in self._objects or len(self._objects) < _PRINTERS
        labels = found.labels if known and found.labels != self._voice else ()
        objects.setdefault(labels, []).append(content)
        return b""

    def _reader(self, labels: Labels) -> Reader:
        if labels not in self._objects:
            self._objects[labels] = self._json.reader(_NOWHERE, {})
        return self._objects[labels]
