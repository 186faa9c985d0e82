"""The findings catalogue: for every kind its title, meaning, advice, severity rule and evidence fields.

Every output (terminal, reports, pages, Slack, e-mail, documentation) takes its words from here. A new kind is
a `FindingType` in a file of this folder, which is listed in `CATALOGUE` below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from holter.detectors.findings import loss, machines, numerics, programs, references, speed
from holter.detectors.findings.fields import CORRELATED
from holter.detectors.findings.finding_type import (
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
    in_sentence,
)
from holter.metric_units import units_as_json
from holter.types import Cause, Severity

__all__ = [
    "CATALOGUE",
    "FIELDS",
    "EvidenceField",
    "EvidenceFormat",
    "FindingType",
    "SeverityRule",
    "catalogue_as_json",
    "finding_type",
    "kinds_table",
    "title_of",
    "title_with_causes",
]


def _by_kind(types: Iterable[FindingType]) -> dict[str, FindingType]:
    catalogue: dict[str, FindingType] = {}
    for each in types:
        if catalogue.setdefault(str(each.kind), each) is not each:
            raise ValueError(f"two finding types of the kind {each.kind}")
    return catalogue


CATALOGUE: dict[str, FindingType] = _by_kind(
    (
        *loss.FINDING_TYPES,
        *numerics.FINDING_TYPES,
        *speed.FINDING_TYPES,
        *machines.FINDING_TYPES,
        *references.FINDING_TYPES,
        *programs.FINDING_TYPES,
    )
)
"""Every kind of finding and incident by its name, in the order in which lists show them."""


def _by_key(types: Iterable[FindingType]) -> dict[str, EvidenceField]:
    fields = {field.key: field for field in CORRELATED}
    for each in types:
        for field in each.evidence:
            if fields.setdefault(field.key, field) != field:
                raise ValueError(f"two different evidence fields with the key {field.key}")
    return fields


FIELDS: dict[str, EvidenceField] = _by_key(CATALOGUE.values())
"""Every evidence field by its key. A key means the same for all kinds."""


_METRIC_TITLES = {
    kind: tuple((re.compile(pattern), title) for pattern, title in each.metric_titles)
    for kind, each in CATALOGUE.items()
}


def finding_type(kind: str) -> FindingType:
    """The type of a kind; one made of its name where it is unknown, as an installed detector's may be."""
    known = CATALOGUE.get(str(kind))
    if known is not None:
        return known
    words = str(kind).replace("_", " ").strip()
    title = f"{words[:1].upper()}{words[1:]}"
    return FindingType(
        kind=kind, title=title, meaning="", advice="", severity=SeverityRule(severities=tuple(Severity))
    )


def title_of(kind: str, metric: str = "", *, provisional: bool = False) -> str:
    """A kind's title for people, of a finding on this metric; `provisional`: while it may still turn out to
    be another kind."""
    each = finding_type(kind)
    return (provisional and each.provisional_title) or _title_of_metric(str(kind), str(metric)) or each.title


@lru_cache(maxsize=10_000)
def _title_of_metric(kind: str, metric: str) -> str:
    rules, name = _METRIC_TITLES.get(kind, ()), metric.lower()
    return next((title for pattern, title in rules if metric and pattern.search(name)), "")


def title_with_causes(title: str, causes: Iterable[Cause]) -> str:
    """A title for people that names the clear causes first: "Learning rate rise, then loss spike"."""
    named = [cause.title for cause in causes if cause.is_clear]
    if not named:
        return title
    first, *others = named
    return f"{' and '.join([first, *map(in_sentence, others)])}, then {in_sentence(title)}"


def catalogue_as_json() -> dict[str, Any]:
    """The catalogue for the web pages, as JSON-able values.

    `kinds` by name, in the order of lists: "title", "metric_titles" (pairs of a regular expression, to be
    searched in the metric's name in lower case, and a title; the first match counts), "provisional_title"
    (shown while the kind may still change, may be empty), "meaning", "advice", "severities" (the least severe
    first), "severity_rule",
    "evidence" (keys of `fields`), "unit_role" (the role whose unit its levels are in, may be empty),
    "relative_noise". `fields` by key: "label", "format" (a value of `EvidenceFormat`), "noun", "suffix",
    "minimum", "unless". `severities`, the most severe first: "name", "title", "rank" (higher is more severe).
    `metric_units` by role: pairs of a regular expression, to be searched in the metric's name in lower case,
    and a unit; the first match counts; those under "" are for all other roles.
    """
    return {
        "kinds": {kind: _type_as_json(each) for kind, each in CATALOGUE.items()},
        "fields": {
            key: {
                "label": field.label,
                "format": field.format.value,
                "noun": field.noun,
                "suffix": field.suffix,
                "minimum": field.minimum,
                "unless": field.unless,
            }
            for key, field in FIELDS.items()
        },
        "severities": [
            {"name": each.value, "title": each.label, "rank": each.rank}
            for each in sorted(Severity, key=lambda severity: severity.rank, reverse=True)
        ],
        "metric_units": units_as_json(),
    }


def _type_as_json(each: FindingType) -> dict[str, Any]:
    return {
        "title": each.title,
        "metric_titles": [list(rule) for rule in each.metric_titles],
        "provisional_title": each.provisional_title,
        "meaning": each.meaning,
        "advice": each.advice,
        "severities": [severity.value for severity in each.severity.severities],
        "severity_rule": each.severity.rule,
        "evidence": [field.key for field in each.evidence],
        "unit_role": "" if each.unit_role is None else each.unit_role.value,
        "relative_noise": each.relative_noise,
    }


def kinds_table() -> str:
    """The catalogue as Markdown: a table of the kinds, and below it one of the evidence fields."""
    kinds = [
        "| kind | title | meaning | severity | evidence | for example |",
        "|---|---|---|---|---|---|",
    ]
    for kind, each in CATALOGUE.items():
        shown = [field for field in each.evidence if field.format is not EvidenceFormat.HIDDEN]
        evidence = ", ".join(f"`{field.key}`" for field in shown)
        severity = each.severity.rule or f"{each.severity.severities[0].label}."
        kinds.append(
            f"| `{kind}` | {each.title} | {each.meaning} | {severity} | {evidence} | {each.example} |"
        )
    fields = ["| evidence | label | shown as |", "|---|---|---|"]
    for key, field in FIELDS.items():
        form = " ".join(part for part in (field.format.value.replace("_", " "), field.suffix.strip()) if part)
        fields.append(f"| `{key}` | {field.label} | {form} |")
    return "\n".join([*kinds, "", *fields])
