"""Decides which change of an incident becomes a notification, and for what reason. Pure."""

from __future__ import annotations

from enum import StrEnum

from holter.server.alerting.incident import EventType, IncidentState

REASONS = (
    EventType.OPENED,
    EventType.REOPENED,
    EventType.ESCALATED,
    EventType.NOT_ACKNOWLEDGED,
    EventType.RECOVERED,
    EventType.RECLASSIFIED,
    EventType.WITHDRAWN,
    EventType.CLOSED,
    EventType.REMINDER,
    EventType.ACKNOWLEDGED,
    EventType.UNACKNOWLEDGED,
    EventType.MUTED,
    EventType.UNMUTED,
)
"""Reasons of notifications by priority: the first that applies is the one that a message gives."""


class NoticeType(StrEnum):
    """Reasons of messages that are about no incident."""

    DIGEST = "digest"
    CHANNEL_FAILING = "channel_failing"
    CHANNEL_WORKING = "channel_working"


BEGINNINGS = frozenset({EventType.OPENED, EventType.REOPENED, EventType.ESCALATED, EventType.RECLASSIFIED})
ENDINGS = frozenset({EventType.RECOVERED, EventType.WITHDRAWN, EventType.CLOSED})
UPDATES = frozenset({EventType.ACKNOWLEDGED, EventType.UNACKNOWLEDGED, EventType.MUTED, EventType.UNMUTED})
"""Reasons for which only channels are notified that can update the message they have sent."""


def notification_reason(
    events: frozenset[EventType],
    *,
    routed: bool,
    history: bool,
    state: IncidentState,
    live: bool,
    notified: bool,
    acknowledged: bool = False,
    is_information: bool = False,
    updates: bool = False,
) -> EventType | None:
    """The reason to notify a channel of a change, None where it is not notified.

    `routed`: the routes lead to the channel. `notified`: it got a notification about this incident before.
    `live`: the run's points arrive as they are logged. `history`: the channel wants what ended long before
    Holter saw it, too. An open incident of a run that was catching up is sent once the run is live.
    `is_information`: it requires no action any more. `updates`: the channel can update what it has sent.
    """
    if not routed and not notified:
        return None
    if not (live or history or notified):
        return None
    if not notified and state is IncidentState.OPEN:
        return next((event for event in REASONS if event in events & BEGINNINGS), EventType.OPENED)
    if not updates:
        events -= UPDATES
        if notified and (acknowledged or is_information):
            # someone is on it, or nobody needs to be: another name for it is no news
            events -= {EventType.RECLASSIFIED}
    eligible = events if notified else events & BEGINNINGS
    return next((event for event in REASONS if event in eligible), None)
