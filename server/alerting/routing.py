"""Who is told: which change of an incident becomes a notification to a channel, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from holter.server.alerting.lifecycle import RANK, EventType, IncidentState
from holter.types import Severity

# the first that applies is the reason a message gives
REASONS = (
    EventType.OPENED,
    EventType.REOPENED,
    EventType.ESCALATED,
    EventType.RECOVERED,
    EventType.RECLASSIFIED,
    EventType.WITHDRAWN,
    EventType.CLOSED,
)
_BEGINS = frozenset({EventType.OPENED, EventType.REOPENED, EventType.ESCALATED, EventType.RECLASSIFIED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Which incidents go to a channel: those at least as severe as `minimum`, and only as they happen.

    `history` also tells of what ended long before Holter saw it, as when an old run is imported. `calm`:
    seconds that a recovery waits, for a curve on its way back may turn round once more.
    """

    channel: str
    minimum: Severity = Severity.WARNING
    history: bool = False
    calm: float = 0.0


def notification_reason(
    events: frozenset[EventType],
    route: Route,
    *,
    state: IncidentState,
    severity: Severity,
    live: bool,
    told: bool,
    acknowledged: bool = False,
) -> EventType | None:
    """Why a channel is told of a change, None when it is not.

    `told`: the channel has heard of this incident before. `live`: the run's points arrive as they are
    logged. An open incident of a run that was catching up is told once the run is live.
    """
    if RANK[severity] < RANK[route.minimum] and not told:
        return None
    if not (live or route.history or told):
        return None
    if not told and state is IncidentState.OPEN:
        return next((event for event in REASONS if event in events & _BEGINS), EventType.OPENED)
    if told and acknowledged:
        events -= {EventType.RECLASSIFIED}  # someone is on it: only what changes the matter itself
    wanted = events if told else events & _BEGINS
    return next((event for event in REASONS if event in wanted), None)
