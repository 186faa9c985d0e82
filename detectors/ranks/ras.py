"""What NCCL's RAS reports, report after report: ranks that stand while others wait, ranks that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.positions import span_of
from holter.detectors.ranks.naming import describe_ranks, rank_as_evidence, rank_or_process
from holter.detectors.ranks.rank_matrix import hosts_of_ranks
from holter.plurals import verb
from holter.types import Finding, FloatArray, Kind, Labels, RunData, Series, Severity, labels_of

REPORTS = "RAS reports"
"""What the steps of these series count."""
_COUNTS = frozenset({"nccl_op_count", "nccl_most_op_count"})
_DEAD = 2.0
_SHOWN = 16
_Key = tuple[int, str]


@dataclass(frozen=True)
class RasDetector:
    """A mismatch is nothing while the counts grow: ranks are asked one after another. Where no count of a
    communicator has changed from one report to the next, those behind hold it up. A rank that gives no
    answer twice, or that RAS takes for dead, is gone.
    """

    name: ClassVar[str] = "ras"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per attempt for either: what is seen first; others follow from it."""
        counts: dict[_Key, list[Series]] = {}
        missing: dict[_Key, list[Series]] = {}
        for key in sorted(run.series):
            comm = dict(key.labels).get("comm", "")
            if key.own_steps != REPORTS or not len(run.series[key]):
                continue
            kept = counts if key.metric in _COUNTS else missing if key.metric == "nccl_missing" else None
            if kept is not None:
                for attempt in np.unique(run.series[key].attempt).tolist():
                    kept.setdefault((attempt, comm), []).append(run.series[key])
        yield from _first(one for place, series in counts.items() for one in _stuck(run, place, series))
        yield from _first(one for place, series in missing.items() for one in _gone(place, series))


def _first(findings: Iterable[Finding]) -> list[Finding]:
    """Of each attempt what was seen first, of a communicator rather than of the processes in it."""
    found: dict[int, Finding] = {}
    for one in sorted(findings, key=lambda one: (one.detected_step, len(one.labels) < 2, one.labels)):
        found.setdefault(one.attempt, one)
    return [found[attempt] for attempt in sorted(found)]


def _stuck(run: RunData, place: _Key, series: list[Series]) -> Iterator[Finding]:
    """The first time that no count changes while they differ, and when they do again."""
    table = _table(series, place[0])
    names_of = [(dict(one.key.labels).get("collective", ""), rank_or_process(one.key)) for one in series]
    start = None
    for report in range(1, len(table.value)):
        same = _same(table.value[report - 1], table.value[report])
        behind = _behind(names_of, table.value[report]) if same and start is None else []
        if start is None and behind:
            start = report - 1, report, behind
        elif start is not None and not same:
            yield _standing(run, place, table, start, end=int(table.report[report]))
            return
    if start is not None:
        yield _standing(run, place, table, start, end=None)


@dataclass(frozen=True, eq=False)
class _Table:
    """`value` [reports, series], NaN where a report says nothing of one."""

    report: FloatArray
    value: FloatArray


def _table(series: list[Series], attempt: int) -> _Table:
    spans = [span_of(one, attempt).rows for one in series]
    report = np.unique(np.concatenate([one.step[rows] for one, rows in zip(series, spans, strict=True)]))
    value = np.full((len(report), len(series)), np.nan)
    for column, (one, rows) in enumerate(zip(series, spans, strict=True)):
        value[np.searchsorted(report, one.step[rows]), column] = one.value[rows]
    return _Table(report, value)


def _same(before: FloatArray, now: FloatArray) -> bool:
    """Whether no count changed; of a rank that gives no answer any more none is known."""
    both = np.isfinite(before) & np.isfinite(now)
    return bool(both.any() and (before[both] == now[both]).all())


