"""Curves for the tests of detectors: healthy runs, faults put into them, prefixes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holter.types import Finding, FloatArray, RunData, Series, SeriesKey, labels_of

START = 1_700_000_000.0


def series(
    metric: str,
    value: ArrayLike,
    *,
    step: ArrayLike | None = None,
    attempt: ArrayLike = 0,
    time: ArrayLike | None = None,
    **labels: object,
) -> Series:
    """A series as the store hands it out: sorted, one point a step, arrays that cannot be written."""
    values = np.array(value, dtype=np.float64)
    n = len(values)
    steps = np.arange(n) if step is None else np.array(step)
    arrays: dict[str, Any] = {
        "attempt": np.array(np.broadcast_to(np.array(attempt), n), dtype=np.int64),
        "step": steps.astype(np.int64),
        "time": START + 2.0 * np.arange(n) if time is None else np.array(time, dtype=np.float64),
        "value": values,
    }
    for array in arrays.values():
        array.flags.writeable = False
    return Series(key=SeriesKey(metric, labels_of(labels)), **arrays)


def run(*all_series: Series, now: float | None = None) -> RunData:
    """A run of these series."""
    return RunData(series={one.key: one for one in all_series}, now=now)


def until(whole: RunData, attempt: int, step: int) -> RunData:
    """The run as it was when `step` of `attempt` was the last that had been logged."""
    kept = {}
    for key, one in whole.series.items():
        seen = (one.attempt < attempt) | ((one.attempt == attempt) & (one.step <= step))
        if seen.any():
            kept[key] = Series(
                key=key,
                attempt=one.attempt[seen],
                step=one.step[seen],
                time=one.time[seen],
                value=one.value[seen],
            )
    return replace(whole, series=kept)


def loss_curve(rng: np.random.Generator, n: int, *, noise: float = 0.03) -> FloatArray:
    """A loss that falls as a power of the steps, with the noise of its batches."""
    curve: FloatArray = (2.0 + 6.0 * (np.arange(n) + 20.0) ** -0.35) * np.exp(rng.normal(0, noise, n))
    return curve


def speed_curve(rng: np.random.Generator, n: int, *, noise: float = 0.01) -> FloatArray:
    """Tokens per second with a pause every 250 steps, and a wander of its own."""
    wander = np.convolve(rng.normal(0, noise / 4, n + 49), np.ones(50) / 7.0, mode="valid")
    speed: FloatArray = 1e5 * np.exp(wander + rng.normal(0, noise, n))
    speed[249::250] *= 0.3
    return speed


def rank_times(
    rng: np.random.Generator, rows: int, ranks: int, *, slow: Sequence[tuple[int, int, int, float]] = ()
) -> list[Series]:
    """Compute and collective times every 20 steps; `slow` lists (rank, first row, last row, factor)."""
    compute = np.exp(rng.normal(0, 0.006, (rows, ranks))) * np.exp(rng.normal(0, 0.004, ranks))
    for rank, first, last, factor in slow:
        compute[first : last + 1, rank] *= factor
    wait = compute.max(axis=1, keepdims=True) - compute + 0.1
    step, time = np.arange(rows) * 20, START + 40.0 * np.arange(rows)
    both = []
    for rank in range(ranks):
        both.append(series("compute_time", compute[:, rank], step=step, time=time, rank=rank))
        both.append(series("collective_time", wait[:, rank], step=step, time=time, rank=rank))
    return both


def healthy_run(seed: int) -> RunData:
    """Loss, gradient norm, learning rate, speed, ranks; a right resume after a rollback in the middle."""
    rng = np.random.default_rng(seed)
    n, back = 2400, 150
    first = n // 2
    step = np.concatenate([np.arange(first), np.arange(first - back, n - back)])
    attempt = np.repeat([0, 1], [first, n - first])
    time = START + 2.0 * np.arange(n) + 120.0 * attempt
    # the same batches come again after a right resume, and leave nearly the same noise
    batch = rng.normal(0, 1, n)[step]
    loss = (2.0 + 6.0 * (step + 20.0) ** -0.35) * np.exp(0.03 * batch + rng.normal(0, 0.003, n))
    norm = 0.5 * np.exp(0.1 * batch + rng.normal(0, 0.1, n))
    rate = 3e-4 * np.minimum(step / 100, 1.0) * (0.5 + 0.5 * np.cos(np.pi * step / 4000))
    where: dict[str, Any] = {"step": step, "attempt": attempt, "time": time}
    return run(
        series("loss", loss, **where),
        series("grad_norm", norm, **where),
        series("lr", rate, **where),
        series("tokens_per_s", speed_curve(rng, n), **where),
        *rank_times(rng, 100, 8),
    )


def identity(finding: Finding) -> tuple[object, ...]:
    """What never changes once a finding was spoken."""
    return finding.metric, finding.labels, finding.attempt, finding.start_step, finding.detected_step
