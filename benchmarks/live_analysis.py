"""Measures live analysis: the cost of an analysis pass after some new points, for runs of different lengths.

    python benchmarks/live_analysis.py [--longest 1000000]

CPU times, medians of several passes. `full` is the first pass over all points, as after a restart.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np

from holter.detectors import IncrementalState, find, registry
from holter.detectors.detector import DetectorContext
from holter.types import FloatArray, RunData, Series, SeriesKey

NEW_POINTS = (1, 10, 100)
PASSES = 15


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--longest", type=int, default=1_000_000, help="points per series of the longest run")
    longest = parser.parse_args().longest
    lengths = [n for n in (10_000, 100_000, 1_000_000) if n <= longest]
    header = "| points per series | full, s | " + " | ".join(f"{new} new, ms" for new in NEW_POINTS)
    series = len(healthy(10).series)
    print(f"## A run of {series} series, all detectors\n\n{header} | nothing new, ms | state, KB |")
    print("|---" * (len(NEW_POINTS) + 4) + "|")
    for n in lengths:
        print(measure_row(f"{n:,}", healthy, n), flush=True)
    n = lengths[-1]
    print(measure_row(f"{n:,}, a loss that diverged {n // 2:,} points ago", diverged, n), flush=True)
    print("\n## By detector, longest run\n\n| detector | full, s | 100 new, ms |\n|---|---|---|")
    for name, full, later in measure_detectors(lengths[-1]):
        print(f"| {name} | {full:.3f} | {1000 * later:.2f} |", flush=True)


def measure_row(name: str, build_run: Callable[[int], RunData], n: int) -> str:
    """A row of the table: the costs of passes over a run of `n` points per series."""
    run, state = build_run(n + PASSES * sum(NEW_POINTS)), IncrementalState()
    full = seconds(lambda: find(first_points(run, n), state=state))
    size, costs = n, []
    for new in NEW_POINTS:
        durations = []
        for _ in range(PASSES):
            size += new
            durations.append(seconds(partial(find, first_points(run, size), state=state)))
        costs.append(median(durations))
    complete = first_points(run, size)
    find(complete, state=state)
    unchanged = median(seconds(lambda: find(complete, state=state)) for _ in range(PASSES))
    cells = " | ".join(f"{1000 * cost:.1f}" for cost in costs)
    return f"| {name} | {full:.2f} | {cells} | {1000 * unchanged:.1f} | {kilobytes(state):,.0f} |"


def measure_detectors(n: int) -> Iterator[tuple[str, float, float]]:
    """Yield name, seconds of a full pass, and of a pass after a hundred new points, for each detector."""
    run = healthy(n + PASSES * 100)
    for name, detector in registry().items():
        state = IncrementalState()

        def measure_pass(size: int) -> float:
            part = first_points(run, size)
            with np.errstate(all="ignore"):
                return seconds(lambda: list(detector.detect(part, DetectorContext(state=state))))  # noqa: B023

        full = measure_pass(n)
        yield name, full, median(measure_pass(n + 100 * (more + 1)) for more in range(PASSES))


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def kilobytes(state: IncrementalState) -> float:
    """The pickled size of the incremental state, without the arrays of the run itself."""
    return sum(len(pickle.dumps(checkpoint)) for checkpoint in state.all_checkpoints()) / 1024


def healthy(n: int) -> RunData:
    """A run on eight GPUs that trains in fp16 on four datasets, in two attempts.

    The second attempt begins at most a thousand steps before the end of the first.
    """
    rng = np.random.default_rng(0)
    half, back = n // 2, min(1000, n // 4)
    step = np.concatenate((np.arange(half), np.arange(half, n) - back))
    attempt = np.repeat([0, 1], (half, n - half))
    batch = rng.normal(0, 1, n)[step]
    speed = 1e5 * np.exp(rng.normal(0, 0.02, n))
    curve = (2 + 6 * (step + 20.0) ** -0.35) * np.exp(0.03 * batch)
    values: dict[SeriesKey, FloatArray] = {
        SeriesKey("grad_norm"): 0.5 * np.exp(0.1 * batch + rng.normal(0, 0.1, n)),
        SeriesKey("lr"): 3e-4 * np.minimum(step / 1000, 1.0) * (0.5 + 0.5 * np.cos(np.pi * step / (4 * n))),
        SeriesKey("tokens_per_s"): speed,
        SeriesKey("step_time"): 2e5 / speed,
        SeriesKey("loss_scale"): 2.0 ** (16 - (step % 2000 > 1000)),
    }
    values |= datasets(rng, curve)
    for rank in range(8):
        label = (("rank", str(rank)),)
        values[SeriesKey("gpu_memory_allocated", label)] = 4e10 + rng.normal(0, 1e8, n)
        values[SeriesKey("xid", label)] = np.zeros(n)
        values[SeriesKey("coll_sn", label)] = 40.0 * step + rng.integers(0, 2, n)
    columns = {"attempt": attempt, "step": step, "time": 1.7e9 + np.cumsum(2e5 / speed)}
    return RunData(series={key: Series(key=key, value=value, **columns) for key, value in values.items()})


def datasets(rng: np.random.Generator, curve: FloatArray) -> dict[SeriesKey, FloatArray]:
    """The losses of four datasets, the total loss of batches sampled from them, and their shares."""
    shares = (0.4, 0.3, 0.2, 0.1)
    sampled = rng.multinomial(512, shares, len(curve)) / 512
    values = {SeriesKey("loss"): np.zeros(len(curve))}
    for number, share in enumerate(shares):
        dataset_loss = (0.7 + 0.2 * number) * curve * np.exp(rng.normal(0, 0.02, len(curve)))
        values[SeriesKey("loss")] += sampled[:, number] * dataset_loss
        values[SeriesKey(f"loss/d{number}")] = dataset_loss
        values[SeriesKey(f"mix/d{number}")] = np.full(len(curve), share)
    return values


def diverged(n: int) -> RunData:
    """A run whose losses rise in the middle and stay high."""
    run = healthy(n)
    risen = {
        key: replace(series, value=series.value + 1.0 * (np.arange(n) > n // 2 + 5000))
        for key, series in run.series.items()
        if key.metric.startswith("loss") and key.metric != "loss_scale"
    }
    return RunData(series={**run.series, **risen})


def first_points(run: RunData, n: int) -> RunData:
    """The run with only the first `n` points of each series."""
    first = {
        key: Series(
            key=key,
            attempt=series.attempt[:n],
            step=series.step[:n],
            time=series.time[:n],
            value=series.value[:n],
        )
        for key, series in run.series.items()
    }
    return RunData(series=first)


if __name__ == "__main__":
    main()
