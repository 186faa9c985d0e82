"""Output of AMD's amd-smi and rocm-smi: `amd-smi metric --csv -w 5`, `rocm-smi --json` and the like."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

from holter.ingest.format import Content, FormatRole
from holter.ingest.json_objects import json_number
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as metrics
from holter.ingest.telemetry.line_reader import JsonDocumentReader, LineReader
from holter.ingest.telemetry.timestamped import clock_row

_METRIC_PATTERNS = (
    (r"gpu use \(%\)|(usage/)?gfx_activity|gfx|gfx_util", metrics.UTIL),
    (r"gpu memory read/write activity \(%\)|(usage/)?umc_activity|mem_util", metrics.MEMORY_UTIL),
    (
        r"(average|current socket) graphics package power \(w\)|(power/)?socket_power|power_usage",
        metrics.POWER,
    ),
    (
        r"temperature \(sensor junction\) \(c\)|(temperature/)?hotspot|hotspot_temperature",
        metrics.TEMPERATURE,
    ),
    (r"temperature \(sensor edge\) \(c\)|(temperature/)?edge", "gpu_edge_temperature (C)"),
    (
        r"temperature \(sensor memory\) \(c\)|temperature/mem|mem|memory_temperature",
        metrics.MEMORY_TEMPERATURE,
    ),
    (r"sclk clock speed:?|clock/gfx_0/clk|gfx_0_clk|gfx_clk", metrics.SM_CLOCK),
    (r"mclk clock speed:?|clock/mem_0/clk|mem_0_clk|mem_clk|mem_clock", metrics.MEMORY_CLOCK),
    (r"vram total used memory \(b\)|(mem_usage/)?used_vram|vram_used", metrics.MEMORY_USED),
    (r"vram total memory \(b\)|(mem_usage/)?total_vram|vram_total", metrics.MEMORY_TOTAL),
    (r"gpu memory allocated \(vram%\)|gpu memory use \(%\)", "gpu_memory_used (%)"),
    (r"(ecc/)?(total_)?correctable_count|single_bit_ecc", metrics.ECC_CORRECTED),
    (r"(ecc/)?(total_)?uncorrectable_count|double_bit_ecc", metrics.ECC_UNCORRECTED),
)
_METRICS = tuple((re.compile(pattern), name) for pattern, name in _METRIC_PATTERNS)
_NOT_MEASURED = re.compile(
    r"gpu|device|xcp|timestamp|card (series|model|vendor|sku)|device (name|id|rev)|subsystem id"
    r"|guid|unique id|serial.*"
    r"|pci.*bus.*|bdf|uuid|gfx version|node id|.*(min|max)_clk|.*clk_locked|.*deep_sleep"
    r"|.*clk clock level:?"
)
_CSV_COLUMNS = frozenset(
    {
        "gfx_activity",
        "socket_power",
        "power_usage",
        "gfx_clk",
        "hotspot",
        "hotspot_temperature",
        "umc_activity",
        "gfx",
    }
)
_SETTINGS = {
    "card series": "gpu.name",
    "card model": "gpu.name",
    "pci bus": "gpu.pci_bus_id",
    "bdf": "gpu.pci_bus_id",
}
_MAX_DEPTH = 6
_JSON_FIELDS = re.compile(
    rb'"card\d+"\s*:\s*\{|"(?:gfx_activity|socket_power|power_usage|hotspot|used_vram)"\s*:'
)
_BYTES_PER_MIB = 2.0**20


class AmdCsv:
    """CSV tables of AMD's tools, a row for each GPU; a file may have several tables.

    Tables of `amd-smi -w` have a column of times. Without one, the time is that of a line with a date above
    the table; without that, rows are counted.
    """

    name: ClassVar[str] = "amd-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of these tools among the first lines."""
        return b"\0" not in head and any(
            _header(line.decode("utf-8", "replace")) for line in head[:16384].split(b"\n")[:40]
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> AmdCsvReader:
        """A reader that resumes from `state`."""
        return AmdCsvReader(path, {} if "rewritten" in state else state)


class AmdCsvReader(LineReader):
    """Reads one text of tables that is being written."""

    expected = "a row of amd-smi's or rocm-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)
        self._names: list[str] = state.get("header", [])
        self._time: float = state.get("moment", math.nan)

    def own_state(self) -> Mapping[str, Any]:
        """The header, and the last time between the tables."""
        time = {} if math.isnan(self._time) else {"moment": self._time}
        return {"header": self._names, **time}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU. A header or a time has no row, and holds for the rows below it."""
        if not line or line.isspace() or line.startswith(("WARNING", "=")):
            return
        if (names := _header(line)) is not None:
            self._names = names
            return
        cells = _cells(line)
        if not self._names or len(cells) != len(self._names):
            time = self.timestamps.parse(line) if len(line) < 100 else math.nan
            if not math.isnan(time):
                self._time = time
            else:
                self.report(f"expected a row of {len(self._names) or 'named'} cells, found {line[:80]!r}")
            return
        row = self._row(dict(zip(self._names, cells, strict=True)))
        if row is not None:
            yield row

    def _row(self, fields: Mapping[str, str]) -> LogRow | None:
        gpu = gpu_number(fields.get("gpu", fields.get("device", "")))
        if gpu is None:
            return None  # rocm-smi ends its tables with a row "system"
        labels = {**self._path_labels, "gpu": gpu}
        if fields.get("xcp", "0").strip() not in ("0", "", "N/A"):
            labels["partition"] = fields["xcp"]
        values: dict[str, float] = {}
        for name, cell in fields.items():
            setting = _SETTINGS.get(name.lower())
            if setting is not None and cell and cell != "N/A":
                self.add_setting(
                    metrics.device_setting(setting, labels), metrics.normalize_bus_id(cell) or cell[:200]
                )
            elif (field := parse_field(name, cell)) is not None:
                values[field.metric] = field.value
        stamp = fields.get("timestamp", "")
        time = float(stamp) if stamp.isdecimal() and len(stamp) < 13 else self.timestamps.parse(stamp)
        row = clock_row(self._time if math.isnan(time) else time, values, **labels)
        return self.samples.row(values, **labels) if row is None else row


class AmdJson:
    """JSON documents of AMD's tools, each on one line or several; names of nested fields are joined by `/`.

    The time is that of the document (`amd-smi -w`), else that of a line with a date above it; without that,
    documents are counted.
    """

    name: ClassVar[str] = "amd-smi-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A document of these tools among the first lines."""
        begins = any(line[:1] in (b"{", b"[") for line in head[:4096].split(b"\n"))
        return begins and b"\0" not in head and _JSON_FIELDS.search(head[:16384]) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> AmdJsonReader:
        """A reader that resumes from `state`."""
        return AmdJsonReader(path, {} if "rewritten" in state else state)


class AmdJsonReader(JsonDocumentReader):
    """Reads one text of documents that is being written."""

    expected = "a document of amd-smi or rocm-smi"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)

    def document_rows(self, document: Any) -> Iterator[LogRow]:
        """A row for each device."""
        if isinstance(document, dict):
            devices = document.get("gpu_data", document.get("gpu_metrics"))
            if not isinstance(devices, list):
                devices = [
                    {"gpu": name, **fields} for name, fields in document.items() if isinstance(fields, dict)
                ]
        else:
            devices = document
        for device in devices if isinstance(devices, list) else ():
            if isinstance(device, dict) and (row := self._row(device)) is not None:
                yield row

    def _row(self, device: Mapping[str, Any]) -> LogRow | None:
        gpu = gpu_number(str(device.get("gpu", "")))
        if gpu is None:
            return None
        labels = {**self._path_labels, "gpu": gpu}
        series = device.get("Card Series") or device.get("Card series")
        if isinstance(series, str) and series != "N/A":
            self.add_setting(metrics.device_setting("gpu.name", labels), series[:200])
        values: dict[str, float] = {}
        _add_fields(values, device, "", 0)
        stamp = json_number(device.get("timestamp"))
        row = clock_row(self.time if stamp is None else stamp, values, **labels)
        return self.samples.row(values, **labels) if row is None else row


