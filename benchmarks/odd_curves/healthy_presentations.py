"""Healthy curves that are logged, rounded or counted in unusual ways, and losses of other trades."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddCurve, OddSeries, Random, family, may
from odd_curves.ingredients import LossCurve, gauss, noise, noise_share, smooth, student, wander

LOGGING = "healthy: habits of logging"
TRADES = "healthy: losses of other trades"


@family(LOGGING)
def smoothed(random: Random) -> OddCurve:
    """The loss as an exponential moving average with weight .9 to .99."""
    curve = LossCurve(random, 6000)
    return OddCurve((curve.series(smooth(curve.value, random.uniform(0.9, 0.99))),))


@family(LOGGING)
def window_mean(random: Random) -> OddCurve:
    """The mean of the last 100 rows, at every row."""
    curve = LossCurve(random, 6000)
    value = np.convolve(curve.value, np.full(100, 0.01), mode="valid")
    return OddCurve((OddSeries("loss", curve.step[99:], value),))


@family(LOGGING)
def two_digits(random: Random) -> OddCurve:
    """A loss rounded to two digits after the point."""
    curve = LossCurve(random, 6000)
    return OddCurve((curve.series(np.round(curve.value, 2)),))


@family(LOGGING)
def coarse_rounding(random: Random) -> OddCurve:
    """A loss of which the rounding is larger than the noise, so that rows repeat the same number."""
    curve = LossCurve(random, 3000, share=0.002)
    return OddCurve((curve.series(np.round(curve.value / curve.level[-1], 2) * curve.level[-1]),))


@family(LOGGING)
def bfloat16(random: Random) -> OddCurve:
    """A loss in bfloat16: eight bits."""
    curve = LossCurve(random, 6000)
    scale = 2.0 ** np.floor(np.log2(np.abs(curve.value)))
    return OddCurve((curve.series(np.round(curve.value / scale * 128) / 128 * scale),))


@family(LOGGING)
def one_row_in_a_thousand(random: Random) -> OddCurve:
    """One row per thousand steps, 60 to 300 rows."""
    return OddCurve((LossCurve(random, int(random.integers(60, 300)), every=1000).series(),))


@family(LOGGING)
def fifty_rows(random: Random) -> OddCurve:
    """Fifty rows."""
    return OddCurve((LossCurve(random, 50).series(),))


@family(LOGGING)
def two_hundred_rows(random: Random) -> OddCurve:
    """Two hundred rows of every 100th step."""
    return OddCurve((LossCurve(random, 200, every=100).series(),))


@family(LOGGING)
def million_rows(random: Random) -> OddCurve:
    """A million rows."""
    return OddCurve((LossCurve(random, 1_000_000).series(),))


@family(LOGGING)
def steps_are_tokens(random: Random) -> OddCurve:
    """The step counts tokens: millions per row."""
    return OddCurve((LossCurve(random, 3000, every=4_194_304).series(),))


@family(LOGGING)
def irregular_steps(random: Random) -> OddCurve:
    """Rows 5 to 15 steps apart."""
    curve = LossCurve(random, 5000)
    return OddCurve((OddSeries("loss", np.cumsum(random.integers(5, 16, 5000)), curve.value),))


@family(LOGGING)
def interval_grows(random: Random) -> OddCurve:
    """Every step first, then every 10th or 500th."""
    every = (10, 500)[random.integers(2)]
    curve = LossCurve(random, 3000)
    step = np.cumsum(np.where(np.arange(3000) < 1500, 1, every))
    return OddCurve((OddSeries("loss", step, curve.value),))


@family(LOGGING)
def many_attempts(random: Random) -> OddCurve:
    """Thirty attempts of 200 rows, each resumed without a fault."""
    curve = LossCurve(random, 6000)
    return OddCurve((OddSeries("loss", curve.step, curve.value, attempt=np.arange(6000) // 200),))


@family(LOGGING)
def rollbacks(random: Random) -> OddCurve:
    """Five attempts, each 100 steps before the end of the one before."""
    curve = LossCurve(random, 5000)
    attempt = np.arange(5000) // 1000
    noise_again = curve.level[np.maximum(np.arange(5000) - 100 * attempt, 0)] + curve.sigma * noise(
        random, 5000
    )
    return OddCurve((OddSeries("loss", curve.step - 100 * attempt, noise_again, attempt=attempt),))


@family(LOGGING)
def large_offset(random: Random) -> OddCurve:
    """A loss with 10 or 1,000 added."""
    curve = LossCurve(random, 5000)
    return OddCurve((curve.series(curve.value + (10.0, 1000.0)[random.integers(2)]),))


@family(TRADES)
def adversarial_pair(random: Random) -> OddCurve:
    """Generator and discriminator losses, which wander against each other."""
    n = 8000
    balance = wander(random, n, random.uniform(100, 600), 0.3)
    names = (("g_loss", "d_loss"), ("loss_G", "loss_D"), ("train/gen_loss", "train/disc_loss"))[
        random.integers(3)
    ]
    values = (
        1.2 * np.exp(balance + 0.15 * gauss(random, n)),
        0.6 * np.exp(-balance + 0.15 * gauss(random, n)),
    )
    return OddCurve(
        tuple(OddSeries(name, np.arange(n), value) for name, value in zip(names, values, strict=True))
    )


def _policy(random: Random, n: int) -> tuple[OddSeries, ...]:
    step = 2048 * np.arange(n)
    value_loss = 0.5 * np.exp(wander(random, n, 80, 0.6) + 0.3 * student(random, n))
    reward = 100 * (1 - np.exp(-np.arange(n) / (0.3 * n))) + wander(random, n, 60, 8) + 5 * gauss(random, n)
    return (
        OddSeries("actor/pg_loss", step, 0.02 * student(random, n) - 0.01),
        OddSeries("critic/value_loss", step, value_loss),
        OddSeries("reward", step, reward),
        OddSeries("kl", step, 0.02 * np.exp(0.3 * gauss(random, n))),
    )


@family(TRADES)
def policy_gradient(random: Random) -> OddCurve:
    """PPO: policy loss around zero, value loss that wanders, a rising reward, a small KL."""
    return OddCurve(_policy(random, 2500))


@family(TRADES)
def policy_loss_named_loss(random: Random) -> OddCurve:
    """A policy loss that is logged as policy_loss: of both signs, heavy-tailed."""
    n = 4000
    value = wander(random, n, 200, 0.01) + 0.03 * student(random, n)
    return OddCurve((OddSeries("train/policy_loss", np.arange(n), value),))


@family(TRADES)
def value_loss_alone(random: Random) -> OddCurve:
    """A value loss over three orders of magnitude, which rises as rewards do."""
    n = 4000
    value = np.exp(3 * np.arange(n) / n + wander(random, n, 100, 0.5) + 0.3 * gauss(random, n))
    return OddCurve((OddSeries("value_loss", np.arange(n), value),))


@family(TRADES)
def contrastive(random: Random) -> OddCurve:
    """A contrastive loss whose level steps up by log 2 as the logged batch doubles."""
    curve = LossCurve(random, 5000)
    big = np.arange(5000) > 2500
    value = curve.value / curve.level[0] * 4 + np.log(2) * big
    return OddCurve(
        (curve.series(value, "contrastive_loss"), OddSeries("batch_size", curve.step, 256.0 * (1 + big)))
    )


@family(TRADES)
def diffusion(random: Random) -> OddCurve:
    """A diffusion loss: flat, and as noisy as it is high."""
    n = 8000
    value = 0.05 * (1 + 2 * np.exp(-np.arange(n) / 300)) * random.gamma(4, 0.25, n)
    return OddCurve((OddSeries("mse_loss", np.arange(n), value),))


@family(TRADES)
def negative_likelihood(random: Random) -> OddCurve:
    """A negative log likelihood of densities, below zero."""
    n = 6000
    value = -3 + 2.5 * np.exp(-np.arange(n) / 900) + random.uniform(0.02, 0.2) * noise(random, n)
    return OddCurve((OddSeries("nll", np.arange(n), value),))


@family(TRADES)
def crosses_zero(random: Random) -> OddCurve:
    """A loss that falls through zero."""
    n = 6000
    value = 2 * np.exp(-np.arange(n) / 1500) - 0.5 + random.uniform(0.02, 0.1) * noise(random, n)
    return OddCurve((OddSeries("loss", np.arange(n), value),))


@family(TRADES)
def annealed_autoencoder(random: Random) -> OddCurve:
    """A VAE whose KL weight is annealed: the KL rises from zero, the reconstruction falls."""
    n, step = 5000, np.arange(5000)
    divergence = 12 * (1 - np.exp(-step / 800)) * (1 + 0.03 * gauss(random, n))
    recon = 80 * (1 + np.exp(-step / 500)) * (1 + 0.03 * gauss(random, n))
    return OddCurve((OddSeries("kl_loss", step, divergence), OddSeries("recon_loss", step, recon)))


@family(TRADES)
def preference_tuning(random: Random) -> OddCurve:
    """DPO: the loss from log 2 downwards with heavy noise, growing margins."""
    n, step = 2000, np.arange(2000)
    loss = 0.69 - 0.2 * (1 - np.exp(-step / 400)) + 0.06 * gauss(random, n)
    margins = 1.5 * (1 - np.exp(-step / 500)) + 0.3 * gauss(random, n)
    return OddCurve((OddSeries("train/loss", step, loss), OddSeries("train/rewards/margins", step, margins)))


@family(TRADES)
def load_balancing(random: Random) -> OddCurve:
    """The auxiliary loss of experts: slightly above 1."""
    n = 6000
    value = 1.01 + 0.5 * np.exp(-np.arange(n) / 100) + 0.004 * noise(random, n)
    return OddCurve((OddSeries("load_balancing_loss", np.arange(n), value),))


@family(TRADES)
def perplexity(random: Random) -> OddCurve:
    """A perplexity, falling from 1,000s to tens."""
    n = 5000
    value = np.exp(2.8 + 4 * (1 + np.arange(n) / 30) ** -0.6 + 0.04 * noise(random, n))
    return OddCurve((OddSeries("train/ppl", np.arange(n), value),))


@family(TRADES)
def accuracy_rises(random: Random) -> OddCurve:
    """An accuracy that rises and levels off, with the loss."""
    curve = LossCurve(random, 3000)
    value = np.clip(0.9 * (1 - np.exp(-np.arange(3000) / 500)) + 0.03 * gauss(random, 3000), 0, 1)
    return OddCurve((curve.series(), OddSeries("train/accuracy", curve.step, value)))


@family(TRADES)
def gradient_norm_of_training(random: Random) -> OddCurve:
    """A healthy gradient norm: falls, is heavy-tailed and wanders; single peaks of ten times."""
    curve = LossCurve(random, 6000)
    norm = (0.4 + (1 + np.arange(6000) / 50) ** -0.5) * np.exp(
        wander(random, 6000, 500, 0.2) + 0.25 * gauss(random, 6000)
    )
    norm[random.integers(300, 6000, 5)] *= 10
    return OddCurve(
        (curve.series(), OddSeries("grad_norm", curve.step, norm)), allowed=(may("outlier_batch spike_fast"),)
    )


@family(TRADES)
def other_objective_names(random: Random) -> OddCurve:
    """A healthy loss that is named objective, cost or bpb."""
    name = ("objective", "cost", "bpb", "train/error")[random.integers(4)]
    curve = LossCurve(random, 4000, share=noise_share(random))
    return OddCurve((curve.series(metric=name),))
