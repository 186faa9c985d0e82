"""Where logs of calls end: a rank whose last call stands before that of all others, who agree on theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holter.detectors.ranks.naming import whose
from holter.detectors.ranks.rank_matrix import hosts_of
from holter.types import RunData

CALLS = frozenset({"collective_time (us)", "nccl_op_count"})
_COUNTED = frozenset({"sequence number", "opCount"})


@dataclass(frozen=True, kw_only=True)
class Ends:
    """A rank whose last call in a communicator is `last`, while those of the others are all `others`.

    After a hang this is who has not come. In a job that goes on ranks are met at other calls each.
    """

    communicator: str
    rank: str
    host: str | None
    last: int
    others: int
    ranks: int


def ends(run: RunData) -> list[Ends]:
    """One for each communicator in which a minority of ranks ends before the others."""
    last: dict[tuple[str, int, str], dict[str, int]] = {}
    for key in run.series:
        labels = dict(key.labels)
        group = labels.get("comm") or labels.get("process_group")
        series = run.series[key] if key.metric in CALLS and key.own_steps in _COUNTED else None
        if series is None or group is None or not len(series) or not whose(key):
            continue
        of_ranks = last.setdefault((group, int(series.attempt[-1]), key.own_steps or ""), {})
        of_ranks[whose(key)] = max(of_ranks.get(whose(key), -1), int(series.step[-1]))
    hosts = hosts_of(run) if last else {}
    return [one for place in sorted(last) for one in _behind(hosts, place[0], last[place])]


def _behind(hosts: Mapping[str, str], communicator: str, last: dict[str, int]) -> Iterator[Ends]:
    furthest = max(last.values())
    behind = sorted((number, rank) for rank, number in last.items() if number < furthest)
    if behind and 2 * len(behind) < len(last):
        for number, rank in behind:
            yield Ends(
                communicator=communicator,
                rank=rank,
                host=hosts.get(rank),
                last=number,
                others=furthest,
                ranks=len(last),
            )
