"""What a write changes beside points: the run's row, commits, notes, and the writer's cache of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event, select

from holter.server.database import reading, writing
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.models import RunRecord, UnreadableRow
from holter.server.store import Commit, Receipt, Store
from holter.server.store.usage import StorageUsage
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import encode_delivery
from holter.settings.projects import QuotaSettings
from holter.types import (
    Batch,
    Column,
    ConfigKey,
    Cursor,
    Delivery,
    DenseColumns,
    SeriesKey,
    SeriesLayout,
)

LOSS = SeriesKey("loss")
CALLS = SeriesKey("collective_time", (("steps", "sequence number"),))  # steps of its own
NOW = 10_000.0


def delivery(
    batch_id: str,
    steps: Sequence[int] = (1,),
    keys: Sequence[SeriesKey] = (LOSS,),
    *,
    time: float = NOW,
    value: float = 1.0,
    run: str = "run",
    attempt: str | None = None,
    finished: bool = False,
) -> Delivery:
    columns = tuple(Column(key=key, values=np.full(len(steps), value)) for key in keys)
    times = np.full(len(steps), time)
    batch = Batch(steps=np.array(steps), times=times, columns=columns, attempt=attempt)
    return Delivery(project="p", run=run, writer="w", batch_id=batch_id, batch=batch, finished=finished)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(sqlite_engine: Engine, clock: Clock) -> Iterator[Store]:
    store = Store(sqlite_engine, clock=clock)
    store.start()
    yield store
    store.close()


def row(engine: Engine, name: str = "run") -> Any:
    with reading(engine) as connection:
        return connection.execute(select(RunRecord.__table__).where(RunRecord.name == name)).one()


@pytest.mark.parametrize(
    ("time", "live"),
    [(NOW, True), (NOW - 299.9, True), (NOW - 300, False), (NOW + 299.9, True), (NOW + 300, False)],
)
def test_points_are_live_if_they_were_logged_about_now(
    time: float, live: bool, sqlite_engine: Engine, clock: Clock
) -> None:
    assert written(sqlite_engine, clock, delivery("a", time=time))[1][0].live is live


def written(engine: Engine, clock: Clock, *deliveries: Delivery) -> tuple[list[Receipt], list[Commit]]:
    """Receipts and commits of one transaction."""
    usage = StorageUsage(engine)
    writer = BatchWriter(clock, lambda _: QuotaSettings(), usage)
    with writing(engine) as connection:
        result = writer.write(connection, [encode_delivery(one) for one in deliveries])
    usage.close()
    return result


def test_a_commit_states_the_last_row_and_what_is_in_it(sqlite_engine: Engine, clock: Clock) -> None:
    _, commits = written(
        sqlite_engine,
        clock,
        delivery("a", [3, 4, 5], [LOSS, SeriesKey("lr")]),
        delivery("b", [6], value=np.inf),
        delivery("c", [7], time=np.nan),
        delivery("d", [900], [CALLS]),
    )
    assert [(one.last_step, one.points, one.has_nonfinite) for one in commits] == [
        (5, 6, False), (6, 1, True), (7, 1, False), (7, 1, False),
    ]  # fmt: skip
    assert [(one.last_time, one.live) for one in commits[1:3]] == [(NOW, True), (None, False)]
    assert [column.key for column in commits[0].columns] == [LOSS, SeriesKey("lr")]


def test_deliveries_to_several_runs_are_written_together(
    sqlite_engine: Engine, clock: Clock, store: Store
) -> None:
    labelled = [SeriesKey("loss", (("rank", str(rank)),)) for rank in range(3)]
    keys = {"a": [LOSS, SeriesKey("lr")], "b": labelled, "c": [SeriesKey("x"), *labelled[:1]], "d": [LOSS]}
    sent = [delivery(run, [1, 2], own, run=run, value=float(ord(run))) for run, own in keys.items()]
    sent.append(delivery("again", [3], [LOSS, SeriesKey("new")], run="a", value=7.0))
    receipts, commits = written(sqlite_engine, clock, *sent)
    assert [receipt.accepted for receipt in receipts] == [4, 6, 4, 2, 2]
    assert [receipt.run_id for receipt in receipts[:4]] == sorted({one.run_id for one in receipts})
    assert receipts[4].run_id == receipts[0].run_id
    assert len(commits) == 5
    for receipt, run in zip(receipts, "abcd", strict=False):
        read = store.read(receipt.run_id)
        assert set(read) == {*keys[run], *([SeriesKey("new")] if run == "a" else [])}
        for key in keys[run]:
            assert read[key].value.tolist()[:2] == [float(ord(run))] * 2
    assert store.read(receipts[0].run_id)[SeriesKey("new")].value.tolist() == [7.0]
    assert store.check() == []


def test_a_run_is_finished_until_it_is_launched_again(
    store: Store, sqlite_engine: Engine, clock: Clock
) -> None:
    store.accept(delivery("a", attempt="0"))
    assert row(sqlite_engine).finished_at is None
    clock.now += 10
    store.accept(delivery("b", [2], finished=True, attempt="0"))
    assert row(sqlite_engine).finished_at == NOW + 10
    clock.now += 10
    store.accept(delivery("c", [3], attempt="0"))
    assert row(sqlite_engine).finished_at == NOW + 10
    store.accept(delivery("d", [4], attempt="1"))
    assert row(sqlite_engine).finished_at is None
    clock.now -= 15  # another server's clock
    store.accept(delivery("e", [5], attempt="1", finished=True))
    assert row(sqlite_engine).finished_at >= NOW + 5


def test_machine_monitoring_does_not_make_a_run_look_alive(
    store: Store, sqlite_engine: Engine, clock: Clock
) -> None:
    store.accept(delivery("a", [1]))
    first = row(sqlite_engine)
    clock.now += 100
    store.accept(delivery("b", [50], [CALLS]))
    second = row(sqlite_engine)
    assert (second.updated_at, second.revision) == (first.updated_at, first.revision + 1)
    store.accept(delivery("b", [50], [CALLS]))
    assert row(sqlite_engine).revision == second.revision  # a repeat
    store.accept(delivery("c", [2], [LOSS, CALLS]))
    assert row(sqlite_engine).updated_at == NOW + 100


def test_launch_configuration_is_counted(store: Store, sqlite_engine: Engine) -> None:
    store.accept(delivery("a"))
    assert row(sqlite_engine).stated == 0
    with_settings = delivery("b", [2])
    batch = replace(with_settings.batch, config={ConfigKey("lr"): 1.0})
    store.accept(replace(with_settings, batch=batch))
    assert row(sqlite_engine).stated == 1
    store.accept(delivery("c", [3]))
    assert row(sqlite_engine).stated == 1


def test_of_several_cursors_of_a_file_the_last_one_is_stored(
    sqlite_engine: Engine, clock: Clock, store: Store
) -> None:
    sent = []
    for offset in (5, 7, 6):
        cursor = Cursor(source="f", format="csv", offset=offset, identity="i")
        sent.append(replace(delivery(str(offset), [offset]), cursor=cursor))
    other = Cursor(source="g", format="csv", offset=1, identity="i")
    written(sqlite_engine, clock, *sent, replace(delivery("g", [9]), cursor=other))
    found, of_other = store.cursor("f"), store.cursor("g")
    assert found is not None
    assert (found.offset, of_other) == (6, other)


def test_two_servers_that_write_in_turn_know_of_each_other(
    sqlite_engine: Engine, clock: Clock, store: Store
) -> None:
    usage = StorageUsage(sqlite_engine)
    servers = [BatchWriter(clock, lambda _: QuotaSettings(), usage) for _ in range(2)]
    keys = [LOSS, SeriesKey("lr"), SeriesKey("x")]
    for step in range(8):
        with writing(sqlite_engine) as connection:
            one = encode_delivery(delivery(str(step), [step], keys[: 1 + step // 3]))
            [receipt], _ = servers[step // 2 % 2].write(connection, [one])
        assert (receipt.attempt, receipt.accepted) == (0, 1 + step // 3)
    usage.close()
    read = store.read(receipt.run_id)
    assert {key: read[key].step.tolist() for key in keys} == {
        LOSS: list(range(8)), SeriesKey("lr"): [3, 4, 5, 6, 7], SeriesKey("x"): [6, 7],
    }  # fmt: skip
    [attempt] = store.attempts(receipt.run_id)
    assert (attempt.first_step, attempt.last_step, attempt.points) == (0, 7, 15)
    assert store.check() == []


def test_a_run_that_was_deleted_begins_anew(store: Store, sqlite_engine: Engine) -> None:
    first = store.accept(delivery("a", [1, 2])).run_id
    delete_run(sqlite_engine, first, now=NOW)
    assert purge(sqlite_engine) == 1
    receipt = store.accept(delivery("b", [5]))
    assert receipt.run_id != first
    assert store.read(receipt.run_id)[LOSS].step.tolist() == [5]


def test_the_cache_of_runs_is_counted_and_loses_what_was_not_written_for_longest(
    sqlite_engine: Engine, clock: Clock
) -> None:
    usage = StorageUsage(sqlite_engine)
    writer = BatchWriter(clock, lambda _: QuotaSettings(), usage, max_bytes=60_000)

    def write(run: str, step: int, series: int = 1) -> list[str]:
        keys = [SeriesKey(f"m{number}") for number in range(series)]
        with writing(sqlite_engine) as connection:
            one = encode_delivery(delivery(f"{run}{step}", [step], keys, run=run))
            [receipt], _ = writer.write(connection, [one])
        assert not receipt.duplicate
        assert writer.cached_bytes == sum(state.size for state in writer._runs.values())
        return [name for _, name in writer._runs]

    assert write("a", 1) == ["a"]
    size = writer.cached_bytes
    assert 16_000 < size < 20_000
    assert [write("b", 1), write("c", 1)] == [["a", "b"], ["a", "b", "c"]]
    assert write("a", 2) == ["b", "c", "a"]
    assert write("d", 1) == ["c", "a", "d"]
    assert write("large", 1, 400) == ["large"]  # however large it is, the newest one is cached
    assert writer.cached_bytes > 60_000
    assert write("a", 3) == ["a"]
    assert writer.cached_bytes == size
    writer.clear()
    assert writer.cached_bytes == 0
    assert write("a", 4) == ["a"]
    usage.close()


def columns(*given: tuple[str, int, list[int] | None]) -> tuple[Column, ...]:
    return tuple(
        Column(key=SeriesKey(name), values=np.ones(size), rows=None if rows is None else np.array(rows))
        for name, size, rows in given
    )


def dense(keys: Sequence[SeriesKey], rows: int) -> DenseColumns:
    return DenseColumns(SeriesLayout(tuple(keys)), np.ones((len(keys), rows)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (columns(("a", 3, None), ("a", 3, None)), "twice"),
        (columns(("a", 2, None)), "a has 2 values for 3 rows"),
        (columns(("a", 4, None)), "a has 4 values for 3 rows"),
        (columns(("a", 2, [0])), "a has 2 values at 1 rows"),
        (columns(("a", 2, [1, 0])), "not ascending"),
        (columns(("a", 2, [1, 1])), "not ascending"),
        (columns(("a", 2, [-1, 1])), "not ascending"),
        (columns(("a", 2, [1, 3])), "not ascending"),
        (dense([LOSS, LOSS], 3), "twice"),
        (dense([LOSS], 2), "2 values for 3 rows"),
        (dense([SeriesKey("a\0b")], 3), "cannot be stored"),
    ],
)
def test_columns_that_do_not_fit_are_refused(given: Sequence[Column], message: str) -> None:
    batch = Batch(steps=np.arange(3), times=np.zeros(3), columns=given)
    sent = Delivery(project="p", run="r", writer="w", batch_id="a", batch=batch)
    for _ in range(2):  # whatever is remembered of the first time
        with pytest.raises(ValueError, match=message):
            encode_delivery(sent)


@pytest.mark.parametrize(
    ("given", "points"),
    [
        (columns(("a", 3, None), ("b", 3, [0, 1, 2]), ("c", 1, [2]), ("d", 1, [0])), 8),
        (columns(("a", 0, [])), 0),
        (dense([LOSS, SeriesKey("x", (("rank", "3"),))], 3), 6),
        ((), 0),
    ],
)
def test_columns_that_fit_are_encoded(given: Sequence[Column], points: int) -> None:
    batch = Batch(steps=np.arange(3), times=np.zeros(3), columns=given)
    encoded = encode_delivery(Delivery(project="p", run="r", writer="w", batch_id="a", batch=batch))
    assert (encoded.points, encoded.repeats) == (points, 0)
    assert (encoded.block is None) is (points == 0)


@pytest.mark.parametrize("field", ["project", "run", "writer"])
def test_names_of_deliveries_are_not_empty_and_can_be_stored(field: str) -> None:
    for wrong, message in (("", f"{field} is empty"), ("a\0", "cannot be stored")):
        with pytest.raises(ValueError, match=message):
            encode_delivery(replace(delivery("a"), **{field: wrong}))


def test_names_of_files_can_be_stored() -> None:
    cursor = Cursor(source="a\0", format="csv", offset=1, identity="i")
    with pytest.raises(ValueError, match="cannot be stored"):
        encode_delivery(replace(delivery("a"), cursor=cursor))


def test_a_delivery_counts_at_least_the_memory_of_its_arrays_and_names() -> None:
    for rows, names in ((1, 1), (10_000, 1), (10, 1_000), (1_000, 10)):
        one = delivery("a", range(rows), [SeriesKey(f"m{number}") for number in range(names)])
        batch = one.batch
        arrays = batch.steps.nbytes + batch.times.nbytes + sum(each.values.nbytes for each in batch.columns)
        size = encode_delivery(one).size
        assert size >= arrays + 100 * names
        assert size <= 4 * arrays + 1_000 * names + 10_000
    noise = np.random.default_rng(0).normal(size=10_000)  # it is encoded, too, which makes it no smaller
    columns = (Column(key=LOSS, values=noise),)
    batch = Batch(steps=np.arange(len(noise)), times=noise.copy(), columns=columns)
    size = encode_delivery(replace(delivery("a"), batch=batch)).size
    assert size >= 2 * 8 * 2 * len(noise)
    shared = dense([SeriesKey(f"m{number}") for number in range(1_000)], 1)
    sizes = []
    for _ in range(2):
        batch = Batch(steps=np.arange(1), times=np.zeros(1), columns=shared)
        sent = Delivery(project="p", run="r", writer="w", batch_id="a", batch=batch)
        sizes.append(encode_delivery(sent).size)
    assert sizes[0] - sizes[1] >= 100 * 1_000  # the names of a known layout are shared


def test_a_refusal_that_goes_on_is_noted_once_and_costs_no_more_statements(
    sqlite_engine: Engine, clock: Clock
) -> None:
    usage = StorageUsage(sqlite_engine)
    writer = BatchWriter(clock, lambda _: QuotaSettings(max_series_per_run=1), usage)
    statements: list[str] = []
    event.listen(
        sqlite_engine, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement)
    )
    counts = []
    for step in range(4):
        statements.clear()
        with writing(sqlite_engine) as connection:
            one = encode_delivery(delivery(str(step), [step], [LOSS, SeriesKey(f"more{'x' * step}")]))
            [receipt], _ = writer.write(connection, [one])
        assert (receipt.accepted, len(receipt.refused)) == (1, 1)
        counts.append(sum("unreadable" in statement for statement in statements))
    usage.close()
    assert counts == [2, 0, 0, 0]
    with reading(sqlite_engine) as connection:
        [note] = connection.execute(select(UnreadableRow.source, UnreadableRow.place)).all()
    assert tuple(note) == ("w", "max_series_per_run")


def test_a_note_names_the_file_that_the_points_are_from(sqlite_engine: Engine, clock: Clock) -> None:
    usage = StorageUsage(sqlite_engine)
    writer = BatchWriter(clock, lambda _: QuotaSettings(max_series_per_run=1), usage)
    cursor = Cursor(source="/log", format="csv", offset=1, identity="i")
    with writing(sqlite_engine) as connection:
        one = encode_delivery(replace(delivery("a", [1], [LOSS, SeriesKey("lr")]), cursor=cursor))
        writer.write(connection, [one])
    usage.close()
    with reading(sqlite_engine) as connection:
        assert connection.scalars(select(UnreadableRow.source)).all() == ["/log"]


@pytest.mark.parametrize("repeats", [0, 3])
def test_points_of_two_attempts_in_one_delivery_are_counted_without_repeats(
    repeats: int, sqlite_engine: Engine, clock: Clock, store: Store
) -> None:
    steps = [1, 2, 3, *[3] * repeats, 1, 2]  # the training went back to step 1
    sent = delivery("a", steps)
    times = np.array([*range(3), *[2] * repeats, 10, 11]) + NOW
    receipts, commits = written(sqlite_engine, clock, replace(sent, batch=replace(sent.batch, times=times)))
    assert (receipts[0].attempt, receipts[0].accepted) == (1, 5)
    assert [(one.attempt, one.last_step) for one in commits] == [(0, 3), (1, 2)]
    assert len(store.read(receipts[0].run_id)[LOSS]) == 5


def test_a_repeated_batch_states_the_attempt_of_its_writer(store: Store) -> None:
    first = store.accept(delivery("a", attempt="0"))
    second = store.accept(delivery("b", [2], attempt="1"))
    assert (first.attempt, second.attempt) == (0, 1)
    again = store.accept(delivery("b", [2], attempt="1"))
    assert (again.attempt, again.duplicate, again.accepted) == (1, True, 1)
    of_nobody = replace(delivery("c", keys=()), writer="other")
    assert store.accept(of_nobody).attempt == 1  # the newest one
    assert store.accept(replace(of_nobody, run="without points")).attempt == 0
