"""Decides what changes: stored incidents and the newest candidates in, changes out. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holter.server.alerting.incident import EventType, HistoryLine, Incident, IncidentState
from holter.tuning import PlannedEvent
from holter.types import Finding, Kind, Severity


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentCandidate:
    """A finding that opens an incident or updates one: with the fingerprint of its event.

    `start_time` is the wall time (Unix seconds) of its first step, None where the log has no clock.
    `replaced_by` is a newer attempt that resumed from before it and has passed it: the run continues without
    it. `abandoned`: nobody waits for its recovery any more, so that it is closed instead.
    """

    finding: Finding
    fingerprint: str
    start_time: float | None = None
    replaced_by: int | None = None
    abandoned: bool = False

    @property
    def over(self) -> bool:
        """Whether it no longer lasts."""
        return self.finding.end_step is not None or self.replaced_by is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentChange:
    """One incident's change: without `incident` it opens, without `candidate` it is no longer detected.

    `lines` may be empty: the finding's numbers developed, without an event worth a line of history.
    """

    incident: Incident | None
    candidate: IncidentCandidate | None
    state: IncidentState
    lines: tuple[HistoryLine, ...] = ()

    @property
    def events(self) -> frozenset[EventType]:
        """The types of the lines that this change adds."""
        return frozenset(line.type for line in self.lines)


def changes(
    incidents: Sequence[Incident],
    candidates: Sequence[IncidentCandidate],
    *,
    over: bool = False,
    planned: Sequence[PlannedEvent] = (),
    onset_final: Callable[[Finding], bool] = lambda _: False,
) -> list[IncidentChange]:
    """The changes that the newest analysis pass makes; none for incidents that stay as they are.

    `over`: the run is finished, which ends a stall although the run did not continue. `planned` events
    explain why a finding is no longer reported. `onset_final`: the finding's onset was detected at full
    resolution and the data there has been downsampled since, so that it neither opens nor vanishes; its
    further development still counts.
    """
    pairs, vanished = _match(incidents, candidates)
    result = []
    for candidate, incident in pairs:
        final = onset_final(candidate.finding)
        if incident is None and final:
            continue
        change = _open(candidate) if incident is None else _develop(incident, candidate)
        ended_before = incident is not None and not incident.is_open and final
        if change is not None and (change.lines or not ended_before):
            result.append(change)
    lost = [one for one in vanished if one.is_open and one.decision is not EventType.REOPENED]
    result.extend(
        _vanish(incident, over=over, planned=planned)
        for incident in lost
        if not onset_final(incident.finding) or _plan(incident.finding, planned) is not None
    )
    return result


def _match(
    incidents: Sequence[Incident], candidates: Sequence[IncidentCandidate]
) -> tuple[list[tuple[IncidentCandidate, Incident | None]], list[Incident]]:
    """Candidates with the incidents that they continue, and the incidents that no candidate continues.

    The fingerprint decides. Points that arrive late can move an event's first step: then the incident of
    the same attempt with the same first or detected step continues under the new fingerprint.
    """
    by_fingerprint = {incident.fingerprint: incident for incident in incidents}
    pairs: dict[str, tuple[IncidentCandidate, Incident | None]] = {}
    for candidate in candidates:
        fingerprint = candidate.fingerprint
        pairs.setdefault(fingerprint, (candidate, by_fingerprint.get(fingerprint)))
    unmatched = [incident for incident in incidents if incident.fingerprint not in pairs]
    for fingerprint, (candidate, incident) in pairs.items():
        if incident is not None:
            continue
        finding = candidate.finding
        moved = next((other for other in unmatched if _same_event(other.finding, finding)), None)
        if moved is not None:
            unmatched.remove(moved)
            pairs[fingerprint] = (candidate, moved)
    return list(pairs.values()), unmatched


def _same_event(old: Finding, new: Finding) -> bool:
    same_position = old.start_step == new.start_step or old.detected_step == new.detected_step
    same_subject = (old.metric, old.labels) == (new.metric, new.labels) or old.kind == new.kind
    return old.attempt == new.attempt and same_position and same_subject


def _open(candidate: IncidentCandidate) -> IncidentChange:
    finding = candidate.finding
    state = _natural_state(candidate)
    detail = {"kind": finding.kind.value}
    lines = [HistoryLine(type=EventType.OPENED, text=finding.summary, detail=detail)]
    if state is IncidentState.RECOVERED:
        lines.append(_recovery_line(candidate))
    return IncidentChange(incident=None, candidate=candidate, state=state, lines=tuple(lines))


def _natural_state(candidate: IncidentCandidate) -> IncidentState:
    """The state of an incident that no person has changed. Information needs nobody's attention."""
    if candidate.finding.severity is Severity.INFO or candidate.abandoned:
        return IncidentState.CLOSED
    return IncidentState.RECOVERED if candidate.over else IncidentState.OPEN


