"""Tables for people that are saved none the less: `nvidia-smi dmon` and what `rocm-smi` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import row_at

_DMON = {
    "pwr": q.POWER,
    "gtemp": q.TEMPERATURE,
    "temp": q.TEMPERATURE,
    "mtemp": q.MEMORY_TEMPERATURE,
    "sm": q.UTIL,
    "mem": q.MEMORY_UTIL,
    "mclk": q.MEMORY_CLOCK,
    "pclk": q.SM_CLOCK,
    "fb": q.MEMORY_USED,
    "sbecc": q.ECC_CORRECTED,
    "dbecc": q.ECC_UNCORRECTED,
    "rxpci": "pcie_received (MB/s)",
    "txpci": "pcie_sent (MB/s)",
    "pviol": "power_violations (%)",
    "tviol": "thermal_violations",
    "pci": "pcie_replays",
}
_HEADER = re.compile(r"#\s*(?:Date\s+Time\s+)?gpu\s+(?!.*\bpid\b)[a-z0-9 ]*\b(?:pwr|sm|mclk|fb)\b[\sa-z0-9]*")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d) (\d\d:\d\d:\d\d)")
_BANNER = re.compile(rb"=+ ?ROCm System Management Interface ?=+|=+ ?Concise Info ?=+")
_ROCM_ROW = re.compile(r"\s*(\d{1,4})\s+(?:\d+\s+0x[0-9a-f]+,|\S*\d\S*[cC]\b|N/A|\d)")
_TEMPERATURE, _POWER = re.compile(r"(\d+(?:\.\d+)?)\s?°?[cC]\b"), re.compile(r"(\d+(?:\.\d+)?)\s?W\b")
_CLOCK, _PERCENTS = re.compile(r"(\d+)\s?[MG][hH]z"), re.compile(r"(\d+)%\s+(\d+)%\s*$")


class NvidiaDmon:
    """`nvidia-smi dmon`, with `-o DT` for its clock; without one its rows are counted."""

    name: ClassVar[str] = "nvidia-smi-dmon"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Its header among the first lines."""
        lines = head[:8192].split(b"\n")[:20]
        return b"\0" not in head and any(
            _HEADER.fullmatch(line.decode("utf-8", "replace").strip()) for line in lines
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> DmonReader:
        """A reader that goes on from `state`."""
        return DmonReader(path, {} if "rewritten" in state else state)


class DmonReader(LineReader):
    """Reads one growing text of dmon's."""

    expected = "a row of nvidia-smi dmon"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)
        self._names: list[str] = state.get("header", [])

    def own_state(self) -> Mapping[str, Any]:
        """The names of the columns."""
        return {"header": self._names}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU; its header is repeated from time to time."""
        if line.startswith("#"):
            if _HEADER.fullmatch(line.strip()):
                self._names = line.lstrip("# ").split()
            return
        cells = line.split()
        if not cells:
            return
        if len(cells) != len(self._names):
            self.blame(f"expected a row of {len(self._names)} cells, found {line[:80]!r}")
            return
        named = dict(zip((name.lower() for name in self._names), cells, strict=True))
        labels = {**self._whose, "gpu": named["gpu"]}
        values = {
            _DMON.get(name, f"dmon {name}"): said.value
            for name, cell in named.items()
            if name not in ("gpu", "date", "time") and (said := q.quantity(cell)) is not None
        }
        day = _DAY.fullmatch(f"{named.get('date', '')} {named.get('time', '')}")
        moment = float("nan") if day is None else self.clock.read(f"{day[1]}-{day[2]}-{day[3]} {day[4]}")
        row = row_at(moment, values, **labels) or self.counted.row(values, **labels)
        if row is not None and values:
            yield row


class RocmSmi:
    """The table that rocm-smi prints for people, old and new, again and again.

    Its time is that of a line with a date before it; without one, tables are counted.
    """

    name: ClassVar[str] = "rocm-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Its banner."""
        return b"\0" not in head and _BANNER.search(head) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> RocmReader:
        """A reader that goes on from `state`."""
        return RocmReader(path, {} if "rewritten" in state else state)


class RocmReader(LineReader):
    """Reads one growing text of rocm-smi's."""

    expected = "a row of rocm-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)
        self._moment: float = state.get("moment", float("nan"))

    def own_state(self) -> Mapping[str, Any]:
        """The last moment that stood between the tables."""
        return {} if self._moment != self._moment else {"moment": self._moment}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU, by the units of its cells: columns have moved from release to release."""
        found = _ROCM_ROW.match(line)
        if found is None:
            moment = self.clock.read(line[:100])
            self._moment = moment if moment == moment else self._moment
            return
        values: dict[str, float] = {}
        heat, power, clocks = _TEMPERATURE.search(line), _POWER.findall(line), _CLOCK.findall(line)
        percents = _PERCENTS.search(line)
        if heat is not None:
            values[q.TEMPERATURE] = float(heat[1])
        if power and not (len(power) == 1 and "N/A" in line):  # the cap alone: a GCD without a sensor
            values[q.POWER] = float(power[0])
        if len(clocks) > 1:
            values[q.SM_CLOCK], values[q.MEMORY_CLOCK] = float(clocks[0]), float(clocks[1])
        if percents is not None:
            values["gpu_memory_used (%)"], values[q.UTIL] = float(percents[1]), float(percents[2])
        if values:
            labels = {**self._whose, "gpu": found[1]}
            row = row_at(self._moment, values, **labels) or self.counted.row(values, **labels)
            if row is not None:
                yield row
