"""The same run presented otherwise gives the same findings on its loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.detectors.loss.sudden_drop import SuddenDropDetector
from holter.types import Finding, FloatArray, IntArray
from tests.support.curves import run, series
from tests.support.loss_curves import curve, decay

POINTS = 2400
PLACES = np.arange(POINTS)


def eventful_loss(seed: int, noise: float) -> FloatArray:
    """A falling loss with a fast spike, a slow one, a lone bad batch and a level shift at the end."""
    loss = curve(POINTS, noise=noise, seed=seed)
    size = noise * loss[-1]
    loss = loss + decay(POINTS, 700, 15 * size, 4) + decay(POINTS, 1100, 12 * size, 60)
    loss[1600] += 20 * size
    return loss + 8 * size * (PLACES >= 1900)


def findings(loss: FloatArray, step: IntArray | None = None, *, name: str = "loss") -> list[Finding]:
    data = run(series(name, loss, step=step))
    return [
        each
        for detector in (SpikeDetector(), SuddenDropDetector())
        for each in detector.detect(data, DetectorContext())
    ]


def described(found: list[Finding]) -> list[tuple[object, ...]]:
    return [
        (each.kind, each.severity, each.start_step, each.detected_step, each.end_step, each.classified_step)
        for each in found
    ]


PRESENTATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "a constant added": lambda loss: loss + 10,
    "a constant subtracted": lambda loss: loss - 2.2,
    "far below zero": lambda loss: loss - 50,
    "scaled up": lambda loss: loss * 1000,
    "scaled down": lambda loss: loss / 128,
}


@pytest.mark.parametrize("noise", [0.003, 0.02, 0.08])
@pytest.mark.parametrize("presentation", PRESENTATIONS)
def test_a_shifted_or_scaled_loss_has_the_same_findings(presentation: str, noise: float) -> None:
    loss = eventful_loss(3, noise)
    usual = described(findings(loss))
    assert len(usual) >= 4
    assert described(findings(PRESENTATIONS[presentation](loss))) == usual


def test_the_name_of_the_loss_plays_no_part() -> None:
    loss = eventful_loss(4, 0.02)
    for name in ("train/loss", "train_loss", "lm loss"):
        assert described(findings(loss, name=name)) == described(findings(loss))


@pytest.mark.parametrize("noise", [0.003, 0.02, 0.08])
def test_cut_at_the_beginning_the_same_events_are_found(noise: float) -> None:
    """Few points know less of the noise: the events are those that are not near any limit."""
    loss = eventful_loss(5, noise)
    usual = findings(loss)
    for cut in (30, 150, 400):
        later = findings(loss[cut:], PLACES[cut:])
        assert [each.kind for each in later] == [each.kind for each in usual]
        for one, other in zip(later, usual, strict=True):
            assert abs(one.start_step - other.start_step) <= 8


@pytest.mark.parametrize("every", [10, 256, 4096])
def test_the_unit_of_steps_plays_no_part(every: int) -> None:
    """Steps that count samples or tokens: limits are in optimizer steps."""
    loss = eventful_loss(6, 0.02)
    kinds = [(each.kind, each.start_step) for each in findings(loss)]
    counted = findings(loss, PLACES * every)
    assert [each.start_step // every for each in counted] == [start for _, start in kinds]
    if every > 10:
        assert [each.kind for each in counted] == [kind for kind, _ in kinds]


@pytest.mark.parametrize("noise", [0.003, 0.02])
def test_every_tenth_row_and_means_of_ten_keep_events_longer_than_twenty_steps(noise: float) -> None:
    points = 20_000
    size = noise * 2.0
    loss = curve(points, noise=noise, seed=7) + decay(points, 9000, 15 * size, 100)
    loss += 8 * size * (np.arange(points) >= 16_000)
    for rows in (loss[9::10], loss.reshape(-1, 10).mean(axis=1)):
        starts = [each.start_step for each in findings(rows, np.arange(9, points, 10))]
        assert len(starts) == 2
        assert abs(starts[0] - 9000) <= 20
        assert abs(starts[1] - 16_000) <= 20
