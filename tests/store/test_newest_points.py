"""The newest points of a run are those that all of its points say, whoever asks, whatever is remembered."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from holter.server.database import writing
from holter.server.store import Store
from holter.server.store.compaction.summary import rebuild_summary
from holter.server.store.encoding.series_names import NO_NAMES, SeriesNameRows, decode_names, encode_names
from holter.server.store.read import latest as newest_points
from holter.types import Batch, Column, Delivery, Labels, SeriesKey
from tests.support.point_model import PointModel
from tests.support.stored_runs import newest_by_key

RANKS = [SeriesKey("loss", (("rank", str(rank)),)) for rank in (0, 3, 10)]
LATER = [SeriesKey("eval"), SeriesKey("loss", (("dataset", "a"), ("rank", "3"))), SeriesKey("a/é")]
KEYS = [SeriesKey("loss"), *RANKS, *LATER]
KEYS_OF = {"w": KEYS, "eval": [SeriesKey(f"eval/{key.metric}", key.labels) for key in KEYS]}
"""The series of each writer: two that log the same one are told apart (`test_shared_series.py`)."""
NUMBERS = count()


@st.composite
def batches(draw: st.DrawFn) -> tuple[Batch, str]:
    """A batch of one writer: steps in any order, some of them twice, late or of an older attempt."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([1, 1, 3, 40, 300, 2_500]))
    start = draw(st.sampled_from([0, 0, 2, 50, 400, 40_000, -70_000]))
    steps = start + np.arange(rows)
    order = draw(st.sampled_from(["as logged", "as logged", "shuffled", "repeated"]))
    if order != "as logged":
        steps = random.permutation(steps) if order == "shuffled" else steps[random.integers(0, rows, rows)]
    times = np.where(random.random(rows) < 0.2, np.nan, random.normal(1.7e9, 1e3, rows))
    columns = []
    writer = draw(st.sampled_from(sorted(KEYS_OF)))
    for key in draw(st.lists(st.sampled_from(KEYS_OF[writer]), min_size=1, max_size=5, unique=True)):
        at = None if draw(st.booleans()) else np.sort(random.choice(rows, max(1, rows // 2), replace=False))
        values = random.normal(size=rows if at is None else len(at))
        odd = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e-310], size=len(values))
        columns.append(
            Column(key=key, values=np.where(random.random(len(values)) < 0.2, odd, values), rows=at)
        )
    attempt = str(draw(st.integers(0, 2)))
    return Batch(steps=steps, times=times, columns=tuple(columns), attempt=attempt), writer


def said(store: Store, run_id: int) -> list[Any]:
    names, attempt, step, time, value = store.newest_points(run_id)
    keys = names.keys()
    assert keys == sorted(keys)
    assert [(key.metric, dict(key.labels)) for key in keys] == list(
        zip(names.metric_list(), names.label_list(), strict=True)
    )
    places = zip(keys, attempt.tolist(), step.tolist(), strict=True)
    return [(*place, time[at].tobytes(), value[at].tobytes()) for at, place in enumerate(places)]


def expected(model: PointModel) -> list[Any]:
    return [(key, *points[-1]) for key, points in model.points().items()]


def act(engine: Engine, store: Store, run_id: int, action: str) -> None:
    if action == "compact":
        store.compact(run_id)
        return
    with writing(engine) as connection:
        if action == "renew":
            rebuild_summary(connection, run_id)
        else:  # as a Holter left it that did not keep them
            connection.execute(text(f"UPDATE summary SET names = NULL WHERE run_id = {run_id}"))


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.one_of(batches(), batches(), st.sampled_from(["again", "compact", "compact", "renew", "unnamed"])),
        max_size=12,
    )
)
def test_newest_points_are_those_of_all_points(engine: Engine, actions: list[Any]) -> None:
    run, model, delivered = f"run-{next(NUMBERS)}", PointModel(), list[Delivery]()
    store, reader = Store(engine), Store(engine)  # the reader hears of nothing, as another server would not
    store.start()

    def deliver(batch: Batch, writer: str) -> int:
        number = str(len(delivered))
        delivered.append(Delivery(project="p", run=run, writer=writer, batch_id=number, batch=batch))
        model.add(int(batch.attempt or 0), batch)
        return store.accept(delivered[-1]).run_id

    try:
        begun = (Column(key=KEYS[0], values=np.ones(3)),)
        run_id = deliver(Batch(steps=np.arange(3), times=np.arange(3.0), columns=begun, attempt="0"), "w")
        for number, action in enumerate(actions):
            if action == "again":
                assert all(store.accept(one).duplicate for one in delivered)
            elif isinstance(action, str):
                act(engine, store, run_id, action)
            else:
                deliver(*action)
            assert said(Store(engine), run_id) == said(store, run_id) == expected(model)
            if number % 3:
                assert said(reader, run_id) == expected(model)
        assert store.check() == []
    finally:
        store.close()


