"""Hang: a collective never ends; finds the ranks that wait in it and the ranks that did not call it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import duration
from holter.detectors.positions import rows_of_attempt
from holter.detectors.ranks.naming import describe_call, describe_ranks, rank_as_evidence
from holter.detectors.ranks.rank_matrix import hosts_of_ranks
from holter.detectors.thresholds import Thresholds
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity, labels_of

_FIELD_OF_METRIC = {
    "last_enqueued_collective": "enqueued",
    "last_started_collective": "started",
    "last_completed_collective": "completed",
    "collective_waited (ms)": "waited",
    "process_group_member": "member",
}
_MAX_LISTED_RANKS = 16
_MAX_RANKS = 65_536
"""Ranks of a job that are enumerated, whatever a log states."""


@dataclass(frozen=True, kw_only=True)
class HangThresholds(Thresholds):
    """When ranks are suspects of a hang, and how certain a finding is."""

    min_enqueuing_ranks: int = 2
    """Ranks. Dumps of fewer show no rank that is behind the others."""
    max_silent_share: float = 0.5
    """Share of the ranks without a time-out up to which these are suspects: more may not be logged."""
    timeout_confidence: float = 0.9
    """Confidence of a hang with reported time-outs."""
    dump_confidence: float = 0.7
    """Confidence of a hang that only dumps show: they may be of a moment of a job that continues."""


@dataclass(frozen=True)
class HangDetector:
    """Reads the messages of PyTorch's watchdog and the dumps of its Flight Recorder after a time-out.

    Ranks that report a time-out are the victims: they wait. Suspects are ranks that have not enqueued what
    the others wait for, that wait in an earlier call, or that report nothing at all. Dumps without time-outs
    are only a warning: they may be of a moment of a job that continues.
    """

    name: ClassVar[str] = "hang"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})
    thresholds: HangThresholds = HangThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per attempt: a hang in one group makes the others time out."""
        findings: dict[int, Finding] = {}
        for (attempt, group), reports in sorted(_reports_by_group(run).items()):
            finding = _finding(run, attempt, group, reports, self.thresholds)
            known = findings.get(attempt)
            if finding is not None and (
                known is None or (finding.evidence["count"] and not known.evidence["count"])
            ):
                findings[attempt] = finding
        yield from findings.values()


@dataclass
class _GroupReports:
    """What the ranks of a process group report: numbers by rank, `waited` as (collective's number, ms)."""

    enqueued: dict[str, int] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    waited: dict[str, tuple[int, float]] = field(default_factory=dict)
    operation: dict[str, str] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)


def _reports_by_group(run: RunData) -> dict[tuple[int, str], _GroupReports]:
    """The reports of each attempt and process group."""
    groups: dict[tuple[int, str], _GroupReports] = {}
    for key in sorted(run.series):
        labels = dict(key.labels)
        field_name, rank = _FIELD_OF_METRIC.get(key.metric), labels.get("rank")
        if field_name is None or rank is None or key.step_unit is None:
            continue
        for attempt in np.unique(run.series[key].attempt).tolist():
            group = groups.setdefault((attempt, labels.get("process_group", "")), _GroupReports())
            _add_report(group, field_name, rank, labels, run.series[key], attempt)
    for attempt, unnamed in [identity for identity in groups if not identity[1]]:
        # up to PyTorch 2.3 a time-out does not name its group; the messages that follow do
        named = [identity for identity in groups if identity[0] == attempt and identity[1]]
        if len(named) == 1:
            reports = groups.pop((attempt, unnamed))
            groups[named[0]].waited.update(reports.waited)
            groups[named[0]].operation.update(reports.operation)
    return {identity: reports for identity, reports in groups.items() if reports.enqueued or reports.waited}


def _add_report(
    group: _GroupReports, field_name: str, rank: str, labels: Mapping[str, str], series: Series, attempt: int
) -> None:
    rows = rows_of_attempt(series, attempt).rows
    step, value = int(series.step[rows][-1]), float(series.value[rows][-1])
    if not np.isfinite(value):
        return
    if field_name == "waited":
        group.waited[rank] = step, value
        group.operation[rank] = labels.get("collective", "")
    elif field_name == "member":
        group.members.add(rank)
    else:
        getattr(group, field_name)[rank] = int(np.clip(value, -1, 2**53))


def _finding(
    run: RunData, attempt: int, group: str, reports: _GroupReports, limits: HangThresholds
) -> Finding | None:
    """The hang of a group; None where nothing hangs, or where a dump shows no rank that is behind."""
    number = _waited_for(reports, limits)
    if number is None:
        return None
    suspects, why = _suspects(run, group, reports, number, limits)
    if not suspects and not reports.waited:
        return None
    collective = _describe_collective(run, attempt, group, reports, number)
    victims = _sort_ranks((reports.waited.keys() or reports.enqueued.keys()) - set(suspects))
    hosts = hosts_of_ranks(run, suspects)
    waited = max((ms for _, ms in reports.waited.values()), default=0.0)
    start = min([number, *(step for step, _ in reports.waited.values())])
    where = f"collective {number:,} ({collective}){'' if reports.waited else ' at the time of the dumps'}"
    return Finding(
        kind=Kind.DESYNC,
        metric="last_enqueued_collective",
        labels=_labels(group, None),
        attempt=attempt,
        start_step=start,
        detected_step=start,
        classified_step=start,
        severity=Severity.CRITICAL if reports.waited else Severity.WARNING,
        confidence=limits.timeout_confidence if reports.waited else limits.dump_confidence,
        summary=_summary(victims, suspects, why, where, waited),
        advice=_advice(suspects, hosts),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in suspects[:_MAX_LISTED_RANKS]],
            "count": len(suspects),
            "sequence": number,
            "collective": collective,
            "waiting": [rank_as_evidence(rank) for rank in victims[:_MAX_LISTED_RANKS]],
            **({"waited_ms": waited} if waited else {}),
            **({"hosts": hosts[:_MAX_LISTED_RANKS]} if hosts else {}),
        },
    )


