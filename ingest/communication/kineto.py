"""Traces of PyTorch's profiler (Kineto): NCCL's kernels, their bandwidth, how much computing hides them.

What a trace of PyTorch's profiler says before its events: whose it is, when it began, on what hardware.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar, NamedTuple

import ijson
import numpy as np

from holter.bus_bandwidth import bus_bandwidth
from holter.ingest.communication.labels import BYTES, DTYPE_BYTES, is_step, series_labels
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.step_columns import EARLIEST_CLOCK
from holter.plurals import counted
from holter.types import NO_CONFIG, Batch, Config, ConfigKey, ConfigValue, FloatArray, Unreadable

_INFO = rb'"distributedInfo":\s*\{[^{}]{0,2000}?'
_RANK = re.compile(_INFO + rb'"rank":\s*(\d{1,7})')
_WORLD = re.compile(_INFO + rb'"world_size":\s*(\d{1,7})')
_DEVICE = re.compile(rb'"id":\s*\d{1,4},\s*"name":\s*"([^"\\]{1,100})",\s*"totalGlobalMem"')
_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d{1,19})')


class Head(NamedTuple):
    """A trace's rank, None where it tells none; what its times count from, in nanoseconds; its hardware."""

    rank: str | None
    base: float
    config: Config


def head_of(head: bytes) -> Head:
    """What the first bytes of a trace say."""
    rank, base = _RANK.search(head), _BASE.search(head)
    return Head(
        rank=rank[1].decode() if rank else None,
        base=float(base[1]) if base else 0.0,
        config=_hardware(head),
    )


def _hardware(head: bytes) -> Config:
    """The GPU; and that the job is on one node, where it has no more ranks than the process sees GPUs."""
    names, world = _DEVICE.findall(head), _WORLD.search(head)
    found: dict[ConfigKey, ConfigValue] = {}
    if names:
        found[ConfigKey("gpu.name")] = names[0].decode("utf-8", "replace")
        if world is not None and int(world[1]) <= len(names):
            found[ConfigKey("nccl.nodes")] = 1
    return found


_KERNEL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel_?([A-Za-z]+)", re.IGNORECASE)
_HEAD = 64 * 1024
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_MAX_DEPTH = 64
_LARGEST_EVENT = 4 * 1024 * 1024
_MAX_KERNELS = 1_000_000
_MAX_SIZES = 4096


class KinetoTrace:
    """By collective, group and bytes: mean and shortest time of the kernels and their bus bandwidth.

    The shortest waited least for others. For the whole trace: time in collectives, in other kernels,
    and in collectives while no other kernel ran. A file counts once it is whole.
    """

    name: ClassVar[str] = "kineto"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """An object with the trace's events."""
        return head.lstrip()[:1] == b"{" and b'"traceEvents"' in head

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> KinetoReader:
        """A reader that resumes from `state`."""
        return KinetoReader({} if "rewritten" in state else state)


class KinetoReader:
    """Reads one trace, all of it at once, event by event."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """What has still to be told."""
        return self._problems.state()

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what a whole trace says; see `Reader`."""
        yield from self._problems.drain()
        if stream.tell() == 0:
            found = _whole(stream)
            if found is None:  # not all of it is there
                stream.seek(0)
                return
            rows = list(found.rows())
            if found.left_out:
                self._problems.add(
                    "events", f"{counted(found.left_out, 'kernel')} beyond {_MAX_KERNELS:,} left out"
                )
            stream.seek(0, 2)
            if rows:
                yield batch_from_rows(rows, config=found.config)
        stream.seek(0, 2)
        yield from self._problems.drain()


class _Kind(NamedTuple):
    """Kernels that are alike; `size` is None where the trace does not tell it."""

    collective: str
    group: str
    ranks: int
    size: int | None


