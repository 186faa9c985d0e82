"""Routing in Alertmanager's terms: matchers, tree of routes, inhibition, time intervals. Pure functions."""

from __future__ import annotations

from holter.server.alerting.routing.matchers import (
    LabelSet,
    Matcher,
    MatcherError,
    all_match,
    parse_matcher,
    parse_matchers,
)
from holter.server.alerting.routing.policy import (
    NO_POLICY,
    ChannelPolicy,
    Digest,
    NotificationPolicy,
    build_policy,
)
from holter.server.alerting.routing.route_tree import Route, RoutingError, match_routes, trace_routes

__all__ = [
    "NO_POLICY",
    "ChannelPolicy",
    "Digest",
    "LabelSet",
    "Matcher",
    "MatcherError",
    "NotificationPolicy",
    "Route",
    "RoutingError",
    "all_match",
    "build_policy",
    "match_routes",
    "parse_matcher",
    "parse_matchers",
    "trace_routes",
]
