"""Planted events outside the loss: speed, gradients, learning rate, metrics of the task, masks, memory."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, family, may, must
from odd_curves.healthy_speed import step_seconds, timing
from odd_curves.ingredients import LossCurve, bump, cosine, gauss, student, wander

SPEED = "planted: speed"
SIGNALS = "planted: gradients, learning rate, metrics"
NUMBERS = "planted: masks, mixture, memory"

SLOW = "throughput_regression"
UP = "spike_fast spike_slow spike_unrecovered divergence"
COLLAPSE = "metric_collapse"


@family(SPEED)
def slower_by_a_tenth(random: Random) -> OddCurve:
    """Steps take 8 to 40 % longer from one row on."""
    n = 6000
    row = int(random.uniform(0.4, 0.7) * n)
    seconds = step_seconds(random, n) * np.where(np.arange(n) >= row, random.uniform(1.08, 1.4), 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 24, row + 200),))


@family(SPEED)
def slower_for_a_while(random: Random) -> OddCurve:
    """Steps take 15 to 50 % longer for 400 to 1,500 rows."""
    n = 8000
    row, length = int(random.uniform(0.3, 0.6) * n), int(random.integers(400, 1500))
    slow = (np.arange(n) >= row) & (np.arange(n) < row + length)
    seconds = step_seconds(random, n) * np.where(slow, random.uniform(1.15, 1.5), 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 24, row + 200),))


@family(SPEED)
def slowly_slower(random: Random) -> OddCurve:
    """Throughput falls by 30 % over 100,000 steps."""
    n = 130_000
    row = 15000 + int(random.integers(0, 5000))
    factor = 1 - 0.3 * ((np.arange(n) - row) / 100_000).clip(0, 1)
    return OddCurve(timing(random, step_seconds(random, n) / factor), (must(SLOW, row - 3000, row + 50000),))


@family(SPEED)
def slower_above_a_wave(random: Random) -> OddCurve:
    """A periodic wave of 10 %, and from one row on steps that take 40 % longer."""
    n, period = 12000, int(random.integers(200, 800))
    wave = 1 + 0.1 * ((np.arange(n) // period) % 2)
    row = int(random.uniform(0.5, 0.7) * n)
    seconds = step_seconds(random, n) * wave * np.where(np.arange(n) >= row, 1.4, 1.0)
    return OddCurve(
        timing(random, seconds), (must(SLOW, row - 100, row + period + 200),), (may(last=3 * period),)
    )


@family(SPEED)
def slower_among_buckets(random: Random) -> OddCurve:
    """Sequence-length buckets row by row, and from one row on steps that take 40 % longer."""
    n = 10000
    factors = np.array([1.0, 1.15, 1.4, 1.9])[random.integers(0, 4, n)]
    row = int(random.uniform(0.4, 0.7) * n)
    seconds = step_seconds(random, n) * factors * np.where(np.arange(n) >= row, 1.4, 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 100, row + 500),))


@family(SPEED)
def slower_among_neighbours(random: Random) -> OddCurve:
    """Short spells of neighbours throughout, and from one row on 60 % longer steps."""
    n = 10000
    seconds, row = step_seconds(random, n), 100
    while row < n:
        length = int(random.integers(20, 60))
        seconds[row : row + length] *= random.uniform(1.2, 1.4)
        row += length + int(random.integers(200, 600))
    row = int(random.uniform(0.5, 0.7) * n)
    seconds[row:] *= 1.6
    return OddCurve(timing(random, seconds), (must(SLOW, row - 100, row + 200),), (may(last=1500),))


@family(SPEED)
def pause_of_hours(random: Random) -> OddCurve:
    """Nothing is logged for three hours."""
    curve = LossCurve(random, 4000)
    row = curve.position()
    time = 1.7e9 + np.cumsum(np.where(np.arange(4000) == row, 10800.0, 1.0))
    series = OddSeries("loss", curve.step, curve.value, time)
    return OddCurve((series,), (must("stall", row - 1, row),))


@family(SPEED)
def slow_rank(random: Random) -> OddCurve:
    """One of eight ranks computes 30 % longer; the names have a unit at their end."""
    n, row, slow = 600, 300, int(random.integers(8))
    names = (("compute_time_s", "collective_time_s"), ("compute_time_ms", "comm_time_ms"))[random.integers(2)]
    step, series = 10 * np.arange(n), []
    busy = [
        np.exp(0.01 * gauss(random, n)) * np.where((rank == slow) & (np.arange(n) >= row), 1.3, 1.0)
        for rank in range(8)
    ]
    total = np.max(busy, axis=0) + 0.05
    for rank, own in enumerate(busy):
        labels = (("rank", str(rank)),)
        series.append(OddSeries(names[0], step, own, labels=labels))
        series.append(OddSeries(names[1], step, total - own, labels=labels))
    return OddCurve(tuple(series), (must("straggler", 10 * row - 100, 10 * row + 500),), (may(SLOW),))


@family(SIGNALS)
def gradient_explodes(random: Random) -> OddCurve:
    """The gradient norm grows 30- to 1,000-fold over 100 rows and stays; the loss does not move."""
    curve = LossCurve(random, 5000)
    row = curve.position(0.4, 0.6)
    growth = random.uniform(np.log(30), np.log(1000)) * ((np.arange(5000) - row) / 100).clip(0, 1)
    norm = 0.5 * np.exp(0.2 * gauss(random, 5000) + growth)
    events = (must(UP, row - 20, row + 150, "grad_norm"),)
    return OddCurve((curve.series(), OddSeries("grad_norm", curve.step, norm)), events)


@family(SIGNALS)
def gradient_vanishes(random: Random) -> OddCurve:
    """The gradient norm falls to a hundredth or to zero; the loss does not move."""
    curve = LossCurve(random, 5000)
    row = curve.position(0.4, 0.6)
    final = (1e-2, 1e-6, 0.0)[random.integers(3)]
    norm = 0.5 * np.exp(0.2 * gauss(random, 5000)) * np.where(np.arange(5000) >= row, final, 1.0)
    events = (must(COLLAPSE + " hidden_nonfinite", row - 5, row + 100, "grad_norm"),)
    return OddCurve((curve.series(), OddSeries("grad_norm", curve.step, norm)), events)


@family(SIGNALS)
def rate_falls_to_zero(random: Random) -> OddCurve:
    """The learning rate is zero from one row on, out of its schedule."""
    curve = LossCurve(random, 5000)
    row = curve.position(0.3, 0.6)
    rate = 3e-4 * cosine(5000, 1, 0.1) * (np.arange(5000) < row)
    events = (must(COLLAPSE, row - 1, row + 50, "lr"),)
    return OddCurve((curve.series(), OddSeries("lr", curve.step, rate)), events)


@family(SIGNALS)
def accuracy_collapses(random: Random) -> OddCurve:
    """The training accuracy falls from .9 to chance and stays there."""
    curve = LossCurve(random, 4000)
    row = curve.position(0.4, 0.6)
    value = 0.9 * (1 - np.exp(-np.arange(4000) / 400)) * np.where(np.arange(4000) >= row, 0.15, 1.0)
    value = np.clip(value + 0.03 * gauss(random, 4000), 0, 1)
    name = ("accuracy", "train/acc", "train_accuracy")[random.integers(3)]
    events = (must(COLLAPSE, row - 5, row + 100, name),)
    return OddCurve((curve.series(), OddSeries(name, curve.step, value)), events)


@family(SIGNALS)
def reward_collapses(random: Random) -> OddCurve:
    """The mean reward falls from its plateau to below its start and stays there."""
    n = 3000
    row = int(random.uniform(0.5, 0.7) * n)
    value = 100 * (1 - np.exp(-np.arange(n) / 300)) + wander(random, n, 30, 3) + 4 * gauss(random, n)
    value -= random.uniform(90, 150) * ((np.arange(n) - row) / 50).clip(0, 1)
    name = ("reward", "rollout/ep_rew_mean", "train/reward")[random.integers(3)]
    return OddCurve((OddSeries(name, np.arange(n), value),), (must(COLLAPSE, row - 20, row + 150, name),))


@family(SIGNALS)
def divergence_from_reference_explodes(random: Random) -> OddCurve:
    """The KL to the reference policy grows a hundredfold within 200 rows and stays."""
    n = 3000
    row = int(random.uniform(0.4, 0.6) * n)
    growth = np.log(100) * ((np.arange(n) - row) / 200).clip(0, 1)
    value = 0.02 * np.exp(0.3 * gauss(random, n) + growth)
    name = ("kl", "objective/kl", "approx_kl")[random.integers(3)]
    return OddCurve((OddSeries(name, np.arange(n), value),), (must(UP, row - 10, row + 200, name),))


@family(SIGNALS)
def infinite_gradients(random: Random) -> OddCurve:
    """The gradient norm is infinite in twelve rows in a row."""
    curve = LossCurve(random, 4000)
    row = curve.position()
    norm = 0.5 * np.exp(0.2 * student(random, 4000))
    norm[row : row + 12] = np.inf
    return OddCurve(
        (curve.series(), OddSeries("grad_norm", curve.step, norm)), (must("nonfinite", row, row),)
    )


@family(NUMBERS)
def zeros_instead_of_nan(random: Random) -> OddCurve:
    """From one row on the loss is logged as exactly zero."""
    curve = LossCurve(random, 3000)
    row, value = curve.position(), curve.value
    value[row:] = 0.0
    return OddCurve((curve.series(value),), (must("hidden_nonfinite", row - 1, row + 20),))


@family(NUMBERS)
def one_value_repeated(random: Random) -> OddCurve:
    """From one row on the last value is repeated."""
    curve = LossCurve(random, 3000, share=0.02)
    row, value = curve.position(), curve.value
    value[row:] = value[row]
    return OddCurve((curve.series(value),), (must("hidden_nonfinite", row - 1, row + 60),))


@family(NUMBERS)
def skipped_steps_grow(random: Random) -> OddCurve:
    """A cumulative count of skipped steps that grows with every row from one row on."""
    curve = LossCurve(random, 3000)
    row = curve.position()
    count = (np.arange(3000) - row).clip(0).astype(float)
    series = (curve.series(), OddSeries("skipped_steps_total", curve.step, count))
    return OddCurve(series, (must("hidden_nonfinite", row - 1, row + 150),))


@family(NUMBERS)
def constant_count_of_skipped_steps(random: Random) -> OddCurve:
    """Healthy: 40 steps were skipped in the first 60, the cumulative count is constant from then on."""
    curve = LossCurve(random, 2000)
    count = np.minimum(np.arange(2000) * 0.7, 40).round()
    series = (curve.series(), OddSeries("skipped_steps_total", curve.step, count))
    return OddCurve(series, allowed=(may(last=60),))


@family(NUMBERS)
def spike_with_infinite_gradients(random: Random) -> OddCurve:
    """A lasting spike whose gradient norm is infinite in one row: a spike or non-finite, not a mask."""
    curve = LossCurve(random, 4000, light=True)
    row = curve.position(0.4, 0.6)
    value = curve.value + bump(4000, row, 3 * curve.level[row], 1, 1e9)
    norm = 0.5 * np.exp(0.2 * gauss(random, 4000))
    norm[row] = np.inf
    events = (must("spike_unrecovered nonfinite", row - 2, row + 10),)
    return OddCurve(
        (curve.series(value), OddSeries("grad_norm", curve.step, norm)),
        events,
        (may("spike_unrecovered nonfinite", row, row + 10, critical=True),),
    )


def _parts(random: Random, n: int) -> tuple[list[np.ndarray], np.ndarray]:
    parts = [
        level * (1 + 0.3 * np.exp(-np.arange(n) / 800)) * (1 + 0.03 * gauss(random, n))
        for level in (1.2, 2.5, 3.4)
    ]
    return parts, np.tile([[0.5], [0.3], [0.2]], n)


def _mixed(parts: list[np.ndarray], total: np.ndarray) -> tuple[OddSeries, ...]:
    step = np.arange(len(total))
    names = ("web", "code", "math")
    return (
        OddSeries("loss", step, total),
        *(OddSeries(f"loss/{name}", step, part) for name, part in zip(names, parts, strict=True)),
    )


@family(NUMBERS)
def shares_change(random: Random) -> OddCurve:
    """The shares of three datasets change, their losses do not; the shares are not logged."""
    n, row = 4000, int(random.uniform(0.4, 0.6) * 4000)
    parts, shares = _parts(random, n)
    shares[:, row:] = np.array([[0.2], [0.3], [0.5]])
    total = sum(share * part for share, part in zip(shares, parts, strict=True))
    return OddCurve(_mixed(parts, total), (must("mixture_shift", row - 20, row + 100),))


@family(NUMBERS)
def shares_constant_losses_move(random: Random) -> OddCurve:
    """Healthy shares, logged and constant, while every dataset's loss falls in steps: no mixture shift."""
    n = 4000
    parts, shares = _parts(random, n)
    fall = np.where(np.arange(n) > 2000, random.uniform(0.8, 0.95), 1.0)
    parts = [part * fall for part in parts]
    total = sum(share * part for share, part in zip(shares, parts, strict=True))
    logged = [
        OddSeries(f"mix/{name}", np.arange(n), share)
        for name, share in zip(("web", "code", "math"), shares, strict=True)
    ]
    return OddCurve((*_mixed(parts, total), *logged), allowed=(may("sudden_drop"),))