def _behind(names_of: list[tuple[str, str]], counts: FloatArray) -> list[tuple[str, str, float, float]]:
    """The ranks behind in a collective: it, the rank, its count, that of the one furthest."""
    furthest: dict[str, float] = {}
    for (collective, _), count in zip(names_of, counts.tolist(), strict=True):
        if count == count:
            furthest[collective] = max(furthest.get(collective, -np.inf), count)
    return [
        (collective, rank, count, furthest[collective])
        for (collective, rank), count in zip(names_of, counts.tolist(), strict=True)
        if rank and count < furthest.get(collective, -np.inf)
    ]


def _standing(
    run: RunData,
    place: _Key,
    table: _Table,
    start: tuple[int, int, list[tuple[str, str, float, float]]],
    end: int | None,
) -> Finding:
    first, seen, behind = start
    collective, _, own, others = min(behind, key=lambda one: one[2] - one[3])
    ranks = list(dict.fromkeys(rank for _, rank, _, _ in behind))
    hosts = hosts_of_ranks(run, ranks)
    who = describe_ranks(ranks)
    have = verb(len(ranks), "has", "have")
    return _finding(
        place,
        metric="nccl_op_count",
        start=int(table.report[first]),
        seen=int(table.report[seen]),
        end=end,
        summary=(
            f"{who[0].upper()}{who[1:]} of communicator {place[1]} {have} launched {own:,.0f} "
            f"{collective or 'collectives'}, the others {others:,.0f}, and none moved from report to report."
        ),
        advice=f"Look at {who}{_on(hosts)}: the stack of the process (py-spy dump), the kernel's log (XID).",
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_SHOWN]],
            "count": len(ranks),
            "sequence": own,
            "others": others,
            "collective": collective,
            **({"hosts": hosts[:_SHOWN]} if hosts else {}),
        },
    )


def _gone(place: _Key, series: list[Series]) -> Iterator[Finding]:
    """Ranks, or processes, that gave no answer in two reports, or that are dead."""
    table = _table(series, place[0])
    answered = np.isnan(table.value)
    silent = ~answered[:-1] & ~answered[1:] & (np.diff(table.report) == 1)[:, None]
    lost = (table.value == _DEAD) | np.concatenate([np.zeros((1, len(series)), dtype=bool), silent])
    seen = np.flatnonzero(lost.any(axis=1))
    if not len(seen):
        return
    columns = np.flatnonzero(lost[seen[0]]).tolist()
    ranks = list(dict.fromkeys(rank_or_process(series[column].key) for column in columns))
    dead = bool((table.value[seen[0]] == _DEAD).any())
    first = int(np.flatnonzero(~answered[:, columns].all(axis=1))[0])
    hosts = sorted({host for column in columns if (host := dict(series[column].key.labels).get("host"))})
    who, of = describe_ranks(ranks), f" of communicator {place[1]}" if place[1] else ""
    yield _finding(
        place,
        metric="nccl_missing",
        start=int(table.report[first]),
        seen=int(table.report[seen[0]]),
        end=None,
        summary=(
            f"{who[0].upper()}{who[1:]}{of}{_on(hosts)} {'is dead' if dead else 'gives no answer'}, by the "
            "reports of NCCL's RAS: the others will wait until they time out."
        ),
        advice=f"See whether the process and its node{_on(hosts)} are there yet; drain the node and resume.",
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_SHOWN]],
            "count": len(ranks),
            "dead": dead,
            **({"hosts": hosts[:_SHOWN]} if hosts else {}),
        },
    )


def _finding(
    place: _Key,
    *,
    metric: str,
    start: int,
    seen: int,
    end: int | None,
    summary: str,
    advice: str,
    evidence: dict[str, object],
) -> Finding:
    return Finding(
        kind=Kind.DESYNC,
        metric=metric,
        labels=_labels(place[1]),
        attempt=place[0],
        start_step=start,
        end_step=end,
        detected_step=seen,
        classified_step=seen,
        severity=Severity.CRITICAL if end is None else Severity.WARNING,
        confidence=0.8,
        summary=summary,
        advice=advice,
        evidence=evidence,
    )


def _labels(comm: str) -> Labels:
    return labels_of({"steps": REPORTS, **({"comm": comm} if comm else {})})


def _on(hosts: list[str]) -> str:
    return f" on {', '.join(hosts[:4])}" if hosts else ""
