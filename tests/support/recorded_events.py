"""Loss curves with every kind of course after a rise, and what the detectors reported of them at last.

`python -m tests.support.recorded_events` records it anew, after a change of detection that is meant to
change it: read the difference before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from holter.types import Finding, RunData
from tests.support.loss_curves import FAMILIES, Floats, curve, decay, detect_all, run_of

RECORDED = Path(__file__).resolve().parent / "recorded_loss_events.json"


def _step(points: int, at: int, height: float, until: int | None = None) -> Floats:
    rows = np.arange(points)
    return np.where((rows >= at) & (rows < (until or points)), height, 0.0)


def _ramp(points: int, at: int, height: float, length: int) -> Floats:
    return height * np.clip((np.arange(points) - at) / length, 0.0, 1.0)


def _ring(points: int, at: int, height: float, period: float, steps: float) -> Floats:
    since = np.arange(points) - at
    return decay(points, at, height, steps) * np.abs(np.cos(np.pi * since / period))


_Course = Callable[[int, int, float], Floats]
"""Points, the point of the rise, and its height; the result is what the fault adds to the loss."""

COURSES: Mapping[str, _Course] = {
    "nothing": lambda points, at, height: np.zeros(points),
    "one point": lambda points, at, height: _step(points, at, height, at + 1),
    "fast": lambda points, at, height: decay(points, at, height, 8),
    "slow": lambda points, at, height: decay(points, at, height, 120),
    "very slow": lambda points, at, height: decay(points, at, height, 500),
    "settles higher": lambda points, at, height: _step(points, at, height),
    "back to a half": lambda points, at, height: (
        0.5 * _step(points, at, height) + decay(points, at, height / 2, 20)
    ),
    "back all at once": lambda points, at, height: _step(points, at, height, at + 180),
    "rings": lambda points, at, height: _ring(points, at, height, 45, 150),
    "second and larger": lambda points, at, height: (
        _step(points, at, height / 2) + decay(points, at + 150, 2 * height, 60)
    ),
    "second while the first lasts": lambda points, at, height: (
        decay(points, at, height, 250) + decay(points, at + 200, 0.8 * height, 40)
    ),
    "third after lulls": lambda points, at, height: sum(
        (decay(points, at + lull, height, 6) for lull in (0, 70, 160)), np.zeros(points)
    ),
    "rises slowly and stays": lambda points, at, height: _ramp(points, at, height, 200),
    "rises slowly and returns": lambda points, at, height: (
        _ramp(points, at, height, 80) - _ramp(points, at + 120, height, 80)
    ),
    "rises to the end": lambda points, at, height: _ramp(points, at, 3 * height, points - at),
    "growing waves": lambda points, at, height: (
        _ramp(points, at, height, 300) * (1 + np.sin(np.arange(points) / 12.0))
    ),
}
_CADENCES: Mapping[str, Callable[[int], Floats]] = {
    "every step": lambda points: np.arange(points),
    "every 10th step": lambda points: 10 * np.arange(points),
    "irregular": lambda points: np.cumsum(np.random.default_rng(points).integers(5, 16, points)),
    "then every 50th": lambda points: np.cumsum(np.where(np.arange(points) < points // 3, 1, 50)),
}


def curves() -> Iterator[tuple[str, RunData]]:
    """Each course with other noise, size, cadence, length and height, and a name that describes it."""
    families, cadences = list(FAMILIES.items()), list(_CADENCES.items())
    for number, (course, shape) in enumerate(COURSES.items()):
        for variant in range(6):
            seed = 10 * number + variant
            family, noise = families[seed % len(families)]
            cadence, steps = cadences[(number + variant) % len(cadences)]
            points = (320, 900, 1600)[variant % 3]
            share = (0.004, 0.02, 0.05)[(number + variant) % 3]
            height = (0.4, 1.5, 4.0)[(variant // 2) % 3]
            loss = curve(points, noise=share, family=noise, seed=seed)
            loss = loss + shape(points, points // 2, height) + (10.0 if variant == 5 else 0.0)
            name = f"{course}, {height:g} high, {family} noise of {share:.1%}, {cadence}, {points} points"
            yield name, run_of(loss, step=steps(points))


def positions(findings: list[Finding]) -> list[list[object]]:
    """Kind, severity and steps of findings: start, peak, end, detected, classified."""
    return [
        [
            finding.kind.value,
            finding.severity.value,
            finding.start_step,
            finding.peak_step,
            finding.end_step,
            finding.detected_step,
            finding.classified_step,
        ]
        for finding in findings
    ]


def main() -> None:
    """Record the findings of all curves."""
    recorded = {name: positions(detect_all(run)) for name, run in curves()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in recorded.items())
    RECORDED.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
