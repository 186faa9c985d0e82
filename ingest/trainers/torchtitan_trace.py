"""torchtitan's structured logs: a file per rank and launch, an event per line; time spans and numbers.

Source: pytorch/torchtitan, torchtitan/observability/structured_logger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.json_objects import json_number, read_object
from holter.ingest.jsonl import JsonLinesReader
from holter.ingest.names import storable_label
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import read_step
from holter.types import Batch, Unreadable, labels_of

_KEYS = frozenset({"log_type", "log_type_name", "rank", "time_us"})
_ENDING = "_end"
_NUMBER = "metric_value"
_NAMES = {"step": "step_time (ms)"}
_TRAINERS = frozenset({"training", "trainer"})
_MOST_SPANS = 4096


class TorchtitanTrace:
    """By rank: the time of every kind of span as `NAME_time (ms)`, and numbers by their names.

    A span that occurs several times in a step (`fwd_bwd` of each micro-batch) gives the sum so far, of which
    the last one remains. Events without a number, and those before the first step, are ignored.
    """

    name: ClassVar[str] = "torchtitan-trace"
    role: ClassVar[FormatRole] = FormatRole(content=Content.SUPPLEMENT)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A first line that is an object with torchtitan's keys."""
        line, end, _ = head.partition(b"\n")
        if not end or not line.startswith(b"{"):
            return False
        try:
            return read_object(line).keys() >= _KEYS
        except ValueError:
            return False

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> TorchtitanReader:
        """A reader that resumes from `state`."""
        return TorchtitanReader({} if "rewritten" in state else state)


class TorchtitanReader:
    """Reads the events of one rank while they are written."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._lines = JsonLinesReader(state.get("lines", {}), self._row)
        self._step: int | None = state.get("at")
        self._sums: dict[str, float] = dict(state.get("sums", {}))

    def state(self) -> Mapping[str, Any]:
        """The state of the lines, and the sums of the current step."""
        return {"lines": self._lines.state(), "at": self._step, "sums": dict(self._sums)}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the events of the complete lines; see `Reader`."""
        yield from self._lines.read(stream)

    def _row(self, event: Mapping[str, Any]) -> LogRow | None:
        kind, value = event.get("log_type_name"), json_number(event.get("value"))
        nothing = LogRow(0, float("nan"), {})
        if not isinstance(kind, str) or value is None or event.get("step") is None:
            return nothing
        step = read_step(event["step"])
        if kind == _NUMBER:
            metric = str(event.get("event_name") or _NUMBER)
        elif kind.endswith(_ENDING):
            name = kind.removesuffix(_ENDING)
            metric = _NAMES.get(name, f"{name}_time (ms)")
            value = self._sum(step, metric, value)
        else:
            return nothing
        labels = {"rank": storable_label(str(event.get("rank")))}
        if isinstance(source := event.get("source"), str) and source not in _TRAINERS:
            labels["source"] = storable_label(source)
        time = json_number(event.get("time_us"))
        moment = float("nan") if time is None else time / 1e6
        return LogRow(step, moment, {metric: value}, labels_of(labels))

    def _sum(self, step: int, metric: str, value: float) -> float:
        if step != self._step:
            self._step, self._sums = step, {}
        if metric in self._sums or len(self._sums) < _MOST_SPANS:
            self._sums[metric] = value = self._sums.get(metric, 0.0) + value
        return value
