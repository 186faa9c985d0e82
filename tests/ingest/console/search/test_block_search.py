"""Searching for all patterns at once finds the same lines as searching for each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holter.ingest.console.dialect import LineKind
from holter.ingest.console.search.block_search import LineMatcher
from holter.ingest.console.text.line_ends import with_newlines
from holter.ingest.console.text.messages import texts_in_place
from holter.ingest.stdout import console_dialects
from holter.ingest.stdout.system_text import NCCL_DIALECT

KINDS = tuple(kind for dialect in console_dialects() for kind in dialect.followed_by(NCCL_DIALECT).kinds)
TEXTS = sorted(
    file
    for file in (Path(__file__).parents[3] / "data").rglob("*")
    if file.suffix in {".log", ".out", ".txt"}
)


def one_by_one(block: bytes) -> Iterator[tuple[int, LineKind]]:
    """Where lines begin that bear a mark, with the first kind whose mark they bear.

    A carriage return ends a line, as the end of a progress bar does: no mark goes across it.
    """
    text = with_newlines(block)
    texts = texts_in_place(text)
    found: dict[int, LineKind] = {}
    for kind in KINDS:
        for mark in kind.pattern.finditer(kind.searched(texts)):
            start = text.rfind(b"\n", 0, mark.start()) + 1
            found.setdefault(start, kind)
    return iter(sorted(found.items(), key=lambda pair: pair[0]))


def all_at_once(block: bytes) -> Iterator[tuple[int, LineKind]]:
    return ((found.start, found.kind) for found in LineMatcher(KINDS).lines(block))


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.name)
def test_of_real_logs_the_same_lines_are_found(file: Path) -> None:
    text = file.read_bytes()[: 4 * 2**20]
    assert list(all_at_once(text)) == list(one_by_one(text))


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([kind.pattern for kind in KINDS]).map(repr).map(str.encode)
    )
)
@example([b"\r{"])
def test_of_any_bytes_the_same_lines_are_found(pieces: list[bytes]) -> None:
    text = b"\n".join(pieces)
    assert list(all_at_once(text)) == list(one_by_one(text))
