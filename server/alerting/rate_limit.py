"""When waiting notifications are sent, and which of them together. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from holter.server.alerting.lifecycle import EventType
from holter.server.alerting.routing import REASONS
from holter.types import Severity

GIVE_UP_AFTER = 86_400.0
"""Seconds after which a message that could not be delivered is given up."""
_LONGEST_PAUSE = 600.0
_LOUD = frozenset({EventType.OPENED, EventType.REOPENED, EventType.ESCALATED})
_CALM_SHARE = 4
LONGEST_WAIT = 900.0
"""Seconds between two tries, whatever a channel asks for."""
_AHEAD = 5.0
"""Seconds by which servers' clocks may differ: what lies further in the future was written by a wrong one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    """How often a channel may speak; see ChannelSettings.

    More than `burst` messages within `window` seconds are told together; only critical incidents that
    open or get worse may go on, up to twice as many. After a summary the rest keeps quiet for a while.
    """

    settle: float = 5.0
    burst: int = 10
    window: float = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedNotification:
    """A notification that is not delivered yet; `about` names the incident or outage."""

    id: int
    about: Hashable
    reason: EventType
    severity: Severity
    created_at: float
    next_try_at: float


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that went out through the channel."""

    at: float
    summary: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SendOne:
    """Send one message now: `carrier` is the newest change of a matter, `folded` those it includes."""

    carrier: int
    reason: EventType
    folded: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SendSummary:
    """Tell all of these in one message now."""

    carrier: int
    folded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing to send before `until`; None: before something new is waiting."""

    until: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Matter:
    """All that waits about one incident or outage."""

    rows: tuple[QueuedNotification, ...]
    ready_at: float

    @property
    def urgent(self) -> bool:
        return any(row.severity is Severity.CRITICAL and row.reason in _LOUD for row in self.rows)

    @property
    def send(self) -> SendOne:
        # the newest carries: an older one may have arrived without us knowing, and would be taken for it
        *folded, carrier = self.rows
        reasons = {row.reason for row in self.rows}
        return SendOne(
            carrier=carrier.id,
            folded=tuple(row.id for row in folded),
            reason=next(reason for reason in REASONS if reason in reasons),
        )


def next_action(
    waiting: Sequence[QueuedNotification], sent: Sequence[SentMessage], pace: RateLimit, *, now: float
) -> SendOne | SendSummary | WaitUntil:
    """What a channel does next, given what waits for it and what it sent within the last window."""
    matters = _matters(waiting, pace, now)
    recent = [one for one in sent if one.at <= now + _AHEAD and one.at + pace.window > now]
    summaries = [one.at for one in recent if one.summary]
    calm_until = max(summaries, default=float("-inf")) + pace.window / _CALM_SHARE
    free = pace.burst - len(recent)
    if free <= 0 or now < calm_until:
        first = min((one.at for one in recent), default=now)
        again = calm_until if free > 0 else max(calm_until, first + pace.window)
        matters, free = [one for one in matters if one.urgent], free + pace.burst
    else:
        again = None
    ready = [one for one in matters if one.ready_at <= now]
    if not ready or free <= 0:
        moments = [one.ready_at for one in matters if one.ready_at > now]
        return WaitUntil(min([*moments, *([again] if again is not None and waiting else [])], default=None))
    if len(ready) <= free:
        return ready[0].send
    ids = sorted(row.id for one in ready for row in one.rows)
    return SendSummary(carrier=ids[-1], folded=tuple(ids[:-1]))


def _matters(waiting: Sequence[QueuedNotification], pace: RateLimit, now: float) -> list[_Matter]:
    """What waits, by what it is about; the urgent first, then what has waited longest."""
    grouped: dict[Hashable, list[QueuedNotification]] = {}
    for row in sorted(waiting, key=lambda one: one.id):
        grouped.setdefault(row.about, []).append(row)
    matters = [
        _Matter(
            rows=tuple(rows),
            ready_at=max(
                _believed(min(row.next_try_at for row in rows), now, LONGEST_WAIT),
                _believed(rows[0].created_at, now, 0.0) + pace.settle,
            ),
        )
        for rows in grouped.values()
    ]
    return sorted(matters, key=lambda one: (not one.urgent, one.ready_at))


def _believed(moment: float, now: float, most: float) -> float:
    """A moment at most so many seconds ahead, or one long ago where a wrong clock has named it."""
    return moment if moment <= now + most + _AHEAD else float("-inf")


def retry_delay(failures: int, chance: float) -> float:
    """Seconds before the next try after so many failures: exponential, with jitter by `chance` in [0, 1).

    The jitter keeps the servers of a team from knocking together at a mail server that comes back.
    """
    return min(2.0 * 2.0 ** min(failures, 20), _LONGEST_PAUSE) * (0.5 + chance / 2)
