"""Detects agents that stopped reporting: their newest reports in, incident candidates out. Pure functions.

Agents that fall silent together are one incident, whose steps are wall times in milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from holter.detectors.findings import finding_type
from holter.plurals import counted, verb
from holter.server.agents.registry import format_duration, silence_limit
from holter.server.alerting.incident import Incident
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.types import CLOCK_STEPS, Finding, Kind, Severity, labels_of

METRIC = "agent/reports"
"""Stands in a finding about agents where others name a series."""
GROUP_WAIT = 60.0
"""Seconds for which a silence waits for others with the same cause: agents report at different moments."""
STEADY_SECONDS = 120.0
"""Seconds for which agents must have reported again: an unstable network is one incident, not ten."""
SEVERITY = Severity.WARNING
"""Nobody watches what the agents follow; the jobs themselves may well continue."""
_SHOWN_NAMES = 5

AgentOutcome = Literal["", "back", "ended", "forgotten"]
_OUTCOMES: Mapping[AgentOutcome, str] = {
    "back": "back",
    "ended": "back and finished",
    "forgotten": "no longer expected",
}
_ADVICE_ALL_SILENT = (
    "Check the connection to Holter first: network, proxy, certificate, a token that was revoked. Agents "
    "that can reach Holter again continue by themselves where they stopped."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SilentAgent:
    """An agent of an incident as it last reported, and its outcome: "" while it is silent.

    `since` is its last report before the silence, `at` the time when its outcome became known; Unix seconds.
    """

    agent: str
    host: str
    kind: str
    project: str
    paths: tuple[str, ...]
    files: int
    files_behind: int
    since: float
    became: AgentOutcome = ""
    at: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The agent as a finding's evidence holds it."""
        return asdict(self) | {"paths": list(self.paths)}


def silent_agents(finding: Finding) -> tuple[SilentAgent, ...]:
    """The agents of an incident, from its finding's evidence."""
    members = finding.evidence["members"]
    return tuple(SilentAgent(**{**values, "paths": tuple(values["paths"])}) for values in members)


def _evidence(members: Sequence[SilentAgent], *, all_silent: bool) -> dict[str, Any]:
    """The agents for people, the first few of each."""
    lists = {
        "agents": [member.agent for member in members],
        "machines": [member.host for member in members],
        "follows": [path for member in members for path in _followed(member)],
        "projects": [member.project for member in members if member.project],
    }
    return {
        **{key: _first_names(names) for key, names in lists.items() if names},
        "last_report": max(member.since for member in members),
        "files_behind": sum(member.files_behind for member in members),
        **({"all_silent": True} if all_silent else {}),
    }


def detect_silent_agents(
    incidents: Sequence[Incident], agents: Sequence[Mapping[str, Any]], *, now: float, watched_since: float
) -> list[IncidentCandidate]:
    """Candidates for each of these incidents, none of which has ended, and for newly silent agents.

    `agents` as `AgentRegistry.statuses` returns them. `watched_since`: the time from which on this server
    would have received reports; one that was down itself cannot call any agent silent.
    """
    window = {"now": now, "watched_since": watched_since}
    before = [(incident.finding, silent_agents(incident.finding)) for incident in incidents]
    candidates = [
        _developed(finding, _with_outcomes(members, agents, **window), agents, now)
        for finding, members in before
    ]
    known = {member.agent for _, members in before for member in members}
    new = _newly_silent(agents, known, **window)
    if new:
        candidates.append(_opened(new, _all_silent(agents, **window), now))
    return candidates


def _opened(members: Sequence[SilentAgent], all_silent: bool, now: float) -> IncidentCandidate:
    summary = _silent_summary(members)
    return _candidate(
        finding_about_agents(
            Kind.AGENT_SILENT,
            METRIC,
            members,
            now=now,
            summary=f"{summary} No agent reports any more: the connection to Holter may be broken."
            if all_silent
            else summary,
            advice=_ADVICE_ALL_SILENT if all_silent else finding_type(Kind.AGENT_SILENT).advice,
            evidence=_evidence(members, all_silent=all_silent),
        )
    )


def finding_about_agents(
    kind: Kind,
    metric: str,
    members: Sequence[SilentAgent],
    *,
    now: float,
    summary: str,
    advice: str,
    evidence: Mapping[str, Any],
) -> Finding:
    """A finding about agents; its steps are wall times in milliseconds, from the first `since` of them on.

    `evidence` in addition to the agents themselves.
    """
    hosts = {member.host for member in members}
    labels = {"steps": CLOCK_STEPS} | ({"host": members[0].host} if len(hosts) == 1 else {})
    return Finding(
        kind=kind,
        metric=metric,
        labels=labels_of(labels),
        attempt=0,
        start_step=round(1000 * min(member.since for member in members)),
        detected_step=round(1000 * now),
        severity=SEVERITY,
        confidence=1.0,
        summary=summary,
        advice=advice,
        evidence={**evidence, "members": [member.as_json() for member in members]},
    )


def _developed(
    finding: Finding, members: Sequence[SilentAgent], agents: Sequence[Mapping[str, Any]], now: float
) -> IncidentCandidate:
    members_json = [member.as_json() for member in members]
    finding = replace(finding, evidence={**finding.evidence, "members": members_json})
    if not _all_over(members, agents):
        return _candidate(finding)
    abandoned = all(member.became == "forgotten" for member in members)
    ended = replace(finding, end_step=round(1000 * now), summary=_end_summary(members))
    return _candidate(ended, abandoned=abandoned)


