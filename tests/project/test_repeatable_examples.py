"""Tests of properties have the same examples in each run of `make test`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers


def test_a_test_has_the_same_examples_each_time(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--hypothesis-profile") == "exploring":
        pytest.skip("make explore looks for other examples")
    seen: list[object] = []

    @given(st.tuples(st.text(), st.floats(allow_nan=False), st.integers()))
    def note(drawn: object) -> None:
        seen.append(drawn)

    note()
    first = seen.copy()
    seen.clear()
    note()
    assert len(first) >= 100
    assert seen == first
    assert len(providers._get_local_constants()) == 0  # of modules, which others change
