"""Analysis: runs with news are looked at by the detectors, at a pace that leaves room for ingest."""

from holter.server.analysis.run_status import LATE, STALE, Standing, failing
from holter.server.analysis.worker import AnalysisLoop

__all__ = ["LATE", "STALE", "AnalysisLoop", "Standing", "failing"]
