"""The analysis loop: runs with news are looked at by the detectors, and their incidents follow."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Engine, func, or_, select
from sqlalchemy.orm import Session

from holter.detectors import find, fingerprint
from holter.metrics import Role
from holter.server.incidents import Found, Incidents
from holter.server.incidents.places import replaced_by, time_of
from holter.server.models.incidents import Analysis
from holter.server.models.points import Attempt, Project, Run
from holter.tuning import Tuning
from holter.types import RunData, Series, SeriesKey

_logger = logging.getLogger(__name__)

LATE = 900.0
"""Seconds: a run is live if its newest point was logged no longer than this before it arrived."""
STALE = 86_400.0
"""Seconds: a run that sent nothing for longer is not watched for stalls, and nobody is told about it."""
_SHARE = 5.0
_PAUSE = 1.0
_FIRST_DELAY = 10.0
_LAST_DELAY = 600.0


class Summary(Protocol):
    """What is asked of a series before it is read."""

    @property
    def key(self) -> SeriesKey: ...


class Committed(Protocol):
    """What is asked of a commit: whose it was."""

    @property
    def run_id(self) -> int: ...


class Points(Protocol):
    """The part of the store that analysis needs."""

    def series(self, run_id: int) -> Sequence[Summary]:
        """Every series of a run."""
        ...

    def read(self, run_id: int, keys: Collection[SeriesKey] | None = None) -> dict[SeriesKey, Series]:
        """Every point of these series."""
        ...

    def on_commit(self, listener: Callable[[Any], None]) -> None:
        """Call `listener` after each durable commit."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What the database says of a run as a whole. Unix seconds; `last_time` is the newest point's."""

    created_at: float
    updated_at: float
    last_time: float | None
    finished_at: float | None

    def live(self, now: float) -> bool:
        """Whether the run's points arrive as they are logged, so that people want to hear of it.

        A log without a clock counts as live once it has been growing for longer than an import takes.
        """
        if now - self.updated_at > STALE:
            return False
        if self.last_time is None:
            return self.updated_at - self.created_at > 60
        return abs(self.updated_at - self.last_time) <= LATE

    def looked_at(self, now: float) -> float | None:
        """`now` on the clock of the run's own log, None when the run is over or not live.

        The wait since the newest point arrived is measured here, so that a node whose clock is wrong
        does not look stalled.
        """
        if self.finished_at is not None or self.last_time is None or not self.live(now):
            return None
        return self.last_time + max(0.0, now - self.updated_at)


def failing(engine: Engine) -> dict[str, str]:
    """The runs (PROJECT/NAME) whose newest look failed, and why."""
    query = (
        select(Project.name, Run.name, Analysis.error)
        .join(Run, Run.project_id == Project.id)
        .join(Analysis, Analysis.run_id == Run.id)
        .where(Analysis.error.is_not(None))
        .order_by(Run.id)
    )
    with Session(engine) as session:
        return {f"{project}/{run}": str(error) for project, run, error in session.execute(query)}


