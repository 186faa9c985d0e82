"""Reads records that are on one line, from a file that was given by hand: each as a line of its own.

`[{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.4}]`, and texts without any end of line:
`Epoch 1/5 loss: 0.5 Epoch 2/5 loss: 0.4`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.format import Format, FormatRole
from holter.ingest.text_encoding import decode_lines
from holter.types import Batch, Unreadable

_MAX_BYTES = 64 * 2**20
_LEAST_RECORDS = 3
_MOST_LINES = 3
"""Lines of a text of which one has all records."""
_OBJECT = re.compile(r"\}(?:, ?(?=\{)|(?=\]))")
_COUNTER = re.compile(r"(?i)\b(epoch|episode|iter(?:ation)?|step)\b[ :=#\[(]{1,3}\d")

_FIRST_WORDS = re.compile(r"[^\d\n]{0,60}[A-Za-z][^\d\n]{0,10}(?=\d)")
"""What is before the first number of a text, and so of each record: `train: 1 @ epoch: 1/2 loss: 0.5`."""


class JoinedRecords:
    """Records on one line; `lines` reads them once each has its own."""

    name: ClassVar[str] = "joined-records"
    role: ClassVar[FormatRole] = FormatRole()

    def __init__(self, lines: Format) -> None:
        self._lines = lines

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Never: where a record ends is a guess, which only a person who names the file can confirm."""
        return False

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> _JoinedReader:
        """A reader of a complete file."""
        return _JoinedReader(path, self._lines)


class _JoinedReader:
    def __init__(self, path: PurePath, lines: Format) -> None:
        self._path = path
        self._lines = lines

    def state(self) -> Mapping[str, Any]:
        """Nothing: the file is read once."""
        return {}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the records of the file; nothing of a text whose records have lines."""
        text = decode_lines(stream.read(_MAX_BYTES)).removeprefix("\ufeff")
        if separated := _separated(text):
            yield from self._lines.reader(self._path, {}).read(io.BytesIO(separated.encode()))


def _separated(text: str) -> str:
    """The text with each of its records on a line; nothing if they are so, or there are none."""
    if len(text.splitlines()) > _MOST_LINES:
        return ""
    if len(_OBJECT.findall(text)) + 1 >= _LEAST_RECORDS:
        return _OBJECT.sub("}\n", text) + "\n"
    counters = [*_COUNTER.finditer(text)]
    begins = [each.start() for each in counters if each[1].lower() == counters[0][1].lower()]
    if len(begins) < _LEAST_RECORDS:
        return ""
    first = _FIRST_WORDS.match(text)
    if first is not None and text.count(first[0]) == len(begins):
        return text.replace(first[0], f"\n{first[0]}").lstrip("\n") + "\n"
    return "".join(f"{text[begin:end]}\n" for begin, end in zip(begins, [*begins[1:], None], strict=True))
