"""The analysis loop: runs with news are looked at by the detectors, and their incidents follow."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any, Protocol

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from holter.attempts.config import ConfigByAttempt
from holter.detectors import IncrementalState, find, fingerprint
from holter.roles import Role
from holter.server.alerting import IncidentCandidate, IncidentStore
from holter.server.alerting.finding_time import replaced_by, wall_time_of
from holter.server.analysis.run_cache import RunCache
from holter.server.analysis.run_status import RunStatus, load_status, runs_to_analyze
from holter.server.analysis.scheduler import AnalysisScheduler
from holter.server.database import writing
from holter.server.maintenance.horizon import horizon_of
from holter.server.models.alerting import AnalysisRow
from holter.server.models.points import RunRecord
from holter.server.store.read.changes_since import ReadPosition, RunChanges, SeriesSelector
from holter.server.store.write.sql import upsert
from holter.tuning import Tuning
from holter.types import Finding, RunData, SeriesKey

_logger = logging.getLogger(__name__)

_NOTED = 1.0
"""Seconds between two notes of what was looked at: a server that is killed looks at those again."""
_MOST_TOLD = 10_000  # runs
_ROOM = 512 * 2**20
"""Bytes of points, and of what detectors remember of them, kept to go on from; the run that is looked at may
have more."""


class PointSource(Protocol):
    """The part of the store that analysis needs."""

    def changes_since(
        self, run_id: int, since: ReadPosition | None, chosen: SeriesSelector, *, begin: tuple[int, int] | None = None
    ) -> RunChanges:
        """What has come to the chosen series of a run since a place, None: everything from `begin` on."""
        ...

    def config(self, run_id: int) -> ConfigByAttempt:
        """What the run's logs say of its launches, by attempt."""
        ...

    def on_commit(self, listener: Callable[[Any], None]) -> None:
        """Call `listener` after each durable commit."""
        ...


_WATCHED = 64
"""Series of what GPUs do that are read: a few tell what all of them wait for."""


