"""One message about many incidents and outages, where each by itself would flood a channel.

A message: what a channel sends, in words, composed from an incident for someone asleep a minute ago.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from holter.detectors.findings.evidence import told
from holter.plurals import counted, verb
from holter.types import Kind, Severity

TITLES: Mapping[Kind, str] = {
    Kind.SPIKE_FAST: "Loss spike",
    Kind.SPIKE_SLOW: "Slow loss spike",
    Kind.SPIKE_UNRECOVERED: "Loss spike without recovery",
    Kind.DIVERGENCE: "Loss diverges",
    Kind.NONFINITE: "NaN or infinite values",
    Kind.RESUME_ARTIFACT: "Loss jumped after a restart",
    Kind.REPEATED_DATA: "Data repeated after a restart",
    Kind.THROUGHPUT_REGRESSION: "Throughput dropped",
    Kind.STRAGGLER: "Slow rank",
    Kind.COMM_SLOWDOWN: "Collectives are slow",
    Kind.DESYNC: "Ranks disagree",
    Kind.STALL: "No new points",
    Kind.LOSS_SCALE_COLLAPSE: "Loss scale collapsed",
    Kind.MIXTURE_SHIFT: "Dataset mixture shifted",
    Kind.SUDDEN_DROP: "Sudden improvement",
    Kind.OUTLIER_BATCH: "Outlier batch",
    Kind.HIDDEN_NONFINITE: "Masked NaN values",
    Kind.MEMORY_LEAK: "Memory keeps growing",
    Kind.GPU_FAULT: "GPU fault",
}
NEWS = {
    "opened": "New",
    "reopened": "Again",
    "escalated": "Worse",
    "reclassified": "Changed",
    "recovered": "Recovered",
    "withdrawn": "Withdrawn",
    "closed": "Closed",
    "summary": "Several at once",
    "test": "Test",
}
QUIET = frozenset({"reclassified", "recovered", "withdrawn", "closed"})
"""Reasons that continue a thread without asking anyone to wake up."""
_SURE = ((0.95, "almost certain"), (0.8, "very likely"), (0.6, "likely"), (0.0, "possible"))
_SHOWN_EVIDENCE = 6


@dataclass(frozen=True, slots=True)
class Item:
    """One incident of a summary, or one outage; `open`: it still lasts."""

    text: str
    link: str
    severity: Severity
    open: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message. `key` is the same whenever it is sent again; `sent_at` is when it was first due.

    `subject` stays the same for all messages of one incident, `headline` says this one's news.
    `picture` is a PNG of the curve, `sketch` the curve as a line of text; `items` are a summary's.
    `link` leads to what `link_to` names.
    """

    key: str
    reason: str
    severity: Severity
    subject: str
    headline: str
    sentence: str
    link: str
    link_to: str = "the incident"
    sent_at: float
    facts: tuple[tuple[str, str], ...] = ()
    advice: str = ""
    sketch: str = ""
    picture: bytes | None = None
    items: tuple[Item, ...] = ()

    @property
    def news(self) -> str:
        """The reason in a word for people."""
        return NEWS[self.reason]


def compose(
    incident: Mapping[str, Any],
    *,
    key: str,
    reason: str,
    sent_at: float,
    address: str,
    zone: tzinfo | None = None,
    sketch: str = "",
    picture: bytes | None = None,
) -> Message:
    """The message about one incident (its JSON, docs/rest.md). `zone`: None is this machine's."""
    return Message(
        key=key,
        reason=reason,
        severity=Severity(incident["severity"]),
        subject=_subject(incident),
        headline=_headline(incident, reason),
        sentence=_sentence(incident, reason),
        link=f"{address}/incidents/{incident['id']}",
        sent_at=sent_at,
        facts=tuple(_facts(incident, sent_at, zone)),
        advice=incident["advice"] if incident["state"] == "open" else "",
        sketch=sketch,
        picture=picture,
    )


def example(channel: str, *, key: str, sent_at: float, address: str, picture: bytes | None) -> Message:
    """A message that says that it is a test, and looks like one that is not."""
    return Message(
        key=key,
        reason="test",
        severity=Severity.INFO,
        subject="Test message",
        headline="Test message: nothing has happened",
        sentence=f"Holter's messages reach the channel {channel}. One about an incident looks like this.",
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        facts=(
            ("Run", "example / 104b"),
            ("Began", f"step 1,514 of attempt 0, {local_time(sent_at)} (just now)"),
            ("Where", "train/loss, the whole run"),
            ("How sure", "almost certain (97%)"),
        ),
        advice="Here it says what to do: where to roll back to, which batches to skip, which node to drain.",
        sketch="▁▁▁▁▁▁▁█▅▃▂▁▁▁▁▁▁▁▁▁  2.05 to 3.97",
        picture=picture,
    )


def local_time(moment: float, zone: tzinfo | None = None) -> str:
    """A wall time as people say it, with its zone: `Tue 26 Sep 2023, 03:12:07 CEST`."""
    return datetime.fromtimestamp(moment, tz=zone).astimezone(zone).strftime("%a %d %b %Y, %H:%M:%S %Z")


def title_of(incident: Mapping[str, Any], kind: str | None = None) -> str:
    return TITLES[Kind(kind or incident["kind"])]


def _subject(incident: Mapping[str, Any]) -> str:
    """As the incident opened, whatever became of it: mail programs thread by subject too."""
    opened = next((event for event in incident["events"] if event["type"] == "opened"), None)
    first = opened["detail"].get("kind") if opened else None
    return f"{title_of(incident, first)} in {one_line(incident['run'])} at step {incident['start_step']:,}"


