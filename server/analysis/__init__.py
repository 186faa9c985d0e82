"""Analysis: runs with news are looked at by the detectors, at a pace that leaves room for ingest."""

from holter.server.analysis.loop import AnalysisLoop
from holter.server.analysis.standing import LATE, STALE, Standing, failing

__all__ = ["LATE", "STALE", "AnalysisLoop", "Standing", "failing"]
