"""JSON output of NCCL's RAS: objects of `ncclras -f json`, one for each report or event."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication.labels import series_labels
from holter.ingest.communication.ras_text import DEAD, EVENTS, MISSING, REPORTS, communicator_id
from holter.ingest.console.text.values import parse_time
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import NO_CONFIG, Batch, Config, ConfigKey, Unreadable

MAX_OBJECT_BYTES = 64 * 1024 * 1024
_READ_BYTES = 64 * 1024
_OBJECT_START = re.compile(rb"(?m)^\{")
_MAX_RANKS = 65_536
_MAX_EVENTS = 4096
_OK_RESULTS = (0, 7)
"""ncclSuccess, ncclInProgress."""
_decoder = json.JSONDecoder()


class RasJson:
    """Reports of NCCL's RAS; the step is the report's number.

    By rank, communicator and collective: the number of operations that a rank has launched (`nccl_op_count`),
    its error if it has one (`nccl_rank_error`), and ranks that did not respond (`nccl_missing`: 1, or 2 for
    dead ones).
    """

    name: ClassVar[str] = "nccl-ras-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """An object with the keys of RAS."""
        return head.lstrip()[:1] == b"{" and (
            (b'"communicators_count"' in head and b'"nccl_version"' in head)
            or re.search(rb'"event"\s*:\s*"PEER_', head[:4096]) is not None
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> RasJsonReader:
        """A reader that resumes from `state`."""
        return RasJsonReader({} if "rewritten" in state else state)


class RasJsonReader:
    """Reads objects as they are appended; a broken one ends where the next begins a line."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._reports: int = state.get("reports", 0)
        self._events: dict[str, int] = dict(state.get("events", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """The number of reports, that of each event, and the problems not reported yet."""
        return {"reports": self._reports, "events": dict(self._events), **self._problems.state()}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of each complete object; see `Reader`."""
        yield from self._problems.drain()
        while (record := self._next(stream)) is not None:
            try:
                rows = list(self._rows(record))
            except Exception as error:  # whatever is wrong with one report must not stop the others
                reason = f"expected a report of RAS: {type(error).__name__}"
                self._problems.add(f"the object that ends at byte {stream.tell()}", reason)
                rows = []
            if rows:
                yield batch_from_rows(rows, config=_config(record) if self._reports == 1 else NO_CONFIG)
            yield from self._problems.drain()
        yield from self._problems.drain()

    def _next(self, stream: BinaryIO) -> dict[str, Any] | None:
        """The next object, with the stream after it; None if it is not complete yet."""
        while (begin := _seek_object(stream)) is not None:
            data, has_next = _read_to_next_object(stream)
            decoded = _decode_object(data)
            if decoded is not None:
                stream.seek(begin + decoded[1])
                return decoded[0]
            if not has_next and len(data) <= MAX_OBJECT_BYTES:  # incomplete
                stream.seek(begin)
                return None
            self._problems.add(f"byte {begin}", "expected a complete object of RAS")
            stream.seek(begin + len(data))
        return None

    def _rows(self, record: Mapping[str, Any]) -> Iterator[LogRow]:
        time = parse_time(str(record.get("timestamp", "")))
        if "event" in record:
            yield from self._event(record, time)
            return
        comms = record["communicators"]
        self._reports += 1
        rank_count = 0
        for comm in comms:
            name = communicator_id(str(comm["hash"]).removeprefix("0x")[:40])
            rank_count += len(comm["ranks"]) + len(comm["missing_ranks"])
            if rank_count > _MAX_RANKS:
                self._problems.add(f"report {self._reports}", f"expected {_MAX_RANKS:,} ranks at most")
                break
            yield from self._comm(comm, name, time)
        timeouts = record.get("ras", {}).get("timeouts_count", 0)
        values = {"nccl_ras_timeouts": float(timeouts), "nccl_ras_communicators": float(len(comms))}
        yield LogRow(self._reports, time, values, series_labels(REPORTS))

    def _comm(self, comm: Mapping[str, Any], name: str, time: float) -> Iterator[LogRow]:
        size = {"nccl_ranks": float(comm["size"]), "nccl_missing_ranks": float(len(comm["missing_ranks"]))}
        yield LogRow(self._reports, time, size, series_labels(REPORTS, comm=name))
        ranks = [(rank, rank["collective_counts"]) for rank in comm["ranks"]]
        used_collectives = sorted({kind for _, counts in ranks for kind, count in counts.items() if count})[
            :32
        ]
        for rank, counts in ranks:
            rank_labels = {"comm": name, "rank": int(rank["rank"]), "host": rank.get("host")}
            for kind in used_collectives:
                labels = series_labels(REPORTS, collective=kind, **rank_labels)
                yield LogRow(self._reports, time, {"nccl_op_count": float(counts.get(kind, 0))}, labels)
            results = [rank["status"].get(name, 0) for name in ("init_state", "async_error")]
            error = next((result for result in results if result not in _OK_RESULTS), 0)
            if error or rank["status"].get("abort_flag") is True:
                labels = series_labels(REPORTS, **rank_labels)
                yield LogRow(self._reports, time, {"nccl_rank_error": float(error)}, labels)
        for rank in comm["missing_ranks"]:
            labels = series_labels(REPORTS, comm=name, rank=int(rank["rank"]), host=rank.get("host"))
            status = rank.get("status", {})
            if status.get("considered_dead") is True or status.get("unresponsive") is True:
                value = DEAD if status.get("considered_dead") is True else MISSING
                yield LogRow(self._reports, time, {"nccl_missing": value}, labels)

    def _event(self, record: Mapping[str, Any], time: float) -> Iterator[LogRow]:
        peer = record.get("peer", {})
        host = str(peer.get("host", ""))[:100]
        process = f"{host}:{int(peer['pid'])}" if "pid" in peer else None
        event = str(record["event"])[:60]
        name = f"{event} {process}"
        if name in self._events or len(self._events) < _MAX_EVENTS:
            number = self._events[name] = self._events.get(name, 0) + 1
            labels = series_labels(EVENTS, event=event, process=process, host=host)
            yield LogRow(number, time, {"nccl_peer_events": float(number)}, labels)


def _config(report: Mapping[str, Any]) -> Config:
    """The job's settings in its first report."""
    version = report.get("nccl_version")
    return {ConfigKey("nccl.version"): version[:60]} if isinstance(version, str) else NO_CONFIG


def _seek_object(stream: BinaryIO) -> int | None:
    """Go to the line with which the next object begins and return its position; None if there is none yet."""
    while True:
        position = stream.tell()
        line = stream.readline(_READ_BYTES)
        if line.startswith(b"{"):
            stream.seek(position)
            return position
        if not line.endswith(b"\n") and len(line) < _READ_BYTES:
            stream.seek(position)  # it is still being written
            return None


def _read_to_next_object(stream: BinaryIO) -> tuple[bytes, bool]:
    """The bytes from an object's begin to that of the next, and whether there is a next one."""
    data = b""
    while len(data) <= MAX_OBJECT_BYTES and (chunk := stream.read(max(_READ_BYTES, len(data)))):
        searched, data = max(1, len(data) - 1), data + chunk
        if (match := _OBJECT_START.search(data, searched)) is not None:
            return data[: match.start()], True
    return data, False


def _decode_object(data: bytes) -> tuple[dict[str, Any], int] | None:
    """The object that bytes begin with, and its size in bytes; None if it is broken or incomplete."""
    try:
        return _decoder.raw_decode(data.decode("latin-1"))  # so that a character is a byte
    except (ValueError, RecursionError):
        return None
