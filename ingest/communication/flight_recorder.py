"""PyTorch's Flight Recorder: what each rank's last collectives were when the recorder was dumped.

Files are pickles, or JSON where they were dumped as such, in which None became 0 and tuples lists.
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
"""The newest that are read; PyTorch keeps 2,000 unless told otherwise."""
_MAX_TENSORS, _MAX_DIMENSIONS = 64, 16
_RANKS = re.compile(r"\d{1,7}")
_MAX_TEXT, _MAX_MEMBERS, _TELLING = 200_000, 16_384, 4
_UNEVEN = ("all_to_all", "alltoall", "scatter", "gather", "coalesced")
"""Operations to which ranks may give as much as they like."""
_TOGETHER = {"all_gather": ("output",), "allgather": ("output",), "reduce_scatter": ("input",)}
_STATES = {"scheduled": 0.0, "started": 1.0, "completed": 2.0}
_STATUS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
_decode = msgspec.json.Decoder().decode


class FlightRecorder:
    """By rank and process group, at the group's sequence number: the state (0 scheduled, 1 started, 2
    completed), bytes, and the time where timing was on; and how far each group had come.

    A file counts once it is whole. Its rank is the number at the end of its name.
    """

    name: ClassVar[str] = "flight-recorder"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A pickle or an object with the recorder's words."""
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
    """Reads one rank's dump, all of it at once."""

    def __init__(self, state: Mapping[str, Any], rank: str | None) -> None:
        self._rank = rank
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """What was wrong with the dump, as far as it was not told."""
        return self._problems.state()

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what a whole dump says; see `Reader`."""
        yield from self._problems.drain()
        if stream.tell() == 0:
            data = stream.read(MAX_DUMP_BYTES + 1)
            try:
                dump = _dump(data)
            except safe_pickle.UnsafePickleError as error:
                self._problems.add("file", str(error))
                dump = {}
            if dump is None:  # not all of it is there
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
            self._problems.add(
                "entries", f"expected {_MAX_ENTRIES} at most, read the last of {len(entries)}"
            )
        groups: dict[object, str] = {}
        for number, entry in enumerate(entries[-_MAX_ENTRIES:]):
            try:
                groups[str(entry["pg_id"])] = group = _group(entry["process_group"])
                yield from self._entry(entry, group)
            except Exception as error:  # whatever is wrong with one entry must not stop the others
                self._problems.add(f"entry {number}", f"expected a collective: {type(error).__name__}")
        yield from self._members(dump)
        status = dump.get("pg_status")
        for name, said in list(status.items())[:4096] if isinstance(status, dict) else ():
            if isinstance(said, dict):
                yield from self._status(said, groups.get(str(name), str(name)))

    def _members(self, dump: Mapping[str, Any]) -> Iterator[LogRow]:
        """The ranks of each group, told by the first few of them: a dump of each rank would say it again."""
        config = dump.get("pg_config")
        for said in list(config.values())[:4096] if isinstance(config, dict) else ():
            found = _RANKS.findall(str(said.get("ranks", ""))[:_MAX_TEXT]) if isinstance(said, dict) else []
            group = _group((said.get("name", ""), said.get("desc", ""))) if found else ""
            size = {"process_group_ranks": float(len(found))}
            if found:
                yield LogRow(0, float("nan"), size, self._labels("collective_seq_id", group))
            for rank in found[:_MAX_MEMBERS] if self._rank in found[:_TELLING] else ():
                labels = series_labels(SEQUENCE, rank=int(rank), process_group=group)
                yield LogRow(0, float("nan"), {"process_group_member": 1.0}, labels)

    def _entry(self, entry: Mapping[str, Any], group: str) -> Iterator[LogRow]:
        word = "p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id"
        step = entry[word]
        if not is_step(step):
            raise ValueError(word)
        time = float(entry["time_created_ns"]) / 1e9
        done = 2.0 if entry.get("retired") is True else 0.0  # Gloo says no more when its work is done
        state = max(done, _STATES.get(str(entry.get("state")), 0.0))
        kind = word.partition("_")[0]
        name = str(entry.get("profiling_name", "")).rpartition(":")[2].partition(" ")[0]
        values = {f"{kind}_state": state}
        if kind == "collective":
            values["collective_call"] = float(crc32(_call(name, entry).encode()))
        yield LogRow(step, time, values, self._labels(word, group))
        moved = max(_bytes(entry, "input"), _bytes(entry, "output"))
        values = {"message_bytes": moved}
        duration = entry.get("duration_ms")
        if isinstance(duration, int | float) and not isinstance(duration, bool) and duration > 0:
            values[f"{kind}_time (us)"] = 1e3 * float(duration)
        yield LogRow(step, time, values, self._labels(word, group, collective=name))

    def _status(self, said: Mapping[str, Any], group: str) -> Iterator[LogRow]:
        """How far a group has come; numbers that JSON holds as text."""
        known = {name: _whole(said.get(name)) for name in _STATUS}
        values = {name: float(number) for name, number in known.items() if number is not None}
        step = known[_STATUS[0]]
        if values and is_step(step):
            yield LogRow(step or 0, float("nan"), values, self._labels("collective_seq_id", group))

    def _labels(self, steps: str, group: str, **more: str) -> Labels:
        words = SEQUENCE if steps == "collective_seq_id" else steps
        return series_labels(words, rank=self._rank, process_group=group, **more)


def _dump(data: bytes) -> Mapping[str, Any] | None:
    """The dictionary that a dump holds, None while it is not whole. Raises NotPlain."""
    if len(data) > MAX_DUMP_BYTES:
        raise safe_pickle.UnsafePickleError(f"expected a dump of at most {MAX_DUMP_BYTES} bytes")
    try:
        if data.startswith(b"\x80"):
            found = safe_pickle.loads(data) if data.endswith(b".") else None
        else:
            found = _decode(data) if data.rstrip().endswith(b"}") else None
    except safe_pickle.UnsafePickleError:
        raise
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _group(said: Any) -> str:
    """A process group as PyTorch's own messages name it: "0(default_pg)"."""
    name, description = str(said[0])[:80], str(said[1])[:80]
    return f"{name}({description})" if description else name


