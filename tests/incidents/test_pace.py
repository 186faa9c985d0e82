"""Whose turn it is to be looked at: soon, together, and not at the cost of points that come in."""

from __future__ import annotations

import threading
import time

import pytest

from holter.server.analysis import scheduler as paces
from holter.server.analysis.run_cache import memory_size
from holter.server.analysis.scheduler import AnalysisScheduler


def turn(pace: AnalysisScheduler) -> tuple[int | None, float]:
    """The run whose turn it is, and the seconds until it was."""
    began = time.monotonic()
    run = pace.next_run(3.0)
    return run, time.monotonic() - began


def test_news_that_come_within_a_moment_are_looked_at_together() -> None:
    pace = AnalysisScheduler()
    for _ in range(100):
        pace.points_arrived(1)
    run, after = turn(pace)
    assert run == 1
    assert 0.1 < after < 1.0
    assert pace.next_run(0.0) is None


def test_while_points_come_in_looks_rest_four_times_as_long_as_one_took() -> None:
    pace = AnalysisScheduler()
    pace.points_arrived(1)
    pace.points_arrived(2)
    assert turn(pace)[0] == 1
    pace.finished(1, 0.1, again=False)
    pace.points_arrived(3)
    run, after = turn(pace)
    assert run == 2
    assert after > 0.3


def test_looks_do_not_rest_where_nothing_comes_in() -> None:
    pace = AnalysisScheduler()
    pace.request(1)
    pace.request(2)
    assert turn(pace)[0] == 1
    pace.finished(1, 10.0, again=False)
    run, after = turn(pace)
    assert run == 2
    assert after < 0.3


def test_a_look_that_took_very_long_holds_up_the_others_for_a_second_at_most() -> None:
    pace = AnalysisScheduler()
    pace.points_arrived(1)
    pace.points_arrived(2)
    assert turn(pace)[0] == 1
    pace.finished(1, 60.0, again=False)
    run, after = turn(pace)
    assert run == 2
    assert after < 1.5


def test_who_waits_for_a_turn_is_told_to_stop() -> None:
    pace = AnalysisScheduler()
    threading.Timer(0.05, pace.stop).start()
    assert pace.next_run(None) is None
    assert pace.stopped


class Moment:
    """A clock that stands still until it is told."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_news_during_a_look_wait_for_its_rest_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = Moment()
    monkeypatch.setattr(paces, "time", moment)
    pace = AnalysisScheduler()
    for rest in (0.2, 10.0):  # what a look costs is told by the smaller of two
        pace.request(1)
        moment.now += 1
        assert pace.next_run(0.0) == 1
        pace.request(1)  # during the look
        pace.finished(1, 2.0, again=False)
        moment.now += 0.9 * rest
        assert pace.next_run(0.0) is None
        moment.now += 0.2 * rest
        assert pace.next_run(0.0) == 1


def test_of_runs_that_came_and_went_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = Moment()
    monkeypatch.setattr(paces, "time", moment)
    pace, held = AnalysisScheduler(), []
    for run in range(20_000):
        pace.request(run)
        moment.now += 0.5
        assert pace.next_run(0.0) == run
        pace.finished(run, 0.01, again=run % 3 == 0)
        if run % 3 == 0:  # it comes back, and is over then
            pace.request(run)
            moment.now += 0.5
            assert pace.next_run(0.0) == run
            pace.finished(run, 0.01, again=False)
        if run in (5_000, 19_999):
            held.append(
                sum(map(memory_size, (pace._due, pace._order, pace._rested, pace._delay, pace._cost)))
            )
    assert held[1] <= held[0]
    assert held[1] < 20_000


def test_a_flood_of_news_leaves_a_short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = Moment()
    monkeypatch.setattr(paces, "time", moment)
    pace = AnalysisScheduler()
    for _ in range(1000):
        for run in range(10):
            pace.finished(run, 0.0, again=True)
            pace.request(run)
        moment.now += 0.001
    assert len(pace._order) < 100
    moment.now += 9
    assert {pace.next_run(0.0) for _ in range(10)} == set(range(10))
