"""A connection to PostgreSQL is cut at any moment of whatever is done: all of it is there, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from holter.server.database import connect, unavailable_reason
from holter.server.maintenance.backup import back_up
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.postgresql_relay import Lost, Relay

pytestmark = pytest.mark.slow

KEYS = [SeriesKey("loss"), SeriesKey("lr")]
ROWS = 300


@pytest.fixture
def engine(relay: Relay) -> Iterator[Engine]:
    engine = connect(relay.url)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    store = Store(engine)
    store.start()
    yield store
    store.close()


def delivery(part: int, run: str = "run") -> Delivery:
    steps = np.arange(part * ROWS, (part + 1) * ROWS)
    columns = tuple(Column(key=key, values=np.cos(steps)) for key in KEYS)
    batch = Batch(steps=steps, times=1.7e9 + steps * 1.0, columns=columns, attempt="0")
    return Delivery(project="p", run=run, writer="w", batch_id=str(part), batch=batch)


def sent_all(store: Store, parts: int, run: str = "run") -> int:
    """Send the first parts of a run, which may be there already; its id."""
    (run_id,) = {store.accept(delivery(part, run)).run_id for part in range(parts)}
    return run_id


def cut_everywhere(relay: Relay, lost: Lost, work: Callable[[], object], *, every: int = 1) -> int:
    """Do it again and again, with a cut at the first turn, at the second, until it has no more; the cuts."""
    for number in range(1, 400, every):
        relay.cut(number, lost)
        try:
            work()
        except DBAPIError as error:
            if unavailable_reason(error) is None:
                raise
        if not relay.is_cut():
            return number // every
    raise AssertionError("there is no end of turns")


def assert_whole(store: Store, run_id: int, parts: int) -> None:
    held = store.read(run_id)
    assert {key: series.step.tolist() for key, series in held.items()} == {
        key: list(range(parts * ROWS)) for key in KEYS
    }
    assert store.check() == []


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_repeated_flushes_are_stored_once(store: Store, relay: Relay, lost: Lost) -> None:
    store.accept(delivery(0))
    parts = count(1)
    assert cut_everywhere(relay, lost, lambda: store.accept(delivery(next(parts)))) >= 3
    sent = next(parts)
    run_id = sent_all(store, sent)
    assert_whole(store, run_id, sent)


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_first_flushes_of_runs(store: Store, relay: Relay, lost: Lost) -> None:
    runs = count()
    assert cut_everywhere(relay, lost, lambda: store.accept(delivery(0, f"run {next(runs)}"))) >= 3
    for number in range(next(runs)):
        assert_whole(store, store.accept(delivery(0, f"run {number}")).run_id, 1)


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_compactions(store: Store, engine: Engine, relay: Relay, lost: Lost, postgres_url: str) -> None:
    run_id, direct, parts = store.accept(delivery(0)).run_id, connect(postgres_url), count(1)
    sender = Store(direct)
    sender.start()
    for _ in range(9):
        sender.accept(delivery(next(parts)))

    def compact() -> None:
        for _ in range(10):  # something to do for each
            sender.accept(delivery(next(parts)))
        Store(engine).compact(run_id)

    assert cut_everywhere(relay, lost, compact) >= 6
    assert_whole(sender, run_id, next(parts))
    sender.close()
    direct.dispose()


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_reads(store: Store, engine: Engine, relay: Relay, lost: Lost) -> None:
    run_id = sent_all(store, 10)
    store.compact(run_id)
    for read in (
        lambda: Store(engine).read(run_id),
        lambda: Store(engine).chart(run_id, KEYS),
        lambda: Store(engine).series(run_id),
    ):
        assert cut_everywhere(relay, lost, read) >= 3
    assert_whole(store, run_id, 10)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a cursor on a cut connection
@pytest.mark.parametrize("lost", ["question", "answer"])
def test_backups(store: Store, engine: Engine, relay: Relay, lost: Lost, tmp_path: Path) -> None:
    sent_all(store, 10)
    file = tmp_path / "backup"

    def back_up_anew() -> None:
        file.unlink(missing_ok=True)
        back_up(engine, file)

    assert cut_everywhere(relay, lost, back_up_anew, every=13) >= 3
    assert file.exists()  # that of the last time, which nothing cut
    assert [other for other in tmp_path.iterdir() if other != file] == []


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_deletions(store: Store, engine: Engine, relay: Relay, lost: Lost) -> None:
    gone = sent_all(store, 10, "gone")
    stays = store.accept(delivery(0, "stays")).run_id
    store.compact(gone)
    delete_run(engine, gone, 1.8e9)
    assert cut_everywhere(relay, lost, lambda: purge(engine, pause=lambda _: None)) >= 3
    purge(engine, pause=lambda _: None)
    assert store.read(gone) == {}
    assert_whole(store, stays, 1)
