"""Detects data that was promised and never came: runs and agents in, incident candidates out. Pure functions.

A run promises data when it is created, an agent when it starts. Only the arrival of points counts: values of
zero are data, and a configuration alone is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holter.detectors.findings import finding_type
from holter.plurals import counted, verb
from holter.server.agents.registry import format_duration
from holter.server.alerting.incident import Incident
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.alerting.silent_agents import (
    describe_members,
    finding_about_agents,
    member_of,
    silent_agents,
)
from holter.settings.alerting import NoDataSettings
from holter.types import Finding, Kind, Severity

METRIC = "run/points"
AGENT_METRIC = "agent/points"
"""Stand in findings about missing data where others name a series."""
SEVERITY = Severity.WARNING
FEW_BATCHES = 8
"""Batches up to which the usual interval of a run is unknown, so that no stall is detected."""
INTERVAL_FACTOR = 20.0
"""Times the mean interval between a run's batches that a silence must exceed."""
_ADVICE_SILENT = "Check whether the job is alive, and whether its client or agent can reach Holter."
_ADVICE_AGENT = "Check the agent's paths, and what it could not read: the overview lists both."


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedRun:
    """A run that is not finished. Times in Unix seconds; `last_time`: of its newest point by its own clock.

    `updated_at` is when points or a configuration arrived last. `is_live`: its points arrive while they are
    logged. `excused`: something else explains the silence: it is a parent of other runs, or an open stall.
    """

    run_id: int
    created_at: float
    updated_at: float
    batches: int
    points: int
    last_step: int
    last_time: float | None
    is_live: bool
    excused: bool = False


def detect_run_without_data(
    run: ExpectedRun, settings: NoDataSettings, *, now: float, watched_since: float
) -> IncidentCandidate | None:
    """A candidate if points should have come by now.

    `watched_since`: the time from which on this server would have received points.
    """
    if run.excused:
        return None
    silence = now - max(run.updated_at, watched_since)
    if run.points == 0:
        limit = settings.first_point
        if not limit or silence <= limit:
            return None
        summary = f"It was announced, but no point came within {format_duration(limit)}."
        return _run_candidate(run, summary, finding_type(Kind.NO_DATA).advice, limit)
    # with a clock and a few intervals, a stall is detected far earlier
    limit = settings.silence and max(settings.silence, INTERVAL_FACTOR * _mean_interval(run))
    has_rhythm = run.last_time is not None and run.batches > FEW_BATCHES
    if not limit or silence <= limit or has_rhythm or not run.is_live:
        return None
    summary = f"No point came for {format_duration(limit)} after step {run.last_step:,}."
    return _run_candidate(run, summary, _ADVICE_SILENT, limit)


def _mean_interval(run: ExpectedRun) -> float:
    return (run.updated_at - run.created_at) / max(run.batches - 1, 1)


def _run_candidate(run: ExpectedRun, summary: str, advice: str, limit: float) -> IncidentCandidate:
    finding = Finding(
        kind=Kind.NO_DATA,
        metric=METRIC,
        labels=(),
        attempt=0,
        start_step=run.last_step,
        detected_step=run.last_step,
        severity=SEVERITY,
        confidence=1.0,
        summary=summary,
        advice=advice,
        evidence={"expected_within": limit, "last_arrival": run.updated_at, "points_before": run.points},
    )
    return IncidentCandidate(finding=finding, fingerprint=_fingerprint(finding), start_time=run.updated_at)


def end_of_missing_data(
    incident: Incident, run: ExpectedRun | None, *, now: float
) -> IncidentCandidate | None:
    """The end of an incident about a run, None while it lasts. `run` None: it is finished, or long silent."""
    finding = incident.finding
    began = incident.start_time or incident.opened_at
    if run is None:
        over = (
            "The run ended without a point."
            if not finding.evidence["points_before"]
            else "The run has ended."
        )
        candidate = replace(finding, end_step=finding.start_step, summary=over)
        return IncidentCandidate(
            finding=candidate, fingerprint=_fingerprint(finding), start_time=began, abandoned=True
        )
    if run.updated_at <= finding.evidence["last_arrival"] or not run.points:
        return None
    waited = format_duration(run.updated_at - began)
    what = "Points came" if finding.evidence["points_before"] else "The first points came"
    ended = replace(
        finding, end_step=max(run.last_step, finding.start_step), summary=f"{what} after {waited}."
    )
    return IncidentCandidate(finding=ended, fingerprint=_fingerprint(finding), start_time=began)


