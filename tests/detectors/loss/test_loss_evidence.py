"""What a finding on the loss says beside its kind: where to roll back to, and what happened before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from holter.types import Finding, Kind
from tests.detectors.loss.curves import curve, decay, falling, run_of, the_one_in

POINTS = 3000


def settled_higher(**others: np.ndarray) -> Finding:
    value = curve(seed=3) + decay(POINTS, 1500, 2.0, 40) + np.where(np.arange(POINTS) >= 1500, 0.4, 0.0)
    return the_one_in(run_of(value, **others))


class TestRollback:
    def test_an_unrecovered_spike_names_a_sound_checkpoint_and_the_batches_to_skip(self) -> None:
        one = settled_higher()
        assert one.kind is Kind.SPIKE_UNRECOVERED
        assert one.evidence["rollback_upto"] == one.start_step - 100
        assert one.evidence["skip_from"] == one.start_step
        assert one.evidence["skip_until"] == one.start_step + 200
        assert "skip the batches of steps 1,500 to 1,700" in one.advice

    def test_a_drift_goes_back_further_the_longer_it_went_unseen_and_skips_nothing(self) -> None:
        level = falling(16_000) + np.maximum(np.arange(16_000) - 10_000, 0) * 0.4 / 6000
        one = the_one_in(run_of(curve(16_000, noise=0.02, level=level, seed=2)))
        assert one.kind is Kind.DIVERGENCE
        assert one.start_step - one.evidence["rollback_upto"] == (one.detected_step - one.start_step) // 2
        assert "skip_from" not in one.evidence

    def test_a_row_that_stands_for_many_steps_is_skipped_whole(self) -> None:
        value = curve(1200, seed=3) + decay(1200, 700, 2.0, 30) + np.where(np.arange(1200) >= 700, 0.4, 0.0)
        one = the_one_in(run_of(value, step=50 * np.arange(1200)))
        assert one.evidence["skip_from"] == one.start_step - 49
        assert one.evidence["rollback_upto"] == one.start_step - 200

    def test_a_fast_spike_asks_for_none(self) -> None:
        one = the_one_in(run_of(curve(seed=1) + decay(POINTS, 2000, 1.5, 6)))
        assert "rollback_upto" not in one.evidence


class TestPrecursors:
    def precursor(self, what: str, **others: np.ndarray) -> dict[str, object]:
        found = {one["what"]: one for one in settled_higher(**others).evidence["precursors"]}
        json.dumps(found)
        return found[what]

    def test_nothing_else_logged_is_no_precursor(self) -> None:
        assert settled_higher().evidence["precursors"] == []

    def test_a_gradient_norm_that_jumped(self) -> None:
        norm = 0.5 * np.exp(0.1 * np.random.default_rng(0).standard_normal(POINTS))
        assert settled_higher(grad_norm=norm).evidence["precursors"] == []
        norm[1497] = 4.0
        one = self.precursor("grad_norm", grad_norm=norm)
        assert (one["step"], one["value"]) == (1497, 4.0)
        assert one["before"] == pytest.approx(0.5, rel=0.1)

    def test_a_learning_rate_that_changed(self) -> None:
        rate = np.where(np.arange(POINTS) < 1495, 3e-4, 6e-4)
        one = self.precursor("learning_rate", lr=rate)
        assert (one["before"], one["value"], one["step"]) == (3e-4, 6e-4, 1495)

    def test_a_loss_scale_that_fell(self) -> None:
        one = self.precursor("loss_scale", loss_scale=np.where(np.arange(POINTS) < 1490, 2.0**16, 2.0**14))
        assert (one["before"], one["value"]) == (2.0**16, 2.0**14)

    def test_a_share_of_the_data_that_changed(self) -> None:
        one = self.precursor("mixture", mix__code=np.where(np.arange(POINTS) < 1480, 0.3, 0.5))
        assert (one["before"], one["value"], one["metric"]) == (0.3, 0.5, "mix/code")

    def test_a_throughput_that_fell(self) -> None:
        speed = np.where(np.arange(POINTS) < 1480, 1e5, 7e4)
        assert self.precursor("throughput", tokens_per_s=speed)["value"] == 7e4

    def test_what_comes_after_it_was_seen_is_none(self) -> None:
        rate = np.where(np.arange(POINTS) < 1520, 3e-4, 6e-4)
        assert settled_higher(lr=rate).evidence["precursors"] == []

    def test_a_restart_shortly_before(self) -> None:
        value = curve(seed=3) + decay(POINTS, 1500, 2.0, 12)
        attempt = np.where(np.arange(POINTS) < 1400, 0, 1)
        one = the_one_in(run_of(value, attempt=attempt))
        assert one.evidence["precursors"] == [
            {"what": "restart", "step": 1400, "since": one.start_step - 1400}
        ]


class TestLearningRateThatClimbs:
    at = np.arange(POINTS)
    value = curve(noise=0.08, seed=5) + np.maximum(at - 1500, 0) * 0.0015

    def seen(self, rate: np.ndarray) -> int:
        return the_one_in(run_of(self.value, lr=rate)).detected_step

    def test_to_where_it_has_never_been_makes_a_drift_easier_to_believe(self) -> None:
        flat = 1e-3 * np.minimum(self.at / 200, 1.0)
        climbs = flat * (1 + np.maximum(self.at - 1450, 0) / 50)
        assert self.seen(climbs) < self.seen(flat)
        told = the_one_in(run_of(self.value, lr=climbs)).evidence["precursors"]
        assert [one["what"] for one in told] == ["learning_rate"]

    @pytest.mark.parametrize("name", ["warm-up", "cycle"])
    def test_in_a_warm_up_or_to_where_it_was_says_nothing(self, name: str) -> None:
        shapes = {"warm-up": self.at / POINTS, "cycle": 2 + np.sin(2 * np.pi * self.at / 800)}
        assert self.seen(1e-3 * shapes[name] + 1e-5) == self.seen(np.full(POINTS, 1e-3))
