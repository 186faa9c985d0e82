"""The findings catalogue has every kind, and its words are written nowhere else."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from holter.detectors.findings import (
    CATALOGUE,
    FIELDS,
    EvidenceFormat,
    catalogue_as_json,
    finding_type,
    kinds_table,
    title_of,
)
from holter.detectors.findings.evidence import evidence_rows
from holter.detectors.findings.finding_type import in_sentence
from holter.metric_units import unit_of_metric, units_as_json
from holter.roles import ROLE_TITLES, Role
from holter.types import Kind, Severity
from tests.support.titles_of_metrics import TITLES_OF_METRICS

ROOT = Path(__file__).parents[2]
TITLES = [each.title for each in CATALOGUE.values()]
LABELS = [field.label for field in FIELDS.values() if field.label not in ROLE_TITLES.values()]
STRING = re.compile(r'"([^"\n]*)"|`([^`\n]*)`')


def literals(path: Path) -> set[str]:
    """The texts that stand as literals in a source file."""
    source = path.read_text()
    if path.suffix == ".js":
        return {double or backtick for double, backtick in STRING.findall(source)}
    return {
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_kind_is_in_the_catalogue_with_all_its_words() -> None:
    assert set(CATALOGUE) == {kind.value for kind in Kind}
    for each in CATALOGUE.values():
        assert each.title
        assert each.meaning.endswith(".")
        assert each.advice.endswith(".")
        assert each.severity.severities
        assert list(each.severity.severities) == sorted(each.severity.severities, key=lambda one: one.rank)
        assert len(each.severity.severities) == 1 or each.severity.rule.endswith(".")
        assert each.evidence


def test_no_title_and_no_label_is_there_twice() -> None:
    assert [title for title, count in Counter(map(str.lower, TITLES)).items() if count > 1] == []
    labels = Counter(field.label.lower() for field in FIELDS.values())
    # the same change is stated by two kinds of evidence
    allowed = {"learning rate after", "learning rate before"}
    assert [label for label, count in labels.items() if count > 1 and label not in allowed] == []


def test_the_words_of_the_catalogue_are_literals_nowhere_else() -> None:
    """One-word labels such as "Ranks" may be headings elsewhere; titles and longer labels may not."""
    words = {*TITLES, *(label for label in LABELS if " " in label)}
    words |= {in_sentence(word) for word in words if " " in word}
    words |= {each.advice for each in CATALOGUE.values()}
    sources = [
        path
        for folder, ending in (("server", "py"), ("cli", "py"), ("detectors", "py"), ("ui/static", "js"))
        for path in (ROOT / folder).rglob(f"*.{ending}")
        if "findings" not in path.parts
    ]
    assert sources
    repeated = {f"{path.relative_to(ROOT)}: {word}" for path in sources for word in literals(path) & words}
    assert repeated == set()


def test_the_pages_get_it_as_json() -> None:
    catalogue = json.loads(json.dumps(catalogue_as_json(), allow_nan=False))
    assert catalogue["kinds"]["spike_fast"]["title"] == title_of("spike_fast")
    assert catalogue["fields"]["strength"]["label"] == "Score (threshold 1)"
    assert [each["name"] for each in catalogue["severities"]] == ["critical", "warning", "info"]
    keys = {key for each in catalogue["kinds"].values() for key in each["evidence"]}
    assert keys <= catalogue["fields"].keys()
    assert {field["format"] for field in catalogue["fields"].values()} <= set(EvidenceFormat)
    assert catalogue["metric_units"] == units_as_json()


def test_the_documentation_gets_it_as_tables() -> None:
    rows = kinds_table().splitlines()
    assert any(row.startswith("| `spike_fast` | Fast loss spike |") for row in rows)
    assert all(row.startswith("|") or not row for row in rows)


@pytest.mark.parametrize(("kind", "metric", "title"), TITLES_OF_METRICS)
def test_a_title_names_what_happened_to_its_metric(kind: str, metric: str, title: str) -> None:
    assert title_of(kind, metric) == title


def test_a_kind_of_another_package_is_shown_by_its_name() -> None:
    assert title_of("odd_event") == "Odd event"
    assert finding_type("odd_event").evidence == ()
    rows = evidence_rows({"new_value": 3, "nested": {"a": 0.5}}, kind="odd_event", metric="loss")
    assert rows == [("New value", "3"), ("Nested", "a 0.5")]


@pytest.mark.parametrize("key", FIELDS)
@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 2.5, float("nan"), float("inf"), "NaN", "text", [], [1, "a"], {"a": None}]
)
def test_evidence_of_any_form_is_shown(key: str, value: object) -> None:
    for kind in CATALOGUE:
        for label, text in evidence_rows({key: value}, kind=kind, metric="tokens_per_s"):
            assert label
            assert text


@pytest.mark.parametrize(
    ("kind", "evidence", "texts"),
    [
        ("spike_slow", {"baseline": 0.123457, "peak": 0.123461}, ["0.123457", "0.123461"]),
        ("spike_slow", {"baseline": 2.0, "peak": 4.0}, ["2", "4"]),
        ("metric_collapse", {"baseline": 0.91, "lowest": 0.9099912}, ["0.91", "0.909991"]),
    ],
)
def test_levels_have_the_digits_in_which_they_differ(
    kind: str, evidence: dict[str, object], texts: list[str]
) -> None:
    assert [text for _, text in evidence_rows(evidence, kind=kind, metric="loss")] == texts


def test_no_earlier_slow_down_is_no_evidence() -> None:
    assert evidence_rows({"times_before": 0}, kind="throughput_regression", metric="step_time") == []


def test_abbreviations_stay_in_capitals_within_a_sentence() -> None:
    assert [in_sentence(title) for title in ("GPU fault", "NaN or infinity", "Fast loss spike")] == [
        "GPU fault",
        "NaN or infinity",
        "fast loss spike",
    ]


def test_severities_have_one_order() -> None:
    assert sorted(Severity, key=lambda each: each.rank) == ["info", "warning", "critical"]


@pytest.mark.parametrize(
    ("role", "metric", "unit"),
    [
        (Role.THROUGHPUT, "tokens_per_s", "tokens/s"),
        (Role.THROUGHPUT, "samples/sec", "samples/s"),
        (Role.THROUGHPUT, "tflops", "TFLOPS"),
        (Role.THROUGHPUT, "mfu", ""),
        (Role.THROUGHPUT, "speed", "/s"),
        (Role.THROUGHPUT, "iteration_time_ms", "ms"),
        (Role.STEP_TIME, "elapsed time per iteration (ms)", "ms"),
        (Role.STEP_TIME, "dt", "s"),
        (Role.STEP_TIME, "step_time_microseconds", "µs"),
        (Role.STEP_TIME, "iter_time_ns", "ns"),
        (Role.STEP_TIME, "step_time_min", "s"),
        (Role.DURATION, "epoch_time", "s"),
        (Role.DURATION, "epoch time (min)", "min"),
        (Role.DURATION, "epoch_duration_minutes", "min"),
        (Role.THROUGHPUT, "epoch_duration", "s"),
        (Role.THROUGHPUT, "epoch_time_mins", "min"),
        (Role.COLLECTIVE_TIME, "collective_time (us)", "µs"),
        (Role.COMPUTE_TIME, "compute_time_s", "s"),
        (Role.COMPUTE_TIME, "compute_time", ""),
        (Role.MEMORY, "memory(GiB)", "GiB"),
        (Role.LOSS, "loss", ""),
    ],
)
def test_units_of_metrics(role: Role, metric: str, unit: str) -> None:
    assert unit_of_metric(role, metric) == unit
