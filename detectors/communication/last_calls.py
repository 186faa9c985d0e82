"""Finds ranks whose last logged call of a communicator is behind the last call of the other ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holter.detectors.ranks.naming import rank_or_process
from holter.detectors.ranks.rank_matrix import hosts_by_rank
from holter.types import RunData

CALL_METRICS = frozenset({"collective_time (us)", "nccl_op_count"})
_CALL_STEPS = frozenset({"sequence number", "opCount"})


@dataclass(frozen=True, kw_only=True)
class RankBehind:
    """A rank whose last call in a communicator is number `last`, while all other ranks reached `others`.

    After a hang this is the rank that the others wait for. In a job that continues, ranks are merely observed
    at different calls.
    """

    communicator: str
    rank: str
    host: str | None
    last: int
    others: int
    ranks: int


def find_ranks_behind(run: RunData) -> list[RankBehind]:
    """The ranks behind of each communicator in which they are a minority."""
    last: dict[tuple[str, int, str], dict[str, int]] = {}
    for key in run.series:
        labels = dict(key.labels)
        group = labels.get("comm") or labels.get("process_group")
        series = run.series[key] if key.metric in CALL_METRICS and key.step_unit in _CALL_STEPS else None
        if series is None or group is None or not len(series) or not rank_or_process(key):
            continue
        of_ranks = last.setdefault((group, int(series.attempt[-1]), key.step_unit or ""), {})
        of_ranks[rank_or_process(key)] = max(of_ranks.get(rank_or_process(key), -1), int(series.step[-1]))
    hosts = hosts_by_rank(run) if last else {}
    return [rank for identity in sorted(last) for rank in _behind(hosts, identity[0], last[identity])]


def _behind(hosts: Mapping[str, str], communicator: str, last: dict[str, int]) -> Iterator[RankBehind]:
    furthest = max(last.values())
    behind = sorted((number, rank) for rank, number in last.items() if number < furthest)
    if behind and 2 * len(behind) < len(last):
        for number, rank in behind:
            yield RankBehind(
                communicator=communicator,
                rank=rank,
                host=hosts.get(rank),
                last=number,
                others=furthest,
                ranks=len(last),
            )