@pytest.mark.parametrize("compacting", [False, True])
def test_unmarked_rollbacks_end_at_the_last_point(store: Store, compacting: bool) -> None:
    random = np.random.default_rng(3)
    clock = 0.0
    for number, start in enumerate((0, 100, 60, 160, 90, 95, 400)):
        steps = start + np.arange(100)
        columns = tuple(Column(key=key, values=random.normal(size=100)) for key in KEYS[: 1 + number % 5])
        batch = Batch(steps=steps, times=clock + np.arange(100.0), columns=columns)
        clock += 100
        one = Delivery(project="p", run="r", writer="w", batch_id=str(number), batch=batch)
        run_id = store.accept(one).run_id
        if compacting:
            store.compact()
        for key, points in store.read(run_id).items():
            columns = (points.attempt, points.step, points.time, points.value)
            assert newest_by_key(store, run_id)[key] == tuple(column[-1].item() for column in columns)
    assert len(store.attempts(run_id)) > 2


def test_superseded_log_entries_are_not_decoded(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(40):
        for writer, keys in (("w", KEYS[:1]), ("rank", RANKS)):
            columns = tuple(Column(key=key, values=np.array([float(step)])) for key in keys)
            batch = Batch(steps=np.array([step]), times=np.array([1.0]), columns=columns, attempt="0")
            one = Delivery(project="p", run="r", writer=writer, batch_id=f"{writer}{step}", batch=batch)
            run_id = store.accept(one).run_id
    decoded = []
    decode = newest_points.decode_log_entry
    monkeypatch.setattr(newest_points, "decode_log_entry", lambda blob: decoded.append(blob) or decode(blob))
    assert {point[1] for point in newest_by_key(Store(engine), run_id).values()} == {39}
    assert len(decoded) == 2, "one of each writer"


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
labels = st.dictionaries(texts, texts, max_size=2).map(lambda held: tuple(sorted(held.items())))


@given(st.dictionaries(st.tuples(texts, st.one_of(st.just(()), labels)), st.integers(1, 2**40)))
def test_names_come_back_in_their_order(held: dict[tuple[str, Labels], int]) -> None:
    series = {number: SeriesKey(*key) for key, number in held.items()}
    rows = [(number, *key) for number, key in series.items()]
    columns = (
        SeriesNameRows(*(list(column) for column in zip(*rows, strict=True)))
        if rows
        else SeriesNameRows([], [], [])
    )
    for start in (0, len(rows) // 2):
        some = NO_NAMES.with_rows(SeriesNameRows(*(column[:start] for column in columns)))
        names = decode_names(
            encode_names(some.with_rows(SeriesNameRows(*(column[start:] for column in columns))))
        )
        assert list(names.by_id().items()) == sorted(series.items(), key=lambda row: row[1])
        assert names.ids.tolist() == sorted(series)
    half = sorted(series)[::2]
    kept = names.only(np.array(half, dtype=np.int64))
    assert kept.by_id() == {number: series[number] for number in half}
    assert kept.keys() == sorted(kept.keys())