@dataclass(slots=True)
class _Found:
    """What a trace holds, in microseconds."""

    rank: str | None
    base: float
    first: float = float("inf")
    origin: float | None = None  # what the spans count from, so that they keep their digits
    calls: dict[_Kind, list[float]] = field(default_factory=dict)  # count, sum, shortest
    talking: array[float] = field(default_factory=lambda: array("d"))  # begin, end, begin, end ...
    computing: array[float] = field(default_factory=lambda: array("d"))
    left_out: int = 0
    config: Config = field(default_factory=lambda: NO_CONFIG)

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in a kernel. Raises KeyError, TypeError or ValueError for an event that is none."""
        begin, length = float(event["ts"]), float(event["dur"])
        if not (abs(begin) < 1e18 and 0 <= length < 1e15):
            raise ValueError("a time expected")
        named = _KERNEL.match(str(event["name"]))
        spans = self.talking if named else self.computing
        if len(spans) >= 2 * _MAX_KERNELS:
            self.left_out += 1
            return
        if self.origin is None:
            self.origin = begin
        self.first = min(self.first, begin)
        spans.extend((begin - self.origin, begin - self.origin + length))
        if named:
            kind = _kind(named[1], event.get("args", {}))
            if kind in self.calls or len(self.calls) < _MAX_SIZES:
                known = self.calls.setdefault(kind, [0.0, 0.0, float("inf")])
                known[:] = known[0] + 1, known[1] + length, min(known[2], length)

    def rows(self) -> Iterator[LogRow]:
        """What there is to say, if there are kernels at all."""
        seconds = self.base / 1e9 + self.first / 1e6
        time = seconds if EARLIEST_CLOCK <= seconds < 1e11 else float("nan")
        for kind, (count, total, shortest) in self.calls.items():
            if kind.size is not None:
                yield self._of_kind(kind, count, total, shortest, time)
        talking, computing = _covered(self.talking), _covered(self.computing)
        if talking or computing:
            values = {
                "communication_us": talking,
                "compute_us": computing,
                "exposed_communication_us": _covered(self.talking + self.computing) - computing,
            }
            yield LogRow(0, time, values, series_labels("whole trace", rank=self.rank))
        totals: dict[str, list[float]] = {}
        for kind, (count, total, _) in self.calls.items():
            of_all = totals.setdefault(kind.collective, [0.0, 0.0])
            of_all[:] = of_all[0] + count, of_all[1] + total
        for collective, (count, total) in totals.items():
            labels = series_labels("whole trace", rank=self.rank, collective=collective)
            yield LogRow(0, time, {"calls": count, "time_us": total}, labels)

    def _of_kind(self, kind: _Kind, count: float, total: float, shortest: float, time: float) -> LogRow:
        values = {"calls": count, "time_us": total / count, "shortest_time_us": shortest}
        if kind.ranks > 0 and shortest > 0 and kind.size:
            for name, time_us in (("busbw_gbs", total / count), ("best_busbw_gbs", shortest)):
                values[name] = bus_bandwidth(kind.collective, kind.size, time_us, kind.ranks)
        labels = series_labels(
            BYTES,
            rank=self.rank,
            collective=kind.collective,
            process_group=kind.group,
            ranks=kind.ranks or None,
        )
        return LogRow(kind.size or 0, time, values, labels)


class _Measured:
    """A stream that refuses to be read on and on without an event coming of it, or ever deeper into one.

    Parsers keep the way to where they are: of brackets alone, a few megabytes would fill the memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._text = b""  # a string whose end is not there yet
        self._depth = 0
        self.since_event = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.since_event += len(data)
        plain = _STRING.sub(b"", self._text + data)
        plain, quote, rest = plain.partition(b'"')
        self._text = quote + rest
        brackets = np.frombuffer(plain.translate(None, _NO_BRACKETS), dtype=np.uint8)
        depth = self._depth + np.cumsum(np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1))
        if self.since_event > _LARGEST_EVENT or depth.max(initial=0) > _MAX_DEPTH:
            raise ValueError(f"events of at most {_LARGEST_EVENT} bytes and {_MAX_DEPTH} levels expected")
        self._depth = int(depth[-1]) if len(depth) else self._depth
        return data


def _whole(stream: BinaryIO) -> _Found | None:
    """What a trace says, None while it is not whole, or where it is no trace after all."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 64))
    if not stream.read().rstrip().endswith(b"}"):
        return None
    stream.seek(0)
    head = head_of(stream.read(_HEAD))
    stream.seek(0)
    found = _Found(rank=head.rank, base=head.base, config=head.config)
    measured = _Measured(stream)
    try:
        for event in ijson.items(measured, "traceEvents.item", use_float=True):
            measured.since_event = 0
            if isinstance(event, dict) and str(event.get("cat")).lower() == "kernel":
                _add(found, event)
    except (ijson.JSONError, ValueError, OverflowError, RecursionError):
        return None
    return found


def _add(found: _Found, event: Mapping[str, Any]) -> None:
    try:
        found.add(event)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        found.left_out += 1


def _kind(named: str, said: Mapping[str, Any]) -> _Kind:
    """What a kernel does: as PyTorch calls it where it tells, as the kernel is called otherwise."""
    elements = max(int(said.get("In msg nelems", 0)), int(said.get("Out msg nelems", 0)))
    size = elements * DTYPE_BYTES.get(str(said.get("dtype")), 0)
    group, description = str(said.get("Process Group Name", ""))[:80], said.get("Process Group Description")
    return _Kind(
        collective=str(said.get("Collective name") or named)[:40],
        group=f"{group}({str(description)[:80]})" if description else group,
        ranks=int(said.get("Group size", 0)),
        size=size if size and is_step(size) else None,
    )


def _covered(spans: array[float]) -> float:
    """How long at least one of some spans lasts, given as begin, end, begin, end ..."""
    pairs: FloatArray = np.array(spans).reshape(-1, 2)
    if not len(pairs):
        return 0.0
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(pairs[:, 1])
    before = np.concatenate(([-np.inf], ends[:-1]))
    return float(np.maximum(ends - np.maximum(pairs[:, 0], before), 0.0).sum())
