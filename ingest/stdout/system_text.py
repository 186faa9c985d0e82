"""Text with lines of NCCL, the kernel or a scheduler, in which lines of training may follow.

Examples are the files of NCCL_DEBUG_FILE, and the output of a job that prints its first step late.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication import nccl_log, nccl_setup
from holter.ingest.communication.nccl_tests import TABLE_HEADER, NcclTestsParser, collective_from_name
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.search.pattern_search import possible_dialects
from holter.ingest.console.text.messages import texts_alone
from holter.ingest.format import Content, Format, FormatRole
from holter.ingest.lines import read_text_block
from holter.ingest.slurm import log_lines as slurm_lines
from holter.ingest.telemetry import kernel_lines
from holter.ingest.telemetry.gpu_metrics import labels_from_path
from holter.types import Batch, Unreadable

_SEARCHED_BYTES = 64 * 1024 * 1024
"""Bytes of a text in which the first lines of training must be."""
_CONTEXT_BYTES = 4096
_LINE = re.compile(rb"[^\r\n]*[\r\n]|[^\r\n]+")
_OWN_STEPS_IN_TEXT = FormatRole(content=Content.OWN_STEPS, in_text=True)

NCCL_DIALECT = ConsoleDialect(
    name="nccl",
    signature=re.compile(
        rb"opCount [0-9a-f]+ sendbuff |- Init (?:START|COMPLETE)|NCCL WARN |ProcessGroupNCCL\.cpp:\d+\] \["
        rb"|NCCL INFO (?:Bootstrap|NET/|Using network|Channel )"
    ),
    kinds=tuple(replace(kind, own_steps=True) for kind in (*nccl_log.KINDS, *nccl_setup.KINDS)),
)
"""Lines of NCCL, and PyTorch's lines about it."""

SYSTEM_DIALECTS = (NCCL_DIALECT, kernel_lines.DIALECT, slurm_lines.DIALECT)
"""Dialects of lines that appear among those of training: NCCL, the kernel, schedulers and launchers."""
_ALL = NCCL_DIALECT.followed_by(*SYSTEM_DIALECTS[1:])


class SystemText:
    """A text with lines of NCCL and, so far, none of training; once these appear, they are read, too.

    With another `index` into `SYSTEM_DIALECTS`, a text with the kernel's lines or SLURM's; the format has the
    name of that dialect.
    """

    role: ClassVar[FormatRole] = _OWN_STEPS_IN_TEXT

    def __init__(self, dialects: tuple[ConsoleDialect, ...], index: int = 0) -> None:
        self._dialects, self.index = dialects, index
        self._log = ConsoleLog(SYSTEM_DIALECTS[index], among=(*dialects, *SYSTEM_DIALECTS))

    @property
    def name(self) -> str:
        """The name of the dialect that the text begins with."""
        return self._log.name

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A line of the dialect, and none of training; no header of a table of nccl-tests."""
        return self._log.sniff(path, head) and TABLE_HEADER.search(head) is None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SystemTextReader:
        """A reader that resumes from `state`."""
        known = {} if "rewritten" in state else state
        if not known and SYSTEM_DIALECTS[self.index] is kernel_lines.DIALECT:  # dmesg does not state its host
            known = {"console": {"memories": {"": labels_from_path(path)}}}
        return SystemTextReader(self._dialects, known)


_WITHOUT_TRAINING = tuple(SystemText((), index) for index in range(len(SYSTEM_DIALECTS)))
NCCL_ONLY = _WITHOUT_TRAINING[0]
"""Reads no lines of training: for the texts of runs that have other logs for these."""


def without_training(format_: Format) -> SystemText:
    """The format that reads a text of some format without its lines of training."""
    return _WITHOUT_TRAINING[format_.index] if isinstance(format_, SystemText) else NCCL_ONLY


class NcclTests:
    """Tables of nccl-tests, and NCCL's lines between them."""

    name: ClassVar[str] = "nccl-tests"
    role: ClassVar[FormatRole] = _OWN_STEPS_IN_TEXT

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """The header of a table."""
        return b"busbw" in head and b"\0" not in head and TABLE_HEADER.search(head) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SystemTextReader:
        """A reader that resumes from `state`."""
        return SystemTextReader((), {} if "rewritten" in state else state, collective_from_name(path))


