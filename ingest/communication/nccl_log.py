"""What NCCL and RCCL print with NCCL_DEBUG: communicators, calls of collectives, warnings, network errors."""

from __future__ import annotations

import re
from zlib import crc32

from holter.ingest.communication.labels import series_labels
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
_MAX_KNOWN = 8192
"""Communicators and counters remembered of a printer; what is beyond is told without its rank, or not."""


def _call(line: str, state: DialectState) -> list[LineValues] | None:
    """A call is told by the order in which it was enqueued; there is no time, and no duration."""
    match = _CALL.search(line)
    if match is None:
        return None
    collective = line[: match.start()].rpartition(" ")[2][:40]
    count, datatype = int(match[2]), int(match[3])
    step, size = int(match[1], 16), count * (_ITEM_BYTES[datatype] if datatype < len(_ITEM_BYTES) else 0)
    process = _process(line[: match.start()])
    known = state.get(f"comm {process} {match[6]}")
    rank, comm = known or (None, _named(state, process, match[6], match[7]))
    whose = {"comm": comm, **_whose(process, rank)}
    at_call = {"nccl_op_count": float(step)}
    if collective not in _BETWEEN_TWO and _is_first(state, f"at {process} {match[6]}", step):
        at_call["nccl_call"] = float(crc32(f"{collective} {count} {datatype} {match[4]}".encode()))
        at_call["nccl_datatype"] = float(datatype)
    sums = {"message_bytes": float(size)}
    calls, total = state.get(counter := f"calls {process} {match[6]} {collective}", (0, 0))
    if _remember(state, counter, (calls + 1, total + size)):
        sums |= {"nccl_calls": calls + 1.0, "nccl_bytes": float(total + size)}
    return [
        LineValues(step, at_call, labels=series_labels("opCount", **whose)),
        LineValues(step, sums, labels=series_labels("opCount", collective=collective, **whose)),
    ]


def _init(line: str, state: DialectState) -> LineValues | None:
    """A communicator: which rank of it a process is, and by its id, where it is printed, which one it is."""
    match = _INIT.search(line)
    if match is None:
        return None
    pointer, rank, ranks, comm, stage = match.groups()
    process = _process(line[: match.start()])
    comm = comm or _named(state, process, pointer, ranks)
    _remember(state, f"comm {process} {pointer}", (rank, comm))
    if int(ranks) >= state.get(f"rank {process}", (0, ""))[0]:
        _remember(state, f"rank {process}", (int(ranks), rank))
    if stage == "START":
        return None
    number = _count(state, f"communicators {process}")
    # several processes are rank 0 of a communicator each: which one it is, the largest tells
    labels = series_labels("communicators", **_whose(process, _rank(state, process)))
    return LineValues(number, {"nccl_communicator_ranks": float(ranks)}, labels=labels)


def _named(state: DialectState, process: str, pointer: str, ranks: str) -> str:
    """What a communicator is called that is known by its address in its process alone: "4 ranks".

    Where a process has several of a size, they are numbered as they come.
    """
    name: str | None = state.get(known := f"named {process} {pointer}")
    if name is None:
        number = int(state.get(counter := f"sized {process} {ranks}", 0)) + 1
        name = f"{ranks} ranks" if number == 1 else f"{ranks} ranks ({number})"
        if _remember(state, known, name):
            _remember(state, counter, number)
    return name


def _is_first(state: DialectState, name: str, step: int) -> bool:
    """Whether a call is the first at its opCount: those of a group have one in common."""
    if state.get(name) == step:
        return False
    _remember(state, name, step)
    return True


def _timings(line: str, state: DialectState) -> LineValues | None:
    """How long the making of a communicator took."""
    match = _TIMINGS.search(line)
    if match is None:
        return None
    process = _process(line[: match.start()])
    labels = series_labels("communicators", **_whose(process, _rank(state, process) or match[1]))
    number = _count(state, f"timings {process}")
    return LineValues(number, {"nccl_init_seconds": float(match[2])}, labels=labels)


def _warning(line: str, state: DialectState) -> list[LineValues]:
    """Warnings counted by process, and what of them the network said."""
    process = _process(line.partition("NCCL WARN")[0])
    number = _count(state, f"warnings {process}")
    labels = series_labels("warnings", **_whose(process, _rank(state, process)))
    return [
        LineValues(number, {"nccl_warnings": float(number)}, parse_time(line), labels),
        *_completion(line, state),
    ]


def _completion(line: str, state: DialectState) -> list[LineValues]:
    """A transfer that failed: status 12 is a peer or a link that is gone, 5 follows from another failure."""
    match = _COMPLETION.search(line)
    if match is None:
        return []
    process = _process(line[: match.start()])
    number = _count(state, f"completions {process} {match[1]} {match[2]}")
    labels = series_labels("errors", status=match[2], peer=match[1], **_whose(process, _rank(state, process)))
    return [LineValues(number, {"nccl_network_errors": float(number)}, parse_time(line), labels)]


def _process(before: str) -> str:
    """host:pid of the last prefix in a text: lines of several processes may be glued to one."""
    match = [prefix[1] for prefix in _PROCESS.finditer(before)]
    return match[-1] if match else ""


def _rank(state: DialectState, process: str) -> str | None:
    """A process' rank in the largest of its communicators."""
    rank: str | None = state.get(f"rank {process}", (0, None))[1]
    return rank


def _whose(process: str, rank: str | None) -> dict[str, str | None]:
    """Labels of a process: its rank where it is known, its number on its host otherwise."""
    return {"rank": rank, "host": process.partition(":")[0], "process": process if rank is None else None}


def _count(state: DialectState, what: str) -> int:
    number = int(state.get(what, 0)) + 1
    _remember(state, what, number)
    return min(number, LARGEST_STEP)


def _remember(state: DialectState, name: str, value: object) -> bool:
    if name not in state and len(state) >= _MAX_KNOWN:
        return False
    state[name] = value
    return True


KINDS = (
    LineKind(pattern=re.compile(rb": opCount [0-9a-f]"), parse=_call),
    LineKind(pattern=re.compile(rb"- Init (?:START|COMPLETE)"), parse=_init),
    LineKind(pattern=re.compile(rb"Init timings"), parse=_timings),
    LineKind(pattern=re.compile(rb"NCCL WARN"), parse=_warning),
    LineKind(pattern=re.compile(rb"Got completion "), parse=_completion),
)
