"""Output of `nvidia-smi --query-gpu=... --format=csv -l 5`: at each time a row for each GPU."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as metrics
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import clock_row

_FIELDS = {
    "utilization.gpu": metrics.UTIL,
    "utilization.memory": metrics.MEMORY_UTIL,
    "memory.used": metrics.MEMORY_USED,
    "memory.total": metrics.MEMORY_TOTAL,
    "power.draw": metrics.POWER,
    "power.draw.average": "gpu_power_average (W)",
    "power.draw.instant": "gpu_power_instant (W)",
    "power.limit": metrics.POWER_LIMIT,
    "temperature.gpu": metrics.TEMPERATURE,
    "temperature.memory": metrics.MEMORY_TEMPERATURE,
    "clocks.sm": metrics.SM_CLOCK,
    "clocks.current.sm": metrics.SM_CLOCK,
    "clocks.mem": metrics.MEMORY_CLOCK,
    "clocks.current.memory": metrics.MEMORY_CLOCK,
    "ecc.errors.corrected.volatile.total": metrics.ECC_CORRECTED,
    "ecc.errors.uncorrected.volatile.total": metrics.ECC_UNCORRECTED,
    "remapped_rows.failure": metrics.ROW_REMAP_FAILURE,
    "remapped_rows.pending": metrics.ROW_REMAP_PENDING,
    **{
        f"clocks_event_reasons.{reason}": metrics.THROTTLE + reason
        for reason in metrics.THROTTLE_BITS.values()
    },
}
_SETTINGS = {"name": "gpu.name", "driver_version": "gpu.driver", "pci.bus_id": "gpu.pci_bus_id"}
_REASON_MASK = "clocks_event_reasons.active"
_ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial"}
# fields that identify the device or never change
_NOT_MEASURED = re.compile(
    r"timestamp|index|count|serial|uuid|name|pci\..*|driver.*|vbios.*|inforom.*|compute_cap|module_id|board_id"
    r"|.*\.(default_limit|min_limit|max_limit|max|gpumax|hostmax|supported|capability.*)|clocks\.max\..*|platform\..*"
    r"|accounting\..*|vgpu.*|fabric\..*|gsp\..*|.*\.(pending|current)_mode|protected_memory\..*"
)
_NAME = re.compile(r"([a-z][a-zA-Z0-9_.]*)(?: \[([^\]]{1,16})\])?")
_TYPICAL_FIELD = re.compile(
    rb"(?:utilization|memory|power|temperature|clocks|ecc|pci|remapped_rows|fan)[._a-zA-Z]{0,40}\.[a-z_]{1,40}"
    rb"(?: \[|\s{0,20}(?:,|$))"
)
_TIMESTAMP_BYTES = re.compile(rb"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{3})?")
_UNIX_SECONDS = re.compile(r"\d{10}(?:\.\d{1,9})?")
_TIMESTAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{3})?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f-]{36}(?:/\d+/\d+)?")
_LOST_GPU = ("[GPU requires reset]", "[GPU is lost]", "[Reset required]")


class NvidiaSmi:
    """A table with nvidia-smi's fields; its header may be missing, or be repeated.

    Times are local, without a zone. A row's GPU is identified by its index, else bus address, else UUID.
    """

    name: ClassVar[str] = "nvidia-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of nvidia-smi's fields among the first lines, or rows that begin with its timestamp."""
        if b"\0" in head:
            return False
        lines = head[:8192].split(b"\n")[:20]
        return any(_is_header(line) for line in lines) or _are_rows(lines)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> NvidiaSmiReader:
        """A reader that resumes from `state`."""
        return NvidiaSmiReader(path, {} if "rewritten" in state else state)


