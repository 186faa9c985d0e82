"""Composes messages about incidents, in the words that someone who was just woken needs."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

from holter.detectors.findings import title_of, title_with_causes
from holter.detectors.findings.evidence import evidence_rows
from holter.detectors.findings.finding_type import in_sentence
from holter.plurals import counted
from holter.server.alerting.gpu_hours import GpuHours
from holter.server.alerting.incident import EventType, HistoryEntry, Incident, IncidentState
from holter.server.alerting.incident_groups import IncidentGroup
from holter.server.alerting.reasons import UPDATES
from holter.server.alerting.silent_agents import describe_hosts, silent_agents
from holter.server.channels.message import NEWS, Message, MessageStrip, local_time, one_line
from holter.types import Cause, Finding, Kind, Severity

_CERTAINTY = ((0.95, "almost certain"), (0.8, "very likely"), (0.6, "likely"), (0.0, "possible"))
_SHOWN_EVIDENCE = 3
"""Measured numbers of a message: the incident's page has all, also those that only explain the detection."""
_EXAMPLE_STRIP = MessageStrip(
    parts=(
        ("attempt", 0.45),
        ("lost", 0.0625),
        ("gap", 0.025),
        ("attempt", 0.3),
        ("info", 0.0125),
        ("info-extent", 0.025),
        ("attempt", 0.125),
    ),
    caption="Steps 0 to 1,530 · 2 attempts · 1 incident, 0 open",
)


def compose(
    incident: Incident,
    *,
    key: str,
    reason: EventType,
    sent_at: float,
    address: str,
    zone: tzinfo | None = None,
    sketch: str = "",
    picture: bytes | None = None,
    gpu_hours: GpuHours | None = None,
    event: IncidentGroup | None = None,
    strip: MessageStrip | None = None,
) -> Message:
    """The message about one incident. `address` is the server's; `zone` of times, None: this machine's.

    `event` has the incident and those linked with it: advice and safe step are about all of them.
    """
    event = IncidentGroup([incident]) if event is None else event
    return Message(
        key=key,
        reason=reason.value,
        severity=incident.finding.severity,
        subject=title_line(incident, _first_kind(incident), provisional=True),
        headline=_headline(incident, reason),
        sentence=_sentence(incident, reason, sent_at, zone),
        link=f"{address}/incidents/{incident.id}",
        sent_at=sent_at,
        facts=tuple(_facts(incident, event, sent_at, zone, gpu_hours)),
        advice=event.advice if incident.is_open else "",
        sketch=sketch,
        picture=picture,
        strip=strip,
        status=status_sentences(incident, sent_at, zone),
        run_link=f"{address}/runs/{incident.run.public_id}" if incident.run is not None else "",
        mute_link=f"{address}/incidents/{incident.id}#mute" if incident.is_open else "",
    )


def compose_example(
    channel: str, *, key: str, sent_at: float, address: str, picture: bytes | None
) -> Message:
    """A message that states that it is a test, and has all parts of one about an incident."""
    return Message(
        key=key,
        reason="test",
        severity=Severity.INFO,
        subject="Test message",
        headline="Test message: nothing has happened",
        sentence=f"Holter's messages reach the channel {channel}. Messages about incidents look like this.",
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        facts=(
            ("Run", "example / 104b"),
            ("Onset", f"step 1,514 of attempt 0, {local_time(sent_at)} (just now)"),
            ("Metric", "train/loss"),
            ("Severity", "Info, recovered"),
            ("Confidence", "almost certain (97%)"),
            ("GPU-hours lost", "0.53 so far (64 GPUs for 30 seconds)"),
        ),
        advice="Advice: where to roll back to, which batches to skip, which node to drain.",
        sketch="▁▁▁▁▁▁▁█▅▃▂▁▁▁▁▁▁▁▁▁  2.05 to 3.97",
        picture=picture,
        strip=_EXAMPLE_STRIP,
    )