def _fingerprint(finding: Finding) -> str:
    return f"{Kind.NO_DATA.value}|{finding.evidence['last_arrival']!r}"


def agents_without_data(agents: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The agents, by name, that report, have read no point, and have nothing else to show for it.

    An agent whose files were all read before it started has nothing to read, and is not one of them.
    """
    return {
        agent["agent"]: agent
        for agent in agents
        if not agent["ended"]
        and agent["state"] != "silent"
        and agent["points"] == 0
        and (agent["files"] == 0 or agent["unreadable"] or agent["files_behind"])
        and agent["kind"] == "files"
    }


def detect_agents_without_data(
    incidents: Sequence[Incident],
    agents: Sequence[Mapping[str, Any]],
    waiting_since: Mapping[str, float],
    settings: NoDataSettings,
    *,
    now: float,
) -> list[IncidentCandidate]:
    """Candidates for each of these incidents, none of which has ended, and for new agents without data.

    `waiting_since`: since when each of `agents_without_data` has been seen to be one.
    """
    missing = agents_without_data(agents)
    candidates = [_developed(incident.finding, missing, agents, now) for incident in incidents]
    known = {member.agent for incident in incidents for member in silent_agents(incident.finding)}
    limit = settings.first_point
    late = [
        missing[name]
        for name, since in waiting_since.items()
        if limit and name in missing and name not in known and now - since > limit
    ]
    if late:
        candidates.append(_opened(late, waiting_since, limit, now))
    return candidates


def _opened(
    agents: Sequence[Mapping[str, Any]], waiting_since: Mapping[str, float], limit: float, now: float
) -> IncidentCandidate:
    members = [member_of(agent, since=waiting_since[agent["agent"]]) for agent in agents]
    found = sum(member.files for member in members)
    unreadable = sum(agent["unreadable"] for agent in agents)
    why = counted(found, "file") + " found" + (f", {unreadable:,} places unreadable" if unreadable else "")
    finding = finding_about_agents(
        Kind.NO_DATA,
        AGENT_METRIC,
        members,
        now=now,
        summary=f"{describe_members(members)} {verb(len(members), 'reports', 'report')}, but read no point "
        f"within {format_duration(limit)}: {why}.",
        advice=_ADVICE_AGENT,
        evidence={
            "expected_within": limit,
            "agents": [member.agent for member in members][:5],
            "follows": list(dict.fromkeys(path for member in members for path in member.paths))[:5],
        },
    )
    return _agent_candidate(finding)


def _developed(
    finding: Finding,
    missing: Mapping[str, Mapping[str, Any]],
    agents: Sequence[Mapping[str, Any]],
    now: float,
) -> IncidentCandidate:
    members = silent_agents(finding)
    if any(member.agent in missing for member in members):
        return _agent_candidate(finding)
    reading = {agent["agent"] for agent in agents if agent["points"]}
    reads = any(member.agent in reading for member in members)
    summary = "Points are read now." if reads else "The agent has ended or reports no more."
    ended = replace(finding, end_step=round(1000 * now), summary=summary)
    return _agent_candidate(ended, abandoned=not reads)


def _agent_candidate(finding: Finding, *, abandoned: bool = False) -> IncidentCandidate:
    first = finding.evidence["members"][0]["agent"]
    return IncidentCandidate(
        finding=finding,
        fingerprint=f"{finding.kind.value}|{finding.start_step}|{first}",
        start_time=finding.start_step / 1000,
        abandoned=abandoned,
    )
