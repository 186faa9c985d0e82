"""Healthy losses: schedules, tasks, epochs and legitimate changes that look like events."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, family, may
from odd_curves.ingredients import LossCurve, autoregressive, cosine, gauss, noise_share, smooth, wander

SCHEDULES = "healthy: schedules"
TASKS = "healthy: several tasks"
EPOCHS = "healthy: epochs"
CHANGES = "healthy: legitimate changes"
DROPS = "sudden_drop"


def _restarts(random: Random) -> tuple[LossCurve, np.ndarray, np.ndarray, int]:
    curve = LossCurve(random, int(random.integers(4000, 12000)))
    cycles = int(random.integers(3, 8))
    rate = 3e-4 * cosine(curve.n, cycles, 0.02)
    effect = smooth(rate / 3e-4, 1 - 1 / random.uniform(5, 40)) * random.uniform(0.05, 0.25)
    return curve, curve.value * (1 + effect), rate, cycles


@family(SCHEDULES)
def cosine_restarts_with_rate(random: Random) -> OddCurve:
    """SGDR: the loss rises with every restart of the learning rate, which is logged."""
    curve, value, rate, _ = _restarts(random)
    return OddCurve((curve.series(value), OddSeries("lr", curve.step, rate)))


@family(SCHEDULES)
def cosine_restarts_without_rate(random: Random) -> OddCurve:
    """SGDR without a logged learning rate: the first two restarts may be warnings, later ones repeat them."""
    curve, value, _, cycles = _restarts(random)
    return OddCurve((curve.series(value),), allowed=(may(last=2.5 * curve.n / cycles),))


@family(SCHEDULES)
def cyclic_rate(random: Random) -> OddCurve:
    """A triangular learning rate: the loss oscillates by 1 to 5 %."""
    curve = LossCurve(random, 6000)
    phase = np.abs((np.arange(6000) / random.uniform(300, 900)) % 2 - 1)
    value = curve.value * (1 + random.uniform(0.01, 0.05) * (1 - phase))
    return OddCurve((curve.series(value), OddSeries("learning_rate", curve.step, 1e-4 * (2 - phase))))


@family(SCHEDULES)
def warmup_stable_decay(random: Random) -> OddCurve:
    """WSD: the loss drops by 5 to 15 % while the learning rate decays at the end."""
    curve = LossCurve(random, 8000)
    decay = np.clip((np.arange(8000) - 6400) / 1600, 0, 1)
    value = curve.value * (1 - random.uniform(0.05, 0.15) * decay)
    rate = 3e-4 * np.minimum(1, (curve.step + 1) / 400) * (1 - decay)
    return OddCurve((curve.series(value), OddSeries("lr", curve.step, rate)), allowed=(may(DROPS),))


@family(SCHEDULES)
def linear_decay_to_zero(random: Random) -> OddCurve:
    """A learning rate that falls to zero as planned, in a straight line to the last step."""
    curve = LossCurve(random, 5000)
    return OddCurve((curve.series(), OddSeries("lr", curve.step, 1e-3 * (1 - curve.step / 4999))))


@family(SCHEDULES)
def one_cycle(random: Random) -> OddCurve:
    """One cycle: the learning rate rises for a third of the run, and the loss falls more slowly there."""
    curve = LossCurve(random, 6000)
    phase = np.arange(6000) / 6000
    rate = np.where(phase < 0.3, phase / 0.3, (1 - phase) / 0.7)
    value = curve.value * (1 + 0.03 * rate)
    return OddCurve((curve.series(value), OddSeries("train/lr", curve.step, 1e-3 * rate)))


@family(SCHEDULES)
def rate_milestones(random: Random) -> OddCurve:
    """Milestones: the learning rate is divided by ten three times, and the loss drops each time."""
    curve = LossCurve(random, 6000)
    level = sum((np.arange(6000) > at).astype(float) for at in (2000, 3500, 5000))
    return OddCurve(
        (curve.series(curve.value * 0.9**level), OddSeries("lr", curve.step, 0.1 * 0.1**level)),
        allowed=(may(DROPS),),
    )


@family(SCHEDULES)
def batch_ramp(random: Random) -> OddCurve:
    """The batch doubles three times: the noise shrinks, the level falls a little."""
    curve = LossCurve(random, 6000, share=0.04)
    doublings = np.arange(6000) // 1500
    value = curve.level * 0.98**doublings + curve.sigma * curve.noise * 2 ** (-doublings / 2)
    batch = OddSeries("batch_size", curve.step, 256.0 * 2**doublings)
    return OddCurve((curve.series(value), batch), allowed=(may(DROPS),))


@family(SCHEDULES)
def batch_ramp_down(random: Random) -> OddCurve:
    """The batch is halved twice as logged: the noise grows."""
    curve = LossCurve(random, 6000, share=0.01)
    halvings = np.arange(6000) // 2000
    value = curve.level + curve.sigma * curve.noise * 2 ** (halvings / 2)
    return OddCurve((curve.series(value), OddSeries("batch_size", curve.step, 1024.0 / 2**halvings)))


@family(SCHEDULES)
def rewarmed_rate(random: Random) -> OddCurve:
    """Continued training: the learning rate warms up again, the loss rises by 2 to 6 % and returns."""
    curve = LossCurve(random, 6000)
    at = curve.position()
    since = (np.arange(6000) - at).clip(0)
    warm = np.where(np.arange(6000) < at, 0.1, 0.1 + 0.9 * np.minimum(since / 200, 1) * np.exp(-since / 1500))
    value = curve.value * (1 + random.uniform(0.02, 0.06) * (warm - 0.1))
    return OddCurve((curve.series(value), OddSeries("lr", curve.step, 1e-3 * warm)), allowed=(may(first=at),))


def _difficulty(random: Random) -> tuple[LossCurve, np.ndarray, np.ndarray]:
    curve = LossCurve(random, 8000)
    steps = np.sort(random.choice(np.arange(1500, 7500, 500), 3, replace=False))
    stage = (np.arange(8000)[:, None] >= steps).sum(axis=1)
    return curve, curve.value * (1 + random.uniform(0.04, 0.15)) ** stage, stage


@family(SCHEDULES)
def planned_difficulty_logged(random: Random) -> OddCurve:
    """A curriculum with its stage logged: the loss steps up by 4 to 15 % three times."""
    curve, value, stage = _difficulty(random)
    name = ("difficulty", "curriculum/stage", "seq_len")[random.integers(3)]
    return OddCurve((curve.series(value), OddSeries(name, curve.step, 512.0 * 2**stage)))


@family(SCHEDULES)
def planned_difficulty_unlogged(random: Random) -> OddCurve:
    """The same with nothing logged: warnings cannot be avoided, critical alarms must be."""
    curve, value, _ = _difficulty(random)
    return OddCurve((curve.series(value),), allowed=(may(),))


@family(TASKS)
def rare_hard_task(random: Random) -> OddCurve:
    """One row in 30 to 100 is a second task with twice the loss."""
    curve = LossCurve(random, 6000)
    rare = random.random(6000) < 1 / random.uniform(30, 100)
    return OddCurve((curve.series(curve.value * np.where(rare, 2.0, 1.0)),), allowed=(may(last=400),))


@family(TASKS)
def tasks_in_blocks(random: Random) -> OddCurve:
    """Two tasks in alternating blocks of 40 to 250 rows; the first two blocks of the second may be told."""
    curve = LossCurve(random, 8000)
    block = int(random.integers(40, 250))
    second = (np.arange(8000) // block) % 2
    value = curve.value * (1 + random.uniform(0.1, 1.0) * second)
    return OddCurve((curve.series(value),), allowed=(may(last=4 * block),))


@family(TASKS)
def tasks_in_random_blocks(random: Random) -> OddCurve:
    """Two tasks in blocks of random lengths."""
    curve = LossCurve(random, 8000)
    edges = np.cumsum(random.integers(30, 200, 400))
    second = np.searchsorted(edges, np.arange(8000), side="right") % 2
    value = curve.value * (1 + random.uniform(0.1, 0.6) * second)
    return OddCurve((curve.series(value),), allowed=(may(last=800),))


@family(TASKS)
def tasks_row_by_row(random: Random) -> OddCurve:
    """Two tasks, drawn row by row: the distribution has two peaks."""
    curve = LossCurve(random, 6000)
    return OddCurve((curve.series(curve.value * np.where(random.random(6000) < 0.4, 1.6, 1.0)),))


@family(TASKS)
def every_tenth_row_hard(random: Random) -> OddCurve:
    """Each tenth row is a batch of another source, 30 % higher."""
    curve = LossCurve(random, 6000)
    value = curve.value * np.where(np.arange(6000) % 10 == 9, 1.3, 1.0)
    return OddCurve((curve.series(value),), allowed=(may(last=300),))


@family(TASKS)
def small_last_batches(random: Random) -> OddCurve:
    """The last batch of each epoch is small, so its loss is four times as noisy."""
    curve = LossCurve(random, 6000, light=True)
    last = np.arange(6000) % int(random.integers(150, 400)) == 0
    value = curve.level + curve.sigma * curve.noise * np.where(last, 4.0, 1.0)
    return OddCurve((curve.series(value),))


@family(EPOCHS)
def overfitting_steps(random: Random) -> OddCurve:
    """The loss steps down at each epoch, as the model memorises."""
    curve = LossCurve(random, 8000)
    epoch = np.arange(8000) // 1600
    value = curve.value * (1 - random.uniform(0.03, 0.12)) ** epoch
    return OddCurve(
        (curve.series(value), OddSeries("epoch", curve.step, epoch.astype(float))), allowed=(may(DROPS),)
    )


def _sawtooth(random: Random) -> tuple[LossCurve, np.ndarray, int]:
    curve = LossCurve(random, 9000)
    length = int(random.integers(300, 1500))
    phase = (np.arange(9000) % length) / length
    return curve, curve.value * (1 - random.uniform(0.05, 0.2) * phase), length


@family(EPOCHS)
def sawtooth_with_epoch(random: Random) -> OddCurve:
    """The loss falls within each epoch and jumps back at its boundary; the epoch is logged."""
    curve, value, length = _sawtooth(random)
    epoch = OddSeries("epoch", curve.step, np.floor(curve.step / length))
    return OddCurve((curve.series(value), epoch), allowed=(may(last=2.2 * length),))


@family(EPOCHS)
def sawtooth_without_epoch(random: Random) -> OddCurve:
    """The same without a logged epoch: the first three boundaries may be warnings."""
    curve, value, length = _sawtooth(random)
    return OddCurve((curve.series(value),), allowed=(may(last=3.2 * length),))


@family(EPOCHS)
def running_mean_of_epoch(random: Random) -> OddCurve:
    """The mean since the epoch began: noisy at its start, smooth at its end."""
    length = int(random.integers(300, 1000))
    curve = LossCurve(random, 9 * length)
    rows = curve.value.reshape(9, length)
    value = (np.cumsum(rows, axis=1) / np.arange(1, length + 1)).ravel()
    return OddCurve((curve.series(value),), allowed=(may(last=2.2 * length),))


@family(EPOCHS)
def data_in_order(random: Random) -> OddCurve:
    """Data sorted by difficulty within each epoch: the loss rises by 15 % and falls back."""
    curve = LossCurve(random, 9000)
    length = int(random.integers(500, 1500))
    value = curve.value * (1 + 0.15 * (np.arange(9000) % length) / length)
    return OddCurve((curve.series(value),), allowed=(may(last=3.2 * length),))


@family(EPOCHS)
def one_point_per_epoch(random: Random) -> OddCurve:
    """A point per epoch, 30 to 120 epochs."""
    curve = LossCurve(random, int(random.integers(30, 120)))
    return OddCurve((curve.series(metric="train_loss"),))


@family(CHANGES)
def grokking(random: Random) -> OddCurve:
    """A long plateau, then a fall to a tenth: information at most."""
    curve = LossCurve(random, 10000)
    fall = 1 / (1 + np.exp(-(np.arange(10000) - curve.position()) / random.uniform(20, 200)))
    return OddCurve((curve.series(curve.value * (1 - 0.9 * fall)),), allowed=(may(DROPS),))


@family(CHANGES)
def plateau_then_fall(random: Random) -> OddCurve:
    """The plateau before induction heads form, at the beginning of the run."""
    curve = LossCurve(random, 5000)
    fall = 1 / (1 + np.exp(-(np.arange(5000) - 600) / 40))
    return OddCurve((curve.series(curve.value * (1.5 - 0.5 * fall)),), allowed=(may(DROPS),))


@family(CHANGES)
def noise_grows(random: Random) -> OddCurve:
    """The noise grows fourfold over the run while the level stays."""
    curve = LossCurve(random, 8000, light=True)
    return OddCurve((curve.series(curve.level + curve.sigma * curve.noise * np.linspace(1, 4, 8000)),))


@family(CHANGES)
def bursts_of_noise(random: Random) -> OddCurve:
    """Bursts of 50 rows with 2.5 times the noise."""
    curve = LossCurve(random, 8000, light=True)
    scale = np.ones(8000)
    for first in random.integers(1000, 7900, 4).tolist():
        scale[first : first + 50] = 2.5
    return OddCurve((curve.series(curve.level + curve.sigma * curve.noise * scale),))


@family(CHANGES)
def interpolation(random: Random) -> OddCurve:
    """A loss that falls to 1e-5 of its start, its noise a share of it."""
    n = 6000
    value = 3 * np.exp(-np.arange(n) / random.uniform(400, 900) + noise_share(random) * gauss(random, n))
    return OddCurve((OddSeries("loss", np.arange(n), value),), allowed=(may(DROPS),))


@family(CHANGES)
def lognormal_noise(random: Random) -> OddCurve:
    """Noise of a lognormal 0.5: a heavy tail upwards."""
    curve = LossCurve(random, 6000)
    value = curve.level * (1 + random.uniform(0.02, 0.1) * (np.exp(0.5 * gauss(random, 6000)) - 1.13))
    return OddCurve((curve.series(value),))


@family(CHANGES)
def random_walk(random: Random) -> OddCurve:
    """A loss that walks at random around its level, by 2 to 8 %."""
    curve = LossCurve(random, 8000)
    walk = np.cumsum(gauss(random, 8000)) / 8000**0.5
    return OddCurve((curve.series(curve.value * (1 + random.uniform(0.02, 0.08) * walk)),))


@family(CHANGES)
def slow_wander(random: Random) -> OddCurve:
    """A level that wanders by 3 % with a memory of 200 to 1,000 rows."""
    curve = LossCurve(random, 10000)
    value = curve.value * (1 + wander(random, 10000, random.uniform(200, 1000), 0.03))
    return OddCurve((curve.series(value),))


@family(CHANGES)
def strongly_correlated(random: Random) -> OddCurve:
    """Noise of which neighbours are correlated by .9."""
    curve = LossCurve(random, 6000)
    return OddCurve((curve.series(curve.level + curve.sigma * autoregressive(random, 6000, 0.9)),))
