"""When a run is slower than it was: what counts, since when, and what does not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.positions import RowPosition
from holter.detectors.throughput.block_medians import MedianBlock
from holter.detectors.throughput.onset import OnsetThresholds, find_onset
from holter.detectors.throughput.regression import ThroughputRegressionDetector
from holter.types import Finding, FloatArray, RunData
from tests.support.curves import run, series, speed_curve, until

N, AT = 3000, 1200


def slowed(drop: float, *, until: int = N, ramp: int = 0, seed: int = 0) -> np.ndarray:
    """Speed that falls by a share at step AT, at once or over `ramp` steps, until it comes back."""
    speed = speed_curve(np.random.default_rng(seed), N)
    shape = np.minimum(np.arange(until - AT) / ramp, 1.0) if ramp else np.ones(until - AT)
    speed[AT:until] *= 1 - drop * shape
    return speed


def timed(speed: np.ndarray, *, tokens: Any = 2e5, **where: Any) -> RunData:
    """A run that logs this speed by a clock that agrees with it."""
    return run(series("tokens_per_s", speed, time=1.7e9 + np.cumsum(tokens / speed), **where))


def found(data: RunData) -> list[Finding]:
    return list(ThroughputRegressionDetector().detect(data, DetectorContext()))


@pytest.mark.parametrize("drop", [0.03, 0.05, 0.15, 0.4])
def test_a_lasting_drop_is_found_at_its_step(drop: float) -> None:
    (finding,) = found(timed(slowed(drop)))
    assert abs(finding.start_step - AT) <= 3
    assert finding.end_step is None
    assert finding.detected_step - AT < 100
    assert finding.evidence["lost"] == pytest.approx(drop, abs=0.01)
    assert finding.severity == ("critical" if drop >= 0.1 else "warning")


@pytest.mark.parametrize(("drop", "ramp"), [(0.07, 1000), (0.15, 500), (0.4, 800)])
def test_a_gradual_decline_starts_at_its_onset(drop: float, ramp: int) -> None:
    (finding,) = found(timed(slowed(drop, ramp=ramp)))
    assert abs(finding.start_step - AT) < 200
    assert finding.evidence["gradual"]
    assert finding.evidence["lost"] == pytest.approx(drop, abs=0.015)


@pytest.mark.parametrize("ramp", [90, 160, 260])
def test_a_steep_decline_is_gradual_too_and_a_drop_is_not(ramp: int) -> None:
    for seed in range(4):
        (decline,) = found(timed(slowed(0.3, ramp=ramp, seed=seed)))
        (drop,) = found(timed(slowed(0.3, seed=seed)))
        assert decline.evidence["gradual"]
        assert not drop.evidence["gradual"]
        assert abs(decline.start_step - AT) < ramp


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_spells_within_a_drop_are_no_part_of_what_it_costs(seed: int) -> None:
    random = np.random.default_rng(seed)
    speed = slowed(0.05, seed=seed)
    for begin in range(100, N, 250):
        speed[begin : begin + int(random.integers(10, 50))] *= 1 - random.uniform(0.03, 0.18)
    lasting = [each for each in found(timed(speed)) if each.start_step > AT - 150 and each.end_step is None]
    (drop,) = lasting
    assert drop.evidence["lost"] == pytest.approx(0.05, abs=0.02)
    assert drop.severity == "warning"


@pytest.mark.parametrize("length", [60, 200, 700])
def test_a_transient_drop_has_the_right_end(length: int) -> None:
    (finding,) = found(timed(slowed(0.1, until=AT + length)))
    assert abs(finding.start_step - AT) <= 3
    assert finding.end_step is not None
    assert abs(finding.end_step - AT - length) <= 16


def test_a_drop_with_a_resume_begins_at_the_attempts_first_step() -> None:
    speed = slowed(0.1)
    step = np.concatenate([np.arange(AT), np.arange(AT - 100, N - 100)])
    attempt = np.repeat([0, 1], [AT, N - AT])
    (finding,) = found(timed(speed, step=step, attempt=attempt))
    assert (finding.attempt, finding.start_step) == (1, AT - 100)
    assert finding.evidence["after_resume"]


def test_step_time_flops_and_speed_give_one_finding_of_one_event() -> None:
    speed = slowed(0.2)
    clock: dict[str, Any] = {"time": 1.7e9 + np.cumsum(2e5 / speed)}
    data = run(
        series("tokens_per_s", speed, **clock),
        series("step_time", 2e5 / speed, **clock),
        series("mfu", speed / 3e5, **clock),
        series("tflops", speed / 1e3, **clock),
    )
    (finding,) = found(data)
    assert finding.kind == "throughput_regression"


def test_of_slow_spells_that_return_again_and_again_the_first_is_reported() -> None:
    speed = slowed(0.0)
    for begin in (1200, 1500, 1800, 2100):
        speed[begin : begin + 60] *= 0.8
    (finding,) = found(timed(speed))
    assert (finding.start_step, finding.end_step) == (pytest.approx(1200, abs=8), pytest.approx(1260, abs=8))


def among_neighbours(seed: int, n: int) -> np.ndarray:
    """Speed [n] on a shared cluster: spells of 10 to 60 steps, 5 to 20 % slower, with 100 to 400 between."""
    random = np.random.default_rng(seed)
    speed, begin = speed_curve(random, n), 0
    while (begin := begin + int(random.integers(100, 400))) < n:
        length = int(random.integers(10, 60))
        speed[begin : begin + length] *= 1 - random.uniform(0.05, 0.2)
        begin += length
    return speed


@pytest.mark.parametrize("seed", range(8))
def test_spells_of_neighbours_are_information_at_most(seed: int) -> None:
    assert {each.severity for each in found(timed(among_neighbours(seed, 6000)))} <= {"info"}


@pytest.mark.parametrize("seed", range(8))
def test_a_slow_down_among_spells_is_found_where_the_run_was_fast_for_the_last_time(seed: int) -> None:
    speed = among_neighbours(seed, 6000)
    speed[3000:] *= 0.85
    speed[2850:2890] *= 0.85  # one more spell, over before
    lasting = [each for each in found(timed(speed)) if each.severity != "info"]
    assert lasting[0].start_step == pytest.approx(3000, abs=60)
    assert lasting[0].end_step is None


@pytest.mark.parametrize("seed", range(4))
def test_a_short_pause_just_before_a_restart_is_no_part_of_the_slow_down_after_it(seed: int) -> None:
    speed = slowed(0.1, seed=seed)
    speed[AT - 3 : AT] *= 0.6  # a checkpoint is saved before the program ends
    attempt = (np.arange(N) >= AT).astype(int)
    (finding,) = found(timed(speed, attempt=attempt))
    assert (finding.attempt, finding.start_step) == (1, AT)
    assert finding.evidence["after_resume"]


@pytest.mark.parametrize("every", [8, 10])
@pytest.mark.parametrize("seed", range(4))
def test_a_spell_in_a_short_sparse_log_is_found_while_it_lasts(seed: int, every: int) -> None:
    rows = 180
    speed = speed_curve(np.random.default_rng(seed), rows, noise=0.004)
    speed[70:110] *= 0.85
    data = timed(speed, tokens=2e5 * every, step=np.arange(rows) * every)
    (finding,) = found(data)
    assert finding.start_step == pytest.approx(70 * every, abs=2 * every)
    assert finding.end_step == pytest.approx(110 * every, abs=8 * every)
    assert finding.detected_step < 110 * every


def test_a_lasting_drop_after_short_spells_is_an_event_of_its_own() -> None:
    speed = slowed(0.0)
    for begin in (1200, 1500):
        speed[begin : begin + 40] *= 0.9
    speed[1900:] *= 0.7
    spells, drop = found(timed(speed))
    assert (spells.start_step, spells.end_step) == (pytest.approx(1200, abs=8), pytest.approx(1240, abs=8))
    assert (drop.start_step, drop.end_step) == (pytest.approx(1900, abs=8), None)
    assert drop.detected_step <= 1900 + 80
    assert drop.evidence["lost"] == pytest.approx(0.3, abs=0.02)


def test_a_slowdown_since_a_restart_is_separate_from_one_just_before() -> None:
    speed = slowed(0.0)
    speed[1700:1740] *= 0.85
    speed[1900:] *= 0.8
    attempt = (np.arange(N) >= 1900).astype(int)
    _, drop = found(timed(speed, attempt=attempt))
    assert (drop.attempt, drop.start_step) == (1, 1900)
    assert drop.evidence["after_resume"]


@pytest.mark.parametrize("seed", range(10))
def test_pauses_stalls_and_warm_up_are_no_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    speed = speed_curve(rng, N)
    speed[::100] *= 0.2  # checkpoints
    speed[500:503] *= 0.01  # a stall
    speed[:40] *= np.linspace(0.2, 1.0, 40)  # compilation and caches
    assert found(timed(speed)) == []


def test_a_planned_change_of_the_batch_is_no_regression() -> None:
    rng = np.random.default_rng(1)
    tokens = np.where(np.arange(N) < AT, 2e5, 4e5)
    # the step takes 2.6 times as long for twice the tokens: less speed, by plan
    speed = speed_curve(rng, N) * np.where(np.arange(N) < AT, 1.0, 0.77)
    assert found(timed(speed, tokens=tokens)) == []
    batch = series("global_batch_size", tokens / 1000)
    assert found(run(batch, series("step_time", tokens / speed, time=np.full(N, np.nan)))) == []


def test_a_rollback_to_a_smaller_batch_is_compared_with_the_smaller_batch() -> None:
    rng = np.random.default_rng(2)
    step = np.concatenate([np.arange(1500), np.arange(900, 2400)])
    attempt = np.repeat([0, 1], 1500)
    large = step >= 1000
    speed = speed_curve(rng, N) * np.where(large, 1.5, 1.0)
    data = timed(speed, tokens=np.where(large, 4e5, 2e5), step=step, attempt=attempt)
    assert found(data) == []


def test_a_second_drop_from_a_level_that_settled_is_another_event() -> None:
    speed = slowed(0.1)
    speed[2400:] *= 0.8
    first, second = found(timed(speed))
    assert abs(first.start_step - AT) <= 3
    assert abs(second.start_step - 2400) <= 8


def slow_in_spells(speed: np.ndarray, *, first: int, until: int, loss: float = 0.25) -> None:
    """Make the speed lower by `loss` for 40 steps in every 300, from `first` on."""
    for begin in range(first, until, 300):
        speed[begin : begin + 40] *= 1 - loss


@pytest.mark.parametrize("seed", range(4))
def test_spells_stay_usual_after_a_lasting_slow_down(seed: int) -> None:
    speed = speed_curve(np.random.default_rng(seed), 8000)
    slow_in_spells(speed, first=100, until=8000)
    speed[4000:] *= 0.6
    lasting = [each for each in found(timed(speed)) if each.severity != "info" and each.start_step > 1000]
    (finding,) = lasting
    assert finding.start_step == pytest.approx(4000, abs=60)


@pytest.mark.parametrize("seed", range(4))
def test_the_waves_of_a_run_stay_usual_after_a_lasting_slow_down(seed: int) -> None:
    speed = speed_curve(np.random.default_rng(seed), 10000)
    speed *= 1 - 0.1 * ((np.arange(10000) // 400) % 2)
    speed[6050:] *= 0.7  # in a slow half of the wave
    late = [each for each in found(timed(speed)) if each.severity != "info" and each.start_step > 2000]
    (finding,) = late
    assert 6000 - 8 <= finding.start_step <= 6050 + 8
    assert finding.severity == "critical"


def test_a_larger_drop_within_a_slow_down_is_an_event_of_its_own() -> None:
    speed = slowed(0.1)
    speed[AT + 120 :] *= 0.7
    first, second = found(timed(speed))
    assert (first.start_step, second.start_step) == (
        pytest.approx(AT, abs=3),
        pytest.approx(AT + 120, abs=8),
    )
    assert first.evidence["lost"] == pytest.approx(0.1, abs=0.02)


def test_what_a_new_level_shows_of_the_past_is_detected_when_it_is_known() -> None:
    speed = speed_curve(np.random.default_rng(0), 6000)
    speed[:3000] *= 0.7
    speed[3400:3560] *= 0.85
    data = timed(speed)
    for each in found(data):
        known = found(until(data, 0, each.detected_step))
        assert each.start_step in {earlier.start_step for earlier in known}


@pytest.mark.parametrize("interval", [10, 100])
def test_thresholds_follow_the_log_interval(interval: int) -> None:
    points = 400
    speed = speed_curve(np.random.default_rng(3), points, noise=0.004)
    speed[200:] *= 0.94
    data = timed(speed, tokens=2e5 * interval, step=np.arange(points) * interval)
    (finding,) = found(data)
    assert abs(finding.start_step - 200 * interval) <= interval


def test_correlated_noise_stays_within_the_false_alarm_rate() -> None:
    """At most 0.1 per 10,000 points on noise that wanders by one percent."""
    alarms, points = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wander = np.empty(6000)
        wander[0] = 0.0
        kicks = rng.normal(0, 0.01 * np.sqrt(1 - 0.95**2), 6000)
        for i in range(1, 6000):
            wander[i] = 0.95 * wander[i - 1] + kicks[i]
        alarms += len(found(timed(1e5 * np.exp(wander + rng.normal(0, 0.005, 6000)))))
        points += 6000
    assert alarms / points * 1e4 <= 0.1


def test_a_short_spell_is_information_once_it_is_over_and_the_next_ones_are_usual() -> None:
    random, speed = np.random.default_rng(3), slowed(0.0)
    for begin in range(800, N - 100, 220):
        speed[begin : begin + int(random.integers(30, 60))] *= 0.75
    assert {each.severity for each in found(timed(speed))} <= {"info"}


def test_a_slow_down_as_twice_before_is_information_until_it_is_worse() -> None:
    speed = speed_curve(np.random.default_rng(0), 12_000)
    for start in (1500, 4000, 6500, 9000):
        speed[start : start + 600] *= 0.85
    speed[11_000:] *= 0.7
    findings = found(timed(speed))
    assert [round(finding.start_step, -2) for finding in findings] == [1500, 4000, 6500, 9000, 11_000]
    assert [finding.severity for finding in findings] == ["critical", "critical", "info", "info", "critical"]
    assert findings[3].summary.endswith("It was as slow 3 times before.")


def test_a_slow_down_that_lasts_longer_than_those_before_is_critical_again() -> None:
    speed = speed_curve(np.random.default_rng(0), 10_000)
    for start, length in ((1500, 300), (4000, 300), (6500, 3500)):
        speed[start : start + length] *= 0.85
    whole = timed(speed)
    assert found(until(whole, 0, 6900))[-1].severity == "info"
    assert found(whole)[-1].severity == "critical"


def test_a_beginning_that_was_faster_is_a_warning_and_later_information() -> None:
    speed = slowed(0.0)
    speed[500:] *= 0.8
    (young,) = found(timed(speed[:900]))
    (settled,) = found(timed(speed))
    assert (young.severity, settled.severity) == ("warning", "info")
    assert (young.start_step, young.detected_step) == (settled.start_step, settled.detected_step)


def test_steps_that_take_one_of_several_times_by_their_length_are_no_regression() -> None:
    random = np.random.default_rng(5)
    bucket = np.array([1.0, 1.15, 1.4, 1.9])[random.integers(0, 4, 8000)]
    speed = speed_curve(random, 8000) / bucket
    assert not found(timed(speed))
    speed[5000:] /= 1.5
    (finding,) = found(timed(speed))
    assert abs(finding.start_step - 5000) < 60


@pytest.mark.parametrize("seed", range(6))
def test_step_times_in_tenths_of_a_second_are_no_slow_down_before_they_are_two_tenths_longer(
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    seconds = 1.44 + 0.04 * np.sin(np.arange(N) / 300) + 0.02 * random.standard_normal(N)
    assert found(run(series("step_time", np.round(seconds, 1)))) == []
    seconds[AT:] += 0.25
    (finding,) = found(run(series("step_time", np.round(seconds, 1))))
    assert abs(finding.start_step - AT) <= 8


@pytest.mark.parametrize("heights", [[0.1] * 6 + [0.0] * 2, [0.0] * 8])
def test_a_rise_whose_last_two_blocks_are_at_the_level_before_has_an_onset(heights: list[float]) -> None:
    """A longer window shows it; values that are rounded are at that level exactly."""
    levels = [0.0] * 20 + heights
    blocks = [block(8 * index, level) for index, level in enumerate(levels)]
    onset = find_onset(blocks, 0.0, 0.01, points_of, OnsetThresholds())
    assert 0 <= onset.at.row < 8 * len(levels)


def block(first: int, level: float) -> MedianBlock:
    """A block of eight equal points from a row on."""
    return MedianBlock(0, 0, first, first + 7, first, first + 7, level, 0.0, level, level, level, level)


def points_of(block: MedianBlock) -> tuple[list[RowPosition], FloatArray]:
    positions = [RowPosition(row, 0, row) for row in range(block.first, block.last + 1)]
    return positions, np.full(len(positions), block.median)


def test_a_slow_down_that_a_few_fast_points_interrupt_is_one_event() -> None:
    speed = slowed(0.3)
    speed[AT + 400 : AT + 416] /= 0.7
    (finding,) = found(timed(speed))
    assert (abs(finding.start_step - AT) <= 3, finding.end_step) == (True, None)


def test_buckets_in_blocks_are_no_lasting_regression() -> None:
    # the median of many rows is that of one bucket or another by chance
    random = np.random.default_rng(5)
    edges = np.cumsum(random.integers(20, 120, 300))
    bucket = random.integers(0, 4, 301)[np.searchsorted(edges, np.arange(12_000), side="right")]
    speed = speed_curve(random, 12_000) / np.array([1.0, 1.15, 1.4, 1.9])[bucket]
    late = [each for each in found(timed(speed)) if each.start_step > 2000]
    assert {each.severity for each in late} <= {"info"}


def test_a_return_to_a_speed_that_the_run_had_before_is_no_critical_alarm() -> None:
    speed = speed_curve(np.random.default_rng(0), 3000)
    speed[:700] *= 0.88
    speed[1400:] *= 0.88
    (finding,) = found(timed(speed[:2200]))
    assert (finding.severity, abs(finding.start_step - 1400) <= 3) == ("warning", True)
    speed[1400:] *= 0.88  # slower than it had been
    (finding,) = found(timed(speed[:2200]))
    assert finding.severity == "critical"


@pytest.mark.parametrize("name", ["image_size", "data/resolution", "num_frames", "clip_len"])
def test_larger_inputs_explain_longer_steps(name: str) -> None:
    larger = np.arange(N) >= AT
    speed = speed_curve(np.random.default_rng(3), N) / np.where(larger, 1.6, 1.0)
    clock: dict[str, Any] = {"time": 1.7e9 + np.cumsum(2e5 / speed)}
    size = series(name, np.where(larger, 160.0, 128.0), **clock)
    assert not found(run(series("samples_per_second", speed, **clock), size))


def test_a_logged_sequence_length_explains_longer_steps_without_a_clock() -> None:
    seconds = 2e5 / slowed(0.0)
    seconds[AT:] *= 2.1
    length = np.where(np.arange(N) < AT, 2048.0, 4096.0)
    assert not found(run(series("step_time", seconds), series("seq_len", length)))
    (finding,) = found(run(series("step_time", seconds)))
    assert abs(finding.start_step - AT) <= 3


def test_a_decline_over_a_hundred_thousand_steps_is_one_gradual_finding() -> None:
    n, begin = 90_000, 15_000
    speed = speed_curve(np.random.default_rng(1), n)
    speed *= 1 - 0.3 * ((np.arange(n) - begin) / 100_000).clip(0)
    (finding,) = found(timed(speed))
    assert begin - 2000 < finding.start_step < begin + 15_000
    assert finding.detected_step < begin + 50_000
    assert finding.evidence["gradual"]
    assert finding.end_step is None


@pytest.mark.parametrize("seed", range(3))
def test_a_decline_that_was_soon_over_states_the_level_that_it_reached(seed: int) -> None:
    row, random = np.arange(1200), np.random.default_rng(seed)
    decline = np.where(row < 910, 0.045 * np.clip((row - 800) / 110, 0, 1), 0.0)
    (finding,) = found(
        run(series("tokens_per_sec", 16000 * np.exp(0.007 * random.normal(size=1200) - decline)))
    )
    assert finding.evidence["gradual"]
    assert 0.029 <= finding.evidence["lost"] <= 0.045
    assert finding.end_step == pytest.approx(910, abs=10)
