"""Messages for the tests of channels, and the channels that send them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from holter.server.alerting.incident import EventType, Incident
from holter.server.alerting.message_incidents import message_incident
from holter.server.alerting.messages import compose
from holter.server.channels import open_channels
from holter.server.channels.channel import Channel
from holter.server.channels.message import NEWS, Message, MessageIncident, MessageItem
from holter.types import Severity
from tests.support.receivers import make_incident

SENT_AT = 1_700_000_100.0
PICTURE = b"\x89PNG\r\n\x1a\n picture"


def message_about(
    incident: Incident | None = None, event: EventType = EventType.OPENED, **changes: Any
) -> Message:
    """A message about an incident as the server composes it, with `changes` of its fields."""
    incident = make_incident() if incident is None else incident
    message = compose(incident, key="17.0.team", reason=event, sent_at=SENT_AT, address="https://holter")
    return replace(
        message,
        **{
            "group": f"incident-{incident.id}",
            "receiver": "team",
            "resolved": not incident.is_open,
            "incidents": (message_incident(incident, "https://holter", now=SENT_AT),),
            **changes,
        },
    )


def ended_message(**changes: Any) -> Message:
    """The message about the end of the same incident."""
    incident = make_incident(state="recovered", recovered_at=1_700_000_090.0)
    return message_about(incident, EventType.RECOVERED, key="17.1.team", **changes)


def acknowledged_message(**changes: Any) -> Message:
    """The message about the acknowledgement of the same incident."""
    incident = make_incident(acknowledged_by="ana", acknowledged_at=1_700_000_080.0)
    return message_about(incident, EventType.ACKNOWLEDGED, key="17.2.team", **changes)


def open_channel(kind: str, **settings: Any) -> Channel:
    """A channel that may connect to this machine."""
    return open_channels({"team": {"type": kind, "allow_private": True, **settings}})["team"].channel


_HOSTILE = st.sampled_from(
    ["@everyone", "<@U1>", "<!channel>", "**b**", "[a](https://evil)", "\r\nX-A: b", "<b>", "`", "|", "\x00"]
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(_HOSTILE, max_size=4).map(" ".join),
    st.text(max_size=40).map(lambda text: text * 200),
)
"""Names and sentences: short, hostile and long."""
_INCIDENTS = st.builds(
    MessageIncident,
    id=st.integers(1, 2**40),
    state=st.sampled_from(["open", "recovered", "closed"]),
    title=TEXTS,
    summary=TEXTS,
    advice=TEXTS,
    link=st.just("https://holter/incidents/17"),
    started_at=st.floats(0, 2e9),
    ended_at=st.none() | st.floats(0, 2e9),
    labels=st.dictionaries(TEXTS, TEXTS, max_size=4),
    acknowledged_by=st.none() | TEXTS,
)
_ITEMS = st.builds(
    MessageItem,
    text=TEXTS,
    link=st.just("https://holter/incidents/17"),
    severity=st.sampled_from(Severity),
    open=st.booleans(),
)
MESSAGES = st.builds(
    Message,
    key=st.text("0123456789.abcdef", min_size=1, max_size=300),
    reason=st.sampled_from(sorted(NEWS)),
    severity=st.sampled_from(Severity),
    subject=TEXTS,
    headline=TEXTS,
    sentence=TEXTS,
    link=st.just("https://holter/incidents/17"),
    sent_at=st.floats(0, 2e9),
    facts=st.lists(st.tuples(TEXTS, TEXTS), max_size=40).map(tuple),
    advice=TEXTS,
    sketch=st.text("▁▂▃▄▅▆▇█ 0123456789", max_size=80),
    items=st.lists(_ITEMS, max_size=60).map(tuple),
    group=TEXTS,
    receiver=TEXTS,
    resolved=st.booleans(),
    incidents=st.lists(_INCIDENTS, max_size=4).map(tuple),
)
"""Any message."""
