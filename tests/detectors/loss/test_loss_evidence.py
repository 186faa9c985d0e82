"""Evidence of findings on the loss: where to roll back to, and what happened before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from holter.detectors import find
from holter.types import Finding, Kind
from tests.support.loss_curves import curve, decay, falling, run_of, single_finding

POINTS = 3000


def settled_higher(**others: np.ndarray) -> Finding:
    value = curve(seed=3) + decay(POINTS, 1500, 2.0, 40) + np.where(np.arange(POINTS) >= 1500, 0.4, 0.0)
    return single_finding(run_of(value, **others))


class TestRollback:
    def test_an_unrecovered_spike_names_a_sound_checkpoint_and_the_batches_to_skip(self) -> None:
        finding = settled_higher()
        assert finding.kind is Kind.SPIKE_UNRECOVERED
        assert finding.evidence["rollback_upto"] == finding.start_step - 100
        assert finding.evidence["skip_from"] == finding.start_step
        assert finding.evidence["skip_until"] == finding.start_step + 200
        assert "skip the batches of steps 1,500 to 1,700" in finding.advice

    def test_a_drift_rolls_back_further_the_later_it_is_detected_and_skips_nothing(self) -> None:
        level = falling(16_000) + np.maximum(np.arange(16_000) - 10_000, 0) * 0.4 / 6000
        finding = single_finding(run_of(curve(16_000, noise=0.02, level=level, seed=2)))
        assert finding.kind is Kind.DIVERGENCE
        assert finding.start_step - finding.evidence["rollback_upto"] == max(
            100, (finding.detected_step - finding.start_step) // 2
        )
        assert "skip_from" not in finding.evidence

    def test_all_steps_that_a_row_stands_for_are_skipped(self) -> None:
        value = curve(1200, seed=3) + decay(1200, 700, 2.0, 30) + np.where(np.arange(1200) >= 700, 0.4, 0.0)
        finding = single_finding(run_of(value, step=50 * np.arange(1200)))
        assert finding.evidence["skip_from"] == finding.start_step - 49
        assert finding.evidence["rollback_upto"] == finding.start_step - 200

    def test_a_fast_spike_has_no_rollback(self) -> None:
        finding = single_finding(run_of(curve(seed=1) + decay(POINTS, 2000, 1.5, 6)))
        assert "rollback_upto" not in finding.evidence


class TestPrecursors:
    def precursor(self, what: str, **others: np.ndarray) -> dict[str, object]:
        changes = {change["what"]: change for change in settled_higher(**others).evidence["precursors"]}
        json.dumps(changes)
        return changes[what]

    def test_without_other_metrics_there_are_no_precursors(self) -> None:
        assert settled_higher().evidence["precursors"] == []

    def test_a_gradient_norm_that_jumped(self) -> None:
        norm = 0.5 * np.exp(0.1 * np.random.default_rng(0).standard_normal(POINTS))
        assert settled_higher(grad_norm=norm).evidence["precursors"] == []
        norm[1497] = 4.0
        change = self.precursor("grad_norm", grad_norm=norm)
        assert (change["step"], change["value"]) == (1497, 4.0)
        assert change["before"] == pytest.approx(0.5, rel=0.1)

    def test_a_loss_scale_that_fell(self) -> None:
        change = self.precursor("loss_scale", loss_scale=np.where(np.arange(POINTS) < 1490, 2.0**16, 2.0**14))
        assert (change["before"], change["value"]) == (2.0**16, 2.0**14)

    def test_a_throughput_that_fell(self) -> None:
        speed = np.where(np.arange(POINTS) < 1480, 1e5, 7e4)
        assert self.precursor("throughput", tokens_per_s=speed)["value"] == 7e4

    def test_a_change_after_the_detection_is_no_precursor(self) -> None:
        scale = np.where(np.arange(POINTS) < 1520, 2.0**16, 2.0**14)
        assert settled_higher(loss_scale=scale).evidence["precursors"] == []


class TestClimbingLearningRate:
    at = np.arange(POINTS)
    value = curve(noise=0.08, seed=5) + np.maximum(at - 1500, 0) * 0.0015

    def seen(self, rate: np.ndarray) -> int:
        return single_finding(run_of(self.value, lr=rate)).detected_step

    def test_a_climb_to_a_new_high_lets_a_drift_be_detected_earlier(self) -> None:
        flat = 1e-3 * np.minimum(self.at / 200, 1.0)
        climbs = flat * (1 + np.maximum(self.at - 1450, 0) / 50)
        assert self.seen(climbs) < self.seen(flat)
        (finding,) = find(run_of(self.value, lr=climbs))
        assert [cause.code for cause in finding.clear_causes] == ["learning_rate"]

    @pytest.mark.parametrize("name", ["warm-up", "cycle"])
    def test_a_climb_in_a_warm_up_or_cycle_changes_nothing(self, name: str) -> None:
        shapes = {"warm-up": self.at / POINTS, "cycle": 2 + np.sin(2 * np.pi * self.at / 800)}
        assert self.seen(1e-3 * shapes[name] + 1e-5) == self.seen(np.full(POINTS, 1e-3))
