"""Short runs, slow changes, averages that begin anew, inputs that grow: healthy ones and planted events."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, Values, family, may, must
from odd_curves.healthy_speed import step_seconds, timing
from odd_curves.ingredients import LossCurve, autoregressive, gauss, smooth, wander

HEALTHY = "healthy: averages, terms, inputs"
SIGNALS = "planted: short and slow signals"
LOSSES = "planted: steps and drifts of falling losses"
SPEED = "planted: speed among spells"

UP = "spike_fast spike_slow spike_unrecovered divergence"
LASTS = "spike_unrecovered divergence"
COLLAPSE = "metric_collapse"
SLOW = "throughput_regression"


@family(HEALTHY)
def epoch_means_every_tenth_batch(random: Random) -> OddCurve:
    """The mean since the epoch began, a row for every tenth batch, 6 to 24 epochs of 40 to 200 rows."""
    length, epochs = int(random.integers(40, 200)), int(random.integers(6, 25))
    curve = LossCurve(random, length * epochs, every=10, share=random.uniform(0.05, 0.3))
    rows = curve.value.reshape(epochs, length)
    value = (np.cumsum(rows, axis=1) / np.arange(1, length + 1)).ravel()
    return OddCurve((curve.series(value),), allowed=(may(last=22 * length),))


@family(HEALTHY)
def average_from_its_first_value(random: Random) -> OddCurve:
    """A moving average with weight .98 of a flat loss, which begins with the first batch."""
    n = 4000
    value = smooth(2.0 * (1 + random.uniform(0.01, 0.05) * gauss(random, n)), 0.98)
    return OddCurve((OddSeries("loss", np.arange(n), value),))


@family(HEALTHY)
def terms_of_both_signs(random: Random) -> OddCurve:
    """Hinge losses of a generator and a discriminator, which wander through zero."""
    n = 5000
    balance = wander(random, n, random.uniform(200, 1500), 0.4)
    return OddCurve(
        (
            OddSeries("d_loss", np.arange(n), 1.2 - 0.6 * balance + 0.25 * gauss(random, n)),
            OddSeries("g_loss", np.arange(n), 1.5 * balance + 0.4 * gauss(random, n)),
        )
    )


@family(HEALTHY)
def images_grow(random: Random) -> OddCurve:
    """Progressive resizing, logged: steps take longer with each stage, the loss is a little higher."""
    n = 6000
    size = np.array([128.0, 160.0, 192.0, 224.0])[np.arange(n) // 1500]
    curve = LossCurve(random, n)
    seconds = step_seconds(random, n) * (size / 128) ** 2
    time = 1.7e9 + np.cumsum(seconds)
    name = ("image_size", "data/resolution", "img_size")[random.integers(3)]
    value = curve.value * (1 + random.uniform(0.0, 0.05) * (size / 128 - 1))
    return OddCurve(
        (
            OddSeries("loss", curve.step, value, time),
            OddSeries("samples_per_second", curve.step, 256 / seconds, time),
            OddSeries(name, curve.step, size, time),
        ),
        allowed=(may("spike_fast spike_slow spike_unrecovered sudden_drop"),),
    )


def _with_loss(random: Random, metric: str, value: Values, every: int = 1) -> tuple[OddSeries, ...]:
    curve = LossCurve(random, len(value), every=every)
    return curve.series(), OddSeries(metric, curve.step, value)


@family(SIGNALS)
def gradient_grows_for_long(random: Random) -> OddCurve:
    """The gradient norm grows sixtyfold over 700 to 2,000 rows and stays; the loss does not move."""
    n, row, length = 7000, int(2800 + random.integers(0, 800)), random.uniform(700, 2000)
    growth = np.log(60) * ((np.arange(n) - row) / length).clip(0, 1)
    norm = 0.5 * np.exp(0.2 * gauss(random, n) + growth)
    events = (must(UP, row - 200, row + 0.9 * length, "grad_norm"),)
    return OddCurve(_with_loss(random, "grad_norm", norm), events)


@family(SIGNALS)
def divergence_from_reference_grows_for_long(random: Random) -> OddCurve:
    """The KL grows a hundredfold over 900 rows and stays."""
    n, row = 3000, int(random.uniform(0.35, 0.45) * 3000)
    growth = np.log(100) * ((np.arange(n) - row) / 900).clip(0, 1)
    value = 0.05 * np.exp(0.25 * autoregressive(random, n, 0.5) + growth)
    series = (OddSeries("objective/kl", np.arange(n), value),)
    return OddCurve(series, (must(UP, row - 60, row + 800, "objective/kl"),))


@family(SIGNALS)
def gradient_explodes_in_a_short_run(random: Random) -> OddCurve:
    """A hundred rows of every tenth step; after the first half the gradient norm is a hundredfold."""
    n, row = 110, int(random.uniform(0.5, 0.65) * 110)
    norm = 0.8 * np.exp(0.25 * gauss(random, n)) * np.where(np.arange(n) >= row, 100.0, 1.0)
    events = (must(UP, 10 * (row - 2), 10 * (row + 20), "grad_norm"),)
    return OddCurve(_with_loss(random, "grad_norm", norm, every=10), events)


@family(SIGNALS)
def accuracy_of_evaluations_collapses(random: Random) -> OddCurve:
    """Sixty evaluations, of which the accuracy falls from .8 to .1 and stays."""
    n, row = 60, int(random.integers(30, 42))
    value = np.where(np.arange(n) < row, 0.8 * (1 - np.exp(-np.arange(n) / 8)), 0.1)
    series = OddSeries("eval/accuracy", 500 * np.arange(n), value + 0.01 * gauss(random, n))
    curve = LossCurve(random, 3000, every=10)
    return OddCurve((curve.series(), series), (must(COLLAPSE, 500 * row, 500 * (row + 10), "eval/accuracy"),))


@family(SIGNALS)
def accuracy_collapses_soon_after_it_was_learnt(random: Random) -> OddCurve:
    """The accuracy in per cent rises over 600 rows, and falls to ten two hundred rows later."""
    n, row = 1500, int(random.uniform(0.5, 0.65) * 1500)
    value = np.where(np.arange(n) < row, 85 * (1 - np.exp(-np.arange(n) / 200)), 10.0)
    value = np.round((value + 4 * gauss(random, n)).clip(0, 100), 1)
    events = (must(COLLAPSE, row - 3, row + 60, "train_acc"),)
    return OddCurve(_with_loss(random, "train_acc", value), events)


@family(LOSSES)
def step_up_of_a_falling_loss(random: Random) -> OddCurve:
    """A loss that falls by a power law steps up by 4 to 8 sigmas, and falls on from there."""
    n, row = 5000, int(random.uniform(0.4, 0.55) * 5000)
    level = 2 + 5 / (1 + np.arange(n) / 40) ** 0.45
    sigma = random.uniform(0.008, 0.02) * level
    value = level + sigma * gauss(random, n) + random.uniform(4, 8) * sigma[row] * (np.arange(n) >= row)
    return OddCurve((OddSeries("loss", np.arange(n), value),), (must(LASTS, row - 3, row + 60),))


@family(LOSSES)
def weak_drift_in_one_piece(random: Random) -> OddCurve:
    """A flat loss drifts up by 3 to 5 sigmas over 1,200 to 2,000 rows: one event, not several."""
    n, row, length = 6000, int(random.uniform(0.4, 0.5) * 6000), random.uniform(1200, 2000)
    sigma = random.uniform(0.02, 0.05)
    drift = random.uniform(3, 5) * sigma * ((np.arange(n) - row) / length).clip(0, 1.5)
    value = 2.5 * (1 + drift + sigma * gauss(random, n))
    return OddCurve((OddSeries("loss", np.arange(n), value),), (must(LASTS, row - 250, row + length),))


def _among_neighbours(random: Random, n: int) -> Values:
    """Seconds per step with a spell of 3 to 20 % for 10 to 60 rows in every 300."""
    seconds, row = step_seconds(random, n), int(random.integers(20, 200))
    while row < n:
        length = int(random.integers(10, 60))
        seconds[row : row + length] *= 1 + random.uniform(0.03, 0.2)
        row += length + int(random.integers(150, 420))
    return seconds


@family(SPEED)
def slightly_slower_among_neighbours(random: Random) -> OddCurve:
    """Spells of neighbours, and from one row on steps that take 5 % longer: a warning, as it is no tenth."""
    n, row = 8000, int(random.uniform(0.45, 0.65) * 8000)
    seconds = _among_neighbours(random, n) * np.where(np.arange(n) >= row, 1.055, 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 150, row + 300),), (may(last=1500),))


@family(SPEED)
def slowly_slower_among_neighbours(random: Random) -> OddCurve:
    """Spells of neighbours, and steps that become 10 to 15 % longer over 800 to 2,000 rows."""
    n, row, length = 10000, int(random.uniform(0.4, 0.55) * 10000), random.uniform(800, 2000)
    seconds = _among_neighbours(random, n)
    seconds *= 1 + random.uniform(0.1, 0.15) * ((np.arange(n) - row) / length).clip(0, 1)
    events = (must(SLOW, row - 250, row + 0.9 * length),)
    return OddCurve(timing(random, seconds), events, (may(last=1500),))


@family(SPEED)
def steeply_slower(random: Random) -> OddCurve:
    """Steps become 30 to 50 % longer over 80 to 250 rows."""
    n, row, length = 6000, int(random.uniform(0.45, 0.65) * 6000), random.uniform(80, 250)
    seconds = step_seconds(random, n)
    seconds *= 1 + random.uniform(0.3, 0.5) * ((np.arange(n) - row) / length).clip(0, 1)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 40, row + length),))
