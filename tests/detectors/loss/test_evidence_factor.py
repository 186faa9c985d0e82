"""A factor that is computed only where it can decide gives the alarms of one that is computed everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.detectors.loss.excursions.evidence_factor import EvidenceFactor
from holter.detectors.loss.excursions.segment import AttemptSegment, split_attempts
from holter.tuning import Tuning
from holter.types import FloatArray
from tests.support.curves import run, series
from tests.support.loss_curves import curve, decay

POINTS = 300


def segment_of(values: FloatArray) -> AttemptSegment:
    (segment,) = split_attempts(series("loss", values), IncrementalState())
    return segment


@pytest.mark.parametrize("sensitivity", [0.1, 0.3, 0.44, 0.7, 1.0, 2.0, 10.0])
def test_the_first_alarm_is_that_of_the_factor_at_every_point(sensitivity: float) -> None:
    segment = segment_of(np.zeros(POINTS))
    for seed in range(200):
        random = np.random.default_rng(seed)
        whole = sensitivity * random.uniform(0.7, 2.25, POINTS)
        factor = EvidenceFactor(
            lambda _, first, stop, whole=whole: whole[first:stop], sensitivity * 0.7, sensitivity * 2.25
        )
        strength = random.exponential(0.3, POINTS)
        decided = strength * factor.deciding(segment, 0, strength) >= 1
        alarms = strength * whole >= 1
        assert decided.any() == alarms.any()
        assert np.argmax(decided) == np.argmax(alarms)
        assert factor.can_alarm(strength) or not alarms.any()


def test_a_lower_sensitivity_reports_no_more() -> None:
    loss = curve(2000, noise=0.02, seed=0) + decay(2000, 900, 0.5, 20) + decay(2000, 1500, 0.2, 20)
    norm = np.random.default_rng(1).lognormal(0, 0.1, 2000)
    data = run(series("loss", loss), series("grad_norm", norm))
    starts = [
        {each.start_step for each in find(data, tuning=Tuning(sensitivity=sensitivity))}
        for sensitivity in (0.1, 0.2, 0.3, 0.4, 0.44, 0.5, 0.7, 1.0)
    ]
    assert starts[0] <= starts[1]
    assert [len(each) for each in starts] == sorted(len(each) for each in starts)
    assert len(starts[0]) < len(starts[-1])
    assert 900 in starts[-1]
