"""all_reduce_bench.py (stas00/ml-engineering): a table by payload; of old versions each rank's own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication.labels import BYTES, is_step, series_labels, parse_size
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.format import Content, FormatRole
from holter.ingest.lines import read_text_block
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Labels, Unreadable

_TELL = re.compile(
    rb"\| +payload +\| +(?:bus|alg)bw +\||bandwidth of all_reduce |algo throughput: [\d.]+ (?:bps|Gbps)"
)
_HEADER = re.compile(r"\|(?: +payload +\|)?(?: +(?:bus|alg)bw +\|)+")
_CELLS = re.compile(r"\|(?:\s*\d{1,18}(?:\.\d{1,18})?\s*(?:[KMGTPE]?iB|B|GBps)\s*\|)+")
_NUMBER = r"(\d{1,18}(?:\.\d{1,18})?)"
_SPEED = re.compile(_NUMBER + r"\s*GBps")
_ANNOUNCED = re.compile(rf"bandwidth of all_reduce (?:with a {_NUMBER}GB payload|over \d)")
_RANKS = re.compile(r"(\d{1,9}) ranks")
_AVERAGE = re.compile(rf"\b(algbw|busbw): {_NUMBER} GBps")
_PRINTER = re.compile(r"(\S{1,100}):")
_OWN = re.compile(rf"(duration|algo throughput|busbw): {_NUMBER}\s+(sec|bps|Gbps)\b")
_NONE = float("nan")
_MAX_PRINTERS = 65_536


class AllReduceBench:
    """`busbw_gbs` and `algbw_gbs` by payload; old versions' trials by rank, their bits as bytes."""

    name: ClassVar[str] = "all-reduce-bench"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS, in_text=True)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of one of the versions, or a rank's result."""
        return b"\0" not in head and _TELL.search(head) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> AllReduceBenchReader:
        """A reader that resumes from `state`."""
        return AllReduceBenchReader({} if "rewritten" in state else state)


class AllReduceBenchReader:
    """Reads the output of one program."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._columns: list[str] = state.get("columns", [])
        self._row: int = state.get("row", 0)
        self._payload: int | None = state.get("payload")
        self._ranks: str = state.get("ranks", "")
        self._printer: str = state.get("printer", "")
        self._trials: dict[str, int] = dict(state.get("trials", {}))

    def state(self) -> Mapping[str, Any]:
        """The table's columns and row, what was said of the payload and the ranks, each rank's trial."""
        return {
            "columns": self._columns,
            "row": self._row,
            "payload": self._payload,
            "ranks": self._ranks,
            "printer": self._printer,
            "trials": dict(self._trials),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete line; see `Reader`."""
        while (block := read_text_block(stream)) is not None:
            lines = block.replace(b"\r", b"\n").split(b"\n")
            rows = [row for line in lines if (row := self._line(strip_prefixes(line).text)) is not None]
            if rows:
                yield batch_from_rows(rows)

    def _line(self, line: str) -> LogRow | None:
        if "|" in line:
            return self._in_table(line.strip())
        if (announced := _ANNOUNCED.search(line)) is not None:
            payload = int(float(announced[1]) * 1e9) if announced[1] else None
            self._payload = payload if is_step(payload) else None
            ranks = _RANKS.search(line)
            self._ranks = ranks[1] if ranks else ""
            return None
        if self._payload is not None and (average := _AVERAGE.search(line)) is not None:
            return LogRow(self._payload, _NONE, {f"{average[1]}_gbs": float(average[2])}, self._labels(BYTES))
        if (printer := _PRINTER.fullmatch(line.strip())) is not None:
            self._printer = printer[1]
            return None
        return self._trial(line)

    def _in_table(self, line: str) -> LogRow | None:
        if _HEADER.fullmatch(line):
            self._columns, self._row = line.strip("|").split(), 0
            self._columns = [name for name in self._columns if name != "|"]
            return None
        if not self._columns or not _CELLS.fullmatch(line):
            return None
        cells = dict(zip(self._columns, (cell.strip() for cell in line.strip("|").split("|")), strict=False))
        speeds = {f"{name}_gbs": _SPEED.fullmatch(cell) for name, cell in cells.items() if name != "payload"}
        values = {name: float(found[1]) for name, found in speeds.items() if found is not None}
        self._row += 1
        if "payload" not in cells:  # a payload's stability: a row a trial
            return LogRow(self._row, _NONE, values, self._labels("trials"))
        payload = parse_size(cells["payload"])
        return (
            None
            if payload is None or not is_step(payload)
            else LogRow(payload, _NONE, values, self._labels(BYTES))
        )

    def _trial(self, line: str) -> LogRow | None:
        """What one rank says of its own trial; a payload's size is not always printed there."""
        found = _OWN.search(line)
        if found is None:
            return None
        rank = self._printer if self._printer in self._trials or len(self._trials) < _MAX_PRINTERS else ""
        if found[1] == "duration":
            self._trials[rank] = self._trials.get(rank, 0) + 1
        value = float(found[2]) * {"sec": 1e6, "bps": 1 / 8e9, "Gbps": 1 / 8}[found[3]]
        metric = {"duration": "time_us", "algo throughput": "algbw_gbs", "busbw": "busbw_gbs"}[found[1]]
        return LogRow(self._trials.get(rank, 1), _NONE, {metric: value}, self._labels("trials", rank=rank))

    def _labels(self, steps: str, **more: str) -> Labels:
        return series_labels(steps, collective="all_reduce", ranks=self._ranks, **more)
