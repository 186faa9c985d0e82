"""Parts of a text are searched at once with the result of searching each by itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.console.dialect import LineKind
from holter.ingest.console.search.pattern_search import LinearPattern, matches
from holter.ingest.console.search.text_parts import Place, TextParts, places_between
from holter.ingest.console.text.messages import texts_in_place

PATTERNS = (
    LinearPattern(rb"(?m)^loss: \d"),
    LinearPattern(rb"(?m)acc=\d[^\n]*$"),
    re.compile(rb"step \d\n"),
    re.compile(rb"epoch:?\s+\d"),  # what it matches may begin in one part and end in the next
    re.compile(rb"results(?:\n[a-z]+)*"),
)
KINDS = [LineKind(pattern=pattern, parse=lambda line, state: None) for pattern in PATTERNS]
LINES = st.sampled_from(
    [
        "loss: 1",
        "loss: 2 acc=3",
        "step 4",
        "epoch",
        "epoch: 5",
        "6",
        "results",
        "abc",
        "",
        "2026-05-21 INFO step 7",
    ]
)


@given(st.lists(st.tuples(LINES, st.booleans()), min_size=1, max_size=30))
def test_matches_in_parts_are_those_of_each_part(lines: list[tuple[str, bool]]) -> None:
    text, taken = "", list[Place]()
    for line, is_taken in lines:
        begin, text = len(text), f"{text}{line}\n"
        if is_taken:
            taken.append((begin, len(text)))
    texts = texts_in_place(text.encode())
    places = places_between([(0, len(text))], taken)
    parts = TextParts(texts, places)
    for kind in KINDS:
        each = [
            match
            for begin, end in places
            for match in matches(kind.pattern, kind.searched(texts), begin, end)
        ]
        assert list(parts.matches(kind)) == each
        for begin, _ in places:
            first = next((match for match in each if match[0] >= begin), None)
            assert parts.first_match(kind, begin) == first


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ([], [(0, 10), (20, 30)]),
        ([(0, 10)], [(20, 30)]),
        ([(2, 4), (6, 8)], [(0, 2), (4, 6), (8, 10), (20, 30)]),
        ([(0, 25)], [(25, 30)]),
        ([(3, 9), (5, 7)], [(0, 3), (9, 10), (20, 30)]),
    ],
)
def test_what_is_left_of_parts_is_between_the_lines_in_them(taken: list[Place], left: list[Place]) -> None:
    assert places_between([(0, 10), (20, 30)], taken) == left
