"""New series of a run: unbounded names, limits that name what they refuse, bounded caches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from holter.attempts import Attempts
from holter.server.store.encoding.attempt_progress import AttemptProgress
from holter.server.store.write.cardinality import (
    MIN_EXPLOSION_SERIES,
    MIN_EXPLOSION_STEPS,
    NamePatterns,
    SeriesStart,
    name_pattern,
    series_starts,
)
from holter.server.store.write.run_state import AttemptRecord, RunState
from holter.server.store.write.series_limits import group_refusals, refused_series
from holter.types import Batch, Column, DenseColumns, SeriesKey, SeriesLayout


def key(number: int, name: str = "loss_step_{}") -> SeriesKey:
    return SeriesKey(name.format(number))


def progress_of(points: Sequence[int], first_steps: Sequence[int]) -> AttemptProgress:
    """An attempt in which the series have so many points, from these steps on."""
    progress = AttemptProgress()
    first = np.array(first_steps, dtype=np.int64)
    progress.add(np.arange(len(points)), np.array(points, dtype=np.int64), first, first)
    return progress


def exploding(
    old: int, new: int, *, points: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> list[int]:
    """The numbers of the new series that continue an explosion of names."""
    patterns = NamePatterns({key(number): number for number in range(old)})
    progress = progress_of(points or [1] * old, steps or range(old)) if old else AttemptProgress()
    starts = {key(number): SeriesStart(1, number) for number in range(old + new - 1, old - 1, -1)}
    return sorted(int(one.metric.rpartition("_")[2]) for one in patterns.exploding_series(starts, [progress]))


@pytest.mark.parametrize(
    ("metric", "pattern"),
    [
        ("loss", "loss"),
        ("loss_step_12", "loss_step_*"),
        ("layers.3.norm.12", "layers.*.norm.*"),
        ("lr/0.001", "lr/*"),
        ("sample/0123abcd/score", "sample/*/score"),
        ("run/123e4567-e89b-12d3-a456-426614174000", "run/*"),
        ("facade/added", "facade/added"),
    ],
)
def test_names_that_differ_in_numbers_have_one_pattern(metric: str, pattern: str) -> None:
    assert name_pattern(SeriesKey(metric)) == pattern


def test_numbers_in_values_of_labels_count_and_their_names_do_not() -> None:
    assert name_pattern(SeriesKey("time", (("rank2", "17"), ("z", "a")))) == "time{rank2=*,z=a}"


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [(0, 511, []), (510, 1, []), (511, 1, []), (512, 2, [512, 513]), (510, 4, [512, 513]), (0, 513, [512])],
)
def test_the_first_512_series_of_a_pattern_are_stored(old: int, new: int, refused: list[int]) -> None:
    assert MIN_EXPLOSION_SERIES == 512
    assert exploding(old, new) == refused


def test_series_that_begin_at_few_steps_are_no_explosion() -> None:
    few = [number % (MIN_EXPLOSION_STEPS - 1) for number in range(512)]
    assert exploding(512, 1, steps=few) == [512]  # with its own, the 64th
    few = [number % (MIN_EXPLOSION_STEPS - 2) for number in range(512)]
    assert exploding(512, 1, steps=few) == []


def test_series_most_of_which_have_more_points_are_no_explosion() -> None:
    # of the newest 512, the new one among them
    assert exploding(511, 2, points=[1] * 460 + [3] * 51) == [512]
    assert exploding(511, 2, points=[1] * 459 + [3] * 52) == []
    assert exploding(511, 2, points=[2] * 511) == [512]


def test_only_the_newest_series_count() -> None:
    assert exploding(1000, 1, points=[50] * 488 + [1] * 512) == [1000]
    assert exploding(1000, 1, points=[1] * 488 + [50] * 512) == []
    assert exploding(1000, 1, points=[50] * 541 + [1] * 459) == []


def test_points_and_steps_are_those_of_all_attempts() -> None:
    patterns = NamePatterns({key(number): number for number in range(512)})
    attempts = [progress_of([1] * 512, range(512)), progress_of([1] * 512, range(100, 612))]
    new = {key(512): SeriesStart(1, 600)}
    assert list(patterns.exploding_series(new, attempts)) == [key(512)]
    patterns = NamePatterns({key(number): number for number in range(512)})
    assert patterns.exploding_series(new, [*attempts, attempts[0]]) == {}  # three points each
    assert patterns.exploding_series(new, [progress_of([1] * 512, [7] * 512)]) == {}


def test_an_explosion_goes_on_whatever_comes_later() -> None:
    patterns = NamePatterns({key(number): number for number in range(512)})
    long = {key(600): SeriesStart(100, 0)}
    assert list(patterns.exploding_series(long, [progress_of([9] * 512, range(512))])) == []
    assert list(patterns.exploding_series(long, [progress_of([1] * 512, range(512))])) == [key(600)]
    assert list(patterns.exploding_series(long, [progress_of([9] * 512, range(512))])) == [key(600)]
    assert patterns.exploding_series({SeriesKey("loss"): SeriesStart(1, 0)}, []) == {}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("loss_step_{}", 'log "loss" with the step instead'),
        ("eval/acc/{}", 'log "eval/acc" with the step instead'),
        ("{}", "log one name with the step instead"),
        ("step{}", "log one name with the step instead"),
    ],
)
def test_the_reason_names_pattern_count_and_remedy(name: str, advice: str) -> None:
    patterns = NamePatterns({key(number, name): number for number in range(700)})
    new = {key(number, name): SeriesStart(1, number) for number in (700, 701)}
    [(pattern, reason)] = set(patterns.exploding_series(new, [progress_of([1] * 700, range(700))]).values())
    assert pattern == name.replace("{}", "*")
    assert reason.startswith(f"{pattern}: 700 series with one or two points each")
    assert reason.endswith(advice)


def test_how_series_begin_in_a_batch() -> None:
    steps, times = np.array([9, 5, 7]), np.zeros(3)
    a, b, c = (SeriesKey(name) for name in "abc")
    columns = (
        Column(key=a, values=np.ones(3)),
        Column(key=b, values=np.ones(2), rows=np.array([0, 2])),
        Column(key=c, values=np.ones(3)),
    )
    sparse = Batch(steps=steps, times=times, columns=columns)
    assert series_starts(sparse, [a, b]) == {a: SeriesStart(3, 5), b: SeriesStart(2, 7)}
    dense = Batch(steps=steps, times=times, columns=DenseColumns(SeriesLayout((a, b)), np.ones((2, 3))))
    assert series_starts(dense, [a, b]) == {a: SeriesStart(3, 5), b: SeriesStart(3, 5)}


def run_with(series: int) -> RunState:
    run = RunState(1, "x", 0, 0.0, Attempts())
    run.add_series(key(number, "m{}") for number in range(series))
    return run


def batch_of(keys: Sequence[SeriesKey]) -> Batch:
    columns = tuple(Column(key=one, values=np.ones(1)) for one in keys)
    return Batch(steps=np.array([0]), times=np.array([0.0]), columns=columns)


@pytest.mark.parametrize(
    ("stored", "limit", "refused", "listed"),
    [
        (0, 0, [], ""),
        (0, 5, [], ""),
        (0, 4, ["e"], "not e"),
        (3, 5, ["c", "d", "e"], "not c, d, e"),
        (3, 4, ["b", "c", "d", "e"], "not b, c, d, ..."),
        (9, 4, ["a", "b", "c", "d", "e"], "not a, b, c, ..."),
    ],
)
def test_series_beyond_a_limit_are_refused_by_name(
    stored: int, limit: int, refused: list[str], listed: str
) -> None:
    new = [SeriesKey(name) for name in "abcde"]
    found = refused_series(run_with(stored), batch_of(new), new, limit)
    assert [one.metric for one in found] == refused
    for refusal in group_refusals(found):
        assert (refusal.what, refusal.series) == ("max_series_per_run", len(refused))
        assert refusal.reason.endswith(listed)


def test_an_explosion_is_looked_for_once_series_begin_at_many_steps() -> None:
    run = run_with(0)
    for step in range(600):
        new = [key(step)]
        batch = batch_of(new)
        batch.steps[:] = step
        refused = refused_series(run, batch, new, 0)
        assert bool(refused) is (step >= MIN_EXPLOSION_SERIES), step
        assert (run.name_patterns is not None) is (step >= MIN_EXPLOSION_SERIES - 1), step
        if not refused:
            run.add_series(new)
            attempt = run.progress.setdefault(0, AttemptProgress())
            ones = np.ones(1, dtype=np.int64)
            attempt.add(np.array([step]), ones, ones * step, ones * step)
    [refusal] = group_refusals(refused)
    assert (refusal.what, refusal.series) == ("loss_step_*", 1)


def test_many_series_that_begin_together_cost_no_check_of_names() -> None:
    run = run_with(600)
    run.progress[0] = progress_of([1] * 600, [number % 60 for number in range(600)])
    new = [key(1000)]
    assert refused_series(run, batch_of(new), new, 0) == {}
    assert run.name_patterns is None


def test_indices_of_layouts_are_cached_within_bounds() -> None:
    run = run_with(500)
    keys = [key(number, "m{}") for number in range(500)]
    for number in range(100):
        layout = SeriesLayout(tuple(keys[number : number + 400]))
        columns = DenseColumns(layout, np.ones((400, 1)))
        for _ in range(2):
            assert run.indices_of(columns).tolist() == list(range(number, number + 400))
        assert run.indices_of(columns) is run.indices_of(columns)
        assert sum(map(len, run.layouts.values())) <= 2 * 500 + 1000 + 400
    assert len(run.layouts) > 1
    assert run.indices_of(batch_of([key(7, "m{}"), key(3, "m{}")]).columns).tolist() == [7, 3]


def test_series_with_steps_of_their_own_show_progress_only_where_there_are_no_others() -> None:
    own = SeriesKey("collective_time", (("steps", "sequence number"),))
    labelled, plain = SeriesKey("loss", (("dataset", "c4"),)), SeriesKey("loss")
    assert own.step_unit is not None
    run = run_with(0)
    run.add_series([own])
    assert run.counts_as_progress(np.array([0]))
    run.add_series([labelled, plain])
    assert run.own_step_series == [0]
    assert not run.counts_as_progress(np.array([0]))
    assert run.counts_as_progress(np.array([0, 2]))
    assert run.counts_as_progress(np.array([1]))


def test_an_attempt_lasts_from_its_first_to_its_last_known_time() -> None:
    record = AttemptRecord()
    record.add(np.array([np.nan, np.nan]), 2)
    assert np.isnan([record.first_time, record.last_time]).all()
    record.add(np.array([np.nan, 5.0, 7.0]), 3)
    record.add(np.array([3.0]), 1)
    record.add(np.array([6.0, np.nan]), 2)
    record.add(np.array([]), 4)
    assert (record.first_time, record.last_time, record.points) == (3.0, 7.0, 12)