def _candidate(finding: Finding, *, abandoned: bool = False) -> IncidentCandidate:
    first = finding.evidence["members"][0]["agent"]
    return IncidentCandidate(
        finding=finding,
        fingerprint=f"{finding.kind.value}|{finding.start_step}|{finding.detected_step}|{first}",
        start_time=finding.start_step / 1000,
        abandoned=abandoned,
    )


def _newly_silent(
    agents: Sequence[Mapping[str, Any]], known: Collection[str], *, now: float, watched_since: float
) -> list[SilentAgent]:
    """The agents to report now, without those `known` to be silent; none while more may follow soon."""
    overdue = {
        agent["agent"]: seconds
        for agent in agents
        if agent["agent"] not in known and (seconds := _overdue(agent, now, watched_since)) > 0
    }
    if not overdue or max(overdue.values()) < GROUP_WAIT:
        return []
    return [member_of(agent, since=agent["seen_at"]) for agent in agents if agent["agent"] in overdue]


def _all_silent(agents: Sequence[Mapping[str, Any]], *, now: float, watched_since: float) -> bool:
    """Whether several agents should report and none does: then the connection here may be what broke."""
    expected = [agent for agent in agents if not agent["ended"]]
    return len(expected) > 1 and all(_overdue(agent, now, watched_since) > 0 for agent in expected)


def _with_outcomes(
    members: Sequence[SilentAgent], agents: Sequence[Mapping[str, Any]], *, now: float, watched_since: float
) -> list[SilentAgent]:
    """The same agents with their outcomes by now."""
    by_name = {agent["agent"]: agent for agent in agents}
    result = []
    for member in members:
        became = _outcome(member, by_name.get(member.agent), now, watched_since)
        if became != member.became:
            member = replace(member, became=became, at=now if became else None)
        result.append(member)
    return result


def _all_over(members: Sequence[SilentAgent], agents: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no agent is silent any more, and those back have been reporting for `STEADY_SECONDS`."""
    seen_at = {agent["agent"]: agent["seen_at"] for agent in agents}
    return all(
        member.became in {"ended", "forgotten"}
        or (member.at is not None and seen_at[member.agent] - member.at >= STEADY_SECONDS)
        for member in members
    )


def _outcome(
    member: SilentAgent, agent: Mapping[str, Any] | None, now: float, watched_since: float
) -> AgentOutcome:
    if agent is None:
        # the registry drops an agent an hour after it ended: its outcome remains
        return member.became if member.became == "ended" else "forgotten"
    if agent["seen_at"] <= member.since or _overdue(agent, now, watched_since) > 0:
        return ""
    return "ended" if agent["ended"] else "back"


def _overdue(agent: Mapping[str, Any], now: float, watched_since: float) -> float:
    """Seconds by which an agent's silence exceeds its limit; not positive where it does not."""
    if agent["ended"]:
        return 0.0
    last: float = max(agent["seen_at"], watched_since)
    return now - last - silence_limit(agent["every"])


def member_of(agent: Mapping[str, Any], *, since: float) -> SilentAgent:
    """An agent as `AgentRegistry.statuses` returns it, as part of an incident."""
    copied = ("agent", "host", "kind", "project", "files", "files_behind")
    values = {name: agent[name] for name in copied}
    return SilentAgent(**values, paths=tuple(agent["paths"]), since=since)


def describe_members(members: Sequence[SilentAgent]) -> str:
    """The agents for people: "Agent on n17", "60 agents on 60 machines"."""
    where = describe_hosts(members)
    return f"Agent on {where}" if len(members) == 1 else f"{counted(len(members), 'agent')} on {where}"


def describe_hosts(members: Iterable[SilentAgent]) -> str:
    """The agents' machine by its name, or how many machines they are on."""
    hosts = list(dict.fromkeys(member.host for member in members))
    return hosts[0] if len(hosts) == 1 else counted(len(hosts), "machine")


def _silent_summary(members: Sequence[SilentAgent]) -> str:
    one = len(members) == 1
    return (
        f"{describe_members(members)} stopped reporting without announcing {'its' if one else 'their'} end. "
        f"What {'it follows' if one else 'they follow'} is not watched meanwhile."
    )


def _end_summary(members: Sequence[SilentAgent]) -> str:
    """What became of the agents: "All 60 agents on 60 machines are back, silent for up to 5 min."."""
    silences = [
        member.at - member.since
        for member in members
        if member.at is not None and member.became != "forgotten"
    ]
    up_to = "" if len(members) == 1 else "up to "
    lasted = f", silent for {up_to}{format_duration(max(silences))}" if silences else ""
    return f"{_outcome_summary(members)}{lasted}."


def _outcome_summary(members: Sequence[SilentAgent]) -> str:
    counts = Counter(member.became for member in members)
    if len(counts) > 1:
        shares = (f"{counts[outcome]:,} {words}" for outcome, words in _OUTCOMES.items() if counts[outcome])
        return f"{describe_members(members)}: {', '.join(shares)}"
    every = "" if len(members) == 1 else "All "
    state = f"{verb(len(members), 'is', 'are')} {_OUTCOMES[members[0].became]}"
    return f"{every}{describe_members(members)} {state}"


def _followed(member: SilentAgent) -> list[str]:
    return ["a pipe"] if member.kind == "pipe" else list(member.paths) or [counted(member.files, "file")]


def _first_names(names: Sequence[str]) -> list[str]:
    """The first few different names, and how many more there are."""
    different = list(dict.fromkeys(names))
    rest = len(different) - _SHOWN_NAMES
    return different[:_SHOWN_NAMES] + ([f"{rest:,} more"] if rest > 0 else [])
