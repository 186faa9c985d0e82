"""Healthy speed and memory: waves, buckets, pauses and planned changes that cost or seem to cost time."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, Values, family, may
from odd_curves.ingredients import LossCurve, autoregressive, gauss

SPEED = "healthy: speed"
MEMORY = "healthy: memory"


def timing(
    random: Random, seconds: Values, *, tokens: float | Values = 4e6, every: int = 1
) -> tuple[OddSeries, ...]:
    """The loss, step time and throughput of steps that took so many seconds [n]."""
    n = len(seconds)
    curve = LossCurve(random, n, every=every)
    time = 1.7e9 + np.cumsum(seconds) * every
    rate = OddSeries("tokens_per_s", curve.step, tokens / seconds, time)
    if random.random() < 0.5:
        return OddSeries("loss", curve.step, curve.value, time), rate
    return (
        OddSeries("loss", curve.step, curve.value, time),
        rate,
        OddSeries("step_time", curve.step, seconds, time),
    )


def step_seconds(random: Random, n: int) -> Values:
    """Seconds per step [n]: about one, noise of 1 to 4 %, correlated a little."""
    return random.uniform(0.5, 5) * np.exp(random.uniform(0.01, 0.04) * autoregressive(random, n, 0.3))


@family(SPEED)
def length_buckets(random: Random) -> OddCurve:
    """Sequence-length buckets, drawn row by row: the step takes one of four times."""
    factors = np.array([1.0, 1.15, 1.4, 1.9])
    seconds = step_seconds(random, 6000) * factors[random.integers(0, 4, 6000)]
    return OddCurve(timing(random, seconds))


@family(SPEED)
def length_buckets_in_blocks(random: Random) -> OddCurve:
    """Buckets in runs of 20 to 120 rows."""
    factors = np.array([1.0, 1.15, 1.4, 1.9])
    edges = np.cumsum(random.integers(20, 120, 600))
    bucket = random.integers(0, 4, 601)[np.searchsorted(edges, np.arange(8000), side="right")]
    return OddCurve(timing(random, step_seconds(random, 8000) * factors[bucket]), allowed=(may(last=1500),))


@family(SPEED)
def longer_sequences_without_clock(random: Random) -> OddCurve:
    """The sequence length doubles, so steps take longer; logged, and no wall time is."""
    n, at = 6000, int(random.uniform(0.4, 0.7) * 6000)
    longer = np.arange(n) >= at
    seconds = step_seconds(random, n) * np.where(longer, random.uniform(1.9, 2.4), 1.0)
    step = np.arange(n)
    name = ("seq_len", "sequence_length", "train/seq_length")[random.integers(3)]
    return OddCurve((OddSeries("step_time", step, seconds), OddSeries(name, step, 2048.0 * (1 + longer))))


@family(SPEED)
def longer_sequences_with_clock(random: Random) -> OddCurve:
    """The sequence length doubles: the step takes 2.1 times as long, the tokens per second fall by 5 %."""
    n, at = 6000, int(random.uniform(0.4, 0.7) * 6000)
    longer = np.arange(n) >= at
    seconds = step_seconds(random, n) * np.where(longer, 2.1, 1.0)
    return OddCurve(timing(random, seconds, tokens=4e6 * (1 + longer)))


@family(SPEED)
def faster_beginning(random: Random) -> OddCurve:
    """The first 500 steps are 5 to 30 % faster than all others."""
    n = 6000
    seconds = step_seconds(random, n) * np.where(np.arange(n) < 500, random.uniform(0.75, 0.95), 1.0)
    return OddCurve(timing(random, seconds))


@family(SPEED)
def short_spells_of_neighbours(random: Random) -> OddCurve:
    """A shared cluster: spells of 20 to 80 rows, 20 to 50 % slower, one per 200 to 600 rows throughout."""
    n = 10000
    seconds, row = step_seconds(random, n), int(random.integers(50, 400))
    while row < n:
        length = int(random.integers(20, 80))
        seconds[row : row + length] *= random.uniform(1.2, 1.5)
        row += length + int(random.integers(200, 600))
    return OddCurve(timing(random, seconds), allowed=(may(last=1500),))


@family(SPEED)
def periodic_wave(random: Random) -> OddCurve:
    """A wave of step time of 5 to 15 % with a period of 200 to 1,500 rows."""
    n, period = 10000, random.uniform(200, 1500)
    wave = 1 + random.uniform(0.05, 0.15) * (
        np.sin(2 * np.pi * np.arange(n) / period) > random.uniform(-0.3, 0.6)
    )
    return OddCurve(timing(random, step_seconds(random, n) * wave), allowed=(may(last=2.2 * period),))


@family(SPEED)
def checkpoints(random: Random) -> OddCurve:
    """Saving a checkpoint every 500 steps makes 1 to 12 rows two to ten times as long."""
    n, length = 8000, int(random.integers(1, 13))
    saving = np.arange(n) % 500 >= 500 - length
    return OddCurve(timing(random, step_seconds(random, n) * np.where(saving, random.uniform(2, 10), 1.0)))


@family(SPEED)
def evaluations(random: Random) -> OddCurve:
    """An evaluation every 1,000 steps: one row of a minute."""
    seconds = step_seconds(random, 8000)
    seconds[999::1000] += 60
    return OddCurve(timing(random, seconds))


@family(SPEED)
def daily_wave(random: Random) -> OddCurve:
    """A sine of 2 to 6 % with a period of thousands of rows."""
    n = 20000
    wave = 1 + random.uniform(0.02, 0.06) * np.sin(2 * np.pi * np.arange(n) / random.uniform(3000, 6000))
    return OddCurve(timing(random, step_seconds(random, n) * wave), allowed=(may(last=8000),))


@family(SPEED)
def compilation(random: Random) -> OddCurve:
    """The first 20 to 80 steps are slow."""
    seconds = step_seconds(random, 5000)
    seconds[: int(random.integers(20, 80))] *= 4
    return OddCurve(timing(random, seconds))


@family(SPEED)
def larger_batches(random: Random) -> OddCurve:
    """The logged batch doubles, and with it the seconds per step; the tokens per second stay."""
    n = 6000
    doublings = np.arange(n) // 2000
    seconds = step_seconds(random, n) * 2.0**doublings
    batch = OddSeries("batch_size", np.arange(n), 256.0 * 2**doublings)
    return OddCurve((*timing(random, seconds, tokens=4e6 * 2.0**doublings), batch))


@family(SPEED)
def correlated_step_times(random: Random) -> OddCurve:
    """Step times of which neighbours are correlated by .9."""
    seconds = 2 * np.exp(0.03 * autoregressive(random, 10000, 0.9))
    return OddCurve(timing(random, seconds))


@family(SPEED)
def single_slow_rows(random: Random) -> OddCurve:
    """One row in a hundred takes up to ten times as long."""
    n = 8000
    seconds = step_seconds(random, n) * np.where(random.random(n) < 0.01, random.uniform(2, 10, n), 1.0)
    return OddCurve(timing(random, seconds))


@family(MEMORY)
def memory_steps_with_batch(random: Random) -> OddCurve:
    """Memory rises once, when the logged batch grows, and stays."""
    n = 5000
    big = np.arange(n) > 2500
    value = 40.0 * (1 + 0.5 * big) + 0.05 * gauss(random, n)
    curve = LossCurve(random, n)
    batch = OddSeries("batch_size", curve.step, 256.0 * (1 + big))
    return OddCurve((curve.series(), OddSeries("memory_allocated_gb", curve.step, value), batch))


@family(MEMORY)
def memory_sawtooth(random: Random) -> OddCurve:
    """Memory that rises for 400 rows and is collected, again and again."""
    n = 6000
    value = 20 + 4 * (np.arange(n) % 400) / 400 + 0.05 * gauss(random, n)
    curve = LossCurve(random, n)
    return OddCurve((curve.series(), OddSeries("memory_allocated_gb", curve.step, value)))
