"""What changes: stored incidents and the findings of the newest look in, changes out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holter.tuning import Expected
from holter.types import Finding, Kind, Severity

RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


class IncidentState(StrEnum):
    """Where an incident stands. Acknowledgement stands beside it."""

    OPEN = "open"
    RECOVERED = "recovered"
    CLOSED = "closed"


class EventType(StrEnum):
    """A line of an incident's history; those that people are told are reasons of notifications too."""

    OPENED = "opened"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    EASED = "eased"
    RECLASSIFIED = "reclassified"
    MOVED = "moved"
    RECOVERED = "recovered"
    WITHDRAWN = "withdrawn"
    CLOSED = "closed"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "unacknowledged"
    COMMENT = "comment"
    NOTIFIED = "notified"
    UNDELIVERED = "undelivered"


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentCandidate:
    """A finding with what recognises its event, and the wall time (Unix seconds) of its first step.

    `replaced_by` is a newer attempt that went back behind it and has passed it: the run goes on without it.
    """

    finding: Finding
    fingerprint: str
    start_time: float | None = None
    replaced_by: int | None = None

    @property
    def over(self) -> bool:
        """Whether it no longer lasts."""
        return self.finding.end_step is not None or self.replaced_by is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is stored of an incident, as far as the decision asks.

    `word` is closed or reopened where a person said so last, None where Holter has the last word.
    """

    id: int
    fingerprint: str
    finding: Finding
    state: IncidentState
    start_time: float | None = None
    word: EventType | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """One line for the history."""

    type: EventType
    text: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentChange:
    """What becomes of one incident: `known` None means it opens, `found` None that it is no longer found.

    `lines` may be empty: the finding's numbers developed, and nothing that people would call an event.
    """

    known: Known | None
    found: IncidentCandidate | None
    state: IncidentState
    lines: tuple[HistoryLine, ...] = ()

    @property
    def events(self) -> frozenset[EventType]:
        """The kinds of lines this change adds."""
        return frozenset(line.type for line in self.lines)


def changes(
    known: Sequence[Known],
    found: Sequence[IncidentCandidate],
    *,
    over: bool = False,
    planned: Sequence[Expected] = (),
    said: Callable[[Finding], bool] = lambda _: False,
) -> list[IncidentChange]:
    """What the newest look at a run changes; nothing for incidents that stay as they are.

    `over` says that the run is finished, which ends a stall without the run having gone on. `planned`
    says why something that was found is not found any more. `said`: whether something was found or was
    not is as it was said before, with more points; how it goes on is news.
    """
    pairs, vanished = _match(known, found)
    result = []
    for item, partner in pairs:
        if partner is None and said(item.finding):
            continue
        change = _opened(item) if partner is None else _developed(partner, item)
        told = partner is not None and partner.state is not IncidentState.OPEN and said(item.finding)
        if change is not None and (change.lines or not told):
            result.append(change)
    lost = (
        item for item in vanished if item.state is IncidentState.OPEN and item.word is not EventType.REOPENED
    )
    result.extend(
        _vanished(one, over=over, planned=planned)
        for one in lost
        if not said(one.finding) or _plan(one.finding, planned) is not None
    )
    return result


def _match(
    known: Sequence[Known], found: Sequence[IncidentCandidate]
) -> tuple[list[tuple[IncidentCandidate, Known | None]], list[Known]]:
    """Findings with the incidents that they continue, and the incidents that nothing continues.

    The fingerprint decides. Points that arrive late can move an event's first step: then the incident of
    the same attempt that began or was noticed at the same step goes on under the new fingerprint.
    """
    by_fingerprint = {item.fingerprint: item for item in known}
    pairs: dict[str, tuple[IncidentCandidate, Known | None]] = {}
    for item in found:
        pairs.setdefault(item.fingerprint, (item, by_fingerprint.get(item.fingerprint)))
    left = [item for item in known if item.fingerprint not in pairs]
    for fingerprint, (item, partner) in pairs.items():
        moved = (
            None if partner else next((old for old in left if _same_event(old.finding, item.finding)), None)
        )
        if moved is not None:
            left.remove(moved)
            pairs[fingerprint] = (item, moved)
    return list(pairs.values()), left


def _same_event(old: Finding, new: Finding) -> bool:
    same_place = old.start_step == new.start_step or old.detected_step == new.detected_step
    same_thing = (old.metric, old.labels) == (new.metric, new.labels) or old.kind == new.kind
    return old.attempt == new.attempt and same_place and same_thing


def _opened(found: IncidentCandidate) -> IncidentChange:
    finding = found.finding
    state = _natural_state(found)
    lines = [HistoryLine(type=EventType.OPENED, text=finding.summary, detail={"kind": finding.kind.value})]
    if state is IncidentState.RECOVERED:
        lines.append(_recovered(found))
    return IncidentChange(known=None, found=found, state=state, lines=tuple(lines))


def _natural_state(found: IncidentCandidate) -> IncidentState:
    """Where an incident stands that no person has touched. Information needs nobody."""
    if found.finding.severity is Severity.INFO:
        return IncidentState.CLOSED
    return IncidentState.RECOVERED if found.over else IncidentState.OPEN


def _next_state(before: IncidentState, found: IncidentCandidate) -> IncidentState:
    """As `_natural_state`; but what people saw open has recovered, though its past is information now."""
    if before is not IncidentState.CLOSED and found.over:
        return IncidentState.RECOVERED
    return _natural_state(found)


def _recovered(found: IncidentCandidate) -> HistoryLine:
    if found.finding.end_step is None and found.replaced_by is not None:
        text = f"Attempt {found.replaced_by} went back behind it and has passed it."
        return HistoryLine(type=EventType.RECOVERED, text=text, detail={"attempt": found.replaced_by})
    detail = {"end_step": found.finding.end_step}
    return HistoryLine(type=EventType.RECOVERED, text=found.finding.summary, detail=detail)


def _developed(known: Known, found: IncidentCandidate) -> IncidentChange | None:
    old, new = known.finding, found.finding
    lines = [*_moved(known, found), *_judged(old, new)]
    state = known.state if _person_has_it(known, new) else _next_state(known.state, found)
    if state is not known.state:
        lines.append(_turned(state, found))
    if not lines and old == new and known.start_time == found.start_time:
        return None
    return IncidentChange(known=known, found=found, state=state, lines=tuple(lines))


def _person_has_it(known: Known, new: Finding) -> bool:
    """What a person closed stays closed unless it gets worse; what one reopened stays open until it ends."""
    old = known.finding
    if known.word is EventType.CLOSED:
        return RANK[new.severity] <= RANK[old.severity]
    return known.word is EventType.REOPENED and (old.end_step, old.severity) == (new.end_step, new.severity)


def _moved(known: Known, found: IncidentCandidate) -> list[HistoryLine]:
    old, new = known.finding, found.finding
    if known.fingerprint == found.fingerprint:
        return []
    detail = {"from_step": old.start_step, "to_step": new.start_step, "from": old.metric, "to": new.metric}
    return [
        HistoryLine(type=EventType.MOVED, text="Points that arrived later place it better.", detail=detail)
    ]


def _judged(old: Finding, new: Finding) -> list[HistoryLine]:
    lines = []
    if new.kind is not old.kind:
        detail = {"from": old.kind.value, "to": new.kind.value}
        lines.append(HistoryLine(type=EventType.RECLASSIFIED, text=new.summary, detail=detail))
    if new.severity is not old.severity:
        worse = RANK[new.severity] > RANK[old.severity]
        detail = {"from": old.severity.value, "to": new.severity.value}
        text = "" if lines else new.summary
        lines.append(
            HistoryLine(type=EventType.ESCALATED if worse else EventType.EASED, text=text, detail=detail)
        )
    return lines


def _turned(state: IncidentState, found: IncidentCandidate) -> HistoryLine:
    if state is IncidentState.OPEN:
        return HistoryLine(type=EventType.REOPENED, text=found.finding.summary)
    if state is IncidentState.RECOVERED:
        return _recovered(found)
    return HistoryLine(type=EventType.CLOSED, text="For information only: it needs nobody.")


def _vanished(known: Known, *, over: bool, planned: Sequence[Expected]) -> IncidentChange:
    plan = _plan(known.finding, planned)
    if plan is not None:
        line = HistoryLine(
            type=EventType.WITHDRAWN,
            text=f"This was planned: {plan.note}" if plan.note else "This was planned.",
        )
        return IncidentChange(known=known, found=None, state=IncidentState.CLOSED, lines=(line,))
    if known.finding.kind is Kind.STALL and not over:
        line = HistoryLine(type=EventType.RECOVERED, text="New points arrived: the run goes on.")
        return IncidentChange(known=known, found=None, state=IncidentState.RECOVERED, lines=(line,))
    ended = over and known.finding.kind is Kind.STALL
    text = (
        "The run is finished."
        if ended
        else "With all points seen, and as detection is tuned now, this is no longer found."
    )
    return IncidentChange(
        known=known,
        found=None,
        state=IncidentState.CLOSED,
        lines=(HistoryLine(type=EventType.WITHDRAWN, text=text),),
    )


def _plan(finding: Finding, planned: Sequence[Expected]) -> Expected | None:
    """What was planned that explains it."""
    slack = max(finding.detected_step - finding.start_step, 0)
    return next((event for event in planned if event.covers(finding, slack=slack)), None)
