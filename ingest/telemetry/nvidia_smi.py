"""`nvidia-smi --query-gpu=... --format=csv -l 5`: a row for each GPU and moment."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import row_at

_FIELDS = {
    "utilization.gpu": q.UTIL,
    "utilization.memory": q.MEMORY_UTIL,
    "memory.used": q.MEMORY_USED,
    "memory.total": q.MEMORY_TOTAL,
    "power.draw": q.POWER,
    "power.draw.average": "gpu_power_average (W)",
    "power.draw.instant": "gpu_power_instant (W)",
    "power.limit": q.POWER_LIMIT,
    "temperature.gpu": q.TEMPERATURE,
    "temperature.memory": q.MEMORY_TEMPERATURE,
    "clocks.sm": q.SM_CLOCK,
    "clocks.current.sm": q.SM_CLOCK,
    "clocks.mem": q.MEMORY_CLOCK,
    "clocks.current.memory": q.MEMORY_CLOCK,
    "ecc.errors.corrected.volatile.total": q.ECC_CORRECTED,
    "ecc.errors.uncorrected.volatile.total": q.ECC_UNCORRECTED,
    "remapped_rows.failure": q.ROW_REMAP_FAILURE,
    "remapped_rows.pending": q.ROW_REMAP_PENDING,
    **{f"clocks_event_reasons.{reason}": q.THROTTLE + reason for reason in q.THROTTLE_BITS.values()},
}
_STATED = {"name": "gpu.name", "driver_version": "gpu.driver", "pci.bus_id": "gpu.pci_bus_id"}
_MASK = "clocks_event_reasons.active"
_SAME = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial"}
# what tells which device it is, or never changes
_ABOUT = re.compile(
    r"timestamp|index|count|serial|uuid|name|pci\..*|driver.*|vbios.*|inforom.*|compute_cap|module_id|board_id"
    r"|.*\.(default_limit|min_limit|max_limit|max|gpumax|hostmax|supported|capability.*)|clocks\.max\..*|platform\..*"
    r"|accounting\..*|vgpu.*|fabric\..*|gsp\..*|.*\.(pending|current)_mode|protected_memory\..*"
)
_NAME = re.compile(r"([a-z][a-zA-Z0-9_.]*)(?: \[([^\]]{1,16})\])?")
_STRONG = re.compile(
    rb"(?:utilization|memory|power|temperature|clocks|ecc|pci|remapped_rows|fan)[._a-zA-Z]*\.[a-z_.]+"
    rb"(?: \[|\s*,|\s*$)"
)
_STAMP = re.compile(rb"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{3})?")
_WHOLE = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{3})?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f-]{36}(?:/\d+/\d+)?")
_GONE = ("[GPU requires reset]", "[GPU is lost]", "[Reset required]")


class NvidiaSmi:
    """A table with nvidia-smi's fields, however often its header is repeated, or without one.

    Times are local, without a zone. A row is a GPU: by its index, else its bus address, else its UUID.
    """

    name: ClassVar[str] = "nvidia-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of nvidia-smi's fields among the first lines, or rows that begin with its stamp."""
        if b"\0" in head:
            return False
        lines = head[:8192].split(b"\n")[:20]
        return any(_is_header(line) for line in lines) or _rows_alone(lines)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> NvidiaSmiReader:
        """A reader that goes on from `state`."""
        return NvidiaSmiReader(path, {} if "rewritten" in state else state)


