"""Plants faults into simulated runs: throughput, ranks, datasets, replays, masks, loss scales and memory.

    python benchmarks/planted_runs.py [--runs 12] [--only straggler] [--write]

Every run has its own random level, interval, set of logged metrics, and position of the fault. Losses alone
are in planted_losses.py. `--write` puts the table into docs/measurements/detection.md.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from page_sections import DOCS, write_section
from planted_faults import losses, ranks, scale_and_memory, throughput
from planted_faults.fault import Fault, PlantedRun

from holter.detectors import find
from holter.types import Finding, Severity

FAULTS = {**throughput.FAULTS, **ranks.FAULTS, **losses.FAULTS, **scale_and_memory.FAULTS}
HEADER = (
    "| planted | size | noise | recall | precision | right | delay p50/p90 | false alarms |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass
class PlantedRunScore:
    """Counts of planted and found faults; `false_alarms` are the kinds of the other findings (not info)."""

    runs: int = 0
    planted: int = 0
    found: int = 0
    right: int = 0
    false_alarms: list[str] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def count(self, planted: PlantedRun, findings: list[Finding]) -> None:
        """Count the findings in a run: the first that matches the fault, and those of something else.

        A later finding of the same fault is a part of it and counts as neither.
        """
        self.runs += 1
        matches = [finding for finding in findings if matches_fault(finding, planted)]
        others = [
            finding
            for finding in findings
            if not (finding.kind in planted.kinds and is_since_onset(finding, planted))
        ]
        self.false_alarms += [
            finding.kind.value for finding in others if finding.severity is not Severity.INFO
        ]
        self.planted += bool(planted.kinds)
        if matches:
            self.found += 1
            self.right += planted.is_right(matches[0])
            self.delays.append((matches[0].detected_step - planted.onset) / planted.spacing)

    def cells(self) -> str:
        """Cells of the table: recall, precision, share of right findings, delay in points, false alarms."""
        counts = Counter(self.false_alarms)
        false = ", ".join(f"{kind} {counts[kind]}" for kind in sorted(counts)) or "0"
        if not self.planted:
            return f"- | - | - | - | {false}"
        findings = self.found + len(self.false_alarms)
        recall, precision = self.found / self.planted, self.found / findings if findings else 1.0
        right = f"{self.right / self.found:.2f}" if self.found else "-"
        delay = "-"
        if self.delays:
            delay = "/".join(f"{quantile:.0f}" for quantile in np.quantile(self.delays, (0.5, 0.9)))
        return f"{recall:.2f} | {precision:.2f} | {right} | {delay} | {false}"


def matches_fault(finding: Finding, planted: PlantedRun) -> bool:
    """Whether a finding has the kind of the fault and begins near its onset."""
    offset = finding.start_step - planted.onset
    return (
        finding.kind in planted.kinds
        and finding.attempt == planted.attempt
        and -planted.tolerance <= offset <= planted.max_delay
    )


def is_since_onset(finding: Finding, planted: PlantedRun) -> bool:
    """Whether a finding begins with the fault, or later."""
    first_step = planted.onset - planted.tolerance
    return (finding.attempt, finding.start_step) >= (planted.attempt, first_step)


def main() -> None:
    """Print the table; write it into the documentation with `--write`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=12, help="runs of every fault, size and noise")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names contain this")
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/measurements/detection.md"
    )
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    rows = [
        measure_row(name, fault, size, noise, arguments.runs)
        for name, fault in FAULTS.items()
        if arguments.only in name
        for size in fault.sizes
        for noise in fault.noises
    ]
    if arguments.write:
        page = DOCS / "measurements" / "detection.md"
        write_section(page, "planted faults", "\n".join([HEADER, *rows]))


def measure_row(name: str, fault: Fault, size: str, noise: str, runs: int) -> str:
    """Measure one row of the table, and print it at once."""
    score, row_seed = PlantedRunScore(), zlib.crc32(f"{name} {size} {noise}".encode())
    for seed in range(runs):
        planted = fault.make(np.random.default_rng([row_seed, seed]), fault.sizes[size], noise)
        with np.errstate(all="ignore"):
            score.count(planted, find(planted.run))
    text = f"| {name} | {size} | {noise} | {score.cells()} |"
    print(text, flush=True)
    return text


if __name__ == "__main__":
    main()
