"""Analysis: runs with news are looked at by the detectors, at a pace that leaves room for ingest."""

from holter.server.analysis.run_status import MAX_LIVE_DELAY, STALE_AFTER, RunStatus, failed_analyses
from holter.server.analysis.worker import AnalysisWorker

__all__ = ["MAX_LIVE_DELAY", "STALE_AFTER", "AnalysisWorker", "RunStatus", "failed_analyses"]