def _call(name: str, entry: Mapping[str, Any]) -> str:
    """What the ranks of a group must agree on, as PyTorch's own analysis has it (torch/distributed/
    flight_recorder/components/types.py, `match`): the operation, and its types and elements where each rank
    has as many. Elements that ranks may share unevenly are counted where they are together.
    """
    if name.startswith(_UNEVEN):
        return name
    counted = _TOGETHER.get(next((one for one in _TOGETHER if one in name), ""), ("input", "output"))
    elements = (_elements(entry.get(f"{side}_sizes")) for side in counted)
    types = (
        sorted(set(map(str, list(entry.get(f"{side}_dtypes") or ())[:_MAX_TENSORS]))) for side in counted
    )
    return f"{name} {list(elements)} {list(types)}"


def _elements(sizes: Any) -> int:
    """Elements of some tensors. Raises TypeError where they are none."""
    return sum(_product(size) for size in list(sizes or ())[:_MAX_TENSORS])


def _product(size: Any) -> int:
    return prod(min(int(one), 2**40) for one in list(size)[:_MAX_DIMENSIONS])


def _bytes(entry: Mapping[str, Any], side: str) -> float:
    """Bytes of the tensors that went in or came out. Raises TypeError where they are none."""
    sizes, types = entry.get(f"{side}_sizes") or (), entry.get(f"{side}_dtypes") or ()
    pairs = zip(list(sizes)[:_MAX_TENSORS], list(types)[:_MAX_TENSORS], strict=False)
    return float(sum(_product(size) * DTYPE_BYTES.get(kind, 0) for size, kind in pairs))


def _whole(number: object) -> int | None:
    try:
        found = int(number) if isinstance(number, int | str) else None
    except ValueError:
        return None
    return found if found is not None and -1 <= found < 2**53 else None
