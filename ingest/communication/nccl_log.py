"""Lines that NCCL and RCCL print with NCCL_DEBUG, and PyTorch's ProcessGroupNCCL when a collective times out.

They state communicators, calls of collectives, warnings, network errors and each rank's progress.
"""

from __future__ import annotations

import re
from zlib import crc32

from holter.ingest.communication.labels import SEQUENCE, series_labels
from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_time
from holter.ingest.step_columns import LARGEST_STEP

_PROCESS = re.compile(r"([\w.-]{1,100}:\d{1,9}):\d{1,9} \[\d{1,3}\]")
_CALL = re.compile(
    r": opCount ([0-9a-f]{1,15}) sendbuff (?:0x[0-9a-f]+|\(nil\)) recvbuff (?:0x[0-9a-f]+|\(nil\))"
    r" count (\d{1,19}) datatype (\d{1,3}) op (\d{1,9}) root (-?\d{1,9}) comm (0x[0-9a-f]{1,16})"
    r" \[nranks=(\d{0,7})"
)
_INIT = re.compile(
    r"comm (0x[0-9a-f]{1,16}) rank (\d{1,7}) nranks (\d{1,7}) .{0,300}?"
    r"(?:commId (0x[0-9a-f]{1,16}) .{0,300}?)?- Init (START|COMPLETE)"
)
_TIMINGS = re.compile(r"Init timings.{0,60}?rank (\d{1,7}) nranks \d+ total (\d+(?:\.\d+)?)")
_COMPLETION = re.compile(
    r"Got completion (?:from peer ([^\s<]{1,100})\S* )?with (?:error |status=)(?:\w+\()?(\d{1,3})"
)
_RANK_PREFIX = re.compile(r"\[rank(\d{1,7})\]:")
_IN_GROUP = re.compile(
    r"\[(?:PG (?:ID )?(?P<number>\d{1,9}) )?(?:PG GUID (?P<guid>[^\]]{1,150}?) )?Rank (?P<rank>\d{1,7})\]"
)
_WORK = re.compile(
    r"WorkNCCL\(SeqNum=(?P<seq>\d{1,18}), OpType=(?P<op>\w{1,40}).{0,400}?"
    r"\) ran for (?P<ms>\d{1,15}) milliseconds"
)
_AT_WORK = re.compile(
    r"(?:detected by watchdog at work|Timeout at (?:NCCL work|collective)): (?P<seq>\d{1,18})"
)
_LAST = re.compile(r"last (enqueued|started|completed)(?: NCCL)? work: (-?\d{1,18})")

_ITEM_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""Bytes of an element by NCCL's datatype: int8 ... float8e5m2."""
_POINT_TO_POINT = frozenset({"Send", "Recv"})
_MAX_KNOWN = 8192
"""Bound of communicators and counters per output. Beyond it, calls have no rank, new counters no value."""


def _call(line: str, state: DialectState) -> list[LineValues] | None:
    """A call of a collective. Steps are the order of enqueueing; there is no time or duration."""
    match = _CALL.search(line)
    if match is None:
        return None
    collective = line[: match.start()].rpartition(" ")[2][:40]
    count, datatype = int(match[2]), int(match[3])
    step, size = int(match[1], 16), count * (_ITEM_BYTES[datatype] if datatype < len(_ITEM_BYTES) else 0)
    process = _process(line[: match.start()])
    communicator = state.get(f"comm {process} {match[6]}")
    rank, comm = communicator or (None, _communicator_name(state, process, match[6], match[7]))
    labels = {"comm": comm, **_process_labels(process, rank)}
    call = {"nccl_op_count": float(step)}
    if collective not in _POINT_TO_POINT and _is_first_call(state, f"at {process} {match[6]}", step):
        call["nccl_call"] = float(crc32(f"{collective} {count} {datatype} {match[4]}".encode()))
        call["nccl_datatype"] = float(datatype)
    totals = {"message_bytes": float(size)}
    calls, total = state.get(counter := f"calls {process} {match[6]} {collective}", (0, 0))
    if _remember(state, counter, (calls + 1, total + size)):
        totals |= {"nccl_calls": calls + 1.0, "nccl_bytes": float(total + size)}
    return [
        LineValues(step, call, labels=series_labels("opCount", **labels)),
        LineValues(step, totals, labels=series_labels("opCount", collective=collective, **labels)),
    ]


def _init(line: str, state: DialectState) -> LineValues | None:
    """A communicator's initialization: the process's rank in it, and its id if that is printed."""
    match = _INIT.search(line)
    if match is None:
        return None
    pointer, rank, ranks, comm, stage = match.groups()
    process = _process(line[: match.start()])
    comm = comm or _communicator_name(state, process, pointer, ranks)
    _remember(state, f"comm {process} {pointer}", (rank, comm))
    if int(ranks) >= state.get(f"rank {process}", (0, ""))[0]:
        _remember(state, f"rank {process}", (int(ranks), rank))
    if stage == "START":
        return None
    number = _count(state, f"communicators {process}")
    # a process has a rank in each of its communicators: that in the largest one identifies it
    labels = series_labels("communicators", **_process_labels(process, _rank(state, process)))
    return LineValues(number, {"nccl_communicator_ranks": float(ranks)}, labels=labels)


