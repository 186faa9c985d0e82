"""Tables of nccl-tests and rccl-tests: bandwidth and time by message size, out of place and in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from holter.ingest.communication.labels import BYTES, is_step, series_labels
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.console.values import parse_number, parse_time
from holter.ingest.rows import LogRow

TABLE_HEADER = re.compile(rb"(?m)^[^\n]{0,200}?\bsize +count +type\b[^\n]*\bbusbw\b")
_NAMES = re.compile(r"\bsize +count +.*\bbusbw\b.*")
_PROGRAM = re.compile(r"\b(\w+?)_perf\b")
_NAMED = re.compile(
    r"(all_?reduce|all_?gather|reduce_?scatter|all_?to_?allv?|broadcast|reduce|sendrecv|gather|scatter|hypercube)"
)
_ROW = re.compile(r"(?:^|(?<=\s)|(?<=:))\d+ +\d+ +[a-z].*")
_FOOTER = re.compile(r"# (Out of bounds values|Avg bus bandwidth) +: +(\S+)")
_FOOTERS = {"Out of bounds values": "out_of_bounds", "Avg bus bandwidth": "avg_busbw_gbs"}
_METRICS = {
    "time": "time_us",
    "cputime": "cpu_time_us",
    "algbw": "algbw_gbs",
    "busbw": "busbw_gbs",
    "copybw": "copybw_gbs",
    "#wrong": "wrong_values",
    "error": "largest_error",
}
_MAX_COLUMNS = 64


def collective_from_name(path: PurePath) -> str:
    """The collective that a file's name tells, "" where it tells none."""
    named = _NAMED.search(path.stem.lower())
    return named[1] if named else ""


class NcclTestsParser:
    """A point a row at the message's bytes as step, labelled collective, type, redop, root and in_place.

    Columns are known by the names in a table's header, which differ between versions.
    """

    def __init__(self, state: Mapping[str, Any], named: str) -> None:
        self._columns: list[str] = state.get("columns", [])
        self._collective: str = state.get("collective", named)
        self._tables: int = state.get("tables", 0)
        self._size: int = state.get("size", 0)

    def state(self) -> Mapping[str, Any]:
        """The table's columns, its collective, how many tables there were, the size of the last row."""
        return {
            "columns": self._columns,
            "collective": self._collective,
            "tables": self._tables,
            "size": self._size,
        }

    def may_contain_rows(self, block: bytes) -> bool:
        """Whether some lines may hold anything of a table, or name the program."""
        return bool(self._columns) or b"busbw" in block or b"_perf" in block

    def rows(self, block: bytes) -> Iterator[LogRow]:
        """What some complete lines say."""
        for line in block.replace(b"\r", b"\n").split(b"\n"):
            yield from self._line(strip_prefixes(line).text)

    def _line(self, line: str) -> Iterator[LogRow]:
        if (header := _NAMES.search(line)) is not None and "time" in header[0]:
            self._columns = header[0].split()[:_MAX_COLUMNS]
            self._tables += 1
        elif (program := _PROGRAM.search(line)) is not None:
            self._collective = program[1][:40]
        elif self._columns:
            if (footer := _FOOTER.search(line)) is not None:
                value = parse_number(footer[2])
                if value is not None:
                    yield LogRow(self._size, float("nan"), {_FOOTERS[footer[1]]: value}, self._labels({}))
            elif "#" not in line and "NCCL" not in line and (found := _ROW.search(line)) is not None:
                yield from self._rows(found[0])

    def _rows(self, text: str) -> Iterator[LogRow]:
        cells = text.split()
        names = self._columns
        if names[-1] == "timestamp":
            cells[-2:] = [" ".join(cells[-2:])]
        if len(cells) == len(names) - 1 and "redop" in names:
            cells.insert(names.index("redop"), "")  # printed blank where there is no operation
        size = int(cells[0]) if len(cells[0]) < 20 else -1
        if len(cells) != len(names) or not is_step(size):
            return
        self._size = size
        said = dict(zip(names[: names.index(_first_of(names))], cells, strict=False))
        time = parse_time(cells[-1]) if names[-1] == "timestamp" else float("nan")
        for in_place, values in zip(("no", "yes"), _measured(names, cells), strict=True):
            if values:
                yield LogRow(size, time, values, self._labels(said, in_place=in_place))

    def _labels(self, said: Mapping[str, str], **more: str) -> tuple[tuple[str, str], ...]:
        """Labels of a row; a second table of one file is told from the first."""
        kept = {name: said[name] for name in ("type", "redop") if said.get(name, "none") != "none"}
        root = said.get("root", "-1")
        return series_labels(
            BYTES,
            collective=self._collective,
            root=None if root == "-1" else root,
            table=self._tables if self._tables > 1 else None,
            **kept,
            **more,
        )


def _measured(names: list[str], cells: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """What was measured out of place, and in place: those columns have the same names once more."""
    both: tuple[dict[str, float], dict[str, float]] = ({}, {})
    seen: set[str] = set()
    for name, cell in zip(names, cells, strict=True):
        metric, value = _METRICS.get(name), parse_number(cell)
        if metric is not None and value is not None:
            both[name in seen][metric] = value
        seen.add(name)
    return both


def _first_of(names: list[str]) -> str:
    """The first column that is a measurement."""
    return next(name for name in names if name in _METRICS)
