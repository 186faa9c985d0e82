"""Files of NCCL Inspector, NCCL's profiler plug-in: a JSON object for each finished collective of a rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

import msgspec

from holter.ingest.communication.labels import SEQUENCE, is_step, series_labels, size_class
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.lines import LineBlocks
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_decode = msgspec.json.Decoder().decode
_OPERATIONS = (("coll_perf", "coll"), ("p2p_perf", "p2p"))
_METRICS = (
    ("exec_time_us", "collective_time (us)"),
    ("busbw_gbs", "busbw_gbs"),
    ("algbw_gbs", "algbw_gbs"),
    ("algobw_gbs", "algbw_gbs"),
    ("msg_size_bytes", "message_bytes"),
)


class NcclInspector:
    """Series by rank, collective, communicator and size class; the steps are NCCL's sequence numbers.

    The rank is that within the communicator. Times are those of the dump, not of the collective. Gaps in the
    sequence are normal: the profiler's ring buffer drops entries when it is full.
    """

    name: ClassVar[str] = "nccl-inspector"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A first line with the key of the Inspector's header."""
        first = head[:65536].lstrip()
        return first.startswith(b"{") and b"inspector_output_format_version" in first.partition(b"\n")[0]

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> NcclInspectorReader:
        """A reader that resumes from `state`."""
        return NcclInspectorReader({} if "rewritten" in state else state)


class NcclInspectorReader:
    """Reads the file of one process that is being written."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._lines = LineBlocks(state, expected="an object")
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The line number, and the problems not reported yet."""
        return {**self._lines.state(), **self._problems.state()}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of the complete lines; see `Reader`."""
        yield from self._problems.drain()
        while (block := self._lines.next(stream, self._problems)) is not None:
            rows: list[LogRow] = []
            for line in block.lines:
                self._lines.number += 1
                rows += self._rows(line)
            stream.seek(block.offsets[-1])
            if rows:
                yield batch_from_rows(rows)
            yield from self._problems.drain()

    def _rows(self, line: bytes) -> Iterator[LogRow]:
        if not line or line.isspace():
            return
        try:
            yield from _rows(_decode(line))
        except Exception as error:  # whatever is wrong with one object must not stop the others
            reason = f"{type(error).__name__}: {error}"[:200]
            location = f"line {self._lines.number}"
            self._problems.add(location, f"expected one of the Inspector's objects; {reason}")


def _rows(record: Any) -> Iterator[LogRow]:
    """A row for each operation of an object. Raises KeyError, TypeError or AttributeError for others."""
    header, metadata = record["header"], record.get("metadata", {})
    timestamp = metadata.get("dump_timestamp_us")
    for key, prefix in _OPERATIONS:
        if key not in record:
            continue
        operation = record[key]
        step = operation[f"{prefix}_sn"]
        values = {}
        for name, metric in _METRICS:
            value = _number(operation.get(f"{prefix}_{name}"))
            if value is not None:
                values[metric if prefix == "coll" else metric.replace("collective", prefix)] = value
        if not is_step(step):
            raise TypeError(f"{prefix}_sn is no sequence number")
        labels = series_labels(
            SEQUENCE,
            rank=header["rank"],
            comm=header["id"],
            comm_name=header.get("comm_name"),
            collective=operation[prefix],
            size=size_class(values.get("message_bytes", -1)),
            host=metadata.get("hostname"),
        )
        yield LogRow(step, _seconds(timestamp), values, labels)


def _number(value: object) -> float | None:
    """A number, or one written as text such as "nan"; None for other values."""
    try:
        return None if value is None or isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _seconds(timestamp: object) -> float:
    return timestamp / 1e6 if isinstance(timestamp, int) and abs(timestamp) < 2**62 else float("nan")
