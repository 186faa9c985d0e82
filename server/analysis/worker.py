"""The analysis worker: runs the detectors on runs that have changed, and updates their incidents."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from holter.attempts.config import ConfigByAttempt
from holter.detectors import find, fingerprint
from holter.detectors.apply_tuning import with_roles
from holter.detectors.read_by_name import is_read_by_name
from holter.roles import Role
from holter.server.alerting import Incident, IncidentCandidate, IncidentStore
from holter.server.alerting.finding_time import replaced_by, wall_time_of
from holter.server.analysis.run_cache import CachedRun, RunCache
from holter.server.analysis.run_status import RunStatus, load_status, runs_to_analyze
from holter.server.analysis.scheduler import AnalysisScheduler
from holter.server.analysis.usual_ranges import UsualRanges
from holter.server.analysis.usual_trends import UsualTrends
from holter.server.database import writing
from holter.server.maintenance.horizon import DownsamplingHorizon, load_horizon
from holter.server.models.alerting import AnalysisRow
from holter.server.models.points import RunRecord
from holter.server.store.read.changes_since import ReadPosition, RunChanges, SeriesSelector
from holter.server.store.write.sql import upsert
from holter.server.worker_progress import WorkerTurn, ignore_turn
from holter.tuning import PlannedEvent, Tuning
from holter.types import Finding, RunData, Series, SeriesKey

_logger = logging.getLogger(__name__)

_SAVE_INTERVAL = 1.0
"""Seconds between two transactions that record finished passes: a killed server repeats those since."""
_IDLE_SECONDS = 5.0
"""Seconds after which a worker that has nothing to do reports that it still works."""
_CLOSE_SECONDS = 0.5
"""How long a server that stops waits for the pass in progress."""
_MAX_DEFERRED = 10_000
"""Runs whose imported findings are remembered."""
_CACHE_BYTES = 512 * 2**20
"""Bytes of cached points and detector state; the run under analysis may exceed it."""
_MAX_GPU_SERIES = 64
"""GPU activity series that are read of a run: a few show whether all GPUs wait."""


class AbandonedAnalysisError(Exception):
    """The server has stopped during a pass."""


class PointSource(Protocol):
    """The part of the store that the analysis needs."""

    def changes_since(
        self,
        run_id: int,
        since: ReadPosition | None,
        chosen: SeriesSelector,
        *,
        begin: tuple[int, int] | None = None,
    ) -> RunChanges:
        """Changes of the selected series of a run since a position; None: all points, from `begin` on."""
        ...

    def config(self, run_id: int) -> ConfigByAttempt:
        """The configuration of the run's launches, by attempt."""
        ...

    def on_commit(self, listener: Callable[[Any], None]) -> None:
        """Call `listener` after each durable commit."""
        ...


FurtherFindings = Callable[[int, Collection[Series]], list[Finding]]
"""Findings about a run, by its id and its series, that do not follow from the run alone."""


class _PassResult(NamedTuple):
    """What a pass over one run passes on to its incidents."""

    candidates: list[IncidentCandidate]
    live: bool
    over: bool
    planned: Sequence[PlannedEvent]
    horizon: DownsamplingHorizon | None


