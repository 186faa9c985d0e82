"""A run with events, written in other files or under other names, has the same findings."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.loss_curves import curve, decay

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
POINTS, RESTART = 1600, 1000


def module() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("laboratory.presentations")
    finally:
        sys.path.remove(str(BENCHMARKS))


PRESENTATIONS = module()


def eventful_table() -> Any:
    """A fast and a slow spike in the first attempt, a level shift at the second, which goes back 50 steps."""
    loss = curve(POINTS, noise=0.02, seed=11)
    size = 0.02 * loss[-1]
    loss = loss + decay(POINTS, 400, 20 * size, 5) + decay(POINTS, 600, 20 * size, 60)
    loss[RESTART:] += 8 * size
    # as a log has them: six digits, which floats of 32 bits keep
    values = np.array([float(f"{value:.6g}") for value in loss])
    step = np.concatenate((np.arange(RESTART), np.arange(RESTART, POINTS) - 50)).astype(np.float64)
    columns = {
        "step": step,
        "wall_time": 1.7e9 + 2.0 * np.arange(POINTS),
        "loss": values,
        "lr": np.full(POINTS, 2.0**-10),
    }
    first, second = slice(0, RESTART), slice(RESTART, POINTS)
    parts = tuple({name: each[part] for name, each in columns.items()} for part in (first, second))
    return PRESENTATIONS.LogTable(parts)


TABLE = eventful_table()


@pytest.fixture(scope="module")
def original() -> list[dict[str, Any]]:
    return list(PRESENTATIONS.findings_in(TABLE, PRESENTATIONS.write_csv))


def test_the_run_has_findings_of_several_kinds(original: list[dict[str, Any]]) -> None:
    kinds = {finding["kind"] for finding in original}
    assert {"spike_fast", "spike_slow", "resume_artifact"} <= kinds


@pytest.mark.parametrize("presentation", PRESENTATIONS.PRESENTATIONS, ids=lambda each: each.name)
def test_findings_stay(presentation: Any, original: list[dict[str, Any]]) -> None:
    score = PRESENTATIONS.compare(presentation, TABLE, original)
    assert score.expected >= 2
    assert score.near == score.expected, score.details
    if presentation.exact:
        assert (score.same, score.new) == (score.expected, 0), score.details
