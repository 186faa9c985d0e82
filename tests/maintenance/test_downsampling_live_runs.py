"""A run that goes on for months: what is old of it is thinned, what is new, open or near is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, select, update

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.server.alerting import IncidentStore
from holter.server.analysis import AnalysisWorker
from holter.server.database import reading, writing
from holter.server.import_export.run_metadata import export_metadata
from holter.server.maintenance import downsampling
from holter.server.maintenance.downsampling import downsample_run
from holter.server.maintenance.downsampling_plan import TAIL_POINTS
from holter.server.maintenance.horizon import load_horizon
from holter.server.maintenance.retention import DAY, apply_retention, due_runs
from holter.server.maintenance.select_points import MARGIN_POINTS
from holter.server.models import AnalysisRow, IncidentEventRow, IncidentRow, RunRecord
from holter.server.store import Store
from holter.server.store.compaction.compaction import compact
from holter.settings.projects import RetentionSettings
from holter.types import Series, SeriesKey
from tests.support.stored_runs import LOSS, add_incident, delivery, mark_analysed

WATCHED = SeriesKey("gpu_util", (("steps", "seconds"),))
EVERY = 60.0
"""Seconds a step: 1,440 steps a day."""
NOW = 1.7e9
DAYS = 100
SIZE = int(DAYS * DAY / EVERY)
KEPT = RetentionSettings(full_resolution_days=30)
OLD = SIZE - int(30 * DAY / EVERY)
"""The first step that is not old."""


@pytest.fixture(autouse=True)
def small_chunks_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holter.server.store.encoding.chunk_builder.MAX_CHUNK_POINTS", 4096)
    monkeypatch.setattr("holter.server.store.compaction.worker._IDLE_SECONDS", 1e9)
    monkeypatch.setattr("holter.server.store.compaction.worker._MAX_PENDING_POINTS", 1e9)


def wall(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return NOW + (steps - SIZE) * EVERY


def values(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found = 2 + np.random.default_rng(0).normal(0, 0.02, 2 * SIZE)[steps]
    return np.where(np.isin(steps, (11_111, SIZE - 99)), np.nan, found)


def send(store: Store, first: int, after: int, *, attempt: int = 0, more: bool = True) -> int:
    """Steps of an attempt, each when its clock says; compacted but for the last 2,000."""
    run_id = 0
    for begin, end in ((first, after - 2000), (after - 2000, after)):
        steps = np.arange(max(first, begin), end)
        if not len(steps):
            continue
        columns = {LOSS: values(steps), WATCHED: np.cos(steps)} if more else {LOSS: values(steps)}
        name = f"{attempt}.{begin}.{end}"
        run_id = store.accept(
            delivery(steps, columns, times=wall(steps), batch_id=name, attempt=str(attempt))
        ).run_id
        if begin == first:
            store.compact(run_id)
    return run_id


def lasting(engine: Engine, run_id: int, *, now: float = NOW) -> None:
    """The run began when its clock says, and had its last news now."""
    with writing(engine) as connection:
        times = {"created_at": float(wall(np.array(0))), "updated_at": now}
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(times))
    mark_analysed(engine, run_id)
    with writing(engine) as connection:
        connection.execute(update(AnalysisRow).where(AnalysisRow.run_id == run_id).values(seen_at=now))


def retained(engine: Engine, now: float = NOW, **more: Any) -> list[Any]:
    return list(apply_retention(engine, lambda _: KEPT, now, **more))


def steps_of(series: Series, attempt: int = 0) -> np.ndarray[Any, Any]:
    return series.step[series.attempt == attempt]


def test_old_part_of_a_live_run_is_downsampled(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    add_incident(engine, run_id, start=50_000, end=50_100)
    lasting(engine, run_id)
    before = store.read(run_id)[LOSS]
    (dry,) = retained(engine, apply=False)
    assert len(store.read(run_id)[LOSS]) == SIZE
    (done,) = retained(engine)
    assert (dry.before, dry.after) == (done.before, done.after)
    assert done.after < done.before
    after = store.read(run_id)[LOSS]
    kept = np.isin(before.step, after.step)
    for name in ("attempt", "step", "time", "value"):
        assert getattr(before, name)[kept].tobytes() == getattr(after, name).tobytes()
    assert kept[OLD - TAIL_POINTS :].all()  # what is judged, and what it is judged by
    assert kept[50_000 - MARGIN_POINTS : 50_100 + MARGIN_POINTS].all()
    assert kept[11_111]
    assert kept[:MARGIN_POINTS].all()
    assert kept[: OLD - TAIL_POINTS - 4096].mean() < 0.1
    for begin in range(0, OLD - 4096, 4096):
        part = slice(begin, begin + 4096)
        assert np.nanmax(before.value[part]) == np.nanmax(before.value[part][kept[part]])
        assert np.nanmin(before.value[part]) == np.nanmin(before.value[part][kept[part]])
    assert store.check() == []
    (summary,) = [one for one in store.series(run_id) if one.key == LOSS]
    assert (summary.points, summary.logged) == (len(after), SIZE)
    (drawn,) = store.chart(run_id, [LOSS], points=100)
    assert drawn.downsampled == SIZE - len(after)
    assert np.array_equal(steps_of(store.read(run_id)[WATCHED]), np.arange(SIZE))  # its steps are its own


def test_live_run_is_downsampled_once_a_day_incrementally(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    lasting(engine, run_id)
    retained(engine)
    held = len(store.read(run_id)[LOSS])
    assert due_runs(engine, lambda _: KEPT, NOW + DAY / 2) == []
    more = int(10 * DAY / EVERY)
    send(store, SIZE, SIZE + more)
    lasting(engine, run_id, now=NOW + 10 * DAY)
    before = load_horizon(engine, run_id)
    (done,) = retained(engine, NOW + 10 * DAY)
    horizon = load_horizon(engine, run_id)
    assert before is not None
    assert horizon is not None
    assert horizon.full_from == before.full_from + more
    assert done.after < done.before
    steps = steps_of(store.read(run_id)[LOSS])
    assert len(steps) < held + more
    assert np.array_equal(
        steps[-(SIZE - OLD + TAIL_POINTS) :], np.arange(OLD + more - TAIL_POINTS, SIZE + more)
    )
    assert store.check() == []


def test_run_of_unknown_age_is_not_downsampled(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    lasting(engine, run_id, now=NOW + 3600)  # its clock is behind
    assert due_runs(engine, lambda _: KEPT, NOW + 3600) == []
    lasting(engine, run_id)
    (one,) = due_runs(engine, lambda _: KEPT, NOW)
    assert one.older_than == NOW - 30 * DAY
    assert due_runs(engine, lambda _: RetentionSettings(), NOW) == []


def test_open_incident_retains_later_points(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    number = add_incident(engine, run_id, start=30_000, end=None)
    with writing(engine) as connection:
        connection.execute(update(IncidentRow).values(state="open", recovered_at=None))
    lasting(engine, run_id)
    (done,) = retained(engine)
    assert f"incident {number}" in done.description
    steps = steps_of(store.read(run_id)[LOSS])
    assert np.array_equal(steps[steps >= 30_000 - TAIL_POINTS], np.arange(30_000 - TAIL_POINTS, SIZE))
    assert len(steps) < SIZE - 20_000


def story(engine: Engine, run_id: int) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        incidents = select(IncidentRow.__table__).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
        events = select(IncidentEventRow.__table__).order_by(IncidentEventRow.id)
        return [tuple(row) for query in (incidents, events) for row in connection.execute(query)]


def eventful(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Spikes when it was young and lately, and one that has not ended."""
    found = 2 + np.random.default_rng(1).normal(0, 0.02, 2 * SIZE)[steps]
    for begin, height in ((20_000, 1.5), (70_000, 1.5), (SIZE - 20_000, 1.5), (SIZE - 50, 6.0)):
        found[(steps >= begin) & (steps < begin + 80)] += height
    return found