class AnalysisWorker:
    """Looks at each run with news, in one thread: after a moment's rest, and longer ones where many are busy.

    A look reads and works out what is new: the points so far, and what detectors remember of them, are in
    memory. They are never more than that: without them, as after a restart, a look takes longer and says
    the same. What was looked at stands in the database, so that the first look covers what came since.
    A run whose look fails is logged and recorded (`failing`), and does not stop the others.
    """

    def __init__(
        self,
        engine: Engine,
        store: PointSource,
        incidents: IncidentStore,
        *,
        tuning: Callable[[int], Tuning] = lambda _: Tuning(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._store = store
        self._incidents = incidents
        self._tuning = tuning
        self._clock = clock
        self._pace = AnalysisScheduler()
        self._runs = RunCache(_ROOM)
        self._looks: dict[int, dict[str, Any]] = {}  # not written down yet
        self._told: dict[int, float] = {}  # of runs whose findings came with them: all news until then
        self._noted = -_NOTED
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        store.on_commit(lambda commit: self._pace.points(commit.run_id))

    def start(self) -> None:
        """Begin, with the runs whose news nobody has looked at and those that may have stalled."""
        for run_id in runs_to_analyze(self._engine, self._clock()):
            self.look_soon(run_id)
        self._thread.start()

    def close(self) -> None:
        """Finish the look in progress and stop."""
        self._pace.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def look_soon(self, run_id: int) -> None:
        """This run has news."""
        self._pace.news(run_id)

    @contextmanager
    def apart(self, run_id: int) -> Iterator[None]:
        """Look at a run only once it has arrived as a whole, and not then if its findings came along."""
        self._told[run_id] = inf
        try:
            yield
        finally:
            with Session(self._engine) as session:
                seen = session.scalar(select(AnalysisRow.seen_at).where(AnalysisRow.run_id == run_id))
            self._told[run_id] = -inf if seen is None else seen
            while len(self._told) > _MOST_TOLD:
                del self._told[next(iter(self._told))]
            self.look_soon(run_id)

    def analyze(self, run_id: int) -> list[dict[str, Any]]:
        """Look at a run now; returns the incidents that changed, as JSON. Raises what a detector raises."""
        standing = load_status(self._engine, run_id)
        return [] if standing is None else self._analyze(run_id, standing)

    def _analyze(self, run_id: int, standing: RunStatus) -> list[dict[str, Any]]:
        began = time.monotonic()
        looked_at = self._clock()
        error: str | None = "the look did not end"
        try:
            changed = self._look(run_id, standing, looked_at)
            error = None
        except Exception as failure:
            self._runs.forget(run_id)
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self._looks[run_id] = {
                "run_id": run_id,
                "seen_at": standing.updated_at,
                "looked_at": looked_at,
                "cost": time.monotonic() - began,
                "error": error,
            }
        return changed

    def _look(self, run_id: int, standing: RunStatus, now: float) -> list[dict[str, Any]]:
        run = self._runs.of(run_id)
        tuning = self._tuning(run_id)
        if run.place is None:
            run.horizon = horizon_of(self._engine, run_id)
        begin = None if run.horizon is None else run.horizon.begin
        run.take(self._store.changes_since(run_id, run.place, partial(_chosen, tuning), begin=begin))
        # asked for after the points: what is taken from them is said before it is taken
        horizon = run.horizon = horizon_of(self._engine, run_id)
        config = self._store.config(run_id)
        data = RunData(series=run.series, now=standing.looked_at(now), config=config)
        found = _found(data if horizon is None else horizon.cut(data), tuning, run.memory)
        self._runs.looked(run_id)
        live, over = standing.live(now), standing.finished_at is not None
        said = (found, live, over, tuning.expected, horizon)
        if said == run.said:
            return []  # folding it again would change nothing
        changed = self._incidents.fold(
            run_id,
            found,
            live=live,
            over=over,
            planned=tuning.expected,
            settled=_nothing if horizon is None else horizon.settled,
            said=_nothing if horizon is None else horizon.said,
        )
        run.said = said
        return changed

    def _work(self) -> None:
        while not self._pace.stopped:
            run_id = self._pace.next(self._until_note())
            if run_id is not None:
                began = time.monotonic()
                again = self._looked(run_id)
                self._pace.looked(run_id, time.monotonic() - began, again=again)
            if self._looks and not self._until_note():
                self._note()
        if self._looks:
            self._note()

    def _looked(self, run_id: int) -> bool:
        """Look at a run; whether to come back without news, since it may stall or the look failed."""
        try:
            standing = load_status(self._engine, run_id)
            if standing is None or standing.updated_at <= self._told.get(run_id, -inf):
                return False
            self._told.pop(run_id, None)
            self._analyze(run_id, standing)
            return standing.looked_at(self._clock()) is not None
        except Exception:
            _logger.exception("the analysis of run %s failed; it will be tried again", run_id)
            return True

    def _until_note(self) -> float | None:
        """Seconds until what was looked at is to be written down."""
        return max(0.0, self._noted + _NOTED - time.monotonic()) if self._looks else None

    def _note(self) -> None:
        """Write down what was looked at: seldom, for writers of points wait for each other's transactions."""
        self._noted = time.monotonic()
        looks, self._looks = self._looks, {}
        try:
            with writing(self._engine) as connection:
                there = set(connection.scalars(select(RunRecord.id).where(RunRecord.id.in_(looks))))
                rows = [look for run_id, look in looks.items() if run_id in there]
                upsert(connection, AnalysisRow.__table__, ("run_id",), rows)
        except SQLAlchemyError:
            _logger.exception("what was looked at is not written down; it will be tried again")
            self._looks = looks | self._looks


def _nothing(_: Finding) -> bool:
    return False


def _chosen(tuning: Tuning, keys: Collection[SeriesKey]) -> Collection[SeriesKey]:
    # system metrics and the like tell detectors nothing, and would make up most of what is read
    chosen = [key for key in keys if tuning.role(key) is not Role.OTHER and not key.by_clock]
    watching = sorted(key for key in keys if key.by_clock)
    faults = [key for key in watching if tuning.role(key) is Role.FAULTS]
    activity = [key for key in watching if tuning.role(key) is Role.GPU_ACTIVITY]
    return [*chosen, *faults, *activity[:_WATCHED]] or keys


def _found(run: RunData, tuning: Tuning, memory: IncrementalState) -> list[IncidentCandidate]:
    return [
        IncidentCandidate(
            finding=finding,
            fingerprint=fingerprint(finding),
            start_time=wall_time_of(run.series, finding),
            replaced_by=replaced_by(run.series, finding),
        )
        for finding in find(run, tuning=tuning, state=memory)
    ]
