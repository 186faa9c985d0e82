"""A collective that never ends: who has called it and waits, and who has not come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import duration
from holter.detectors.positions import span_of
from holter.detectors.ranks.naming import describe_call, describe_ranks, rank_as_evidence
from holter.detectors.ranks.rank_matrix import hosts_of_ranks
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity, labels_of

_TOLD = {
    "last_enqueued_collective": "enqueued",
    "last_started_collective": "started",
    "last_completed_collective": "completed",
    "collective_waited (ms)": "waited",
    "process_group_member": "member",
}
_SHOWN = 16
_MOST_RANKS = 65_536


@dataclass(frozen=True)
class HangDetector:
    """Reads what PyTorch's watchdog and its Flight Recorder say when a collective has timed out.

    Who prints is the victim: it waits. Suspects are ranks that have not enqueued what the others wait for,
    that wait for an earlier call, or that print nothing at all. Dumps without time-outs are a warning: they
    may be of a moment of a job that goes on.
    """

    name: ClassVar[str] = "hang"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per attempt: a hang in one group makes the others time out."""
        found: dict[int, Finding] = {}
        for (attempt, group), told in sorted(_groups(run).items()):
            finding = _finding(run, attempt, group, told)
            known = found.get(attempt)
            if finding is not None and (
                known is None or (finding.evidence["count"] and not known.evidence["count"])
            ):
                found[attempt] = finding
        yield from found.values()


@dataclass
class _Group:
    """What the ranks of a process group say; numbers by rank, `waited` as (collective's number, ms)."""

    enqueued: dict[str, int] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    waited: dict[str, tuple[int, float]] = field(default_factory=dict)
    operation: dict[str, str] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)


def _groups(run: RunData) -> dict[tuple[int, str], _Group]:
    """What is told of each group in each attempt."""
    found: dict[tuple[int, str], _Group] = {}
    for key in sorted(run.series):
        labels = dict(key.labels)
        what, rank = _TOLD.get(key.metric), labels.get("rank")
        if what is None or rank is None or key.own_steps is None:
            continue
        for attempt in np.unique(run.series[key].attempt).tolist():
            group = found.setdefault((attempt, labels.get("process_group", "")), _Group())
            _take(group, what, rank, labels, run.series[key], attempt)
    for attempt, unnamed in [place for place in found if not place[1]]:
        # up to PyTorch 2.3 a time-out does not name its group; what follows it does
        named = [other for other in found if other[0] == attempt and other[1]]
        if len(named) == 1:
            told = found.pop((attempt, unnamed))
            found[named[0]].waited.update(told.waited)
            found[named[0]].operation.update(told.operation)
    return {place: told for place, told in found.items() if told.enqueued or told.waited}


def _take(
    group: _Group, what: str, rank: str, labels: Mapping[str, str], series: Series, attempt: int
) -> None:
    rows = span_of(series, attempt).rows
    step, value = int(series.step[rows][-1]), float(series.value[rows][-1])
    if not np.isfinite(value):
        return
    if what == "waited":
        group.waited[rank] = step, value
        group.operation[rank] = labels.get("collective", "")
    elif what == "member":
        group.members.add(rank)
    else:
        getattr(group, what)[rank] = int(np.clip(value, -1, 2**53))


def _finding(run: RunData, attempt: int, group: str, told: _Group) -> Finding | None:
    """What hangs in a group, None where nothing does, or a dump tells of nobody who is behind."""
    number = _waited_for(told)
    if number is None:
        return None
    suspects, why = _suspects(run, group, told, number)
    if not suspects and not told.waited:
        return None
    what = _words(run, attempt, group, told, number)
    victims = _by_number((told.waited.keys() or told.enqueued.keys()) - set(suspects))
    hosts = hosts_of_ranks(run, suspects)
    waited = max((ms for _, ms in told.waited.values()), default=0.0)
    start = min([number, *(step for step, _ in told.waited.values())])
    where = f"collective {number:,} ({what}){'' if told.waited else ' at the time of the dumps'}"
    return Finding(
        kind=Kind.DESYNC,
        metric="last_enqueued_collective",
        labels=_labels(group, None),
        attempt=attempt,
        start_step=start,
        detected_step=start,
        classified_step=start,
        severity=Severity.CRITICAL if told.waited else Severity.WARNING,
        confidence=0.9 if told.waited else 0.7,
        summary=_summary(victims, suspects, why, where, waited),
        advice=_advice(suspects, hosts),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in suspects[:_SHOWN]],
            "count": len(suspects),
            "sequence": number,
            "collective": what,
            "waiting": [rank_as_evidence(rank) for rank in victims[:_SHOWN]],
            **({"waited_ms": waited} if waited else {}),
            **({"hosts": hosts[:_SHOWN]} if hosts else {}),
        },
    )


