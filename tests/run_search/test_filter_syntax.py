"""The text of filters: what it means, and what is said about mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.run_search.syntax import Condition, FilterError, Operator, parse, quote


def test_a_filter_is_a_list_of_conditions() -> None:
    text = 'project:llm lr<3e-4 -state:finished,stalled name~*glob "free text" last(val/loss)<=2'
    assert [(c.key, c.operator, c.values, c.negated) for c in parse(text)] == [
        ("project", Operator.IS, ("llm",), False),
        ("lr", Operator.LESS, ("3e-4",), False),
        ("state", Operator.IS, ("finished", "stalled"), True),
        ("name", Operator.LIKE, ("*glob",), False),
        ("", Operator.IS, ("free text",), False),
        ("last(val/loss)", Operator.AT_MOST, ("2",), False),
    ]


def test_quotation_marks_hold_keys_and_values_with_spaces() -> None:
    (condition,) = parse(r'"my key"="a \"b\" c",d')
    assert condition == Condition("my key", Operator.EQUALS, ('a "b" c', "d"), False, 0, 9)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("state:", 6, "expected a value after state:"),
        ("a:1 lr< 3", 7, "expected a value after lr<"),
        ("tag:a,", 6, "expected a value after tag:"),
        ('name:"abc', 5, "expected a closing quotation mark"),
        ("state:running or state:stalled", 14, "state:running,stalled"),
    ],
)
def test_mistakes_have_a_position_and_an_expectation(text: str, position: int, expected: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.position == position
    assert expected in caught.value.expected


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_clear_error(text: str) -> None:
    mistake = None
    try:
        parse(text)
    except FilterError as error:
        mistake = error
    assert mistake is None or 0 <= mistake.position <= len(text)


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3))
def test_quoted_values_are_read_as_they_were(values: list[str]) -> None:
    (condition,) = parse("tag:" + ",".join(map(quote, values)))
    assert list(condition.values) == values
