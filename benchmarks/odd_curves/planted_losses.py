"""Losses with planted events."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import FOREVER, OddCurve, OddSeries, Random, Values, family, may, must
from odd_curves.ingredients import LossCurve, bump, cosine, gauss, smooth, student

SPIKES = "planted: spikes"
LASTING = "planted: lasting rises"
ODD = "planted: odd steps and presentations"
OTHER = "planted: other losses"

UP = "spike_fast spike_slow spike_unrecovered divergence"
LASTS = "spike_unrecovered divergence"


def _fast(curve: LossCurve, row: int, scale: float = 1.0, **limits: tuple[float, float]) -> Values:
    """A bump that is back within 40 rows; by default at least 8 sigmas and 10 %."""
    sizes = {"sigmas": (8.0, 25.0), "share": (0.1, 0.5)} | limits
    height = scale * curve.height(row, sizes["sigmas"], sizes["share"])
    return bump(curve.n, row, height, int(curve.random.integers(1, 4)), float(curve.random.uniform(2, 8)))


@family(SPIKES)
def fast_spike(random: Random) -> OddCurve:
    """A spike that is back within 40 steps."""
    curve = LossCurve(random, 4000)
    row = curve.position()
    return OddCurve(
        (curve.series(curve.value + _fast(curve, row)),), (must("spike_fast", row - 2, row + 12),)
    )


@family(SPIKES)
def lone_point(random: Random) -> OddCurve:
    """One row, 9 to 20 sigmas and at least 5 % above the level of light noise."""
    curve = LossCurve(random, 4000, light=True)
    row, extra = curve.position(), np.zeros(4000)
    extra[row] = curve.height(row, (9, 20), (0.05, 0.15))
    return OddCurve((curve.series(curve.value + extra),), (must("spike_fast outlier_batch", row, row),))


@family(SPIKES)
def several_lone_points(random: Random) -> OddCurve:
    """Three single rows of the same height: each is told."""
    curve = LossCurve(random, 6000, light=True)
    rows, extra = (np.array([0.3, 0.5, 0.7]) * 6000).astype(int) + random.integers(0, 300, 3), np.zeros(6000)
    extra[rows] = curve.height(int(rows[0]), (12, 20), (0.08, 0.15))
    events = tuple(must("spike_fast outlier_batch", row, row) for row in rows.tolist())
    return OddCurve((curve.series(curve.value + extra),), events)


@family(SPIKES)
def slow_spike(random: Random) -> OddCurve:
    """A spike that needs 300 to 900 steps to come back."""
    curve = LossCurve(random, 6000)
    row = curve.position(0.4, 0.6)
    extra = bump(
        6000,
        row,
        curve.height(row, (10, 25), (0.15, 0.6)),
        int(random.integers(1, 8)),
        random.uniform(150, 300),
    )
    return OddCurve((curve.series(curve.value + extra),), (must("spike_slow", row - 3, row + 30),))


@family(SPIKES)
def spike_at_the_start(random: Random) -> OddCurve:
    """A spike of more than twice the level in the first 20 steps of a run that begins flat."""
    curve = LossCurve(random, 3000, share=0.01)
    curve.level = np.full(3000, float(curve.level[-1]))
    curve.sigma = curve.level * 0.01
    row = int(random.integers(10, 20))
    extra = bump(3000, row, random.uniform(1, 3) * curve.level[0], 1, random.uniform(3, 8))
    return OddCurve((curve.series(curve.value + extra),), (must("spike_fast", row - 1, row + 6),))


@family(SPIKES)
def two_spikes(random: Random) -> OddCurve:
    """A second, larger spike while the first has not recovered."""
    curve = LossCurve(random, 6000)
    row = curve.position(0.4, 0.6)
    height = curve.height(row, (10, 20), (0.15, 0.3))
    extra = bump(6000, row, height, 2, 300) + bump(6000, row + 150, 4 * height, 2, 20)
    events = (must("spike_slow " + LASTS, row - 3, row + 20), must(UP, row + 140, row + 170))
    return OddCurve((curve.series(curve.value + extra),), events)


@family(SPIKES)
def spike_among_restarts(random: Random) -> OddCurve:
    """A spike between two restarts of a logged cosine schedule."""
    curve = LossCurve(random, 8000)
    rate = 3e-4 * cosine(8000, 4, 0.02)
    value = curve.value * (1 + 0.1 * smooth(rate / 3e-4, 0.95))
    row = int(5000 + random.integers(0, 600))
    return OddCurve(
        (curve.series(value + _fast(curve, row, 1.5)), OddSeries("lr", curve.step, rate)),
        (must("spike_fast", row - 2, row + 12),),
    )


@family(LASTING)
def unrecovered(random: Random) -> OddCurve:
    """The loss jumps by 15 to 60 % within a few rows and stays."""
    curve = LossCurve(random, 6000)
    row = curve.position(0.4, 0.6)
    extra = bump(6000, row, curve.height(row, (10, 25), (0.15, 0.6)), int(random.integers(1, 10)), 1e9)
    return OddCurve((curve.series(curve.value + extra),), (must("spike_unrecovered", row - 3, row + 30),))


@family(LASTING)
def divergence(random: Random) -> OddCurve:
    """The loss rises over 600 to 1,500 rows by at least 40 %."""
    curve = LossCurve(random, 6000)
    row = curve.position(0.4, 0.5)
    length = random.uniform(600, 1500)
    extra = ((np.arange(6000) - row) / length).clip(0, 2) * curve.level[row] * random.uniform(0.4, 1)
    return OddCurve((curve.series(curve.value + extra),), (must("divergence", row - 50, row + length),))


@family(LASTING)
def jump_within_divergence(random: Random) -> OddCurve:
    """A divergence, and within it a jump to twice the loss."""
    curve = LossCurve(random, 6000)
    row = curve.position(0.3, 0.4)
    extra = ((np.arange(6000) - row) / 1500).clip(0, 2) * curve.level[row] * 0.4
    jump = row + 1000
    extra += (np.arange(6000) >= jump) * 1.5 * curve.level[row]
    events = (must("divergence", row - 50, row + 900), must(UP, jump - 5, jump + 30))
    return OddCurve((curve.series(curve.value + extra),), events)


def _flat(random: Random, n: int) -> LossCurve:
    curve = LossCurve(random, n, light=True)
    curve.level = np.full(n, float(curve.level[-1]))
    curve.sigma = curve.level * random.uniform(0.01, 0.04)
    return curve


@family(LASTING)
def drift_over_20_000(random: Random) -> OddCurve:
    """A flat loss drifts up by 10 % over 20,000 steps."""
    curve = _flat(random, 40000)
    row = 15000 + int(random.integers(0, 3000))
    factor = 1 + 0.1 * ((np.arange(40000) - row) / 20000).clip(0, 1)
    return OddCurve((curve.series(curve.value * factor),), (must("divergence", row - 2500, row + 20000),))


@family(LASTING)
def drift_over_100_000(random: Random) -> OddCurve:
    """A flat loss drifts up by 50 % over 100,000 steps."""
    curve = _flat(random, 150_000)
    row = 30000 + int(random.integers(0, 10000))
    factor = 1 + 0.5 * ((np.arange(150_000) - row) / 100_000).clip(0, 1)
    return OddCurve((curve.series(curve.value * factor),), (must("divergence", row - 5000, row + 60000),))


@family(LASTING)
def small_level_shift(random: Random) -> OddCurve:
    """The level of a flat loss rises by 2.5 noises and stays."""
    curve = _flat(random, 8000)
    row = curve.position(0.4, 0.6)
    extra = 2.5 * curve.sigma * (np.arange(8000) >= row)
    return OddCurve((curve.series(curve.value + extra),), (must(LASTS, row - 10, row + 100),))


@family(LASTING)
def short_run_unrecovered(random: Random) -> OddCurve:
    """25 to 50 rows; the loss doubles after the first half and stays."""
    n = int(random.integers(25, 51))
    curve = LossCurve(random, n, share=0.01)
    row = int(random.uniform(0.55, 0.7) * n)
    extra = (np.arange(n) >= row) * random.uniform(0.8, 1.5) * curve.level[row]
    return OddCurve((curve.series(curve.value + extra),), (must(LASTS + " spike_slow", row - 1, row + 4),))


@family(LASTING)
def run_of_a_hundred_rows(random: Random) -> OddCurve:
    """100 to 200 rows with a jump of 30 to 80 % that stays."""
    n = int(random.integers(100, 201))
    curve = LossCurve(random, n, share=0.02, light=True)
    row = int(random.uniform(0.4, 0.6) * n)
    extra = (np.arange(n) >= row) * random.uniform(0.3, 0.8) * curve.level[row]
    return OddCurve((curve.series(curve.value + extra),), (must(LASTS, row - 2, row + 8),))


@family(ODD)
def spike_in_fifty_rows(random: Random) -> OddCurve:
    """Fifty rows, one of them twice as high."""
    curve = LossCurve(random, 50, share=0.01)
    value, row = curve.value, int(random.integers(30, 45))
    value[row] *= 2
    return OddCurve((curve.series(value),), (must("spike_fast outlier_batch", row, row),))


@family(ODD)
def every_100th_step(random: Random) -> OddCurve:
    """A log of every 100th step: a spike of 8 to 20 rows."""
    curve = LossCurve(random, 1500, every=100)
    row = curve.position()
    extra = bump(1500, row, curve.height(row, (12, 25), (0.15, 0.5)), 2, random.uniform(3, 7))
    window = (100 * row - 200, 100 * row + 600)
    return OddCurve((curve.series(curve.value + extra),), (must("spike_slow", *window),))


@family(ODD)
def one_bad_row_of_every_500th(random: Random) -> OddCurve:
    """A log of every 500th step with one bad row: fast as far as anyone can know, never unrecovered."""
    curve = LossCurve(random, 800, every=500, light=True)
    row, extra = curve.position(), np.zeros(800)
    extra[row] = curve.height(row, (15, 30), (0.2, 0.5))
    return OddCurve(
        (curve.series(curve.value + extra),), (must("spike_fast outlier_batch", 500 * row, 500 * row),)
    )


def _counted(random: Random, every: int) -> OddCurve:
    curve = LossCurve(random, 4000, every=every)
    row = curve.position()
    window = (every * (row - 2), every * (row + 12))
    return OddCurve((curve.series(curve.value + _fast(curve, row)),), (must("spike_fast", *window),))


@family(ODD)
def steps_count_samples(random: Random) -> OddCurve:
    """A fast spike where the step counts samples: 256 to 2,048 per optimizer step."""
    return _counted(random, int(2 ** random.integers(8, 12)))


@family(ODD)
def steps_count_tokens(random: Random) -> OddCurve:
    """A fast spike where the step counts tokens."""
    return _counted(random, 4_194_304)


@family(ODD)
def spike_of_an_epoch(random: Random) -> OddCurve:
    """One point per epoch, the step counts batches: one epoch is twice as high."""
    curve = LossCurve(random, int(random.integers(60, 120)), every=1563, share=0.02, light=True)
    row, value = curve.position(0.5, 0.8), curve.value
    value[row] *= 2
    window = (1563 * row, 1563 * row)
    return OddCurve((curve.series(value, "train_loss"),), (must("spike_fast outlier_batch", *window),))


@family(ODD)
def spike_after_interval_change(random: Random) -> OddCurve:
    """Every step first, then every 10th; an unrecovered jump in the second half."""
    curve = LossCurve(random, 3000)
    step = np.cumsum(np.where(np.arange(3000) < 1500, 1, 10))
    row = int(random.uniform(0.6, 0.75) * 3000)
    value = curve.value + bump(3000, row, curve.height(row, (10, 25), (0.2, 0.5)), 1, 1e9)
    return OddCurve(
        (OddSeries("loss", step, value),), (must("spike_unrecovered", step[row] - 30, step[row] + 200),)
    )


@family(ODD)
def spike_in_a_smoothed_loss(random: Random) -> OddCurve:
    """An exponential moving average (.9) over a spike of 30 to 60 rows."""
    curve = LossCurve(random, 5000)
    row = curve.position()
    extra = bump(5000, row, curve.height(row, (15, 30), (0.3, 0.6)), 3, random.uniform(8, 15))
    return OddCurve(
        (curve.series(smooth(curve.value + extra, 0.9)),), (must("spike_fast", row - 3, row + 25),)
    )


@family(ODD)
def spike_in_two_digits(random: Random) -> OddCurve:
    """A fast spike in a loss with two digits after the point."""
    curve = LossCurve(random, 4000, share=0.02)
    row = curve.position()
    value = np.round(curve.value + _fast(curve, row), 2)
    return OddCurve((curve.series(value),), (must("spike_fast", row - 2, row + 12),))


@family(ODD)
def spike_on_an_offset(random: Random) -> OddCurve:
    """A spike of 15 to 40 sigmas on a loss with 10 or 100 added, where it is a small share of the level."""
    curve = LossCurve(random, 5000, share=0.02, light=True)
    row, offset = curve.position(), (10.0, 100.0)[random.integers(2)]
    extra = bump(5000, row, curve.height(row, (15, 40), (0.0, 0.0)), 2, random.uniform(2, 8))
    return OddCurve((curve.series(curve.value + offset + extra),), (must("spike_fast", row - 2, row + 12),))


@family(ODD)
def jump_on_an_offset(random: Random) -> OddCurve:
    """A jump of 10 to 25 sigmas on a loss with 10 or 100 added, that stays."""
    curve = LossCurve(random, 6000, share=0.02, light=True)
    row, offset = curve.position(0.4, 0.6), (10.0, 100.0)[random.integers(2)]
    extra = bump(6000, row, curve.height(row, (10, 25), (0.0, 0.0)), 2, 1e9)
    return OddCurve(
        (curve.series(curve.value + offset + extra),), (must("spike_unrecovered", row - 2, row + 20),)
    )


@family(ODD)
def spike_in_a_million_rows(random: Random) -> OddCurve:
    """A million rows with one fast spike."""
    curve = LossCurve(random, 1_000_000)
    row = curve.position()
    extra = _fast(curve, row, sigmas=(15.0, 30.0), share=(0.2, 0.5))
    return OddCurve((curve.series(curve.value + extra),), (must("spike_fast", row - 2, row + 12),))


@family(ODD)
def jump_in_a_sawtooth(random: Random) -> OddCurve:
    """An epoch sawtooth of 10 %, and in the middle of the seventh epoch a jump of 60 % that stays."""
    curve = LossCurve(random, 9000)
    phase = (np.arange(9000) % 900) / 900
    row = int(6 * 900 + random.integers(200, 600))
    value = curve.value * (1 - 0.1 * phase) + (np.arange(9000) >= row) * 0.6 * curve.level[row]
    return OddCurve(
        (curve.series(value),), (must("spike_unrecovered", row - 3, row + 30),), (may(last=3000),)
    )


@family(OTHER)
def nan_in_the_loss(random: Random) -> OddCurve:
    """The loss becomes NaN and stays so."""
    curve = LossCurve(random, 3000)
    row, value = curve.position(), curve.value
    value[row:] = np.nan
    return OddCurve((curve.series(value),), (must("nonfinite", row, row),))


@family(OTHER)
def spike_below_zero(random: Random) -> OddCurve:
    """A spike of 12 to 30 sigmas in a negative log likelihood below zero."""
    n, row = 5000, int(random.uniform(0.4, 0.7) * 5000)
    sigma = random.uniform(0.02, 0.1)
    value = -3 + 2.5 * np.exp(-np.arange(n) / 900) + sigma * gauss(random, n)
    value += bump(n, row, random.uniform(12, 30) * sigma, 2, random.uniform(3, 8))
    return OddCurve((OddSeries("nll", np.arange(n), value),), (must("spike_fast", row - 2, row + 12),))


@family(OTHER)
def jump_of_a_masked_model(random: Random) -> OddCurve:
    """A jump in a loss under another name: mlm_loss, recon_loss, avg_loss, loss_epoch, train.loss."""
    names = (
        "mlm_loss",
        "recon_loss",
        "avg_loss",
        "loss_epoch",
        "train.loss",
        "l1_loss",
        "loss_train",
        "mse_loss",
    )
    curve = LossCurve(random, 4000, light=True)
    row = curve.position(0.4, 0.6)
    extra = bump(4000, row, curve.height(row, (12, 25), (0.2, 0.5)), 1, 1e9)
    name = names[random.integers(len(names))]
    return OddCurve(
        (curve.series(curve.value + extra, name),), (must("spike_unrecovered", row - 2, row + 12),)
    )


@family(OTHER)
def perplexity_jumps(random: Random) -> OddCurve:
    """A perplexity that doubles and stays."""
    curve = LossCurve(random, 4000, light=True)
    row = curve.position(0.4, 0.6)
    value = np.exp(2.5 + 0.3 * curve.value / curve.level[-1]) * np.where(np.arange(4000) >= row, 2.0, 1.0)
    return OddCurve((curve.series(value, "ppl"),), (must("spike_unrecovered", row - 2, row + 12),))


@family(OTHER)
def jump_at_a_restart(random: Random) -> OddCurve:
    """The second attempt begins 10 to 30 % above where the first one ended."""
    curve = LossCurve(random, 4000, light=True)
    row = curve.position(0.4, 0.6)
    extra = (np.arange(4000) >= row) * curve.height(row, (8, 15), (0.1, 0.3))
    attempt = (np.arange(4000) >= row).astype(np.int64)
    series = OddSeries("loss", curve.step, curve.value + extra, attempt=attempt)
    return OddCurve((series,), (must("resume_artifact", row - 1, row + 5),))


@family(OTHER)
def one_dataset_jumps(random: Random) -> OddCurve:
    """One of three datasets' losses spikes, the others do not."""
    n, row = 4000, int(random.uniform(0.4, 0.7) * 4000)
    parts = [level * (1 + 0.02 * gauss(random, n)) for level in (2.0, 3.0, 1.5)]
    parts[1] += bump(n, row, random.uniform(0.8, 1.5), 2, random.uniform(5, 12))
    series = [OddSeries("loss", np.arange(n), np.mean(parts, axis=0))]
    series += [
        OddSeries(f"loss/{name}", np.arange(n), part)
        for name, part in zip(("web", "code", "math"), parts, strict=True)
    ]
    return OddCurve(tuple(series), (must("spike_fast", row - 2, row + 15, "loss/code"),))


@family(OTHER)
def heavy_tail_then_divergence(random: Random) -> OddCurve:
    """Heavy-tailed noise and a divergence to three times the loss."""
    curve = LossCurve(random, 5000, share=0.03)
    row = 2500
    value = curve.level + curve.sigma * student(random, 5000)
    value += ((np.arange(5000) - row) / 800).clip(0, FOREVER) * curve.level[row]
    return OddCurve(
        (curve.series(value),), (must("divergence", row - 50, row + 500),), (may("outlier_batch spike_fast"),)
    )
