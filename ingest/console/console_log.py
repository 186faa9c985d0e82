"""Console logs: the lines of a program's output that tell of a step, whatever stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.axes import LARGEST_STEP
from holter.ingest.console.blocks import read_text
from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.prefixes import Clean, clean
from holter.ingest.rows import Row, batch_of
from holter.types import Batch, Labels, Unreadable, labels_of

_OTHERS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".toml", ".xml", ".html"})
_PRINTERS = 4096
"""Prefixes whose lines are told apart; further ones share what they remember."""


class ConsoleLog:
    """What a program prints in one framework's dialect, into a file of any name."""

    among_text: ClassVar[bool] = True

    def __init__(self, dialect: Dialect, before: tuple[Dialect, ...] = ()) -> None:
        self._dialect = dialect
        self._before = before

    @property
    def name(self) -> str:
        """The dialect's name."""
        return self._dialect.name

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Text with a line of this dialect, and none of a dialect that comes before it."""
        if path.suffix.lower() in _OTHERS or b"\0" in head or not self._dialect.speaks_in(head):
            return False
        return not any(other.speaks_in(head) for other in self._before)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConsoleReader:
        """A reader that goes on from `state`."""
        return ConsoleReader(self._dialect, {} if "rewritten" in state else state)


class ConsoleReader:
    """Reads one growing text.

    Ranks that print side by side give each series a rank; the first process that speaks is the run's
    voice: its series carry no label, and once others speak it appears among the ranks as well.
    """

    def __init__(self, dialect: Dialect, state: Mapping[str, Any]) -> None:
        self._kinds = dialect.kinds
        self._memories: dict[str, Memory] = {
            printer: dict(memory) for printer, memory in state.get("memories", {}).items()
        }
        voice = state.get("voice")
        self._voice: Labels | None = None if voice is None else tuple((n, v) for n, v in voice)
        self._several: bool = state.get("several", False)

    def state(self) -> Mapping[str, Any]:
        """What earlier lines said that later ones rest on, and who speaks."""
        return {
            "memories": {printer: dict(memory) for printer, memory in self._memories.items() if memory},
            "voice": None if self._voice is None else [list(label) for label in self._voice],
            "several": self._several,
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines say; see `Reader`."""
        while (block := read_text(stream)) is not None:
            rows = list(self.rows(block))
            if rows:
                yield batch_of(rows)

    def rows(self, block: bytes) -> Iterator[Row]:
        """What some complete lines say."""
        for line, kind in _marked(block, self._kinds):
            found = clean(line)
            said = kind.read(found.text, self._memory(found))
            for one in said if isinstance(said, list) else (said,):
                if one is not None and one.values and abs(one.step) <= LARGEST_STEP:
                    for labels in self._kept(found.labels) if one.labels is None else (_own(one, found),):
                        yield Row(one.step, one.time, one.values, labels)

    def _memory(self, line: Clean) -> Memory:
        printer = line.labels[0][1] if line.labels else ""
        if printer not in self._memories and len(self._memories) >= _PRINTERS:
            printer = ""
        return self._memories.setdefault(printer, {})

    def _kept(self, labels: Labels) -> tuple[Labels, ...]:
        """The labels under which the values of the process with these labels are kept."""
        if self._voice is None:
            self._voice = labels
        if labels != self._voice:
            self._several = True
            return (labels,)
        return ((), labels) if self._several and labels else ((),)


def _own(said: Said, line: Clean) -> Labels:
    """The labels that a line gives its values itself; the rank that its launcher names is the job's."""
    labels = said.labels or ()
    rank = next((label for label in line.labels if label[0] == "rank"), None)
    return labels if rank is None or rank in labels else labels_of({**dict(labels), rank[0]: rank[1]})


def _marked(block: bytes, kinds: tuple[LineKind, ...]) -> Iterator[tuple[bytes, LineKind]]:
    """The lines of a block that bear a mark, in their order, with their kind."""
    found: dict[int, tuple[int, LineKind]] = {}
    for kind in kinds:
        for mark in kind.mark.finditer(block):
            start = block.rfind(b"\n", 0, mark.start()) + 1
            start = max(start, block.rfind(b"\r", start, mark.start()) + 1)
            if start not in found:
                end = block.find(b"\n", mark.end())
                found[start] = (len(block) if end < 0 else end, kind)
    for start in sorted(found):
        end, kind = found[start]
        stop = block.find(b"\r", start, end)
        yield block[start : end if stop < 0 else stop], kind
