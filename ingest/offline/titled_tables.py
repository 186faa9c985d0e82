"""Tables below the name of what they measure, whose columns name data: `Loss` above `Epoch  Train  Val`.

For a file that was given by hand. The columns are `Loss/Train` and `Loss/Val`, as where such names are above
other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialects import GENERIC
from holter.ingest.console.line.line_words import ALL_DATA
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.open_log import HEAD_BYTES
from holter.types import Batch, Unreadable

_TITLED = re.compile(
    r"(?im)^[^\w\n]{0,20}(?P<title>[a-z][\w /-]{0,40}?)[^\w\n]{0,20}\n"
    r"(?P<count>\|?[ \t]{0,20}(?:epochs?|steps?|iter(?:ation)?s?|rounds?)(?:[ \t]|[|,;]))"
    rf"(?P<data>(?:[ \t|,;]{{0,20}}\b(?:{ALL_DATA})\b){{2,6}}[ \t|]{{0,20}}\r?)$"
)
_WORD = re.compile(r"\w+")


class TitledTables(WholeFile):
    """Lines of a program with tables that have a title."""

    name: ClassVar[str] = "titled-tables"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """What the lines hold, with the title in the names of the columns; nothing of a text without any."""
        named = _TITLED.sub(_with_names, text).encode() if _TITLED.search(text) is not None else b""
        formats = (ConsoleLog(dialect) for dialect in GENERIC)
        if table := next((each for each in formats if each.sniff(PurePath(), named[:HEAD_BYTES])), None):
            yield from TitledTables(table).read_lines(path, named)


def _with_names(heading: re.Match[str]) -> str:
    title = heading["title"].strip()
    if not is_metric_name(title):
        return heading[0]
    name = "_".join(title.split())
    return heading["count"] + _WORD.sub(lambda data: f"{name}/{data[0]}", heading["data"])
