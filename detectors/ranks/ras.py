"""Reads consecutive reports of NCCL's RAS: ranks that have stopped while others wait, and lost ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.positions import rows_of_attempt
from holter.detectors.ranks.naming import describe_ranks, rank_as_evidence, rank_or_process
from holter.detectors.ranks.rank_matrix import hosts_of_ranks
from holter.detectors.thresholds import Thresholds
from holter.plurals import verb
from holter.types import Finding, FloatArray, Kind, Labels, RunData, Series, Severity, labels_of

REPORTS = "RAS reports"
"""The unit of the steps of these series."""
_COUNT_METRICS = frozenset({"nccl_op_count", "nccl_most_op_count"})
_DEAD = 2.0
"""Value of `nccl_missing` for a process that RAS considers dead."""
_MAX_LISTED_RANKS = 16
_GroupKey = tuple[int, str]
"""Attempt and communicator."""


@dataclass(frozen=True, kw_only=True)
class RasThresholds(Thresholds):
    """How certain a finding from RAS reports is."""

    confidence: float = 0.8
    """Confidence. Reports are rare, and RAS asks the ranks one after another."""


@dataclass(frozen=True)
class RasDetector:
    """Compares the launch counts of the ranks of each communicator from one RAS report to the next.

    Counts that differ mean nothing while they grow: RAS asks the ranks one after another. Where no count of a
    communicator has changed between two reports, the ranks behind block it. A rank that does not answer in
    two reports, or that RAS considers dead, is lost.
    """

    name: ClassVar[str] = "ras"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})
    thresholds: RasThresholds = RasThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """The first finding of each of the two sorts in every attempt, since others follow from it."""
        counts: dict[_GroupKey, list[Series]] = {}
        missing: dict[_GroupKey, list[Series]] = {}
        for key in sorted(run.series):
            comm = key.label("comm") or ""
            if key.step_unit != REPORTS or not len(run.series[key]):
                continue
            groups = (
                counts if key.metric in _COUNT_METRICS else missing if key.metric == "nccl_missing" else None
            )
            if groups is not None:
                for attempt in np.unique(run.series[key].attempt).tolist():
                    groups.setdefault((attempt, comm), []).append(run.series[key])
        limits = self.thresholds
        yield from _first_of_attempts(
            finding
            for group, series in counts.items()
            for finding in _stopped_ranks(run, group, series, limits)
        )
        yield from _first_of_attempts(
            finding for group, series in missing.items() for finding in _lost_ranks(group, series, limits)
        )


def _first_of_attempts(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each attempt; that of a communicator before those of processes in it."""
    first: dict[int, Finding] = {}
    for finding in sorted(findings, key=lambda each: (each.detected_step, len(each.labels) < 2, each.labels)):
        first.setdefault(finding.attempt, finding)
    return [first[attempt] for attempt in sorted(first)]


def _stopped_ranks(
    run: RunData, group: _GroupKey, series: list[Series], limits: RasThresholds
) -> Iterator[Finding]:
    """The first time that no count changes although they differ, until they change again."""
    table = _report_table(series, group[0])
    columns = [(each.key.label("collective") or "", rank_or_process(each.key)) for each in series]
    start = None
    for report in range(1, len(table.value)):
        unchanged = _is_unchanged(table.value[report - 1], table.value[report])
        behind = _ranks_behind(columns, table.value[report]) if unchanged and start is None else []
        if start is None and behind:
            start = report - 1, report, behind
        elif start is not None and not unchanged:
            yield _stopped_finding(run, group, table, start, limits, end=int(table.report[report]))
            return
    if start is not None:
        yield _stopped_finding(run, group, table, start, limits, end=None)


@dataclass(frozen=True, eq=False)
class _ReportTable:
    """Values [reports, series], NaN where a report lacks a series; `report` are the reports' numbers."""

    report: FloatArray
    value: FloatArray


def _report_table(series: list[Series], attempt: int) -> _ReportTable:
    spans = [rows_of_attempt(each, attempt).rows for each in series]
    report = np.unique(np.concatenate([each.step[rows] for each, rows in zip(series, spans, strict=True)]))
    value = np.full((len(report), len(series)), np.nan)
    for column, (each, rows) in enumerate(zip(series, spans, strict=True)):
        value[np.searchsorted(report, each.step[rows]), column] = each.value[rows]
    return _ReportTable(report, value)


def _is_unchanged(before: FloatArray, now: FloatArray) -> bool:
    """Whether no count changed; a rank that does not answer any more has no known count."""
    both = np.isfinite(before) & np.isfinite(now)
    return bool(both.any() and (before[both] == now[both]).all())


