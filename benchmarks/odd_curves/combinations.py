"""Two ordinary things at once, and noise of other kinds: healthy ones, and the same with planted events."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, Values, family, may, must
from odd_curves.healthy_speed import step_seconds, timing
from odd_curves.ingredients import LossCurve, autoregressive, bump, cosine, gauss, smooth, student, wander

TOGETHER = "healthy: two things at once"
NOISE = "healthy: noise of other kinds"
PLANTED = "planted: among two things at once"

SLOW = "throughput_regression"
UP = "spike_fast spike_slow spike_unrecovered divergence"
LASTS = "spike_unrecovered divergence"
COLLAPSE = "metric_collapse"


def heavy_correlated(random: Random, n: int, correlation: float = 0.8) -> Values:
    """AR(1) noise of variance 1, driven by Student's t with three degrees of freedom."""
    kernel = (1 - correlation**2) ** 0.5 * correlation ** np.arange(60)
    return np.convolve(student(random, n + 59), kernel, mode="valid")


def _staged(random: Random, n: int, share: float) -> tuple[LossCurve, Values, Values]:
    """A loss with three stages of difficulty, each `share` higher, and the stage at each row."""
    curve = LossCurve(random, n, light=True)
    begins = np.sort(random.choice(np.arange(n // 5, n - 500, 600), 3, replace=False))
    stage = (np.arange(n)[:, None] >= begins).sum(axis=1)
    return curve, curve.value * (1 + share) ** stage, stage.astype(float)


@family(TOGETHER)
def stages_and_restarts(random: Random) -> OddCurve:
    """Stages of difficulty and warm restarts of the learning rate, both logged."""
    curve, value, stage = _staged(random, 9000, random.uniform(0.04, 0.12))
    rate = 3e-4 * cosine(9000, 5, 0.05)
    value = value * (1 + random.uniform(0.03, 0.12) * smooth(rate / 3e-4, 0.95))
    series = (OddSeries("lr", curve.step, rate), OddSeries("curriculum/stage", curve.step, stage))
    return OddCurve((curve.series(value), *series))


@family(TOGETHER)
def lengths_in_stages(random: Random) -> OddCurve:
    """The logged sequence length doubles three times: steps take longer, and the loss moves by up to 6 %."""
    n = 8000
    doublings = np.arange(n) // 2000
    seconds = step_seconds(random, n) * random.uniform(1.9, 2.3) ** doublings
    loss, *speed = timing(random, seconds, tokens=4e6 * 2.0**doublings)
    moved = OddSeries(
        "loss", loss.step, loss.value * (1 + random.uniform(-0.04, 0.06)) ** doublings, loss.time
    )
    return OddCurve((moved, *speed, OddSeries("seq_len", loss.step, 512.0 * 2**doublings)))


@family(TOGETHER)
def buckets_and_evaluations(random: Random) -> OddCurve:
    """Sequence-length buckets row by row, and every 1,000 steps an evaluation that slows 20 to 40 rows."""
    n = 8000
    factors = np.array([1.0, 1.2, 1.5])[random.integers(0, 3, n)]
    seconds = step_seconds(random, n) * factors
    seconds[np.arange(n) % 1000 >= 1000 - int(random.integers(20, 40))] *= random.uniform(1.5, 3)
    return OddCurve(timing(random, seconds), allowed=(may(last=2100),))


@family(TOGETHER)
def drift_and_checkpoints(random: Random) -> OddCurve:
    """Speed that drifts by 2 % with a memory of thousands of rows, and slow rows at each checkpoint."""
    n = 12000
    seconds = step_seconds(random, n) * (1 + wander(random, n, 3000, 0.01))
    seconds[np.arange(n) % 400 >= 400 - int(random.integers(2, 8))] *= random.uniform(2, 6)
    return OddCurve(timing(random, seconds))


def _loader(random: Random, n: int, epoch: int) -> Values:
    """Step times that rise within each epoch, as a data loader's buffers run empty."""
    within = (np.arange(n) % epoch) / epoch
    return step_seconds(random, n) * (1 + random.uniform(0.08, 0.2) * within)


@family(TOGETHER)
def loader_slows_in_each_epoch(random: Random) -> OddCurve:
    """Step times rise by 8 to 20 % within each epoch of 600 to 1,500 rows, and the loss has its sawtooth."""
    n, epoch = 12000, int(random.integers(600, 1500))
    loss, *speed = timing(random, _loader(random, n, epoch))
    value = loss.value * (1 - 0.05 * (np.arange(n) % epoch) / epoch)
    return OddCurve(
        (OddSeries("loss", loss.step, value, loss.time), *speed), allowed=(may(last=3.2 * epoch),)
    )


@family(TOGETHER)
def warm_up_of_the_machine(random: Random) -> OddCurve:
    """Step times fall by 30 % over the first 800 rows, as kernels are tuned and caches fill."""
    seconds = step_seconds(random, 6000) * (1 + 0.4 * np.exp(-np.arange(6000) / 300))
    return OddCurve(timing(random, seconds))


@family(TOGETHER)
def warm_up_of_each_launch(random: Random) -> OddCurve:
    """Five launches, each of which is 15 to 40 % slower for its first 60 to 150 rows."""
    n, length = 7500, int(random.integers(60, 150))
    slow = np.arange(n) % 1500 < length
    seconds = step_seconds(random, n) * np.where(slow, random.uniform(1.15, 1.4), 1.0)
    series = tuple(
        OddSeries(each.metric, each.step, each.value, each.time, attempt=np.arange(n) // 1500)
        for each in timing(random, seconds)
    )
    return OddCurve(series, allowed=(may(last=1500 + length),))


@family(TOGETHER)
def fewer_nodes_with_batch(random: Random) -> OddCurve:
    """An elastic job continues on fewer nodes: the logged batch shrinks, a step takes as long as before."""
    n, row = 6000, int(random.uniform(0.4, 0.7) * 6000)
    share = np.where(np.arange(n) >= row, (0.5, 0.75)[random.integers(2)], 1.0)
    seconds = step_seconds(random, n)
    batch = OddSeries("batch_size", np.arange(n), 1024 * share)
    return OddCurve((*timing(random, seconds, tokens=4e6 * share), batch), allowed=(may("sudden_drop"),))


@family(TOGETHER)
def accumulation_changes(random: Random) -> OddCurve:
    """Gradients are accumulated over four times as many batches, as logged: less noise, longer steps."""
    n, row = 6000, int(random.uniform(0.4, 0.7) * 6000)
    more = np.where(np.arange(n) >= row, 4.0, 1.0)
    curve = LossCurve(random, n, share=0.03, light=True)
    value = curve.level * np.where(more > 1, 0.98, 1.0) + curve.sigma * curve.noise / np.sqrt(more)
    seconds = step_seconds(random, n) * more
    _, *speed = timing(random, seconds, tokens=4e6 * more)
    batch = OddSeries("global_batch_size", curve.step, 256 * more)
    return OddCurve((curve.series(value), *speed, batch), allowed=(may("sudden_drop"),))


@family(TOGETHER)
def layers_unfreeze(random: Random) -> OddCurve:
    """Layers are unfrozen: a rise of 2 to 5 % that decays, a gradient norm three times as high for good."""
    curve = LossCurve(random, 6000, light=True)
    row = curve.position()
    extra = bump(6000, row, random.uniform(0.02, 0.05) * curve.level[row], 1, random.uniform(20, 80))
    value = (curve.value + extra) * np.where(np.arange(6000) >= row, 0.97, 1.0)
    norm = 0.5 * np.exp(0.2 * gauss(random, 6000)) * np.where(np.arange(6000) >= row, 3.0, 1.0)
    return OddCurve(
        (curve.series(value), OddSeries("grad_norm", curve.step, norm)),
        allowed=(may(first=row - 5, last=row + 200),),
    )


@family(TOGETHER)
def distillation_begins(random: Random) -> OddCurve:
    """The weight of a distillation term goes from 0 to 0.5, as logged: the loss is 20 to 60 % higher."""
    curve = LossCurve(random, 6000)
    row = curve.position()
    begun = np.arange(6000) >= row
    name = ("distill_weight", "loss_weight/distill", "kd_alpha")[random.integers(3)]
    value = curve.value * np.where(begun, random.uniform(1.2, 1.6), 1.0)
    series = (curve.series(value), OddSeries(name, curve.step, 0.5 * begun))
    return OddCurve(series, allowed=(may(first=row - 5, last=row + 50),))


@family(TOGETHER)
def adaptive_penalty(random: Random) -> OddCurve:
    """A KL that an adaptive coefficient holds around its target: it cycles by a factor of two."""
    n = 4000
    cycle = 0.35 * np.sin(2 * np.pi * np.arange(n) / random.uniform(80, 300) + wander(random, n, 300, 0.8))
    divergence = 6 * (1 - np.exp(-np.arange(n) / 100)) * np.exp(cycle + 0.15 * gauss(random, n))
    reward = 2 * (1 - np.exp(-np.arange(n) / 900)) + 0.3 * gauss(random, n)
    step = np.arange(n)
    return OddCurve(
        (
            OddSeries("objective/kl", step, divergence),
            OddSeries("objective/kl_coef", step, 0.1 * np.exp(np.cumsum(0.002 * np.sign(divergence - 6)))),
            OddSeries("reward", step, reward),
        )
    )


def _successes(random: Random, rate: Values, episodes: int) -> Values:
    return random.binomial(episodes, np.clip(rate, 0, 1)) / episodes


@family(TOGETHER)
def reward_in_plateaus(random: Random) -> OddCurve:
    """A rate of success among 16 episodes that stays at 0, then rises in three steps with long plateaus."""
    n = 4000
    rate = np.array([0.0, 0.2, 0.55, 0.9])[
        np.searchsorted(np.sort(random.integers(500, 3500, 3)), np.arange(n))
    ]
    value = _successes(random, smooth(rate, 0.98), 16)
    return OddCurve((OddSeries("reward", np.arange(n), value),))


@family(TOGETHER)
def accuracy_of_one(random: Random) -> OddCurve:
    """The accuracy of batches of 32 that saturates at exactly 1, with a loss that falls to 0.001."""
    n = 5000
    wrong = 0.6 * np.exp(-np.arange(n) / random.uniform(200, 600)) + random.uniform(0, 0.004)
    loss = (3 * wrong + 0.001) * random.gamma(4, 0.25, n)
    step = np.arange(n)
    return OddCurve(
        (
            OddSeries("train/loss", step, loss),
            OddSeries("train/accuracy", step, 1 - _successes(random, wrong, 32)),
        ),
        allowed=(may("sudden_drop"),),
    )


@family(TOGETHER)
def lazy_regularisation(random: Random) -> OddCurve:
    """A discriminator whose loss has a penalty every 16th row, 1.5 to 3 times as high, and wanders."""
    n = 8000
    value = 0.7 * np.exp(wander(random, n, 400, 0.15) + 0.1 * gauss(random, n))
    value[::16] *= random.uniform(1.5, 3)
    return OddCurve((OddSeries("d_loss", np.arange(n), value),), allowed=(may(last=300),))


def _reset_average(value: Values, every: int, weight: float) -> Values:
    parts = [smooth(value[first : first + every], weight) for first in range(0, len(value), every)]
    return np.concatenate(parts)


@family(TOGETHER)
def average_that_is_reset(random: Random) -> OddCurve:
    """An exponential moving average that begins anew every 500 to 1,500 rows, from its first value."""
    curve = LossCurve(random, 9000)
    return OddCurve(
        (
            curve.series(
                _reset_average(curve.value, int(random.integers(500, 1500)), random.uniform(0.95, 0.99))
            ),
        )
    )


@family(NOISE)
def hinge_at_zero(random: Random) -> OddCurve:
    """A triplet loss, which is exactly zero for more and more batches."""
    n = 6000
    value = np.maximum(0.2 + 0.8 * np.exp(-np.arange(n) / 1200) + 0.25 * gauss(random, n) - 0.25, 0)
    return OddCurve((OddSeries("train/loss", np.arange(n), value),), allowed=(may("sudden_drop"),))


@family(NOISE)
def clipped_from_above(random: Random) -> OddCurve:
    """A loss that is clipped at 1.2 to 2 times its final level: constant at first, and now and then later."""
    curve = LossCurve(random, 6000)
    limit = random.uniform(1.2, 2) * curve.level[-1]
    return OddCurve((curve.series(np.minimum(curve.value, limit)),), allowed=(may("sudden_drop"),))


@family(NOISE)
def heavy_and_correlated(random: Random) -> OddCurve:
    """Heavy-tailed noise of which neighbours are correlated by .8."""
    curve = LossCurve(random, 8000)
    value = curve.level + curve.sigma * heavy_correlated(random, 8000)
    return OddCurve((curve.series(value),), allowed=(may("spike_fast outlier_batch"),))


@family(NOISE)
def noise_in_blocks(random: Random) -> OddCurve:
    """Every other block of 300 to 900 rows is three times as noisy: two sources of data in turn."""
    curve = LossCurve(random, 9000, light=True)
    noisy = (np.arange(9000) // int(random.integers(300, 900))) % 2
    value = curve.level + curve.sigma * curve.noise * (1 + 2 * noisy)
    return OddCurve((curve.series(value),), allowed=(may(last=2000),))


@family(NOISE)
def half_precision_and_correlated(random: Random) -> OddCurve:
    """A loss in half precision, on an offset, with noise correlated by .95."""
    curve = LossCurve(random, 8000, share=0.01)
    value = curve.level + curve.sigma * autoregressive(random, 8000, 0.95)
    return OddCurve((curve.series((value + 4 * curve.level[-1]).astype(np.float16).astype(np.float64)),))


@family(NOISE)
def speed_by_the_hour(random: Random) -> OddCurve:
    """A shared cloud: for half of each 2,000 to 5,000 rows steps are four times as noisy and 1 % slower."""
    n = 16000
    busy = (np.arange(n) // int(random.integers(1000, 2500))) % 2
    seconds = 2 * np.exp(0.01 * busy + 0.015 * (1 + 3 * busy) * autoregressive(random, n, 0.4))
    return OddCurve(timing(random, seconds), allowed=(may(last=5000),))


@family(NOISE)
def rounded_step_times(random: Random) -> OddCurve:
    """Step times in tenths of a second, of 1 to 3 seconds, while the true ones wander by half a tenth."""
    n = 8000
    seconds = random.uniform(1, 3) + 0.05 * autoregressive(random, n, 0.7) + wander(random, n, 800, 0.03)
    return OddCurve((OddSeries("step_time", np.arange(n), np.round(seconds, 1)),))


@family(PLANTED)
def spike_among_stages(random: Random) -> OddCurve:
    """Logged stages of difficulty, and a fast spike at least 200 rows from each."""
    curve, value, stage = _staged(random, 9000, random.uniform(0.04, 0.12))
    begins = np.flatnonzero(np.diff(stage)) + 1
    far = np.abs(np.arange(3000, 8500)[:, None] - begins).min(axis=1) > 200
    row = int(random.choice(np.arange(3000, 8500)[far]))
    height = curve.height(row, (12, 25), (0.2, 0.5))
    value = value + bump(9000, row, height, 2, random.uniform(2, 8))
    series = (curve.series(value), OddSeries("curriculum/stage", curve.step, stage))
    return OddCurve(series, (must("spike_fast", row - 2, row + 12),))


@family(PLANTED)
def jump_in_heavy_and_correlated_noise(random: Random) -> OddCurve:
    """Heavy-tailed noise correlated by .8, and a jump of 12 to 25 standard deviations that stays."""
    curve = LossCurve(random, 8000)
    row = curve.position(0.4, 0.6)
    value = curve.level + curve.sigma * heavy_correlated(random, 8000)
    value += bump(8000, row, curve.height(row, (12, 25), (0.15, 0.4)), 2, 1e9)
    return OddCurve(
        (curve.series(value),), (must(LASTS, row - 3, row + 30),), (may("spike_fast outlier_batch"),)
    )


@family(PLANTED)
def divergence_in_skewed_noise(random: Random) -> OddCurve:
    """Multiplicative noise (Gamma 8), and a loss that doubles within 800 to 1,500 rows, ever faster."""
    n, row = 6000, int(random.uniform(0.4, 0.5) * 6000)
    level = 1 + np.exp(-np.arange(n) / 500)
    growth = np.exp((np.arange(n) - row).clip(0, 2000) * np.log(2) / random.uniform(800, 1500))
    value = level * growth * random.gamma(8, 1 / 8, n)
    return OddCurve((OddSeries("loss", np.arange(n), value),), (must("divergence", row - 100, row + 1000),))


@family(PLANTED)
def jump_to_the_clip(random: Random) -> OddCurve:
    """A loss that is clipped at three times its level jumps there and stays."""
    curve = LossCurve(random, 5000)
    row = curve.position(0.4, 0.6)
    limit = 3 * curve.level[row]
    value = np.minimum(curve.value + 4 * limit * (np.arange(5000) >= row), limit)
    return OddCurve(
        (curve.series(value),),
        (must(LASTS + " hidden_nonfinite", row - 2, row + 60),),
        (may(first=row, critical=True),),
    )


@family(PLANTED)
def jump_after_a_reset_average(random: Random) -> OddCurve:
    """A moving average that begins anew each epoch, and within one epoch a jump of 30 to 80 % that stays."""
    curve = LossCurve(random, 9000)
    every, row = 1000, int(5000 + random.integers(300, 700))
    value = curve.value + (np.arange(9000) >= row) * random.uniform(0.3, 0.8) * curve.level[row]
    return OddCurve((curve.series(_reset_average(value, every, 0.95)),), (must(LASTS, row - 5, row + 60),))


@family(PLANTED)
def success_collapses(random: Random) -> OddCurve:
    """A rate of success among 16 episodes falls from .85 to .2 within 50 rows and stays."""
    n, row = 4000, int(random.uniform(0.5, 0.7) * 4000)
    rate = 0.85 * (1 - np.exp(-np.arange(n) / 400)) - 0.65 * ((np.arange(n) - row) / 50).clip(0, 1)
    return OddCurve(
        (OddSeries("reward", np.arange(n), _successes(random, rate, 16)),),
        (must(COLLAPSE, row - 20, row + 150, "reward"),),
    )


@family(PLANTED)
def penalty_runs_away(random: Random) -> OddCurve:
    """A KL that cycles around its target grows thirtyfold within 300 rows and stays."""
    n, row = 4000, int(random.uniform(0.5, 0.7) * 4000)
    cycle = 0.35 * np.sin(2 * np.pi * np.arange(n) / random.uniform(80, 300))
    growth = np.log(30) * ((np.arange(n) - row) / 300).clip(0, 1)
    value = 6 * (1 - np.exp(-np.arange(n) / 100)) * np.exp(cycle + growth + 0.15 * gauss(random, n))
    return OddCurve(
        (OddSeries("objective/kl", np.arange(n), value),), (must(UP, row - 20, row + 300, "objective/kl"),)
    )


@family(PLANTED)
def slower_in_a_daily_wave(random: Random) -> OddCurve:
    """A sine of 3 % with a period of 3,000 to 5,000 rows; from one row on, steps take 12 to 25 % longer."""
    n, row = 20000, int(random.uniform(0.5, 0.7) * 20000)
    wave = 1 + 0.03 * np.sin(2 * np.pi * np.arange(n) / random.uniform(3000, 5000))
    seconds = step_seconds(random, n) * wave * np.where(np.arange(n) >= row, random.uniform(1.12, 1.25), 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 50, row + 300),), (may(last=8000),))


@family(PLANTED)
def slower_on_fewer_nodes(random: Random) -> OddCurve:
    """The logged batch shrinks with the nodes; 1,500 rows later steps take 15 to 30 % longer."""
    n, row = 7000, int(random.uniform(0.3, 0.5) * 7000)
    share = np.where(np.arange(n) >= row, 0.75, 1.0)
    slow = row + 1500
    seconds = step_seconds(random, n) * np.where(np.arange(n) >= slow, random.uniform(1.15, 1.3), 1.0)
    batch = OddSeries("batch_size", np.arange(n), 1024 * share)
    series = (*timing(random, seconds, tokens=4e6 * share), batch)
    return OddCurve(series, (must(SLOW, slow - 30, slow + 200),), (may("sudden_drop"),))


@family(PLANTED)
def slower_above_a_loader(random: Random) -> OddCurve:
    """Step times rise by 8 to 20 % within each epoch, and from one row on take 40 % longer."""
    n, epoch = 12000, int(random.integers(600, 1500))
    row = int(random.uniform(0.5, 0.7) * n)
    seconds = _loader(random, n, epoch) * np.where(np.arange(n) >= row, 1.4, 1.0)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 100, row + 300),), (may(last=3.2 * epoch),))


@family(PLANTED)
def slower_in_a_sparse_log(random: Random) -> OddCurve:
    """A row of speed every 50 steps, 300 rows, slow rows at checkpoints; from one on, 15 to 30 % slower."""
    n, row = 300, int(random.uniform(0.5, 0.7) * 300)
    seconds = step_seconds(random, n)
    seconds[19::20] *= 1.5
    seconds *= np.where(np.arange(n) >= row, random.uniform(1.15, 1.3), 1.0)
    return OddCurve(timing(random, seconds, every=50), (must(SLOW, 50 * row - 400, 50 * row + 1200),))


@family(PLANTED)
def slowly_slower_with_checkpoints(random: Random) -> OddCurve:
    """Slow rows at checkpoints, and steps that become 15 to 30 % longer over 2,000 rows."""
    n, row = 9000, int(random.uniform(0.3, 0.5) * 9000)
    seconds = step_seconds(random, n)
    seconds[np.arange(n) % 400 >= 396] *= 3
    seconds *= 1 + random.uniform(0.15, 0.3) * ((np.arange(n) - row) / 2000).clip(0, 1)
    return OddCurve(timing(random, seconds), (must(SLOW, row - 300, row + 1200),))
