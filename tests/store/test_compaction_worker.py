"""When runs are compacted: those that have grown or rest, and after errors again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DatabaseError

from holter.server.database import reading
from holter.server.models import LogEntry
from holter.server.store import Commit
from holter.server.store.compaction import worker as module
from holter.server.store.compaction.compaction import CompactionStoppedError
from holter.server.store.compaction.worker import Compactor
from holter.server.store.errors import ConcurrentRewriteError
from tests.support.stored_runs import LOSS, delivery, running_store
from tests.support.waiting import wait_for


def commit(run_id: int, points: int = 1) -> Commit:
    return Commit(
        run_id=run_id, public_id="x", attempt=0, last_step=0, last_time=None, points=points, live=True
    )


def log_two_entries(engine: Engine, run: str = "a") -> int:
    """A run with two entries of six points in its log."""
    with running_store(engine) as store:
        for first in (0, 6):
            steps = np.arange(first, first + 6)
            run_id = store.accept(delivery(steps, {LOSS: steps * 1.0}, batch_id=str(first), run=run)).run_id
    return run_id


class Compactions:
    """In place of compacting: notes the runs, and raises what it is given for one."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.errors: dict[int, list[Exception]] = {}

    def __call__(self, engine: Engine, run_id: int, stopping: Callable[[], bool]) -> int:
        self.runs.append(run_id)
        if self.errors.get(run_id):
            raise self.errors[run_id].pop(0)
        return 1


@pytest.fixture
def compactions(monkeypatch: pytest.MonkeyPatch) -> Compactions:
    made = Compactions()
    monkeypatch.setattr(module, "compact", made)
    return made


@pytest.fixture
def reported() -> list[int]:
    """The runs whose compaction was reported."""
    return []


@pytest.fixture
def compactor(
    sqlite_engine: Engine, compactions: Compactions, reported: list[int], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Compactor]:
    """One that looks often, and for which 10 points or 3 commits are many, and runs never rest."""
    monkeypatch.setattr(module, "_POLL_INTERVAL", 0.005)
    monkeypatch.setattr(module, "_MAX_PENDING_POINTS", 10)
    monkeypatch.setattr(module, "_MAX_PENDING_COMMITS", 3)
    monkeypatch.setattr(module, "_IDLE_SECONDS", 1000.0)
    made = Compactor(sqlite_engine, reported.append)
    yield made
    if made._thread.is_alive():
        assert made.close(60)


class Clock:
    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock


@pytest.mark.parametrize(("points", "due"), [([9], False), ([10], True), ([4, 6], True), ([1, 1, 1], True)])
def test_a_run_is_due_with_enough_points_or_commits(
    points: list[int], due: bool, compactor: Compactor, clock: Clock
) -> None:
    for number in points:
        compactor.on_commit(commit(1, number))
    compactor.on_commit(commit(2, 1))
    assert compactor._due() == ([(1, False)] if due else [])
    assert compactor._due() == []  # it is not due again before it grows


def test_a_run_is_due_once_it_rests(compactor: Compactor, clock: Clock) -> None:
    compactor.on_commit(commit(1))
    clock.now += 999.5
    assert compactor._due() == []
    compactor.on_commit(commit(2))
    clock.now += 0.5
    assert compactor._due() == [(1, True)]
    compactor.on_commit(commit(2))
    clock.now += 999.5
    assert compactor._due() == []
    clock.now += 0.5
    assert compactor._due() == [(2, True)]


def test_what_an_earlier_process_left_in_the_log_is_compacted_when_it_rests(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_two_entries(sqlite_engine)

    def entries() -> int:
        with reading(sqlite_engine) as connection:
            return connection.scalar(select(func.count()).select_from(LogEntry)) or 0

    assert entries() == 2
    monkeypatch.setattr(module, "_POLL_INTERVAL", 0.005)
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.01)
    with running_store(sqlite_engine):
        wait_for(lambda: entries() == 1)


def test_entries_of_an_earlier_process_count(
    sqlite_engine: Engine, compactor: Compactor, compactions: Compactions, clock: Clock
) -> None:
    run_id = log_two_entries(sqlite_engine)  # 12 points, of 10 that are many
    compactor.start()
    wait_for(lambda: compactions.runs == [run_id])


def test_a_damaged_log_does_not_keep_the_server_from_starting(
    compactor: Compactor, monkeypatch: pytest.MonkeyPatch, compactions: Compactions
) -> None:
    cause = sqlite3.DatabaseError("database disk image is malformed")
    cause.sqlite_errorname = "SQLITE_CORRUPT"

    def damaged(_: Engine) -> None:
        raise DatabaseError("SELECT", {}, cause)

    monkeypatch.setattr(module, "reading", damaged)
    compactor.start()
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: compactions.runs == [1])


