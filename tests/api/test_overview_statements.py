"""The overview takes as many database statements for many runs as for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from sqlalchemy import Engine, event, select

from holter.server.models import RunRecord
from holter.server.read_models.runs import RunReader
from holter.server.store import Store
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import PointBlock
from holter.server.store.read import stats_cache
from holter.types import Batch, Column, Delivery, SeriesKey


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """What the database is asked meanwhile, but for the frame of transactions."""
    asked: list[str] = []

    def hear(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if statement.startswith(("SELECT", "WITH")):
            asked.append(statement)

    event.listen(engine, "before_cursor_execute", hear)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", hear)


def step(store: Store, run: int, first: int, rows: int) -> None:
    steps = np.arange(first, first + rows)
    columns = tuple(
        Column(key=SeriesKey(name), values=np.ones(rows)) for name in ("loss", "tokens_per_second", "lr")
    )
    batch = Batch(steps=steps, times=1.7e9 + steps, columns=columns, attempt="0")
    store.accept(Delivery(project="p", run=f"r{run}", writer="w", batch_id=f"{first}", batch=batch))


def test_many_changed_runs_take_as_many_statements_as_one(store: Store, engine: Engine) -> None:
    overview = RunReader(engine, store)
    for run in range(20):
        step(store, run, 0, 3_000)
    store.compact()
    before = {run["name"]: run for run in overview.runs()}
    counts = []
    for number, going_on in enumerate((1, 20)):
        for run in range(going_on):
            step(store, run, 3_000 + number, 1)
        with statements(engine) as asked:
            after = {run["name"]: run for run in overview.runs()}
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 8
    with statements(engine) as asked:
        assert {run["name"]: run for run in overview.runs()} == after
    assert len(asked) == 2, "where nothing has come, only the runs and their incidents are asked for"
    for name, run in after.items():
        fresh = RunReader(engine, Store(engine)).run(run["id"])
        for one in (run, fresh):
            one["strip"] = {**one["strip"], "throughput": None}  # may be one of its bins behind
        assert run == {field: fresh[field] for field in run}
        more = 6 if name == "r0" else 3
        assert (run["points"], before[name]["points"]) == (9_000 + more, 9_000)


def test_a_strip_grows_with_its_run(store: Store, engine: Engine) -> None:
    overview = RunReader(engine, store)
    step(store, 0, 0, 1_200)
    (run,) = overview.runs()
    assert run["strip"]["throughput"]["step"][-1] == 1_190
    step(store, 0, 1_200, 400)
    (run,) = overview.runs()
    assert run["strip"]["last_step"] == 1_599
    assert run["strip"]["throughput"]["step"][-1] > 1_500


def test_a_long_log_is_counted_in_parts(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        step(store, 0, number * 100, 150)  # a third of its points are sent again with the next ones
    at_once = load_stats(engine)
    monkeypatch.setattr(stats_cache, "POINTS_AT_ONCE", 1_000)
    sizes = []
    merge = stats_cache.merge_blocks

    def counted(blocks: Sequence[PointBlock]) -> PointBlock:
        sizes.append(sum(len(block.values) for block in blocks))
        return merge(blocks)

    monkeypatch.setattr(stats_cache, "merge_blocks", counted)
    in_parts = load_stats(engine)
    assert max(sizes) < 2_000
    assert in_parts.entry == at_once.entry
    assert in_parts.doubtful == set(at_once.names), "points of repeated steps are counted again"
    run = RunReader(engine, Store(engine)).runs()[0]
    assert (run["points"], run["last_step"]) == (3 * 1_250, 1_249)


def load_stats(engine: Engine) -> stats_cache.RunStats:
    """The statistics of the only run, read anew."""
    with engine.connect() as connection:
        runs = connection.scalars(select(RunRecord.id)).all()
        (stats,) = stats_cache.load_run_stats(connection, runs, LruCache(2**20)).values()
        return stats
