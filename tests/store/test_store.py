"""The store: what is accepted is durable, in its attempt, once, and read back bit for bit."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.exc import OperationalError

from holter.server.database import WAL_BYTES, connect
from holter.server.models import RunRecord
from holter.server.store import Commit, Receipt, Store, StoreClosedError, StoreLockedError
from holter.types import Batch, Column, Cursor, Delivery, Series, SeriesKey, Unreadable, labels_of
from tests.support.stored_runs import newest_by_key

LOSS = SeriesKey("loss")
ODD_NAN = np.array([0x7FF8DEADBEEF0001], dtype=np.uint64).view(np.float64)[0]


def delivery(
    steps: Sequence[int],
    values: Mapping[SeriesKey, Sequence[float]] | Sequence[float],
    *,
    batch_id: str,
    times: Sequence[float] | None = None,
    run: str = "run",
    writer: str = "w",
    attempt: str | None = None,
    cursor: Cursor | None = None,
) -> Delivery:
    columns = values if isinstance(values, Mapping) else {LOSS: values}
    batch = Batch(
        steps=np.array(steps, dtype=np.int64),
        times=np.array(times if times is not None else np.asarray(steps) * 10.0, dtype=float),
        columns=tuple(Column(key=key, values=np.array(held, dtype=float)) for key, held in columns.items()),
        attempt=attempt,
    )
    return Delivery(project="p", run=run, writer=writer, batch_id=batch_id, batch=batch, cursor=cursor)


def rows(series: Series) -> list[tuple[int, int, float, float]]:
    columns = (series.attempt, series.step, series.time, series.value)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_accepted_points_are_read_back(store: Store) -> None:
    receipt = store.accept(delivery([1, 2], [0.5, 0.25], batch_id="a"))
    assert (receipt.accepted, receipt.attempt, receipt.duplicate) == (2, 0, False)
    assert rows(store.read(receipt.run_id)[LOSS]) == [(0, 1, 10.0, 0.5), (0, 2, 20.0, 0.25)]


def test_repeated_batch_changes_nothing_after_compaction_and_restart(store: Store, engine: Engine) -> None:
    first = delivery([1, 2], [0.5, 0.25], batch_id="a")
    run = store.accept(first).run_id
    assert store.accept(first).duplicate
    store.compact()
    assert store.accept(first).duplicate
    store.close()
    again = Store(engine)
    again.start()
    receipt = again.accept(delivery([7], [7.0], batch_id="a"))
    assert (receipt.duplicate, receipt.run_id, receipt.attempt) == (True, run, 0)
    assert rows(again.read(run)[LOSS]) == [(0, 1, 10.0, 0.5), (0, 2, 20.0, 0.25)]
    again.close()


def test_the_same_batch_twice_in_one_transaction_is_stored_once(store: Store) -> None:
    pending = [store.submit(delivery([n % 5], [1.0], batch_id=str(n % 5))) for n in range(50)]
    receipts = [one.result(10) for one in pending]
    assert sum(not receipt.duplicate for receipt in receipts) == 5
    assert len(store.read(receipts[0].run_id)[LOSS]) == 5


def test_runs_of_one_name_in_two_projects_are_two_runs(store: Store) -> None:
    one = store.accept(delivery([1], [1.0], batch_id="a"))
    other = store.accept(Delivery(**{**_fields(delivery([1], [2.0], batch_id="a")), "project": "q"}))
    assert one.run_id != other.run_id
    assert one.public_id != other.public_id
    assert not other.duplicate


def _fields(one: Delivery) -> dict[str, object]:
    return {name: getattr(one, name) for name in one.__slots__}


def test_nan_payloads_and_infinities_are_data(store: Store) -> None:
    odd = np.array([ODD_NAN, np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.1])
    run = store.accept(delivery(range(7), odd, batch_id="a")).run_id
    store.accept(delivery(range(7, 3007), np.tile(odd, 429)[:3000], batch_id="b"))
    for _ in range(2):
        got = store.read(run)[LOSS].value
        assert got[:7].tobytes() == odd.tobytes()
        assert got[7:].tobytes() == np.tile(odd, 429)[:3000].tobytes()
        store.compact()


def test_all_points_of_a_step_stay_in_log_and_chunks(store: Store) -> None:
    run = store.accept(delivery(range(1000), np.zeros(1000), batch_id="a")).run_id
    store.compact()
    store.accept(delivery(range(400, 500), np.ones(100), batch_id="b", attempt="0"))
    expected = [(step, 0.0) for step in range(1000)] + [(step, 1.0) for step in range(400, 500)]
    assert points_at(store, run) == sorted(expected)
    assert [one.points for one in store.series(run)] == [1100]
    store.compact()
    assert points_at(store, run) == sorted(expected)
    store.accept(delivery(range(450, 460), np.full(10, 2.0), batch_id="c", attempt="0"))
    store.compact()
    assert points_at(store, run) == sorted([*expected, *((step, 2.0) for step in range(450, 460))])
    assert store.check() == []


def points_at(store: Store, run: int) -> list[tuple[int, float]]:
    series = store.read(run)[LOSS]
    return list(zip(series.step.tolist(), series.value.tolist(), strict=True))


def test_a_rollback_is_an_attempt_and_its_ghost_is_kept(store: Store) -> None:
    store.accept(delivery([1, 2, 3], [1, 2, 3], batch_id="a"))
    receipt = store.accept(delivery([2, 3], [20, 30], batch_id="b", times=[100, 110]))
    assert receipt.attempt == 1
    found = store.read(receipt.run_id)[LOSS]
    assert found.attempt.tolist() == [0, 0, 0, 1, 1]
    assert found.value.tolist() == [1, 2, 3, 20, 30]
    summaries = store.attempts(receipt.run_id)
    assert [(one.number, one.first_step, one.last_step, one.points) for one in summaries] == [
        (0, 1, 3, 3),
        (1, 2, 3, 2),
    ]
    assert (summaries[1].first_time, summaries[1].last_time) == (100.0, 110.0)


def test_attempts_go_on_after_a_restart_of_the_server(store: Store, engine: Engine) -> None:
    store.accept(delivery([1, 2, 3], [1, 2, 3], batch_id="a"))
    store.close()
    again = Store(engine)
    again.start()
    assert again.accept(delivery([4], [4], batch_id="b")).attempt == 0
    assert again.accept(delivery([2], [2], batch_id="c", times=[100])).attempt == 1
    again.close()


def test_epochs_as_steps_do_not_move_the_place_where_an_attempt_began(store: Store) -> None:
    run = store.accept(delivery(range(100), np.zeros(100), batch_id="a")).run_id
    store.accept(delivery([3], {SeriesKey("eval"): [0.5]}, batch_id="b", times=[900.0]))
    store.accept(delivery(range(50, 60), np.zeros(10), batch_id="c", times=np.arange(10) + 2000.0))
    store.accept(delivery([4], {SeriesKey("eval"): [0.4]}, batch_id="d", times=[2100.0]))
    assert [(one.first_step, one.last_step) for one in store.attempts(run)] == [(0, 99), (50, 59)]


def test_own_step_series_affect_neither_progress_nor_ghosts(store: Store, engine: Engine) -> None:
    calls = SeriesKey("collective_time", labels_of({"steps": "sequence number"}))
    run = store.accept(delivery(range(50), np.zeros(50), batch_id="a")).run_id
    many = range(9000, 9500)
    store.accept(delivery(many, {calls: np.zeros(500)}, batch_id="b", times=np.arange(500.0), writer="x"))
    store.accept(delivery(range(20, 40), np.zeros(20), batch_id="c", times=np.arange(20) + 2000.0))
    assert [(one.first_step, one.last_step) for one in store.attempts(run)] == [(0, 49), (20, 39)]
    (drawn,) = store.chart(run, [calls], points=1000)
    assert [segment.ghost for segment in drawn.segments] == [False]
    store.close()
    again = Store(engine)
    again.start()
    again.accept(delivery([40], [0.0], batch_id="d", times=[2030.0]))
    assert [(one.first_step, one.last_step) for one in again.attempts(run)] == [(0, 49), (20, 40)]
    again.close()


def test_run_with_only_own_step_series_takes_progress_from_them(store: Store) -> None:
    calls = SeriesKey("collective_time", labels_of({"steps": "sequence number"}))
    run = store.accept(delivery([3, 9], {calls: [1.0, 2.0]}, batch_id="a")).run_id
    assert [(one.first_step, one.last_step) for one in store.attempts(run)] == [(3, 9)]


def test_every_commit_moves_the_time_of_a_run_on_whatever_the_clock_does(engine: Engine) -> None:
    now = 1000.0
    store = Store(engine, clock=lambda: now)
    store.start()

    def updated_at(step: int) -> float:
        run = store.accept(delivery([step], [0.5], batch_id=str(step))).run_id
        with engine.connect() as connection:
            updated = connection.scalar(select(RunRecord.updated_at).where(RunRecord.id == run))
        assert updated is not None
        return updated

    try:
        assert 1000.0 <= updated_at(1) < 1000.1  # created at the same moment
        assert 1000.0 < updated_at(2) < 1000.1  # the clock stands still
        now = 1001.0
        assert updated_at(3) == 1001.0
        now = 1000.0  # another server's clock is behind
        assert 1001.0 < updated_at(4) < 1001.1
        now = 900.0  # the clock was ahead, and was set
        assert updated_at(5) == 900.0
    finally:
        store.close()


def test_sparse_columns_labels_and_ranges(store: Store) -> None:
    rank = SeriesKey("step_time", labels_of({"rank": 3, "host": 'a"b,é'}))
    batch = Batch(
        steps=np.arange(10, dtype=np.int64),
        times=np.full(10, np.nan),
        columns=(
            Column(key=LOSS, values=np.arange(10.0)),
            Column(key=rank, values=np.array([1.5, 2.5]), rows=np.array([2, 7])),
        ),
    )
    run = store.accept(Delivery(project="p", run="r", writer="w", batch_id="a", batch=batch)).run_id
    found = store.read(run, [rank])
    assert list(found) == [rank]
    assert found[rank].step.tolist() == [2, 7]
    assert np.isnan(found[rank].time).all()
    assert store.read(run, [LOSS], from_step=3, to_step=5)[LOSS].step.tolist() == [3, 4, 5]
    assert len(store.read(run, [rank], from_step=3, to_step=5)[rank]) == 0
    assert store.read(run, [SeriesKey("absent"), SeriesKey("a\0b"), SeriesKey("step_time")]) == {}
    assert [str(one.key) for one in store.series(run)] == ["loss", 'step_time{host=a"b,é,rank=3}']


def test_series_summaries(store: Store) -> None:
    values = {LOSS: [3.0, np.nan, 1.0], SeriesKey("lr"): [np.inf, -np.inf, np.nan]}
    run = store.accept(delivery([10, 20, 30], values, batch_id="a")).run_id
    for _ in range(2):
        loss, lr = store.series(run)
        assert (loss.points, loss.first_step, loss.last_step, loss.last_time) == (3, 10, 30, 300.0)
        assert (loss.minimum, loss.maximum, loss.nonfinite, loss.last_value) == (1.0, 3.0, 1, 1.0)
        assert (lr.minimum, lr.maximum, lr.nonfinite) == (None, None, 3)
        assert np.isnan(lr.last_value)
        assert newest_by_key(store, run)[LOSS] == (0, 30, 300.0, 1.0)
        store.compact()


def test_the_latest_point_is_the_last_of_the_newest_attempt(store: Store) -> None:
    run = store.accept(delivery(range(600), np.arange(600.0), batch_id="a")).run_id
    store.compact()
    assert newest_by_key(store, run)[LOSS][:2] == (0, 599)
    store.accept(delivery([100], [7.0], batch_id="b", times=[1e5]))
    assert newest_by_key(store, run)[LOSS] == (1, 100, 1e5, 7.0)
    store.compact()
    assert newest_by_key(store, run)[LOSS] == (1, 100, 1e5, 7.0)


def test_cursors_are_stored_with_their_points_and_alone(store: Store) -> None:
    at = Cursor(source="f", format="csv", offset=7, identity="i", state={"header": ["a"]})
    assert store.cursor("f") is None
    store.accept(delivery([1], [1.0], batch_id="a", cursor=at))
    assert store.cursor("f") == at
    later = Cursor(source="f", format="csv", offset=9, identity="i")
    store.save_cursor(later)
    assert store.cursor("f") == later
    assert store.accept(delivery([1], [1.0], batch_id="a", cursor=at)).duplicate
    assert store.cursor("f") == later


def test_unreadable_location_is_stored_once(store: Store, engine: Engine) -> None:
    at = Cursor(source="f", format="csv", offset=7, identity="i")
    for _ in range(2):
        store.report_unreadable(
            Unreadable(source="f", location="line 3", reason="no \0 \udcff step"), cursor=at
        )
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT source, place, reason FROM unreadable").all()
    assert found == [("f", "line 3", "no ? ? step")]
    assert store.cursor("f") == at


def test_listeners_hear_of_durable_points(store: Store) -> None:
    heard: list[Commit] = []
    done = threading.Event()

    def listen(commit: Commit) -> None:
        heard.append(commit)
        done.set()

    def fail(commit: Commit) -> None:
        raise RuntimeError("a listener's own fault")

    store.on_commit(fail)
    store.on_commit(listen)
    store.accept(delivery([1, 2], [1, 2], batch_id="a"))
    assert done.wait(60)
    assert (heard[0].last_step, heard[0].last_time, heard[0].points, heard[0].live) == (2, 20.0, 2, False)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (delivery([1], [1.0], batch_id="a", run=""), "run is empty"),
        (delivery([1], [1.0], batch_id="a", run="x" * 501), "501 characters"),
        (delivery([1], {SeriesKey("a\0b"): [1.0]}, batch_id="a"), "cannot be stored"),
        (delivery([1], {SeriesKey("\ud800"): [1.0]}, batch_id="a"), "cannot be stored"),
        (delivery([1], [1.0], batch_id="a", attempt="a\0b"), "cannot be stored"),
        (delivery([1, 2], [1.0], batch_id="a"), "1 values for 2 rows"),
        (delivery([1, 2], [1.0, 2.0], batch_id="a", times=[1.0]), "2 steps and 1 times"),
    ],
)
def test_malformed_deliveries_are_refused_with_the_reason(
    store: Store, broken: Delivery, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        store.accept(broken)


def test_closed_store_rejects_batches(store: Store) -> None:
    store.close()
    with pytest.raises(StoreClosedError):
        store.accept(delivery([1], [1.0], batch_id="a"))
    store.close()


def test_queued_batches_are_written_on_close(store: Store) -> None:
    pending = [store.submit(delivery([n], [1.0], batch_id=str(n))) for n in range(200)]
    store.close()
    assert {one.result(0).attempt for one in pending} == {0}


def test_a_second_server_on_the_same_file_is_refused(sqlite_engine: Engine) -> None:
    store = Store(sqlite_engine)
    store.start()
    with pytest.raises(
        StoreLockedError, match=r"holter\.db is in use by another Holter server \(process \d+ on [^ ]+\)"
    ):
        Store(sqlite_engine).start()
    store.close()
    again = Store(sqlite_engine)
    again.start()
    again.close()


def test_many_writers_at_once(store: Store) -> None:
    receipts: list[Receipt] = []

    def write(number: int) -> None:
        for n in range(20):
            one = delivery([n], {SeriesKey(f"m{number}"): [n]}, batch_id=f"{number}.{n}", writer=str(number))
            receipts.append(store.accept(one))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.read(receipts[0].run_id)
    assert {key.metric: series.step.tolist() for key, series in found.items()} == {
        f"m{number}": list(range(20)) for number in range(8)
    }


@pytest.mark.slow
def test_the_file_shrinks_when_the_log_is_compacted(sqlite_engine: Engine) -> None:
    store = Store(sqlite_engine)
    store.start()
    noise = np.random.default_rng(0).normal(0, 1, 3_000_000)
    store.accept(delivery(range(len(noise)), noise, batch_id="a"))
    store.compact()
    with sqlite_engine.connect() as connection:
        free = connection.exec_driver_sql("PRAGMA freelist_count").scalar()
    assert free is not None
    assert free <= 1000
    store.close()


@pytest.mark.slow
def test_write_ahead_log_is_checkpointed(sqlite_engine: Engine) -> None:
    file = Path(str(sqlite_engine.url.database))
    log = file.with_name(file.name + "-wal")
    noise = np.random.default_rng(0).normal(0, 1, 1_000_000)
    store = Store(sqlite_engine)
    store.start()
    for turn in range(1, 3):
        first = turn * len(noise)
        store.accept(delivery(range(first, first + len(noise)), noise, batch_id=str(turn)))
        end = time.monotonic() + 60
        while file.stat().st_size < turn * 6_000_000 and time.monotonic() < end:
            time.sleep(0.05)
        assert file.stat().st_size >= turn * 6_000_000
    store.accept(delivery([1], [1.0], batch_id="small"))
    assert log.stat().st_size < 5 * WAL_BYTES
    store.close()


def test_failed_start_releases_the_file_lock(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path / 'empty.db'}")
    for _ in range(2):
        with pytest.raises(OperationalError, match="no such table"):
            Store(engine).start()
    engine.dispose()
