"""The generated parts of the documentation are those that the code gives now, and are complete."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    """The names of docs/generate.py."""
    return runpy.run_path(str(ROOT / "docs" / "generate.py"))


def test_pages_are_up_to_date(generator: dict[str, Any]) -> None:
    stale = [path.name for path, text in generator["generate"]().items() if path.read_text() != text]
    assert stale == [], "run make docs"


def test_every_threshold_has_a_default_and_an_explanation(generator: dict[str, Any]) -> None:
    classes = generator["read_threshold_classes"](ROOT / "detectors")
    assert len(classes) > 40
    for each in classes:
        assert each.text, f"{each.name} has no docstring"
        assert each.fields, f"{each.name} has no fields"
        for field in each.fields:
            assert field.text, f"{each.name}.{field.name} has no explanation"


def test_names_of_threshold_classes_are_unique(generator: dict[str, Any]) -> None:
    names = [each.name for each in generator["read_threshold_classes"](ROOT / "detectors")]
    assert len(names) == len(set(names))


def test_tables_hold_names_defaults_and_nested_thresholds(generator: dict[str, Any]) -> None:
    table = generator["thresholds_table"]()
    assert "| `shortest_seconds` | `600.0` | Seconds." in table
    assert "| `smallest_rise` | `log(1.03)` |" in table
    assert "| `lag` | see `LagThresholds` |" in table