class NvidiaSmiReader(LineReader):
    """Reads one table as it grows."""

    expected = "a row of nvidia-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)
        self._header: list[str] | None = state.get("header")
        self._moment: float = state.get("moment", float("nan"))

    def own_state(self) -> Mapping[str, Any]:
        """The header, and the last moment that stood between the tables."""
        moment = {} if self._moment != self._moment else {"moment": self._moment}
        return {"header": self._header, **moment}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU; a header, or a moment, for the rows below."""
        if not line or line.isspace():
            return
        if _is_header(line.encode("utf-8", "replace")):
            self._header = [
                _SAME.get(name.strip(), name.strip()) for name in line.lstrip("\ufeff").split(",")
            ]
            return
        cells = _cells(line)
        if self._header is None and _WHOLE.fullmatch(cells[0]):
            self._header = _by_place(cells)
            self.blame("expected a header; columns are named by their places: log with --format=csv")
        if self._header is None or len(cells) != len(self._header):
            moment = self.clock.read(line) if len(line) < 100 else float("nan")
            if moment == moment:
                self._moment = moment
            else:
                found = f"{len(cells)} cells" if self._header else line[:80]
                self.blame(f"expected a row of {len(self._header or ()) or 'named'} cells, found {found}")
            return
        plain = [field.plain for field in _fields(tuple(self._header))]
        row = self._row(cells, dict(zip(plain, cells, strict=True)))
        if row is not None:
            yield row

    def _row(self, cells: Sequence[str], named: Mapping[str, str]) -> LogRow | None:
        gpu = _gpu(named)
        labels = {**self._whose, **({} if gpu is None else {"gpu": gpu})}
        for field, setting in _STATED.items():
            said = named.get(field, "")
            if said and not said.startswith("["):
                self.state_that(q.about(setting, labels), q.bus_id(said) or said[:200])
        values = _values(_fields(tuple(self._header or ())), cells)
        stamp = named.get("timestamp")
        moment = self._moment if stamp is None else self.clock.read(stamp)
        row = row_at(moment, values, **labels)
        if row is None and stamp is not None:
            self.blame(f"expected a time such as 2024/09/08 13:03:31.000, found {stamp[:40]!r}")
            return None
        return self.counted.row(values, **labels) if row is None else row


class _Field(NamedTuple):
    """A column: its name without unit, and what it is called here, None where it measures nothing."""

    plain: str
    metric: str | None


@lru_cache(maxsize=64)  # every row of a file has the same
def _fields(header: tuple[str, ...]) -> tuple[_Field, ...]:
    names = [(name, _plain(name)) for name in header]
    return tuple(
        _Field(plain, None if _ABOUT.fullmatch(plain) else _FIELDS.get(plain, name)) for name, plain in names
    )


def _values(fields: Sequence[_Field], cells: Sequence[str]) -> dict[str, float]:
    """What a row's cells measure."""
    values: dict[str, float] = {}
    for (plain, metric), cell in zip(fields, cells, strict=True):
        if cell in _GONE:
            values[q.REQUIRES_RESET] = 1.0
        elif plain == _MASK and cell.startswith("0x"):
            values |= _reasons(cell)
        elif plain == "pstate" and cell[1:].isdecimal() and cell.isascii():
            values["pstate"] = float(cell[1:])
        elif metric is not None and (said := q.quantity(cell)) is not None:
            values[metric] = said.value
    return values


def _reasons(mask: str) -> dict[str, float]:
    try:
        bits = int(mask, 16)
    except ValueError:
        return {}
    return {q.THROTTLE + reason: float(bool(bits & bit)) for bit, reason in q.THROTTLE_BITS.items()}


def _gpu(named: Mapping[str, str]) -> str | None:
    """What tells the GPU of a row from its neighbours."""
    for field in ("index", "pci.bus_id", "uuid"):
        said = named.get(field, "")
        if said and not said.startswith("["):
            return q.bus_id(said) or said
    return None


def _plain(name: str) -> str:
    """A field's name without its unit; the newer of two names that it has had."""
    found = _NAME.fullmatch(name)
    return (found[1] if found else name).replace("clocks_throttle_reasons", "clocks_event_reasons")


def _by_place(cells: Sequence[str]) -> list[str]:
    """Names for the columns of a table without a header."""
    names = ["timestamp"]
    for place, cell in enumerate(cells[1:], start=2):
        said = q.quantity(cell)
        if place == 2 and cell.isdecimal() and len(cell) < 4:
            names.append("index")
        elif q.bus_id(cell) and "pci.bus_id" not in names:
            names.append("pci.bus_id")
        elif _UUID.fullmatch(cell) and "uuid" not in names:
            names.append("uuid")
        else:
            names.append(f"nvidia-smi column {place}" + (f" [{said.unit}]" if said and said.unit else ""))
    return names


def _is_header(line: bytes) -> bool:
    names = [name.strip() for name in line.lstrip(b"\xef\xbb\xbf").split(b",")]
    return (
        len(names) > 1
        and len(_STRONG.findall(line)) >= 1
        and all(_NAME.fullmatch(name.decode("utf-8", "replace")) for name in names)
    )


def _rows_alone(lines: Sequence[bytes]) -> bool:
    """Whether the first lines are rows without a header."""
    whole = [line for line in lines[:-1] if line.strip()]
    return bool(whole) and all(_STAMP.match(line) and line.count(b", ") > 1 for line in whole)


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return [line]
