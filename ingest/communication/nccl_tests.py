"""Tables of nccl-tests and rccl-tests: bandwidth and time by message size, out of place and in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from holter.ingest.communication.labels import BYTES, is_step, series_labels
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.console.text.values import parse_number, parse_time
from holter.ingest.errors import ProblemBuffer
from holter.ingest.rows import LogRow

TABLE_HEADER = re.compile(rb"(?m)^[^\n]{0,200}?\bsize +count +type\b[^\n]*\bbusbw\b")
_COLUMNS = re.compile(r"\bsize ++count ++.{0,1000}?\bbusbw\b.*")
_PROGRAM = re.compile(r"\b(\w+?)_perf\b")
_COLLECTIVE = re.compile(
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
_LONGEST_ROW = 2000
# right behind the root of a row, which is a number: names of hosts begin with a letter
_NCCL_LINE = re.compile(
    r"(?:^|(?<=[\s\d]))[A-Za-z][\w.-]{0,254}:\d{1,10}:\d{1,10} \[\d{1,4}\] NCCL [A-Z]{4,7} "
)
_CELLS = re.compile(r"[ \t]{0,80}(?:[-+.\w/]{1,40}[ \t]{1,80}){0,40}[-+.\w/]{1,40}[ \t]{0,80}")


def collective_from_name(path: PurePath) -> str:
    """The collective in a file's name; "" without one."""
    match = _COLLECTIVE.search(path.stem.lower())
    return match[1] if match else ""


class NcclTestsParser:
    """Parses tables. A row's step is the message's bytes; labels are collective, type, redop, root, in_place.

    Columns are identified by the names in a table's header, since they differ between versions.
    """

    def __init__(self, state: Mapping[str, Any], collective: str) -> None:
        self._columns: list[str] = state.get("columns", [])
        self._collective: str = state.get("collective", collective)
        self._tables: int = state.get("tables", 0)
        self._size: int = state.get("size", 0)
        self._torn: str = state.get("torn", "")

    def state(self) -> Mapping[str, Any]:
        """The table's columns and collective, the number of tables, and the size of the last row.

        So is the beginning of a row that lines of NCCL have torn apart.
        """
        return {
            **({"torn": self._torn} if self._torn else {}),
            "columns": self._columns,
            "collective": self._collective,
            "tables": self._tables,
            "size": self._size,
        }

    def may_contain_rows(self, block: bytes) -> bool:
        """Whether some lines may have a part of a table, or the program's name."""
        return bool(self._columns) or b"busbw" in block or b"_perf" in block

    def rows(self, block: bytes, problems: ProblemBuffer, location: str) -> Iterator[LogRow]:
        """The rows of some complete lines; those that cannot be parsed are added to `problems`."""
        for line in block.replace(b"\r", b"\n").split(b"\n"):
            try:
                yield from self._parse_line(strip_prefixes(line).text)
            except Exception as error:
                problems.add_failure(location, "a line of a table of nccl-tests", error)

    def _parse_line(self, line: str) -> Iterator[LogRow]:
        if (header := _COLUMNS.search(line)) is not None and "time" in header[0]:
            self._columns = header[0].split()[:_MAX_COLUMNS]
            self._tables += 1
        elif (program := _PROGRAM.search(line)) is not None:
            self._collective = program[1][:40]
        elif self._columns:
            if (footer := _FOOTER.search(line)) is not None:
                value = parse_number(footer[2])
                if value is not None:
                    yield LogRow(self._size, float("nan"), {_FOOTERS[footer[1]]: value}, self._labels({}))
            elif "#" not in line and (row := self._joined(line)) is not None:
                yield from self._parse_row(row)

    def _joined(self, line: str) -> str | None:
        """A row in a line, with its part in earlier lines where a line of NCCL interrupts it."""
        torn = _NCCL_LINE.search(line)
        text = line if torn is None else line[: torn.start()]
        if (match := _ROW.search(text)) is not None:
            text = match[0]
        elif self._torn and text.strip() and _CELLS.fullmatch(text) is not None:
            text = f"{self._torn} {text.strip()}"
        else:
            return None
        is_part = len(text.split()) < self._cells_of(text.split())
        self._torn = text if is_part and len(text) < _LONGEST_ROW else ""
        return None if is_part else text

    def _cells_of(self, cells: list[str]) -> int:
        """How many cells a row that begins with these has: one less without an operation."""
        names = self._columns
        position = names.index("redop") if "redop" in names else len(cells)
        is_blank = position < len(cells) and not cells[position].isalpha()
        return len(names) - is_blank + (names[-1] == "timestamp")

    def _parse_row(self, text: str) -> Iterator[LogRow]:
        cells = text.split()
        names = self._columns
        if names[-1] == "timestamp":
            cells[-2:] = [" ".join(cells[-2:])]
        if len(cells) == len(names) - 1 and "redop" in names:
            cells.insert(names.index("redop"), "")  # blank if there is no operation
        size = int(cells[0]) if len(cells[0]) < 20 else -1
        if len(cells) != len(names) or not is_step(size):
            return
        self._size = size
        parameters = dict(zip(names[: names.index(_first_measurement(names))], cells, strict=False))
        time = parse_time(cells[-1]) if names[-1] == "timestamp" else float("nan")
        for in_place, values in zip(("no", "yes"), _measurements(names, cells), strict=True):
            if values:
                yield LogRow(size, time, values, self._labels(parameters, in_place=in_place))

    def _labels(self, parameters: Mapping[str, str], **more: str) -> tuple[tuple[str, str], ...]:
        """Labels of a row; from the second table of a file on, they include its number."""
        operation = {
            name: parameters[name] for name in ("type", "redop") if parameters.get(name, "none") != "none"
        }
        root = parameters.get("root", "-1")
        return series_labels(
            BYTES,
            collective=self._collective,
            root=None if root == "-1" else root,
            table=self._tables if self._tables > 1 else None,
            **operation,
            **more,
        )


def _measurements(names: list[str], cells: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The values out of place, and those in place, whose columns repeat the names of the first ones."""
    values: tuple[dict[str, float], dict[str, float]] = ({}, {})
    seen: set[str] = set()
    for name, cell in zip(names, cells, strict=True):
        metric, value = _METRICS.get(name), parse_number(cell)
        if metric is not None and value is not None:
            values[name in seen][metric] = value
        seen.add(name)
    return values


def _first_measurement(names: list[str]) -> str:
    """The name of the first column that is a measurement."""
    return next(name for name in names if name in _METRICS)