def _next_state(before: IncidentState, candidate: IncidentCandidate) -> IncidentState:
    """As `_natural_state`; but what people saw open recovers, even if it is only information by now."""
    if before is not IncidentState.CLOSED and candidate.over and not candidate.abandoned:
        return IncidentState.RECOVERED
    return _natural_state(candidate)


def _recovery_line(candidate: IncidentCandidate) -> HistoryLine:
    finding = candidate.finding
    if finding.end_step is None and candidate.replaced_by is not None:
        text = f"Attempt {candidate.replaced_by} resumed from before this step and has passed it."
        detail = {"attempt": candidate.replaced_by}
        return HistoryLine(type=EventType.RECOVERED, text=text, detail=detail)
    return HistoryLine(type=EventType.RECOVERED, text=finding.summary, detail={"end_step": finding.end_step})


def _develop(incident: Incident, candidate: IncidentCandidate) -> IncidentChange | None:
    old, new = incident.finding, candidate.finding
    lines = [*_move_lines(incident, candidate), *_classification_lines(old, new)]
    person_decides = _person_decides(incident, new)
    state = incident.state if person_decides else _next_state(incident.state, candidate)
    if state is not incident.state:
        lines.append(_state_line(incident, state, candidate))
    if not lines and old == new and incident.start_time == candidate.start_time:
        return None
    return IncidentChange(incident=incident, candidate=candidate, state=state, lines=tuple(lines))


def _person_decides(incident: Incident, new: Finding) -> bool:
    """What a person closed stays closed unless it gets worse; what one reopened stays open until it ends."""
    old = incident.finding
    if incident.decision is EventType.CLOSED:
        return new.severity.rank <= old.severity.rank
    unchanged = (old.end_step, old.severity) == (new.end_step, new.severity)
    return incident.decision is EventType.REOPENED and unchanged


def _move_lines(incident: Incident, candidate: IncidentCandidate) -> list[HistoryLine]:
    old, new = incident.finding, candidate.finding
    if incident.fingerprint == candidate.fingerprint:
        return []
    detail = {"from_step": old.start_step, "to_step": new.start_step, "from": old.metric, "to": new.metric}
    text = "Points that arrived later locate it more precisely."
    return [HistoryLine(type=EventType.MOVED, text=text, detail=detail)]


def _classification_lines(old: Finding, new: Finding) -> list[HistoryLine]:
    lines = []
    if new.kind is not old.kind:
        detail = {"from": old.kind.value, "to": new.kind.value}
        lines.append(HistoryLine(type=EventType.RECLASSIFIED, text=new.summary, detail=detail))
    if new.severity is not old.severity:
        worse = new.severity.rank > old.severity.rank
        detail = {"from": old.severity.value, "to": new.severity.value}
        text = "" if lines else new.summary
        event = EventType.ESCALATED if worse else EventType.EASED
        lines.append(HistoryLine(type=event, text=text, detail=detail))
    return lines


def _state_line(incident: Incident, state: IncidentState, candidate: IncidentCandidate) -> HistoryLine:
    summary = candidate.finding.summary
    if state is IncidentState.OPEN:
        # information was closed from its beginning: nobody saw it open before
        never_open = incident.finding.severity is Severity.INFO and not incident.has_changed_state
        return HistoryLine(type=EventType.OPENED if never_open else EventType.REOPENED, text=summary)
    if state is IncidentState.RECOVERED:
        return _recovery_line(candidate)
    text = summary if candidate.abandoned else "For information only: nobody needs to act."
    return HistoryLine(type=EventType.CLOSED, text=text)


def _vanish(incident: Incident, *, over: bool, planned: Sequence[PlannedEvent]) -> IncidentChange:
    finding = incident.finding
    plan = _plan(finding, planned)
    stall = finding.kind is Kind.STALL
    if plan is None and stall and not over:
        line = HistoryLine(type=EventType.RECOVERED, text="New points arrived: the run continues.")
        return _change_without_candidate(incident, IncidentState.RECOVERED, line)
    if plan is not None:
        text = f"This was planned: {plan.note}" if plan.note else "This was planned."
    elif stall:
        text = "The run is finished."
    else:
        text = "With all points seen and with the current detection settings, this is no longer detected."
    line = HistoryLine(type=EventType.WITHDRAWN, text=text)
    return _change_without_candidate(incident, IncidentState.CLOSED, line)


def _change_without_candidate(incident: Incident, state: IncidentState, line: HistoryLine) -> IncidentChange:
    return IncidentChange(incident=incident, candidate=None, state=state, lines=(line,))


def _plan(finding: Finding, planned: Sequence[PlannedEvent]) -> PlannedEvent | None:
    """The planned event that explains the finding."""
    slack = max(finding.detected_step - finding.start_step, 0)
    return next((event for event in planned if event.covers(finding, slack=slack)), None)
