"""Runs, projects and clients come and go for months: what a server holds of them does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from holter.server.analysis import scheduler, worker
from holter.server.analysis.run_cache import memory_size
from holter.server.auth import FailedLogins
from holter.server.context import ServerContext
from holter.server.database import reading
from holter.server.migrate import upgrade
from holter.server.models import RunRecord
from holter.server.store import store
from holter.server.store.write import batch_writer
from holter.settings import Settings
from tests.support.stored_runs import deliver

pytestmark = pytest.mark.slow

OURS = (
    "analysis._scheduler._due", "analysis._scheduler._order", "analysis._scheduler._rested",
    "analysis._scheduler._delay",
    "analysis._scheduler._cost", "analysis._cache", "analysis._unsaved", "analysis._deferred",
    "store._writer_thread._batch_writer._runs", "store._writer_thread._batch_writer._cached_sizes",
    "store._cache", "store._rate_limiter._buckets", "store._usage._projects",
    "store._compactor._pending", "runs._facts", "runs._costs",
    "receiver._layouts", "authenticator._failures._times", "live._gathered", "launches._cache",
)  # fmt: skip
"""What belongs to objects that live as long as the server, and has an entry for each of something."""


@pytest.fixture
def context(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerContext]:
    """A server with little room."""
    monkeypatch.setattr(worker, "_CACHE_BYTES", 100_000)
    monkeypatch.setattr(store, "_CACHE_BYTES", 100_000)
    monkeypatch.setattr(batch_writer.BatchWriter.__init__, "__kwdefaults__", {"max_bytes": 400_000})
    monkeypatch.setattr("holter.server.read_models.runs.REMEMBERED_RUNS", 20)
    monkeypatch.setattr("holter.server.store.usage._MAX_PROJECTS", 20)
    monkeypatch.setattr("holter.server.store.compaction.worker._IDLE_SECONDS", 0.5)
    for name, seconds in (("_BUSY", 0.5), ("_GATHER", 0.0), ("_COMING", 0.0)):
        monkeypatch.setattr(scheduler, name, seconds)
    projects = {"*": {"quota": {"max_bytes": 10**9}}}
    context = ServerContext(Settings(database_url=sqlite_url, projects=projects))  # type: ignore[arg-type]
    context.authenticator._failures = FailedLogins(context.authenticator._clock, clients=100)
    upgrade(context.engine)
    context.store.start()
    yield context
    context.store.close()
    context.engine.dispose()


def held(context: ServerContext) -> dict[str, int]:
    found = {}
    for name in OURS:
        one: Any = context
        for part in name.split("."):
            one = getattr(one, part)
        found[name] = memory_size(one) if isinstance(one, dict | list) else memory_size(vars(one))
    return found


def come_and_go(context: ServerContext, numbers: range) -> None:
    """Runs that log and are looked at by detectors, some by people, too; some of these are deleted."""
    for number in numbers:
        run_id = deliver(context.store, number, np.arange(20), run=f"run-{number}")
        while (due := context.analysis._scheduler.next_run(0.0)) is not None:
            context.analysis._analyze_due(due)
            context.analysis._scheduler.finished(due, 0.001, again=False)
        context.analysis._save()
        context.authenticator.login_failed(f"client {number}")
        if number % 5:
            continue
        with reading(context.engine) as connection:
            public = connection.scalars(select(RunRecord.public_id).where(RunRecord.id == run_id)).one()
        context.runs.run(public)
        context.store.chart(run_id, [one.key for one in context.store.series(run_id)])
        if number % 10:
            context.maintenance.delete(run_id)


def test_what_a_server_holds_of_those_that_are_gone_does_not_grow(context: ServerContext) -> None:
    come_and_go(context, range(150))
    before = held(context)
    come_and_go(context, range(150, 600))
    after = held(context)
    grown = {name: (before[name], after[name]) for name in OURS if after[name] > 1.3 * before[name] + 12_000}
    assert not grown
