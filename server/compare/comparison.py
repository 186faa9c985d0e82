"""Compares stored runs: the entry point of REST routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from holter.server.compare.curves import CurveReader
from holter.server.compare.run_access import RunAccess
from holter.server.read_models.runs import RunReader
from holter.server.schemas.compare import CompareCurves
from holter.server.store import Store
from holter.tuning import Tuning


class RunComparison:
    """Answers about several runs. All methods raise UnknownRunError and CorruptDataError."""

    def __init__(
        self, engine: Engine, store: Store, runs: RunReader, tuning: Callable[[str], Tuning]
    ) -> None:
        self.access = RunAccess(engine, store, runs.version, tuning)
        self._curves = CurveReader(self.access)

    def curves(self, public_ids: list[str], **options: Any) -> CompareCurves:
        """Curves on a common axis: see `CurveReader.curves`."""
        return self._curves.curves(public_ids, **options)
