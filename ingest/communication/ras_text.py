"""Text output of NCCL's RAS: `ncclras` reports on a running job's communicators, `ncclras -m` prints events.

Sources: NCCL 2.24 to 2.30, src/ras/client_support.cc. NCCL declares the text unstable, so lines are
recognized by their words, not by their position in a table.
"""

from __future__ import annotations

import re

from holter.ingest.communication.labels import series_labels
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.console.text.values import parse_time
from holter.ingest.format import Content, FormatRole

REPORTS, EVENTS = "RAS reports", "RAS events"
MISSING, DEAD = 1.0, 2.0
"""Values of `nccl_missing` for a rank or process: it did not respond, or RAS considers it dead."""

_VERSION = re.compile(r"NCCL version (\S{1,60}) compiled")
_GROUP = re.compile(
    r"\s*\d{1,9}\s+(\d{1,9})\s+[\d-]{1,20}\s+[\d-]{1,20}\s+[\d-]{1,20}\s+\d{1,9}\s+"
    r"(NOCOMM|INIT|RUNNING|FINALIZE|ABORT)\s+([A-Z,]{2,60})"
)
_COMM = re.compile(r"#\d{1,9}-\d{1,9} \(([0-9a-f]{1,16})\) ([A-Z,]{2,60})")
_DIFFERENT = re.compile(r"ranks have different (?:(\w{1,40}) )?operation counts")
_COUNT = r"(?:launched up to operation (\d{1,15})|(not) launched any operations)"
_MOST_COMMON_COUNT = re.compile(rf"\s*(\d{{1,9}}) ranks have {_COUNT}")
_RANK = re.compile(rf"\s*Rank (\d{{1,7}})(?: has {_COUNT})?(?: has status \w+)? -- (.*)")
_RANK_LOCATION = re.compile(r"GPU (\d{1,4})\b.*? managed by process (\d{1,10}) on node (\S{1,100})")
_MISSING_RANKS = re.compile(r"\s*The missing ranks?: ([\d, -]{1,4000})")
_PROCESS = re.compile(r"\s*Process (\d{1,10}) on node (\S{1,100}) managing GPUs? ([\d,]{1,100})")
_TIMEOUTS = re.compile(r"Encountered (\d{1,9}) communication timeouts?")
_EVENT = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ([A-Z]{2,20}(?:_[A-Z]{2,20}){1,4}):")
_MAX_KNOWN = 4096
_MAX_LISTED = 1024


def _report(line: str, state: DialectState) -> LineSettings | None:
    """The begin of a report; its number is the step of all its values."""
    version = _VERSION.search(line)
    number = state.get("report", 0) + 1
    events = {name: value for name, value in state.items() if name.startswith("event ")}
    state.clear()
    state.update(events, report=number)
    return LineSettings({"nccl.version": version[1]}) if version and number == 1 else None


def _group(line: str, state: DialectState) -> LineValues | None:
    """A row of the summary: the number of communicators by status and errors, summed over the groups."""
    match = _GROUP.match(line)
    if match is None:
        return None
    name = f"group {match[2]} {match[3]}"
    state[name] = state.get(name, 0) + int(match[1])
    labels = series_labels(REPORTS, status=match[2], errors=match[3])
    return LineValues(_step(state), {"nccl_communicators": float(state[name])}, labels=labels)


def _comm(line: str, state: DialectState) -> None:
    """The communicator that the following details are about."""
    match = _COMM.search(line)
    if match is not None:
        state.update(comm=communicator_id(match[1]), what=match[2], most=0, collective="", count=None)


def _section(line: str, state: DialectState) -> None:
    """The heading of a list of processes that did not respond or are dead."""
    state.update(comm="", what=line.strip())


def _different(line: str, state: DialectState) -> None:
    """The heading of counts of one collective; before NCCL 2.26 of all collectives together."""
    match = _DIFFERENT.search(line)
    if match is not None:
        state.update(most=0, collective="" if match[1] in (None, "collective") else match[1], count=None)


def _most(line: str, state: DialectState) -> LineValues | None:
    """A count of operations and its number of ranks; the count that most ranks have is the communicator's."""
    match = _MOST_COMMON_COUNT.match(line)
    if match is None or not state.get("comm"):
        return None
    state["count"] = int(match[2] or 0)
    if int(match[1]) <= state.get("most", 0):
        return None
    state["most"] = int(match[1])
    return LineValues(_step(state), {"nccl_most_op_count": float(state["count"])}, labels=_labels(state))


def _rank(line: str, state: DialectState) -> LineValues | None:
    """A rank with another count than most, or one that did not respond."""
    match = _RANK.match(line)
    if match is None or not state.get("comm"):
        return None
    rank, launched, no_operations, rest = match.groups()
    location = _RANK_LOCATION.match(rest)
    labels = _labels(state, rank=rank, host=location[3] if location else None)
    if state.get("what") == "INCOMPLETE":
        return LineValues(_step(state), {"nccl_missing": MISSING}, labels=labels)
    has_own_count = launched is not None or no_operations is not None
    count = (int(launched) if launched else 0) if has_own_count else state.get("count")
    return None if count is None else LineValues(_step(state), {"nccl_op_count": float(count)}, labels=labels)


