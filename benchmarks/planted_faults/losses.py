"""Planted faults in losses of several datasets, after restarts, and NaN, logged or masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from simulated_losses import correlated, power, student_t

from holter.types import Finding, FloatArray, Kind
from planted_faults.fault import (
    Fault,
    PlantedRun,
    Random,
    RunFactory,
    block_means,
    build_run,
    build_series,
    choose,
)

SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED})
_POINTS = 4000
_DATASETS = ("web", "code", "books", "math")
_SHARES = np.array([0.4, 0.3, 0.2, 0.1])
NOISES: Mapping[str, Callable[[Random, int], FloatArray]] = {
    "1 %": lambda random, n: 0.01 * random.standard_normal(n),
    "4 %": lambda random, n: 0.04 * random.standard_normal(n),
    "t5": lambda random, n: 0.02 * student_t(5)(random, n),
    "correlated": lambda random, n: 0.02 * correlated(0.6)(random, n),
}
_ALL_NOISES = tuple(NOISES)


def datasets(random: Random, noise: str) -> tuple[FloatArray, FloatArray]:
    """The loss of every dataset [n, d], and how many of the 512 samples of a batch are from it [n, d]."""
    level = power(random, _POINTS)[:, None] * random.uniform(0.6, 1.4, len(_DATASETS))
    noises = np.stack([NOISES[noise](random, _POINTS) for _ in _DATASETS], axis=1)
    return level * (1 + noises), random.multinomial(512, _SHARES, _POINTS).astype(np.float64)


def of_datasets(random: Random, loss: FloatArray, count: FloatArray, **fault: object) -> PlantedRun:
    """A run with the losses of the datasets and the total loss that follows from them."""
    step = np.arange(len(loss))
    total = (loss * count).sum(axis=1) / count.sum(axis=1)
    losses = [build_series(f"loss/{name}", loss[:, index], step) for index, name in enumerate(_DATASETS)]
    return PlantedRun(run=build_run(build_series("loss", total, step), *losses), **fault)  # type: ignore[arg-type]


def dataset_spike(*, joint: bool) -> RunFactory:
    """The loss of one dataset, or of all, rises by a fraction `size` and is back within 30 points."""

    def make(random: Random, size: float, noise: str) -> PlantedRun:
        loss, count = datasets(random, noise)
        onset, dataset = int(random.integers(1500, 3000)), int(random.integers(len(_DATASETS)))
        shape = 1 + size * np.exp(-np.arange(60) / 8)[:, None]
        affected = slice(None) if joint else slice(dataset, dataset + 1)
        loss[onset : onset + 60, affected] *= shape

        def is_right(finding: Finding) -> bool:
            names = (*finding.metric.split("/"), *dict(finding.labels).values())
            return joint or _DATASETS[dataset] in names

        return of_datasets(random, loss, count, kinds=SPIKES, onset=onset, max_delay=30, is_right=is_right)

    return make


def mixture(random: Random, size: float, noise: str) -> PlantedRun:
    """A share `size` of the data moves from the easiest to the hardest dataset."""
    loss, count = datasets(random, noise)
    onset, hard, easy = int(random.integers(1500, 2500)), *np.argsort(loss[-500:].mean(axis=0))[[-1, 0]]
    shares = _SHARES.copy()
    moved = min(size, float(shares[easy]))
    shares[[hard, easy]] += moved, -moved
    count[onset:] = random.multinomial(512, shares, len(count) - onset)
    return of_datasets(random, loss, count, kinds=frozenset({Kind.MIXTURE_SHIFT}), onset=onset, max_delay=300)


def healthy(random: Random, size: float, noise: str) -> PlantedRun:
    """Datasets without a fault."""
    return of_datasets(random, *datasets(random, noise))


def replay(random: Random, size: float, noise: str) -> PlantedRun:
    """A restart that repeats the data from `lag` steps earlier; every step is logged, or means of ten.

    `size` is the share of the variance of the noise that the batches determine.
    """
    spacing, lag = choose(random, 1, 10), choose(random, 200, 500, 1500)
    before, after = 2000 * spacing, 1000 * spacing
    lag *= spacing
    stream = NOISES[noise](random, before + after)
    batches = np.concatenate((stream[:before], stream[before - lag :]))[: before + after]
    other_noise = NOISES[noise](random, before + after)
    value = power(random, before + after) * (1 + size**0.5 * batches + (1 - size) ** 0.5 * other_noise)
    step = np.arange(before + after)[spacing - 1 :: spacing]
    attempt = (step >= before).astype(np.int64)
    return PlantedRun(
        run=build_run(build_series("loss", block_means(value, spacing), step, attempt=attempt)),
        kinds=frozenset({Kind.REPEATED_DATA}),
        onset=before,
        attempt=1,
        max_delay=20 * spacing,
        spacing=spacing,
        is_right=lambda finding: finding.evidence["lag"] == lag,
    )


def nonfinite(random: Random, size: float, noise: str) -> PlantedRun:
    """`size` points are NaN; after them the loss continues."""
    value, onset = power(random, _POINTS) * (1 + NOISES[noise](random, _POINTS)), 2000
    value[onset : onset + int(size)] = np.nan
    loss = build_series("loss", value, np.arange(_POINTS))
    return PlantedRun(run=build_run(loss), kinds=frozenset({Kind.NONFINITE}), onset=onset, max_delay=1)


def masked_nan(mask: Callable[[float], float]) -> RunFactory:
    """A logger writes `mask(last value)` instead of NaN for `size` points."""

    def make(random: Random, size: float, noise: str) -> PlantedRun:
        value, onset = power(random, _POINTS) * (1 + NOISES[noise](random, _POINTS)), 2000
        value[onset : onset + int(size)] = mask(float(value[onset - 1]))
        kinds = frozenset({Kind.HIDDEN_NONFINITE})
        return PlantedRun(
            run=build_run(build_series("loss", value, np.arange(_POINTS))),
            kinds=kinds,
            onset=onset,
            max_delay=10,
        )

    return make


_NAN_COUNTS = {"4 points": 4.0, "20 points": 20.0, "200 points": 200.0}
_BATCH_NOISE_SHARES = {"0.8": 0.8, "0.5": 0.5, "0.3": 0.3}
FAULTS: Mapping[str, Fault] = {
    "one dataset spikes": Fault(
        make=dataset_spike(joint=False), sizes={"25 %": 0.25, "50 %": 0.5, "100 %": 1.0}, noises=_ALL_NOISES
    ),
    "all datasets spike": Fault(
        make=dataset_spike(joint=True), sizes={"25 %": 0.25, "50 %": 0.5, "100 %": 1.0}, noises=_ALL_NOISES
    ),
    "shares move": Fault(make=mixture, sizes={"0.05": 0.05, "0.1": 0.1, "0.2": 0.2}, noises=_ALL_NOISES),
    "healthy datasets": Fault(make=healthy, sizes={"-": 0.0}, noises=_ALL_NOISES),
    "data repeated, own noise": Fault(make=replay, sizes=_BATCH_NOISE_SHARES, noises=_ALL_NOISES),
    "NaN": Fault(make=nonfinite, sizes={"1 point": 1.0, **_NAN_COUNTS}, noises=_ALL_NOISES),
    "NaN written as 0": Fault(make=masked_nan(lambda last: 0.0), sizes=_NAN_COUNTS, noises=_ALL_NOISES),
    "NaN written as the last": Fault(
        make=masked_nan(lambda last: last), sizes=_NAN_COUNTS, noises=_ALL_NOISES
    ),
    "NaN written as 1e30": Fault(make=masked_nan(lambda last: 1e30), sizes=_NAN_COUNTS, noises=_ALL_NOISES),
}