def title_line(incident: Incident, kind: str = "", *, provisional: bool = False) -> str:
    """What happened where, on one line: "Loss spike in 104b at step 1,514", "Agent silent on n17".

    A clear cause comes first: "Learning rate rise, then loss spike in 104b at step 1,514".
    """
    title = title_of(kind or incident.finding.kind, incident.finding.metric, provisional=provisional)
    if incident.run is not None:
        title = one_line(title_with_causes(title, incident.finding.causes))
        if incident.finding.kind is Kind.NO_DATA:  # about time, not about a step
            return f"{title} in {one_line(incident.run.name)}"
        return f"{title} in {one_line(incident.run.name)} at step {incident.finding.start_step:,}"
    members = silent_agents(incident.finding)
    if len(members) > 1:
        what = "without data" if incident.finding.kind is Kind.NO_DATA else "silent"
        title = f"{counted(len(members), 'agent')} {what}"
    return one_line(f"{title} on {describe_hosts(members)}")


def _first_kind(incident: Incident) -> str:
    """The kind that the incident opened with: mail programs group messages by their subject too."""
    opened = next((entry for entry in incident.history if entry.type is EventType.OPENED), None)
    return str(opened.detail.get("kind", "")) if opened is not None else ""


def _headline(incident: Incident, reason: EventType) -> str:
    if reason is EventType.OPENED:
        return title_line(incident, provisional=True)
    return f"{NEWS[reason]}: {in_sentence(title_line(incident))}"


def _sentence(incident: Incident, reason: EventType, now: float, zone: tzinfo | None) -> str:
    """The finding's summary, with who or what changed the incident where that adds something."""
    summary = incident.finding.summary
    change = incident.latest(reason) if reason in UPDATES else None
    if change is not None:
        return f"{_change_sentence(change, now, zone)}."
    recovered = incident.latest(EventType.RECOVERED)
    if incident.state is IncidentState.RECOVERED and recovered and "attempt" in recovered.detail:
        return f"{summary} {recovered.text}"
    stated = {EventType.WITHDRAWN, EventType.CLOSED, EventType.REOPENED}
    entry = incident.latest(reason) if reason in stated else None
    if entry is None or (entry.text == summary and entry.by is None):
        return summary
    by = f" by {entry.by}" if entry.by else ""
    text = f": {entry.text.rstrip()}" if entry.text and entry.text != summary else ""
    end = "" if text.endswith((".", "!", "?", "…")) else "."
    return f"{NEWS[reason]}{by}{text}{end} {summary}"


def status_sentences(incident: Incident, now: float, zone: tzinfo | None = None) -> tuple[str, ...]:
    """What people have done with an incident and holds: "Acknowledged by ana at 03:14 CET"."""
    acknowledged = incident.latest(EventType.ACKNOWLEDGED) if incident.acknowledged_by else None
    ended = incident.latest(EventType.RECOVERED, EventType.CLOSED) if not incident.is_open else None
    entries = (acknowledged, incident.mute(now) if incident.is_open else None, ended)
    return tuple(_change_sentence(entry, now, zone) for entry in entries if entry is not None)


def _change_sentence(entry: HistoryEntry, now: float, zone: tzinfo | None) -> str:
    """A change of an incident without a full stop: what, by whom, when."""
    by = f" by {one_line(entry.by)}" if entry.by else ""
    if entry.type is not EventType.MUTED:
        return f"{NEWS[entry.type]}{by} at {clock_time(entry.at, now, zone)}"
    until = entry.detail.get("until")
    return f"Muted{by} until {'it recovers' if until is None else clock_time(until, now, zone)}"


def clock_time(time: float, now: float, zone: tzinfo | None = None) -> str:
    """A wall time for people, with the date unless it is today: `03:14 CEST`."""
    local, today = (datetime.fromtimestamp(each, tz=zone).astimezone(zone) for each in (time, now))
    return local.strftime("%H:%M %Z" if local.date() == today.date() else "%a %d %b, %H:%M %Z")


