"""Losses next to their total: what the total shows is its event, what it does not show is information."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, FloatArray, Kind, RunData, Severity
from tests.support.curves import run, series, until
from tests.support.loss_curves import decay

POINTS = 2000
ROWS = np.arange(POINTS)


def noise(size: float, seed: int) -> FloatArray:
    return size * np.random.default_rng(seed).standard_normal(POINTS)


def exchanged(*, spike: float = 0.0) -> RunData:
    """A component that rises for good from row 800 on, while the other one makes up for it; both may spike
    at row 1500."""
    rise = 0.1 * np.clip((ROWS - 800) / 100, 0, 1)
    boundary = 0.2 + rise + noise(0.002, 1) + decay(POINTS, 1500, spike / 10, 3)
    total = 1.0 + noise(0.01, 2) + decay(POINTS, 1500, spike, 3)
    return run(series("train_loss", total), series("boundary_loss", boundary))


def test_a_component_that_lasts_does_not_hide_a_spike_of_the_total() -> None:
    findings = list(SpikeDetector().detect(exchanged(spike=3.0), DetectorContext()))
    (spike,) = [each for each in findings if each.metric == "train_loss"]
    assert (spike.kind, spike.start_step) == (Kind.SPIKE_FAST, 1500)
    assert not any(each.start_step == 1500 for each in findings if each.metric != "train_loss")


def test_a_rise_that_its_total_does_not_show_is_information() -> None:
    (finding,) = find(exchanged())
    assert (finding.metric, finding.severity) == ("boundary_loss", Severity.INFO)
    assert finding.summary.startswith("Loss component boundary_loss rose from 0.2 to 0.30")
    assert finding.summary.endswith("The total loss did not rise beyond its noise.")
    assert not {"rollback_upto", "skip_from", "skip_until"} & finding.evidence.keys()


def test_a_rise_that_its_total_shows_remains_as_severe_as_it_is() -> None:
    rise = 0.1 * np.clip((ROWS - 800) / 100, 0, 1)
    total = 1.0 + rise / 3 + noise(0.03, 2)  # an event of the total only much later
    findings = find(run(series("loss", total), series("loss_bbox", 0.2 + rise + noise(0.002, 1))))
    assert (findings[0].metric, findings[0].severity is Severity.INFO) == ("loss_bbox", False)


def test_without_a_total_components_are_as_before() -> None:
    rise = 0.1 * np.clip((ROWS - 800) / 100, 0, 1)
    parts = run(series("loss_bbox", 0.2 + rise + noise(0.002, 1)), series("loss_cls", 1 + noise(0.01, 2)))
    (finding,) = find(parts)
    assert finding.severity is not Severity.INFO
    assert finding.evidence["points_to_detect"] < 40


def test_the_total_names_an_event_that_a_component_showed_some_rows_before() -> None:
    hit = 0.5 * np.clip((ROWS - 1000) / 8, 0, 1)
    parts = run(series("loss", 1.0 + hit + noise(0.05, 2)), series("loss_bbox", 0.2 + hit + noise(0.002, 1)))
    findings = list(SpikeDetector().detect(parts, DetectorContext()))
    assert {each.metric for each in findings} == {"loss"}


@pytest.mark.parametrize("spike", [0.0, 3.0])
def test_what_was_reported_of_components_and_their_total_remains(spike: float) -> None:
    full = exchanged(spike=spike)
    state, reported = IncrementalState(), set[tuple[object, ...]]()
    for step in [*range(780, 1000, 7), *range(1480, 1540, 3), POINTS - 1]:
        data = until(full, 0, step)
        live, at_once = find(data, state=state), find(data)
        assert live == at_once
        assert reported <= identities(live)
        reported |= identities(live)
    assert reported == identities(find(full))


def identities(findings: list[Finding]) -> set[tuple[object, ...]]:
    return {(each.metric, each.attempt, each.start_step, each.detected_step) for each in findings}