def _summary(victims: list[str], suspects: list[str], why: str, where: str, waited: float) -> str:
    for_long = f" for {duration(waited / 1e3)}" if waited else ""
    who = describe_ranks(victims) if victims else "no known rank"
    waits = f"{who[0].upper()}{who[1:]} {'wait' if len(victims) > 1 else 'waits'}{for_long} in {where}"
    if not suspects:
        return f"{waits}; the logs do not show which rank did not call it."
    return f"{waits}; {describe_ranks(suspects)}: {why}."


def _advice(suspects: list[str], hosts: list[str]) -> str:
    if not suspects:
        return (
            "Look for ranks that printed no time-out: they are the suspects. If all ranks did, the cause is "
            "the network or a GPU: check the kernel's log (XID, NVLink), NCCL's warnings, the switches."
        )
    where = f" on {', '.join(hosts[:4])}" if hosts else ""
    return (
        f"Check {describe_ranks(suspects)}{where}: the stack of the process (py-spy dump), the kernel's log "
        "(XID), whether it still runs. Ranks that print time-outs are those that wait, not the cause."
    )


def _waited_for(reports: _GroupReports, limits: HangThresholds) -> int | None:
    """The number of the collective that most ranks wait in; None where no rank waits."""
    if reports.waited:
        numbers = Counter(step for step, _ in reports.waited.values())
        return max(numbers, key=lambda number: (numbers[number], number))
    if len(reports.enqueued) < limits.min_enqueuing_ranks or not reports.completed:
        return None
    return max(reports.completed.values()) + 1


def _suspects(
    run: RunData, group: str, reports: _GroupReports, number: int, limits: HangThresholds
) -> tuple[list[str], str]:
    """The ranks that others wait for, and the reason to suspect them."""
    behind = [rank for rank, last in reports.enqueued.items() if last < number]
    waiting = [rank for rank, last in reports.enqueued.items() if last >= number]
    if behind and (waiting or reports.waited):
        last = min(reports.enqueued[rank] for rank in behind)
        return _sort_ranks(behind), f"not called, the last is {last:,}"
    if not reports.waited:
        started = reports.started
        done = {rank for rank in waiting if reports.completed.get(rank) == number - 1}
        idle = [rank for rank in done if -1 < started.get(rank, -1) < number]
        if idle and any(started.get(rank, -1) >= number for rank in waiting):
            return _sort_ranks(idle), "queued but not started, the GPU is busy with earlier work"
        return [], ""
    earlier = [rank for rank, (step, _) in reports.waited.items() if step < number]
    if earlier:
        first = min(reports.waited[rank][0] for rank in earlier)
        return _sort_ranks(earlier), f"still in collective {first:,}"
    silent = _all_ranks(run, group, reports) - reports.waited.keys()
    silent = {rank for rank in silent if rank not in reports.enqueued}
    if silent and len(silent) <= limits.max_silent_share * len(silent | reports.waited.keys()):
        return _sort_ranks(silent), "no time-out printed, so it is elsewhere or has ended"
    return [], ""


def _all_ranks(run: RunData, group: str, reports: _GroupReports) -> set[str]:
    """The ranks of a group as a dump lists them; for the default group, the ranks of the job."""
    if reports.members:
        return reports.members
    if group.partition("(")[0] not in ("", "0"):
        return set()
    ranks = {key.rank or "" for key in run.series if key.label("comm") is None}
    sizes = [
        float(series.value[np.isfinite(series.value)].max(initial=0))
        for key, series in run.series.items()
        if key.metric == "nccl_communicator_ranks"
    ]
    size = int(min(max(sizes, default=0), _MAX_RANKS))
    return {rank for rank in ranks if rank.isdecimal()} | set(map(str, range(size)))


def _describe_collective(run: RunData, attempt: int, group: str, reports: _GroupReports, number: int) -> str:
    """The collective in words: with its size from a dump, or else its operation from the watchdog."""
    known = [rank for rank, last in reports.enqueued.items() if last >= number]
    for rank in _sort_ranks(known)[:4]:
        call = describe_call(run, SeriesKey("", _labels(group, rank)), attempt, number)
        if call != "another collective":
            return call
    operations = [operation for operation in reports.operation.values() if operation]
    return operations[0] if operations else "a collective"


def _labels(group: str, rank: str | None) -> tuple[tuple[str, str], ...]:
    labels = {"steps": "sequence number", "process_group": group, "rank": rank}
    return labels_of({name: value for name, value in labels.items() if value})


def _sort_ranks(ranks: Iterable[str]) -> list[str]:
    return sorted(ranks, key=lambda rank: (not rank.isdecimal(), int(rank) if rank.isdecimal() else 0, rank))
