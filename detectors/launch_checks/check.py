"""The protocol of launch checks: pure functions from what a run's logs state of a launch to diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from holter.detectors.detector import DetectorContext
from holter.types import Diagnostic, RunData


class LaunchCheck(Protocol):
    """Checks how launches are configured: `run.config` and, where it needs them, the series.

    Pure: no clock, no files. Total: accepts values of any type and never raises on data. What a log does not
    state gives no diagnostic.
    """

    name: ClassVar[str]

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """Every diagnostic on the run."""
        ...
