"""Whose turn it is to be looked at: soon, together, and not at the cost of points that come in."""

from __future__ import annotations

import threading
import timeit
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from holter.server.analysis import processor_share, scheduler
from holter.server.analysis.run_cache import memory_size
from holter.server.analysis.scheduler import AnalysisScheduler
from holter.server.analysis.urgent_runs import UrgentRuns
from holter.server.analysis.usual_ranges import UsualRanges
from holter.types import Column, DenseColumns, Series, SeriesKey, SeriesLayout
from tests.support.machine_speed import is_within


class FakeTime:
    """Stands for the module `time`: a clock that only the test moves."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def fake_time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake_time = FakeTime()
    monkeypatch.setattr(scheduler, "time", fake_time)
    return fake_time


def test_points_that_arrive_within_a_moment_are_analysed_together(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    for _ in range(100):
        runs.points_arrived(1)
    assert runs.next_run(0.0) is None
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    assert runs.next_run(0.0) is None


def test_while_points_arrive_passes_pause_four_times_as_long_as_one_took(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    runs.points_arrived(1)
    runs.points_arrived(2)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 0.1, again=False)
    runs.points_arrived(3)
    fake_time.now += 0.35
    assert runs.next_run(0.0) is None
    fake_time.now += 0.1
    assert runs.next_run(0.0) == 2


def test_passes_pause_less_where_the_server_has_little_else_to_do(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.8)
    runs.points_arrived(1)
    runs.points_arrived(2)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 0.4, again=False)
    runs.points_arrived(3)
    fake_time.now += 0.11
    assert runs.next_run(0.0) == 2


def test_values_that_are_not_finite_make_a_run_the_next_one_once_in_a_while(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    for run in (1, 2):
        runs.points_arrived(run)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 60.0, again=False)
    for _ in range(2):
        runs.points_arrived(3, urgent=True)
    assert runs.next_run(0.0) == 3
    runs.finished(3, 0.1, again=False)
    runs.points_arrived(3, urgent=True)  # too soon
    fake_time.now += 0.55
    assert runs.next_run(0.0) == 2
    runs.finished(2, 0.1, again=False)
    fake_time.now += 0.5
    runs.points_arrived(2)
    assert runs.next_run(0.0) == 3


def test_what_other_threads_leave_of_a_core_is_the_share_of_the_analysis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(now=0.0, others=0.0)
    clock.monotonic, clock.process_time, clock.thread_time = (
        lambda: clock.now, lambda: clock.others + 7.0, lambda: 7.0,
    )  # fmt: skip
    monkeypatch.setattr(processor_share, "time", clock)
    share = processor_share.ProcessorShare()
    assert share.current() == 0.2
    for others, expected in ((0.0, 0.8), (0.3, 0.5), (0.9, 0.2), (0.0, 0.8)):
        clock.now += 2.0
        clock.others += 2 * others
        assert share.current() == pytest.approx(expected)


def test_passes_do_not_pause_where_no_points_arrive(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    runs.request(1)
    runs.request(2)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 10.0, again=False)
    assert runs.next_run(0.0) == 2


def test_while_somebody_reads_passes_of_a_backlog_pause(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    runs.request(1)
    runs.request(2)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 0.1, again=False)
    runs.reader_arrived()
    assert runs.next_run(0.0) is None
    fake_time.now += 0.45
    assert runs.next_run(0.0) == 2


def test_a_pass_that_took_very_long_delays_the_others_by_a_second_at_most(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    runs.points_arrived(1)
    runs.points_arrived(2)
    fake_time.now += 0.25
    assert runs.next_run(0.0) == 1
    runs.finished(1, 60.0, again=False)
    fake_time.now += 1.05
    assert runs.next_run(0.0) == 2


def test_who_waits_for_a_turn_is_told_to_stop() -> None:
    pace = AnalysisScheduler(lambda: 0.2)
    threading.Timer(0.05, pace.stop).start()
    assert pace.next_run(None) is None
    assert pace.stopped


def test_news_during_a_look_wait_for_its_rest_to_end(fake_time: FakeTime) -> None:
    pace = AnalysisScheduler(lambda: 0.2)
    for rest in (0.2, 10.0):  # what a look costs is told by the smaller of two
        pace.request(1)
        fake_time.now += 1
        assert pace.next_run(0.0) == 1
        pace.request(1)  # during the look
        pace.finished(1, 2.0, again=False)
        fake_time.now += 0.9 * rest
        assert pace.next_run(0.0) is None
        fake_time.now += 0.2 * rest
        assert pace.next_run(0.0) == 1


def test_of_runs_that_came_and_went_nothing_is_remembered(fake_time: FakeTime) -> None:
    pace, held = AnalysisScheduler(lambda: 0.2), []
    for run in range(20_000):
        pace.request(run)
        fake_time.now += 0.5
        assert pace.next_run(0.0) == run
        pace.finished(run, 0.01, again=run % 3 == 0)
        if run % 3 == 0:  # it comes back, and is over then
            pace.request(run)
            fake_time.now += 0.5
            assert pace.next_run(0.0) == run
            pace.finished(run, 0.01, again=False)
        if run in (5_000, 19_999):
            held.append(
                sum(map(memory_size, (pace._due, pace._order, pace._rested, pace._delay, pace._cost)))
            )
    assert held[1] <= held[0]
    assert held[1] < 20_000


def test_a_flood_of_news_leaves_a_short_queue(fake_time: FakeTime) -> None:
    pace = AnalysisScheduler(lambda: 0.2)
    for _ in range(1000):
        for run in range(10):
            pace.finished(run, 0.0, again=True)
            pace.request(run)
        fake_time.now += 0.001
    assert len(pace._order) < 100
    fake_time.now += 9
    assert {pace.next_run(0.0) for _ in range(10)} == set(range(10))


def test_urgent_runs_come_in_their_order_and_leave_turns_to_others(fake_time: FakeTime) -> None:
    runs = AnalysisScheduler(lambda: 0.2)
    runs.points_arrived(100)
    fake_time.now += 0.25
    for run in range(20, 0, -1):
        runs.points_arrived(run, urgent=True)
    order = []
    while (run_id := runs.next_run(0.0)) is not None or len(order) < 21:
        fake_time.now += 0.05
        if run_id is not None:
            order.append(run_id)
            runs.finished(run_id, 0.01, again=False)
        runs.points_arrived(200)  # points go on arriving
    assert order[:8] == list(range(20, 12, -1))
    assert order[8] == 100
    assert [run for run in order if run < 100] == list(range(20, 0, -1))


def test_a_run_that_is_always_unusual_is_urgent_ever_more_rarely(fake_time: FakeTime) -> None:
    urgent = UrgentRuns()
    times = []
    for _ in range(600):
        urgent.add(1, fake_time.now)
        if urgent.first(fake_time.now) == 1:
            times.append(fake_time.now)
            urgent.remove(1)
        fake_time.now += 0.1
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[0] == pytest.approx(1.0, abs=0.11)
    assert all(later > earlier - 0.11 for earlier, later in pairwise(pauses))
    assert max(pauses) < 4.2


def series_of(values: np.ndarray, metric: str = "loss") -> Series:
    rows = np.arange(len(values))
    return Series(
        key=SeriesKey(metric), attempt=np.zeros_like(rows), step=rows, time=rows.astype(float), value=values
    )


@pytest.mark.parametrize("dense", [False, True])
def test_values_far_outside_the_range_of_earlier_ones_are_unusual(dense: bool) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 200)
    ranges, key = UsualRanges(), SeriesKey("loss")
    ranges.learn(1, {key: series_of(2 + noise)})

    def unusual(run_id: int, *values: float) -> bool:
        array = np.array(values)
        layout = DenseColumns(SeriesLayout([key]), array[None, :])
        return ranges.is_unusual(run_id, layout if dense else (Column(key=key, values=array),))

    assert not unusual(1, 2.0, 2.3, 1.8)
    assert unusual(1, 2.0, 9.0)
    assert unusual(1, -3.0)
    assert unusual(1, float("nan"))
    assert not unusual(2, 9.0)  # nothing is known of it


@pytest.mark.parametrize(("known", "risen"), [(60, 10), (400, 60)])
def test_points_of_a_rise_stay_unusual_until_detectors_have_seen_enough(known: int, risen: int) -> None:
    level = np.concatenate((np.full(known, 2.0), np.full(risen, 9.0))) + np.linspace(0, 0.1, known + risen)
    ranges, key = UsualRanges(), SeriesKey("loss")
    ranges.learn(1, {key: series_of(level)})
    assert ranges.is_unusual(1, (Column(key=key, values=np.array([9.2])),))


def of_rank(rank: int, metric: str = "compute_time") -> SeriesKey:
    return SeriesKey(metric, (("rank", str(rank)),))


@pytest.mark.parametrize("dense", [False, True])
def test_a_rank_that_leaves_the_range_of_all_ranks_is_unusual(dense: bool) -> None:
    keys = [of_rank(rank) for rank in range(4)]
    values = 1 + np.random.default_rng(0).normal(0, 0.01, (4, 100))
    ranges = UsualRanges()
    ranges.learn(1, {key: series_of(value) for key, value in zip(keys, values, strict=True)})

    def unusual(*times: float) -> bool:
        array = np.array(times)[:, None]
        columns = [Column(key=key, values=value) for key, value in zip(keys, array, strict=True)]
        return ranges.is_unusual(1, DenseColumns(SeriesLayout(keys), array) if dense else columns)

    assert not unusual(1.0, 1.01, 0.99, 1.02)
    assert unusual(1.0, 1.01, 1.5, 1.02)


@pytest.mark.parametrize("dense", [False, True])
def test_a_fault_that_is_new_or_another_one_is_unusual(dense: bool) -> None:
    first, second = (SeriesKey("xid", (("gpu", str(gpu)),)) for gpu in range(2))
    ranges = UsualRanges()
    ranges.learn(1, {first: series_of(np.array([79.0]))})

    def unusual(key: SeriesKey, value: float) -> bool:
        array = np.array([[value]])
        layout = DenseColumns(SeriesLayout([key]), array)
        return ranges.is_unusual(1, layout if dense else [Column(key=key, values=array[0])])

    assert not unusual(first, 79.0)
    assert unusual(first, 48.0)
    assert unusual(second, 79.0)
    assert not unusual(second, 0.0)


def test_other_series_of_ranks_and_unknown_ones_are_not_looked_at() -> None:
    value = np.linspace(0, 1, 100)
    loss, other = of_rank(3, "loss"), SeriesKey("temperature")
    ranges = UsualRanges()
    ranges.learn(1, {loss: series_of(value), other: series_of(value)})
    assert not ranges.is_unusual(1, [Column(key=key, values=np.array([99.0])) for key in (loss, other)])


def test_a_look_at_thousands_of_ranks_takes_less_than_a_millisecond() -> None:
    keys = [of_rank(rank) for rank in range(4096)]
    ranges, layout = UsualRanges(), SeriesLayout(keys)
    ranges.learn(1, {key: series_of(np.linspace(1, 1.1, 100)) for key in keys})
    columns = DenseColumns(layout, np.full((4096, 1), 1.05))
    assert not ranges.is_unusual(1, columns)  # finds the ranks of the layout
    seconds = min(timeit.repeat(lambda: ranges.is_unusual(1, columns), number=1, repeat=20))
    assert is_within(seconds, 1e-3)
