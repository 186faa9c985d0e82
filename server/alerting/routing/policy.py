"""The notification policy: all settings of routing, compiled and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from holter.server.alerting.routing.inhibition_rules import InhibitRule, build_inhibit_rules
from holter.server.alerting.routing.matchers import Matcher, MatcherError, make_matcher, parse_matchers
from holter.server.alerting.routing.route_tree import BY_INCIDENT, Route, RoutingError, build_route
from holter.server.alerting.routing.time_intervals import (
    TimeInterval,
    TimeIntervals,
    build_time_intervals,
    containing,
    load_zone,
    weekday_number,
)
from holter.server.channels import ConfiguredChannel
from holter.server.channels.channel import UpdatingChannel
from holter.settings.alerting import AlertingSettings, DigestSettings
from holter.types import Severity

NOBODY = "none"
"""The receiver without channels."""
DEFAULT_PATH = "default"
"""The path of the tree that channels form when `holter.toml` has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelPolicy:
    """What a channel's own settings say: see ChannelSettings. `minimum` None: the tree alone decides.

    `updates`: it can update the messages that it has sent.
    """

    name: str
    minimum: Severity | None = Severity.WARNING
    history: bool = False
    recovery_delay: float = 0.0
    settle: float = 0.0
    updates: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """A regular message. `minute` of the day; `weekday` None: every day."""

    name: str
    receiver: str
    minute: int
    weekday: int | None
    zone: ZoneInfo
    matchers: tuple[Matcher, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationPolicy:
    """Who is notified of what, and what mutes it. `receivers`: names of channels by receiver."""

    root: Route
    receivers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    channels: Mapping[str, ChannelPolicy] = field(default_factory=dict)
    inhibit_rules: tuple[InhibitRule, ...] = ()
    time_intervals: TimeIntervals = field(default_factory=dict)
    digests: tuple[Digest, ...] = ()
    report_failing_channels: bool = True

    def channels_of(self, receiver: str) -> tuple[str, ...]:
        """The channels of a receiver, which may be a channel's own name."""
        return self.receivers.get(receiver, (receiver,) if receiver in self.channels else ())

    def route_at(self, path: str) -> Route | None:
        """The route of this path, None where the settings have changed since."""
        return next((route for route in self.root.walk() if route.path == path), None)

    def muting_interval(self, route: Route, severity: Severity, now: float) -> str | None:
        """Why a route is mute now by its time intervals; None where it is not."""
        if severity is Severity.CRITICAL and route.critical_passes:
            return None
        muting = containing(route.mute_time_intervals, self.time_intervals, now)
        if muting is not None:
            return f"the time interval {muting} mutes {route.path}"
        if route.active_time_intervals:
            active = containing(route.active_time_intervals, self.time_intervals, now)
            if active is None:
                names = ", ".join(route.active_time_intervals)
                return f"{route.path} is active only in {names}"
        return None


NO_POLICY = NotificationPolicy(root=Route(path=DEFAULT_PATH, receiver=NOBODY))


def build_policy(
    channels: Mapping[str, ConfiguredChannel], settings: AlertingSettings | None = None
) -> NotificationPolicy:
    """The policy of these channels and settings. Raises RoutingError."""
    settings = settings or AlertingSettings()
    receivers = {name: receiver.channels for name, receiver in settings.receivers.items()}
    for name, members in receivers.items():
        if unknown := [member for member in members if member not in channels]:
            raise RoutingError(
                f"[alerting.receivers.{name}] channels: there is no channel {unknown[0]!r}: "
                f"{_expected(channels)}"
            )
    own_tree = settings.route is not None
    policies = {name: _channel_policy(channel, own_tree=own_tree) for name, channel in channels.items()}
    root = build_route(settings.route) if settings.route is not None else default_tree(policies.values())
    intervals = build_time_intervals(settings.time_intervals)
    known = {NOBODY, *receivers, *channels}
    for route in root.walk():
        _check_route(route, known, intervals)
    return NotificationPolicy(
        root=root,
        receivers=receivers,
        channels=policies,
        inhibit_rules=build_inhibit_rules(settings.inhibit_rules, builtin=settings.builtin_inhibition),
        time_intervals=intervals,
        digests=tuple(_digest(name, each, known) for name, each in settings.digests.items()),
        report_failing_channels=settings.report_failing_channels,
    )


def default_tree(channels: Iterable[ChannelPolicy]) -> Route:
    """The tree without settings of its own: every channel gets the severities from its `minimum` on."""
    routes = tuple(
        Route(
            path=f"{DEFAULT_PATH}.{channel.name}",
            receiver=channel.name,
            matchers=(_severity_matcher(channel.minimum or Severity.INFO),),
            group_by=BY_INCIDENT,
            continues=True,
        )
        for channel in channels
    )
    return Route(path=DEFAULT_PATH, receiver=NOBODY, routes=routes)


def _severity_matcher(minimum: Severity) -> Matcher:
    names = [severity.value for severity in Severity if severity.rank >= minimum.rank]
    return make_matcher("severity", "=~", "|".join(names))


def _channel_policy(channel: ConfiguredChannel, *, own_tree: bool) -> ChannelPolicy:
    settings = channel.settings
    decides = not own_tree or "minimum" in settings.model_fields_set
    return ChannelPolicy(
        name=channel.name,
        minimum=settings.minimum if decides else None,
        history=settings.history,
        recovery_delay=settings.calm,
        settle=settings.settle,
        updates=isinstance(channel.channel, UpdatingChannel),
    )


def _check_route(route: Route, receivers: set[str], intervals: Mapping[str, Sequence[TimeInterval]]) -> None:
    place = f"[{route.path}]"
    for key, name in (("receiver", route.receiver), ("escalate_to", route.escalate_to)):
        if name and name not in receivers:
            raise RoutingError(f"{place} {key}: there is no receiver {name!r}: {_expected(receivers)}")
    for key in ("mute_time_intervals", "active_time_intervals"):
        for name in getattr(route, key):
            if name not in intervals:
                reason = f"there is no time interval {name!r}: {_expected(intervals)}"
                raise RoutingError(f"{place} {key}: {reason}")


def _digest(name: str, settings: DigestSettings, receivers: set[str]) -> Digest:
    place = f"alerting.digests.{name}"
    if settings.receiver not in receivers:
        reason = f"there is no receiver {settings.receiver!r}: {_expected(receivers)}"
        raise RoutingError(f"[{place}] receiver: {reason}")
    try:
        matchers = parse_matchers(settings.matchers)
    except MatcherError as error:
        raise RoutingError(f"[{place}] matchers: {error}") from None
    hour, _, minute = settings.at.partition(":")
    return Digest(
        name=name,
        receiver=settings.receiver,
        minute=60 * int(hour) + int(minute),
        weekday=weekday_number(settings.weekday, place) if settings.every == "week" else None,
        zone=load_zone(settings.location, place),
        matchers=matchers,
    )


def _expected(names: Iterable[str]) -> str:
    return f"expected one of {', '.join(sorted(names))}" if names else "none is set up"
