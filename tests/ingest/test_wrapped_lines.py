"""Lines in records of log collectors are read as they were printed, at the same positions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.wrapped_lines import is_wrapped, unwrap_lines

LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)


@given(
    st.lists(LINES.map(lambda line: f"step {line}"), min_size=1, max_size=10),
    st.sampled_from(["log", "message", "line"]),
)
def test_lines_are_as_printed_and_as_long_as_their_records(lines: list[str], name: str) -> None:
    records = [{name: f"{line}\n", "stream": "stdout", "time": "2024-01-05T10:00:00.5Z"} for line in lines]
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    assert is_wrapped(text)
    unwrapped = unwrap_lines(text)
    assert len(unwrapped) == len(text)
    found = [strip_prefixes(line) for line in unwrapped.split(b"\n")[:-1]]
    assert [line.text for line in found] == [strip_prefixes(line.encode()).text for line in lines]
    assert {line.time for line in found} == {1704448800.5}


@given(st.binary(max_size=200))
def test_any_bytes_have_the_same_length(text: bytes) -> None:
    assert len(unwrap_lines(b'{"log":"' + text)) == len(text) + 8
    assert len(unwrap_lines(b"2024-01-05T10:00:00.5Z stdout P " + text)) == len(text) + 32


@pytest.mark.parametrize(
    "text",
    [
        b'{"log":"step 10 | loss 2","time":"2024-01-05T10:00:00Z"}\n'
        b'{"log":".5\\n","time":"2024-01-05T10:00:01Z"}\n',
        b"2024-01-05T10:00:00.5Z stdout P step 10 | loss 2\n2024-01-05T10:00:01.5Z stdout F .5\n",
    ],
)
def test_lines_in_parts_are_joined(text: bytes) -> None:
    line, end = unwrap_lines(text).split(b"\n")
    assert (strip_prefixes(line).text, end) == ("step 10 | loss 2.5", b"")


def test_records_with_a_step_are_json_lines() -> None:
    text = b'{"message":"checkpoint 5 saved"}\n{"message":"train","step":10,"loss":2.5}\n'
    assert not is_wrapped(text)
    assert unwrap_lines(text).endswith(b'{"message":"train","step":10,"loss":2.5}\n')


def test_a_part_without_another_record_behind_it_ends_its_line() -> None:
    text = b'{"log":"step 1 loss 2.5","stream":"stdout"}\n{broken\n{"log":"step 2 loss 2.4\\n"}\n'
    lines = [strip_prefixes(line).text for line in unwrap_lines(text).splitlines()]
    assert lines == ["step 1 loss 2.5", "{broken", "step 2 loss 2.4"]