def _facts(
    incident: Incident,
    event: IncidentGroup,
    now: float,
    zone: tzinfo | None,
    gpu_hours: GpuHours | None,
) -> list[tuple[str, str]]:
    finding = incident.finding
    severity = ("Severity", f"{finding.severity.label}, {state_words(incident)}")
    if incident.run is None:
        began = clock_and_age(finding.start_step / 1000, now, zone)
        return [("Onset", began), *_evidence(finding), severity]
    facts = [
        ("Run", one_line(f"{incident.run.project} / {incident.run.name}")),
        ("Onset", _began(incident, now, zone)),
    ]
    if incident.is_open and event.rollback_step is not None:
        facts.append(("Last safe step", f"{event.rollback_step:,}"))
    if finding.end_step is not None:
        steps = counted(finding.end_step - finding.start_step, "step")
        facts.append(("Ended", f"step {finding.end_step:,}, {steps} later"))
    if finding.causes:
        facts.append(_cause(finding.causes[0]))
    certainty = next(word for least, word in _CERTAINTY if finding.confidence >= least)
    facts += [severity, ("Confidence", f"{certainty} ({finding.confidence:.0%})")]
    if gpu_hours is not None:
        facts.append(("GPU-hours lost", gpu_hours.describe()))
    facts.append(("Metric", _metric(finding)))
    if measured := _measured(finding):
        facts.append(("Evidence", measured))
    return facts


def _cause(cause: Cause) -> tuple[str, str]:
    """The first cause; the summary names it only if it is clear."""
    name = "Cause" if cause.is_clear else "Possible cause"
    return name, one_line(f"{cause.sentence} ({int(100 * cause.score)}%)")


def _began(incident: Incident, now: float, zone: tzinfo | None) -> str:
    finding = incident.finding
    position = f"step {finding.start_step:,} of attempt {finding.attempt}"
    if incident.start_time is None:
        return f"{position} (the log has no clock)"
    return f"{position}, {clock_and_age(incident.start_time, now, zone)}"


def clock_and_age(time: float, now: float, zone: tzinfo | None = None) -> str:
    """A wall time for people, and how long ago that is."""
    return f"{local_time(time, zone)} ({_age(now - time)})"


def _metric(finding: Finding) -> str:
    """The metric with the ranks, nodes or other labels that the finding is about."""
    evidence, labels = finding.evidence, dict(finding.labels)
    named = {name: evidence[name] for name in ("rank", "ranks", "node", "nodes") if name in evidence}
    # one rank of the evidence is the one of the labels
    named = {
        name: each for name, each in named.items() if _join(each) != str(labels.get(name.removesuffix("s")))
    }
    parts = [f"{name} {_join(value)}" for name, value in (named | labels).items()]
    return ", ".join([finding.metric, *parts])


def state_words(incident: Incident) -> str:
    """The state of an incident: "open, acknowledged by ana"."""
    if incident.acknowledged_by and incident.is_open:
        return f"open, acknowledged by {one_line(incident.acknowledged_by)}"
    return incident.state.value


def _measured(finding: Finding) -> str:
    """The first few measured numbers, as `Baseline 2.31 · Peak 4.02`."""
    numbers = {
        name: value
        for name, value in finding.evidence.items()
        if name == "unit"
        or (isinstance(value, int | float) and not isinstance(value, bool) and name != "rollback_upto")
    }  # the safe step of the entire event is a fact of its own
    shown = evidence_rows(numbers, kind=finding.kind, metric=finding.metric)[:_SHOWN_EVIDENCE]
    return " · ".join(f"{name} {text}" for name, text in shown)


def _evidence(finding: Finding) -> list[tuple[str, str]]:
    """The evidence of an incident about agents, one row a field."""
    shown = {name: value for name, value in finding.evidence.items() if name not in {"members", "agents"}}
    return evidence_rows(shown, kind=finding.kind, metric=finding.metric)


def _join(value: Any) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value)


def _age(seconds: float) -> str:
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), noun)} ago"
    return "just now"
