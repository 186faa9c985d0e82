"""Analysis: a worker runs the detectors on changed runs, at a rate that leaves the processor to ingest."""

from holter.server.analysis.run_status import MAX_LIVE_DELAY, STALE_AFTER, RunStatus, failed_analyses
from holter.server.analysis.worker import AnalysisWorker

__all__ = ["MAX_LIVE_DELAY", "STALE_AFTER", "AnalysisWorker", "RunStatus", "failed_analyses"]
