"""Output of all_reduce_bench.py (stas00/ml-engineering): a table by payload, or lines of each rank (old)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication.labels import BYTES, is_step, parse_size, series_labels
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.lines import read_text_block
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Labels, Unreadable

_SIGNATURE = re.compile(
    rb"\| +payload +\| +(?:bus|alg)bw +\||bandwidth of all_reduce |algo throughput: [\d.]+ (?:bps|Gbps)"
)
_HEADER = re.compile(r"\|(?: +payload +\|)?(?: +(?:bus|alg)bw +\|)+")
_ROW = re.compile(r"\|(?:\s*\d{1,18}(?:\.\d{1,18})?\s*(?:[KMGTPE]?iB|B|GBps)\s*\|)+")
_NUMBER = r"(\d{1,18}(?:\.\d{1,18})?)"
_SPEED = re.compile(_NUMBER + r"\s*GBps")
_ANNOUNCED = re.compile(rf"bandwidth of all_reduce (?:with a {_NUMBER}GB payload|over \d)")
_RANKS = re.compile(r"(\d{1,9}) ranks")
_AVERAGE = re.compile(rf"\b(algbw|busbw): {_NUMBER} GBps")
_RANK_HEADING = re.compile(r"(\S{1,100}):")
_RANK_RESULT = re.compile(rf"(duration|algo throughput|busbw): {_NUMBER}\s+(sec|bps|Gbps)\b")
_NO_TIME = float("nan")
_MAX_RANKS = 65_536


class AllReduceBench:
    """`busbw_gbs` and `algbw_gbs` by payload; for old versions by rank and trial, bits converted to bytes."""

    name: ClassVar[str] = "all-reduce-bench"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS, in_text=True)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A table's header of any version, or a rank's result."""
        return b"\0" not in head and _SIGNATURE.search(head) is not None

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
        self._rank: str = state.get("printer", "")
        self._trials: dict[str, int] = dict(state.get("trials", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The table's columns and row, the announced payload and ranks, and each rank's trial."""
        return {
            "columns": self._columns,
            "row": self._row,
            "payload": self._payload,
            "ranks": self._ranks,
            "printer": self._rank,
            "trials": dict(self._trials),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of every complete line; see `Reader`."""
        yield from self._problems.drain()
        while (block := read_text_block(stream)) is not None:
            rows = []
            for line in block.replace(b"\r", b"\n").split(b"\n"):
                try:
                    row = self._parse_line(strip_prefixes(line).text)
                except Exception as error:
                    location = f"a line before byte {stream.tell()}"
                    self._problems.add_failure(location, "a line of the benchmark", error)
                    continue
                if row is not None:
                    rows.append(row)
            if rows:
                yield batch_from_rows(rows)
            yield from self._problems.drain()

    def _parse_line(self, line: str) -> LogRow | None:
        if "|" in line:
            return self._parse_table_line(line.strip())
        if (announced := _ANNOUNCED.search(line)) is not None:
            payload = int(float(announced[1]) * 1e9) if announced[1] else None
            self._payload = payload if is_step(payload) else None
            ranks = _RANKS.search(line)
            self._ranks = ranks[1] if ranks else ""
            return None
        if self._payload is not None and (average := _AVERAGE.search(line)) is not None:
            return LogRow(
                self._payload, _NO_TIME, {f"{average[1]}_gbs": float(average[2])}, self._labels(BYTES)
            )
        if (heading := _RANK_HEADING.fullmatch(line.strip())) is not None:
            self._rank = heading[1]
            return None
        return self._parse_trial(line)

    def _parse_table_line(self, line: str) -> LogRow | None:
        if _HEADER.fullmatch(line):
            self._columns, self._row = line.strip("|").split(), 0
            self._columns = [name for name in self._columns if name != "|"]
            return None
        if not self._columns or not _ROW.fullmatch(line):
            return None
        cells = dict(zip(self._columns, (cell.strip() for cell in line.strip("|").split("|")), strict=False))
        speeds = {f"{name}_gbs": _SPEED.fullmatch(cell) for name, cell in cells.items() if name != "payload"}
        values = {name: float(match[1]) for name, match in speeds.items() if match is not None}
        self._row += 1
        if "payload" not in cells:  # the stability test of one payload: a row for each trial
            return LogRow(self._row, _NO_TIME, values, self._labels("trials"))
        payload = parse_size(cells["payload"])
        return (
            None
            if payload is None or not is_step(payload)
            else LogRow(payload, _NO_TIME, values, self._labels(BYTES))
        )

    def _parse_trial(self, line: str) -> LogRow | None:
        """A result of one rank's trial; such lines do not always state the payload."""
        match = _RANK_RESULT.search(line)
        if match is None:
            return None
        rank = self._rank if self._rank in self._trials or len(self._trials) < _MAX_RANKS else ""
        if match[1] == "duration":
            self._trials[rank] = self._trials.get(rank, 0) + 1
        value = float(match[2]) * {"sec": 1e6, "bps": 1 / 8e9, "Gbps": 1 / 8}[match[3]]
        metric = {"duration": "time_us", "algo throughput": "algbw_gbs", "busbw": "busbw_gbs"}[match[1]]
        return LogRow(self._trials.get(rank, 1), _NO_TIME, {metric: value}, self._labels("trials", rank=rank))

    def _labels(self, steps: str, **more: str) -> Labels:
        return series_labels(steps, collective="all_reduce", ranks=self._ranks, **more)
