"""Signals next to the loss that explode, vanish or collapse while the loss stays."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.types import Finding, RunData
from tests.support.curves import run, series, until

N, AT = 3000, 1700


def noisy(level: np.ndarray | float, *, share: float = 0.2, seed: int = 0) -> np.ndarray:
    return np.broadcast_to(level, N) * np.exp(share * np.random.default_rng(seed).standard_normal(N))


def with_loss(metric: str, value: np.ndarray) -> RunData:
    return run(series("loss", noisy(2.0, share=0.01, seed=9)), series(metric, value))


def found(data: RunData) -> list[Finding]:
    return find(data)


@pytest.mark.parametrize("metric", ["grad_norm", "kl", "value_loss"])
def test_an_explosion_is_a_divergence_of_that_metric(metric: str) -> None:
    growth = np.exp(np.log(100) * ((np.arange(N) - AT) / 150).clip(0, 1))
    (finding,) = found(with_loss(metric, noisy(0.5 * growth)))
    assert (finding.kind, finding.metric, finding.severity) == ("divergence", metric, "warning")
    assert AT - 10 <= finding.start_step <= AT + 100
    assert finding.detected_step <= AT + 160


def test_the_noise_of_a_gradient_norm_is_in_its_unit() -> None:
    growth = np.exp(np.log(100) * ((np.arange(N) - AT) / 150).clip(0, 1))
    small, large = (found(with_loss("grad_norm", noisy(size * growth)))[0] for size in (0.5, 50.0))
    assert large.evidence["noise"] == pytest.approx(100 * small.evidence["noise"])


def test_an_explosion_over_some_hundred_points_is_no_part_of_the_noise_that_it_must_exceed() -> None:
    cycle = 0.35 * np.sin(np.arange(N) / 25)
    growth = np.log(30) * ((np.arange(N) - AT) / 300).clip(0, 1)
    (finding,) = found(with_loss("objective/kl", noisy(6 * np.exp(cycle + growth))))
    assert (finding.kind, finding.end_step) == ("divergence", None)
    assert AT <= finding.start_step <= finding.detected_step <= AT + 300


@pytest.mark.parametrize(
    ("metric", "before", "after"),
    [("grad_norm", 0.5, 0.005), ("accuracy", 0.9, 0.15), ("reward", 90.0, -20.0)],
)
def test_a_collapse_has_its_own_kind(metric: str, before: float, after: float) -> None:
    value = noisy(np.where(np.arange(N) < AT, before, after), share=0.03)
    (finding,) = found(with_loss(metric, value))
    assert (finding.kind, finding.metric) == ("metric_collapse", metric)
    assert AT - 8 <= finding.start_step <= AT + 8
    assert finding.end_step is None


@pytest.mark.parametrize(("loss_after", "is_reported"), [(2.0, True), (1.5, True), (0.02, False)])
def test_a_gradient_norm_that_vanishes_as_a_loss_that_is_fitted_is_no_collapse(
    loss_after: float, is_reported: bool
) -> None:
    fall = ((np.arange(N) - AT) / 60).clip(0, 1)
    loss = series("loss", noisy(2.0 * (loss_after / 2.0) ** fall, share=0.01, seed=9))
    norm = series("grad_norm", noisy(0.5 * (0.005 / 0.5) ** fall))
    kinds = {finding.kind for finding in found(run(loss, norm)) if finding.metric == "grad_norm"}
    assert kinds == ({"metric_collapse"} if is_reported else set())


def test_a_collapse_that_is_over_has_its_end() -> None:
    low = (np.arange(N) >= AT) & (np.arange(N) < AT + 300)
    (finding,) = found(with_loss("grad_norm", noisy(np.where(low, 0.005, 0.5))))
    assert finding.end_step == pytest.approx(AT + 300, abs=20)
    assert f" at step {finding.start_step:,} and was back at step {finding.end_step:,}." in finding.summary
    assert finding.advice.startswith("Nothing to do now")


def test_a_collapse_that_lasts_is_told_since_its_step() -> None:
    (finding,) = found(with_loss("accuracy", noisy(np.where(np.arange(N) < AT, 0.9, 0.15), share=0.03)))
    assert finding.summary.startswith("Accuracy has fallen from 0.9")
    assert finding.summary.endswith(f" since step {finding.start_step:,}.")


@pytest.mark.parametrize(("metric", "level"), [("accuracy", 0.9), ("reward", 30.0)])
def test_what_was_learnt_shortly_before_is_no_noise_of_a_collapse(metric: str, level: float) -> None:
    learnt = level * (1 - np.exp(-np.arange(900) / 200)) * np.where(np.arange(900) < 750, 1, 0.4)
    value = learnt + 0.04 * level * np.random.default_rng(2).standard_normal(900)
    (finding,) = found(run(series(metric, value)))
    assert finding.kind == "metric_collapse"
    assert 747 <= finding.start_step <= finding.detected_step <= 790


def test_a_run_of_a_hundred_rows_is_examined_point_by_point() -> None:
    random = np.random.default_rng(3)
    norm = 0.8 * np.exp(0.25 * random.standard_normal(110)) * np.where(np.arange(110) < 60, 1, 80)
    (finding,) = found(run(series("grad_norm", norm)))
    assert (finding.kind, finding.start_step, finding.detected_step) == ("divergence", 60, 63)
    learnt = 0.9 * (1 - np.exp(-np.arange(60) / 8)) * np.where(np.arange(60) < 35, 1, 0.1)
    (finding,) = found(run(series("eval/accuracy", learnt + 0.01 * random.standard_normal(60))))
    assert (finding.kind, finding.start_step) == ("metric_collapse", 35)


@pytest.mark.parametrize("length", [1000, 2500])
def test_an_explosion_over_a_thousand_points_is_one_finding(length: int) -> None:
    row = np.arange(9000)
    growth = np.exp(np.log(100) * ((row - 4000) / length).clip(0, 1))
    value = 0.5 * growth * np.exp(0.2 * np.random.default_rng(4).standard_normal(9000))
    (finding,) = found(run(series("grad_norm", value)))
    assert (finding.kind, finding.end_step) == ("divergence", None)
    assert 4000 <= finding.start_step <= 4000 + length


def test_a_term_of_both_signs_has_no_ratio() -> None:
    random = np.random.default_rng(5)
    slow_wave = 0.7 * np.sin(np.arange(N) / 400) + 0.1 * random.standard_normal(N)
    assert found(run(series("g_loss", slow_wave))) == []
    assert found(run(series("g_loss", slow_wave + np.where(np.arange(N) < AT, 0, 60.0)))) == []


def test_a_norm_that_falls_with_training_and_single_peaks_are_healthy() -> None:
    value = noisy(0.1 + 3 * np.exp(-np.arange(N) / 300))
    value[[500, 1500, 2500]] *= 50
    assert not found(with_loss("grad_norm", value))


def test_a_rate_that_is_zero_while_training_goes_on_is_reported() -> None:
    rate = 3e-4 * (1 - np.arange(N) / 1500).clip(0)
    (finding,) = found(with_loss("lr", rate))
    assert (finding.kind, finding.start_step, finding.metric) == ("metric_collapse", 1500, "lr")


def test_a_rate_that_falls_to_zero_at_once_is_reported_soon() -> None:
    rate = np.where(np.arange(N) < AT, 3e-4, 0.0)
    (finding,) = found(with_loss("lr", rate))
    assert (finding.start_step, finding.detected_step) == (AT, AT + 7)


def test_schedules_that_end_at_zero_with_the_run_and_warm_up_from_zero_are_healthy() -> None:
    assert not found(with_loss("lr", 3e-4 * np.linspace(1, 0, N)))
    warm_up = 3e-4 * np.minimum(np.arange(N) - 100, 500).clip(0) / 500
    assert not found(with_loss("lr", warm_up))


def test_passes_over_a_growing_run_give_the_same_findings() -> None:
    growth = np.where(np.arange(N) < AT, 1.0, 80.0) * np.where(np.arange(N) < AT + 500, 1.0, 1 / 80)
    value, rate = noisy(0.5 * growth), np.where(np.arange(N) % 900 < 800, 3e-4, 0.0)
    state, cuts = IncrementalState(), [0, 17, 700, 701, 1650, 1710, 1722, 1800, 2200, 2300, N]
    for cut in cuts:
        data = run(series("grad_norm", value[:cut]), series("lr", rate[:cut])) if cut else run()
        assert find(data, state=state) == find(data)
    assert len(find(data)) == 4


@pytest.mark.parametrize(
    "factor",
    [
        np.where((np.arange(N) >= 150) & (np.arange(N) < 400), 60.0, 1.0),
        np.exp(np.log(100) * ((np.arange(N) - 1200) / 1000).clip(0, 1)),
    ],
    ids=["young", "slow"],
)
def test_passes_over_a_young_run_and_over_a_slow_rise_give_the_same_findings(factor: np.ndarray) -> None:
    value, state = noisy(0.5 * factor), IncrementalState()
    for cut in (3, 90, 151, 153, 154, 255, 256, 257, 270, 390, 409, 1500, 1501, 2200, 2304, 2600, N):
        data = run(series("grad_norm", value[:cut]))
        assert find(data, state=state) == find(data)
    assert [each.kind for each in find(data)] == ["divergence"]


def test_a_kl_divergence_that_stays_next_to_zero_is_no_explosion() -> None:
    from_nothing = np.where(np.arange(N) < AT, 0.0, noisy(2e-4))
    assert found(with_loss("train/approx_kl", from_nothing)) == []
    assert found(with_loss("train/approx_kl", noisy(np.where(np.arange(N) < AT, 1e-10, 1e-7)))) == []
    (finding,) = found(with_loss("train/approx_kl", noisy(np.where(np.arange(N) < AT, 1e-10, 0.5))))
    assert finding.metric == "train/approx_kl"


def test_a_learning_rate_below_the_last_digit_of_its_log_is_not_zero() -> None:
    rate = 1e-3 * (1 + np.cos(np.pi * np.arange(N) / N)) / 2
    assert found(run(series("lr", np.round(rate, 6)))) == []
    too_short = 1e-3 * np.maximum(1 - np.arange(N) / (N - 400), 0)
    (finding,) = found(run(series("lr", too_short)))
    assert (finding.kind, finding.start_step) == ("metric_collapse", N - 400)


def test_another_launch_has_rewards_of_its_own() -> None:
    attempt, step = np.repeat([0, 1], N // 2), np.tile(np.arange(N // 2), 2)
    value = np.where(attempt == 0, 90.0, -300.0) + np.random.default_rng(0).standard_normal(N)
    relaunched = run(series("reward", value, step=step, attempt=attempt))
    assert found(relaunched) == []
    (finding,) = found(run(series("reward", value, step=np.arange(N), attempt=attempt)))
    assert (finding.kind, finding.attempt) == ("metric_collapse", 1)
    state, lost = IncrementalState(), value.copy()
    lost[N - 300 :] -= 500.0
    for stop in (400, N // 2, N // 2 + 3, N // 2 + 40, N - 200, N - 3, N):
        data = run(series("reward", lost[:stop], step=step[:stop], attempt=attempt[:stop]))
        assert find(data, state=state) == find(data)
    assert [(each.kind, each.attempt) for each in find(data)] == [("metric_collapse", 1)]


def test_a_launch_that_begins_with_its_own_logging_interval_has_rewards_of_its_own() -> None:
    first, second = 1536, 600  # the first launch ends with a block
    attempt = np.repeat([0, 1], [first, second])
    step = np.concatenate((np.arange(first), 50 * np.arange(1, second + 1)))
    value = np.where(attempt == 0, 90.0, -300.0) + np.random.default_rng(0).standard_normal(len(step))
    value[-200:] -= 500.0
    state = IncrementalState()
    for stop in (400, first, first + 1, first + 2, first + 40, len(step) - 150, len(step)):
        data = run(series("reward", value[:stop], step=step[:stop], attempt=attempt[:stop]))
        assert find(data, state=state) == find(data)
    assert [(each.kind, each.attempt) for each in find(data)] == [("metric_collapse", 1)]
    assert find(data)[0].start_step >= 50 * 390


@pytest.mark.parametrize("overlap", [0, 2, 20])
def test_a_norm_that_is_high_since_a_restart_is_no_event_of_the_attempt_before(overlap: int) -> None:
    step = np.concatenate((np.arange(AT + overlap), AT + np.arange(N - AT - overlap)))
    attempt = (np.arange(N) >= AT + overlap).astype(np.int64)
    norm = noisy(np.where(attempt, 30.0, 0.5))
    data = run(
        series("loss", noisy(2.0, share=0.01, seed=9), step=step, attempt=attempt),
        series("grad_norm", norm, step=step, attempt=attempt),
    )
    (finding,) = (each for each in found(data) if each.metric == "grad_norm")
    assert (finding.attempt, finding.start_step) == (1, AT)
    assert finding.detected_step >= finding.start_step


def held_for(seed: int, points: int) -> np.ndarray:
    """A reward that is low, good for some points, and low again."""
    random = np.random.default_rng(seed)
    levels = np.repeat([-500.0, -130.0, -560.0], [220, points, 400])
    noises = np.repeat([60.0, 15.0, 40.0], [220, points, 400])
    return levels + noises * random.standard_normal(len(levels))


@pytest.mark.parametrize("seed", range(4))
def test_a_reward_that_was_good_for_a_while_and_is_lost_has_collapsed(seed: int) -> None:
    value, state = held_for(seed, 112), IncrementalState()
    for stop in (256, 331, 340, 349, 370, 500, len(value)):
        data = run(series("reward", value[:stop]))
        assert find(data, state=state) == find(data)
    (finding,) = find(data)
    assert finding.kind == "metric_collapse"
    assert 328 <= finding.start_step <= 340
    assert finding.detected_step <= 380


def test_a_reward_that_was_good_for_a_moment_has_not_collapsed() -> None:
    assert found(run(series("reward", held_for(0, 24)))) == []


@pytest.mark.parametrize("seed", [1, 3, 7])
def test_a_mean_of_the_latest_episodes_that_wanders_has_not_collapsed(seed: int) -> None:
    random = np.random.default_rng(seed)
    total = np.cumsum(random.binomial(1, 0.2, 6000) * random.exponential(1.0, 6000))
    means = (total[120:] - total[:-120]) / 120
    assert found(run(series("rollout/ep_rew_mean", means))) == []


def learned_and_lost(seed: int, losses: tuple[int, ...]) -> np.ndarray:
    """A reward that rises to 900 and falls to 200 within 8 points, 45 points at a time."""
    random, row = np.random.default_rng(seed), np.arange(700)
    level = 900 / (1 + np.exp(-(row - 70) / 12))
    for first in losses:
        level -= 700 * np.clip((row - first) / 8, 0, 1) * np.clip((first + 45 - row) / 15, 0, 1)
    return level + np.cumsum(random.normal(0, 2, len(row))) / 2


def test_each_of_several_sudden_losses_of_a_reward_is_reported() -> None:
    losses = (180, 290, 430, 600)
    value, state = learned_and_lost(3, losses), IncrementalState()
    for stop in (185, 200, 300, 450, 612, len(value)):
        data = run(series("reward", value[:stop]))
        assert find(data, state=state) == find(data)
    findings = find(data)
    assert len(findings) == len(losses)
    for finding, first in zip(findings, losses, strict=True):
        assert first - 1 <= finding.start_step <= first + 6
        assert finding.detected_step <= first + 12
        assert finding.end_step is not None


@pytest.mark.parametrize("seed", range(100, 108))
def test_a_mean_of_rare_rewards_that_loses_some_of_them_has_not_collapsed(seed: int) -> None:
    random, window = np.random.default_rng(seed), 20
    succeeded = random.random(2000 + window) < 0.1
    assert find(run(series("reward", np.convolve(succeeded, np.ones(window) / window, "valid")[:2000]))) == []


def test_a_mean_of_rare_rewards_that_were_learnt_and_lost_has_collapsed() -> None:
    row, window = np.arange(2000), 20
    share = np.where(row < 900, np.clip(row / 600, 0.3, 0.9), 0.02)
    succeeded = np.random.default_rng(1).random(len(row)) < share
    value = np.convolve(succeeded, np.ones(window) / window)[: len(row)]
    assert [finding.start_step for finding in find(run(series("reward", value)))] == [
        pytest.approx(900, abs=40)
    ]


def test_a_collapse_after_one_that_lasts_is_another_one() -> None:
    row = np.arange(1800)
    level = np.where(row < 200, 300 / (1 + np.exp(-(row - 60) / 12)), 60.0)
    level[1500:1560] = 2.0
    value = level + np.random.default_rng(5).normal(0, 1.5, len(row))
    first, second = find(run(series("reward", value)))
    assert first.end_step is None
    assert (first.start_step, second.start_step) == (pytest.approx(200, abs=3), pytest.approx(1500, abs=3))
    assert second.end_step == pytest.approx(1560, abs=4)


def test_the_level_that_a_collapse_reached_is_that_of_most_points() -> None:
    value = np.random.default_rng(1).standard_normal(240) - 5.0
    value[210:214] = -30.0, -160.0, -150.0, -170.0
    (finding,) = found(run(series("reward", value)))
    assert finding.evidence["lowest"] == pytest.approx(-155, abs=5)


def lost_again(seed: int) -> np.ndarray:
    """A reward at its most that loses a quarter of it now and then, and once nearly half, for 75 points."""
    random, row = np.random.default_rng(seed), np.arange(620)
    level = 1000 / (1 + np.exp(-(row - 50) / 14))
    for first, share in ((140, 0.28), (230, 0.28), (320, 0.28), (420, 0.46)):
        level -= 1000 * share * np.clip((row - first) / 5, 0, 1) * np.clip((first + 75 - row) / 25, 0, 1)
    moves = random.normal(0, 2, len(row)) * (random.random(len(row)) < 0.4)
    return np.minimum(level + np.cumsum(moves), 1000)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_reward_that_loses_more_than_it_usually_does_has_collapsed(seed: int) -> None:
    value, state = lost_again(seed), IncrementalState()
    for stop in (250, 428, 431, 440, 470, 490, len(value)):
        data = run(series("rollout/ep_rew_mean", value[:stop]))
        assert find(data, state=state) == find(data)
    (finding,) = (each for each in find(data) if each.start_step > 400)
    assert (finding.kind, finding.severity) == ("metric_collapse", "info")
    assert 420 <= finding.start_step <= finding.detected_step <= 440
    assert finding.end_step == pytest.approx(482, abs=8)
    (open_one,) = (each for each in find(run(series("reward", value[:450]))) if each.start_step > 400)
    assert (open_one.severity, open_one.end_step) == ("warning", None)


@pytest.mark.parametrize("points", [300, 230])
def test_an_accuracy_that_has_lost_a_third_for_as_long_as_it_was_held_has_collapsed(points: int) -> None:
    row, random = np.arange(points), np.random.default_rng(points)
    value = 0.1 + 0.75 * (1 - np.exp(-row / 20)) - np.where(row >= 200, 0.25, 0.0)
    value += 0.015 * random.standard_normal(points)
    (finding,) = found(run(series("val/accuracy", value)))
    assert (finding.kind, finding.severity, finding.end_step) == ("metric_collapse", "warning", None)
    assert 199 <= finding.start_step <= 201
    assert finding.detected_step == pytest.approx(223, abs=3)
    assert finding.evidence["lowest"] == pytest.approx(0.6, abs=0.03)


def test_a_third_that_is_lost_for_some_points_is_no_collapse() -> None:
    row = np.arange(300)
    value = 0.1 + 0.75 * (1 - np.exp(-row / 20)) - np.where((row >= 200) & (row < 215), 0.25, 0.0)
    assert found(run(series("val/accuracy", value + 0.015 * np.random.default_rng(1).normal(size=300)))) == []


def test_the_first_step_down_of_a_level_that_never_fell_is_no_collapse() -> None:
    value = np.concatenate((np.repeat([0.01, 0.02, 0.03], [4, 4, 30]), np.repeat([0.02, 0.03], [60, 60])))
    assert found(run(series("reward", value))) == []


@pytest.mark.parametrize(
    ("points", "begin", "length"), [(3000, 800, 400), (1200, 300, 310), (8000, 2000, 3000)]
)
def test_an_accuracy_that_comes_back_after_its_collapse_had_become_usual_has_an_end(
    points: int, begin: int, length: int
) -> None:
    place = np.arange(points)
    value = 0.8 * (1 - np.exp(-3 * place / begin))
    value[begin : begin + length] *= 0.1
    value += 0.02 * np.random.default_rng(11).standard_normal(points)
    data = with_loss("accuracy", value)
    (finding,) = found(data)
    assert (finding.start_step, finding.severity) == (begin, "info")
    assert finding.end_step is not None
    assert abs(finding.end_step - begin - length) <= 32
    state = IncrementalState()
    for last in range(0, points, 157):
        seen = until(data, 0, last)
        assert find(seen, state=state) == find(seen)
