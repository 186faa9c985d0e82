"""Incremental passes give the same findings as one pass over the full run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import Detector, DetectorContext
from holter.detectors.health.memory_leak import MemoryLeakDetector
from holter.detectors.incremental import IncrementalState
from holter.detectors.loss.spike import SpikeDetector
from holter.detectors.loss.sudden_drop import SuddenDropDetector
from holter.detectors.mixture.shift import MixtureShiftDetector
from holter.detectors.numerics.loss_scale import LossScaleDetector
from holter.detectors.numerics.masked_nan import MaskedNanDetector
from holter.types import RunData
from tests.support.curves import run, series, until


def learning(rng: np.random.Generator, n: int) -> RunData:
    """A loss of several attempts that falls at once here and there, with gaps and NaN."""
    t = np.arange(n)
    value = 2 + 6 * (t + 20.0) ** -0.35
    for at in rng.integers(300, n, 3).tolist():
        value *= 1 - 0.125 * (1 + np.tanh((t - at) / 16.0))
    value *= np.exp(rng.normal(0, 0.02, n))
    value[rng.random(n) < 0.01] = np.nan
    return run(series("loss", value, step=3 * t, attempt=(t > rng.integers(n // 2, n)).astype(int)))


def masked(rng: np.random.Generator, n: int) -> RunData:
    """A loss and a gradient norm that stand still, are zero or absurd here and there, with NaN between."""
    t, both = np.arange(n), []
    for name in ("loss", "grad_norm"):
        value = 2 + rng.normal(0, 0.05, n)
        value[rng.random(n) < 0.3] = np.nan
        for at in rng.integers(200, n, 6).tolist():
            lasting = slice(at, at + int(rng.choice([2, 5, 40, 300])))
            value[lasting] = rng.choice([0.0, value[at - 1], 1e17])
        both.append(series(name, value, attempt=(t > rng.integers(n // 2, n)).astype(int)))
    return run(*both)


def leaking(rng: np.random.Generator, n: int) -> RunData:
    """Memory, of a GPU and a host, that grows for a while, faster or slower, and is given back, with NaN."""
    both = []
    for name, level in (("gpu_memory_allocated", 4e10), ("host_memory_available_gb", 500.0)):
        slopes = rng.choice([0.0, 0.0, 2e-5, 1e-4, -1e-2], n // 500 + 1)
        grown = np.maximum.accumulate(np.cumsum(np.repeat(np.maximum(slopes, 0), 500))[:n])
        freed = np.maximum.accumulate(np.where(np.repeat(slopes < 0, 500)[:n], grown, 0))
        value = level * (1 + grown - freed + rng.normal(0, 1e-3, n))
        value[rng.random(n) < 0.01] = np.nan
        where = {"step": 10 * np.arange(n), "attempt": (np.arange(n) > rng.integers(n // 2, n)).astype(int)}
        both.append(series(name, value if "gpu" in name else 2 * level - value, **where))
    return run(*both)


def remixed(rng: np.random.Generator, n: int) -> RunData:
    """Losses of three datasets, and of batches drawn from them at shares that change and come back."""
    losses = np.array([1.6, 2.4, 3.6])[:, None] * np.exp(rng.normal(0, 0.02, (3, n)))
    usual, other = rng.dirichlet(np.full(3, 3.0), 2)
    shares = np.tile(usual, (n, 1))
    for at in rng.integers(300, n, 5).tolist():
        shares[at : at + int(rng.choice([60, 150, 400, 3000]))] = other
    where = {"step": 5 * np.arange(n), "attempt": (np.arange(n) > rng.integers(n // 2, n)).astype(int)}
    mixed = [series(f"mix/{name}", shares[:, k], **where) for k, name in enumerate("abc")]
    return run(
        series("loss", (shares.T * losses).sum(axis=0), **where),
        *(series(f"loss/{name}", losses[k], **where) for k, name in enumerate("abc")),
        *(mixed if rng.random() < 0.5 else ()),
    )


def overflowing(rng: np.random.Generator, n: int) -> RunData:
    """A loss scale that is found, doubles now and then, and falls by one or many halvings."""
    level, at = 20.0, np.zeros(n)
    for row in range(n):
        falls = rng.random() < (0.8 if row % 4000 < 12 or row % 2500 > 2490 else 5e-4)
        level = max(level - 1, 0.0) if falls else min(level + (row % 600 == 0), 16.0 if row else 20.0)
        at[row] = level
    value = np.where(rng.random(n) < 0.01, np.nan, 2.0**at)
    return run(series("loss_scale", value, attempt=(np.arange(n) > rng.integers(n // 2, n)).astype(int)))


def lasting(rng: np.random.Generator, n: int) -> RunData:
    """A loss that rises and stays there for thousands of points, rises further, and mostly comes back."""
    t = np.arange(n)
    begin, back = int(rng.integers(1000, 4000)), int(rng.integers(9000, 2 * n))
    value = 2 + 0.03 * rng.normal(0, 1, n) + np.where((t >= begin) & (t < back), 1.0, 0.0)
    for at in rng.integers(begin, n, 4).tolist():
        value[at : at + int(rng.choice([3, 40, 2000]))] += rng.uniform(0.2, 0.9)
    return run(series("loss", value, step=int(rng.choice([1, 10])) * t))


each = pytest.mark.parametrize(
    ("detector", "life"),
    [
        (SpikeDetector(), lasting),
        (SuddenDropDetector(), learning),
        (MaskedNanDetector(), masked),
        (MemoryLeakDetector(), leaking),
        (MixtureShiftDetector(), remixed),
        (LossScaleDetector(), overflowing),
    ],
    ids=lambda one: getattr(one, "name", ""),
)


@pytest.mark.slow
@each
def test_pass_by_pass_the_findings_are_the_same(
    detector: Detector, life: Callable[[np.random.Generator, int], RunData]
) -> None:
    count = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        full_run, memory = life(rng, 14_000), IncrementalState()
        longest = max(full_run.series.values(), key=len)
        for row in np.unique(rng.integers(1, len(longest), 12)).tolist():
            then = until(full_run, int(longest.attempt[row]), int(longest.step[row]))
            found = list(detector.detect(then, DetectorContext(state=memory)))
            assert found == list(detector.detect(then, DetectorContext())), (seed, row)
            count += len(found)
    assert count > 6


@each
def test_late_rows_are_scanned(
    detector: Detector, life: Callable[[np.random.Generator, int], RunData]
) -> None:
    full_run, memory = life(np.random.default_rng(7), 6000), IncrementalState()
    without = run(
        *(
            series(
                one.key.metric,
                np.delete(one.value, 2500),
                step=np.delete(one.step, 2500),
                attempt=np.delete(one.attempt, 2500),
            )
            for one in full_run.series.values()
        )
    )
    assert list(detector.detect(without, DetectorContext(state=memory))) == list(
        detector.detect(without, DetectorContext())
    )
    assert list(detector.detect(full_run, DetectorContext(state=memory))) == list(
        detector.detect(full_run, DetectorContext())
    )
