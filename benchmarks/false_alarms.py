"""Measures false alarms of the loss detectors on fault-free series: long training losses, short evaluations.

python benchmarks/false_alarms.py [--points 300000] [--evaluations 400]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable

import numpy as np
from simulated_losses import LEVELS, NOISES, Level, Noise, build_run, build_series, noise_unit, power

from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.eval_loss import EvaluationDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, Kind, Severity

POINTS_PER_RUN = 20_000
NOISE_LEVELS = (0.005, 0.02, 0.1)
"""Standard deviation of the noise as a fraction of the level."""
EVALUATION_COUNTS = (20, 50, 200)
EVALUATION_NOISES = (
    "normal",
    "correlated by 0.6",
    "correlated by 0.9",
    "Student's t5",
    "Student's t3",
    "lognormal 0.5",
)


def main() -> None:
    """Print both tables: by noise and level, and by noise and number of evaluations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=300_000, help="of every kind of noise and size")
    parser.add_argument("--evaluations", type=int, default=400, help="series of every kind and length")
    arguments = parser.parse_args()
    print("False alarms per 10,000 points, by the size of the noise\n")
    print_header(f"{size:.1%}" for size in NOISE_LEVELS)
    for name, noise in NOISES.items():
        print_row(name, (alarm_rate(power, noise, size, arguments.points) for size in NOISE_LEVELS))
    for name, level in LEVELS.items():
        cells = (alarm_rate(level, NOISES["normal"], size, arguments.points) for size in NOISE_LEVELS)
        print_row(f"{name}, normal", cells)
    print("\nShare of evaluation series with a false alarm, by the number of evaluations\n")
    print_header(map(str, EVALUATION_COUNTS))
    for name in EVALUATION_NOISES:
        noise, series = NOISES[name], arguments.evaluations
        print_row(name, (evaluation_alarm_rate(noise, points, series) for points in EVALUATION_COUNTS))


def print_header(columns: Iterable[str]) -> None:
    """Print the header of a Markdown table by noise."""
    names = ["noise", *columns]
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")


def print_row(name: str, cells: Iterable[str]) -> None:
    """Print a row of a Markdown table at once."""
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def alarm_rate(level: Level, noise: Noise, size: float, points: int) -> str:
    """False alarms per 10,000 points of one kind and size of noise, and their kinds."""
    counts: Counter[str] = Counter()
    runs = max(points // POINTS_PER_RUN, 1)
    for seed in range(runs):
        random = np.random.default_rng([seed, int(1e4 * size)])
        base = level(random, POINTS_PER_RUN)
        value = base + size * noise_unit(base) * noise(random, POINTS_PER_RUN)
        counts.update(alarm.kind.value for alarm in find_alarms(value))
    rate = sum(counts.values()) / (runs * POINTS_PER_RUN) * 1e4
    return "0" if not counts else f"{rate:.2f} ({', '.join(f'{kind} {n}' for kind, n in counts.items())})"


def find_alarms(value: np.ndarray) -> list[Finding]:
    """Findings in a loss, without outliers that are attributed to its own noise."""
    with np.errstate(all="ignore"):
        findings = list(SpikeDetector().detect(build_run(build_series("loss", value)), DetectorContext()))
    return [finding for finding in findings if finding.kind is not Kind.OUTLIER_BATCH]


def evaluation_alarm_rate(noise: Noise, points: int, count: int) -> str:
    """The share of `count` series with any finding, and (in brackets) with one above information."""
    alarmed = severe = 0
    for seed in range(count):
        random = np.random.default_rng([seed, points])
        index = np.arange(points)
        base = (
            2 + random.uniform(0.5, 8) * (index + random.uniform(0.2, 3)) ** -random.uniform(0.2, 1.0),
            np.full(points, 2.0),
            3.0 - (index > points * random.uniform(0.2, 0.8)),
            1.5 + 2 * np.exp(-index / random.uniform(3, 30)),
            4.0 - 0.5 * (index[:, None] > random.integers(0, points, 4)).sum(axis=1),
        )[seed % 5]
        value = base * (1 + random.choice([0.003, 0.01, 0.03, 0.1]) * noise(random, points))
        step = 500 * index if seed % 2 else np.cumsum(random.integers(200, 2000, points))
        with np.errstate(all="ignore"):
            run = build_run(build_series("eval/loss", value, step))
            findings = list(EvaluationDetector().detect(run, DetectorContext()))
        alarmed += bool(findings)
        severe += any(finding.severity is not Severity.INFO for finding in findings)
    return f"{alarmed / count:.2%} ({severe / count:.2%})"


if __name__ == "__main__":
    main()
