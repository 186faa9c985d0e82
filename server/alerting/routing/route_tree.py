"""The tree of routes: which of its nodes an incident reaches. The algorithm is Alertmanager's.

Source: `Route.Match` in https://github.com/prometheus/alertmanager/blob/main/dispatch/route.go
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from holter.server.alerting.routing.matchers import LabelSet, Matcher, MatcherError, parse_matchers
from holter.settings.alerting import RouteSettings

ALL_LABELS = "..."
"""In `group_by`: incidents with exactly the same labels form a group."""
BY_INCIDENT = ("incident",)
"""The default of `group_by`: each incident is a group of its own."""
GROUP_INTERVAL = 300.0
"""Seconds between two messages about a group of several incidents, unless set."""
REPEAT_INTERVAL = 14_400.0
"""Seconds after which a tree of one's own reminds of an open incident, unless set."""


class RoutingError(ValueError):
    """The settings of routing are wrong; the message names the key and what was expected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """A node with everything it inherits. `path` names it in `holter.toml`; durations are in seconds.

    `group_wait` None: the channel's `settle`. `repeat_interval` 0: no reminders. `escalate_after` 0: none.
    """

    path: str
    receiver: str
    matchers: tuple[Matcher, ...] = ()
    group_by: tuple[str, ...] = BY_INCIDENT
    group_wait: float | None = None
    group_interval: float = 0.0
    repeat_interval: float = 0.0
    continues: bool = False
    mute_time_intervals: tuple[str, ...] = ()
    active_time_intervals: tuple[str, ...] = ()
    critical_passes: bool = True
    escalate_after: float = 0.0
    escalate_to: str = ""
    routes: tuple[Route, ...] = ()

    def group_key(self, labels: LabelSet) -> str:
        """A text that is equal for the incidents of one group of this route."""
        names = sorted(labels) if ALL_LABELS in self.group_by else self.group_by
        values = (f"{name}={'|'.join(labels.get(name) or ('',))}" for name in names)
        return f"{self.path}{{{','.join(values)}}}"

    @property
    def groups_by_incident(self) -> bool:
        """Whether each incident is a group of its own."""
        return self.group_by == BY_INCIDENT

    def walk(self) -> Iterator[Route]:
        """This node and all below it."""
        yield self
        for route in self.routes:
            yield from route.walk()


@dataclass(frozen=True, slots=True)
class RouteStep:
    """One node that was tried: whether its matchers hold, or the first that does not."""

    route: Route
    failed: Matcher | None = None


@dataclass(slots=True)
class RouteTrace:
    """The nodes that an incident reaches, and all that were tried on the way."""

    reached: list[Route] = field(default_factory=list)
    steps: list[RouteStep] = field(default_factory=list)


def match_routes(root: Route, labels: LabelSet) -> list[Route]:
    """The nodes whose receivers get an incident with these labels, in the order of the tree."""
    return trace_routes(root, labels).reached


def trace_routes(root: Route, labels: LabelSet) -> RouteTrace:
    """As `match_routes`, with every node that was tried."""
    trace = RouteTrace()
    _visit(root, labels, trace)
    return trace


def _visit(route: Route, labels: LabelSet, trace: RouteTrace) -> bool:
    """Visit a node; whether it matched."""
    failed = next((matcher for matcher in route.matchers if not matcher.matches(labels)), None)
    trace.steps.append(RouteStep(route, failed))
    if failed is not None:
        return False
    before = len(trace.reached)
    for child in route.routes:
        if _visit(child, labels, trace) and not child.continues:
            break
    if len(trace.reached) == before:
        trace.reached.append(route)
    return True


def build_route(settings: RouteSettings, *, path: str = "alerting.route") -> Route:
    """The tree that settings describe. Raises RoutingError."""
    if settings.matchers or settings.continue_:
        raise RoutingError(f"[{path}]: the first route takes every incident: no matchers, no continue")
    for name in ("mute_time_intervals", "active_time_intervals"):
        if getattr(settings, name):
            raise RoutingError(f"[{path}] {name}: expected on routes below it only")
    if not settings.receiver:
        raise RoutingError(f'[{path}] receiver: expected the name of a receiver or a channel, or "none"')
    top = Route(path=path, receiver=settings.receiver, repeat_interval=REPEAT_INTERVAL)
    return _build(settings, top, path)


def _build(settings: RouteSettings, above: Route, path: str) -> Route:
    try:
        matchers = parse_matchers(settings.matchers)
    except MatcherError as error:
        raise RoutingError(f"[{path}] matchers: {error}") from None
    inherited = ("group_by", "group_wait", "group_interval", "repeat_interval", "critical_passes")
    own: dict[str, Any] = {
        name: value for name in inherited if (value := getattr(settings, name)) is not None
    }
    if "group_by" in own and ALL_LABELS in own["group_by"] and len(own["group_by"]) > 1:
        raise RoutingError(f'[{path}] group_by: expected "..." alone, or names of labels')
    if own.get("group_by", BY_INCIDENT) != BY_INCIDENT and not above.group_interval:
        own.setdefault("group_interval", GROUP_INTERVAL)
    escalation = _escalation(settings, above, path)
    route = replace(
        above,
        path=path,
        receiver=settings.receiver or above.receiver,
        matchers=matchers,
        continues=settings.continue_,
        mute_time_intervals=settings.mute_time_intervals,
        active_time_intervals=settings.active_time_intervals,
        routes=(),
        **own,
        **escalation,
    )
    children = (
        _build(child, route, f"{path}.routes[{number}]") for number, child in enumerate(settings.routes)
    )
    return replace(route, routes=tuple(children))


def _escalation(settings: RouteSettings, above: Route, path: str) -> dict[str, Any]:
    after = above.escalate_after if settings.escalate_after is None else settings.escalate_after
    to = above.escalate_to if settings.escalate_to is None else settings.escalate_to
    if bool(after) != bool(to):
        raise RoutingError(f"[{path}]: expected escalate_after and escalate_to together")
    return {"escalate_after": after, "escalate_to": to}
