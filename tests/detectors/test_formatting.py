"""Figures in sentences: few digits, and as many as it takes to see that they differ."""

from __future__ import annotations

import pytest

from holter.detectors.causes.words import change_text
from holter.detectors.formatting import figure, figures, from_to


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((2.31, 4.02), ("2.31", "4.02")),
        ((27_012.0, 16_130.0), ("27k", "16.1k")),
        ((1.6843e-8, 1.6912e-8), ("1.684e-08", "1.691e-08")),
        ((0.00019412, 0.00019449), ("0.0001941", "0.0001945")),
        ((1_000_000.0, 1_000_001.0), ("1M", "1.000001M")),
        ((9_999.4, 10_001.0), ("9,999.4", "10.001k")),
        ((8_410.0, 8_412.0), ("8,410", "8,412")),
        ((0.0, 0.1), ("0", "0.1")),
        ((5e-324, 1e-323), ("4.94e-324", "9.88e-324")),
    ],
)
def test_figures_that_are_compared_differ_visibly(
    values: tuple[float, float], texts: tuple[str, str]
) -> None:
    assert figures(*values) == texts


@pytest.mark.parametrize("value", [0.0, 1.0, -12_345.0, float("inf"), float("nan")])
def test_equal_figures_have_three_digits(value: float) -> None:
    assert figures(value, value) == (figure(value), figure(value))
    assert from_to(value, value) == f"from {figure(value)} to {figure(value)}"


def test_a_change_of_a_setting_is_visible() -> None:
    assert change_text(10_240, 10_250) == "from 10.24k to 10.25k"
    assert change_text(False, True) == "from off to on"
    assert change_text(1.0, 1e30) == "from 1 to off"
