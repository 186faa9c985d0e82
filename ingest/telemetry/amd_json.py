"""`rocm-smi --json` and `amd-smi metric --json`: documents, one below the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.json_objects import json_number
from holter.ingest.rows import LogRow
from holter.ingest.telemetry import gpu_metrics as q
from holter.ingest.telemetry.amd_names import gpu_of, measured
from holter.ingest.telemetry.json_stream import DocumentReader
from holter.ingest.telemetry.timestamped import row_at

_DEEPEST = 6
_TELL = re.compile(rb'"card\d+"\s*:\s*\{|"(?:gfx_activity|socket_power|power_usage|hotspot|used_vram)"\s*:')


class AmdJson:
    """Documents of AMD's tools, one a line or over many lines; nested fields are joined by `/`.

    Their time is their own (amd-smi that watches), else that of a line with a date before them; without
    one, documents are counted.
    """

    name: ClassVar[str] = "amd-smi-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A document of these tools among the first lines."""
        begins = any(line[:1] in (b"{", b"[") for line in head[:4096].split(b"\n"))
        return begins and b"\0" not in head and _TELL.search(head[:16384]) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> AmdJsonReader:
        """A reader that goes on from `state`."""
        return AmdJsonReader(path, {} if "rewritten" in state else state)


class AmdJsonReader(DocumentReader):
    """Reads one growing text of documents."""

    expected = "a document of amd-smi or rocm-smi"

    def __init__(self, path: PurePath, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._whose = q.host_of(path)

    def of_document(self, found: Any) -> Iterator[LogRow]:
        """A row for each device."""
        if isinstance(found, dict):
            devices = found.get("gpu_data", found.get("gpu_metrics"))
            if not isinstance(devices, list):
                devices = [{"gpu": name, **said} for name, said in found.items() if isinstance(said, dict)]
        else:
            devices = found
        for device in devices if isinstance(devices, list) else ():
            if isinstance(device, dict) and (row := self._row(device)) is not None:
                yield row

    def _row(self, device: Mapping[str, Any]) -> LogRow | None:
        gpu = gpu_of(str(device.get("gpu", "")))
        if gpu is None:
            return None
        labels = {**self._whose, "gpu": gpu}
        series = device.get("Card Series") or device.get("Card series")
        if isinstance(series, str) and series != "N/A":
            self.state_that(q.about("gpu.name", labels), series[:200])
        values: dict[str, float] = {}
        _collect(values, device, "", 0)
        stamp = json_number(device.get("timestamp"))
        row = row_at(self.moment if stamp is None else stamp, values, **labels)
        return self.counted.row(values, **labels) if row is None else row


def _collect(values: dict[str, float], found: Mapping[str, Any], before: str, depth: int) -> None:
    """The numbers within an object, by the path to them; amd-smi says {"value": 42, "unit": "W"}."""
    for name, said in found.items():
        path = before + name
        if isinstance(said, dict):
            if "value" in said:
                _put(values, path, said["value"], str(said.get("unit", "")))
            elif depth < _DEEPEST:
                _collect(values, said, path + "/", depth + 1)
        else:
            _put(values, path, said, "")


def _put(values: dict[str, float], path: str, said: object, unit: str) -> None:
    if isinstance(said, int | float | str) and not isinstance(said, bool):
        found = measured(path, str(said), unit)
        if found is not None:
            values[found.metric] = found.value
