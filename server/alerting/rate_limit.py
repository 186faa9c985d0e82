"""Decides when queued notifications are sent, and which of them together. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holter.server.alerting.incident import EventType
from holter.server.alerting.reasons import REASONS, UPDATES, NoticeType
from holter.types import Severity

GIVE_UP_AFTER = 86_400.0
"""Seconds after which a message that could not be delivered is given up."""
_LONGEST_RETRY_DELAY = 600.0
LONGEST_WAIT = 900.0
"""Seconds between two delivery attempts, whatever a channel asks for."""
_URGENT_REASONS = frozenset({EventType.OPENED, EventType.REOPENED, EventType.ESCALATED})
_COLLECT_SHARE = 60
"""After a summary everything is collected for the window divided by this: it is the same flood."""
_QUIET_SHARE = 4
"""A channel is quiet after a summary for its rate limit's window divided by this."""
_CLOCK_TOLERANCE = 5.0
"""Seconds by which servers' clocks may differ; a later time was written by a wrong clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    """How often a channel sends; see ChannelSettings.

    More than `burst` messages within `window` seconds become one summary; only critical incidents that
    open or get worse may still be sent, up to twice as many. After a summary the rest is quiet for a while.
    """

    settle: float = 5.0
    burst: int = 10
    window: float = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedNotification:
    """A notification that is not delivered yet; `incident_id` None: a notice that is about no incident.

    `group`: notifications with the same one are sent together; empty: those of the incident. `wait` replaces
    the limit's `settle`; before `not_before` (the interval of its group) it is not sent.
    """

    id: int
    incident_id: int | None
    reason: EventType | NoticeType
    severity: Severity
    created_at: float
    next_try_at: float
    group: str = ""
    wait: float | None = None
    not_before: float = float("-inf")


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that the channel delivered."""

    at: float
    summary: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SendOne:
    """Send one message now: `carrier` is an incident's newest notification, `folded` those it includes."""

    carrier: int
    reason: EventType
    folded: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SendGroup:
    """Send one message about a group of several incidents now."""

    carrier: int
    reason: EventType
    folded: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SendNotice:
    """Send a message that is about no incident now."""

    carrier: int
    reason: NoticeType
    folded: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SendSummary:
    """Send all of these notifications in one message now."""

    carrier: int
    folded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing is to be sent before `until`; None: before a new notification is queued."""

    until: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _NotificationGroup:
    """All queued notifications about one incident or one group of incidents, oldest first."""

    notifications: tuple[QueuedNotification, ...]
    ready_at: float

    @property
    def urgent(self) -> bool:
        return any(
            notification.severity is Severity.CRITICAL and notification.reason in _URGENT_REASONS
            for notification in self.notifications
        )

    @property
    def is_update(self) -> bool:
        """Whether it only updates messages that were sent, which floods nobody."""
        return all(notification.reason in UPDATES for notification in self.notifications)

    @property
    def without_news(self) -> _NotificationGroup | None:
        """Its updates alone, None where it has none, or nothing else."""
        updates = tuple(each for each in self.notifications if each.reason in UPDATES)
        return replace(self, notifications=updates) if 0 < len(updates) < len(self.notifications) else None

    @property
    def notice(self) -> SendNotice | None:
        """The action for a notice, None for a group of incidents."""
        [*_, last] = self.notifications
        return (
            SendNotice(carrier=last.id, reason=last.reason) if isinstance(last.reason, NoticeType) else None
        )

    @property
    def send(self) -> SendOne | SendGroup:
        # the newest carries: an older one may have arrived without our knowing, and its key would hide this
        *folded, carrier = self.notifications
        reasons = {notification.reason for notification in self.notifications}
        incidents = {notification.incident_id for notification in self.notifications}
        return (SendOne if len(incidents) == 1 else SendGroup)(
            carrier=carrier.id,
            folded=tuple(notification.id for notification in folded),
            reason=next(reason for reason in REASONS if reason in reasons),
        )


def next_action(
    queue: Sequence[QueuedNotification], sent: Sequence[SentMessage], limit: RateLimit, *, now: float
) -> SendOne | SendGroup | SendSummary | SendNotice | WaitUntil:
    """A channel's next action, given its queue and what it sent within the last window."""
    groups = _form_groups(queue, limit, now)
    for group in groups:
        if group.ready_at <= now and (notice := group.notice) is not None:
            return notice  # there are few, and they are no part of summaries
    unlimited = [group for group in groups if group.notice is not None or group.is_update]
    action = _next_message([group for group in groups if group not in unlimited], sent, limit, now)
    if not isinstance(action, WaitUntil):
        return action  # news before updates
    # what the limit holds back does not hold back that somebody has acknowledged it
    unlimited += [updates for group in groups if (updates := group.without_news) is not None]
    if ready := [group for group in unlimited if group.ready_at <= now]:
        return ready[0].send
    times = [group.ready_at for group in unlimited]
    return WaitUntil(min([*times, *([] if action.until is None else [action.until])], default=None))