def _add_fields(values: dict[str, float], fields: Mapping[str, Any], prefix: str, depth: int) -> None:
    """Add the numbers of an object and those nested in it; amd-smi writes {"value": 42, "unit": "W"}."""
    for name, content in fields.items():
        path = prefix + name
        if isinstance(content, dict):
            if "value" in content:
                _add_field(values, path, content["value"], str(content.get("unit", "")))
            elif depth < _MAX_DEPTH:
                _add_fields(values, content, path + "/", depth + 1)
        else:
            _add_field(values, path, content, "")


def _add_field(values: dict[str, float], path: str, content: object, unit: str) -> None:
    if isinstance(content, int | float | str) and not isinstance(content, bool):
        field = parse_field(path, str(content), unit)
        if field is not None:
            values[field.metric] = field.value


def _header(line: str) -> list[str] | None:
    """The names of the columns if a line is a header of these tools, else None."""
    if not line.startswith(("device,", "timestamp,", "gpu,", "\ufeff")):
        return None
    names = [name.strip() for name in _cells(line.lstrip("\ufeff"))]
    plain = {name.lower() for name in names}
    amd = "gpu" in plain and bool(plain & _CSV_COLUMNS)
    rocm = names[:1] == ["device"] and any(
        "(" in name or "clock" in name or "Card" in name for name in names[1:]
    )
    return names if amd or rocm else None


def _cells(line: str) -> Sequence[str]:
    try:
        return next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return [line]


class AmdValue(NamedTuple):
    """A value and Holter's name of its metric."""

    metric: str
    value: float


def parse_field(name: str, cell: str, unit: str = "") -> AmdValue | None:
    """The metric and value of a field; None if it measures nothing or has no value."""
    metric = _metric(name)
    quantity = metrics.parse_quantity(cell.strip("()")) if metric is not None else None
    if metric is None or quantity is None:
        return None
    in_bytes = metric in (metrics.MEMORY_USED, metrics.MEMORY_TOTAL) and name.lower().endswith("(b)")
    return AmdValue(metric, quantity.value / _BYTES_PER_MIB if in_bytes or unit == "B" else quantity.value)


@lru_cache(maxsize=4096)
def _metric(name: str) -> str | None:
    plain = name.strip().lower()
    if _NOT_MEASURED.fullmatch(plain):
        return None
    return next((metric for pattern, metric in _METRICS if pattern.fullmatch(plain)), name.strip())


def gpu_number(cell: str) -> str | None:
    """The number of a device: "card3" is 3."""
    plain = cell.strip().lower().removeprefix("card").removeprefix("gpu")
    return plain if plain.isdecimal() and plain.isascii() and len(plain) < 6 else None
