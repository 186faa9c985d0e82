"""The overview takes as many database statements for many runs as for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sqlalchemy import Engine, event

from holter.server.read_models.runs import RunReader
from holter.server.store import Store
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
