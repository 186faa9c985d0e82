"""What is reported of many courses of a loss after a rise is what was recorded.

A change that is meant to change it records it anew: `python -m tests.support.recorded_events`.
"""

from __future__ import annotations

import json

import pytest

from holter.types import RunData
from tests.support.loss_curves import detect_all
from tests.support.recorded_events import RECORDED, curves, positions

RECORDS = json.loads(RECORDED.read_text())
CURVES = dict(curves())


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_gives_the_findings_that_were_recorded(name: str) -> None:
    run: RunData = CURVES[name]
    assert positions(detect_all(run)) == RECORDS[name]


def test_every_recorded_curve_exists_and_all_kinds_of_spikes_occur() -> None:
    assert RECORDS.keys() == CURVES.keys()
    kinds = {found[0] for findings in RECORDS.values() for found in findings}
    assert kinds >= {"spike_fast", "spike_slow", "spike_unrecovered", "divergence"}
