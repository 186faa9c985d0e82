"""Limits on what a project may send and keep: refused with a reason, and what was stored stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from sqlalchemy import Engine, select

from holter.server.models import UnreadableRow
from holter.server.store import RateLimitError, Receipt, Store
from holter.server.store.rate_limit import PointRateLimiter
from holter.server.store.usage import StorageUsage, stored_bytes
from holter.server.store.write.cardinality import name_pattern
from holter.settings.projects import QuotaSettings
from holter.types import Batch, Column, Cursor, Delivery, DenseColumns, SeriesKey, SeriesLayout


@contextmanager
def limited(engine: Engine, **quota: float) -> Iterator[Store]:
    store = Store(engine, quota=lambda _: QuotaSettings.model_validate(quota))
    store.start()
    try:
        yield store
    finally:
        store.close()


def row(step: int, names: list[str], **header: object) -> Delivery:
    """One step at which each of these metrics has the value 1."""
    columns = tuple(Column(key=SeriesKey(name), values=np.ones(1)) for name in names)
    batch = Batch(steps=np.array([step]), times=np.array([step * 1.0]), columns=columns)
    given = {"project": "p", "run": "r", "writer": "w", "batch_id": f"{step} {names[:1]}"} | header
    return Delivery(batch=batch, **given)  # type: ignore[arg-type]


def notes(engine: Engine) -> list[tuple[str, str]]:
    with engine.connect() as connection:
        rows = connection.execute(select(UnreadableRow.source, UnreadableRow.reason))
        return [(found.source, found.reason) for found in rows]


def names_of(store: Store, receipt: Receipt) -> set[str]:
    return {one.key.metric for one in store.series(receipt.run_id)}


def test_series_beyond_the_limit_are_refused(engine: Engine) -> None:
    with limited(engine, max_series_per_run=3) as store:
        assert store.accept(row(1, ["a", "b"])).refused == ()
        receipt = store.accept(row(2, ["a", "b", "c", "d", "e"]))
        assert receipt.accepted == 3
        [refusal] = receipt.refused
        assert (refusal.series, "max_series_per_run" in refusal.reason) == (2, True)
        assert names_of(store, receipt) == {"a", "b", "c"}
        assert [source for source, _ in notes(engine)] == ["w"]


def test_refused_batch_is_accepted_later(engine: Engine) -> None:
    with limited(engine, max_series_per_run=1) as store:
        store.accept(row(1, ["a"]))
        for _ in range(2):
            receipt = store.accept(row(2, ["b"]))
            assert (receipt.accepted, receipt.duplicate, len(receipt.refused)) == (0, False, 1)
    with limited(engine, max_series_per_run=2) as store:
        assert store.accept(row(2, ["b"])).accepted == 1
        assert store.accept(row(2, ["b"])).duplicate


def test_tailed_file_continues_after_refused_series(engine: Engine) -> None:
    with limited(engine, max_series_per_run=1) as store:
        for step in range(1, 6):
            cursor = Cursor(source="/log", format="csv", offset=step, identity="i")
            store.accept(row(step, ["a", f"b{'x' * step}"], cursor=cursor))
        kept = store.cursor("/log")
        assert kept is not None
        assert kept.offset == 5
        [(source, reason)] = notes(engine)
        assert source == "/log"
        assert "max_series_per_run" in reason


@pytest.mark.parametrize("name", ["loss_step_{}", "sample/{:08x}/score", "grad/{}/norm"])
def test_metric_named_after_the_step_is_refused(engine: Engine, name: str) -> None:
    with limited(engine) as store:
        refusals = set()
        for step in range(0, 3000, 100):  # flushes of 100 steps, each step with a name of its own
            steps = np.arange(step, step + 100)
            once = [
                Column(key=SeriesKey(name.format(1000 + n)), values=np.ones(1), rows=np.array([n - step]))
                for n in steps.tolist()
            ]
            columns = (Column(key=SeriesKey("loss"), values=np.ones(100)), *once)
            batch = Batch(steps=steps, times=steps * 1.0, columns=columns)
            receipt = store.accept(
                Delivery(project="p", run="r", writer="w", batch_id=str(step), batch=batch)
            )
            refusals |= {(one.what, one.reason) for one in receipt.refused}
        pattern = name_pattern(SeriesKey(name.format(1000)))
        assert {what for what, _ in refusals} == {pattern}
        assert len(store.series(receipt.run_id)) == 513
        assert len(store.read(receipt.run_id)[SeriesKey("loss")]) == 3000
        [(_, reason)] = notes(engine)
        assert reason.startswith(f"{pattern}: 512 series with one or two points each; log ")
        assert store.check() == []


@pytest.mark.slow
def test_the_advice_names_the_metric_without_its_counter(engine: Engine) -> None:
    with limited(engine) as store:
        for step in range(520):
            receipt = store.accept(row(step, ["loss", f"train/loss_step_{step}"]))
        assert 'log "train/loss" with the step instead' in receipt.refused[0].reason
    with limited(engine) as store:  # also after a restart
        assert store.accept(row(600, ["loss", "train/loss_step_600"])).refused[0].what == "train/loss_step_*"


def legitimate() -> dict[str, Callable[[int], list[str]]]:
    """What is logged at each step, by what it is."""
    statistics = ("mean", "std", "max", "norm", "rms")
    layers = [f"layer.{n}.{part}" for n in range(96) for part in statistics]
    experts = [f"moe/expert_{n}/tokens" for n in range(1024)]
    many = [f"m{n}" for n in range(10_001)]
    tasks = [f"eval/task_{n}/acc" for n in range(2000)]
    return {
        "layers": lambda step: layers,
        "layers one by one": lambda step: [f"layer.{step % 96}.{part}" for part in statistics],
        "experts": lambda step: experts,
        "experts as they are first used": lambda step: experts[: 40 * (step + 1)],
        "many from the first step": lambda step: many,
        "tasks of an evaluation": lambda step: ["loss", *(tasks if step == 30 else [])],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", legitimate())
def test_many_recurring_series_are_no_explosion(sqlite_engine: Engine, kind: str) -> None:
    logged = legitimate()[kind]
    with limited(sqlite_engine) as store:
        shapes: dict[int, SeriesLayout] = {}
        for step in range(100 if kind == "layers one by one" else 32):
            names = logged(step)
            keys = [SeriesKey(name) for name in names]
            shape = shapes.get(len(names)) if kind != "layers one by one" else None
            shape = shapes.setdefault(len(names), SeriesLayout(keys)) if shape is None else shape
            shape = SeriesLayout(keys) if kind == "layers one by one" else shape
            columns = DenseColumns(shape, np.ones((len(keys), 1)))
            batch = Batch(steps=np.array([step]), times=np.array([step * 1.0]), columns=columns)
            receipt = store.accept(
                Delivery(project="p", run="r", writer="w", batch_id=str(step), batch=batch)
            )
            assert receipt.refused == ()
            assert receipt.accepted == len(names)


@pytest.mark.slow
def test_unbounded_labels_are_an_explosion(sqlite_engine: Engine) -> None:
    with limited(sqlite_engine) as store:
        for step in range(520):
            key = SeriesKey("loss", (("batch", f"b{step}"),))
            batch = Batch(
                steps=np.array([step]),
                times=np.array([step * 1.0]),
                columns=(Column(key=key, values=np.ones(1)),),
            )
            receipt = store.accept(
                Delivery(project="p", run="r", writer="w", batch_id=str(step), batch=batch)
            )
        assert receipt.refused[0].what == "loss{batch=b*}"


def test_points_a_second_are_bounded_on_average(sqlite_engine: Engine) -> None:
    with limited(sqlite_engine, max_points_per_second=40, burst_seconds=0.5) as store:
        names = [f"m{n}" for n in range(60)]
        store.submit(row(1, names))  # 60 of 20: overdrawn once, for a second
        with pytest.raises(RateLimitError, match="max_points_per_second") as refused:
            store.submit(row(2, names))
        assert 0 < refused.value.seconds <= 1
        began = time.monotonic()
        many = [f"m{n}" for n in range(1000)]
        assert store.accept(row(2, many)).accepted == 1000  # who can wait is let in
        assert time.monotonic() - began < 60
        with pytest.raises(RateLimitError):
            store.accept(row(3, names), timeout=0)


def test_a_bucket_fills_at_its_rate_and_no_higher_than_its_burst() -> None:
    now = [0.0]
    quota = QuotaSettings(max_points_per_second=10, burst_seconds=2)
    rates = PointRateLimiter(lambda _: quota, clock=lambda: now[0])
    rates.wait("p", 20, 0)
    with pytest.raises(RateLimitError):
        rates.wait("p", 1, 0)
    rates.wait("another", 20, 0)
    now[0] = 1000.0
    rates.wait("p", 15, 0)
    rates.wait("p", 15, 0)
    with pytest.raises(RateLimitError) as refused:
        rates.wait("p", 1, 0)
    assert refused.value.seconds == pytest.approx(1.0)


def test_full_project_rejects_points_and_retains_the_stored_ones(engine: Engine) -> None:
    with limited(engine, max_bytes=1) as store:
        first = store.accept(row(0, ["a"]))
        step, receipt = 0, first
        while not receipt.refused:  # measured beside the writing, soon after
            step += 1
            assert step < 2000
            receipt = store.accept(row(step, ["a"]))
        assert receipt.accepted == 0
        assert "max_bytes" in receipt.refused[0].reason
        assert store.accept(row(0, ["a"])).duplicate  # what it has is acknowledged again
        assert len(store.read(first.run_id)[SeriesKey("a")]) == step
        assert "max_bytes" in notes(engine)[0][1]


def test_the_bytes_of_a_project_are_those_of_its_log_and_its_chunks(engine: Engine, store: Store) -> None:
    assert stored_bytes(engine, "p") == 0
    for project in ("p", "another"):
        store.accept(row(1, ["a"], project=project))
    alone = stored_bytes(engine, "p")
    assert 0 < alone < 1000
    steps = np.arange(5000)
    column = Column(key=SeriesKey("a"), values=np.random.default_rng(0).normal(size=5000))
    batch = Batch(steps=steps, times=steps * 1.0, columns=(column,))
    store.accept(Delivery(project="p", run="s", writer="w", batch_id="long", batch=batch))
    before = stored_bytes(engine, "p")
    store.compact()
    assert alone < stored_bytes(engine, "p") < before + 2000


def test_written_bytes_count_until_the_next_measurement(sqlite_engine: Engine) -> None:
    usage = StorageUsage(sqlite_engine, interval=1000)
    assert usage.refusal("p", 100) is None
    usage.close()  # after the measurement: nothing is there
    usage.add("p", 99)
    assert usage.refusal("p", 100) is None
    usage.add("p", 1)
    refusal = usage.refusal("p", 100)
    assert refusal is not None
    assert "stores 100 bytes" in refusal.reason
    assert usage.refusal("p", 0) is None