def _next_message(
    groups: Sequence[_NotificationGroup], sent: Sequence[SentMessage], limit: RateLimit, now: float
) -> SendOne | SendGroup | SendSummary | WaitUntil:
    """The next message that counts for the limit."""
    recent = [
        message
        for message in sent
        if message.at <= now + _CLOCK_TOLERANCE and message.at + limit.window > now
    ]
    summaries = [message.at for message in recent if message.summary]
    quiet_until = max(summaries, default=float("-inf")) + limit.window / _QUIET_SHARE
    collect_until = max(summaries, default=float("-inf")) + limit.window / _COLLECT_SHARE
    if groups and now < collect_until:
        return WaitUntil(collect_until)
    free, again = limit.burst - len(recent), list[float]()
    if free <= 0 or now < quiet_until:
        first = min((message.at for message in recent), default=now)
        if groups:
            again = [quiet_until if free > 0 else max(quiet_until, first + limit.window)]
        groups, free = [group for group in groups if group.urgent], free + limit.burst
    ready = [group for group in groups if group.ready_at <= now]
    if not ready or free <= 0:
        times = [*again, *(group.ready_at for group in groups if group.ready_at > now)]
        return WaitUntil(min(times, default=None))
    flood = [group for group in groups if group.ready_at <= now + limit.settle]
    if len(flood) <= free:
        return ready[0].send
    ids = sorted(notification.id for group in flood for notification in group.notifications)
    return SendSummary(carrier=ids[-1], folded=tuple(ids[:-1]))


def _form_groups(
    queue: Sequence[QueuedNotification], limit: RateLimit, now: float
) -> list[_NotificationGroup]:
    """The queue by group: the urgent groups first, then those that have waited longest."""
    by_key: dict[object, list[QueuedNotification]] = {}
    for each in sorted(queue, key=lambda notification: notification.id):
        own = each.incident_id if each.incident_id is not None else f"notice {each.id}"
        by_key.setdefault(each.group or own, []).append(each)
    groups = [group for notifications in by_key.values() for group in _split_group(notifications, limit, now)]
    return sorted(groups, key=lambda group: (not group.urgent, group.ready_at))


def _split_group(
    notifications: Sequence[QueuedNotification], limit: RateLimit, now: float
) -> list[_NotificationGroup]:
    """One group, or two: updates do not wait for the others, and these are not sent early because of them."""
    updates = [each for each in notifications if each.reason in UPDATES]
    others = [each for each in notifications if each.reason not in UPDATES]
    if not updates or not others:
        return [_form_group(notifications, limit, now)]
    group = _form_group(others, limit, now)
    if group.ready_at <= now:
        return [replace(group, notifications=tuple(notifications))]
    return [group, _form_group(updates, limit, now)]


def _form_group(
    notifications: Sequence[QueuedNotification], limit: RateLimit, now: float
) -> _NotificationGroup:
    first = notifications[0]
    wait = limit.settle if first.wait is None else first.wait
    due = _bounded_time(min(each.next_try_at for each in notifications), now, LONGEST_WAIT)
    if all(each.reason in UPDATES for each in notifications):
        return _NotificationGroup(notifications=tuple(notifications), ready_at=due)
    settled = _bounded_time(first.created_at, now, 0.0) + wait
    not_before = max(each.not_before for each in notifications)
    return _NotificationGroup(notifications=tuple(notifications), ready_at=max(due, settled, not_before))


def _bounded_time(time: float, now: float, longest: float) -> float:
    """A stored time at most `longest` seconds ahead; long ago where a wrong clock wrote a later one."""
    return time if time <= now + longest + _CLOCK_TOLERANCE else float("-inf")


def retry_delay(failures: int, chance: float) -> float:
    """Seconds before the next attempt after so many failures: exponential, jitter by `chance` in [0, 1).

    The jitter keeps the servers of a team from reconnecting at once to a mail server that is up again.
    """
    return min(2.0 * 2.0 ** min(failures, 20), _LONGEST_RETRY_DELAY) * (0.5 + chance / 2)
