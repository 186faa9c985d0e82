"""The logged data: simulated training metrics, the same for every peer, and the questions about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

START_TIME = 1.7e9
SECONDS_PER_STEP, JITTER = 1.0, 0.05
QUERIES = {
    "R20": ("one series", "20 series"),
    "L1M": ("long series",),
    "W2": ("last values",),
}
"""The questions by the workload whose data they are about."""


@dataclass(frozen=True, eq=False)
class LoggedRun:
    """The data of one run, made before anything is measured.

    `rows` [steps]: the metrics of each step, as a training loop logs them; `columns`: the values [steps] of
    each metric; `times` [steps]: wall times in seconds since 1970, a second apart with a jitter of 5 %.
    """

    times: list[float]
    rows: list[dict[str, float]]
    columns: dict[str, list[float]]


@dataclass(frozen=True)
class Workload:
    """`runs` x `metrics` x `steps` points; `live`: each step is flushed separately."""

    name: str
    description: str
    runs: int
    metrics: int
    steps: int
    live: bool = False

    @property
    def points(self) -> int:
        """The total number of points."""
        return self.runs * self.metrics * self.steps

    @property
    def names(self) -> list[str]:
        """The names of the metrics."""
        return [f"train/metric_{number}" for number in range(self.metrics)]

    def scaled(self, share: float) -> Workload:
        """The same workload with a share of the steps, or of the runs if there are several."""
        if self.runs > 1:
            return replace(self, runs=max(1, round(self.runs * share)))
        return replace(self, steps=max(1, round(self.steps * share)))

    def logged_run(self, number: int) -> LoggedRun:
        """The data of a run: of ten metrics, five losses, two accuracies, a rate, a throughput, a counter."""
        random = np.random.default_rng([number, self.metrics, self.steps])
        intervals = random.normal(SECONDS_PER_STEP, SECONDS_PER_STEP * JITTER, self.steps)
        times = START_TIME + np.cumsum(intervals).round(6)
        columns = {
            name: _values(index % 10, self.steps, random).tolist() for index, name in enumerate(self.names)
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return LoggedRun(times.tolist(), rows, columns)


def _values(kind: int, steps: int, random: np.random.Generator) -> np.ndarray:
    """Of ten kinds: five noisy 32-bit losses, two accuracies, a learning rate, a throughput, a counter."""
    index = np.arange(steps)
    if kind < 5:
        drift = np.cumsum(random.normal(0, 0.003, steps))
        noise = 1 + 0.03 * random.normal(size=steps) + 0.1 * np.sin(drift)
        return ((2 + 8 * np.exp(-index / steps * 5)) * noise).astype(np.float32).astype(np.float64)
    if kind < 7:
        return random.integers(0, 256, steps) / 256
    if kind == 7:
        return 1e-4 * (1 + np.cos(np.pi * index / steps))
    return random.normal(4e4, 500, steps) if kind == 8 else index * 1.0


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("W1", "1 run x 100 metrics x 10,000 steps", 1, 100, 10_000),
        Workload("W2", "1 run x 10,000 metrics x 100 steps", 1, 10_000, 100),
        Workload("W3", "50 runs x 20 metrics x 1,000 steps", 50, 20, 1_000),
        Workload("W4", "live: 2,000 series, one point each per flush, 500 flushes", 1, 2_000, 500, live=True),
        Workload("L1M", "one series of 1,000,000 points", 1, 1, 1_000_000),
        Workload("R20", "20 series x 10,000 points", 1, 20, 10_000),
    )
}
