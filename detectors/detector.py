"""What a detector promises: a pure, causal function from a run's data to findings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from inspect import signature
from typing import ClassVar, Protocol, cast

from holter.detectors.incremental import Memory
from holter.types import Finding, Kind, RunData


class Detector(Protocol):
    """Looks for one pattern.

    Causal: what is found at step t rests on points up to t, so the findings over a longer run contain
    those over any prefix of it: the same place and `detected_step`, while kind, end and evidence develop
    as more is seen. Pure: no clock, no files; input arrays are read-only. Total: any floats in, including
    none, NaN and infinities; never raises on data.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]]

    def detect(self, run: RunData) -> Iterable[Finding]:
        """Every finding in the run, in the order of their detection."""
        ...


class Resuming(Detector, Protocol):
    """A detector that leaves what it has worked out in its caller's memory.

    A run that has grown by a few points then costs a few points. What is found never depends on it.
    """

    def detect(self, run: RunData, memory: Memory | None = None) -> Iterable[Finding]:
        """Every finding in the run; without a memory, by looking at all of it."""
        ...


def look(detector: Detector, run: RunData, memory: Memory) -> Iterable[Finding]:
    """What a detector finds, with what it remembers if it can make use of that."""
    if _remembers(type(detector)):
        return cast(Resuming, detector).detect(run, memory)
    return detector.detect(run)


@lru_cache
def _remembers(detector: type[Detector]) -> bool:
    return "memory" in signature(detector.detect).parameters
