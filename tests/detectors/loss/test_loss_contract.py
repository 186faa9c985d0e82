"""Contract tests of the loss detectors: quiet on healthy runs, stable findings, any input accepted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.nonfinite import NonfiniteDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, RunData, SeriesKey, Severity
from tests.support.loss_curves import FAMILIES, curve, decay, identity, prefix, run_of

DETECTORS = (SpikeDetector(), NonfiniteDetector())


def detect_all(run: RunData) -> list[Finding]:
    return [finding for detector in DETECTORS for finding in detector.detect(run, DetectorContext())]


NOISES = (0.003, 0.01, 0.03, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "heavy"])
def test_a_healthy_loss_has_no_findings(family: str, seed: int) -> None:
    assert detect_all(run_of(curve(noise=NOISES[seed % 4], family=FAMILIES[family], seed=seed))) == []


@pytest.mark.parametrize("seed", range(20))
def test_heavy_tailed_noise_gives_only_single_outliers(seed: int) -> None:
    run = run_of(curve(noise=NOISES[seed % 4], family=FAMILIES["heavy"], seed=seed))
    for finding in detect_all(run):
        assert finding.severity is Severity.INFO
        assert finding.evidence["points_to_detect"] <= 2


@pytest.mark.slow
def test_three_hundred_thousand_healthy_points_have_no_findings() -> None:
    for seed in range(3):
        assert detect_all(run_of(curve(100_000, noise=0.05, seed=seed))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_findings_stay_as_more_points_are_logged(seed: int) -> None:
    run = eventful(seed)
    loss = run.series[SeriesKey("loss")]
    final = detect_all(run)
    assert len(final) >= 3
    random = np.random.default_rng(seed)
    for index in sorted(random.choice(len(loss), 40, replace=False).tolist()):
        attempt, step = int(loss.attempt[index]), int(loss.step[index])
        early = {identity(finding) for finding in detect_all(prefix(run, attempt=attempt, step=step))}
        due = {
            identity(finding)
            for finding in final
            if (finding.attempt, finding.detected_step) <= (attempt, step)
        }
        assert early == due


def test_later_steps_of_an_earlier_attempt_change_nothing() -> None:
    run = eventful(1)
    final = detect_all(run)
    loss = run.series[SeriesKey("loss")]
    for until in (2100, 2300, 2600):
        seen = loss.step <= until
        cut = dataclasses.replace(
            loss,
            attempt=loss.attempt[seen],
            step=loss.step[seen],
            time=loss.time[seen],
            value=loss.value[seen],
        )
        early = {identity(finding) for finding in detect_all(RunData(series={loss.key: cut}))}
        assert early == {identity(finding) for finding in final if finding.detected_step <= until}


def eventful(seed: int) -> RunData:
    """A run that spikes fast and slowly, drifts away, is rolled back, jumps, and ends in NaN."""
    first = curve(2500, seed=seed) + decay(2500, 600, 2.0, 3) + decay(2500, 1200, 3.0, 120)
    first += np.where(np.arange(2500) > 2000, (np.arange(2500) - 2000) * 0.003, 0.0)
    second = curve(3200, seed=seed + 100)[1900:] + decay(1300, 0, 0.8, 60) + decay(1300, 700, 1.5, 4)
    second[1290:] = np.nan
    step = np.concatenate((np.arange(2500), np.arange(1900, 3200)))
    attempt = np.repeat([0, 1], [2500, 1300])
    return run_of(np.concatenate((first, second)), step=step, attempt=attempt)


def test_the_same_loss_gives_the_same_findings() -> None:
    assert detect_all(eventful(0)) == detect_all(eventful(0))


def test_every_finding_has_a_summary_and_an_advice() -> None:
    for finding in detect_all(eventful(2)):
        assert finding.summary.endswith(".")
        assert finding.advice.endswith(".")
        assert 0 < finding.confidence <= 1
        assert finding.start_step <= finding.detected_step
        finding.as_json()


any_loss = arrays(
    np.float64,
    st.integers(0, 300),
    elements=st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([2.0, 2.1, 1e308, -1e308, 0.0]),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(any_loss, st.integers(1, 7), st.lists(st.integers(0, 299), max_size=3))
def test_any_floats_are_accepted(value: np.ndarray, spacing: int, restarts: list[int]) -> None:
    attempt = np.searchsorted(np.sort(restarts), np.arange(len(value)), side="right")
    step = np.concatenate(
        [np.arange(int((attempt == number).sum())) * spacing for number in np.unique(attempt)] or [[]]
    )
    for finding in detect_all(run_of(value, step=step.astype(np.int64), attempt=attempt)):
        assert np.isfinite(finding.confidence)


@pytest.mark.parametrize("level", [0.0, -3.0, 1e-12, 1e12])
def test_a_constant_loss_has_no_findings(level: float) -> None:
    assert detect_all(run_of(np.full(2000, level))) == []


def test_other_metrics_are_ignored() -> None:
    value = curve() + decay(3000, 1500, 5.0, 50)
    for metric in ("eval/loss", "accuracy", "loss_scale", "lr"):
        assert detect_all(run_of(value, metric=metric)) == []
