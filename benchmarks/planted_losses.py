"""Plants faults into simulated losses, and measures which are found, with the right kind, and how late.

    python benchmarks/planted_losses.py [--curves 40]

Every curve has its own random level (simulated_losses.LEVELS), noise (0.3 to 5 % of the level), interval
(each step, means of ten, every tenth step) and position of the fault. The sizes are those of `FAULTS`, where
the fault only just exceeds the noise and the minimum change (docs/measurements/detection.md), and two and
five times that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from simulated_losses import LEVELS, NOISES, build_run, build_series, noise_unit

from holter.detectors import find
from holter.types import Finding, FloatArray, Kind, RunData

POINTS = 6000
SIZES = {"weak": 1.0, "medium": 2.0, "strong": 5.0}
NOISE_NAMES = ("normal", "correlated by 0.6", "Gamma 4", "Student's t5", "8-bit training")
SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED})
LOSS_KINDS = SPIKES | {Kind.DIVERGENCE, Kind.RESUME_ARTIFACT}


@dataclass(frozen=True, kw_only=True)
class LossFault:
    """A fault that is added to a level.

    `shape` maps the number of points since the onset to a curve of height 1. The height is the larger of
    `noise_multiple` times the noise and `level_fraction` times the level. `expected_kinds` are the kinds that
    are right, `max_delay` is the number of points after the onset up to which a finding may begin; `resumed`:
    the fault begins with a new attempt."""

    shape: Callable[[FloatArray], FloatArray]
    noise_multiple: float
    level_fraction: float
    expected_kinds: frozenset[Kind]
    max_delay: int = 60
    resumed: bool = False


def ramp(length: float) -> Callable[[FloatArray], FloatArray]:
    """A linear rise over `length` points."""
    return lambda since: np.clip(since / length, 0, 1)


FAST = frozenset({Kind.SPIKE_FAST})
SLOW = frozenset({Kind.SPIKE_SLOW})
RESUME = frozenset({Kind.RESUME_ARTIFACT})
FAULTS: Mapping[str, LossFault] = {
    "one point": LossFault(
        shape=lambda since: 1.0 * (since < 1), noise_multiple=10, level_fraction=0.22, expected_kinds=FAST
    ),
    "spike over 10 points": LossFault(
        shape=lambda since: np.exp(-since / 8), noise_multiple=7, level_fraction=0.1, expected_kinds=FAST
    ),
    "plateau of 50 points": LossFault(
        shape=lambda since: 1.0 * (since < 50), noise_multiple=2, level_fraction=0.04, expected_kinds=FAST
    ),
    "spike over 300 points": LossFault(
        shape=lambda since: np.exp(-since / 200),
        noise_multiple=5,
        level_fraction=0.1,
        expected_kinds=SLOW | {Kind.SPIKE_UNRECOVERED},
    ),
    "step up for good": LossFault(
        shape=lambda since: np.ones(len(since)),
        noise_multiple=2.5,
        level_fraction=0.08,
        expected_kinds=frozenset({Kind.SPIKE_UNRECOVERED, Kind.SPIKE_SLOW}),
    ),
    "drift over 1,500 points": LossFault(
        shape=ramp(1500),
        noise_multiple=2,
        level_fraction=0.08,
        expected_kinds=frozenset({Kind.DIVERGENCE}),
        max_delay=2000,
    ),
    "growing oscillation": LossFault(
        shape=lambda since: np.clip(since / 1000, 0, 1) * np.sin(since / 10),
        noise_multiple=4,
        level_fraction=0.2,
        max_delay=1200,
        expected_kinds=SPIKES | {Kind.DIVERGENCE},
    ),
    "two peaks, 25 points apart": LossFault(
        shape=lambda since: np.exp(-since / 4) + np.where(since >= 25, np.exp(-(since - 25) / 4), 0.0),
        noise_multiple=8,
        level_fraction=0.15,
        expected_kinds=FAST,
    ),
    "resume with a spike": LossFault(
        shape=lambda since: np.exp(-since / 30),
        noise_multiple=4,
        level_fraction=0.06,
        expected_kinds=RESUME,
        resumed=True,
    ),
    "resume higher": LossFault(
        shape=lambda since: np.ones(len(since)),
        noise_multiple=1,
        level_fraction=0.03,
        expected_kinds=RESUME,
        resumed=True,
    ),
}


@dataclass(frozen=True, kw_only=True)
class PlantedLoss:
    """A run with a fault: the step and attempt at which it begins, and the steps between two points."""

    run: RunData
    onset: int
    attempt: int
    interval: int


@dataclass
class LossFaultScore:
    """Counts of planted and found faults; `fragments` are further findings within a found fault."""

    planted: int = 0
    found: int = 0
    right_kind: int = 0
    false_alarms: int = 0
    fragments: int = 0
    delays: list[float] = field(default_factory=list)

    def row(self) -> str:
        """Cells of a table: recall, precision, share of right kinds, fragments, delays."""
        findings = self.found + self.false_alarms
        p50, p90 = np.quantile(self.delays, (0.5, 0.9)) if self.delays else (np.nan, np.nan)
        cells = (
            f"{self.found / max(self.planted, 1):.2f}",
            f"{self.found / findings:.2f}" if findings else "-",
            f"{self.right_kind / max(self.found, 1):.2f}",
            f"{self.fragments}",
            f"{p50:.0f}/{p90:.0f}",
        )
        return " | ".join(cells)

    def count(self, fault: LossFault, planted: PlantedLoss, findings: list[Finding]) -> None:
        """Count the findings in a run: the first that begins with the fault, those within it, and others."""
        self.planted += 1
        interval = planted.interval
        loss_findings = [finding for finding in findings if finding.kind in LOSS_KINDS]
        matches = [
            finding
            for finding in loss_findings
            if finding.attempt == planted.attempt
            and -20 * interval <= finding.start_step - planted.onset <= fault.max_delay * interval
        ]
        others = [finding for finding in loss_findings if finding not in matches]
        fragments = [
            finding
            for finding in others
            if finding.attempt == planted.attempt and finding.start_step > planted.onset
        ]
        self.false_alarms += len(others) - len(fragments)
        self.fragments += len(fragments) + max(len(matches) - 1, 0)
        if matches:
            self.found += 1
            # fewer than a hundred points can be more than a hundred steps where every tenth step is logged
            is_fast = fault.expected_kinds == FAST and interval > 1
            self.right_kind += matches[0].kind in (FAST | SLOW if is_fast else fault.expected_kinds)
            self.delays.append((matches[0].detected_step - planted.onset) / interval)


def main() -> None:
    """Print the tables: by fault and size, by noise, by level."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=40, help="curves of every fault and size")
    arguments = parser.parse_args()
    by_noise = {name: LossFaultScore() for name in NOISE_NAMES}
    by_level = {name: LossFaultScore() for name in LEVELS}
    header = "found | precision | right kind | fragments | delay p50/p90 |\n|---|---|---|---|---|---|"
    print(f"| fault | {header}")
    for name, fault in FAULTS.items():
        for size, factor in SIZES.items():
            score = LossFaultScore()
            for seed in range(arguments.curves):
                names = NOISE_NAMES[seed % len(NOISE_NAMES)], list(LEVELS)[seed % len(LEVELS)]
                planted = plant(fault, factor, *names, seed)
                findings = find(planted.run)
                for each in (score, by_noise[names[0]], by_level[names[1]]):
                    each.count(fault, planted, findings)
            print(f"| {name}, {size} | {score.row()} |", flush=True)
    for title, scores in (("noise", by_noise), ("level", by_level)):
        print(f"\n| {title} | {header}")
        for name, score in scores.items():
            print(f"| {name} | {score.row()} |")


def plant(fault: LossFault, factor: float, noise: str, level: str, seed: int) -> PlantedLoss:
    """A random run with a fault of `factor` times its smallest size."""
    random = np.random.default_rng([seed, int(10 * factor)])
    base = LEVELS[level](random, POINTS)
    size = float(np.exp(random.uniform(np.log(0.003), np.log(0.05)))) * noise_unit(base)
    interval, is_mean = ((1, False), (10, True), (10, False))[seed % 3]
    row = int(random.integers(POINTS // 3, POINTS - 2200))
    height = factor * max(fault.noise_multiple * size, fault.level_fraction * abs(base[row]))
    # in a log of every tenth step the same shape lasts ten times as many steps
    since = np.arange(POINTS - row, dtype=np.float64)
    value = base + size * NOISES[noise](random, POINTS)
    value[row:] += height * fault.shape(since)
    step = np.arange(POINTS) * interval + (interval - 1 if is_mean else 0)
    attempt = (np.arange(POINTS) >= row).astype(np.int64) * fault.resumed
    return PlantedLoss(
        run=build_run(build_series("loss", value, step, attempt)),
        onset=int(step[row]),
        attempt=int(fault.resumed),
        interval=interval,
    )


if __name__ == "__main__":
    main()