def test_a_database_that_is_away_does(compactor: Compactor, monkeypatch: pytest.MonkeyPatch) -> None:
    cause = sqlite3.OperationalError("disk I/O error")
    cause.sqlite_errorname = "SQLITE_IOERR_READ"

    def away(_: Engine) -> None:
        raise DatabaseError("SELECT", {}, cause)

    monkeypatch.setattr(module, "reading", away)
    with pytest.raises(DatabaseError):
        compactor.start()


def test_a_run_that_fails_does_not_stop_others_and_is_tried_again_later(
    compactor: Compactor,
    compactions: Compactions,
    reported: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.2)
    compactions.errors[1] = [RuntimeError("no"), RuntimeError("no")]
    compactor.start()
    compactor.on_commit(commit(1, 10))
    compactor.on_commit(commit(2, 10))
    wait_for(lambda: reported == [2, 1])
    assert sorted(compactions.runs) == [1, 1, 1, 2]
    assert caplog.text.count("run 1 was not compacted") == 2


def test_it_is_tried_again_after_a_while_and_not_at_once(
    compactor: Compactor, compactions: Compactions, clock: Clock
) -> None:
    compactions.errors[1] = [RuntimeError("no")]
    compactor.start()
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: compactions.runs == [1] and 1 in compactor._pending)
    clock.now += 59.5
    assert compactor._due() == []
    clock.now += 0.5
    wait_for(lambda: compactions.runs == [1, 1])


def test_a_run_that_grows_after_an_error_is_compacted_then(
    compactor: Compactor, compactions: Compactions, reported: list[int]
) -> None:
    compactions.errors[1] = [RuntimeError("no")]
    compactor.start()
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: compactions.runs == [1] and 1 in compactor._pending)
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: reported == [1])


@pytest.mark.parametrize(("overtaken", "tries"), [(0, 1), (1, 2), (4, 5)])
def test_a_run_that_another_server_rewrites_meanwhile_is_tried_again(
    overtaken: int, tries: int, compactor: Compactor, compactions: Compactions
) -> None:
    compactions.errors[1] = [ConcurrentRewriteError("rewritten") for _ in range(overtaken)]
    assert compactor._compact(1) == 1
    assert compactions.runs == [1] * tries


def test_it_gives_up_after_five_tries(compactor: Compactor, compactions: Compactions) -> None:
    compactions.errors[1] = [ConcurrentRewriteError("rewritten") for _ in range(5)]
    with pytest.raises(ConcurrentRewriteError):
        compactor._compact(1)
    assert compactions.runs == [1] * 5


def test_all_runs_or_one_are_compacted_on_request(
    sqlite_engine: Engine, compactor: Compactor, compactions: Compactions
) -> None:
    first, second = log_two_entries(sqlite_engine, "a"), log_two_entries(sqlite_engine, "b")
    compactions.runs.clear()
    assert compactor.compact() == 2
    assert compactor.compact(second) == 1
    assert compactor.compact(second + 7) == 0
    assert compactions.runs == [first, second, second]


def test_a_log_that_cannot_be_checkpointed_does_not_stop_compaction(
    compactor: Compactor,
    compactions: Compactions,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    checkpoints: list[Engine] = []

    def fails(engine: Engine) -> None:
        checkpoints.append(engine)
        raise RuntimeError("no")

    monkeypatch.setattr(module, "checkpoint", fails)
    compactor.start()
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: compactions.runs == [1])
    assert checkpoints
    assert "was not checkpointed" in caplog.text


@pytest.mark.parametrize("rests", [False, True])
def test_space_is_given_back_when_a_run_rests(
    rests: bool, compactor: Compactor, reported: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[Engine] = []
    monkeypatch.setattr(module, "release_free_pages", released.append)
    if rests:
        monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)
    compactor.start()
    compactor.on_commit(commit(1, 10))
    wait_for(lambda: reported == [1])
    assert bool(released) is rests


@pytest.mark.parametrize("raises", [False, True])
def test_nothing_is_compacted_or_reported_once_it_stops(
    raises: bool, compactor: Compactor, compactions: Compactions, reported: list[int]
) -> None:
    def stopped(engine: Engine, run_id: int, stopping: Callable[[], bool]) -> int:
        compactions.runs.append(run_id)
        compactor.stop()
        assert stopping()
        if raises:
            raise CompactionStoppedError
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compact", stopped)
        for run_id in (1, 2, 3):
            compactor.on_commit(commit(run_id, 10))
        compactor.start()
        wait_for(lambda: compactions.runs)
        assert compactor.close(60)
    assert (compactions.runs, reported) == ([1], [])