def _ranks_behind(columns: list[tuple[str, str]], counts: FloatArray) -> list[tuple[str, str, float, float]]:
    """The ranks behind in a collective: the collective, the rank, its count, the highest count."""
    furthest: dict[str, float] = {}
    for (collective, _), count in zip(columns, counts.tolist(), strict=True):
        if count == count:
            furthest[collective] = max(furthest.get(collective, -np.inf), count)
    return [
        (collective, rank, count, furthest[collective])
        for (collective, rank), count in zip(columns, counts.tolist(), strict=True)
        if rank and count < furthest.get(collective, -np.inf)
    ]


def _stopped_finding(
    run: RunData,
    group: _GroupKey,
    table: _ReportTable,
    start: tuple[int, int, list[tuple[str, str, float, float]]],
    limits: RasThresholds,
    end: int | None,
) -> Finding:
    first, detected, behind = start
    collective, _, own, others = min(behind, key=lambda entry: entry[2] - entry[3])
    ranks = list(dict.fromkeys(rank for _, rank, _, _ in behind))
    hosts = hosts_of_ranks(run, ranks)
    who = describe_ranks(ranks)
    have = verb(len(ranks), "has", "have")
    return _finding(
        group,
        limits,
        metric="nccl_op_count",
        start=int(table.report[first]),
        detected=int(table.report[detected]),
        end=end,
        summary=(
            f"{who[0].upper()}{who[1:]} of communicator {group[1]} {have} launched {own:,.0f} "
            f"{collective or 'collectives'}, the others {others:,.0f}, and no count changed between reports."
        ),
        advice=(
            f"Check {who}{_on_hosts(hosts)}: the stack of the process (py-spy dump), the kernel's log (XID)."
        ),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_MAX_LISTED_RANKS]],
            "count": len(ranks),
            "sequence": own,
            "others": others,
            "collective": collective,
            **({"hosts": hosts[:_MAX_LISTED_RANKS]} if hosts else {}),
        },
    )


def _lost_ranks(group: _GroupKey, series: list[Series], limits: RasThresholds) -> Iterator[Finding]:
    """Ranks, or processes, that did not answer in two consecutive reports, or that are dead."""
    table = _report_table(series, group[0])
    answered = np.isnan(table.value)
    silent = ~answered[:-1] & ~answered[1:] & (np.diff(table.report) == 1)[:, None]
    lost = (table.value == _DEAD) | np.concatenate([np.zeros((1, len(series)), dtype=bool), silent])
    detected = np.flatnonzero(lost.any(axis=1))
    if not len(detected):
        return
    columns = np.flatnonzero(lost[detected[0]]).tolist()
    ranks = list(dict.fromkeys(rank_or_process(series[column].key) for column in columns))
    dead = bool((table.value[detected[0]] == _DEAD).any())
    first = int(np.flatnonzero(~answered[:, columns].all(axis=1))[0])
    hosts = sorted({host for column in columns if (host := series[column].key.label("host"))})
    who, of = describe_ranks(ranks), f" of communicator {group[1]}" if group[1] else ""
    yield _finding(
        group,
        limits,
        metric="nccl_missing",
        start=int(table.report[first]),
        detected=int(table.report[detected[0]]),
        end=None,
        summary=(
            f"{who[0].upper()}{who[1:]}{of}{_on_hosts(hosts)} {'is dead' if dead else 'does not answer'} "
            "according to NCCL's RAS reports: the others will wait until they time out."
        ),
        advice=(
            f"Check whether the process and its node{_on_hosts(hosts)} still exist. Drain the node and "
            "resume."
        ),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_MAX_LISTED_RANKS]],
            "count": len(ranks),
            "dead": dead,
            **({"hosts": hosts[:_MAX_LISTED_RANKS]} if hosts else {}),
        },
    )


def _finding(
    group: _GroupKey,
    limits: RasThresholds,
    *,
    metric: str,
    start: int,
    detected: int,
    end: int | None,
    summary: str,
    advice: str,
    evidence: dict[str, object],
) -> Finding:
    return Finding(
        kind=Kind.DESYNC,
        metric=metric,
        labels=_labels(group[1]),
        attempt=group[0],
        start_step=start,
        end_step=end,
        detected_step=detected,
        classified_step=detected,
        severity=Severity.CRITICAL if end is None else Severity.WARNING,
        confidence=limits.confidence,
        summary=summary,
        advice=advice,
        evidence=evidence,
    )


def _labels(comm: str) -> Labels:
    return labels_of({"steps": REPORTS, **({"comm": comm} if comm else {})})


def _on_hosts(hosts: list[str]) -> str:
    return f" on {', '.join(hosts[:4])}" if hosts else ""
