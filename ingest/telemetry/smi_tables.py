"""Tables printed for people: `nvidia-smi dmon`, and `rocm-smi` without options."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as metrics
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import clock_row

_DMON = {
    "pwr": metrics.POWER,
    "gtemp": metrics.TEMPERATURE,
    "temp": metrics.TEMPERATURE,
    "mtemp": metrics.MEMORY_TEMPERATURE,
    "sm": metrics.UTIL,
    "mem": metrics.MEMORY_UTIL,
    "mclk": metrics.MEMORY_CLOCK,
    "pclk": metrics.SM_CLOCK,
    "fb": metrics.MEMORY_USED,
    "sbecc": metrics.ECC_CORRECTED,
    "dbecc": metrics.ECC_UNCORRECTED,
    "rxpci": "pcie_received (MB/s)",
    "txpci": "pcie_sent (MB/s)",
    "pviol": "power_violations (%)",
    "tviol": "thermal_violations",
    "pci": "pcie_replays",
}
_HEADER = re.compile(
    r"#\s*+(?:Date\s++Time\s++)?gpu\s++(?!.*\bpid\b)(?=[a-z0-9 ]*\b(?:pwr|sm|mclk|fb)\b)[\sa-z0-9]*+"
)
_DATE_TIME = re.compile(r"(\d{4})(\d\d)(\d\d) (\d\d:\d\d:\d\d)")
_BANNER = re.compile(rb"= ?ROCm System Management Interface ?=|= ?Concise Info ?=")
_ROCM_ROW = re.compile(r"\s*+(\d{1,4})\s++(?:\d++\s++0x[0-9a-f]++,|[^\s\d]*+\d\S*[cC]\b|N/A|\d)")
_TEMPERATURE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s?°?[cC]\b")
_POWER = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s?W\b")
_CLOCK = re.compile(r"(?<!\d)(\d++)\s?[MG][hH]z")
_PERCENTS = re.compile(r"(?<!\d)(\d++)%\s++(\d++)%\s*+$")


class NvidiaDmon:
    """`nvidia-smi dmon`, with times if run with `-o DT`; without times, rows are counted."""

    name: ClassVar[str] = "nvidia-smi-dmon"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Its header among the first lines."""
        lines = head[:8192].split(b"\n")[:20]
        return b"\0" not in head and any(
            _HEADER.fullmatch(line.decode("utf-8", "replace").strip()) for line in lines
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> NvidiaDmonReader:
        """A reader that resumes from `state`."""
        return NvidiaDmonReader(path, {} if "rewritten" in state else state)


class NvidiaDmonReader(LineReader):
    """Reads one output of dmon that is being written."""

    expected = "a row of nvidia-smi dmon"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)
        self._names: list[str] = state.get("header", [])

    def own_state(self) -> Mapping[str, Any]:
        """The names of the columns."""
        return {"header": self._names}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU; the header, which dmon repeats, has none."""
        if line.startswith("#"):
            if _HEADER.fullmatch(line.strip()):
                self._names = line.lstrip("# ").split()
            return
        cells = line.split()
        if not cells:
            return
        if len(cells) != len(self._names):
            self.report(f"expected a row of {len(self._names)} cells, found {line[:80]!r}")
            return
        fields = dict(zip((name.lower() for name in self._names), cells, strict=True))
        labels = {**self._path_labels, "gpu": fields["gpu"]}
        values = {
            _DMON.get(name, f"dmon {name}"): quantity.value
            for name, cell in fields.items()
            if name not in ("gpu", "date", "time") and (quantity := metrics.parse_quantity(cell)) is not None
        }
        date_time = _DATE_TIME.fullmatch(f"{fields.get('date', '')} {fields.get('time', '')}")
        time = (
            math.nan
            if date_time is None
            else self.timestamps.parse(f"{date_time[1]}-{date_time[2]}-{date_time[3]} {date_time[4]}")
        )
        row = clock_row(time, values, **labels) or self.samples.row(values, **labels)
        if row is not None and values:
            yield row


class RocmSmi:
    """Tables that rocm-smi prints without options, of old and new versions.

    The time of a table is that of a line with a date above it; without one, tables are counted.
    """

    name: ClassVar[str] = "rocm-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Its banner."""
        return b"\0" not in head and _BANNER.search(head) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> RocmSmiReader:
        """A reader that resumes from `state`."""
        return RocmSmiReader(path, {} if "rewritten" in state else state)


class RocmSmiReader(LineReader):
    """Reads one output of rocm-smi that is being written."""

    expected = "a row of rocm-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._path_labels = metrics.labels_from_path(path)
        self._time: float = state.get("moment", math.nan)

    def own_state(self) -> Mapping[str, Any]:
        """The last time between the tables."""
        return {} if math.isnan(self._time) else {"moment": self._time}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU. Cells are identified by their units, since columns differ between releases."""
        match = _ROCM_ROW.match(line)
        if match is None:
            time = self.timestamps.parse(line[:100])
            self._time = self._time if math.isnan(time) else time
            return
        values: dict[str, float] = {}
        temperature, powers, clocks = _TEMPERATURE.search(line), _POWER.findall(line), _CLOCK.findall(line)
        percents = _PERCENTS.search(line)
        if temperature is not None:
            values[metrics.TEMPERATURE] = float(temperature[1])
        if powers and not (len(powers) == 1 and "N/A" in line):  # only the cap: a GCD without a sensor
            values[metrics.POWER] = float(powers[0])
        if len(clocks) > 1:
            values[metrics.SM_CLOCK], values[metrics.MEMORY_CLOCK] = float(clocks[0]), float(clocks[1])
        if percents is not None:
            values["gpu_memory_used (%)"], values[metrics.UTIL] = float(percents[1]), float(percents[2])
        if values:
            labels = {**self._path_labels, "gpu": match[1]}
            row = clock_row(self._time, values, **labels) or self.samples.row(values, **labels)
            if row is not None:
                yield row