class NvidiaSmiReader(LineReader):
    """Reads one table that is being written."""

    expected = "a row of nvidia-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)
        self._header: list[str] | None = state.get("header")
        self._time: float = state.get("moment", math.nan)

    def own_state(self) -> Mapping[str, Any]:
        """The header, and the last time between the tables."""
        time = {} if math.isnan(self._time) else {"moment": self._time}
        return {"header": self._header, **time}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU. A header or a time has no row, and holds for the rows below it."""
        if not line or line.isspace():
            return
        if _is_header(line.encode("utf-8", "replace")):
            self._header = [
                _ALIASES.get(name.strip(), name.strip()) for name in line.lstrip("\ufeff").split(",")
            ]
            return
        cells = _cells(line)
        if self._header is None and _TIMESTAMP.fullmatch(cells[0]):
            self._header = _names_by_position(cells)
            self.report("expected a header; columns are named by their positions: log with --format=csv")
        if self._header is None or len(cells) != len(self._header):
            time = self.timestamps.parse(line) if len(line) < 100 else math.nan
            if not math.isnan(time):
                self._time = time
            else:
                found = f"{len(cells)} cells" if self._header else line[:80]
                self.report(f"expected a row of {len(self._header or ()) or 'named'} cells, found {found}")
            return
        names = [field.name for field in _fields(tuple(self._header))]
        row = self._row(cells, dict(zip(names, cells, strict=True)))
        if row is not None:
            yield row

    def _row(self, cells: Sequence[str], by_name: Mapping[str, str]) -> LogRow | None:
        gpu = _gpu(by_name)
        labels = {**self._path_labels, **({} if gpu is None else {"gpu": gpu})}
        for field, setting in _SETTINGS.items():
            text = by_name.get(field, "")
            if text and not text.startswith("["):
                value = metrics.normalize_bus_id(text) or text[:200]
                self.add_setting(metrics.device_setting(setting, labels), value)
        values = _values(_fields(tuple(self._header or ())), cells)
        timestamp = by_name.get("timestamp")
        time = self._time if timestamp is None else _unix_seconds(timestamp)
        time = self.timestamps.parse(timestamp) if timestamp is not None and math.isnan(time) else time
        row = clock_row(time, values, **labels)
        if row is None and timestamp is not None:
            self.report(f"expected a time such as 2024/09/08 13:03:31.000, found {timestamp[:40]!r}")
            return None
        return self.samples.row(values, **labels) if row is None else row


class _SmiField(NamedTuple):
    """A column: its name without unit, and Holter's name of the metric; None if it measures nothing."""

    name: str
    metric: str | None


@lru_cache(maxsize=64)  # every row of a file has the same header
def _fields(header: tuple[str, ...]) -> tuple[_SmiField, ...]:
    names = [(name, _without_unit(name)) for name in header]
    return tuple(
        _SmiField(plain, None if _NOT_MEASURED.fullmatch(plain) else _FIELDS.get(plain, name))
        for name, plain in names
    )


def _unix_seconds(text: str) -> float:
    """A time in Unix seconds, as scripts around nvidia-smi write it; NaN for other times."""
    return float(text) if _UNIX_SECONDS.fullmatch(text) else math.nan


def _values(fields: Sequence[_SmiField], cells: Sequence[str]) -> dict[str, float]:
    """The values of a row's cells by metric."""
    values: dict[str, float] = {}
    for (name, metric), cell in zip(fields, cells, strict=True):
        if cell in _LOST_GPU:
            values[metrics.REQUIRES_RESET] = 1.0
        elif name == _REASON_MASK and cell.startswith("0x"):
            values |= _reasons(cell)
        elif name == "pstate" and cell[1:].isdecimal() and cell.isascii():
            values["pstate"] = float(cell[1:])
        elif metric is not None and (quantity := metrics.parse_quantity(cell)) is not None:
            values[metric] = quantity.value
    return values


def _reasons(mask: str) -> dict[str, float]:
    try:
        bits = int(mask, 16)
    except ValueError:
        return {}
    return {
        metrics.THROTTLE + reason: float(bool(bits & bit)) for bit, reason in metrics.THROTTLE_BITS.items()
    }


def _gpu(by_name: Mapping[str, str]) -> str | None:
    """The identifier of a row's GPU; None if the row has none."""
    for field in ("index", "pci.bus_id", "uuid"):
        text = by_name.get(field, "")
        if text and not text.startswith("["):
            return metrics.normalize_bus_id(text) or text
    return None


def _without_unit(name: str) -> str:
    """A field's name without its unit; the newer name of the two that throttle reasons have had."""
    match = _NAME.fullmatch(name)
    return (match[1] if match else name).replace("clocks_throttle_reasons", "clocks_event_reasons")


def _names_by_position(cells: Sequence[str]) -> list[str]:
    """Names for the columns of a table without a header."""
    names = ["timestamp"]
    for position, cell in enumerate(cells[1:], start=2):
        quantity = metrics.parse_quantity(cell)
        if position == 2 and cell.isdecimal() and len(cell) < 4:
            names.append("index")
        elif metrics.normalize_bus_id(cell) and "pci.bus_id" not in names:
            names.append("pci.bus_id")
        elif _UUID.fullmatch(cell) and "uuid" not in names:
            names.append("uuid")
        else:
            unit = f" [{quantity.unit}]" if quantity and quantity.unit else ""
            names.append(f"nvidia-smi column {position}{unit}")
    return names


def _is_header(line: bytes) -> bool:
    names = [name.strip() for name in line.lstrip(b"\xef\xbb\xbf").split(b",")]
    return (
        len(names) > 1
        and len(_TYPICAL_FIELD.findall(line)) >= 1
        and all(_NAME.fullmatch(name.decode("utf-8", "replace")) for name in names)
    )


def _are_rows(lines: Sequence[bytes]) -> bool:
    """Whether the first lines are rows without a header."""
    complete = [line for line in lines[:-1] if line.strip()]
    return bool(complete) and all(_TIMESTAMP_BYTES.match(line) and line.count(b", ") > 1 for line in complete)


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return [line]
