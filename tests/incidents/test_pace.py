"""Whose turn it is to be looked at: soon, together, and not at the cost of points that come in."""

from __future__ import annotations

import threading
import time

from holter.server.pace import Pace


def turn(pace: Pace) -> tuple[int | None, float]:
    """The run whose turn it is, and the seconds until it was."""
    began = time.monotonic()
    run = pace.next(3.0)
    return run, time.monotonic() - began


def test_news_that_come_within_a_moment_are_looked_at_together() -> None:
    pace = Pace()
    for _ in range(100):
        pace.points(1)
    run, after = turn(pace)
    assert run == 1
    assert 0.1 < after < 1.0
    assert pace.next(0.0) is None


def test_while_points_come_in_looks_rest_four_times_as_long_as_one_took() -> None:
    pace = Pace()
    pace.points(1)
    pace.points(2)
    assert turn(pace)[0] == 1
    pace.looked(1, 0.1, again=False)
    pace.points(3)
    run, after = turn(pace)
    assert run == 2
    assert after > 0.3


def test_looks_do_not_rest_where_nothing_comes_in() -> None:
    pace = Pace()
    pace.news(1)
    pace.news(2)
    assert turn(pace)[0] == 1
    pace.looked(1, 10.0, again=False)
    run, after = turn(pace)
    assert run == 2
    assert after < 0.3


def test_a_look_that_took_very_long_holds_up_the_others_for_a_second_at_most() -> None:
    pace = Pace()
    pace.points(1)
    pace.points(2)
    assert turn(pace)[0] == 1
    pace.looked(1, 60.0, again=False)
    run, after = turn(pace)
    assert run == 2
    assert after < 1.5


def test_who_waits_for_a_turn_is_told_to_stop() -> None:
    pace = Pace()
    threading.Timer(0.05, pace.stop).start()
    assert pace.next(None) is None
    assert pace.stopped
