"""What a detector promises: a pure, causal function from a run's data to findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from holter.types import Finding, Kind, RunData


class Detector(Protocol):
    """Looks for one pattern.

    Causal: what is found at step t rests on points up to t, so the findings over a longer run contain
    those over any prefix of it: the same place and `detected_step`, while kind, end and evidence develop
    as more is seen. Pure: no clock, no files, no memory between calls; input arrays are read-only.
    Total: any floats in, including none, NaN and infinities; never raises on data.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]]

    def detect(self, run: RunData) -> Iterable[Finding]:
        """Every finding in the run, in the order of their detection."""
        ...
