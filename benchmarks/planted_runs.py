"""Faults planted into whole runs made up: speeds, ranks, datasets, replays, masks, scales and memory.

    python benchmarks/planted_runs.py [--runs 12] [--only straggler] [--write]

Every run is drawn anew: its level, its interval, which metrics it logs, and the place of the fault. Losses
alone are in planted.py. `--write` puts the table into docs/detection.md, between the marks it has for it.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from plants import losses, ranks, speeds, state
from plants.plant import Fault, Planted

from holter.detectors import find
from holter.types import Finding, Severity

FAULTS = {**speeds.FAULTS, **ranks.FAULTS, **losses.FAULTS, **state.FAULTS}
PAGE = Path(__file__).parents[1] / "docs" / "detection.md"
MARKS = ("<!-- benchmarks/planted_runs.py writes from here -->", "<!-- planted runs to here -->")
HEAD = (
    "| planted | size | noise | recall | precision | right | delay p50/p90 | false alarms |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass
class Tally:
    """What became of some planted faults; `others` are findings of anything else, above information."""

    runs: int = 0
    planted: int = 0
    found: int = 0
    right: int = 0
    others: list[str] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def count(self, planted: Planted, told: list[Finding]) -> None:
        """Count what was found in one run: the first that sees the fault, and what is something else.
        What sees it again, later, is a piece of it and neither."""
        self.runs += 1
        mine = [one for one in told if sees(one, planted)]
        other = [one for one in told if not (one.kind in planted.kinds and follows(one, planted))]
        self.others += [one.kind.value for one in other if one.severity is not Severity.INFO]
        self.planted += bool(planted.kinds)
        if mine:
            self.found += 1
            self.right += planted.is_right(mine[0])
            self.delays.append((mine[0].detected_step - planted.at) / planted.spacing)

    def cells(self) -> str:
        """Recall, precision, share named right, delay in logged points, and what was told wrongly."""
        false = ", ".join(f"{kind} {self.others.count(kind)}" for kind in sorted(set(self.others))) or "0"
        if not self.planted:
            return f"- | - | - | - | {false}"
        told = self.found + len(self.others)
        shares = [self.found / self.planted, self.found / told if told else 1.0]
        right = f"{self.right / self.found:.2f}" if self.found else "-"
        delay = "/".join(f"{one:.0f}" for one in np.quantile(self.delays, (0.5, 0.9))) if self.delays else "-"
        return f"{shares[0]:.2f} | {shares[1]:.2f} | {right} | {delay} | {false}"


def sees(finding: Finding, planted: Planted) -> bool:
    """Whether a finding names the kind of the fault, and places it where it began."""
    early = max(10 * planted.spacing, planted.early)
    after = finding.start_step - planted.at
    return (
        finding.kind in planted.kinds
        and finding.attempt == planted.attempt
        and -early <= after <= planted.late
    )


def follows(finding: Finding, planted: Planted) -> bool:
    """Whether it begins with the fault, or later."""
    begun = planted.at - max(10 * planted.spacing, planted.early)
    return (finding.attempt, finding.start_step) >= (planted.attempt, begun)


def main() -> None:
    """Print the table, and write it where wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=12, help="of every fault, size and noise")
    parser.add_argument("--only", default="", metavar="WORDS", help="faults whose names have these words")
    parser.add_argument("--write", action="store_true", help="put the table into docs/detection.md")
    asked = parser.parse_args()
    print(HEAD, flush=True)
    rows = [
        row(name, fault, size, noise, asked.runs)
        for name, fault in FAULTS.items()
        if asked.only in name
        for size in fault.sizes
        for noise in fault.noises
    ]
    if asked.write:
        write("\n".join([HEAD, *rows]))


def row(name: str, fault: Fault, size: str, noise: str, runs: int) -> str:
    """One row of the table, printed as soon as it is known."""
    tally, own = Tally(), zlib.crc32(f"{name} {size} {noise}".encode())
    for seed in range(runs):
        planted = fault.make(np.random.default_rng([own, seed]), fault.sizes[size], noise)
        with np.errstate(all="ignore"):
            tally.count(planted, find(planted.run))
    text = f"| {name} | {size} | {noise} | {tally.cells()} |"
    print(text, flush=True)
    return text


def write(text: str) -> None:
    """Put the table between the marks of the page, which stand there once."""
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not after:
        sys.exit(f"{PAGE}: the marks {' and '.join(MARKS)} expected")
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