class AnalysisWorker:
    """Analyzes runs that have changed, in one thread, at the times that an AnalysisScheduler sets.

    A pass reads and computes only what is new, since points and detector state are cached. The cache is never
    needed for correctness: without it, as after a restart, a pass takes longer and finds the same. Finished
    passes are recorded in the database, so that the first pass after a restart covers what came since. A
    run whose pass fails is logged and recorded (`failed_analyses`), and does not stop the others.
    """

    def __init__(
        self,
        engine: Engine,
        store: PointSource,
        incidents: IncidentStore,
        *,
        tuning: Callable[[int], Tuning] = lambda _: Tuning(),
        further: FurtherFindings = lambda _run_id, _series: [],
        clock: Callable[[], float] = time.time,
        on_turn: WorkerTurn = ignore_turn,
    ) -> None:
        """`further`: findings that do not follow from the run alone."""
        self._engine = engine
        self._store = store
        self._further = further
        self._incidents = incidents
        self._tuning = tuning
        self._clock = clock
        self._on_turn = on_turn
        self._scheduler = AnalysisScheduler()
        self._cache = RunCache(_CACHE_BYTES)
        self._usual = UsualRanges()
        self._trends = UsualTrends()
        self._pass_lock = threading.Lock()  # callers of `analyze` use the same cache
        self._unsaved: dict[int, dict[str, Any]] = {}  # rows of finished passes, by run
        self._deferred: dict[int, float] = {}  # by run: changes up to this time need no pass
        self._saved_at = -_SAVE_INTERVAL
        self._stopped_at = 0.0
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        store.on_commit(self._points_arrived)

    def _points_arrived(self, commit: Any) -> None:
        is_new = commit.live and not self._usual.knows(commit.run_id)
        gets_worse = self._trends.add(commit.run_id, commit.columns)
        unusual = commit.has_nonfinite or self._usual.is_unusual(commit.run_id, commit.columns)
        self._scheduler.points_arrived(commit.run_id, urgent=unusual or gets_worse or is_new)

    def start(self) -> None:
        """Start the thread, first with runs that have changed since their last pass or may have stalled."""
        for run_id in runs_to_analyze(self._engine, self._clock()):
            self.request_analysis(run_id)
        self.reader_arrived()  # what else starts, and the first pages, come before a backlog
        self._thread.start()

    def stop(self) -> None:
        """Begin no further pass; the time that the one in progress has counts from the first call."""
        if not self._scheduler.stopped:
            self._stopped_at = time.monotonic()
        self._scheduler.stop()

    def close(self) -> None:
        """Finish the pass in progress and stop; a long one is abandoned, and repeated after a start."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, self._stopped_at + _CLOSE_SECONDS - time.monotonic()))
            self._abandoned.set()
            if self._thread.is_alive():
                _logger.warning("the analysis in progress is abandoned, and repeated after the next start")

    def reader_arrived(self) -> None:
        """Somebody reads: pause between passes, of which there are thousands after some starts."""
        self._scheduler.reader_arrived()

    def request_analysis(self, run_id: int) -> None:
        """Schedule a pass over a run soon."""
        self._scheduler.request(run_id)

    @contextmanager
    def deferred(self, run_id: int) -> Iterator[None]:
        """Analyze a run only once it has arrived completely, and not if its findings were imported, too."""
        self._deferred[run_id] = inf
        with self._pass_lock:  # a pass over the part that is there must not be recorded after the import
            self._unsaved.pop(run_id, None)
            self._cache.forget(run_id)
        try:
            yield
        finally:
            with Session(self._engine) as session:
                seen = session.scalar(select(AnalysisRow.seen_at).where(AnalysisRow.run_id == run_id))
            self._deferred[run_id] = -inf if seen is None else seen
            while len(self._deferred) > _MAX_DEFERRED:
                del self._deferred[next(iter(self._deferred))]
            self.request_analysis(run_id)

    def analyze(self, run_id: int) -> list[Incident]:
        """Analyze a run now; returns the incidents that changed. Raises what a detector raises."""
        with self._pass_lock:
            status = load_status(self._engine, run_id)
            return [] if status is None else self._analyze(run_id, status)

    def _analyze(self, run_id: int, status: RunStatus) -> list[Incident]:
        began = time.monotonic()
        analyzed_at = self._clock()
        error: str | None = "the analysis did not finish"
        try:
            changed = self._update_incidents(run_id, status, analyzed_at)
            error = None
        except Exception as failure:
            self._cache.forget(run_id)
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self._unsaved[run_id] = {
                "run_id": run_id,
                "seen_at": status.updated_at,
                "looked_at": analyzed_at,
                "cost": time.monotonic() - began,
                "error": error,
            }
        return changed

    def _update_incidents(self, run_id: int, status: RunStatus, now: float) -> list[Incident]:
        run = self._cache.get(run_id)
        while True:
            tuning = self._tuning(run_id)
            result = self._detect(run_id, run, tuning, status, now)
            if result == run.last_result:
                return []  # the incidents would not change
            # an event that was planned during the pass must not open an incident
            if self._tuning(run_id) == tuning:
                break
        if self._abandoned.is_set():  # the store is closed, or another server has it
            raise AbandonedAnalysisError
        horizon = result.horizon
        changed = self._incidents.update_run(
            run_id,
            result.candidates,
            live=result.live,
            over=result.over,
            planned=result.planned,
            final=_never if horizon is None else horizon.is_final,
            onset_final=_never if horizon is None else horizon.is_onset_final,
            arrived_at=status.updated_at,
        )
        run.last_result = result
        return changed

    def _detect(
        self, run_id: int, run: CachedRun, tuning: Tuning, status: RunStatus, now: float
    ) -> _PassResult:
        if run.position is None:
            run.horizon = load_horizon(self._engine, run_id)
        begin = None if run.horizon is None else run.horizon.begin
        run.update(self._store.changes_since(run_id, run.position, partial(_select, tuning), begin=begin))
        # read after the points: downsampling moves the horizon before it removes any
        horizon = run.horizon = load_horizon(self._engine, run_id)
        config = self._store.config(run_id)
        data = RunData(series=run.series, now=status.log_time(now), config=config)
        known = data if horizon is None else horizon.restrict(data)
        findings = find(known, tuning=tuning, state=run.detector_state)
        further = self._further(run_id, list(with_roles(data, tuning).series.values()))
        findings += [each for each in further if tuning.matters(each.kind)]
        candidates = _candidates(known, findings)
        self._cache.measure(run_id)
        self._usual.learn(run_id, run.series)
        self._trends.learn(run_id, run.series)
        return _PassResult(
            candidates, status.is_live(now), status.finished_at is not None, tuning.expected, horizon
        )

    def _work(self) -> None:
        while not self._scheduler.stopped:
            self._on_turn()
            until_save = self._until_save()
            run_id = self._scheduler.next_run(_IDLE_SECONDS if until_save is None else until_save)
            if run_id is not None:
                began = time.monotonic()
                again = self._analyze_due(run_id)
                self._scheduler.finished(run_id, time.monotonic() - began, again=again)
            if self._unsaved and not self._until_save() and not self._abandoned.is_set():
                self._save()
        if self._unsaved and not self._abandoned.is_set():
            self._save()

    def _analyze_due(self, run_id: int) -> bool:
        """Analyze a run; whether to repeat it without new points: the run may stall, or the pass failed."""
        try:
            with self._pass_lock:
                status = load_status(self._engine, run_id)
                if status is None or status.updated_at <= self._deferred.get(run_id, -inf):
                    return False
                self._deferred.pop(run_id, None)
                self._analyze(run_id, status)
            return status.log_time(self._clock()) is not None
        except AbandonedAnalysisError:
            return False
        except Exception:
            _logger.exception("the analysis of run %s failed; it will be tried again", run_id)
            return True

    def _until_save(self) -> float | None:
        """Seconds until finished passes are to be recorded; None if there are none."""
        return max(0.0, self._saved_at + _SAVE_INTERVAL - time.monotonic()) if self._unsaved else None

    def _save(self) -> None:
        """Record finished passes: rarely, since writers of points wait for each other's transactions."""
        self._saved_at = time.monotonic()
        with self._pass_lock:
            try:
                with writing(self._engine) as connection:
                    query = select(RunRecord.id).where(RunRecord.id.in_(self._unsaved))
                    existing = set(connection.scalars(query))
                    rows = [row for run_id, row in self._unsaved.items() if run_id in existing]
                    upsert(connection, AnalysisRow.__table__, ("run_id",), rows)
                self._unsaved.clear()
            except SQLAlchemyError:
                _logger.exception("finished analyses could not be recorded; it will be tried again")


def _never(_: Finding) -> bool:
    return False


def _select(tuning: Tuning, keys: Collection[SeriesKey]) -> Collection[SeriesKey]:
    # detectors read few others without a role: system metrics would be most of the data
    by_step = [key for key in keys if not key.has_clock_steps]
    selected = [key for key in by_step if tuning.role(key) is not Role.OTHER or is_read_by_name(key)]
    by_clock = sorted(key for key in keys if key.has_clock_steps)
    faults = [key for key in by_clock if tuning.role(key) is Role.FAULTS]
    activity = [key for key in by_clock if tuning.role(key) is Role.GPU_ACTIVITY]
    return [*selected, *faults, *activity[:_MAX_GPU_SERIES]] or keys


def _candidates(run: RunData, findings: Sequence[Finding]) -> list[IncidentCandidate]:
    return [
        IncidentCandidate(
            finding=finding,
            fingerprint=fingerprint(finding),
            start_time=wall_time_of(run.series, finding),
            replaced_by=replaced_by(run.series, finding),
        )
        for finding in findings
    ]
