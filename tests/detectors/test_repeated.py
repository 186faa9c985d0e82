"""Resumes that restart the data stream: from where, until where, and by how much the loss reads too low."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.repeated_data.repeated_data import RepeatedDataDetector
from holter.types import Finding, FloatArray, IntArray, RunData
from tests.support.curves import run, series


def training(
    launches: list[tuple[int, int, int]],
    *,
    share: float = 0.8,
    low: float = 0.08,
    interval: int = 1,
    seed: int = 0,
    sampled: bool = False,
) -> RunData:
    """A run of several launches (first step, steps, position in the data stream of the first step).

    `share` of the noise is that of the batch; a batch seen before has a loss `low` lower. Points are
    means over `interval` steps, or the interval's last step.
    """
    rng = np.random.default_rng(seed)
    stream = rng.normal(0, 1, 10_000)
    steps: list[IntArray] = []
    values: list[FloatArray] = []
    attempts: list[IntArray] = []
    seen: set[int] = set()
    for number, (first, length, position) in enumerate(launches):
        step = np.arange(first, first + length)
        positions = np.arange(position, position + length)
        own = rng.normal(0, 1, length)
        noise = 0.05 * (share**0.5 * stream[positions] + (1 - share) ** 0.5 * own)
        again = np.array([position in seen for position in positions.tolist()])
        loss = (1.5 + 6.0 * (step + 30.0) ** -0.35) * np.exp(noise) - low * again
        seen |= set(positions.tolist())
        ends = np.flatnonzero(step % interval == interval - 1)
        ends = ends[ends >= interval - 1]
        means = (
            loss[ends] if sampled else np.array([loss[end - interval + 1 : end + 1].mean() for end in ends])
        )
        steps.append(step[ends])
        values.append(means)
        attempts.append(np.full(len(ends), number))
    return run(
        series("loss", np.concatenate(values), step=np.concatenate(steps), attempt=np.concatenate(attempts))
    )


def detect(data: RunData) -> list[Finding]:
    return list(RepeatedDataDetector().detect(data, DetectorContext()))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("source", [0, 137, 700])
def test_the_position_in_the_stream_is_found_exactly(source: int, seed: int) -> None:
    (finding,) = detect(training([(0, 1000, 0), (1000, 1600, source)], seed=seed))
    assert (finding.attempt, finding.start_step) == (1, 1000)
    assert finding.evidence["lag"] == 1000 - source
    assert (finding.evidence["source_attempt"], finding.evidence["source_step"]) == (0, source)
    assert finding.evidence["first_unseen_step"] == 2000 - source
    assert finding.end_step == 2000 - source - 1
    assert finding.detected_step - 1000 < 200


def test_the_finding_states_by_how_much_the_loss_reads_too_low() -> None:
    (finding,) = detect(training([(0, 1000, 0), (1000, 1600, 0)], low=0.15))
    assert finding.evidence["underreported"] == pytest.approx(0.15, abs=0.05)


def test_while_it_lasts_the_finding_states_when_unseen_data_will_begin() -> None:
    (finding,) = detect(training([(0, 1000, 0), (1000, 300, 0)]))
    assert finding.end_step is None
    assert finding.evidence["first_unseen_step"] == 2000
    assert "2,000" in finding.summary


def test_after_a_rollback_only_steps_the_model_rests_on_count_as_seen() -> None:
    (finding,) = detect(training([(0, 1200, 0), (1000, 1600, 0)]))
    assert finding.evidence["lag"] == 1000
    assert finding.evidence["first_unseen_step"] == 2000


@pytest.mark.parametrize("interval", [5, 10])
@pytest.mark.parametrize("source", [0, 3, 244])
def test_interval_means_give_the_lag_to_the_step(interval: int, source: int) -> None:
    lags = []
    for seed in range(5):
        data = training([(0, 3000, 0), (3000, 4000, source)], interval=interval, seed=seed)
        lags += [finding.evidence["lag"] for finding in detect(data)]
    assert len(lags) == 5
    assert all(abs(lag - (3000 - source)) <= 1 for lag in lags)


@pytest.mark.parametrize("seed", range(5))
def test_a_correct_resume_is_no_repeat(seed: int) -> None:
    assert detect(training([(0, 1000, 0), (1000, 1500, 1000)], seed=seed)) == []
    assert detect(training([(0, 1000, 0), (800, 1500, 800)], seed=seed)) == []
    assert detect(training([(0, 1000, 0), (800, 1500, 1000)], seed=seed)) == [], "batches skipped on purpose"


@pytest.mark.parametrize("seed", range(5))
def test_another_shuffle_leaves_no_fingerprint(seed: int) -> None:
    assert detect(training([(0, 1000, 0), (1000, 1500, 5000)], seed=seed)) == []


def test_a_resume_within_a_replay_continues_it() -> None:
    launches = [(0, 1000, 0), (1000, 400, 0), (1400, 1500, 400)]
    (finding,) = detect(training(launches))
    assert finding.attempt == 1


def test_every_resume_that_starts_over_is_a_finding() -> None:
    first, second = detect(training([(0, 1000, 0), (1000, 600, 0), (1600, 1500, 0)]))
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.evidence["first_unseen_step"] == 1600 + 1000


def test_an_attempt_that_continues_no_other_repeats_nothing_its_model_rests_on() -> None:
    assert detect(training([(0, 600, 0), (0, 600, 0), (0, 600, 0)])) == []


def test_a_replay_is_found_after_more_attempts_than_are_searched() -> None:
    length = 200
    correct = [(number * length, length, number * length) for number in range(12)]
    (found,) = detect(training([*correct, (12 * length, length, 11 * length)]))
    assert (found.attempt, found.evidence["source_step"]) == (12, 11 * length)


def test_a_periodic_mixture_of_datasets_is_no_fingerprint() -> None:
    rng = np.random.default_rng(0)
    n = 2500
    step = np.concatenate([np.arange(1000), np.arange(1000, n)])
    attempt = np.repeat([0, 1], [1000, n - 1000])
    cycle = np.tile([0.3, -0.1, 0.2, -0.4, 0.0, 0.25, -0.25], n // 7 + 1)[:n]
    loss = 3.0 * np.exp(0.3 * cycle + rng.normal(0, 0.05, n))
    assert detect(run(series("loss", loss, step=step, attempt=attempt))) == []
