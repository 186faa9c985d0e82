"""Faults planted into losses made up: which are found, under the right name, and when.

    python benchmarks/planted.py [--curves 40]

Every curve is drawn anew: its level (curves.LEVELS), its noise (0.3 to 5 % of the level), its interval (each
step, means of ten, every tenth) and the place of the fault. The sizes are those of `FAULTS`: what shows by
its noise and is worth a word (docs/detection-loss.md), twice that, and five times.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from curves import LEVELS, NOISES, one_series, run_of, size_of

from holter.detectors import find
from holter.types import Finding, FloatArray, Kind, RunData

POINTS = 6000
SIZES = {"weak": 1.0, "medium": 2.0, "strong": 5.0}
NOISE = ("normal", "correlated by 0.6", "Gamma 4", "Student's t5", "as of 8 bits")
SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED})
OF_THE_LOSS = SPIKES | {Kind.DIVERGENCE, Kind.RESUME_ARTIFACT}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is added to a level: a `shape` of height one over the points since it began, and how high it is
    at least, in shares of noise and of level. `right` are the kinds that name it, `late` the points within
    which it must have been placed."""

    shape: Callable[[FloatArray], FloatArray]
    noises: float
    share: float
    right: frozenset[Kind]
    late: int = 60
    resumed: bool = False


def ramp(length: float) -> Callable[[FloatArray], FloatArray]:
    """A rise that takes so many points."""
    return lambda since: np.clip(since / length, 0, 1)


FAST = frozenset({Kind.SPIKE_FAST})
SLOW = frozenset({Kind.SPIKE_SLOW})
RESUME = frozenset({Kind.RESUME_ARTIFACT})
FAULTS: Mapping[str, Fault] = {
    "one point": Fault(shape=lambda since: 1.0 * (since < 1), noises=10, share=0.22, right=FAST),
    "spike over 10 points": Fault(shape=lambda since: np.exp(-since / 8), noises=7, share=0.1, right=FAST),
    "plateau of 50 points": Fault(shape=lambda since: 1.0 * (since < 50), noises=2, share=0.04, right=FAST),
    "spike over 300 points": Fault(
        shape=lambda since: np.exp(-since / 200), noises=5, share=0.1, right=SLOW | {Kind.SPIKE_UNRECOVERED}
    ),
    "step up for good": Fault(
        shape=lambda since: np.ones(len(since)),
        noises=2.5,
        share=0.08,
        right=frozenset({Kind.SPIKE_UNRECOVERED, Kind.SPIKE_SLOW}),
    ),
    "drift over 1,500 points": Fault(
        shape=ramp(1500), noises=2, share=0.08, right=frozenset({Kind.DIVERGENCE}), late=2000
    ),
    "growing oscillation": Fault(
        shape=lambda since: np.clip(since / 1000, 0, 1) * np.sin(since / 10),
        noises=4,
        share=0.2,
        late=1200,
        right=SPIKES | {Kind.DIVERGENCE},
    ),
    "two peaks, 25 points apart": Fault(
        shape=lambda since: np.exp(-since / 4) + np.where(since >= 25, np.exp(-(since - 25) / 4), 0.0),
        noises=8,
        share=0.15,
        right=FAST,
    ),
    "resume with a spike": Fault(
        shape=lambda since: np.exp(-since / 30), noises=4, share=0.06, right=RESUME, resumed=True
    ),
    "resume higher": Fault(
        shape=lambda since: np.ones(len(since)), noises=1, share=0.03, right=RESUME, resumed=True
    ),
}


@dataclass
class Tally:
    """What became of some planted faults."""

    planted: int = 0
    found: int = 0
    right: int = 0
    others: int = 0
    pieces: int = 0
    delays: list[float] = field(default_factory=list)

    def row(self) -> str:
        """Recall, precision, kinds right, pieces, delays."""
        told = self.found + self.others
        p50, p90 = np.quantile(self.delays, (0.5, 0.9)) if self.delays else (np.nan, np.nan)
        cells = (
            f"{self.found / max(self.planted, 1):.2f}",
            f"{self.found / told:.2f}" if told else "-",
            f"{self.right / max(self.found, 1):.2f}",
            f"{self.pieces}",
            f"{p50:.0f}/{p90:.0f}",
        )
        return " | ".join(cells)


def main() -> None:
    """Print the tables: by fault and size, by noise, by level."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=40, help="of every fault and size")
    asked = parser.parse_args()
    by_fault: dict[str, Tally] = {}
    by_noise = {name: Tally() for name in NOISE}
    by_level = {name: Tally() for name in LEVELS}
    head = "found | precision | right kind | pieces | delay p50/p90 |\n|---|---|---|---|---|---|"
    print(f"| fault | {head}")
    for name, fault in FAULTS.items():
        for size, times in SIZES.items():
            tally = by_fault[f"{name}, {size}"] = Tally()
            for seed in range(asked.curves):
                drawn = NOISE[seed % len(NOISE)], list(LEVELS)[seed % len(LEVELS)]
                run, at, attempt, interval = planted(fault, times, *drawn, seed)
                for one in (tally, by_noise[drawn[0]], by_level[drawn[1]]):
                    judge(one, fault, find(run), at, attempt, interval)
            print(f"| {name}, {size} | {tally.row()} |", flush=True)
    for title, tallies in (("noise", by_noise), ("level", by_level)):
        print(f"\n| {title} | {head}")
        for name, tally in tallies.items():
            print(f"| {name} | {tally.row()} |")


def planted(fault: Fault, times: float, noise: str, level: str, seed: int) -> tuple[RunData, int, int, int]:
    """A run with a fault; the step at which it begins, its attempt, and the interval of its log."""
    random = np.random.default_rng([seed, int(10 * times)])
    base = LEVELS[level](random, POINTS)
    size = float(np.exp(random.uniform(np.log(0.003), np.log(0.05)))) * size_of(base)
    interval, is_mean = ((1, False), (10, True), (10, False))[seed % 3]
    row = int(random.integers(POINTS // 3, POINTS - 2200))
    height = times * max(fault.noises * size, fault.share * abs(base[row]))
    # a log of every tenth step shows the same shape ten times as long
    since = np.arange(POINTS - row, dtype=np.float64)
    value = base + size * NOISES[noise](random, POINTS)
    value[row:] += height * fault.shape(since)
    step = np.arange(POINTS) * interval + (interval - 1 if is_mean else 0)
    attempt = (np.arange(POINTS) >= row).astype(np.int64) * fault.resumed
    return run_of(one_series("loss", value, step, attempt)), int(step[row]), int(fault.resumed), interval


def judge(tally: Tally, fault: Fault, found: list[Finding], at: int, attempt: int, interval: int) -> None:
    """Count what was found: the first finding that begins with the fault, those within it, and others."""
    tally.planted += 1
    mine = [
        one
        for one in found
        if one.kind in OF_THE_LOSS
        and one.attempt == attempt
        and -20 * interval <= one.start_step - at <= fault.late * interval
    ]
    later = [one for one in found if one.kind in OF_THE_LOSS and one not in mine]
    within = [one for one in later if one.attempt == attempt and one.start_step > at]
    tally.others += len(later) - len(within)
    tally.pieces += len(within) + max(len(mine) - 1, 0)
    if mine:
        tally.found += 1
        # what is over within a hundred points is not within as many steps where every tenth is logged
        right = fault.right | SLOW if fault.right == FAST and interval > 1 else fault.right
        tally.right += mine[0].kind in right
        tally.delays.append((mine[0].detected_step - at) / interval)


if __name__ == "__main__":
    main()