def _summary(victims: list[str], suspects: list[str], why: str, where: str, waited: float) -> str:
    for_long = f" for {duration(waited / 1e3)}" if waited else ""
    who = describe_ranks(victims) if victims else "nobody"
    waits = f"{who[0].upper()}{who[1:]} {'wait' if len(victims) > 1 else 'waits'}{for_long} in {where}"
    if not suspects:
        return f"{waits}, and of no rank is it known that it did not call it."
    return f"{waits}; {describe_ranks(suspects)}: {why}."


def _advice(suspects: list[str], hosts: list[str]) -> str:
    if not suspects:
        return (
            "Look for ranks that printed no time-out: they are the suspects. If all of them did, it is the "
            "network or a GPU: see the kernel's log (XID, NVLink), NCCL's warnings, the switches."
        )
    where = f" on {', '.join(hosts[:4])}" if hosts else ""
    return (
        f"Look at {describe_ranks(suspects)}{where}: the stack of the process (py-spy dump), the kernel's log (XID), "
        "whether it still runs. Ranks that print time-outs are those that wait, not the cause."
    )


def _waited_for(told: _Group) -> int | None:
    """The number of the collective that most wait for, None where nobody does."""
    if told.waited:
        numbers = Counter(step for step, _ in told.waited.values())
        return max(numbers, key=lambda one: (numbers[one], one))
    if len(told.enqueued) < 2 or not told.completed:
        return None
    return max(told.completed.values()) + 1


def _suspects(run: RunData, group: str, told: _Group, number: int) -> tuple[list[str], str]:
    """The ranks that others wait for, and what tells so."""
    behind = [rank for rank, last in told.enqueued.items() if last < number]
    waiting = [rank for rank, last in told.enqueued.items() if last >= number]
    if behind and (waiting or told.waited):
        last = min(told.enqueued[rank] for rank in behind)
        return _by_number(behind), f"not called, the last is {last:,}"
    if not told.waited:
        started = told.started
        done = {rank for rank in waiting if told.completed.get(rank) == number - 1}
        idle = [rank for rank in done if -1 < started.get(rank, -1) < number]
        if idle and any(started.get(rank, -1) >= number for rank in waiting):
            return _by_number(idle), "queued, not begun, the GPU is busy with earlier work"
        return [], ""
    earlier = [rank for rank, (step, _) in told.waited.items() if step < number]
    if earlier:
        first = min(told.waited[rank][0] for rank in earlier)
        return _by_number(earlier), f"still in collective {first:,}"
    silent = _all_ranks(run, group, told) - told.waited.keys()
    silent = {rank for rank in silent if rank not in told.enqueued}
    if silent and 2 * len(silent) <= len(silent | told.waited.keys()):
        return _by_number(silent), "no time-out printed, so elsewhere or gone"
    return [], ""


def _all_ranks(run: RunData, group: str, told: _Group) -> set[str]:
    """The ranks of a group: as a dump lists them; of the group of all, those of the job."""
    if told.members:
        return told.members
    if group.partition("(")[0] not in ("", "0"):
        return set()
    ranks = {dict(key.labels).get("rank", "") for key in run.series if "comm" not in dict(key.labels)}
    sizes = [
        float(one.value[np.isfinite(one.value)].max(initial=0))
        for key, one in run.series.items()
        if key.metric == "nccl_communicator_ranks"
    ]
    size = int(min(max(sizes, default=0), _MOST_RANKS))
    return {rank for rank in ranks if rank.isdecimal()} | set(map(str, range(size)))


def _words(run: RunData, attempt: int, group: str, told: _Group, number: int) -> str:
    """The collective in words: of a dump with its size, of the watchdog its operation."""
    known = [rank for rank, last in told.enqueued.items() if last >= number]
    for rank in _by_number(known)[:4]:
        said = describe_call(run, SeriesKey("", _labels(group, rank)), attempt, number)
        if said != "another collective":
            return said
    operations = [word for word in told.operation.values() if word]
    return operations[0] if operations else "a collective"


def _labels(group: str, rank: str | None) -> tuple[tuple[str, str], ...]:
    said = {"steps": "sequence number", "process_group": group, "rank": rank}
    return labels_of({name: value for name, value in said.items() if value})


def _by_number(ranks: Iterable[str]) -> list[str]:
    return sorted(ranks, key=lambda rank: (not rank.isdecimal(), int(rank) if rank.isdecimal() else 0, rank))
