"""What NCCL and RCCL print with NCCL_DEBUG: communicators, calls of collectives, warnings, network errors."""

from __future__ import annotations

import re
from zlib import crc32

from holter.ingest.communication.labels import labels_beside
from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_time
from holter.ingest.step_columns import LARGEST_STEP

_PROCESS = re.compile(r"([\w.-]{1,100}:\d{1,9}):\d{1,9} \[\d{1,3}\]")
_CALL = re.compile(
    r": opCount ([0-9a-f]{1,15}) sendbuff (?:0x[0-9a-f]+|\(nil\)) recvbuff (?:0x[0-9a-f]+|\(nil\))"
    r" count (\d{1,19}) datatype (\d{1,3}) op (\d{1,9}) root (-?\d{1,9}) comm (0x[0-9a-f]{1,16})"
    r" \[nranks=(\d{0,7})"
)
_INIT = re.compile(
    r"comm (0x[0-9a-f]{1,16}) rank (\d{1,7}) nranks (\d{1,7}) .*?"
    r"(?:commId (0x[0-9a-f]{1,16}) .*?)?- Init (START|COMPLETE)"
)
_TIMINGS = re.compile(r"Init timings.{0,60}?rank (\d{1,7}) nranks \d+ total (\d+(?:\.\d+)?)")
_COMPLETION = re.compile(
    r"Got completion (?:from peer ([^\s<]{1,100})\S* )?with (?:error |status=)(?:\w+\()?(\d{1,3})"
)

_ITEM_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""Bytes of an element by NCCL's datatype: int8 ... float8e5m2."""
_BETWEEN_TWO = frozenset({"Send", "Recv"})
_MOST_KNOWN = 8192
"""Communicators and counters remembered of a printer; what is beyond is told without its rank, or not."""


def _call(line: str, memory: DialectState) -> list[LineValues] | None:
    """A call is told by the order in which it was enqueued; there is no time, and no duration."""
    found = _CALL.search(line)
    if found is None:
        return None
    collective = line[: found.start()].rpartition(" ")[2][:40]
    count, datatype = int(found[2]), int(found[3])
    step, size = int(found[1], 16), count * (_ITEM_BYTES[datatype] if datatype < len(_ITEM_BYTES) else 0)
    process = _process(line[: found.start()])
    known = memory.get(f"comm {process} {found[6]}")
    rank, comm = known or (None, _named(memory, process, found[6], found[7]))
    whose = {"comm": comm, **_whose(process, rank)}
    at_call = {"nccl_op_count": float(step)}
    if collective not in _BETWEEN_TWO and _is_first(memory, f"at {process} {found[6]}", step):
        at_call["nccl_call"] = float(crc32(f"{collective} {count} {datatype} {found[4]}".encode()))
        at_call["nccl_datatype"] = float(datatype)
    sums = {"message_bytes": float(size)}
    calls, total = memory.get(counter := f"calls {process} {found[6]} {collective}", (0, 0))
    if _remember(memory, counter, (calls + 1, total + size)):
        sums |= {"nccl_calls": calls + 1.0, "nccl_bytes": float(total + size)}
    return [
        LineValues(step, at_call, labels=labels_beside("opCount", **whose)),
        LineValues(step, sums, labels=labels_beside("opCount", collective=collective, **whose)),
    ]


def _init(line: str, memory: DialectState) -> LineValues | None:
    """A communicator: which rank of it a process is, and by its id, where it is printed, which one it is."""
    found = _INIT.search(line)
    if found is None:
        return None
    pointer, rank, ranks, comm, stage = found.groups()
    process = _process(line[: found.start()])
    comm = comm or _named(memory, process, pointer, ranks)
    _remember(memory, f"comm {process} {pointer}", (rank, comm))
    if int(ranks) >= memory.get(f"rank {process}", (0, ""))[0]:
        _remember(memory, f"rank {process}", (int(ranks), rank))
    if stage == "START":
        return None
    number = _count(memory, f"communicators {process}")
    # several processes are rank 0 of a communicator each: which one it is, the largest tells
    labels = labels_beside("communicators", **_whose(process, _rank(memory, process)))
    return LineValues(number, {"nccl_communicator_ranks": float(ranks)}, labels=labels)


