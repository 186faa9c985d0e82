"""Which silent agents are told of together, and when all of them are back. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from holter.server.agents.registry import silence_limit
from holter.types import Severity

GATHER = 60.0
"""Seconds for which a silence waits for others of the same cause: agents report at different moments."""
STEADY = 120.0
"""Seconds for which agents must have reported again: a network that comes and goes is one outage, not ten."""

SEVERITY = Severity.WARNING
"""Of every outage: nobody watches what the agents follow, and the jobs may well go on."""

Whereabouts = Literal["", "back", "ended", "forgotten"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """An agent of an outage as it was last heard, and what has become of it: "" while it is silent.

    `since` is its last report before the silence, `at` when the newest became known; Unix seconds.
    """

    agent: str
    host: str
    kind: str
    project: str
    paths: tuple[str, ...]
    files: int
    files_behind: int
    since: float
    became: Whereabouts = ""
    at: float | None = None

    def as_json(self) -> dict[str, Any]:
        """As the database keeps it."""
        return asdict(self) | {"paths": list(self.paths)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """Agents that fell silent together. `alone`: no other reported either; `over`: all are back for good."""

    id: int
    agents: tuple[Missing, ...]
    alone: bool
    over: bool


def missing_of(said: Mapping[str, Any]) -> Missing:
    """Back from JSON."""
    return Missing(**{**said, "paths": tuple(said["paths"])})


def fallen_silent(
    agents: Sequence[Mapping[str, Any]], known: Collection[str], *, now: float, since: float
) -> list[Missing]:
    """The agents to tell of now, beside those `known` to be missing; none while more may be about to follow.

    `agents` as `Agents.all` gives them. `since`: from when on a report would have been heard, for a server
    that was away itself has no right to miss anybody.
    """
    overdue = {
        one["agent"]: _overdue(one, now, since)
        for one in agents
        if one["agent"] not in known and _overdue(one, now, since) > 0
    }
    if not overdue or max(overdue.values()) < GATHER:
        return []
    return [_missing(one) for one in agents if one["agent"] in overdue]


def nobody_left(agents: Sequence[Mapping[str, Any]], *, now: float, since: float) -> bool:
    """Whether several agents should report and not one does: then it may be the way here that broke."""
    expected = [one for one in agents if not one["ended"]]
    return len(expected) > 1 and all(_overdue(one, now, since) > 0 for one in expected)


def developed(
    missing: Sequence[Missing], agents: Sequence[Mapping[str, Any]], *, now: float, since: float
) -> list[Missing]:
    """The same agents, with what has become of them by now."""
    by_name = {one["agent"]: one for one in agents}
    result = []
    for one in missing:
        became = _became(one, by_name.get(one.agent), now, since)
        if became != one.became:
            one = replace(one, became=became, at=now if became else None)
        result.append(one)
    return result


def over(missing: Sequence[Missing], agents: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nobody is silent any more, and those back have gone on reporting long enough to believe it."""
    heard = {one["agent"]: one["seen_at"] for one in agents}
    return all(
        one.became in {"ended", "forgotten"} or (one.at is not None and heard[one.agent] - one.at >= STEADY)
        for one in missing
    )


def _became(missing: Missing, heard: Mapping[str, Any] | None, now: float, since: float) -> Whereabouts:
    if heard is None:
        # one that ended is forgotten after an hour: it stays what it was
        return missing.became if missing.became == "ended" else "forgotten"
    if heard["seen_at"] <= missing.since or _overdue(heard, now, since) > 0:
        return ""
    return "ended" if heard["ended"] else "back"


def _overdue(agent: Mapping[str, Any], now: float, since: float) -> float:
    """Seconds by which an agent is silent for longer than is sensible; not positive: it is not."""
    if agent["ended"]:
        return 0.0
    heard: float = max(agent["seen_at"], since)
    return now - heard - silence_limit(agent["every"])


def _missing(agent: Mapping[str, Any]) -> Missing:
    told = ("agent", "host", "kind", "project", "files", "files_behind")
    return Missing(
        **{name: agent[name] for name in told}, paths=tuple(agent["paths"]), since=agent["seen_at"]
    )
