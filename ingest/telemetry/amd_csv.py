"""`amd-smi metric --csv -w 5` and `rocm-smi --csv`: a row for each GPU and moment."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.amd_names import gpu_of, measured
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import row_at

_WORDS = frozenset(
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
_STATED = {
    "card series": "gpu.name",
    "card model": "gpu.name",
    "pci bus": "gpu.pci_bus_id",
    "bdf": "gpu.pci_bus_id",
}


class AmdTables:
    """Tables of AMD's tools, one or many in a file: amd-smi's have a clock when it watches.

    Where a table has none, the time is that of a line with a date before it; without one, rows are counted.
    """

    name: ClassVar[str] = "amd-smi"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of these tools among the first lines."""
        return b"\0" not in head and any(
            _header(line.decode("utf-8", "replace")) for line in head[:16384].split(b"\n")[:40]
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> AmdTablesReader:
        """A reader that goes on from `state`."""
        return AmdTablesReader(path, {} if "rewritten" in state else state)


class AmdTablesReader(LineReader):
    """Reads one growing text of tables."""

    expected = "a row of amd-smi's or rocm-smi's table"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)
        self._names: list[str] = state.get("header", [])
        self._moment: float = state.get("moment", float("nan"))

    def own_state(self) -> Mapping[str, Any]:
        """The header, and the last moment that stood between the tables."""
        moment = {} if self._moment != self._moment else {"moment": self._moment}
        return {"header": self._names, **moment}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The row of a GPU; a header, or a moment, for the rows below."""
        if not line or line.isspace() or line.startswith(("WARNING", "=")):
            return
        if (names := _header(line)) is not None:
            self._names = names
            return
        cells = _cells(line)
        if not self._names or len(cells) != len(self._names):
            moment = self.clock.read(line) if len(line) < 100 else float("nan")
            if moment == moment:
                self._moment = moment
            else:
                self.blame(f"expected a row of {len(self._names) or 'named'} cells, found {line[:80]!r}")
            return
        row = self._row(dict(zip(self._names, cells, strict=True)))
        if row is not None:
            yield row

    def _row(self, named: Mapping[str, str]) -> LogRow | None:
        gpu = gpu_of(named.get("gpu", named.get("device", "")))
        if gpu is None:
            return None  # rocm-smi ends its tables with a row "system"
        labels = {**self._whose, "gpu": gpu}
        if named.get("xcp", "0").strip() not in ("0", "", "N/A"):
            labels["partition"] = named["xcp"]
        values: dict[str, float] = {}
        for name, cell in named.items():
            setting = _STATED.get(name.lower())
            if setting is not None and cell and cell != "N/A":
                self.state_that(q.about(setting, labels), q.bus_id(cell) or cell[:200])
            elif (said := measured(name, cell)) is not None:
                values[said.metric] = said.value
        stamp = named.get("timestamp", "")
        moment = float(stamp) if stamp.isdecimal() and len(stamp) < 13 else self.clock.read(stamp)
        row = row_at(self._moment if moment != moment else moment, values, **labels)
        return self.counted.row(values, **labels) if row is None else row


def _header(line: str) -> list[str] | None:
    """The names of the columns, where a line is a header of these tools."""
    if not line.startswith(("device,", "timestamp,", "gpu,", "\ufeff")):
        return None
    names = [name.strip() for name in _cells(line.lstrip("\ufeff"))]
    plain = {name.lower() for name in names}
    amd = "gpu" in plain and bool(plain & _WORDS)
    rocm = names[0] == "device" and any(
        "(" in name or "clock" in name or "Card" in name for name in names[1:]
    )
    return names if amd or rocm else None


def _cells(line: str) -> Sequence[str]:
    try:
        return next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return [line]
