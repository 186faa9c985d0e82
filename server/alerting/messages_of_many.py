"""Composes messages about many incidents: groups, summaries, digests; and notices about channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from holter.detectors.findings import title_of, title_with_causes
from holter.plurals import counted, verb
from holter.server.alerting.incident import EventType, Incident
from holter.server.alerting.messages import clock_and_age, state_words, title_line
from holter.server.alerting.reasons import NoticeType
from holter.server.channels.message import NEWS, Message, MessageItem, one_line
from holter.types import Severity

_SHOWN_KINDS = 3


def summarize(
    incidents: Sequence[Incident],
    *,
    key: str,
    sent_at: float,
    address: str,
    reason: EventType = EventType.OPENED,
) -> Message:
    """One message about many incidents, the most severe first. `reason`: why all of them are in it, if there
    is one for all.
    """
    items = _items(incidents, address)
    subject = f"{_count_incidents(incidents)}: {_kinds(incidents)}"
    headline = _with_news(subject, reason)
    return Message(
        key=key,
        reason="summary",
        severity=_highest(items),
        subject=subject,
        headline=headline,
        sentence=(
            f"{_count_incidents(incidents)}; {_open_words(items)}. "
            "They are in one message so that they do not flood this channel."
        ),
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        facts=_onset(incidents, sent_at),
        items=items,
    )


def _count_incidents(incidents: Sequence[Incident]) -> str:
    """How many incidents there are of how many runs, and how many of agents."""
    runs = [incident.run for incident in incidents if incident.run is not None]
    about_agents = len(incidents) - len(runs)
    parts = []
    if runs:
        names = sorted({f"{run.project}/{run.name}" for run in runs})
        where = one_line(names[0]) if len(names) == 1 else counted(len(names), "run")
        parts.append(f"{counted(len(runs), 'incident')} in {where}")
    if about_agents:
        parts.append(f"{counted(about_agents, 'incident')} of agents")
    return " and ".join(parts)


def _kinds(incidents: Sequence[Incident]) -> str:
    """The commonest kinds of the incidents: "NaN or infinity, Slow loss spike and 2 other kinds"."""
    counts = Counter(title_of(each.finding.kind, each.finding.metric) for each in incidents)
    kinds = [title for title, _ in counts.most_common(_SHOWN_KINDS)]
    rest = len(counts) - len(kinds)
    return ", ".join(kinds) + (f" and {counted(rest, 'other kind')}" if rest else "")


def _with_news(subject: str, reason: EventType) -> str:
    return subject if reason is EventType.OPENED else f"{NEWS[reason]}: {subject}"


def _open_words(items: Sequence[MessageItem]) -> str:
    """How many of the incidents are open: "all are open", "none is open any more", "2 of them are open"."""
    still_open = sum(item.open for item in items)
    if still_open == len(items):
        return "it is open" if still_open == 1 else "all are open"
    if not still_open:
        return "none is open any more"
    return f"{still_open} of them {verb(still_open, 'is', 'are')} open"


def _items(incidents: Sequence[Incident], address: str) -> tuple[MessageItem, ...]:
    """The incidents of a message, the most severe first, then as they were detected."""
    ordered = sorted(incidents, key=lambda incident: (-incident.finding.severity.rank, incident.id))
    return tuple(_item(incident, address) for incident in ordered)


def _item(incident: Incident, address: str) -> MessageItem:
    return MessageItem(
        text=_item_text(incident),
        link=f"{address}/incidents/{incident.id}",
        severity=incident.finding.severity,
        open=incident.is_open,
    )


def notice_item(incident: Incident) -> dict[str, Any]:
    """An incident as an item of the details of a notice, see `compose_notice`."""
    return {
        "text": _item_text(incident),
        "path": f"/incidents/{incident.id}",
        "severity": incident.finding.severity.value,
        "open": incident.is_open,
    }


def _item_text(incident: Incident) -> str:
    finding = incident.finding
    if incident.run is None:
        return f"{title_line(incident)} · {state_words(incident)}"
    title = title_with_causes(title_of(finding.kind, finding.metric), finding.causes)
    step = f"step {finding.start_step:,}"
    return " · ".join((title, one_line(incident.run.name), step, state_words(incident)))


def compose_group(
    incidents: Sequence[Incident], *, reason: EventType, key: str, sent_at: float, address: str
) -> Message:
    """One message about a group of incidents: one sentence, then the list, the most severe first."""
    items = _items(incidents, address)
    subject = f"{_count_incidents(incidents)}: {_kinds(incidents)}"
    return Message(
        key=key,
        reason=reason.value,
        severity=_highest(items),
        subject=subject,
        headline=_with_news(subject, reason),
        sentence=(
            f"{_count_incidents(incidents)}; {_open_words(items)}. "
            "They are one message because the route groups them (group_by)."
        ),
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        facts=_onset(incidents, sent_at),
        items=items,
    )


def compose_notice(
    reason: NoticeType, details: Mapping[str, Any], *, key: str, sent_at: float, address: str
) -> Message:
    """A message that is about no incident; `details` hold its texts as they were when it was written."""
    return Message(
        key=key,
        reason=reason.value,
        severity=Severity(details.get("severity", Severity.INFO)),
        subject=str(details["headline"]),
        headline=str(details["headline"]),
        sentence=str(details["sentence"]),
        link=f"{address}{details.get('path', '/incidents')}",
        link_to=str(details.get("link_to", "all incidents")),
        sent_at=sent_at,
        facts=tuple((str(name), str(value)) for name, value in details.get("facts", ())),
        advice=str(details.get("advice", "")),
        items=tuple(
            MessageItem(
                text=str(item["text"]),
                link=f"{address}{item['path']}",
                severity=Severity(item["severity"]),
                open=bool(item["open"]),
            )
            for item in details.get("items", ())
        ),
    )


def _onset(incidents: Sequence[Incident], now: float) -> tuple[tuple[str, str], ...]:
    """When the first of the incidents that are still open began, or else the first of all."""
    still_open = [incident for incident in incidents if incident.is_open] or incidents
    times = [incident.start_time for incident in still_open if incident.start_time is not None]
    return (("First onset", clock_and_age(min(times), now)),) if times else ()


def _highest(items: Sequence[MessageItem]) -> Severity:
    return max((item.severity for item in items), key=lambda severity: severity.rank)
