"""Where chunks end: full ones first, no step in two of them, and nothing lost or repeated at a border."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holter.server.store.encoding import chunk as encoding
from holter.server.store.encoding import chunk_builder as module
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.chunk import decode_timeline, decode_values, encode_values
from holter.server.store.encoding.chunk_builder import MAX_CHUNK_POINTS, ChunkBuilder


def points(steps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> SeriesPoints:
    size = len(steps)
    return SeriesPoints(steps, np.arange(size) * 0.5, np.random.default_rng(size).normal(size=size))


def build(whole: SeriesPoints, *, last: bool = True, removed: int = 0) -> list[dict[str, object]]:
    """Chunks of a series; checks that they contain its points, in order."""
    builder = ChunkBuilder()
    builder.add(0, 1, whole, last=last, removed=removed)
    timelines = [decode_timeline(builder.timelines[row["timeline_id"]]) for row in builder.rows]
    assert np.concatenate([steps for steps, _ in timelines]).tolist() == whole.step.tolist()
    assert np.concatenate([times for _, times in timelines]).tolist() == whole.time.tolist()
    values = np.concatenate([decode_values(row["payload"]) for row in builder.rows])
    assert values.tobytes() == whole.value.tobytes()
    for row, (steps, _) in zip(builder.rows, timelines, strict=True):
        assert (row["step_min"], row["step_max"], row["points"]) == (steps[0], steps[-1], len(steps))
    return builder.rows


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (MAX_CHUNK_POINTS, [MAX_CHUNK_POINTS]),
        (MAX_CHUNK_POINTS + 1, [MAX_CHUNK_POINTS, 1]),
        (2 * MAX_CHUNK_POINTS, [MAX_CHUNK_POINTS] * 2),
        (2 * MAX_CHUNK_POINTS + 7, [MAX_CHUNK_POINTS, MAX_CHUNK_POINTS, 7]),
    ],
)
def test_the_last_points_of_a_series_fill_whole_chunks_first(size: int, sizes: list[int]) -> None:
    rows = build(points(np.arange(size)), removed=5)
    assert [row["points"] for row in rows] == sizes
    assert [row["logged"] for row in rows] == [sizes[0] + 5, *sizes[1:]]  # removed ones count once


def test_points_among_others_are_cut_into_equal_parts() -> None:
    rows = build(points(np.arange(MAX_CHUNK_POINTS + 1)), last=False)
    assert [row["points"] for row in rows] == [MAX_CHUNK_POINTS // 2, MAX_CHUNK_POINTS // 2 + 1]


def test_a_step_at_a_border_is_not_divided() -> None:
    steps = np.arange(MAX_CHUNK_POINTS + 100)
    steps[MAX_CHUNK_POINTS - 3 : MAX_CHUNK_POINTS + 2] = MAX_CHUNK_POINTS - 3
    assert [row["points"] for row in build(points(steps))] == [MAX_CHUNK_POINTS - 3, 103]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 8), st.booleans())
@example([8], 4, True)
@example([2, 4, 2], 4, True)
@settings(max_examples=60, deadline=None)
def test_no_step_is_in_two_chunks(repeats: list[int], most: int, last: bool) -> None:
    steps = np.repeat(np.arange(len(repeats)), repeats)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CHUNK_POINTS", most)
        rows = build(points(steps), last=last)
    for row, following in pairwise(rows):
        assert row["step_max"] < following["step_min"]  # type: ignore[operator]
    for row in rows:  # larger only for steps that are
        own = [repeats[step] for step in range(int(row["step_min"]), int(row["step_max"]) + 1)]  # type: ignore[call-overload]
        assert row["points"] <= most + max(own)  # type: ignore[operator]


@pytest.mark.parametrize("wrong", [None, np.array([1.0, 2.0, 3.5])])
def test_values_that_the_codec_would_change_are_stored_by_another(
    wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.array([1.0, 2.0, 1 / 3])
    with monkeypatch.context() as patch:
        patch.setattr(encoding.standalone, "simple_decompress", lambda _: wrong)
        payload = encode_values(values)
    assert payload != encode_values(values)
    assert decode_values(payload).tobytes() == values.tobytes()
