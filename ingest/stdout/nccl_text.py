"""Texts that NCCL writes into: files of NCCL_DEBUG_FILE, and outputs in which training speaks later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication import nccl_log, nccl_setup, pytorch_watchdog
from holter.ingest.communication.nccl_tests import HEADER, Tables, collective_of
from holter.ingest.console.blocks import read_text
from holter.ingest.console.console_log import ConsoleLog, ConsoleReader, ParsedLines
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.pattern_search import signature_set
from holter.ingest.format import Content, Format, FormatRole
from holter.ingest.slurm import log_lines as slurm_lines
from holter.ingest.telemetry import kernel_lines
from holter.ingest.telemetry.gpu_metrics import host_of
from holter.types import Batch, Unreadable

_FURTHEST = 64 * 1024 * 1024
"""Bytes in which training must have spoken."""
_KEPT = 4096
_LINE = re.compile(rb"[^\r\n]*[\r\n]|[^\r\n]+")

NCCL_DIALECT = ConsoleDialect(
    name="nccl",
    signature=re.compile(
        rb"opCount [0-9a-f]+ sendbuff |- Init (?:START|COMPLETE)|NCCL WARN |ProcessGroupNCCL\.cpp:\d+\] \["
        rb"|NCCL INFO (?:Bootstrap|NET/|Using network|Channel )"
    ),
    kinds=tuple(
        replace(kind, own_steps=True)
        for kind in (*nccl_log.KINDS, *pytorch_watchdog.KINDS, *nccl_setup.KINDS)
    ),
)
"""NCCL's lines and PyTorch's about it."""

SYSTEM_DIALECTS = (NCCL_DIALECT, kernel_lines.DIALECT, slurm_lines.DIALECT)
"""What stands in texts beside training: also the kernel's lines, and those of schedulers and launchers."""
_ALL = NCCL_DIALECT.followed_by(*SYSTEM_DIALECTS[1:])


class SystemText:
    """A text with NCCL's lines and, so far, none of training: the dialect that speaks first reads those.

    So it is with a text of the kernel's lines, or of SLURM's: with `place`, one of `OTHERS`, that is what
    it is called by.
    """

    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS, in_text=True)

    def __init__(self, dialects: tuple[ConsoleDialect, ...], place: int = 0) -> None:
        self._dialects, self.place = dialects, place
        self._log = ConsoleLog(SYSTEM_DIALECTS[place], (*dialects, *SYSTEM_DIALECTS[:place]))

    @property
    def name(self) -> str:
        """Whose lines it has."""
        return self._log.name

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A line of NCCL's, and none of training; not at the head of a table of nccl-tests."""
        return self._log.sniff(path, head) and HEADER.search(head) is None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SystemTextReader:
        """A reader that goes on from `state`."""
        known = {} if "rewritten" in state else state
        if (
            not known and SYSTEM_DIALECTS[self.place] is kernel_lines.DIALECT
        ):  # dmesg does not say whose it is
            known = {"console": {"memories": {"": host_of(path)}}}
        return SystemTextReader(self._dialects, known)


_DEAF = tuple(SystemText((), place) for place in range(len(SYSTEM_DIALECTS)))
NCCL_ONLY = _DEAF[0]
"""Deaf to training: for the texts of runs that have other logs for that."""


def without_training(format_: Format) -> SystemText:
    """What reads a text of some format but for what it says of training."""
    return _DEAF[format_.place] if isinstance(format_, SystemText) else NCCL_ONLY


class NcclTests:
    """Tables of nccl-tests, and what NCCL says between them."""

    name: ClassVar[str] = "nccl-tests"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS, in_text=True)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A table's header."""
        return b"busbw" in head and b"\0" not in head and HEADER.search(head) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SystemTextReader:
        """A reader that goes on from `state`."""
        return SystemTextReader((), {} if "rewritten" in state else state, collective_of(path))


class SystemTextReader:
    """Reads one growing text, from where a dialect of training first speaks with the ears for that."""

    def __init__(
        self, dialects: Sequence[ConsoleDialect], state: Mapping[str, Any], collective: str = ""
    ) -> None:
        self._dialects = dialects
        self._heard: dict[str, int] = dict(state.get("heard", {}))
        self._before: bytes = state.get("before", "").encode("latin-1")
        self._spoken: str | None = state.get("spoken")
        self._tables = Tables(state.get("tables", {}), collective)
        chosen = next((one for one in dialects if one.name == self._spoken), None)
        if chosen is not None:  # those before it in the order may speak yet, as those beside it do
            self._dialects = dialects[: dialects.index(chosen)]
        self._console = ConsoleReader(chosen.followed_by(_ALL) if chosen else _ALL, state.get("console", {}))

    def state(self) -> Mapping[str, Any]:
        """The dialect of training once it spoke, what was heard of each other, and the last line."""
        return {
            "console": self._console.state(),
            "tables": self._tables.state(),
            "spoken": self._spoken,
            "heard": dict(self._heard),
            "before": self._before.decode("latin-1"),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines say; see `Reader`."""
        while (block := read_text(stream)) is not None:
            begin, known = stream.tell() - len(block), (dict(self._heard), self._before)
            turn = self._turn(block, begin)
            block, dialect = (block, None) if turn is None else (block[: turn[0]], turn[1])
            heard = ParsedLines()
            taken = self._console.hear(block, heard)
            if taken < len(block):  # what follows is of another launch: nothing of it has been heard
                block, dialect = block[:taken], None
                self._heard, self._before = known
                self._turn(block, begin)
            if self._tables.concerns(block):
                heard.rows[:0] = self._tables.rows(block)
            if dialect is not None:
                self._take_turn(dialect)
            stream.seek(begin + len(block))
            yield from heard.batches()
        yield from self._console.last().batches()

    def _take_turn(self, dialect: ConsoleDialect) -> None:
        self._spoken = dialect.name
        self._dialects = self._dialects[: self._dialects.index(dialect)]
        self._console = ConsoleReader(dialect.followed_by(_ALL), self._console.state())

    def _turn(self, block: bytes, offset: int) -> tuple[int, ConsoleDialect] | None:
        """Where the line begins in which a dialect has been heard often enough, and that dialect."""
        if offset > _FURTHEST or not self._dialects:
            return None
        text = self._before + block
        may = (self._dialects[place] for place in signature_set(tuple(self._dialects)).within(text))
        heard = [one for one in may if one.signature.search(text) is not None]
        for line in _LINE.finditer(block) if heard else ():
            for dialect in heard:
                if self._hears(dialect, self._before + line[0]):
                    return line.start(), dialect
            self._before = (self._before[-1:] + line[0])[-_KEPT:]
        if not heard:
            begin = max(text.rfind(b"\n", 0, -1), text.rfind(b"\r", 0, -1), 0)
            self._before = text[begin:][-_KEPT:]
        return None

    def _hears(self, dialect: ConsoleDialect, text: bytes) -> bool:
        """Whether a line, behind the one before it, is that in which a dialect is heard often enough."""
        for found in dialect.signature.finditer(text):
            if found.end() > len(self._before):
                self._heard[dialect.name] = self._heard.get(dialect.name, 0) + 1
        return self._heard.get(dialect.name, 0) >= dialect.min_matches
