"""Live analysis measured: what a look costs after some new points, at run lengths a hundredfold apart.

    python benchmarks/live.py [--longest 1000000]

Seconds of CPU, medians of several looks. `full` is the first look at all of it, as after a restart.
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

NEW = (1, 10, 100)
LOOKS = 15


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=1_000_000, help="points of the longest run")
    longest = parser.parse_args().longest
    lengths = [n for n in (10_000, 100_000, 1_000_000) if n <= longest]
    header = "| points a series | full, s | " + " | ".join(f"{new} new, ms" for new in NEW)
    series = len(healthy(10).series)
    print(f"## A run of {series} series, all detectors\n\n{header} | nothing new, ms | memory, KB |")
    print("|---" * (len(NEW) + 4) + "|")
    for n in lengths:
        print(row_of(f"{n:,}", healthy, n), flush=True)
    n = lengths[-1]
    print(row_of(f"{n:,}, a loss of {n // 2:,} that is not back", diverged, n), flush=True)
    print("\n## By detector, at the longest\n\n| detector | full, s | 100 new, ms |\n|---|---|---|")
    for name, first, later in by_detector(lengths[-1]):
        print(f"| {name} | {first:.3f} | {1000 * later:.2f} |", flush=True)


def row_of(name: str, life: Callable[[int], RunData], n: int) -> str:
    """What looks cost at a length of such a run."""
    run, memory = life(n + LOOKS * sum(NEW)), IncrementalState()
    first = seconds(lambda: find(upto(run, n), state=memory))
    size, costs = n, []
    for new in NEW:
        spent = []
        for _ in range(LOOKS):
            size += new
            spent.append(seconds(partial(find, upto(run, size), state=memory)))
        costs.append(median(spent))
    part = upto(run, size)
    find(part, state=memory)
    again = median(seconds(lambda: find(part, state=memory)) for _ in range(LOOKS))
    cells = " | ".join(f"{1000 * cost:.1f}" for cost in costs)
    return f"| {name} | {first:.2f} | {cells} | {1000 * again:.1f} | {kilobytes(memory):,.0f} |"


def by_detector(n: int) -> Iterator[tuple[str, float, float]]:
    """Seconds of each detector for a full look, and for a look at a hundred points more."""
    run = healthy(n + LOOKS * 100)
    for name, detector in registry().items():
        memory = IncrementalState()

        def once(size: int) -> float:
            part = upto(run, size)
            with np.errstate(all="ignore"):
                return seconds(lambda: list(detector.detect(part, DetectorContext(state=memory))))  # noqa: B023

        first = once(n)
        yield name, first, median(once(n + 100 * (more + 1)) for more in range(LOOKS))


def seconds(work: Callable[[], object]) -> float:
    """Of CPU time."""
    began = time.process_time()
    work()
    return time.process_time() - began


def kilobytes(memory: IncrementalState) -> float:
    """What detectors remember, without the arrays of the run itself."""
    return sum(len(pickle.dumps(trail)) for trail in memory.all_checkpoints()) / 1024


def healthy(n: int) -> RunData:
    """What a run on eight GPUs logs that trains in fp16 on four datasets: two attempts, the later one rolls
    back by a thousand steps at most."""
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
    """The losses of four datasets, the total of batches drawn from them, and their shares."""
    shares = (0.4, 0.3, 0.2, 0.1)
    drawn = rng.multinomial(512, shares, len(curve)) / 512
    values = {SeriesKey("loss"): np.zeros(len(curve))}
    for number, share in enumerate(shares):
        own = (0.7 + 0.2 * number) * curve * np.exp(rng.normal(0, 0.02, len(curve)))
        values[SeriesKey("loss")] += drawn[:, number] * own
        values[SeriesKey(f"loss/d{number}")] = own
        values[SeriesKey(f"mix/d{number}")] = np.full(len(curve), share)
    return values


def diverged(n: int) -> RunData:
    """The same, with losses that rise in the middle and do not come back."""
    run = healthy(n)
    risen = {
        key: replace(one, value=one.value + 1.0 * (np.arange(n) > n // 2 + 5000))
        for key, one in run.series.items()
        if key.metric.startswith("loss") and key.metric != "loss_scale"
    }
    return RunData(series={**run.series, **risen})


def upto(run: RunData, n: int) -> RunData:
    """The run as it was after so many points of each series."""
    series = {
        key: Series(
            key=key, attempt=one.attempt[:n], step=one.step[:n], time=one.time[:n], value=one.value[:n]
        )
        for key, one in run.series.items()
    }
    return RunData(series=series)


if __name__ == "__main__":
    main()
