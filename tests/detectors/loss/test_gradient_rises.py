"""Rises of the loss that count because the gradient norm rises at the same points."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState
from holter.detectors.loss.excursions.segment import split_attempts
from holter.detectors.loss.gradient_rises import GradientRiseThresholds, mean_rises
from holter.detectors.loss.precursors import Precursors, PrecursorThresholds, find_precursors
from holter.types import FloatArray, Kind, RunData, SeriesKey
from tests.support.curves import until
from tests.support.loss_curves import curve, detect_all, run_of

POINTS, AT, LENGTH, SIGMA = 3000, 2000, 16, 0.02
SIZES = (3, 5, 8, 16, 32, 64)


def rising(sigmas: float, *, points: int = POINTS) -> FloatArray:
    """So many sigmas for some points, none elsewhere."""
    excess = np.zeros(points)
    excess[AT : AT + LENGTH] = sigmas
    return excess


def gradient(sigmas: float, *, seed: int = 1) -> FloatArray:
    noise = np.random.default_rng(seed).normal(0, 1, POINTS)
    return 0.5 * np.exp(0.1 * (noise + rising(sigmas)))


def loss(sigmas: float, *, seed: int = 1) -> FloatArray:
    """A constant loss whose points rise by so many sigmas on average."""
    value = curve(POINTS, noise=SIGMA, level=np.full(POINTS, 2.0), seed=seed)
    window = slice(AT, AT + LENGTH)
    value[window] += 2.0 * (1 + SIGMA * sigmas) - value[window].mean()
    return value


class TestTogether:
    @pytest.mark.parametrize("seed", range(6))
    def test_a_weak_rise_of_both_is_an_event(self, seed: int) -> None:
        (finding,) = detect_all(run_of(loss(1.1, seed=seed), grad_norm=gradient(3, seed=seed + 50)))
        assert finding.kind is Kind.SPIKE_FAST
        assert AT - 2 <= finding.start_step <= AT + LENGTH

    @pytest.mark.parametrize("seed", range(6))
    def test_neither_is_one_alone(self, seed: int) -> None:
        assert not detect_all(run_of(loss(1.1, seed=seed), grad_norm=gradient(0, seed=seed + 50)))
        assert not detect_all(run_of(loss(0, seed=seed), grad_norm=gradient(30, seed=seed + 50)))

    def test_what_is_usual_of_the_gradient_is_no_evidence(self) -> None:
        bursts = np.zeros(POINTS)
        for start in range(300, POINTS, 100):
            bursts[start : start + LENGTH] = 3.0
        norm = gradient(0) * np.exp(0.1 * bursts)
        assert not detect_all(run_of(loss(1.1), grad_norm=norm))


class TestFewPointsTogether:
    @staticmethod
    def raised(values: FloatArray, by: float) -> FloatArray:
        """The same with four rows that are raised by so much."""
        window = slice(AT, AT + 4)
        return np.concatenate((values[:AT], values[window] + by, values[AT + 4 :]))

    def run(self, sigmas: float, of_gradient: float, *, seed: int) -> RunData:
        norm = np.log(gradient(0, seed=seed + 50))
        value = self.raised(loss(0, seed=seed), 2.0 * SIGMA * sigmas)
        return run_of(value, grad_norm=np.exp(self.raised(norm, 0.1 * of_gradient)))

    def found(self, sigmas: float, of_gradient: float) -> int:
        return sum(bool(detect_all(self.run(sigmas, of_gradient, seed=seed))) for seed in range(20))

    def test_four_weak_points_of_both_are_an_event_more_often(self) -> None:
        assert self.found(3.0, 4.0) >= self.found(3.0, 0.0) + 8

    def test_a_gradient_norm_alone_is_none(self) -> None:
        assert not self.found(0.0, 10.0)


def precursors_of(run: RunData) -> Precursors:
    return find_precursors(run, IncrementalState(), PrecursorThresholds())


class TestErrors:
    @pytest.mark.parametrize("first", [0, 63, 900, 1999])
    def test_they_do_not_depend_on_which_points_are_asked_for(self, first: int) -> None:
        run = run_of(loss(1.1), grad_norm=gradient(3))
        (segment,) = split_attempts(run.series[SeriesKey("loss")], IncrementalState())
        whole = precursors_of(run).gradient_errors(segment, 0, POINTS, SIZES)
        part = precursors_of(run).gradient_errors(segment, first, first + 70, SIZES)
        assert np.array_equal(part, whole[:, first : first + 70])

    def test_they_rest_on_earlier_rows_only(self) -> None:
        run = run_of(loss(1.1), grad_norm=gradient(3))
        (segment,) = split_attempts(run.series[SeriesKey("loss")], IncrementalState())
        whole = precursors_of(run).gradient_errors(segment, 1900, 2010, SIZES)
        seen = until(run, 0, 2009)
        (segment,) = split_attempts(seen.series[SeriesKey("loss")], IncrementalState())
        assert np.array_equal(precursors_of(seen).gradient_errors(segment, 1900, 2010, SIZES), whole)

    def test_of_noise_they_are_standard_normal(self) -> None:
        noise = np.random.default_rng(3).normal(0, 1, 20_000)
        errors = mean_rises(np.zeros(20_000), noise, np.ones(20_000), 0, SIZES, GradientRiseThresholds())
        assert not errors[:, :190].any()
        assert np.std(errors[:, 1000:], axis=1) == pytest.approx(1.0, abs=0.25)
        assert np.abs(errors).max() < 6


class TestRestarts:
    RESTART = 600

    def run(self, sigmas: float, of_gradient: float, *, seed: int, wander: float = 0.0) -> RunData:
        """A run that is restarted, with a rise of the loss that decays and one of the gradient norm."""
        random, points = np.random.default_rng(seed), self.RESTART + 300
        since = np.arange(points) - self.RESTART
        shape = np.where(since >= 0, np.exp(-np.maximum(since, 0) / 40), 0.0)
        loss = 2.0 * (1 + 0.05 * (random.normal(0, 1, points) + sigmas * shape))
        walk = wander * np.cumsum(random.normal(0, 1, points))
        norm = 0.5 * np.exp(0.2 * (random.normal(0, 1, points) + of_gradient * shape + walk))
        return run_of(loss, grad_norm=norm, attempt=(since >= 0).astype(np.int64))

    def found(self, *, sigmas: float, of_gradient: float, wander: float = 0.0) -> int:
        runs = (self.run(sigmas, of_gradient, seed=seed, wander=wander) for seed in range(20))
        return sum(any(each.kind is Kind.RESUME_ARTIFACT for each in detect_all(run)) for run in runs)

    def test_a_weak_rise_of_both_is_found_more_often(self) -> None:
        together = self.found(sigmas=1.2, of_gradient=2.0)
        assert together >= 12
        assert together >= self.found(sigmas=1.2, of_gradient=0.0) + 4

    def test_neither_a_gradient_that_rises_nor_one_that_wanders_is_an_event(self) -> None:
        assert not self.found(sigmas=0.0, of_gradient=3.0)
        assert not self.found(sigmas=0.0, of_gradient=0.0, wander=0.3)

    def test_errors_rest_on_earlier_rows_only(self) -> None:
        run = self.run(1.2, 2.0, seed=0)
        segment = split_attempts(run.series[SeriesKey("loss")], IncrementalState())[1]
        whole = precursors_of(run).restart_errors(segment, 300)
        for points in (1, 5, 40, 250):
            seen = until(run, 1, self.RESTART + points - 1)
            segment = split_attempts(seen.series[SeriesKey("loss")], IncrementalState())[1]
            assert np.array_equal(precursors_of(seen).restart_errors(segment, points), whole[:points])
