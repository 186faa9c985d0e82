"""Events that last: what begins within them, how severe they are while they last, and where they begin."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, Kind, RunData, Severity
from tests.support.curves import run, series, until
from tests.support.loss_curves import curve, decay

POINTS = 2400
PLACES = np.arange(POINTS)


def findings(data: RunData) -> list[Finding]:
    return list(SpikeDetector().detect(data, DetectorContext()))


def test_a_far_larger_jump_within_an_unrecovered_spike_is_told() -> None:
    loss = curve(POINTS, noise=0.02, seed=1) + 0.5 * (PLACES >= 1000)
    loss += decay(POINTS, 1040, 3.0, 30)
    starts = [each.start_step for each in findings(run(series("loss", loss)))]
    assert starts == [1000, 1040]


def test_a_spike_on_the_level_of_an_open_event_is_back_at_that_level() -> None:
    loss = curve(POINTS, noise=0.02, seed=1) + 0.5 * (PLACES >= 1000)
    loss += decay(POINTS, 1200, 6.0, 5)
    first, later = findings(run(series("loss", loss)))
    assert (first.start_step, first.end_step) == (1000, None)
    assert (later.kind, later.start_step) == (Kind.SPIKE_FAST, 1200)
    assert later.evidence["baseline"] == pytest.approx(float(np.median(loss[1150:1200])), rel=0.01)


@pytest.mark.parametrize("later", [1, 3, 6])
def test_a_far_larger_jump_just_after_a_weak_rise_was_detected_is_told(later: int) -> None:
    noise = 0.02
    loss = 2 + noise * np.random.default_rng(1).standard_normal(POINTS) + 1.5 * noise * (PLACES >= 1000)
    (weak,) = findings(run(series("loss", loss)))
    at = weak.detected_step + later
    loss += decay(POINTS, at, 3.0, 10)
    starts = [each.start_step for each in findings(run(series("loss", loss)))]
    assert starts[:2] == [weak.start_step, at]


def test_a_far_larger_jump_within_a_divergence_is_told() -> None:
    loss = curve(POINTS, noise=0.02, seed=2) + 0.0012 * np.maximum(PLACES - 900, 0)
    loss += decay(POINTS, 1500, 6.0, 20)
    found = findings(run(series("loss", loss)))
    assert found[0].kind is Kind.DIVERGENCE
    assert 1500 in [each.start_step for each in found[1:]]


@pytest.mark.parametrize("lasting", [60, 200])
def test_a_loss_that_decays_is_never_critical(lasting: int) -> None:
    loss = curve(POINTS, noise=0.02, seed=3) + decay(POINTS, 800, 3.0, lasting)
    data = run(series("loss", loss))
    for step in range(800, POINTS, 80):
        assert all(each.severity is not Severity.CRITICAL for each in findings(until(data, 0, step)))


@pytest.mark.parametrize(("returns", "critical"), [(True, False), (False, True)])
def test_a_young_run_that_has_not_learned_yet_is_critical_only_after_long(
    returns: bool, critical: bool
) -> None:
    rows = np.arange(800)
    rise = 0.04 * np.clip(rows - 20, 0, 20) / 20  # as while the learning rate of a fine-tuning rises
    fall = np.exp(-np.maximum(rows - 60, 0) / 120) if returns else 1.0
    loss = 0.145 + rise * fall + 0.003 * np.random.default_rng(0).standard_normal(len(rows))
    data = run(series("loss", loss, step=20 * rows))
    seen = [findings(until(data, 0, 20 * row)) for row in range(40, len(rows), 20)]
    assert any(seen)
    assert critical == any(each.severity is Severity.CRITICAL for found in seen for each in found)


def test_a_lasting_rise_begins_as_a_warning_and_stays_critical() -> None:
    loss = curve(POINTS, noise=0.02, seed=4) + 2.0 * (PLACES >= 800)
    data = run(series("loss", loss))
    severities = [findings(until(data, 0, step))[0].severity for step in range(800, POINTS, 40)]
    first = severities.index(Severity.CRITICAL)
    assert 0 < first <= 16
    assert set(severities[first:]) == {Severity.CRITICAL}


def test_a_lasting_step_that_undoes_little_of_the_progress_stays_a_warning() -> None:
    loss = curve(POINTS, noise=0.02, seed=4) + 0.8 * (PLACES >= 800)
    data = run(series("loss", loss))
    severities = {findings(until(data, 0, step))[0].severity for step in range(840, POINTS, 200)}
    assert severities == {Severity.WARNING}


def test_a_precursor_does_not_move_an_onset_past_its_outlier() -> None:
    loss = curve(POINTS, noise=0.02, seed=5)
    loss[1000] += 1.0
    loss[1001:1010] += 0.5
    norm = np.exp(0.1 * np.random.default_rng(0).standard_normal(POINTS))
    norm[1003:1010] *= 30
    (finding,) = findings(run(series("loss", loss), series("grad_norm", norm)))
    assert finding.start_step == 1000


def test_an_enormous_jump_begins_where_it_jumps() -> None:
    loss = curve(POINTS, noise=0.02, seed=6) + 0.0006 * np.clip(PLACES - 960, 0, 60)
    loss += 50.0 * (PLACES >= 1020)
    starts = [each.start_step for each in findings(run(series("loss", loss)))]
    assert starts[-1] == 1020


@pytest.mark.parametrize("seed", [27, 33])
def test_weak_evidence_on_a_level_that_rises_slowly_is_information(seed: int) -> None:
    place, generator = np.arange(4000), np.random.default_rng(seed)
    noise = generator.standard_normal(7000)[:4000]
    loss = 2 * (1 + 0.015 * np.sin(2 * np.pi * (place - 5000) / 3300)) + 0.04 * noise
    [found] = findings(run(series("loss", loss)))
    assert found.evidence["strength"] < 2
    assert (found.kind, found.severity) == (Kind.SPIKE_SLOW, Severity.INFO)
    loss[found.start_step : found.start_step + 1000] += 0.1  # a step of 2.5 sigmas there
    assert findings(run(series("loss", loss)))[0].severity is not Severity.INFO


@pytest.mark.parametrize(("skipped", "kind"), [(1, Kind.SPIKE_FAST), (300, Kind.SPIKE_UNRECOVERED)])
def test_a_rise_that_ends_in_nan_has_not_come_back_unless_a_few_rows_are_skipped(
    skipped: int, kind: Kind
) -> None:
    loss = curve(POINTS, noise=0.02, seed=6)
    loss[1000:1004] *= (2, 20, 300, 4000)
    loss[1004 : 1004 + skipped] = np.nan
    (finding,) = findings(until(run(series("loss", loss)), 0, 1200))
    assert finding.kind is kind
    lost = finding.summary.endswith("did not come back: it has been NaN or infinite since step 1,004.")
    assert lost is (kind is Kind.SPIKE_UNRECOVERED)
