"""Which chunks compaction makes of which points: with small limits in place of those of thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from sqlalchemy import Engine, func, select

from holter.server.database import reading, writing
from holter.server.models import Chunk, LogEntry, Timeline
from holter.server.store import Store
from holter.server.store.compaction import compaction as module
from holter.server.store.compaction.summary import load_summary, rebuild_summary
from holter.server.store.encoding import chunk_builder
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey
from tests.support.stored_runs import LOSS, NORM, delivery, running_store

# 30 points: chunks of 0 to 900, 1000 to 1900 and 2000 to 2900
BASE = np.arange(0, 3000, 100)


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 10 points, larger ones of fewer than 8; fewer than 4 late points make none of their own."""
    monkeypatch.setattr(chunk_builder, "MAX_CHUNK_POINTS", 10)
    monkeypatch.setattr(module, "_GROWING_CHUNK_POINTS", 8)
    monkeypatch.setattr(module, "_MIN_APPENDED_POINTS", 4)
    monkeypatch.setattr(module, "_MIN_CHUNK_POINTS", ((1, 0),))


@pytest.fixture
def store(sqlite_engine: Engine) -> Iterator[Store]:
    with running_store(sqlite_engine) as store:
        yield store


def send(store: Store, steps: Sequence[int] | np.ndarray, *keys: SeriesKey, value: float = 1.0) -> int:
    given = np.array(steps)
    values = {key: np.full(len(given), value) for key in keys or (LOSS,)}
    return store.accept(delivery(given, values, batch_id=f"{given.tolist()} {keys} {value}")).run_id


def chunks(engine: Engine) -> list[tuple[int, int, int]]:
    """First step, last step and points of each chunk."""
    with reading(engine) as connection:
        columns = (Chunk.step_min, Chunk.step_max, Chunk.points)
        return [tuple(row) for row in connection.execute(select(*columns).order_by(Chunk.step_min))]


def count(engine: Engine, table: type) -> int:
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


@contextmanager
def rewrites(engine: Engine, run_id: int) -> Iterator[list[int]]:
    """How many transactions replaced rows of the run."""
    counted: list[int] = []

    def generation() -> int:
        with reading(engine) as connection:
            return load_summary(RunSnapshot(connection, run_id)).generation

    before = generation()
    yield counted
    counted.append(generation() - before)


FIRST, SECOND, LAST = (0, 900, 10), (1000, 1900, 10), (2000, 2900, 10)
DIVIDED = [(0, 400, 5), (500, 900, 6)]  # with step 850, which is too many for a chunk


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        pytest.param([850], [*DIVIDED, SECOND, LAST], id="within a chunk"),
        pytest.param([900], [FIRST, SECOND, LAST], id="stored already"),
        pytest.param([901, 902], [FIRST, (901, 902, 2), SECOND, LAST], id="between chunks"),
        pytest.param([-2, -1], [(-2, -1, 2), FIRST, SECOND, LAST], id="before all chunks"),
        pytest.param([-1, 850], [(-1, -1, 1), *DIVIDED, SECOND, LAST], id="before and within"),
        pytest.param(
            [850, *range(1901, 1904)],
            [*DIVIDED, (1000, 1500, 6), (1600, 1903, 7), LAST],
            id="few after the next chunk join it",
        ),
        pytest.param(
            [850, *range(1901, 1905)],
            [*DIVIDED, SECOND, (1901, 1904, 4), LAST],
            id="more after the next chunk make another",
        ),
        pytest.param([850, 2901], [*DIVIDED, SECOND, LAST, (2901, 2901, 1)], id="within, and after all"),
        pytest.param(
            [1950, 2050],
            [FIRST, SECOND, (1950, 1950, 1), (2000, 2800, 10), (2900, 2900, 1)],
            id="within the last one, which is filled",
        ),
    ],
)
def test_late_points_make_chunks_that_do_not_overlap(
    store: Store, sqlite_engine: Engine, late: list[int], expected: list[tuple[int, int, int]]
) -> None:
    run_id = send(store, BASE)
    store.compact()
    assert chunks(sqlite_engine) == [FIRST, SECOND, LAST]
    send(store, late)
    store.compact()
    assert chunks(sqlite_engine) == expected
    assert store.read(run_id)[LOSS].step.tolist() == sorted({*BASE.tolist(), *late})
    assert count(sqlite_engine, LogEntry) == 0
    assert store.check() == []


def test_a_late_and_a_new_part_of_one_delivery_go_to_different_chunks(
    store: Store, sqlite_engine: Engine
) -> None:
    run_id = send(store, BASE)
    store.compact()
    send(store, [2850, 3000, 3001])  # the new ones come with late ones of the last chunk
    store.compact()
    assert store.read(run_id)[LOSS].step.tolist() == sorted({*BASE.tolist(), 2850, 3000, 3001})
    # full ones come first, as for all new points
    assert chunks(sqlite_engine)[2:] == [(2000, 2850, 10), (2900, 3001, 3)]
    assert store.check() == []


@pytest.mark.parametrize(("size", "expected"), [(7, [10, 2]), (8, [8, 5])])
def test_a_chunk_grows_until_it_is_large_enough(
    store: Store, sqlite_engine: Engine, size: int, expected: list[int]
) -> None:
    send(store, range(size))
    store.compact()
    send(store, range(size, size + 5))
    store.compact()
    assert [points for *_, points in chunks(sqlite_engine)] == expected
    assert store.check() == []