class SystemTextReader:
    """Reads one text that is being written, and looks for the first dialect of training in it.

    Once that is found, from its line on, the text is read in this dialect as well.
    """

    def __init__(
        self, dialects: Sequence[ConsoleDialect], state: Mapping[str, Any], collective: str = ""
    ) -> None:
        self._dialects = dialects
        self._matches: dict[str, int] = dict(state.get("heard", {}))
        self._context: bytes = state.get("before", "").encode("latin-1")
        self._chosen: str | None = state.get("spoken")
        self._tables = NcclTestsParser(state.get("tables", {}), collective)
        chosen = next((dialect for dialect in dialects if dialect.name == self._chosen), None)
        if chosen is not None:  # one that comes before it in the order may still appear and replace it
            self._dialects = dialects[: dialects.index(chosen)]
        self._console = ConsoleReader(chosen.followed_by(_ALL) if chosen else _ALL, state.get("console", {}))

    def state(self) -> Mapping[str, Any]:
        """The dialect of training once it is found, the matches of each other one, and the last line."""
        return {
            "console": self._console.state(),
            "tables": self._tables.state(),
            "spoken": self._chosen,
            "heard": dict(self._matches),
            "before": self._context.decode("latin-1"),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines hold; see `Reader`."""
        yield from self._console.problems.drain()
        yield from self._console.ready()
        while (block := read_text_block(stream)) is not None:
            begin, before = stream.tell() - len(block), (dict(self._matches), self._context)
            found = self._find_dialect(block, begin)
            block, dialect = (block, None) if found is None else (block[: found[0]], found[1])
            parsed = ParsedLines()
            size = self._console.parse(block, parsed, begin)
            if size < len(block):  # the rest belongs to another launch and counts as not searched yet
                block, dialect = block[:size], None
                self._matches, self._context = before
                self._find_dialect(block, begin)
            if self._tables.may_contain_rows(block):
                location = f"bytes {begin} to {begin + len(block)}"
                parsed.rows[:0] = self._tables.rows(block, self._console.problems, location)
            if dialect is not None:
                self._choose(dialect)
            stream.seek(begin + len(block))
            yield from self._console.batches(parsed)
            yield from self._console.problems.drain()
        yield from self._console.batches(self._console.flush())

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back until more lines say which process printed them."""
        return self._console.is_holding

    def finish(self) -> Iterator[Batch]:
        """Yield the rows that more lines of the text would have decided on."""
        yield from self._console.finish()

    def _choose(self, dialect: ConsoleDialect) -> None:
        self._chosen = dialect.name
        self._dialects = self._dialects[: self._dialects.index(dialect)]
        self._console = ConsoleReader(dialect.followed_by(_ALL), self._console.state())

    def _find_dialect(self, block: bytes, offset: int) -> tuple[int, ConsoleDialect] | None:
        """Where the line begins with which a dialect has enough matches, and that dialect."""
        if offset > _SEARCHED_BYTES or not self._dialects:
            return None
        text = self._context + block
        texts = texts_alone(text)
        candidates = [
            dialect
            for dialect in possible_dialects(tuple(self._dialects), texts)
            if dialect.signature.search(dialect.searched(texts)) is not None
        ]
        for line in _LINE.finditer(block) if candidates else ():
            for dialect in candidates:
                if self._is_found(dialect, self._context + line[0]):
                    return line.start(), dialect
            self._context = (self._context[-1:] + line[0])[-_CONTEXT_BYTES:]
        if not candidates:
            begin = max(text.rfind(b"\n", 0, -1), text.rfind(b"\r", 0, -1), 0)
            self._context = text[begin:][-_CONTEXT_BYTES:]
        return None

    def _is_found(self, dialect: ConsoleDialect, text: bytes) -> bool:
        """Count the matches of a dialect that end in the last line of `text`; whether they suffice now."""
        before = dialect.searched(texts_alone(self._context))
        for match in dialect.signature.finditer(dialect.searched(texts_alone(text))):
            if match.end() > len(before):
                self._matches[dialect.name] = self._matches.get(dialect.name, 0) + 1
        return self._matches.get(dialect.name, 0) >= dialect.min_matches
