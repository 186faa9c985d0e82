"""Answers about routing, silences, channels and notifications."""

from __future__ import annotations

from typing import Literal

from holter.server.schemas.base import ApiObject
from holter.types import Severity

SilenceState = Literal["pending", "active", "expired"]
ChannelState = Literal["unused", "working", "failing"]
NotificationState = Literal["waiting", "muted", "delivered", "given_up", "folded", "suppressed"]
DecisionOutcome = Literal["notified", "not_notified", "muted"]


class SilenceView(ApiObject):
    """A silence: incidents that all `matchers` match are muted until `ends_at`; `muted`: those open now."""

    id: int
    matchers: list[str]
    comment: str
    created_by: str
    created_at: float
    starts_at: float
    ends_at: float
    state: SilenceState
    muted: int


class SilenceList(ApiObject):
    """Silences, the newest first."""

    silences: list[SilenceView]


class ChannelView(ApiObject):
    """A channel and how its delivery is. `destination` contains no secret.

    `failing_since` and `error` are of the oldest message that it does not take. `paused_until`: no attempt
    before, because the last ones failed. `minimum` null: the tree of routes alone decides.
    """

    name: str
    type: str
    destination: str
    minimum: Severity | None
    state: ChannelState
    waiting: int
    muted: int
    given_up: int
    last_delivered_at: float | None
    failing_since: float | None
    paused_until: float | None
    error: str | None


class ReceiverView(ApiObject):
    """A receiver of routes and its channels."""

    name: str
    channels: list[str]


class ReceiverList(ApiObject):
    """All channels, and the receivers that are made of them. A channel is a receiver by its own name, too."""

    channels: list[ChannelView]
    receivers: list[ReceiverView]


class ChannelTestResult(ApiObject):
    """Whether a test message arrived, and in a sentence why not."""

    delivered: bool
    text: str


class NotificationView(ApiObject):
    """One message to one channel. `incident_id` is null for a digest or a report about a channel.

    `muted` states what mutes it; `within` is the notification in which a folded one was sent.
    """

    id: int
    incident_id: int | None
    channel: str
    receiver: str
    reason: str
    route: str
    state: NotificationState
    attempts: int
    created_at: float
    next_try_at: float | None
    delivered_at: float | None
    error: str | None
    muted: str | None
    within: int | None
    title: str


class NotificationPage(ApiObject):
    """Notifications, the newest first. `next`: `before` of the next page, null on the last one."""

    notifications: list[NotificationView]
    next: int | None


class DecisionView(ApiObject):
    """Why a channel was, or was not, notified of an incident's change. `channel` is empty for all of them."""

    at: float
    channel: str
    receiver: str
    outcome: DecisionOutcome
    reason: str
    text: str
    route: str


class DecisionList(ApiObject):
    """The decisions about one incident, the oldest first."""

    decisions: list[DecisionView]


class RouteView(ApiObject):
    """A node of the tree of routes, in the order of the tree; `depth` 0 is the first. Times in seconds.

    `channels` are those of its receiver. `group_wait` null: the channel's `settle`. `repeat_interval` and
    `escalate_after` 0: none.
    """

    path: str
    depth: int
    receiver: str
    channels: list[str]
    matchers: list[str]
    group_by: list[str]
    group_wait: float | None
    group_interval: float
    repeat_interval: float
    continues: bool
    mute_time_intervals: list[str]
    active_time_intervals: list[str]
    critical_passes: bool
    escalate_after: float
    escalate_to: str


class InhibitRuleView(ApiObject):
    """A rule of inhibition: an open incident of `source_matchers` mutes those of `target_matchers`."""

    name: str
    source_matchers: list[str]
    target_matchers: list[str]
    equal: list[str]


class TimeIntervalView(ApiObject):
    """A named time interval, its `parts` in words, and whether one of them contains the present."""

    name: str
    active: bool
    parts: list[str]


class DigestView(ApiObject):
    """A regular message. `weekday` null: every day. `at` is the time of the day in `location`."""

    name: str
    receiver: str
    at: str
    weekday: str | None
    location: str
    matchers: list[str]


class RoutingView(ApiObject):
    """A notification policy. `default`: it is made from the channels' settings alone.

    `toml`: the lines of `holter.toml` that make it. `file`: the settings file that was read, null if none.
    """

    default: bool
    toml: str
    file: str | None
    routes: list[RouteView]
    inhibit_rules: list[InhibitRuleView]
    time_intervals: list[TimeIntervalView]
    digests: list[DigestView]


class RouteStepView(ApiObject):
    """A route that was tried. `failed`: the first matcher that does not hold, null where all do."""

    path: str
    receiver: str
    failed: str | None


class ChannelDecision(ApiObject):
    """What a channel would get, and why. `group`: incidents with the same text are sent together."""

    channel: str
    receiver: str
    route: str
    outcome: DecisionOutcome
    text: str
    group: str
    group_wait: float


class RoutingDecision(ApiObject):
    """Where an incident with these labels would go now. `text` says it in a sentence."""

    labels: dict[str, list[str]]
    channels: list[ChannelDecision]
    steps: list[RouteStepView]
    text: str


class ChangedRoutingView(ApiObject):
    """An incident that other settings send elsewhere: its channels now (`current`) and then (`trial`)."""

    incident_id: int
    title: str
    opened_at: float
    severity: Severity
    current: list[str]
    trial: list[str]


class RoutingTrialResult(ApiObject):
    """Valid settings of routing, and which of the newest incidents (`compared`) they send elsewhere."""

    routing: RoutingView
    compared: int
    changed: list[ChangedRoutingView]
