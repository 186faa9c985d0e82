"""Detectors that go on from where their last look ended say what one look at the whole says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import Resuming
from holter.detectors.loss.drop import SuddenDrop
from holter.detectors.memory import Memory
from holter.detectors.numerics.hidden import HiddenNonfinite
from holter.types import RunData
from tests.detectors.curves import run, series, until


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


@pytest.mark.parametrize(
    ("detector", "life"), [(SuddenDrop(), learning), (HiddenNonfinite(), masked)], ids=["drop", "hidden"]
)
def test_look_by_look_it_is_the_same(
    detector: Resuming, life: Callable[[np.random.Generator, int], RunData]
) -> None:
    heard = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        whole, memory = life(rng, 14_000), Memory()
        longest = max(whole.series.values(), key=len)
        for row in np.unique(rng.integers(1, len(longest), 12)).tolist():
            then = until(whole, int(longest.attempt[row]), int(longest.step[row]))
            found = list(detector.detect(then, memory))
            assert found == list(detector.detect(then)), (seed, row)
            heard += len(found)
    assert heard > 6


@pytest.mark.parametrize(
    ("detector", "life"), [(SuddenDrop(), learning), (HiddenNonfinite(), masked)], ids=["drop", "hidden"]
)
def test_rows_that_come_late_are_seen(
    detector: Resuming, life: Callable[[np.random.Generator, int], RunData]
) -> None:
    whole, memory = life(np.random.default_rng(7), 6000), Memory()
    without = run(
        *(
            series(
                one.key.metric,
                np.delete(one.value, 2500),
                step=np.delete(one.step, 2500),
                attempt=np.delete(one.attempt, 2500),
            )
            for one in whole.series.values()
        )
    )
    assert list(detector.detect(without, memory)) == list(detector.detect(without))
    assert list(detector.detect(whole, memory)) == list(detector.detect(whole))