def _headline(incident: Mapping[str, Any], reason: str) -> str:
    title = f"{title_of(incident)} in {one_line(incident['run'])} at step {incident['start_step']:,}"
    return title if reason == "opened" else f"{NEWS[reason]}: {title[0].lower()}{title[1:]}"


def one_line(name: str) -> str:
    """A name without line breaks and other control characters, which headers of mails must not hold."""
    return "".join(letter if letter.isprintable() else " " for letter in name)


def _sentence(incident: Mapping[str, Any], reason: str) -> str:
    """What the finding says, and who or what changed the incident where that says more."""
    summary = str(incident["summary"])
    recovered = _last(incident, "recovered") if incident["state"] == "recovered" else None
    if recovered and "attempt" in recovered["detail"]:
        return f"{summary} {recovered['text']}"
    event = _last(incident, reason) if reason in {"withdrawn", "closed", "reopened"} else None
    if event is None:
        return summary
    by = f" by {event['by']}" if event["by"] else ""
    said = f": {event['text']}" if event["text"] and event["text"] != summary else "."
    return f"{NEWS[reason]}{by}{said} {summary}"


def _last(incident: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The newest line of one kind in the history."""
    return next((event for event in reversed(incident["events"]) if event["type"] == kind), None)


def _facts(incident: Mapping[str, Any], now: float, zone: tzinfo | None) -> list[tuple[str, str]]:
    facts = [("Run", f"{incident['project']} / {incident['run']}"), ("Began", _began(incident, now, zone))]
    if incident["end_step"] is not None:
        steps = incident["end_step"] - incident["start_step"]
        facts.append(("Ended", f"step {incident['end_step']:,}, {counted(steps, 'step')} later"))
    facts.append(("Where", _where(incident)))
    facts.append(("How bad", f"{incident['severity'].capitalize()}, {_state(incident)}"))
    sure = next(word for least, word in _SURE if incident["confidence"] >= least)
    facts.append(("How sure", f"{sure} ({incident['confidence']:.0%})"))
    measured = _evidence(incident)
    if measured:
        facts.append(("Measured", measured))
    return facts


def _began(incident: Mapping[str, Any], now: float, zone: tzinfo | None) -> str:
    place = f"step {incident['start_step']:,} of attempt {incident['attempt']}"
    if incident["start_time"] is None:
        return f"{place} (the log has no clock)"
    return f"{place}, {local_time(incident['start_time'], zone)} ({_ago(now - incident['start_time'])})"


def _where(incident: Mapping[str, Any]) -> str:
    """The ranks or other labels it happened on; a series without labels speaks for the whole run."""
    labels, evidence = incident["labels"], incident["evidence"]
    named = {name: evidence[name] for name in ("rank", "ranks", "node", "nodes") if name in evidence} | labels
    spelled = [f"{name} {_listed(value)}" for name, value in named.items()]
    return f"{incident['metric']}, {', '.join(spelled) or 'the whole run'}"


def _state(incident: Mapping[str, Any]) -> str:
    if incident["acknowledged_by"] and incident["state"] == "open":
        return f"open, acknowledged by {incident['acknowledged_by']}"
    return str(incident["state"])


def _evidence(incident: Mapping[str, Any]) -> str:
    """The first few measured numbers, as `baseline 2.31 · peak 4.02`."""
    numbers = {
        name: value
        for name, value in incident["evidence"].items()
        if name == "unit" or (isinstance(value, int | float) and not isinstance(value, bool))
    }
    shown = told(numbers, kind=Kind(incident["kind"]), metric=incident["metric"])[:_SHOWN_EVIDENCE]
    return " · ".join(f"{name} {text}" for name, text in shown)


def _listed(value: Any) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


def _ago(seconds: float) -> str:
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), noun)} ago"
    return "just now"


_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def summarise(
    incidents: Sequence[Mapping[str, Any]],
    *,
    key: str,
    sent_at: float,
    address: str,
    others: Sequence[Item] = (),
) -> Message:
    """One message about many incidents, the worst first, and `others`: outages of agents."""
    items = [_item(one, address) for one in incidents] + list(others)
    runs = sorted({f"{one['project']}/{one['run']}" for one in incidents})
    where = one_line(runs[0]) if len(runs) == 1 else counted(len(runs), "run")
    still_open = sum(one.open for one in items)
    outages = counted(len(others), "outage") + " of agents"
    told = [f"{counted(len(incidents), 'incident')} in {where}"] if incidents else []
    headline = " and ".join([*told, outages] if others else told)
    return Message(
        key=key,
        reason="summary",
        severity=min((one.severity for one in items), key=_ORDER.index),
        subject=headline,
        headline=headline,
        sentence=(
            f"{headline} changed within a short time; {still_open} of them {verb(still_open, 'is', 'are')} "
            "open. They are told together so that they do not flood this channel."
        ),
        link=f"{address}/incidents",
        link_to="all incidents",
        sent_at=sent_at,
        items=tuple(sorted(items, key=lambda one: _ORDER.index(one.severity))),
    )


def _item(incident: Mapping[str, Any], address: str) -> Item:
    said = (title_of(incident), incident["run"], f"step {incident['start_step']:,}", incident["state"])
    return Item(
        text=" · ".join(said),
        link=f"{address}/incidents/{incident['id']}",
        severity=Severity(incident["severity"]),
        open=incident["state"] == "open",
    )
