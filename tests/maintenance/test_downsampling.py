"""Thinning: most points go, nothing that tells the story does, and detection says nothing new."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select, update

from holter.server.alerting import IncidentStore
from holter.server.analysis import AnalysisWorker
from holter.server.database import reading, writing
from holter.server.maintenance import downsampling
from holter.server.maintenance.downsampling import RunChangedError, downsample_run
from holter.server.maintenance.downsampling_plan import TAIL_POINTS
from holter.server.maintenance.retention import DAY, apply_retention, due_runs
from holter.server.maintenance.select_points import (
    LONG_INCIDENT_POINTS,
    MARGIN_POINTS,
    IncidentSteps,
    near_incidents,
    select_points,
)
from holter.server.models import AnalysisRow, IncidentEventRow, IncidentRow, RunRecord
from holter.server.store import Store
from holter.server.store.encoding.block import SeriesPoints
from holter.settings.projects import RetentionSettings
from holter.types import Series, SeriesKey
from tests.support.stored_runs import LOSS, RANKED, add_incident, delivery, points_of

SIZE = 60_000
BUCKET = 100
NOW = 1.7e9


def curve(size: int = SIZE) -> np.ndarray:
    random = np.random.default_rng(0)
    values = 2 + np.exp(-np.arange(size) / 5000) + random.normal(0, 0.05, size)
    values[[20_011, 20_012, 33_333]] = [np.nan, np.inf, np.nan]
    values[[11_111, 44_444]] = [9.0, -9.0]
    return values


def fill(store: Store, engine: Engine) -> int:
    """Two attempts of a long series, a ranked one beside it, a short one, and an incident."""
    steps = np.arange(SIZE)
    for at in range(4):
        part = slice(at * SIZE // 4, (at + 1) * SIZE // 4)
        values = {LOSS: curve()[part], RANKED: np.cos(steps[part])}
        run_id = store.accept(delivery(steps[part], values, batch_id=str(at))).run_id
    store.accept(delivery(steps[:300], {SeriesKey("eval"): np.sin(steps[:300])}, batch_id="short"))
    store.accept(delivery(steps[30_000:], {LOSS: curve()[30_000:]}, batch_id="again", attempt="1"))
    store.compact(run_id)
    add_incident(engine, run_id, start=25_000, end=25_300)
    return run_id


def of_attempt(series: Series, attempt: int) -> SeriesPoints:
    mine = series.attempt == attempt
    return SeriesPoints(series.step[mine], series.time[mine], series.value[mine])


def buckets(points_of: SeriesPoints, width: int) -> dict[int, tuple[float, float]]:
    """The extremes of every `width` steps."""
    finite = np.isfinite(points_of.value)
    found: dict[int, tuple[float, float]] = {}
    for place in np.unique(points_of.step[finite] // width):
        held = points_of.value[finite & (points_of.step // width == place)]
        found[int(place)] = (float(held.min()), float(held.max()))
    return found


def test_extremes_and_incidents_are_retained(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine)
    before = store.read(run_id)
    done = downsample_run(engine, run_id, BUCKET, NOW)
    after = store.read(run_id)
    assert done.after < 0.25 * done.before
    assert store.check() == []
    for key, series in before.items():
        for attempt in np.unique(series.attempt).tolist():
            was, now = of_attempt(series, attempt), of_attempt(after[key], attempt)
            kept = np.isin(was.step, now.step)
            for whole, thinned in zip(was, now, strict=True):
                assert whole[kept].tobytes() == thinned.tobytes()  # real points, bit for bit
            assert kept[~np.isfinite(was.value)].all()
            assert kept[:MARGIN_POINTS].all()
            assert kept[-MARGIN_POINTS:].all()
            # chunks of four buckets each at most: no extreme of any larger stretch is lost
            assert buckets(was, 5000) == buckets(now, 5000)
    first = of_attempt(after[LOSS], 0).step
    assert set(range(25_000 - MARGIN_POINTS, 25_301 + MARGIN_POINTS)) <= set(first.tolist())
    newest = of_attempt(after[LOSS], 1).step
    assert set(range(SIZE - TAIL_POINTS, SIZE)) <= set(newest.tolist())
    assert len(after[SeriesKey("eval")]) == 300


def test_the_series_says_how_many_points_there_were(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine)
    before = {one.key: one for one in store.series(run_id)}
    downsample_run(engine, run_id, BUCKET, NOW)
    read = store.read(run_id)
    for one in store.series(run_id):
        was = before[one.key]
        assert (one.logged, was.logged) == (was.points, was.points)
        assert one.points == len(read[one.key])
        assert (one.minimum, one.maximum, one.nonfinite) == (was.minimum, was.maximum, was.nonfinite)
        assert (one.first_step, one.last_step, one.last_value) == (
            was.first_step,
            was.last_step,
            was.last_value,
        )
    (drawn,) = store.chart(run_id, [LOSS], points=100)
    assert drawn.downsampled == before[LOSS].points - len(read[LOSS])
    assert store.attempts(run_id)[0].points == 2 * SIZE + 300


def test_repeated_downsampling_and_dry_run_change_nothing(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine)
    whole = points_of(engine, run_id)
    counted = downsample_run(engine, run_id, BUCKET, NOW, apply=False)
    assert points_of(engine, run_id) == whole
    assert downsample_run(engine, run_id, BUCKET, NOW) == counted
    thinned = points_of(engine, run_id)
    again = downsample_run(engine, run_id, BUCKET, NOW)
    assert again.before == again.after == counted.after
    assert points_of(engine, run_id) == thinned


def test_run_with_new_points_is_not_downsampled(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = fill(store, engine)
    monkeypatch.setattr(downsampling, "PART_POINTS", 20_000)
    begin = downsampling._record_start

    def then_news(*arguments: object) -> None:
        begin(*arguments)
        store.accept(delivery(np.array([SIZE]), {LOSS: np.array([1.0])}, batch_id="news", attempt="1"))

    monkeypatch.setattr(downsampling, "_record_start", then_news)
    with pytest.raises(RunChangedError):
        downsample_run(engine, run_id, BUCKET, NOW)
    assert len(store.read(run_id)[RANKED]) == SIZE
    assert store.check() == []


def test_points_logged_after_downsampling_are_complete(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine)
    downsample_run(engine, run_id, BUCKET, NOW)
    kept = len(store.read(run_id)[LOSS])
    steps = np.arange(SIZE, SIZE + 9000)
    store.accept(delivery(steps, {LOSS: np.sin(steps)}, batch_id="more", attempt="1"))
    store.accept(delivery(np.array([50_050]), {LOSS: np.array([7.0])}, batch_id="late", attempt="1"))
    store.compact(run_id)
    assert store.check() == []
    series = store.read(run_id)[LOSS]
    assert set(steps.tolist()) <= set(of_attempt(series, 1).step.tolist())
    assert kept + 9000 <= len(series) <= kept + 9001
    (summary,) = [one for one in store.series(run_id) if one.key == LOSS]
    assert summary.logged >= SIZE + SIZE // 2 + 9000


@pytest.mark.slow
def test_kill_9_leaves_each_chunk_group_old_or_new(store: Store, engine: Engine, database_url: str) -> None:
    run_id = fill(store, engine)
    before = store.read(run_id)
    program = (
        "import os, sys, threading\n"
        "from holter.server.database import connect\n"
        "from holter.server.maintenance import downsampling\n"
        "downsampling.PART_POINTS = 16_384\n"
        "threading.Timer(float(sys.argv[3]), os._exit, (9,)).start()\n"
        "downsampling.downsample_run(connect(sys.argv[1]), int(sys.argv[2]), 100, 2e9)\n"
        "os._exit(0)\n"
    )
    codes = []
    for after in (0.02, 0.08, 5):
        arguments = [sys.executable, "-c", program, database_url, str(run_id), str(after)]
        codes.append(subprocess.run(arguments, timeout=120).returncode)
        assert store.check() == []
        for key, series in store.read(run_id).items():
            assert buckets(of_attempt(series, 0), 5000) == buckets(of_attempt(before[key], 0), 5000)
    assert codes[0] == 9
    assert codes[-1] == 0
    assert {one.key: one.logged for one in store.series(run_id)} == {
        key: len(series) for key, series in before.items()
    }


def aged(engine: Engine, run_id: int, days: float) -> None:
    """The run had its last news so many days ago; who had seen all of it has."""
    then = NOW - days * DAY
    with writing(engine) as connection:
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(updated_at=then))
        connection.execute(update(AnalysisRow).where(AnalysisRow.run_id == run_id).values(seen_at=then))


def test_retention_goes_by_project_and_age(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine)
    settings = {"llm": RetentionSettings(full_resolution_days=30, delete_after_days=90)}

    def of(project: str) -> RetentionSettings:
        return settings.get(project, RetentionSettings())

    def what() -> list[int | None]:
        return [one.bucket for one in due_runs(engine, of, NOW)]

    assert due_runs(engine, lambda _: RetentionSettings(), NOW) == []
    for days, expected in ((29, []), (31, [100]), (91, [None])):
        aged(engine, run_id, days)
        assert what() == expected
    aged(engine, run_id, 31)
    assert [one.seen for one in due_runs(engine, of, NOW)] == [True]
    (dry,) = apply_retention(engine, of, NOW, apply=False)
    (done,) = apply_retention(engine, of, NOW)
    assert (dry.before, dry.after) == (done.before, done.after)
    assert what() == []
    aged(engine, run_id, 91)
    (deleted,) = apply_retention(engine, of, NOW)
    assert deleted.description == "deleted"
    with reading(engine) as connection:
        assert connection.scalars(select(RunRecord.id)).all() == []


def test_unanalysed_run_is_not_downsampled(store: Store, engine: Engine) -> None:
    steps = np.arange(SIZE)
    run_id = store.accept(delivery(steps, {LOSS: curve()}, batch_id="0")).run_id
    aged(engine, run_id, 40)
    (kept,) = apply_retention(engine, lambda _: RetentionSettings(full_resolution_days=30), NOW)
    assert "not been analysed completely" in kept.problem
    assert len(store.read(run_id)[LOSS]) == SIZE


def story(engine: Engine, run_id: int) -> list[tuple[object, ...]]:
    with reading(engine) as connection:
        incidents = select(IncidentRow.__table__).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
        events = select(IncidentEventRow.__table__).order_by(IncidentEventRow.id)
        return [tuple(row) for query in (incidents, events) for row in connection.execute(query)]


def test_downsampling_changes_no_finding_and_later_points_are_analysed(store: Store, engine: Engine) -> None:
    random = np.random.default_rng(1)
    steps = np.arange(SIZE)
    values = 2 + random.normal(0, 0.02, SIZE)
    values[30_000:30_040] += np.linspace(2, 0.5, 40)
    values[50_000] = np.nan
    run_id = store.accept(delivery(steps, {LOSS: values}, batch_id="0")).run_id
    store.compact(run_id)
    loop = AnalysisWorker(engine, store, IncidentStore(engine))
    assert len(loop.analyze(run_id)) >= 2
    before = story(engine, run_id)
    downsample_run(engine, run_id, BUCKET, NOW)
    assert loop.analyze(run_id) == []
    assert story(engine, run_id) == before
    more = 2 + random.normal(0, 0.02, 3000)
    more[1500:] = np.nan
    store.accept(delivery(np.arange(SIZE, SIZE + 3000), {LOSS: more}, batch_id="1"))
    changed = loop.analyze(run_id)
    assert [(one.finding.kind, one.finding.start_step) for one in changed] == [("nonfinite", SIZE + 1500)]
    assert story(engine, run_id)[: len(before)][0] == before[0]


@given(
    st.lists(st.floats(), min_size=1, max_size=400),
    st.integers(8, 64),
    st.integers(0, 400),
)
def test_selection_retains_every_extreme(values: list[float], bucket: int, whole: int) -> None:
    held = np.array(values)
    step = np.arange(len(held)) * 3
    stay = select_points(SeriesPoints(step, step * 1.0, held), bucket, step < 3 * whole)
    assert stay[:whole].all()
    assert stay[[0, -1]].all()
    assert stay[~np.isfinite(held)].all()
    for start in range(0, len(held), bucket):
        part, kept = held[start : start + bucket], stay[start : start + bucket]
        finite = np.isfinite(part)
        assert kept[[0, -1]].all()
        if finite.any():
            assert part[kept & finite].min() == part[finite].min()
            assert part[kept & finite].max() == part[finite].max()
        if start >= whole and finite.all():
            assert kept.sum() <= 4 or start < whole


def test_long_incidents_are_retained_only_near_their_steps() -> None:
    step = np.arange(100_000)
    short = near_incidents(step, [IncidentSteps(0, (40_000, 41_000))])
    assert np.flatnonzero(short)[[0, -1]].tolist() == [40_000 - MARGIN_POINTS, 41_000 + MARGIN_POINTS]
    assert short.sum() == 1001 + 2 * MARGIN_POINTS
    long = near_incidents(step, [IncidentSteps(0, (40_000, 40_000 + 3 * LONG_INCIDENT_POINTS))])
    assert long.sum() == 2 * (2 * MARGIN_POINTS + 1)


def test_retention_below_a_day_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RetentionSettings(full_resolution_days=0.5)
