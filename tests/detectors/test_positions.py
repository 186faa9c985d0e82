"""The attempts of a series as ranges of its rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holter.detectors.positions import attempt_rows
from tests.support.curves import series


@given(
    st.lists(st.integers(0, 5) | st.sampled_from([10**6, 10**15]), max_size=30).map(sorted),
    st.integers(0, 30),
)
def test_attempts_follow_one_another_whatever_their_numbers(attempts: list[int], first: int) -> None:
    found = attempt_rows(series("loss", np.zeros(len(attempts)), attempt=attempts), first)
    rows = [(span.attempt, row) for span in found for row in range(span.first, span.after)]
    assert rows == [(attempt, row) for row, attempt in enumerate(attempts) if row >= first]
    assert len({span.attempt for span in found}) == len(found)