@family(NUMBERS)
def total_moves_alone(random: Random) -> OddCurve:
    """Constant logged shares and steady datasets; the total rises by a penalty: no mixture shift."""
    n, row = 4000, 2200
    parts, shares = _parts(random, n)
    total = sum(share * part for share, part in zip(shares, parts, strict=True)) + 0.5 * (np.arange(n) >= row)
    logged = [
        OddSeries(f"mix/{name}", np.arange(n), share)
        for name, share in zip(("web", "code", "math"), shares, strict=True)
    ]
    return OddCurve(
        (*_mixed(parts, total), *logged), (must("spike_unrecovered divergence", row - 3, row + 40, "loss"),)
    )


@family(NUMBERS)
def memory_grows(random: Random) -> OddCurve:
    """Memory in use grows by half over the run."""
    n = 6000
    value = 30 * (1 + 0.5 * np.arange(n) / n) + 0.1 * gauss(random, n)
    curve = LossCurve(random, n)
    return OddCurve(
        (curve.series(), OddSeries("memory_allocated_gb", curve.step, value)), (must("memory_leak", 0, 5000),)
    )


@family(NUMBERS)
def memory_steps_each_epoch(random: Random) -> OddCurve:
    """Memory steps up by 3 to 8 % of its start at each of 12 epochs."""
    n, epoch = 9600, 800
    value = 30 * (1 + random.uniform(0.03, 0.08) * (np.arange(n) // epoch)) + 0.05 * gauss(random, n)
    curve = LossCurve(random, n)
    return OddCurve(
        (curve.series(), OddSeries("memory_allocated_gb", curve.step, value)), (must("memory_leak", 0, 8000),)
    )
