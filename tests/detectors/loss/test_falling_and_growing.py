"""Short events of losses that fall, or whose noise has grown: neither hides them, and neither is one."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.loss.excursions.median_lag import (
    MedianLagThresholds,
    measure_correlation,
    measure_lag,
)
from holter.detectors.loss.excursions.noise_growth import NoiseGrowthThresholds, without_growth
from holter.types import FloatArray, RunData, Series, SeriesKey
from tests.support.loss_curves import detect_all

LAG = MedianLagThresholds()
GROWTH = NoiseGrowthThresholds()


def run_of(loss: FloatArray) -> RunData:
    """A run that logs this loss every tenth step."""
    steps = 10 * np.arange(len(loss))
    series = Series(
        key=SeriesKey("loss"),
        attempt=np.zeros(len(loss), dtype=np.int64),
        step=steps,
        time=np.full(len(loss), np.nan),
        value=loss,
    )
    return RunData(series={series.key: series})


def starts(loss: FloatArray) -> list[int]:
    """The rows at which findings begin."""
    return [finding.start_step // 10 for finding in detect_all(run_of(loss))]


def test_three_points_of_a_steadily_falling_loss_are_found() -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        loss = 30 - 0.12 * np.arange(200) + random.standard_normal(200)
        assert starts(loss) == []
        loss[150:153] += 7
        assert any(149 <= start <= 151 for start in starts(loss))


def test_a_falling_loss_that_becomes_level_has_no_event() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        level = 30 - 0.12 * np.minimum(np.arange(260), 130)
        assert starts(level + random.standard_normal(260)) == []


def test_two_points_are_found_after_the_noise_has_grown() -> None:
    found = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        noise = np.where(np.arange(1000) < 200, 0.1, 1.0)
        loss = 30 + noise * random.standard_normal(1000)
        loss[800:802] += 8.5
        found += 800 in starts(loss)
    assert found >= 9


def test_growth_is_taken_out_of_the_scores_of_its_time_alone() -> None:
    random = np.random.default_rng(0)
    residual = random.standard_normal(640)
    assert without_growth(residual, residual, GROWTH) is residual
    grown = residual.copy()
    grown[256:] *= 4  # the noise that was expected stays 1 for a while
    score = grown.copy()
    score[384:] /= 4
    corrected = without_growth(score, grown, GROWTH)
    assert np.std(corrected[256:384]) == pytest.approx(1, abs=0.2)
    assert np.array_equal(corrected[:256], score[:256])
    assert np.array_equal(corrected[384:], score[384:])


def test_a_burst_is_no_growth() -> None:
    residual = np.random.default_rng(0).standard_normal(640)
    residual[256:306] *= 4
    assert without_growth(residual, residual, GROWTH) is residual


def test_scores_that_are_unknown_stay_so() -> None:
    residual = np.random.default_rng(0).standard_normal(300) * np.where(np.arange(300) < 150, 0.1, 1.0)
    score = residual / 0.1
    score[:32] = np.nan
    corrected = without_growth(score, residual, GROWTH)
    assert len(corrected) == 300
    assert np.isnan(corrected).sum() == 32


@pytest.mark.parametrize("share", [0.0, 0.6, 0.9])
def test_a_fall_does_not_change_how_alike_neighbors_are(share: float) -> None:
    random = np.random.default_rng(1)
    noise = np.zeros(4000)
    for index, shock in enumerate(random.standard_normal(3999), 1):
        noise[index] = share * noise[index - 1] + (1 - share**2) ** 0.5 * shock
    for fall in (0.0, 0.2):
        assert measure_correlation(noise - fall * np.arange(4000), LAG).value == pytest.approx(
            share, abs=0.06
        )


def test_a_lag_is_what_all_and_the_latest_residuals_show() -> None:
    noise = np.random.default_rng(0).standard_normal(80)
    assert measure_lag(noise - 3, 1.0, LAG) == pytest.approx(2.6, abs=0.3)
    over = noise - np.where(np.arange(80) < 56, 3, 0)
    assert measure_lag(over, 1.0, LAG) < 0.3
    assert measure_lag(noise + 3, 1.0, LAG) == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_trend_of_a_cliff_does_not_go_on_below_the_level_it_reached(seed: int) -> None:
    random = np.random.default_rng(seed)
    plateau = 3 + 0.05 * random.standard_normal(300)
    learned = 0.012 + 0.001 * random.standard_normal(400)
    loss = np.concatenate((plateau, np.geomspace(3, 0.012, 40), learned))
    loss[510:515] += 0.3  # within the points that the trend is measured on
    (finding,) = detect_all(run_of(loss))
    assert finding.start_step == 5100
    assert finding.end_step is not None
    assert finding.end_step < 5300
