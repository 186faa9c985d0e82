"""Compares stored runs: what the REST routes call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from holter.server.compare.curves import CurveReader
from holter.server.compare.differences import DifferenceReader
from holter.server.compare.run_access import RunAccess
from holter.server.compare.statistics import StatisticsReader
from holter.server.read_models.runs import RunReader
from holter.server.schemas.compare import CompareCurves, CompareDifferences, CompareStatistics
from holter.server.store import Store
from holter.tuning import Tuning


class ComparisonReader:
    """Answers about several runs. All methods raise UnknownRunError and CorruptDataError."""

    def __init__(
        self, engine: Engine, store: Store, runs: RunReader, tuning: Callable[[str], Tuning]
    ) -> None:
        self.access = RunAccess(runs, store, tuning)
        self._curves = CurveReader(self.access)
        self._statistics = StatisticsReader(self.access)
        self._differences = DifferenceReader(engine, self.access, self._statistics)

    def curves(self, public_ids: list[str], **options: Any) -> CompareCurves:
        """Curves on a common axis: see `CurveReader.curves`."""
        return self._curves.curves(public_ids, **options)

    def differences(self, public_ids: list[str], **options: Any) -> CompareDifferences:
        """Differences of settings, figures and incidents: see `DifferenceReader.differences`."""
        return self._differences.differences(public_ids, **options)

    def statistics(self, public_ids: list[str], **options: Any) -> CompareStatistics:
        """Differences of a metric with intervals: see `StatisticsReader.statistics`."""
        return self._statistics.statistics(public_ids, **options)
