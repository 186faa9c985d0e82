"""Reads records that are no lines, from a file that was given by hand: each as a line of its own.

`[{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.4}]`, on one line or on many, and texts without any end of
line: `Epoch 1/5 loss: 0.5 Epoch 2/5 loss: 0.4`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Unreadable

_LEAST_RECORDS = 3
_MOST_LINES = 3
"""Lines of a text of which one has all records."""
_OBJECT = re.compile(r"\}(?:\]?, ?\[?(?=\{)|(?=\]))")
"""The end of an object of a list, which may be in lists of their own: `[{"loss": 0.5}], [{"loss": 0.4}]`."""
_COUNTER = re.compile(r"(?i)\b(epoch|episode|iter(?:ation)?|step)\b[ :=#\[(]{1,3}\d")
_FIRST_WORDS = re.compile(r"[^\d\n]{0,60}[A-Za-z][^\d\n]{0,10}(?=\d)")
"""What is before the first number of a text, and so of each record: `train: 1 @ epoch: 1/2 loss: 0.5`."""


class JoinedRecords(WholeFile):
    """Records on one line, each of which is read as a line of its own."""

    name: ClassVar[str] = "joined-records"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The records of the file; nothing of a text whose records have lines."""
        if separated := separate_records(text):
            yield from self.read_lines(path, separated.encode())


def separate_records(text: str) -> str:
    """The text with each of its records on a line; nothing if they are so, or there are none."""
    if len(text.splitlines()) > _MOST_LINES:
        return _objects_of_list(text) if text.lstrip()[:1] == "[" else ""
    if len(_OBJECT.findall(text)) + 1 >= _LEAST_RECORDS:
        return _OBJECT.sub("}\n", text).lstrip("[ ") + "\n"
    counters = [*_COUNTER.finditer(text)]
    begins = [each.start() for each in counters if each[1].lower() == counters[0][1].lower()]
    if len(begins) < _LEAST_RECORDS:
        return ""
    first = _FIRST_WORDS.match(text)
    if first is not None and text.count(first[0]) == len(begins):
        return text.replace(first[0], f"\n{first[0]}").lstrip("\n") + "\n"
    return "".join(f"{text[begin:end]}\n" for begin, end in zip(begins, [*begins[1:], None], strict=True))


def _objects_of_list(text: str) -> str:
    """The objects of a list that is printed over several lines, each on one; nothing of other texts."""
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if len(records) < _LEAST_RECORDS or not all(isinstance(record, dict) for record in records):
        return ""
    return "".join(f"{json.dumps(record)}\n" for record in records)