def _missing_ranks(line: str, state: DialectState) -> list[LineValues]:
    """Ranks that did not respond, as NCCL up to 2.25 lists them: "1-3,7"."""
    match = _MISSING_RANKS.match(line)
    if match is None or not state.get("comm"):
        return []
    missing: list[LineValues] = []
    for part in match[1].split(","):
        first, _, last = (bound.strip() for bound in part.partition("-"))
        if first.isdecimal() and (not last or last.isdecimal()) and len(first + last) < 15:
            ranks = range(int(first), int(last or first) + 1)[: _MAX_LISTED - len(missing)]
            missing += [
                LineValues(_step(state), {"nccl_missing": MISSING}, labels=_labels(state, rank=str(rank)))
                for rank in ranks
            ]
    return missing


def _process(line: str, state: DialectState) -> LineValues | None:
    """A process that did not respond, or a dead one."""
    match = _PROCESS.match(line)
    if match is None or state.get("comm") or state.get("what") not in ("INCOMPLETE", "DEAD"):
        return None
    labels = series_labels(REPORTS, process=f"{match[2]}:{match[1]}", host=match[2], gpu=match[3])
    value = DEAD if state["what"] == "DEAD" else MISSING
    return LineValues(_step(state), {"nccl_missing": value}, labels=labels)


def _timeouts(line: str, state: DialectState) -> LineValues | None:
    match = _TIMEOUTS.search(line)
    if match is None:
        return None
    return LineValues(_step(state), {"nccl_ras_timeouts": float(match[1])}, labels=series_labels(REPORTS))


def _event(line: str, state: DialectState) -> LineValues | None:
    """An event of a process that the monitor prints, counted by event and process."""
    match = _EVENT.search(line)
    if match is None:
        return None
    peer = _PROCESS.match(line[match.end() :])
    process = f"{peer[2]}:{peer[1]}" if peer else None
    name = f"event {match[1]} {process}"
    if name not in state and len(state) >= _MAX_KNOWN:
        return None
    state[name] = state.get(name, 0) + 1
    labels = series_labels(EVENTS, event=match[1], process=process, host=peer[2] if peer else None)
    return LineValues(state[name], {"nccl_peer_events": float(state[name])}, parse_time(line), labels)


def communicator_id(digits: str) -> str:
    """A communicator's hash in the form of `commId` in NCCL's INIT lines."""
    return f"0x{digits.lstrip('0') or '0'}"


def _step(state: DialectState) -> int:
    return int(state.get("report", 0)) or 1


def _labels(state: DialectState, **more: str | None) -> tuple[tuple[str, str], ...]:
    return series_labels(REPORTS, comm=state.get("comm"), collective=state.get("collective"), **more)


DIALECT = ConsoleDialect(
    name="nccl-ras",
    signature=re.compile(
        rb"NCCL version \S+ compiled with CUDA|Group     Comms     Nodes     Ranks"
        rb"|(?m:^\[[\d :-]{19}\] PEER_[A-Z_]+: )"
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"NCCL version \S+ compiled with"), parse=_report, yields_settings=True),
        LineKind(pattern=re.compile(rb" (?:NOCOMM|INIT|RUNNING|FINALIZE|ABORT) +[A-Z,]{2}"), parse=_group),
        LineKind(pattern=re.compile(rb"(?m)^#\d+-\d+ \([0-9a-f]+\) [A-Z]"), parse=_comm),
        LineKind(pattern=re.compile(rb"(?m)^(?:INCOMPLETE|DEAD|TIMEOUT) *\r?$"), parse=_section),
        LineKind(pattern=re.compile(rb"ranks have different "), parse=_different),
        LineKind(pattern=re.compile(rb" ranks have (?:not )?launched "), parse=_most),
        LineKind(pattern=re.compile(rb"Rank \d+(?: has [^\n]{5,60})? -- "), parse=_rank),
        LineKind(pattern=re.compile(rb"The missing ranks?: "), parse=_missing_ranks),
        LineKind(pattern=re.compile(rb"(?m)^ +Process \d+ on node "), parse=_process),
        LineKind(pattern=re.compile(rb"Encountered \d+ communication timeout"), parse=_timeouts),
        LineKind(pattern=re.compile(rb"\] PEER_[A-Z_]+:"), parse=_event),
    ),
)


class RasText(ConsoleLog):
    """Reports of `ncclras`, one after another in a file, and events that `ncclras -m` prints.

    The step is a report's number, or 1 without a head. Reports have no times; events have local ones.
    """

    @property
    def role(self) -> FormatRole:
        """Text whose series have steps of their own."""
        return FormatRole(content=Content.OWN_STEPS, in_text=True)

    def __init__(self) -> None:
        super().__init__(DIALECT)
