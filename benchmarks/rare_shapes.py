"""Plants shapes that are rare into simulated losses: which are found, of the right kind, and how late.

    python benchmarks/rare_shapes.py [--curves 48] [--write]

The levels are those of planted_losses.py without the cyclic one; the noise, of four kinds, is 0.3 to 10 % of
the level. Each curve is logged every step, and once more every tenth step. `--write` puts the table into
docs/measurements/detection.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from page_sections import DOCS, write_section
from simulated_losses import LEVELS, NOISES, Random, build_run, build_series, noise_unit

from holter.detectors import find
from holter.types import Finding, FloatArray, Kind, RunData, Severity

_ROWS = 6000
_NOISES = ("normal", "correlated by 0.6", "Gamma 4", "Student's t5")
_LEVELS = tuple(name for name in LEVELS if name != "cyclic")
_EVERY = 10
_FAST, _SLOW, _LASTING, _DRIFT = Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE
_KINDS = frozenset({_FAST, _SLOW, _LASTING, _DRIFT, Kind.NONFINITE, Kind.OUTLIER_BATCH})
Shape = Callable[[Random, FloatArray], FloatArray]
"""A curve of height 1 over the steps since its onset [n]."""


@dataclass(frozen=True, kw_only=True)
class RareShape:
    """A shape `height` times as high as the noise or 0.1 of the level, whichever is more, and the kinds that
    are right; a finding may begin up to `late` steps after the onset."""

    shape: Shape
    kinds: frozenset[Kind]
    height: float = 10.0
    late: int = 60
    spikes: int = 1
    with_nan: bool = False


def decay(shortest: float, longest: float) -> Shape:
    """A jump that decays within a random number of steps."""
    return lambda random, since: np.exp(-3 * since / random.uniform(shortest, longest))


def settled(random: Random, since: FloatArray) -> FloatArray:
    """A spike that settles at half of its height."""
    return 0.5 + 0.5 * np.exp(-since / random.uniform(10, 60))


def repeated(count: int, apart: int, length: float) -> Shape:
    """Spikes of equal height, some steps apart."""
    starts = apart * np.arange(count)[:, None]
    return lambda _, since: np.where(since >= starts, np.exp(-np.abs(since - starts) / length), 0).sum(axis=0)


def ramp(shortest: float, longest: float) -> Shape:
    """A rise over a random number of steps, then a plateau."""
    return lambda random, since: np.clip(since / random.uniform(shortest, longest), 0, 1)


def oscillation(random: Random, since: FloatArray) -> FloatArray:
    """An oscillation that grows over some thousand steps."""
    return np.clip(since / 1500, 0, 1) * np.sin(since / random.uniform(8, 20))


SHAPES: dict[str, RareShape] = {
    "one point of 25 % and more": RareShape(
        shape=lambda _, since: 1.0 * (since < 1), kinds=frozenset({_FAST}), height=25
    ),
    "spike over 2 to 40 points": RareShape(shape=decay(2, 40), kinds=frozenset({_FAST})),
    "spike over 200 to 900": RareShape(shape=decay(400, 900), kinds=frozenset({_SLOW, _LASTING})),
    "spike that settles at half": RareShape(shape=settled, kinds=frozenset({_LASTING})),
    "step up for good": RareShape(shape=lambda _, since: np.ones(len(since)), kinds=frozenset({_LASTING})),
    "step up that returns slowly": RareShape(
        shape=lambda random, since: np.clip(1 - since / random.uniform(600, 1500), 0, 1),
        kinds=frozenset({_SLOW, _LASTING}),
    ),
    "rise over 100 to 400 steps, then a plateau": RareShape(
        shape=ramp(100, 400), kinds=frozenset({_DRIFT, _LASTING}), late=300
    ),
    "four spikes 150 steps apart": RareShape(
        shape=repeated(4, 150, 8), kinds=frozenset({_FAST, _SLOW}), spikes=4
    ),
    "two peaks 25 steps apart": RareShape(shape=repeated(2, 25, 5), kinds=frozenset({_FAST}), spikes=2),
    "four NaN, then a spike": RareShape(shape=decay(2, 40), kinds=frozenset({Kind.NONFINITE}), with_nan=True),
    "drift over 600 to 1,200 points": RareShape(shape=ramp(600, 1200), kinds=frozenset({_DRIFT}), late=1200),
    "exponential divergence": RareShape(
        shape=lambda random, since: np.minimum(np.expm1(since / random.uniform(150, 300)) / 20, 20),
        kinds=frozenset({_DRIFT}),
        late=1500,
    ),
    "oscillation that grows": RareShape(
        shape=oscillation, kinds=frozenset({_FAST, _SLOW, _LASTING, _DRIFT}), late=1500
    ),
}


@dataclass
class RareShapeScore:
    """Counts over curves of one shape and interval."""

    found: int = 0
    right: int = 0
    delays: list[float] = field(default_factory=list)

    def count(self, shape: RareShape, onset: int, interval: int, findings: list[Finding]) -> None:
        """Count the first of a curve's findings within reach of the onset."""
        of_loss = [each for each in findings if each.kind in _KINDS]
        near = [
            each for each in of_loss if -20 * interval <= each.start_step - onset <= shape.late + interval
        ]
        if near:
            self.found += 1
            # a hundred steps are ten rows where every tenth step is logged: either side of the limit is right
            accepted = shape.kinds | (
                frozenset({_FAST, _SLOW}) if interval > 1 and _FAST in shape.kinds else set()
            )
            self.right += near[0].kind in accepted
            self.delays.append((near[0].detected_step - onset) / interval)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=48, help="curves of every shape")
    parser.add_argument("--write", action="store_true", help="write it into the documentation")
    arguments = parser.parse_args()
    lines = [
        f"| planted, {arguments.curves} each | found | right | delay p50/p90 | every {_EVERY}th | right |",
        "|---|---|---|---|---|---|",
    ]
    before: set[tuple[int, int, bool]] = set()
    for name, shape in SHAPES.items():
        every_step, sparse = RareShapeScore(), RareShapeScore()
        for seed in range(arguments.curves):
            for score, interval in ((every_step, 1), (sparse, _EVERY)):
                run, onset = plant(shape, seed, interval)
                findings = find(run)
                score.count(shape, onset, interval, findings)
                # the curve before the onset is that of all shapes
                early = [each for each in findings if each.start_step < onset - 20 * interval]
                before |= {(seed, interval, each.severity != Severity.INFO) for each in early}
        p50, p90 = np.quantile(every_step.delays, (0.5, 0.9)) if every_step.delays else (np.nan, np.nan)
        cells = (every_step.found, every_step.right, f"{p50:.0f}/{p90:.0f}", sparse.found, sparse.right)
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)
    curves = {(seed, interval) for seed, interval, _ in before}
    urgent = sum(is_urgent for _, _, is_urgent in before)
    alarms = (
        f"{len(curves)} of {2 * arguments.curves} curves have a finding before the onset, {urgent} of them"
    )
    text = "\n".join([*lines, "", f"{alarms} one above information."])
    print(text)
    if arguments.write:
        write_section(DOCS / "measurements" / "detection.md", "rare shapes", text)


def plant(shape: RareShape, seed: int, interval: int) -> tuple[RunData, int]:
    """A random curve of as many rows at any interval, and the step at which its shape begins."""
    random = np.random.default_rng(seed)
    steps = _ROWS * interval
    base = LEVELS[_LEVELS[seed % len(_LEVELS)]](random, steps)
    size = float(np.exp(random.uniform(np.log(0.003), np.log(0.1)))) * noise_unit(base)
    noise = NOISES[_NOISES[seed // len(_LEVELS) % len(_NOISES)]](random, steps)
    onset = int(random.integers(_ROWS // 3, _ROWS - 2500)) * interval
    height = max(shape.height * size, 0.1 * abs(float(base[onset])))
    value = base + size * noise
    value[onset:] += height * shape.shape(random, np.arange(steps - onset, dtype=np.float64))
    if shape.with_nan:
        value[onset : onset + 4 * interval] = np.nan
    logged = np.arange(0, steps, interval)
    return build_run(build_series("loss", value[logged], logged, np.zeros(len(logged), np.int64))), onset


if __name__ == "__main__":
    main()
