"""The client's own msgpack is msgpack, and its bodies say what was logged."""

from __future__ import annotations

from array import array
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.client.encode import MAX_VALUES, split_into_bodies
from holter.client.msgpack import encode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_what_is_encoded_is_read_back_by_a_library(value: Any) -> None:
    assert msgspec.msgpack.decode(encode(value)) == value


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        encode([object()])


def test_text_that_is_no_text_does_not_cost_the_body() -> None:
    assert msgspec.msgpack.decode(encode("a\ud800b")) == "a?b"


def test_rows_with_the_same_names_are_one_table() -> None:
    rows = [(("a", "b"), step, 0.5, array("d", (step, -step)).tobytes()) for step in range(3)]
    [(fields, points)] = list(split_into_bodies(rows))
    assert points == 6
    assert msgspec.msgpack.decode(fields["metrics"]) == ["a", "b"]
    assert np.frombuffer(fields["values"]).tolist() == [0, 0, 1, -1, 2, -2]


def test_rows_with_different_names_say_where_each_value_stands() -> None:
    rows = [
        (("a",), 0, 0.5, array("d", (1,)).tobytes()),
        (("b", "a"), 1, 0.5, array("d", (2, 3)).tobytes()),
    ]
    [(fields, _)] = list(split_into_bodies(rows))
    by_name = {column["metric"]: column for column in fields["columns"]}
    assert "rows" not in by_name["a"]
    assert np.frombuffer(by_name["a"]["values"]).tolist() == [1, 3]
    assert np.frombuffer(by_name["b"]["rows"], np.int64).tolist() == [1]


def test_bodies_are_bounded() -> None:
    names = tuple(map(str, range(1000)))
    rows = [(names, step, 0.5, array("d", range(1000)).tobytes()) for step in range(250)]
    assert [points for _, points in split_into_bodies(rows)] == [MAX_VALUES, MAX_VALUES, 50_000]
