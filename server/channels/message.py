"""A message as channels send it: a value in words, without knowledge of incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from holter.types import Severity

NEWS = {
    "opened": "New",
    "reopened": "Reopened",
    "escalated": "Severity raised",
    "reclassified": "Reclassified",
    "recovered": "Recovered",
    "withdrawn": "No longer detected",
    "closed": "Closed",
    "not_acknowledged": "Not acknowledged",
    "reminder": "Still open",
    "acknowledged": "Acknowledged",
    "unacknowledged": "Unacknowledged",
    "muted": "Muted",
    "unmuted": "No longer muted",
    "summary": "Summary",
    "digest": "Digest",
    "channel_failing": "Channel failing",
    "channel_working": "Channel works again",
    "test": "Test",
}
"""A word for people for every reason to send a message."""
ENDINGS = frozenset({"recovered", "withdrawn", "closed", "channel_working"})
"""Reasons that report the end of something."""
QUIET = ENDINGS | {"reclassified", "digest", "acknowledged", "unacknowledged", "muted", "unmuted"}
"""Reasons that continue a thread without asking anyone to wake up."""


@dataclass(frozen=True, slots=True)
class MessageItem:
    """One incident in a summary; `open`: it still lasts."""

    text: str
    link: str
    severity: Severity
    open: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageIncident:
    """One incident of a message for programs. Times are Unix seconds; `ended_at` None: it lasts.

    `labels` are those that routes match; `state` is open, recovered or closed. `rollback_step`: the newest
    step whose checkpoint is safe for it and all incidents linked with it, None where none is needed.
    """

    id: int
    state: str
    title: str
    summary: str
    advice: str
    link: str
    started_at: float
    ended_at: float | None
    labels: Mapping[str, str] = field(default_factory=dict)
    run_id: str | None = None
    step: int | None = None
    rollback_step: int | None = None
    acknowledged_by: str | None = None
    muted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageStrip:
    """The health strip of the run: kinds and widths (shares of 1) of its parts, and what it shows in words.

    A kind is attempt, lost, gap, a severity at an onset, or a severity and `-extent` while an incident lasts.
    """

    parts: tuple[tuple[str, float], ...]
    caption: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message. `key` is the same whenever it is sent again; `sent_at` is when it was first due.

    `subject` is the same in all messages of one incident, `headline` names the news of this one.
    `picture` is a PNG of the curve, `sketch` the curve as a line of text, `strip` the run's health strip;
    `items` are a summary's. `link` leads to what `link_to` names. `group` is the same in all messages of one
    thread, `resolved`: none of its incidents is open; `incidents` are all that the message is about.
    `status`: sentences about what people and Holter have done with it, such as "Acknowledged by ana at 03:14
    CET"; `run_link` leads to the run, `mute_link` to where notifications about an open incident are muted.
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
    strip: MessageStrip | None = None
    items: tuple[MessageItem, ...] = ()
    group: str = ""
    receiver: str = ""
    resolved: bool = False
    incidents: tuple[MessageIncident, ...] = ()
    status: tuple[str, ...] = ()
    run_link: str = ""
    mute_link: str = ""

    @property
    def news(self) -> str:
        """The reason in a word for people."""
        return NEWS[self.reason]

    @property
    def tone(self) -> str:
        """What the message's colour shows: "calm" at the end of an incident, else its severity."""
        return "calm" if self.reason in ENDINGS else self.severity.value


def local_time(time: float, zone: tzinfo | None = None) -> str:
    """A wall time for people, with its zone: `Tue 26 Sep 2023, 03:12:07 CEST`."""
    return datetime.fromtimestamp(time, tz=zone).astimezone(zone).strftime("%a %d %b %Y, %H:%M:%S %Z")


def one_line(name: str) -> str:
    """A name without line breaks and other control characters, which mail headers must not contain."""
    return "".join(letter if letter.isprintable() else " " for letter in name)
