"""Dumps of PyTorch's Flight Recorder: each rank's last collectives.

Files are pickles or JSON; in JSON, None is written as 0 and tuples as lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

import msgspec

from holter.ingest.communication import safe_pickle
from holter.ingest.communication.labels import DTYPE_BYTES, SEQUENCE, is_step, series_labels
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Labels, Unreadable

MAX_DUMP_BYTES = 32 * 1024 * 1024
_MAX_ENTRIES = 20_000
"""The number of entries that are read, the newest ones; PyTorch records 2,000 by default."""
_MAX_TENSORS, _MAX_DIMENSIONS = 64, 16
_RANKS = re.compile(r"\d{1,7}")
_MAX_TEXT, _MAX_MEMBERS, _REPORTING_RANKS = 200_000, 16_384, 4
_UNEVEN = ("all_to_all", "alltoall", "scatter", "gather", "coalesced")
"""Operations to which ranks may contribute different numbers of elements."""
_COMPARED_SIDES = {"all_gather": ("output",), "allgather": ("output",), "reduce_scatter": ("input",)}
_STATES = {"scheduled": 0.0, "started": 1.0, "completed": 2.0}
_STATUS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
_decode = msgspec.json.Decoder().decode


class FlightRecorder:
    """Collectives by rank and process group; the step is the group's sequence number.

    Metrics are the state (0 scheduled, 1 started, 2 completed), the message's bytes, the duration if timing
    was enabled, and each group's last enqueued, started and completed collective. A file is read once it is
    complete. Its rank is the last number in its name.
    """

    name: ClassVar[str] = "flight-recorder"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A pickle or a JSON object with the recorder's keys."""
        if not head.startswith((b"{", b"\x80")):
            return False
        return (b"pg_config" in head or b"entries" in head) and (
            b"collective_seq_id" in head or b"pg_status" in head
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> FlightRecorderReader:
        """A reader that resumes from `state`."""
        numbers = re.findall(r"\d+", path.stem)
        return FlightRecorderReader({} if "rewritten" in state else state, numbers[-1] if numbers else None)


class FlightRecorderReader:
    """Reads one rank's dump, at once when it is complete."""

    def __init__(self, state: Mapping[str, Any], rank: str | None) -> None:
        self._rank = rank
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """Problems of the dump that have not been reported yet."""
        return self._problems.state()

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows of a complete dump; see `Reader`."""
        yield from self._problems.drain()
        if stream.tell() == 0:
            data = stream.read(MAX_DUMP_BYTES + 1)
            try:
                dump = _dump(data)
            except safe_pickle.UnsafePickleError as error:
                self._problems.add("file", str(error))
                dump = {}
            if dump is None:  # incomplete
                stream.seek(0)
                return
            rows = list(self._rows(dump))
            stream.seek(0, 2)
            if rows:
                yield batch_from_rows(rows)
        stream.seek(0, 2)
        yield from self._problems.drain()

    def _rows(self, dump: Mapping[str, Any]) -> Iterator[LogRow]:
        entries = dump.get("entries")
        entries = entries if isinstance(entries, list) else []
        if len(entries) > _MAX_ENTRIES:
            self._problems.add("entries", f"expected {_MAX_ENTRIES} at most, read the last of {len(entries)}")
        groups: dict[object, str] = {}
        for number, entry in enumerate(entries[-_MAX_ENTRIES:]):
            try:
                groups[_text(entry["pg_id"])] = group = _group(entry["process_group"])
                yield from self._entry(entry, group)
            except Exception as error:  # whatever is wrong with one entry must not stop the others
                self._problems.add(f"entry {number}", f"expected a collective: {type(error).__name__}")
        yield from self._members(dump)
        status = dump.get("pg_status")
        for name, progress in list(status.items())[:4096] if isinstance(status, dict) else ():
            if isinstance(progress, dict):
                yield from self._status(progress, groups.get(str(name), str(name)))

    def _members(self, dump: Mapping[str, Any]) -> Iterator[LogRow]:
        """The size and ranks of each group.

        The ranks are yielded only from dumps of a group's first `_REPORTING_RANKS` ranks, since the dump of
        every rank lists them.
        """
        config = dump.get("pg_config")
        for settings in list(config.values())[:4096] if isinstance(config, dict) else ():
            if not isinstance(settings, dict):
                continue
            ranks = _RANKS.findall(_ranks_text(settings.get("ranks", "")))
            name, description = settings.get("name", ""), settings.get("desc", "")
            is_named = isinstance(name, str | int) and isinstance(description, str | int)
            group = _group((name, description)) if ranks and is_named else ""
            size = {"process_group_ranks": float(len(ranks))}
            if ranks:
                yield LogRow(0, float("nan"), size, self._labels("collective_seq_id", group))
            for rank in ranks[:_MAX_MEMBERS] if self._rank in ranks[:_REPORTING_RANKS] else ():
                labels = series_labels(SEQUENCE, rank=int(rank), process_group=group)
                yield LogRow(0, float("nan"), {"process_group_member": 1.0}, labels)

    def _entry(self, entry: Mapping[str, Any], group: str) -> Iterator[LogRow]:
        sequence_key = "p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id"
        step = entry[sequence_key]
        if not is_step(step):
            raise ValueError(sequence_key)
        time = float(entry["time_created_ns"]) / 1e9
        done = 2.0 if entry.get("retired") is True else 0.0  # Gloo marks finished work in no other way
        state = max(done, _STATES.get(_text(entry.get("state") or ""), 0.0))
        kind = sequence_key.partition("_")[0]
        name = _text(entry.get("profiling_name", "")).rpartition(":")[2].partition(" ")[0]
        values = {f"{kind}_state": state}
        if kind == "collective":
            values["collective_call"] = float(crc32(_call_signature(name, entry).encode()))
        yield LogRow(step, time, values, self._labels(sequence_key, group))
        size = max(_bytes(entry, "input"), _bytes(entry, "output"))
        values = {"message_bytes": size}
        duration = entry.get("duration_ms")
        if isinstance(duration, int | float) and not isinstance(duration, bool) and duration > 0:
            values[f"{kind}_time (us)"] = 1e3 * float(duration)
        yield LogRow(step, time, values, self._labels(sequence_key, group, collective=name))

    def _status(self, progress: Mapping[str, Any], group: str) -> Iterator[LogRow]:
        """A group's last enqueued, started and completed collective; JSON has these numbers as text."""
        numbers = {name: _integer(progress.get(name)) for name in _STATUS}
        values = {name: float(number) for name, number in numbers.items() if number is not None}
        step = numbers[_STATUS[0]]
        if values and is_step(step):
            yield LogRow(step or 0, float("nan"), values, self._labels("collective_seq_id", group))

    def _labels(self, steps: str, group: str, **more: str) -> Labels:
        unit = SEQUENCE if steps == "collective_seq_id" else steps
        return series_labels(unit, rank=self._rank, process_group=group, **more)


def _dump(data: bytes) -> Mapping[str, Any] | None:
    """The dictionary of a dump; None while it is incomplete. Raises UnsafePickleError."""
    if len(data) > MAX_DUMP_BYTES:
        raise safe_pickle.UnsafePickleError(f"expected a dump of at most {MAX_DUMP_BYTES} bytes")
    try:
        if data.startswith(b"\x80"):
            dump = safe_pickle.loads(data) if data.endswith(b".") else None
        else:
            dump = _decode(data) if data.rstrip().endswith(b"}") else None
    except safe_pickle.UnsafePickleError:
        raise
    except (ValueError, RecursionError):
        return None
    return dump if isinstance(dump, dict) else None


def _group(process_group: Any) -> str:
    """The name of a process group as in PyTorch's own messages: "0(default_pg)"."""
    name, description = _text(process_group[0])[:80], _text(process_group[1])[:80]
    return f"{name}({description})" if description else name


def _text(value: object) -> str:
    """A name, or a number as text. Raises TypeError for other values: containers may be huge when printed."""
    if not isinstance(value, str | int):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return str(value)


def _ranks_text(ranks: object) -> str:
    """The ranks of a group: PyTorch writes the list as text."""
    if isinstance(ranks, list | tuple):
        return ", ".join(str(rank) for rank in ranks[:_MAX_MEMBERS] if isinstance(rank, str | int))[
            :_MAX_TEXT
        ]
    return ranks[:_MAX_TEXT] if isinstance(ranks, str) else ""


def _call_signature(name: str, entry: Mapping[str, Any]) -> str:
    """What all ranks of a group must agree on: the operation, and the types and numbers of its elements.

    The numbers of elements are left out for operations to which ranks may contribute unevenly, and compared
    only on the side on which all parts are together. Source: PyTorch's own analysis
    (torch/distributed/flight_recorder/components/types.py, `match`).
    """
    if name.startswith(_UNEVEN):
        return name
    operation = next((operation for operation in _COMPARED_SIDES if operation in name), "")
    sides = _COMPARED_SIDES.get(operation, ("input", "output"))
    elements = (_elements(entry.get(f"{side}_sizes")) for side in sides)
    types = (
        sorted(set(map(_text, list(entry.get(f"{side}_dtypes") or ())[:_MAX_TENSORS]))) for side in sides
    )
    return f"{name} {list(elements)} {list(types)}"


def _elements(sizes: Any) -> int:
    """The elements of some tensors. Raises TypeError for other values."""
    return sum(_product(size) for size in list(sizes or ())[:_MAX_TENSORS])


def _product(size: Any) -> int:
    return prod(min(int(extent), 2**40) for extent in list(size)[:_MAX_DIMENSIONS])


def _bytes(entry: Mapping[str, Any], side: str) -> float:
    """The bytes of the input or output tensors. Raises TypeError for other values."""
    sizes, types = entry.get(f"{side}_sizes") or (), entry.get(f"{side}_dtypes") or ()
    pairs = zip(list(sizes)[:_MAX_TENSORS], list(types)[:_MAX_TENSORS], strict=False)
    return float(sum(_product(size) * DTYPE_BYTES.get(kind, 0) for size, kind in pairs))


def _integer(number: object) -> int | None:
    try:
        integer = int(number) if isinstance(number, int | str) else None
    except ValueError:
        return None
    return integer if integer is not None and -1 <= integer < 2**53 else None
