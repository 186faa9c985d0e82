"""Traces of PyTorch's profiler (Kineto): time and bandwidth of NCCL kernels, and overlap with compute."""

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

_DISTRIBUTED_INFO = rb'"distributedInfo":\s*\{[^{}]{0,2000}?'
_RANK = re.compile(_DISTRIBUTED_INFO + rb'"rank":\s*(\d{1,7})')
_WORLD = re.compile(_DISTRIBUTED_INFO + rb'"world_size":\s*(\d{1,7})')
_DEVICE_NAME = re.compile(rb'"id":\s*\d{1,4},\s*"name":\s*"([^"\\]{1,100})",\s*"totalGlobalMem"')
_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d{1,19})')
_KERNEL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel_?([A-Za-z]+)", re.IGNORECASE)
_HEADER_BYTES = 64 * 1024
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_MAX_DEPTH = 64
_MAX_EVENT_BYTES = 4 * 1024 * 1024
_MAX_KERNELS = 1_000_000
_MAX_GROUPS = 4096


class KinetoTrace:
    """By collective, process group and bytes: mean and shortest time of the kernels, and their bus bandwidth.

    The shortest kernel waited least for other ranks. For the complete trace: time in collectives, in other
    kernels, and in collectives while no other kernel ran. A file is read once it is complete.
    """

    name: ClassVar[str] = "kineto"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """An object with a key for the trace's events."""
        return head.lstrip()[:1] == b"{" and b'"traceEvents"' in head

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> KinetoReader:
        """A reader that resumes from `state`."""
        return KinetoReader({} if "rewritten" in state else state)


class KinetoReader:
    """Reads one trace when it is complete, event by event."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The problems not reported yet."""
        return self._problems.state()

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of a complete trace; see `Reader`."""
        yield from self._problems.drain()
        if stream.tell() == 0:
            summary = _summarize(stream)
            if summary is None:  # incomplete
                stream.seek(0)
                return
            rows = list(summary.rows())
            if summary.left_out:
                self._problems.add(
                    "events", f"{counted(summary.left_out, 'kernel')} beyond {_MAX_KERNELS:,} left out"
                )
            stream.seek(0, 2)
            if rows:
                yield batch_from_rows(rows, config=summary.config)
        stream.seek(0, 2)
        yield from self._problems.drain()


class _KernelGroup(NamedTuple):
    """Kernels of one collective, process group and size in bytes (None if the trace does not state it)."""

    collective: str
    process_group: str
    ranks: int
    size: int | None


@dataclass(slots=True)
class _TraceSummary:
    """The kernels of a trace; times are in microseconds, `base` in nanoseconds."""

    rank: str | None
    base: float
    first: float = float("inf")
    origin: float | None = None  # spans are relative to it, to keep their precision
    kernels: dict[_KernelGroup, list[float]] = field(default_factory=dict)  # count, sum, shortest
    communication: array[float] = field(default_factory=lambda: array("d"))  # begin, end, begin, end ...
    compute: array[float] = field(default_factory=lambda: array("d"))
    left_out: int = 0
    config: Config = field(default_factory=lambda: NO_CONFIG)

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the event of a kernel. Raises KeyError, TypeError or ValueError for other events."""
        begin, duration = float(event["ts"]), float(event["dur"])
        if not (abs(begin) < 1e18 and 0 <= duration < 1e15):
            raise ValueError("a time expected")
        nccl_kernel = _KERNEL.match(str(event["name"]))
        spans = self.communication if nccl_kernel else self.compute
        if len(spans) >= 2 * _MAX_KERNELS:
            self.left_out += 1
            return
        if self.origin is None:
            self.origin = begin
        self.first = min(self.first, begin)
        spans.extend((begin - self.origin, begin - self.origin + duration))
        if nccl_kernel:
            group = _kernel_group(nccl_kernel[1], event.get("args", {}))
            if group in self.kernels or len(self.kernels) < _MAX_GROUPS:
                totals = self.kernels.setdefault(group, [0.0, 0.0, float("inf")])
                totals[:] = totals[0] + 1, totals[1] + duration, min(totals[2], duration)

    def rows(self) -> Iterator[LogRow]:
        """The rows of the trace; none if it has no kernels."""
        seconds = self.base / 1e9 + self.first / 1e6
        time = seconds if EARLIEST_CLOCK <= seconds < 1e11 else float("nan")
        for group, (count, total, shortest) in self.kernels.items():
            if group.size is not None:
                yield self._group_row(group, count, total, shortest, time)
        communication, compute = _covered_time(self.communication), _covered_time(self.compute)
        if communication or compute:
            values = {
                "communication_us": communication,
                "compute_us": compute,
                "exposed_communication_us": _covered_time(self.communication + self.compute) - compute,
            }
            yield LogRow(0, time, values, series_labels("whole trace", rank=self.rank))
        totals: dict[str, list[float]] = {}
        for group, (count, total, _) in self.kernels.items():
            collective_total = totals.setdefault(group.collective, [0.0, 0.0])
            collective_total[:] = collective_total[0] + count, collective_total[1] + total
        for collective, (count, total) in totals.items():
            labels = series_labels("whole trace", rank=self.rank, collective=collective)
            yield LogRow(0, time, {"calls": count, "time_us": total}, labels)

    def _group_row(
        self, group: _KernelGroup, count: float, total: float, shortest: float, time: float
    ) -> LogRow:
        values = {"calls": count, "time_us": total / count, "shortest_time_us": shortest}
        if group.ranks > 0 and shortest > 0 and group.size:
            for name, time_us in (("busbw_gbs", total / count), ("best_busbw_gbs", shortest)):
                values[name] = bus_bandwidth(group.collective, group.size, time_us, group.ranks)
        labels = series_labels(
            BYTES,
            rank=self.rank,
            collective=group.collective,
            process_group=group.process_group,
            ranks=group.ranks or None,
        )
        return LogRow(group.size or 0, time, values, labels)


