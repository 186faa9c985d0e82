"""The protocol that every detector implements, and the context that a pass over a run gives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from holter.detectors.incremental import IncrementalState
from holter.flops.peaks import Peaks
from holter.tuning import Tuning
from holter.types import Finding, Kind, RunData


@dataclass(frozen=True, kw_only=True)
class DetectorContext:
    """What detectors and launch checks are given besides the run's data.

    `tuning`: the user's preferences. `state`: checkpoints of earlier passes over the same run; a new, empty
    one gives the same findings at the cost of a full scan. `peaks`: peak TFLOPS of accelerators, including
    those that the user has set.
    """

    tuning: Tuning = Tuning()
    state: IncrementalState = field(default_factory=IncrementalState)
    peaks: Peaks = field(default_factory=Peaks)


class Detector(Protocol):
    """Detects one pattern in a run.

    Causal: a finding at step t depends on points up to t only, so the findings on a longer run include those
    on any prefix of it, with the same start and `detected_step`, while kind, end and evidence develop as
    more points arrive. Pure: no clock, no files; input arrays are read-only. Total: accepts any floats,
    including none, NaN and infinities, and never raises on data.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]]

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """Every finding in the run, in the order of detection.

        A detector that saves checkpoints in `context.state` scans only the points that are new since the
        previous pass. The findings never depend on whether it did.
        """
        ...
