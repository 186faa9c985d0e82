"""A pattern that RE2 searches, with a look for its unbounded form first, finds what `re` finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.console.search.pattern_search import LinearPattern

_PATTERNS = [rb"a{1,3}b", rb"(?m)^a{0,12}b$", rb"\ba{2,20}?b{1,2}", rb"b[^a\n]{0,10}a|ab", rb"(?:ab){1,11}a"]


@pytest.mark.parametrize("pattern", _PATTERNS)
@given(text=st.lists(st.sampled_from([b"a", b"b", b"\n", b" "]), max_size=60).map(b"".join), data=st.data())
def test_matches_in_any_part_of_a_text(pattern, text, data):
    begin = data.draw(st.integers(0, len(text)))
    linear, plain = LinearPattern(pattern), re.compile(pattern)

    expected = [match.span() for match in plain.finditer(text, begin)]
    first = linear.search(text, begin)

    assert [(match.start(), match.end()) for match in linear.finditer(text, begin)] == expected
    assert (None if first is None else (first.start(), first.end())) == next(iter(expected), None)
