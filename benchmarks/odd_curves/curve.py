"""The values of which families of curves consist: series, planted events, allowed findings, a registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator
Values = NDArray[np.float64]
Steps = NDArray[np.int64]

FOREVER = 2**62
"""A step after every other."""


@dataclass(frozen=True, eq=False)
class OddSeries:
    """One series [n]; `time` in Unix seconds, None where no clock is logged; `attempt` None: attempt 0."""

    metric: str
    step: Steps
    value: Values
    time: Values | None = None
    attempt: Steps | None = None
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlantedEvent:
    """What must be reported: one finding of one of these kinds that starts within [first, last] steps.

    `metrics`: the finding must be about one of these; empty: about any.
    """

    kinds: frozenset[str]
    first: int
    last: int
    metrics: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AllowedFindings:
    """Findings that are neither right nor wrong: of these kinds (empty: all) within [first, last] steps.

    `critical`: whether they may be critical; a healthy change that no log explains may be a warning only.
    """

    kinds: frozenset[str] = frozenset()
    first: int = -FOREVER
    last: int = FOREVER
    critical: bool = False


@dataclass(frozen=True, eq=False)
class OddCurve:
    """A run: its series, the planted events, and what else may be reported."""

    series: tuple[OddSeries, ...]
    events: tuple[PlantedEvent, ...] = ()
    allowed: tuple[AllowedFindings, ...] = ()


@dataclass(frozen=True)
class CurveFamily:
    """A named generator of runs; `group` is the heading under which it is listed."""

    name: str
    group: str
    description: str
    build: Callable[[Random], OddCurve]

    def curve(self, seed: int) -> OddCurve:
        """The run of a seed; the same on every machine."""
        return self.build(np.random.default_rng([seed, *self.name.encode()]))


FAMILIES: dict[str, CurveFamily] = {}
"""Every family by name, in the order of definition; filled by `family`."""


def family(group: str) -> Callable[[Callable[[Random], OddCurve]], Callable[[Random], OddCurve]]:
    """Register a function as a family: its name is the family's, its docstring the description."""

    def register(build: Callable[[Random], OddCurve]) -> Callable[[Random], OddCurve]:
        name = build.__name__
        if name in FAMILIES:
            raise ValueError(f"two families are named {name}")
        FAMILIES[name] = CurveFamily(name, group, " ".join((build.__doc__ or "").split()), build)
        return build

    return register


def must(kinds: str, first: int, last: int, metrics: str = "") -> PlantedEvent:
    """An event; `kinds` and `metrics` are separated by blanks."""
    return PlantedEvent(frozenset(kinds.split()), int(first), int(last), frozenset(metrics.split()))


def may(
    kinds: str = "", first: float = -FOREVER, last: float = FOREVER, critical: bool = False
) -> AllowedFindings:
    """Allowed findings; `kinds` are separated by blanks, none means all."""
    return AllowedFindings(frozenset(kinds.split()), int(first), int(last), critical)
