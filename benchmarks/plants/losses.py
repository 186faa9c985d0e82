"""Faults that losses of several datasets, restarts, masks and scales have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from curves import correlated, power, students

from holter.types import Finding, FloatArray, Kind
from plants.plant import Fault, Make, Planted, Random, drawn, means, run_of, series

SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED})
_POINTS = 4000
_DATASETS = ("web", "code", "books", "math")
_SHARES = np.array([0.4, 0.3, 0.2, 0.1])
NOISES: Mapping[str, Callable[[Random, int], FloatArray]] = {
    "1 %": lambda random, n: 0.01 * random.standard_normal(n),
    "4 %": lambda random, n: 0.04 * random.standard_normal(n),
    "t5": lambda random, n: 0.02 * students(5)(random, n),
    "correlated": lambda random, n: 0.02 * correlated(0.6)(random, n),
}
_ALL = tuple(NOISES)


def datasets(random: Random, noise: str) -> tuple[FloatArray, FloatArray]:
    """The loss of every dataset [n, d], and how many of a batch's 512 samples are from each [n, d]."""
    level = power(random, _POINTS)[:, None] * random.uniform(0.6, 1.4, len(_DATASETS))
    own = np.stack([NOISES[noise](random, _POINTS) for _ in _DATASETS], axis=1)
    return level * (1 + own), random.multinomial(512, _SHARES, _POINTS).astype(np.float64)


def of_datasets(random: Random, loss: FloatArray, count: FloatArray, **fault: object) -> Planted:
    """The datasets' losses and the total that they make."""
    step = np.arange(len(loss))
    total = (loss * count).sum(axis=1) / count.sum(axis=1)
    own = [series(f"loss/{name}", loss[:, at], step) for at, name in enumerate(_DATASETS)]
    return Planted(run=run_of(series("loss", total, step), *own), **fault)  # type: ignore[arg-type]


def dataset_spike(*, joint: bool) -> Make:
    """One dataset's loss, or all of them, leap by a share and are back within 30 points."""

    def make(random: Random, size: float, noise: str) -> Planted:
        loss, count = datasets(random, noise)
        at, one = int(random.integers(1500, 3000)), int(random.integers(len(_DATASETS)))
        shape = 1 + size * np.exp(-np.arange(60) / 8)[:, None]
        where = slice(None) if joint else slice(one, one + 1)
        loss[at : at + 60, where] *= shape

        def is_right(finding: Finding) -> bool:
            return joint or _DATASETS[one] in (*finding.metric.split("/"), *dict(finding.labels).values())

        return of_datasets(random, loss, count, kinds=SPIKES, at=at, late=30, is_right=is_right)

    return make


def mixture(random: Random, size: float, noise: str) -> Planted:
    """So much of the data comes from the hardest dataset instead of the easiest."""
    loss, count = datasets(random, noise)
    at, hard, easy = int(random.integers(1500, 2500)), *np.argsort(loss[-500:].mean(axis=0))[[-1, 0]]
    shares = _SHARES.copy()
    moved = min(size, float(shares[easy]))
    shares[[hard, easy]] += moved, -moved
    count[at:] = random.multinomial(512, shares, len(count) - at)
    return of_datasets(random, loss, count, kinds=frozenset({Kind.MIXTURE_SHIFT}), at=at, late=300)


def healthy(random: Random, size: float, noise: str) -> Planted:
    """Datasets without any fault."""
    return of_datasets(random, *datasets(random, noise))


def replay(random: Random, size: float, noise: str) -> Planted:
    """A restart after which the data of `lag` steps before come again; `size` is the share of the noise
    that is the batches' own. Every step is logged, or means of ten."""
    spacing, lag = drawn(random, 1, 10), drawn(random, 200, 500, 1500)
    before, after = 2000 * spacing, 1000 * spacing
    lag *= spacing
    stream = NOISES[noise](random, before + after)
    batches = np.concatenate((stream[:before], stream[before - lag :]))[: before + after]
    rest = NOISES[noise](random, before + after)
    value = power(random, before + after) * (1 + size**0.5 * batches + (1 - size) ** 0.5 * rest)
    step = np.arange(before + after)[spacing - 1 :: spacing]
    attempt = (step >= before).astype(np.int64)
    return Planted(
        run=run_of(series("loss", means(value, spacing), step, attempt=attempt)),
        kinds=frozenset({Kind.REPEATED_DATA}),
        at=before,
        attempt=1,
        late=20 * spacing,
        spacing=spacing,
        is_right=lambda one: one.evidence["lag"] == lag,
    )


def nonfinite(random: Random, size: float, noise: str) -> Planted:
    """So many points are NaN; after those the loss goes on."""
    value, at, many = power(random, _POINTS) * (1 + NOISES[noise](random, _POINTS)), 2000, int(size)
    value[at : at + many] = np.nan
    loss = series("loss", value, np.arange(_POINTS))
    return Planted(run=run_of(loss), kinds=frozenset({Kind.NONFINITE}), at=at, late=1)


def hidden(mask: Callable[[float], float]) -> Make:
    """From a step on a logger writes something else for NaN; `size` points of it."""

    def make(random: Random, size: float, noise: str) -> Planted:
        value, at = power(random, _POINTS) * (1 + NOISES[noise](random, _POINTS)), 2000
        value[at : at + int(size)] = mask(float(value[at - 1]))
        kinds = frozenset({Kind.HIDDEN_NONFINITE})
        return Planted(run=run_of(series("loss", value, np.arange(_POINTS))), kinds=kinds, at=at, late=10)

    return make


_POINTS_MASKED = {"4 points": 4.0, "20 points": 20.0, "200 points": 200.0}
_SHARES_OF_NOISE = {"0.8": 0.8, "0.5": 0.5, "0.3": 0.3}
FAULTS: Mapping[str, Fault] = {
    "one dataset spikes": Fault(
        make=dataset_spike(joint=False), sizes={"25 %": 0.25, "50 %": 0.5, "100 %": 1.0}, noises=_ALL
    ),
    "all datasets spike": Fault(
        make=dataset_spike(joint=True), sizes={"25 %": 0.25, "50 %": 0.5, "100 %": 1.0}, noises=_ALL
    ),
    "shares move": Fault(make=mixture, sizes={"0.05": 0.05, "0.1": 0.1, "0.2": 0.2}, noises=_ALL),
    "healthy datasets": Fault(make=healthy, sizes={"-": 0.0}, noises=_ALL),
    "data repeated, own noise": Fault(make=replay, sizes=_SHARES_OF_NOISE, noises=_ALL),
    "NaN": Fault(make=nonfinite, sizes={"1 point": 1.0, **_POINTS_MASKED}, noises=_ALL),
    "NaN written as 0": Fault(make=hidden(lambda last: 0.0), sizes=_POINTS_MASKED, noises=_ALL),
    "NaN written as the last": Fault(make=hidden(lambda last: last), sizes=_POINTS_MASKED, noises=_ALL),
    "NaN written as 1e30": Fault(make=hidden(lambda last: 1e30), sizes=_POINTS_MASKED, noises=_ALL),
}
