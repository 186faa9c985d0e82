"""What a message means for a service that has alerts, which open, are acknowledged and are resolved."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from holter.server.channels.channel import Delivered, GiveUp, Outcome
from holter.server.channels.message import ENDINGS, QUIET, Message
from holter.server.channels.texts import alert_key


class AlertState(StrEnum):
    """What a service is to do with an alert."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    UNCHANGED = "unchanged"
    NO_ALERT = "no_alert"


def alert_state(message: Message, thread: str | None, *, opens: bool = True) -> AlertState:
    """The state that an alert gets by a message. `thread`: it has been opened; `opens`: it may be now."""
    if message.reason == "digest":
        return AlertState.NO_ALERT
    if message.reason == "channel_working":
        return AlertState.UNCHANGED  # the alert about the failure is closed by whoever repaired it
    if message.resolved and message.incidents:
        return AlertState.RESOLVED if thread or message.reason in ENDINGS else AlertState.UNCHANGED
    still_open = [each for each in message.incidents if each.state == "open"]
    if opens and message.reason not in QUIET:
        return AlertState.OPEN
    is_acknowledged = still_open and all(each.acknowledged_by is not None for each in still_open)
    return AlertState.ACKNOWLEDGED if is_acknowledged else AlertState.UNCHANGED


def change_alert(
    service: str,
    message: Message,
    thread: str | None,
    change: Callable[[str, AlertState], Outcome],
    *,
    opens: bool = True,
) -> Outcome:
    """Call `change` with an alert's key and new state, if it gets one. `thread`: the key of an open one."""
    state = alert_state(message, thread, opens=opens)
    if state is AlertState.NO_ALERT:
        return GiveUp(f"{service} takes alerts, no digests")
    key = thread or alert_key(message)
    return Delivered(key) if state is AlertState.UNCHANGED else change(key, state)
