"""How often the detectors of losses speak where nothing is wrong: long series by their noise, short ones too.

python benchmarks/faultfree.py [--points 300000] [--evaluations 400]
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from curves import LEVELS, NOISES, Level, Noise, one_series, power, run_of, size_of

from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.eval_loss import EvaluationDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, Kind, Severity

RUN = 20_000
"""Points of a run."""
SIZES = (0.005, 0.02, 0.1)
"""Noise as a share of the level."""
FEW = (20, 50, 200)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=300_000, help="of every kind of noise and size")
    parser.add_argument("--evaluations", type=int, default=400, help="series of every kind and length")
    asked = parser.parse_args()
    heads = " | ".join(f"{size:.1%}" for size in SIZES)
    print(f"False alarms per 10,000 points, noise of\n\n| noise | {heads} |\n|---|" + "---|" * len(SIZES))
    for name, noise in NOISES.items():
        print(
            f"| {name} | {' | '.join(long_row(power, noise, size, asked.points) for size in SIZES)} |",
            flush=True,
        )
    for name, level in LEVELS.items():
        row = " | ".join(long_row(level, NOISES["normal"], size, asked.points) for size in SIZES)
        print(f"| {name}, normal | {row} |", flush=True)
    print(f"\nShare of evaluation series with a false alarm\n\n| noise | {' | '.join(map(str, FEW))} |")
    print("|---|" + "---|" * len(FEW))
    for name in EVALUATED:
        print(
            f"| {name} | {' | '.join(short_cell(NOISES[name], n, asked.evaluations) for n in FEW)} |",
            flush=True,
        )


def long_row(level: Level, noise: Noise, size: float, points: int) -> str:
    """The rate of one kind and size, and what it is made of."""
    told: Counter[str] = Counter()
    runs = max(points // RUN, 1)
    for seed in range(runs):
        random = np.random.default_rng([seed, int(1e4 * size)])
        base = level(random, RUN)
        value = base + size * size_of(base) * noise(random, RUN)
        told.update(one.kind.value for one in alarms(value))
    rate = sum(told.values()) / (runs * RUN) * 1e4
    return "0" if not told else f"{rate:.2f} ({', '.join(f'{kind} {n}' for kind, n in told.items())})"


def alarms(value: np.ndarray) -> list[Finding]:
    """What is said of a loss, besides what is said to be its own noise."""
    with np.errstate(all="ignore"):
        found = list(SpikeDetector().detect(run_of(one_series("loss", value)), DetectorContext()))
    return [one for one in found if one.kind is not Kind.OUTLIER_BATCH]


EVALUATED = (
    "normal",
    "correlated by 0.6",
    "correlated by 0.9",
    "Student's t5",
    "Student's t3",
    "lognormal 0.5",
)


def short_cell(noise: Noise, points: int, count: int) -> str:
    """Of so many series how many say anything, and anything above information."""
    loud = serious = 0
    for seed in range(count):
        random = np.random.default_rng([seed, points])
        at = np.arange(points)
        base = (
            2 + random.uniform(0.5, 8) * (at + random.uniform(0.2, 3)) ** -random.uniform(0.2, 1.0),
            np.full(points, 2.0),
            3.0 - (at > points * random.uniform(0.2, 0.8)),
            1.5 + 2 * np.exp(-at / random.uniform(3, 30)),
            4.0 - 0.5 * (at[:, None] > random.integers(0, points, 4)).sum(axis=1),
        )[seed % 5]
        value = base * (1 + random.choice([0.003, 0.01, 0.03, 0.1]) * noise(random, points))
        step = 500 * at if seed % 2 else np.cumsum(random.integers(200, 2000, points))
        with np.errstate(all="ignore"):
            found = list(
                EvaluationDetector().detect(run_of(one_series("eval/loss", value, step)), DetectorContext())
            )
        loud += bool(found)
        serious += any(one.severity is not Severity.INFO for one in found)
    return f"{loud / count:.2%} ({serious / count:.2%})"


if __name__ == "__main__":
    main()
