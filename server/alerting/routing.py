"""Decides which change of an incident becomes a notification to which channel, and for what reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holter.server.alerting.incident import EventType, IncidentState
from holter.server.channels import ConfiguredChannel
from holter.types import Severity

REASONS = (
    EventType.OPENED,
    EventType.REOPENED,
    EventType.ESCALATED,
    EventType.RECOVERED,
    EventType.RECLASSIFIED,
    EventType.WITHDRAWN,
    EventType.CLOSED,
)
"""Reasons of notifications by priority: the first that applies is the one that a message gives."""
_BEGINNINGS = frozenset({EventType.OPENED, EventType.REOPENED, EventType.ESCALATED, EventType.RECLASSIFIED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Sends incidents to a channel: those at least as severe as `minimum`, and only as they happen.

    `history` also sends what ended long before Holter saw it, as when an old run is imported.
    `recovery_delay`: seconds that a recovery must last before it is sent, for the curve may turn once more.
    """

    channel: str
    minimum: Severity = Severity.WARNING
    history: bool = False
    recovery_delay: float = 0.0


def build_routes(channels: Mapping[str, ConfiguredChannel]) -> tuple[Route, ...]:
    """The routes to these channels that their settings describe."""
    return tuple(
        Route(
            channel=name,
            minimum=channel.settings.minimum,
            history=channel.settings.history,
            recovery_delay=channel.settings.calm,
        )
        for name, channel in channels.items()
    )


def notification_reason(
    events: frozenset[EventType],
    route: Route,
    *,
    state: IncidentState,
    severity: Severity,
    live: bool,
    notified: bool,
    acknowledged: bool = False,
) -> EventType | None:
    """The reason to notify a channel of a change, None where it is not notified.

    `notified`: the channel got a notification about this incident before. `live`: the run's points arrive as
    they are logged. An open incident of a run that was catching up is sent once the run is live.
    """
    if severity.rank < route.minimum.rank and not notified:
        return None
    if not (live or route.history or notified):
        return None
    if not notified and state is IncidentState.OPEN:
        return next((event for event in REASONS if event in events & _BEGINNINGS), EventType.OPENED)
    if notified and acknowledged:
        events -= {EventType.RECLASSIFIED}  # someone is on it: another name for it is no news
    eligible = events if notified else events & _BEGINNINGS
    return next((event for event in REASONS if event in eligible), None)
