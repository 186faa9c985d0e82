"""The timeline: newer attempts supersede what they reach again and what they were rolled back behind."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holter.attempts.superseded import AttemptSpan, superseded_points

steps = st.integers(-5, 30)
spans = st.lists(
    st.builds(
        lambda number, first, length: AttemptSpan(number, first, first + abs(length)),
        st.integers(0, 6),
        steps,
        steps,
    ),
    max_size=6,
    unique_by=lambda span: span.number,
)
points = st.lists(st.tuples(st.integers(0, 6), steps), max_size=40)


def ghosts(at: list[tuple[int, int]], over: list[AttemptSpan]) -> list[bool]:
    attempt = np.array([a for a, _ in at], dtype=np.int64)
    step = np.array([s for _, s in at], dtype=np.int64)
    return superseded_points(attempt, step, over).tolist()


def test_a_single_attempt_has_no_ghosts() -> None:
    assert ghosts([(0, 0), (0, 5)], [AttemptSpan(0, 0, 5)]) == [False, False]


def test_rolled_back_points_are_ghosts_at_once() -> None:
    assert ghosts([(0, 40), (0, 50), (0, 90), (1, 50)], [AttemptSpan(0, 0, 90), AttemptSpan(1, 50, 60)]) == [
        False,
        True,
        True,
        False,
    ]


def test_a_middle_attempt_supersedes_only_what_it_covered() -> None:
    spans = [AttemptSpan(0, 0, 90), AttemptSpan(1, 20, 30), AttemptSpan(2, 80, 85)]
    assert ghosts([(0, 19), (0, 25), (0, 50), (0, 80), (1, 25)], spans) == [False, True, False, True, False]


@given(points, spans)
def test_superseded_matches_its_definition(at: list[tuple[int, int]], over: list[AttemptSpan]) -> None:
    newest = max(over, key=lambda span: span.number, default=None)
    expected = [
        any(span.number > a and span.first_step <= s <= span.last_step for span in over)
        or (newest is not None and newest.number > a and newest.first_step <= s)
        for a, s in at
    ]
    assert ghosts(at, over) == expected
