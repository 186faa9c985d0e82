"""The logged data: simulated training metrics, the same for every peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

START_TIME = 1.7e9


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

    def scaled(self, share: float) -> Workload:
        """The same workload with a share of the steps, or of the runs if there are several."""
        if self.runs > 1:
            return replace(self, runs=max(1, round(self.runs * share)))
        return replace(self, steps=max(1, round(self.steps * share)))

    def columns(self, run: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The wall times of a run [steps], and the values of each metric [steps]."""
        random = np.random.default_rng([run, self.metrics, self.steps])
        times = START_TIME + np.cumsum(random.normal(1.0, 0.05, self.steps)).round(6)
        return times, {f"train/metric_{n}": _values(n % 10, self.steps, random) for n in range(self.metrics)}

    def rows(self, run: int) -> Iterator[dict[str, float]]:
        """Yield the metrics of a run step by step, as a training loop logs them."""
        _, columns = self.columns(run)
        names = list(columns)
        values = np.stack(list(columns.values()), axis=1)
        for row in values:
            yield dict(zip(names, row.tolist(), strict=True))


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