def _named(memory: DialectState, process: str, pointer: str, ranks: str) -> str:
    """What a communicator is called that is known by its address in its process alone: "4 ranks".

    Where a process has several of a size, they are numbered as they come.
    """
    name: str | None = memory.get(known := f"named {process} {pointer}")
    if name is None:
        number = int(memory.get(counter := f"sized {process} {ranks}", 0)) + 1
        name = f"{ranks} ranks" if number == 1 else f"{ranks} ranks ({number})"
        if _remember(memory, known, name):
            _remember(memory, counter, number)
    return name


def _is_first(memory: DialectState, name: str, step: int) -> bool:
    """Whether a call is the first at its opCount: those of a group have one in common."""
    if memory.get(name) == step:
        return False
    _remember(memory, name, step)
    return True


def _timings(line: str, memory: DialectState) -> LineValues | None:
    """How long the making of a communicator took."""
    found = _TIMINGS.search(line)
    if found is None:
        return None
    process = _process(line[: found.start()])
    labels = labels_beside("communicators", **_whose(process, _rank(memory, process) or found[1]))
    number = _count(memory, f"timings {process}")
    return LineValues(number, {"nccl_init_seconds": float(found[2])}, labels=labels)


def _warning(line: str, memory: DialectState) -> list[LineValues]:
    """Warnings counted by process, and what of them the network said."""
    process = _process(line.partition("NCCL WARN")[0])
    number = _count(memory, f"warnings {process}")
    labels = labels_beside("warnings", **_whose(process, _rank(memory, process)))
    return [
        LineValues(number, {"nccl_warnings": float(number)}, parse_time(line), labels),
        *_completion(line, memory),
    ]


def _completion(line: str, memory: DialectState) -> list[LineValues]:
    """A transfer that failed: status 12 is a peer or a link that is gone, 5 follows from another failure."""
    found = _COMPLETION.search(line)
    if found is None:
        return []
    process = _process(line[: found.start()])
    number = _count(memory, f"completions {process} {found[1]} {found[2]}")
    labels = labels_beside(
        "errors", status=found[2], peer=found[1], **_whose(process, _rank(memory, process))
    )
    return [LineValues(number, {"nccl_network_errors": float(number)}, parse_time(line), labels)]


def _process(before: str) -> str:
    """host:pid of the last prefix in a text: lines of several processes may be glued to one."""
    found = [prefix[1] for prefix in _PROCESS.finditer(before)]
    return found[-1] if found else ""


def _rank(memory: DialectState, process: str) -> str | None:
    """A process' rank in the largest of its communicators."""
    rank: str | None = memory.get(f"rank {process}", (0, None))[1]
    return rank


def _whose(process: str, rank: str | None) -> dict[str, str | None]:
    """Labels of a process: its rank where it is known, its number on its host otherwise."""
    return {"rank": rank, "host": process.partition(":")[0], "process": process if rank is None else None}


def _count(memory: DialectState, what: str) -> int:
    number = int(memory.get(what, 0)) + 1
    _remember(memory, what, number)
    return min(number, LARGEST_STEP)


def _remember(memory: DialectState, name: str, value: object) -> bool:
    if name not in memory and len(memory) >= _MOST_KNOWN:
        return False
    memory[name] = value
    return True


KINDS = (
    LineKind(mark=re.compile(rb": opCount [0-9a-f]"), read=_call),
    LineKind(mark=re.compile(rb"- Init (?:START|COMPLETE)"), read=_init),
    LineKind(mark=re.compile(rb"Init timings"), read=_timings),
    LineKind(mark=re.compile(rb"NCCL WARN"), read=_warning),
    LineKind(mark=re.compile(rb"Got completion "), read=_completion),
)