def _communicator_name(state: DialectState, process: str, pointer: str, ranks: str) -> str:
    """A name such as "4 ranks" for a communicator of which only the address within its process is known.

    Several of one size in a process are numbered in the order of their appearance.
    """
    name: str | None = state.get(key := f"named {process} {pointer}")
    if name is None:
        number = int(state.get(counter := f"sized {process} {ranks}", 0)) + 1
        name = f"{ranks} ranks" if number == 1 else f"{ranks} ranks ({number})"
        if _remember(state, key, name):
            _remember(state, counter, number)
    return name


def _is_first_call(state: DialectState, name: str, step: int) -> bool:
    """Whether a call is the first at its opCount, which all calls of an NCCL group share."""
    if state.get(name) == step:
        return False
    _remember(state, name, step)
    return True


def _timings(line: str, state: DialectState) -> LineValues | None:
    """The duration of a communicator's initialization."""
    match = _TIMINGS.search(line)
    if match is None:
        return None
    process = _process(line[: match.start()])
    labels = series_labels("communicators", **_process_labels(process, _rank(state, process) or match[1]))
    number = _count(state, f"timings {process}")
    return LineValues(number, {"nccl_init_seconds": float(match[2])}, labels=labels)


def _warning(line: str, state: DialectState) -> list[LineValues]:
    """A warning, counted by process, and the network error in it if there is one."""
    process = _process(line.partition("NCCL WARN")[0])
    number = _count(state, f"warnings {process}")
    labels = series_labels("warnings", **_process_labels(process, _rank(state, process)))
    return [
        LineValues(number, {"nccl_warnings": float(number)}, parse_time(line), labels),
        *_completion(line, state),
    ]


def _completion(line: str, state: DialectState) -> list[LineValues]:
    """A failed transfer: status 12 means a lost peer or link, 5 is a consequence of another failure."""
    match = _COMPLETION.search(line)
    if match is None:
        return []
    process = _process(line[: match.start()])
    number = _count(state, f"completions {process} {match[1]} {match[2]}")
    labels = series_labels(
        "errors", status=match[2], peer=match[1], **_process_labels(process, _rank(state, process))
    )
    return [LineValues(number, {"nccl_network_errors": float(number)}, parse_time(line), labels)]


def _process(before: str) -> str:
    """host:pid of the last prefix in a text, since lines of several processes may be joined; "" if none."""
    processes = [prefix[1] for prefix in _PROCESS.finditer(before)]
    return processes[-1] if processes else ""


def _rank(state: DialectState, process: str) -> str | None:
    """A process's rank in the largest of its communicators; None if unknown."""
    rank: str | None = state.get(f"rank {process}", (0, None))[1]
    return rank


def _process_labels(process: str, rank: str | None) -> dict[str, str | None]:
    """Labels of a process: its host, and its rank if known, else host:pid."""
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


def _timeout(line: str, state: DialectState) -> LineValues | None:
    """A collective that timed out, or the rank's last collectives. No time: the dates have no year."""
    work = _WORK.search(line)
    if work is not None:
        values = {"nccl_timeouts": 1.0, "collective_waited (ms)": float(work["ms"])}
        return _timeout_values(int(work["seq"]), values, line, collective=work["op"])
    match = _AT_WORK.search(line)
    numbers = {stage: int(number) for stage, number in _LAST.findall(line)}
    if match is None or not numbers:
        return None
    enqueued = numbers.get("enqueued", LARGEST_STEP)
    values = {
        f"last_{stage}_collective": float(number)
        for stage, number in numbers.items()
        if -1 <= number <= enqueued
    }
    return _timeout_values(int(match["seq"]), values, line)


def _timeout_values(step: int, values: dict[str, float], line: str, **more: str) -> LineValues | None:
    if step > LARGEST_STEP:
        return None
    prefixes, groups = _RANK_PREFIX.findall(line), list(_IN_GROUP.finditer(line))
    group = groups[-1] if groups else None
    # the rank in brackets is that within the group, the prefix has the rank within the job
    rank = prefixes[-1] if prefixes else group["rank"] if group else None
    group_name = (group["guid"] or group["number"]) if group else None
    return LineValues(
        step, values, labels=series_labels(SEQUENCE, rank=rank, process_group=group_name, **more)
    )


KINDS = (
    LineKind(pattern=re.compile(rb": opCount [0-9a-f]"), parse=_call),
    LineKind(pattern=re.compile(rb"- Init (?:START|COMPLETE)"), parse=_init),
    LineKind(pattern=re.compile(rb"Init timings"), parse=_timings),
    LineKind(pattern=re.compile(rb"NCCL WARN"), parse=_warning),
    LineKind(pattern=re.compile(rb"Got completion "), parse=_completion),
    LineKind(pattern=re.compile(rb"ProcessGroupNCCL\.cpp:\d"), parse=_timeout),
)
