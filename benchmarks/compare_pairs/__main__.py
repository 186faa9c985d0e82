"""How often comparisons of really trained runs report a difference, and whether the intervals are right.

`python -m benchmarks.compare_pairs` trains (15 minutes of one core, once) and measures; `--write` puts the
tables into docs/measurements/compare.md.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.laboratory.environment import CACHE, ROOT, python_with_torch
from holter.detectors.compare.course import Course, check_course, check_number
from holter.detectors.compare.significance import Curve, CurveDifference, compare_curves
from holter.types import FloatArray

VARIANTS = ("base", "init", "repeat", "rate", "slight", "decay", "data")
"""As in train.py, which runs in another environment."""
TITLES = {
    "seed": "other seed: other weights, other batches",
    "init": "other weights, the same batches",
    "repeat": "the same run with other rounding",
    "rate": "learning rate x 1.3",
    "slight": "learning rate x 1.03",
    "decay": "weight decay 1.0 instead of 0.01",
    "data": "5 % of the examples replaced",
}
_EQUAL = ("seed", "init", "repeat")
_SHIFTS = (1, 2, 3)
PAGE = ROOT / "docs" / "measurements" / "compare.md"


@dataclass(frozen=True)
class Pair:
    """A comparison: what differs, whether seeds are the same, the result, and the true effect."""

    variant: str
    same_seed: bool
    result: CurveDifference
    truth: float

    @property
    def covered(self) -> bool:
        """Whether the interval contains the true effect."""
        return self.result.low <= self.truth <= self.result.high


def pairs(losses: FloatArray) -> Iterator[Pair]:
    """The pairs of one configuration; `losses` [variants, seeds, steps].

    The true effect of a variant is the mean of its differences over all seeds in the compared half.
    """
    _, seeds, steps = losses.shape
    x = np.arange(steps, dtype=np.float64)
    levels = losses[:, :, steps // 2 :].mean(axis=2)

    def compared(a: FloatArray, b: FloatArray) -> CurveDifference:
        result = compare_curves(Curve(x, a), Curve(x, b))
        assert result is not None
        return result

    for shift in _SHIFTS:
        for seed in range(seeds):
            other = (seed + shift) % seeds
            yield Pair("seed", False, compared(losses[0, seed], losses[0, other]), 0.0)
    for number, variant in enumerate(VARIANTS[1:], 1):
        truth = 0.0 if variant in _EQUAL else float(np.mean(levels[number] - levels[0]))
        for seed in range(seeds):
            yield Pair(variant, True, compared(losses[number, seed], losses[0, seed]), truth)
            if variant not in _EQUAL:
                other = losses[0, (seed + 1) % seeds]
                yield Pair(variant, False, compared(losses[number, seed], other), truth)


def alarms(losses: FloatArray) -> Iterator[tuple[str, bool, bool]]:
    """Whether runs were ever called worse, or better, beside one reference as they grew."""
    _, seeds, steps = losses.shape
    x = np.arange(steps, dtype=np.float64)
    for variant in ("base", "data"):
        for seed in range(seeds):
            curve = Curve(x, losses[VARIANTS.index(variant), seed])
            reference = Curve(x, losses[0, (seed + 1) % seeds])
            courses = [
                check_course(curve, [reference], number).course for number in range(check_number(steps) + 1)
            ]
            yield variant, Course.WORSE in courses, Course.BETTER in courses


def table(found: Sequence[Pair]) -> str:
    """The results as Markdown."""
    lines = [
        "| what differs | seeds | pairs | reported as different | true effect | inside the interval "
        "| half interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for variant, title in TITLES.items():
        for same in (False, True):
            own = [pair for pair in found if pair.variant == variant and pair.same_seed == same]
            if not own:
                continue
            shown = np.mean([pair.result.sign != 0 for pair in own])
            covered = np.mean([pair.covered for pair in own])
            effect = np.mean([pair.truth / pair.result.level for pair in own])
            half = np.median([(pair.result.high - pair.result.low) / 2 / pair.result.level for pair in own])
            seeds = "other" if variant == "seed" or not same else "same"
            lines.append(
                f"| {title} | {seeds} | {len(own)} | {shown:.1%} | {effect:+.2%} | {covered:.1%} "
                f"| {half:.2%} |"
            )
    return "\n".join(lines)


def alarm_lines(rows: Sequence[tuple[str, bool, bool]]) -> str:
    """How often runs were ever called worse or better than a reference, in two sentences."""
    equal = [row for row in rows if row[0] == "base"]
    bad = [row for row in rows if row[0] == "data"]
    worse, better, found = (
        sum(row[1] for row in equal),
        sum(row[2] for row in equal),
        sum(row[1] for row in bad),
    )
    return (
        f"Beside one reference of another seed, {worse} of {len(equal)} equal runs were ever called worse "
        f"while they grew, and {better} better; of those with replaced data, {found} of {len(bad)} worse."
    )


def speed(runs: int = 20, points: int = 1_000_000) -> str:
    """The time of the statistics of many long runs in memory, as a sentence."""
    generator = np.random.default_rng(0)
    x = np.arange(points, dtype=np.float64)
    base = Curve(x, 2 + generator.normal(0, 0.1, points))
    others = [Curve(x, base.value + generator.normal(0, 0.01, points)) for _ in range(3)]
    began = time.perf_counter()
    for number in range(runs - 1):
        compare_curves(others[number % len(others)], base)
    return f"{runs} runs of {points:,} points in memory: {1000 * (time.perf_counter() - began):.0f} ms."


def main() -> None:
    """Train what is not there yet, measure, and print or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", choices=("development", "reserved"), default="reserved")
    parser.add_argument("--folder", type=Path, default=CACHE / "compare_pairs")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first-seed", type=int, default=200_000)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob(f"{arguments.list}-*.npy"))
    if not files:
        options: list[Any] = [arguments.folder, "--list", arguments.list, "--seeds", arguments.seeds]
        options += ["--first-seed", arguments.first_seed]
        script = Path(__file__).with_name("train.py")
        subprocess.run([python_with_torch(), script, *map(str, options)], check=True)
        files = sorted(arguments.folder.glob(f"{arguments.list}-*.npy"))
    losses = [np.load(file).astype(np.float64) for file in files]
    found = [pair for each in losses for pair in pairs(each)]
    text = f"{table(found)}\n\n{alarm_lines([row for each in losses for row in alarms(each)])} {speed()}"
    print(text)
    if arguments.write:
        begin, end = "<!-- measured: compare -->\n", "\n<!-- end: compare -->"
        page = PAGE.read_text()
        before, after = page.split(begin)[0], page.split(end)[1]
        PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