class AnalysisLoop:
    """Looks at each run with news, at most every max(1 s, 5 x what the last look cost), in one thread.

    What was looked at stands in the database: after a restart the first look covers what came since.
    A run whose look fails is logged and recorded (`failing`), and does not stop the others.
    """

    def __init__(
        self,
        engine: Engine,
        store: Points,
        incidents: Incidents,
        *,
        tuning: Callable[[int], Tuning] = lambda _: Tuning(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._store = store
        self._incidents = incidents
        self._tuning = tuning
        self._clock = clock
        self._wake = threading.Condition()
        self._due: dict[int, float] = {}
        self._rested: dict[int, float] = {}
        self._delay: dict[int, float] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        store.on_commit(self._committed)

    def start(self) -> None:
        """Begin, with the runs whose news nobody has looked at and those that may have stalled."""
        for run_id in self._unseen():
            self.look_soon(run_id)
        self._thread.start()

    def close(self) -> None:
        """Finish the look in progress and stop."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def look_soon(self, run_id: int) -> None:
        """This run has news."""
        with self._wake:
            self._delay.pop(run_id, None)
            now = time.monotonic()
            self._due[run_id] = min(now, self._due.get(run_id, now))
            self._wake.notify_all()

    def analyze(self, run_id: int) -> list[dict[str, Any]]:
        """Look at a run now; returns the incidents that changed, as JSON. Raises what a detector raises."""
        standing = self._standing(run_id)
        if standing is None:
            return []
        began = time.monotonic()
        looked_at = self._clock()
        error: str | None = "the look did not end"
        try:
            tuning = self._tuning(run_id)
            found = self._found(run_id, standing.looked_at(looked_at), tuning)
            live, over = standing.live(looked_at), standing.finished_at is not None
            changed = self._incidents.fold(run_id, found, live=live, over=over, planned=tuning.expected)
            error = None
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            look = Analysis(run_id=run_id, seen_at=standing.updated_at, looked_at=looked_at, error=error)
            look.cost = time.monotonic() - began
            with Session(self._engine) as session, session.begin():
                session.merge(look)
        return changed

    def _found(self, run_id: int, now: float | None, tuning: Tuning) -> list[Found]:
        keys = [summary.key for summary in self._store.series(run_id)]
        # system metrics and the like tell detectors nothing, and would make up most of what is read
        asked = [key for key in keys if tuning.role(key) is not Role.OTHER] or keys
        run = RunData(series=self._store.read(run_id, asked), now=now)
        return [
            Found(
                finding=finding,
                fingerprint=fingerprint(finding),
                start_time=time_of(run.series, finding),
                replaced_by=replaced_by(run.series, finding),
            )
            for finding in find(run, tuning=tuning)
        ]

    def _committed(self, commit: Committed) -> None:
        self.look_soon(commit.run_id)

    def _work(self) -> None:
        while (run_id := self._next()) is not None:
            began = time.monotonic()
            try:
                self.analyze(run_id)
                again = self._may_stall(run_id)
            except Exception:
                _logger.exception("the analysis of run %s failed; it will be tried again", run_id)
                again = True
            self._rest(run_id, time.monotonic() - began, again=again)

    def _next(self) -> int | None:
        """The run whose look is due, once it is; None when it is time to stop."""
        with self._wake:
            while not self._stopping:
                due = {run_id: max(at, self._rested.get(run_id, at)) for run_id, at in self._due.items()}
                run_id = min(due, key=due.__getitem__, default=None)
                wait = None if run_id is None else due[run_id] - time.monotonic()
                if run_id is not None and wait is not None and wait <= 0:
                    del self._due[run_id]
                    return run_id
                self._wake.wait(wait)
            return None

    def _rest(self, run_id: int, cost: float, *, again: bool) -> None:
        """Leave the run alone for a while; `again`: come back without news, after ever longer times."""
        now = time.monotonic()
        with self._wake:
            self._rested[run_id] = now + max(_PAUSE, _SHARE * cost)
            if again:
                delay = self._delay.get(run_id, _FIRST_DELAY)
                self._delay[run_id] = min(1.5 * delay, _LAST_DELAY)
                self._due.setdefault(run_id, now + delay)

    def _may_stall(self, run_id: int) -> bool:
        standing = self._standing(run_id)
        return standing is not None and standing.looked_at(self._clock()) is not None

    def _standing(self, run_id: int) -> Standing | None:
        query = (
            select(Run.created_at, Run.updated_at, Run.finished_at, func.max(Attempt.last_time))
            .outerjoin(Attempt, Attempt.run_id == Run.id)
            .where(Run.id == run_id)
            .group_by(Run.id)
        )
        with Session(self._engine) as session:
            row = session.execute(query).one_or_none()
        if row is None:
            return None
        created_at, updated_at, finished_at, last_time = row
        return Standing(
            created_at=created_at, updated_at=updated_at, finished_at=finished_at, last_time=last_time
        )

    def _unseen(self) -> list[int]:
        news = or_(
            Analysis.run_id.is_(None),
            Run.updated_at > Analysis.seen_at,
            Run.finished_at > Analysis.looked_at,
            Run.finished_at.is_(None) & (Run.updated_at > self._clock() - STALE),
        )
        query = select(Run.id).outerjoin(Analysis, Analysis.run_id == Run.id).where(news)
        with Session(self._engine) as session:
            return list(session.scalars(query.order_by(Run.updated_at.desc())))