def test_downsampling_changes_no_finding_of_a_live_run(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.values", eventful)
    run_id = send(store, 0, SIZE, more=False)
    lasting(engine, run_id)
    moment = [NOW]
    loop = AnalysisWorker(engine, store, IncidentStore(engine), clock=lambda: moment[0])
    loop.analyze(run_id)
    before = story(engine, run_id)
    with reading(engine) as connection:
        opened = connection.execute(select(IncidentRow.id, IncidentRow.state)).all()
    assert [state for _, state in opened].count("open") == 1
    assert len(opened) >= 4
    loop._save()
    (done,) = retained(engine)
    assert done.after < done.before
    running = [number for number, state in opened if state == "open"]
    for asked in (loop, AnalysisWorker(engine, store, IncidentStore(engine), clock=lambda: moment[0])):
        assert {one.id for one in asked.analyze(run_id)} <= set(running)  # its numbers may differ a little
    after = story(engine, run_id)
    assert [row for row in after if row[0] not in running] == [row for row in before if row[0] not in running]
    assert len(after) == len(before)
    send(store, SIZE, SIZE + 3000, more=False)  # the spike ends
    lasting(engine, run_id, now=NOW + 3000 * EVERY)
    moment[0] += 3000 * EVERY
    changed = loop.analyze(run_id)
    assert [(one.id, one.state) for one in changed] == [(running[0], "recovered")]


def test_incremental_read_skips_the_downsampled_past(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    lasting(engine, run_id)
    retained(engine)
    loop = AnalysisWorker(engine, store, IncidentStore(engine), clock=lambda: NOW)
    loop.analyze(run_id)
    held = loop._cache.get(run_id).series[LOSS]
    assert OLD - TAIL_POINTS - 4096 <= held.step[0] <= OLD - TAIL_POINTS
    assert held.step[-1] == SIZE - 1


def test_rollback_into_downsampled_points_is_drawn_correctly(store: Store, engine: Engine) -> None:
    run_id = send(store, 0, SIZE)
    lasting(engine, run_id)
    retained(engine)
    first = steps_of(store.read(run_id)[LOSS])
    for attempt, back in ((1, 20_000), (2, 5000)):
        steps = np.arange(back, back + 9000)
        times = NOW + attempt * 1e6 + (steps - back) * EVERY
        sent = delivery(
            steps, {LOSS: values(steps)}, times=times, batch_id=f"back {back}", attempt=str(attempt)
        )
        store.accept(sent)
        store.compact(run_id)
    assert store.check() == []
    series = store.read(run_id)[LOSS]
    assert np.array_equal(steps_of(series), first)
    assert np.array_equal(steps_of(series, 1), np.arange(20_000, 29_000))
    spans = [AttemptSpan(one.number, one.first_step, one.last_step) for one in store.attempts(run_id)]
    curve = series.step[~superseded_points(series.attempt, series.step, spans)]
    assert curve[curve >= 5000].tolist() == list(range(5000, 14_000))
    assert np.array_equal(curve[curve < 5000], first[first < 5000])
    (drawn,) = store.chart(run_id, [LOSS], points=200)
    assert drawn.downsampled == SIZE - len(first)
    assert {(one.attempt, one.ghost) for one in drawn.segments} == {
        (0, False), (0, True), (1, True), (2, False),
    }  # fmt: skip
    steps = np.array([30_000])
    store.accept(delivery(steps, {LOSS: np.array([7.0])}, times=wall(steps), batch_id="late", attempt="0"))
    store.compact(run_id)
    assert store.check() == []
    assert 7.0 in store.read(run_id)[LOSS].value


def test_limit_in_an_older_attempt_retains_newer_attempts(store: Store, engine: Engine) -> None:
    middle = SIZE - 20_000
    send(store, 0, middle)
    run_id = send(store, middle - 500, SIZE, attempt=1)
    lasting(engine, run_id)
    retained(engine)
    horizon = load_horizon(engine, run_id)
    assert horizon is not None
    assert horizon.attempt == 0
    series = store.read(run_id)[LOSS]
    assert np.array_equal(steps_of(series, 1), np.arange(middle - 500, SIZE))
    assert len(steps_of(series)) < middle
    lasting(engine, run_id, now=NOW + 40 * DAY)
    later = NOW + 40 * DAY
    steps = np.arange(SIZE, SIZE + 3000)
    times = later + steps - SIZE - 3000
    store.accept(delivery(steps, {LOSS: values(steps)}, times=times, batch_id="z", attempt="1"))
    lasting(engine, run_id, now=later)
    retained(engine, later)
    horizon = load_horizon(engine, run_id)
    assert horizon is not None
    assert horizon.attempt == 1
    watched = store.read(run_id)[WATCHED]
    assert len(steps_of(watched)) < middle
    assert np.array_equal(steps_of(watched, 1), np.arange(middle - 500, SIZE))
    assert store.check() == []


def test_concurrent_points_do_not_stop_downsampling(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = send(store, 0, SIZE)
    lasting(engine, run_id)
    monkeypatch.setattr(downsampling, "PART_POINTS", 20_000)
    exchange, count = downsampling._replace_chunks, iter(range(1000))

    def then_news(*arguments: Any) -> None:
        number = next(count)
        steps = np.array([40_000 if number == 1 else SIZE + number])
        late = delivery(steps, {LOSS: np.array([5.0])}, times=wall(steps), batch_id=f"n{number}", attempt="0")
        store.accept(late)
        if number == 1:  # by somebody who does not wait for turns, as another server
            compact(engine, run_id)
        exchange(*arguments)

    monkeypatch.setattr(downsampling, "_replace_chunks", then_news)
    done = downsample_run(engine, run_id, 100, NOW, older_than=NOW - 30 * DAY)
    assert done.after < done.before
    assert next(count) > 3
    assert store.check() == []
    assert 5.0 in store.read(run_id)[LOSS].value
    with reading(engine) as connection:
        assert export_metadata(connection, run_id)["thinning"]["done_at"] == NOW
