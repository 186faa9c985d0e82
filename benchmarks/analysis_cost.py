"""Measures what unusual inputs cost the detectors: irregular steps, epochs, many attempts, many findings.

    python benchmarks/analysis_cost.py [--points 32000] [--case NAME ...]

Each run is compared with a regular one of as many points: the processor time of a complete analysis, and of a
look after one new point of every series while the run is live. Medians.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from live_analysis import first_points, seconds

from holter.detectors import IncrementalState, find
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

_COMPLETE_PASSES = 3
_LOOKS = 15
_SPIKE_SPACING = 150
"""Points from one planted spike to the next."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=32_000, help="points per series")
    parser.add_argument("--case", nargs="*", choices=CASES, default=list(CASES), help="the runs to measure")
    options = parser.parse_args()
    regular = measure(build_regular(options.points))
    print("| run | findings | complete, s | times a regular run | live look, ms |\n|---|---|---|---|---|")
    print_row("regular", regular, regular)
    for name in options.case:
        print_row(name, measure(CASES[name](options.points)), regular)


def print_row(name: str, measured: tuple[float, float, int], regular: tuple[float, float, int]) -> None:
    """Print a run's row of the table."""
    complete, look, findings = measured
    cells = f"{complete:.2f} | {complete / regular[0]:.1f} | {1000 * look:.1f}"
    print(f"| {name} | {findings} | {cells} |", flush=True)


def measure(run: RunData) -> tuple[float, float, int]:
    """Seconds of a complete analysis and of a look after one new point, and the number of findings."""
    complete = median(seconds(lambda: find(run)) for _ in range(_COMPLETE_PASSES))
    size = min(map(len, run.series.values())) - _LOOKS
    state = IncrementalState()
    find(first_points(run, size), state=state)
    looks = [seconds(partial(find, first_points(run, size + new + 1), state=state)) for new in range(_LOOKS)]
    return complete, median(looks), len(find(run, state=state))


def build_regular(points: int) -> RunData:
    """A run in one attempt, one point a step."""
    return build_run(np.arange(points), np.zeros(points, np.int64), curve(points))


def build_irregular(points: int) -> RunData:
    """A run whose points are 5 to 15 steps apart."""
    steps = np.cumsum(np.random.default_rng(1).integers(5, 16, points))
    return build_run(steps, np.zeros(points, np.int64), curve(points))


def build_epochs(points: int, *, epochs: int) -> RunData:
    """A run whose steps begin at 0 in every epoch, which makes each an attempt."""
    length = points // epochs
    steps = np.tile(np.arange(length), epochs)
    return build_run(steps, np.repeat(np.arange(epochs), length), curve(len(steps)))


def build_restarts(points: int, *, attempts: int) -> RunData:
    """A run that is restarted again and again, each time a third of an attempt before its end."""
    length = points // attempts
    attempt = np.repeat(np.arange(attempts), length)
    steps = np.arange(len(attempt)) - attempt * (length // 3)
    return build_run(steps, attempt, curve(len(steps)))


def build_spikes(points: int) -> RunData:
    """A run whose level is constant, with a spike of another height at every interval or so."""
    rng = np.random.default_rng(2)
    loss = 1 + 0.02 * rng.normal(0, 1, points)
    spikes = np.arange(300, points - _SPIKE_SPACING, _SPIKE_SPACING)
    spikes += rng.integers(0, _SPIKE_SPACING // 4, len(spikes))
    heights = np.geomspace(0.5, 50, len(spikes))
    for offset in range(3):
        loss[spikes + offset] += heights
    return build_run(np.arange(points), np.zeros(points, np.int64), loss)


CASES: dict[str, Callable[[int], RunData]] = {
    "steps 5 to 15 apart": build_irregular,
    "50 epochs": partial(build_epochs, epochs=50),
    "100 epochs": partial(build_epochs, epochs=100),
    "200 epochs": partial(build_epochs, epochs=200),
    "100 attempts": partial(build_restarts, attempts=100),
    "1,600 attempts": partial(build_restarts, attempts=1600),
    "spikes": build_spikes,
}


def curve(points: int) -> FloatArray:
    """A loss that falls, with noise in proportion to it."""
    falling: FloatArray = 2 + 6 * (np.arange(points) + 20.0) ** -0.35
    return falling * np.exp(0.03 * np.random.default_rng(0).normal(0, 1, points))


def build_run(step: IntArray, attempt: IntArray, loss: FloatArray) -> RunData:
    """A run of four series: a loss, its gradient norm, learning rate and time per step."""
    rng, size = np.random.default_rng(3), len(step)
    step_time = 2 * np.exp(0.02 * rng.normal(0, 1, size))
    values = {
        "loss": loss,
        "grad_norm": 0.5 * np.exp(0.1 * rng.normal(0, 1, size)),
        "lr": np.full(size, 3e-4),
        "step_time": step_time,
    }
    columns = {"attempt": attempt, "step": step, "time": 1.7e9 + np.cumsum(step_time)}
    keys = {name: SeriesKey(name) for name in values}
    return RunData(series={key: Series(key=key, value=values[name], **columns) for name, key in keys.items()})


if __name__ == "__main__":
    main()
