"""NCCL's RAS as JSON: objects of `ncclras -f json`, one report or event each, one after another in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.communication.labels import series_labels
from holter.ingest.communication.ras_text import DEAD, EVENTS, MISSING, REPORTS, communicator_id
from holter.ingest.console.values import parse_time
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import NO_CONFIG, Batch, Config, ConfigKey, Unreadable

MAX_OBJECT_BYTES = 64 * 1024 * 1024
_PIECE = 64 * 1024
_BEGIN = re.compile(rb"(?m)^\{")
_MAX_RANKS = 65_536
_MAX_EVENTS = 4096
_FINE = (0, 7)
"""ncclSuccess, ncclInProgress."""
_decoder = json.JSONDecoder()


class RasJson:
    """By rank, communicator and collective at the report's number: how many operations a rank has launched
    (`nccl_op_count`), its error if any; which ranks gave no answer (`nccl_missing`: 1, or 2 where dead)."""

    name: ClassVar[str] = "nccl-ras-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """An object with RAS's words."""
        return head.lstrip()[:1] == b"{" and (
            (b'"communicators_count"' in head and b'"nccl_version"' in head)
            or re.search(rb'"event"\s*:\s*"PEER_', head[:4096]) is not None
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> RasJsonReader:
        """A reader that resumes from `state`."""
        return RasJsonReader({} if "rewritten" in state else state)


class RasJsonReader:
    """Reads objects as they are appended; one that is broken ends where the next begins at a line."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._reports: int = state.get("reports", 0)
        self._events: dict[str, int] = dict(state.get("events", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """How many reports there were, how many of each event, and what has still to be told."""
        return {"reports": self._reports, "events": dict(self._events), **self._problems.state()}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what each whole object says; see `Reader`."""
        yield from self._problems.drain()
        while (said := self._next(stream)) is not None:
            try:
                rows = list(self._rows(said))
            except Exception as error:  # whatever is wrong with one report must not stop the others
                found = f"expected a report of RAS: {type(error).__name__}"
                self._problems.add(f"the object that ends at byte {stream.tell()}", found)
                rows = []
            if rows:
                yield batch_from_rows(rows, config=_config(said) if self._reports == 1 else NO_CONFIG)
            yield from self._problems.drain()
        yield from self._problems.drain()

    def _next(self, stream: BinaryIO) -> dict[str, Any] | None:
        """The next object, the stream left behind it; None where none is whole yet."""
        while (begin := _to_begin(stream)) is not None:
            data, following = _upto_the_next(stream)
            found = _whole(data)
            if found is not None:
                stream.seek(begin + found[1])
                return found[0]
            if not following and len(data) <= MAX_OBJECT_BYTES:  # not all of it is there
                stream.seek(begin)
                return None
            self._problems.add(f"byte {begin}", "expected a whole object of RAS")
            stream.seek(begin + len(data))
        return None

    def _rows(self, found: Mapping[str, Any]) -> Iterator[LogRow]:
        time = parse_time(str(found.get("timestamp", "")))
        if "event" in found:
            yield from self._event(found, time)
            return
        comms = found["communicators"]
        self._reports += 1
        told = 0
        for comm in comms:
            name = communicator_id(str(comm["hash"]).removeprefix("0x")[:40])
            told += len(comm["ranks"]) + len(comm["missing_ranks"])
            if told > _MAX_RANKS:
                self._problems.add(f"report {self._reports}", f"expected {_MAX_RANKS:,} ranks at most")
                break
            yield from self._comm(comm, name, time)
        timeouts = found.get("ras", {}).get("timeouts_count", 0)
        values = {"nccl_ras_timeouts": float(timeouts), "nccl_ras_communicators": float(len(comms))}
        yield LogRow(self._reports, time, values, series_labels(REPORTS))

    def _comm(self, comm: Mapping[str, Any], name: str, time: float) -> Iterator[LogRow]:
        size = {"nccl_ranks": float(comm["size"]), "nccl_missing_ranks": float(len(comm["missing_ranks"]))}
        yield LogRow(self._reports, time, size, series_labels(REPORTS, comm=name))
        ranks = [(rank, rank["collective_counts"]) for rank in comm["ranks"]]
        used = sorted({kind for _, counts in ranks for kind, count in counts.items() if count})[:32]
        for rank, counts in ranks:
            whose = {"comm": name, "rank": int(rank["rank"]), "host": rank.get("host")}
            for kind in used:
                labels = series_labels(REPORTS, collective=kind, **whose)
                yield LogRow(self._reports, time, {"nccl_op_count": float(counts.get(kind, 0))}, labels)
            errors = [rank["status"].get(one, 0) for one in ("init_state", "async_error")]
            wrong = next((one for one in errors if one not in _FINE), 0)
            if wrong or rank["status"].get("abort_flag") is True:
                labels = series_labels(REPORTS, **whose)
                yield LogRow(self._reports, time, {"nccl_rank_error": float(wrong)}, labels)
        for rank in comm["missing_ranks"]:
            labels = series_labels(REPORTS, comm=name, rank=int(rank["rank"]), host=rank.get("host"))
            status = rank.get("status", {})
            if status.get("considered_dead") is True or status.get("unresponsive") is True:
                value = DEAD if status.get("considered_dead") is True else MISSING
                yield LogRow(self._reports, time, {"nccl_missing": value}, labels)

    def _event(self, found: Mapping[str, Any], time: float) -> Iterator[LogRow]:
        peer = found.get("peer", {})
        host = str(peer.get("host", ""))[:100]
        process = f"{host}:{int(peer['pid'])}" if "pid" in peer else None
        event = str(found["event"])[:60]
        name = f"{event} {process}"
        if name in self._events or len(self._events) < _MAX_EVENTS:
            number = self._events[name] = self._events.get(name, 0) + 1
            labels = series_labels(EVENTS, event=event, process=process, host=host)
            yield LogRow(number, time, {"nccl_peer_events": float(number)}, labels)


def _config(said: Mapping[str, Any]) -> Config:
    """What the first report says of the job."""
    version = said.get("nccl_version")
    return {ConfigKey("nccl.version"): version[:60]} if isinstance(version, str) else NO_CONFIG


def _to_begin(stream: BinaryIO) -> int | None:
    """Go to the line with which the next object begins; None where there is none yet."""
    while True:
        at = stream.tell()
        line = stream.readline(_PIECE)
        if line.startswith(b"{"):
            stream.seek(at)
            return at
        if not line.endswith(b"\n") and len(line) < _PIECE:
            stream.seek(at)  # it is still being written
            return None


def _upto_the_next(stream: BinaryIO) -> tuple[bytes, bool]:
    """The bytes from an object's begin to that of the next, and whether there is a next."""
    data = b""
    while len(data) <= MAX_OBJECT_BYTES and (piece := stream.read(max(_PIECE, len(data)))):
        searched, data = max(1, len(data) - 1), data + piece
        if (after := _BEGIN.search(data, searched)) is not None:
            return data[: after.start()], True
    return data, False


def _whole(data: bytes) -> tuple[dict[str, Any], int] | None:
    """The object that bytes begin with, and how many of them it takes; None where it is not whole."""
    try:
        return _decoder.raw_decode(data.decode("latin-1"))  # a character a byte
    except (ValueError, RecursionError):
        return None