class _BoundedStream:
    """A stream that raises ValueError for an event of too many bytes or nested too deeply.

    The parser stores the path to its position, so that a few megabytes of brackets would fill the memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._open_string = b""  # a string whose end has not been read yet
        self._depth = 0
        self.since_event = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.since_event += len(data)
        plain = _STRING.sub(b"", self._open_string + data)
        plain, quote, rest = plain.partition(b'"')
        self._open_string = quote + rest
        brackets = np.frombuffer(plain.translate(None, _NOT_BRACKETS), dtype=np.uint8)
        depth = self._depth + np.cumsum(np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1))
        if self.since_event > _MAX_EVENT_BYTES or depth.max(initial=0) > _MAX_DEPTH:
            raise ValueError(f"events of at most {_MAX_EVENT_BYTES} bytes and {_MAX_DEPTH} levels expected")
        self._depth = int(depth[-1]) if len(depth) else self._depth
        return data


def _summarize(stream: BinaryIO) -> _TraceSummary | None:
    """The kernels of a trace; None while it is incomplete, or if it is no trace after all."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 64))
    if not stream.read().rstrip().endswith(b"}"):
        return None
    stream.seek(0)
    header = _parse_header(stream.read(_HEADER_BYTES))
    stream.seek(0)
    summary = _TraceSummary(rank=header.rank, base=header.base, config=header.config)
    bounded = _BoundedStream(stream)
    try:
        for event in ijson.items(bounded, "traceEvents.item", use_float=True):
            bounded.since_event = 0
            if isinstance(event, dict) and str(event.get("cat")).lower() == "kernel":
                _add(summary, event)
    except (ijson.JSONError, ValueError, OverflowError, RecursionError):
        return None
    return summary


def _add(summary: _TraceSummary, event: Mapping[str, Any]) -> None:
    try:
        summary.add(event)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        summary.left_out += 1


def _kernel_group(kernel: str, args: Mapping[str, Any]) -> _KernelGroup:
    """The group of a kernel; the collective is PyTorch's name for it, else that in the kernel's name."""
    elements = max(int(args.get("In msg nelems", 0)), int(args.get("Out msg nelems", 0)))
    size = elements * DTYPE_BYTES.get(str(args.get("dtype")), 0)
    group, description = str(args.get("Process Group Name", ""))[:80], args.get("Process Group Description")
    return _KernelGroup(
        collective=str(args.get("Collective name") or kernel)[:40],
        process_group=f"{group}({str(description)[:80]})" if description else group,
        ranks=int(args.get("Group size", 0)),
        size=size if size and is_step(size) else None,
    )


def _covered_time(spans: array[float]) -> float:
    """The time in which at least one span is active; spans are given as begin, end, begin, end ..."""
    pairs: FloatArray = np.array(spans).reshape(-1, 2)
    if not len(pairs):
        return 0.0
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(pairs[:, 1])
    previous_ends = np.concatenate(([-np.inf], ends[:-1]))
    return float(np.maximum(ends - np.maximum(pairs[:, 0], previous_ends), 0.0).sum())


class TraceHeader(NamedTuple):
    """The rank of a trace, None if not stated; the origin of its times in nanoseconds; and its hardware."""

    rank: str | None
    base: float
    config: Config


def _parse_header(head: bytes) -> TraceHeader:
    """The header of a trace, from its first bytes."""
    rank, base = _RANK.search(head), _BASE.search(head)
    return TraceHeader(
        rank=rank[1].decode() if rank else None,
        base=float(base[1]) if base else 0.0,
        config=_hardware(head),
    )


def _hardware(head: bytes) -> Config:
    """The GPU's name; and one node, if the job has no more ranks than the process sees GPUs."""
    names, world = _DEVICE_NAME.findall(head), _WORLD.search(head)
    config: dict[ConfigKey, ConfigValue] = {}
    if names:
        config[ConfigKey("gpu.name")] = names[0].decode("utf-8", "replace")
        if world is not None and int(world[1]) <= len(names):
            config[ConfigKey("nccl.nodes")] = 1
    return config
