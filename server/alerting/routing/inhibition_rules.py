"""Inhibition: open incidents that mute notifications about others, as in Alertmanager. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holter.server.alerting.routing.matchers import LabelSet, Matcher, MatcherError, all_match, parse_matchers
from holter.server.alerting.routing.route_tree import RoutingError
from holter.settings.alerting import InhibitRuleSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class InhibitRule:
    """An open incident of `source_matchers` mutes those of `target_matchers` with the same `equal` labels."""

    source_matchers: tuple[Matcher, ...]
    target_matchers: tuple[Matcher, ...]
    equal: tuple[str, ...] = ()
    name: str = ""

    def concerns(self, target: LabelSet) -> bool:
        """Whether it can mute an incident with these labels."""
        return all_match(self.target_matchers, target)

    def inhibits(self, source: LabelSet, target: LabelSet) -> bool:
        """Whether one incident mutes another. One that matches both sides is not muted by its like."""
        if not (all_match(self.source_matchers, source) and all_match(self.target_matchers, target)):
            return False
        if all_match(self.source_matchers, target) and all_match(self.target_matchers, source):
            return False
        return all(_values(source, name) & _values(target, name) for name in self.equal)


@dataclass(frozen=True, slots=True)
class InhibitingIncident:
    """An open incident that may mute others."""

    id: int
    labels: LabelSet


_BUILTIN = (
    (
        "a stall explains missing throughput",
        ('kind="stall"',),
        ('kind=~"throughput_regression|straggler|comm_slowdown"',),
    ),
    (
        "a GPU fault explains a slow or desynchronized run",
        ('kind="gpu_fault"', 'severity="critical"'),
        ('kind=~"throughput_regression|straggler|comm_slowdown|desync"',),
    ),
    (
        "divergence or NaN explains loss spikes",
        ('kind=~"divergence|nonfinite"',),
        ('kind=~"spike_fast|spike_slow|outlier_batch|loss_scale_collapse"',),
    ),
)
BUILTIN_RULES = tuple(
    InhibitRule(
        source_matchers=parse_matchers(source),
        target_matchers=parse_matchers(target),
        equal=("project", "run", "attempt"),
        name=name,
    )
    for name, source, target in _BUILTIN
)
"""Rules that hold without settings (`builtin_inhibition`): a cause mutes its consequences in one attempt."""


def inhibitor(
    rules: Sequence[InhibitRule], target: InhibitingIncident, sources: Iterable[InhibitingIncident]
) -> tuple[InhibitRule, InhibitingIncident] | None:
    """The rule and the open incident that mute an incident, None if nothing does."""
    for source in sources:
        if source.id == target.id:
            continue
        for rule in rules:
            if rule.inhibits(source.labels, target.labels):
                return rule, source
    return None


def build_inhibit_rules(settings: Sequence[InhibitRuleSettings], *, builtin: bool) -> tuple[InhibitRule, ...]:
    """The rules that settings describe, after the built-in ones. Raises RoutingError."""
    rules = list(BUILTIN_RULES if builtin else ())
    for number, rule in enumerate(settings):
        place = f"alerting.inhibit_rules[{number}]"
        try:
            rules.append(
                InhibitRule(
                    source_matchers=parse_matchers(rule.source_matchers),
                    target_matchers=parse_matchers(rule.target_matchers),
                    equal=rule.equal,
                    name=place,
                )
            )
        except MatcherError as error:
            raise RoutingError(f"[{place}]: {error}") from None
    return tuple(rules)


def _values(labels: LabelSet, name: str) -> set[str]:
    return set(labels.get(name) or ("",))