@pytest.mark.parametrize(
    ("limits", "sizes", "chunked"),
    [
        (((20, 100), (10, 50)), [15] * 6, 0),
        (((20, 100), (10, 50)), [15] * 7, 7),  # 105 points are too many for the log
        (((20, 100), (10, 50)), [10] * 10, 0),  # exactly as many as may stay
        (((20, 100), (10, 50)), [20, 19], 1),
        (((20, 100), (10, 50)), [15] * 6 + [5] * 10, 6),  # those below 10 points stay
        (((20, 100), (10, 50)), [5] * 21, 21),
        (((20, 100), (10, 50)), [1] * 101, 101),
    ],
)
def test_short_series_stay_in_the_log_while_their_points_are_few(
    store: Store,
    sqlite_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[tuple[int, int], ...],
    sizes: list[int],
    chunked: int,
) -> None:
    monkeypatch.setattr(module, "_MIN_CHUNK_POINTS", limits)
    monkeypatch.setattr(chunk_builder, "MAX_CHUNK_POINTS", 1000)
    values = {}
    for number, size in enumerate(sizes):
        values[SeriesKey(f"m{number}")] = np.arange(size) * 1.0
    for size in sorted(set(sizes)):
        of_size = {key: column for key, column in values.items() if len(column) == size}
        run_id = store.accept(delivery(np.arange(size), of_size, batch_id=str(size))).run_id
    store.compact()
    assert len(chunks(sqlite_engine)) == chunked
    read = store.read(run_id)
    assert {key: len(read[key].step) for key in values} == {
        key: len(column) for key, column in values.items()
    }
    assert store.check() == []


@pytest.mark.parametrize(("limit", "passes"), [(19, 3), (20, 3), (21, 2), (30, 2), (60, 1), (1000, 1)])
def test_a_pass_takes_entries_until_they_have_so_many_points(
    store: Store, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, limit: int, passes: int
) -> None:
    monkeypatch.setattr(module, "_MAX_POINTS_PER_PASS", limit)
    for number in range(6):
        run_id = send(store, range(10 * number, 10 * number + 10))
    with rewrites(sqlite_engine, run_id) as counted:
        assert module.compact(sqlite_engine, run_id) == 6
    assert counted == [passes]
    assert count(sqlite_engine, LogEntry) == 0


def test_what_stays_in_the_log_becomes_one_entry_and_is_not_rewritten_again(
    store: Store, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MIN_CHUNK_POINTS", ((100, 1000),))
    run_id = send(store, [3, 4, 9])
    for expected in (1, 0):
        with rewrites(sqlite_engine, run_id) as counted:
            assert module.compact(sqlite_engine, run_id) == 0
        assert counted == [expected]  # once, since the summary counts it then
    send(store, [5, 7])
    with rewrites(sqlite_engine, run_id) as counted:
        assert module.compact(sqlite_engine, run_id) == 0
    assert counted == [1]
    with reading(sqlite_engine) as connection:
        row = connection.execute(select(LogEntry.step_min, LogEntry.step_max, LogEntry.points)).one()
    assert tuple(row) == (3, 9, 5)
    assert store.read(run_id)[LOSS].step.tolist() == [3, 4, 5, 7, 9]
    assert store.check() == []


def test_metrics_that_were_logged_together_share_their_steps_and_times(
    store: Store, sqlite_engine: Engine
) -> None:
    run_id = send(store, range(7), LOSS, NORM)
    store.compact()
    assert count(sqlite_engine, Timeline) == 1
    send(store, range(7), SeriesKey("lr"))  # the same steps and times, later
    store.compact()
    assert count(sqlite_engine, Timeline) == 1
    send(store, [20, 21], LOSS)
    store.compact()  # the other two use it still
    assert count(sqlite_engine, Timeline) == 2
    assert store.read(run_id)[NORM].step.tolist() == list(range(7))
    send(store, [20, 21], NORM, SeriesKey("lr"))
    store.compact()
    assert count(sqlite_engine, Timeline) == 1
    assert store.check() == []


def test_a_series_without_finite_values_has_no_extremes(store: Store, sqlite_engine: Engine) -> None:
    run_id = send(store, [0, 10, 20], value=np.nan)
    send(store, [0, 10, 20], NORM, value=-3.0)
    store.compact()
    send(store, [5], value=np.inf)
    send(store, [5], NORM, value=-5.0)
    store.compact()
    summaries = {one.key: one for one in store.series(run_id)}
    assert (summaries[LOSS].points, summaries[LOSS].nonfinite) == (4, 4)
    assert (summaries[LOSS].minimum, summaries[LOSS].maximum) == (None, None)
    assert (summaries[NORM].minimum, summaries[NORM].maximum) == (-5.0, -3.0)
    with writing(sqlite_engine) as connection:
        rebuild_summary(connection, run_id)
    renewed = {one.key: one for one in Store(sqlite_engine).series(run_id)}
    assert str(renewed) == str(summaries)  # NaN included
    assert store.check() == []


@pytest.mark.parametrize("size", [0, 1, 499, 500, 501, 1000, 1203])
def test_long_lists_of_rows_are_passed_to_the_database_in_parts(size: int) -> None:
    parts = module._batches(list(range(size)))
    assert [number for part in parts for number in part] == list(range(size))
    assert all(0 < len(part) <= 500 for part in parts)  # SQLite has a limit of parameters
