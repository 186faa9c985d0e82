"""docs/detection-loss.md: the values in its table of thresholds are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

import holter.detectors  # noqa: F401 - defines all thresholds
from holter.detectors.thresholds import Thresholds
from tests.support.documentation import ROOT

PAGE = (ROOT / "docs" / "detection-loss.md").read_text()
ROWS = [
    (name, value)
    for title, value in re.findall(r"^\| ([^|]*`[^|]*) \| ([^|]*) \| [^|]* \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", title)
]


def defaults_of(name: str) -> set[float]:
    """The defaults of the loss detectors' thresholds of this name."""
    families = [each for each in Thresholds.__subclasses__() if ".detectors.loss." in each.__module__]
    return {float(field.default) for each in families for field in fields(each) if field.name == name}


@pytest.mark.parametrize(("name", "value"), ROWS)
def test_a_threshold_has_the_value_that_the_page_states(name: str, value: str) -> None:
    stated = {float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", value)}
    assert defaults_of(name) & stated, f"{name}: {defaults_of(name)}, the page states {stated}"


def test_the_table_names_the_thresholds() -> None:
    assert len(ROWS) >= 15
