"""The Grafana dashboard, the alert rules and the documented metrics are those that a server really serves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.documentation import ROOT
from tests.support.monitoring_checks import (
    DASHBOARD,
    RECORDED,
    RULES,
    digest,
    expressions,
    metrics_of,
    panels_of,
    served_metrics,
)

EXPLAINED_ELSEWHERE = re.compile(r"(process|python)_")


@pytest.fixture(scope="module")
def served() -> dict[str, set[str]]:
    """The labels of each series name that `/metrics` serves; of families without series no labels."""
    labels: dict[str, set[str]] = {}
    text = served_metrics().decode()
    for family in text_string_to_metric_families(text):
        endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        for ending in endings:
            labels.setdefault(family.name + ending, set())
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return loaded


def rule_expressions() -> list[str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def test_every_query_names_metrics_that_are_served(
    dashboard: dict[str, Any], served: dict[str, set[str]]
) -> None:
    queries = [*expressions(dashboard), *rule_expressions()]
    assert len(queries) > 30
    assert {query: unknown for query in queries if (unknown := metrics_of(query) - served.keys())} == {}


def test_every_query_uses_labels_that_the_metrics_have(
    dashboard: dict[str, Any], served: dict[str, set[str]]
) -> None:
    of_prometheus = {"instance", "job", "le"}
    wrong = []
    for query in [*expressions(dashboard), *rule_expressions()]:
        grouped = [name for names in re.findall(r"\bby \(([^)]*)\)", query) for name in names.split(",")]
        selected = re.findall(r"[{,]\s*(\w+)\s*(?:=|!)", query)
        for name in {each.strip() for each in [*grouped, *selected]} - of_prometheus:
            known = [labels for metric in metrics_of(query) if (labels := served[metric])]
            if known and not any(name in labels for labels in known):
                wrong.append((query, name))
    assert wrong == []


def test_panels_have_their_own_ids_and_do_not_overlap(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(ids) == len(set(ids))
    cells = [
        (x, y)
        for panel in panels
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert all(panel["targets"] for panel in panels_of(dashboard))


@pytest.mark.parametrize("name", json.loads(RECORDED.read_text())["checked"])
def test_what_was_checked_by_grafanas_schemas_and_promtool_has_not_changed_since(name: str) -> None:
    recorded = json.loads(RECORDED.read_text())["checked"]
    hint = "check it again: python -m tests.support.monitoring_checks PROMTOOL SCHEMAS"
    assert digest(DASHBOARD.with_name(name)) == recorded[name], hint


def test_the_names_of_metrics_follow_the_conventions_of_prometheus() -> None:
    assert json.loads(RECORDED.read_text())["remarks about metrics"] == []


def documented_metrics(page: Path) -> set[str]:
    table = page.read_text().partition("| metric | labels |")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


def test_every_metric_is_documented_and_every_documented_one_is_served(served: dict[str, set[str]]) -> None:
    named = {re.sub(r"_(bucket|sum|count)$", "", name) for name in served}
    created = {name for name in named if name.endswith("_created")}
    own = {name for name in named - created if not EXPLAINED_ELSEWHERE.match(name)}
    assert documented_metrics(ROOT / "docs" / "monitoring.md") == own
