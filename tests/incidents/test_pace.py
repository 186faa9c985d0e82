"""Whose turn it is to be looked at: soon, together, and not at the cost of points that come in."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from holter.server.analysis import processor_share, scheduler
from holter.server.analysis.run_cache import memory_size
from holter.server.analysis.scheduler import AnalysisScheduler


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
    runs.finished(3, 60.0, again=False)
    runs.points_arrived(3, urgent=True)
    fake_time.now += 1.05
    assert runs.next_run(0.0) == 2


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
