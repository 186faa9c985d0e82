"""Which channels an incident is routed to, and why not to others. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from holter.server.alerting.routing.matchers import LabelSet
from holter.server.alerting.routing.policy import NotificationPolicy
from holter.server.alerting.routing.route_tree import Route, trace_routes
from holter.types import Severity

_SHOWN = 5
_RANKS = {severity.value: severity.rank for severity in Severity}


@dataclass(frozen=True, slots=True)
class ChannelTarget:
    """A channel that a route leads to; `refusal` states why it gets nothing all the same.

    `via`: the receiver through which it is notified where that is not the route's, as in an escalation.
    """

    channel: str
    route: Route
    refusal: str = ""
    via: str = ""

    @property
    def receiver(self) -> str:
        """The receiver that leads to the channel."""
        return self.via or self.route.receiver


def channel_targets(policy: NotificationPolicy, labels: LabelSet) -> dict[str, ChannelTarget]:
    """The channels that the routes lead to, by name; of several routes to a channel the first counts."""
    targets: dict[str, ChannelTarget] = {}
    for route in trace_routes(policy.root, labels).reached:
        for channel in policy.channels_of(route.receiver):
            targets.setdefault(channel, ChannelTarget(channel, route, _refusal(policy, channel, labels)))
    return targets


def _refusal(policy: NotificationPolicy, channel: str, labels: LabelSet) -> str:
    minimum = policy.channels[channel].minimum
    rank = max((_RANKS.get(value, 0) for value in labels.get("severity") or ()), default=0)
    if minimum is None or rank >= minimum.rank:
        return ""
    return f"the severity is below the channel's minimum ({minimum.value})"


def describe_unrouted(policy: NotificationPolicy, labels: LabelSet) -> str:
    """Why no channel is reached: the route that ends without one, and what the others ask for."""
    trace = trace_routes(policy.root, labels)
    ends = ", ".join(f"{route.path} (receiver {route.receiver})" for route in trace.reached)
    failed = [f"{step.route.path} needs {step.failed}" for step in trace.steps if step.failed is not None]
    shown = "; ".join(failed[:_SHOWN]) + (f"; and {len(failed) - _SHOWN} more" if failed[_SHOWN:] else "")
    return f"no channel is reached: the routes end at {ends}" + (f"; {shown}" if shown else "")
