"""Robustness: kills, damage, floods and failures lose no acknowledged point and store none twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from holter.server.database import connect, writing
from holter.server.store import CorruptDataError, Receipt, Store, StoreBusyError
from holter.types import Batch, Column, Cursor, Delivery, SeriesKey
from tests.support.stored_runs import running_store

LOSS = SeriesKey("loss")
ROOT = Path(__file__).parents[2]


def delivery(
    first: int, size: int, *, run: str = "run", cursor: Cursor | None = None, times: bool = True
) -> Delivery:
    steps = np.arange(first, first + size, dtype=np.int64)
    batch = Batch(
        steps=steps,
        times=steps * 1.0 if times else np.full(size, np.nan),
        columns=(Column(key=LOSS, values=np.cos(steps)),),
    )
    return Delivery(project="p", run=run, writer="w", batch_id=f"{first}", batch=batch, cursor=cursor)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_loses_nothing_acknowledged_and_stores_nothing_twice(
    database_url: str, tmp_path: Path, seed: int
) -> None:
    notes = tmp_path / "acknowledged"
    program = [sys.executable, "-m", "tests.support.store_program", database_url, str(notes), "8", str(seed)]
    subprocess.run(program, check=True, timeout=120, cwd=ROOT)
    acknowledged = [int(line) for line in notes.read_text().splitlines()]
    assert acknowledged == sorted(set(acknowledged))
    assert len(acknowledged) >= 4
    engine = connect(database_url)
    with running_store(engine) as store:
        cursor = store.cursor("file")
        assert cursor is not None
        stored = cursor.offset
        assert set(acknowledged) <= set(range(stored))
        run_id = store.accept(delivery(0, 1)).run_id
        found = store.read(run_id)
        for n in range(3):
            series = found[SeriesKey(f"m{n}")]
            assert series.step.tolist() == list(range(stored * 100))
            assert series.value.tobytes() == np.sin(series.step * (n + 1)).tobytes()
            assert not series.attempt.any()
        assert store.check() == []
        store.compact()
        assert store.check() == []
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT sum(points) FROM attempt")) == stored * 300 + 1
    engine.dispose()


def damage(connection: Connection, table: str, column: str) -> None:
    key = {"summary": "run_id"}.get(table, "id")
    # of the chunks the middle one: charts read those at the ends in full
    which = "WHERE id = 2" if column == "pyramid" else f"ORDER BY {key} DESC LIMIT 1"
    row = connection.execute(text(f"SELECT {key}, {column} FROM {table} {which}")).one()
    blob = bytearray(row[1])
    blob[len(blob) // 2] ^= 0x10
    connection.execute(
        text(f"UPDATE {table} SET {column} = :blob WHERE {key} = :key"), {"blob": bytes(blob), "key": row[0]}
    )


@pytest.mark.parametrize(
    ("table", "column", "said"),
    [
        ("chunk", "payload", r"series loss, chunk 3 \(steps 65536 to 98303\)"),
        ("chunk", "pyramid", r"series loss, chunk 2 \(steps 32768 to 65535\)"),
        ("timeline", "payload", r"timeline \d+"),
        ("log", "payload", r"log entry \d+"),
        ("summary", "chunks", "series statistics"),
        ("summary", "log", "series statistics"),
        ("summary", "names", "series names"),
    ],
)
def test_damaged_bytes_are_named_and_never_read_as_points(
    engine: Engine, table: str, column: str, said: str
) -> None:
    with running_store(engine) as store:
        run = store.accept(delivery(0, 98_304)).run_id
        store.compact()
        store.accept(delivery(98_304, 10))
        assert store.check() == []
        with writing(engine) as connection:
            damage(connection, table, column)
        problems = store.check()
        assert any("run 'run'" in problem for problem in problems)
        look: Callable[[], object] = partial(store.read, run)
        if table == "summary":
            look = partial(store.newest_points, run)
        elif column == "pyramid":
            look = partial(store.chart, run, [LOSS], points=4)
        with pytest.raises(CorruptDataError, match=rf"run {run}, {said}.*checksum"):
            look()


def test_run_with_a_damaged_log_entry_accepts_points(engine: Engine) -> None:
    with running_store(engine) as store:
        store.accept(delivery(0, 10))
        with writing(engine) as connection:
            damage(connection, "log", "payload")
    with running_store(engine) as store:
        receipt = store.accept(delivery(10, 10))
        assert not receipt.duplicate
        with pytest.raises(CorruptDataError):
            store.compact()
        assert len(store.check()) == 1


def test_wrong_counts_are_found(engine: Engine) -> None:
    with running_store(engine) as store:
        store.accept(delivery(0, 3000))
        store.compact()
        with writing(engine) as connection:
            connection.execute(text("UPDATE chunk SET points = points + 1, value_max = 7"))
        assert store.check() == [
            "run 'run': series loss, chunk 1 (steps 0 to 2999): points: 3000, expected 3001",
            "run 'run': series statistics: those of the chunks do not match the chunks",
        ]


@contextmanager
def nobody_else_writes(engine: Engine) -> Iterator[None]:
    """Hold what the writer needs, so that deliveries wait."""
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE project IN ACCESS EXCLUSIVE MODE"))
        yield


def flood(store: Store, taken: list[Future[Receipt]]) -> None:
    taken.extend(store.submit(delivery(n, 1)) for n in range(5000))


@pytest.mark.slow
def test_flood_is_rejected_and_accepted_batches_are_stored(store: Store, engine: Engine) -> None:
    taken: list[Future[Receipt]] = []
    with nobody_else_writes(engine), pytest.raises(StoreBusyError, match="faster than"):
        flood(store, taken)
    assert 4000 <= len(taken) < 5000
    run = taken[-1].result(20).run_id
    assert len(store.read(run)[LOSS]) == len(taken)


@pytest.mark.slow
def test_accept_waits_for_queue_space_until_the_timeout(store: Store, engine: Engine) -> None:
    with nobody_else_writes(engine):
        with pytest.raises(StoreBusyError):
            flood(store, [])
        begin = time.monotonic()
        with pytest.raises(StoreBusyError):
            store.accept(delivery(9999, 1), timeout=0.2)
        assert 0.2 <= time.monotonic() - begin < 30


def test_failing_delivery_does_not_fail_its_group(store: Store, engine: Engine) -> None:
    unkeepable = Cursor(source="f", format="csv", offset=1, identity="i", state={"no JSON": object()})
    store.accept(delivery(0, 1))
    with nobody_else_writes(engine):
        one = store.submit(delivery(1, 1))
        bad = store.submit(delivery(2, 1, cursor=unkeepable))
        other = store.submit(delivery(3, 1))
    assert not one.result(20).duplicate
    with pytest.raises(Exception, match="not JSON serializable"):
        bad.result(20)
    run = other.result(20).run_id
    assert store.read(run)[LOSS].step.tolist() == [0, 1, 3]
    assert not store.accept(delivery(2, 1)).duplicate
    assert store.read(run)[LOSS].step.tolist() == [0, 1, 2, 3]
    assert store.check() == []


def test_cancelled_caller_does_not_stop_the_writer(store: Store, engine: Engine) -> None:
    with nobody_else_writes(engine):
        store.submit(delivery(0, 1))
        gone = store.submit(delivery(1, 1))
        cancelled = gone.cancel()
    receipt = store.accept(delivery(2, 1))
    expected = [0, 2] if cancelled else [0, 1, 2]
    assert store.read(receipt.run_id)[LOSS].step.tolist() == expected


def test_a_log_that_has_grown_is_compacted_by_itself(store: Store, engine: Engine) -> None:
    run = store.accept(delivery(0, 300_000)).run_id
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with engine.connect() as connection:
            if connection.scalar(text("SELECT count(*) FROM log")) == 0:
                break
        time.sleep(0.05)
    else:
        pytest.fail("the log was not compacted")
    assert len(store.read(run)[LOSS]) == 300_000
    assert store.check() == []


def test_two_servers_on_one_postgresql_agree(postgres_url: str) -> None:
    engines = [connect(postgres_url), connect(postgres_url)]
    with running_store(engines[0]) as one, running_store(engines[1]) as other:
        for n in range(20):
            store = (one, other)[n % 2]
            assert store.accept(delivery(10 * n, 10)).attempt == 0
            assert (other, one)[n % 2].accept(delivery(10 * n, 10)).duplicate
        back = delivery(50, 10, times=False)
        receipt = other.accept(
            Delivery(project="p", run="run", writer="w", batch_id="back", batch=back.batch)
        )
        assert receipt.attempt == 1
        assert one.accept(delivery(200, 10)).attempt == 1
        assert len(one.read(receipt.run_id)[LOSS]) == 220
    for engine in engines:
        engine.dispose()


def test_snapshot_is_stable_during_compaction(store: Store) -> None:
    run = store.accept(delivery(0, 400)).run_id
    for n in range(1, 30):
        store.accept(delivery(400 * n, 400))
        if n % 3 == 0:
            store.compact()
        assert len(store.read(run)[LOSS]) == 400 * (n + 1)
