"""Merging of blocks and pieces, against a list of points that is sorted and relieved of repeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from holter.server.store.encoding.block import PointBlock, SeriesPoints
from holter.server.store.encoding.merge import count_repeats, join_points, merge_blocks

Point = tuple[int, float, float]
# few of each, so that steps, times and values repeat in all combinations
STEPS, TIMES = st.integers(0, 3), st.sampled_from((1.0, 2.0))
POINTS = st.tuples(STEPS, TIMES, st.sampled_from((0.5, 1.5, 2.5)))
ROWS = st.lists(st.tuples(STEPS, TIMES), min_size=1, max_size=5)


def merged(written: Sequence[Point]) -> list[Point]:
    """By step, then time, then order of writing; of points that repeat each other the last one."""
    last = {point: number for number, point in enumerate(written)}
    kept = [(step, time, number) for (step, time, _), number in last.items()]
    return [written[number] for _, _, number in sorted(kept)]


def pieces_of(points: Sequence[Point]) -> SeriesPoints:
    step, time, value = zip(*points, strict=True)
    return SeriesPoints(np.array(step), np.array(time), np.array(value))


def rows_of(points: SeriesPoints) -> list[Point]:
    return list(zip(points.step.tolist(), points.time.tolist(), points.value.tolist(), strict=True))


def series_of(block: PointBlock) -> dict[int, list[Point]]:
    bounds = block.offsets.tolist()
    return {
        series: rows_of(block.points(start, stop))
        for series, start, stop in zip(block.ids.tolist(), bounds, bounds[1:], strict=False)
    }


@given(st.lists(st.lists(POINTS, min_size=1, max_size=6), min_size=2, max_size=4))
@example([[(1, 2.0, 0.5), (1, 1.0, 0.5)], [(1, 1.0, 0.5)]])
def test_pieces_of_a_series_are_joined_as_a_sorted_list(pieces: list[list[Point]]) -> None:
    joined = join_points([pieces_of(piece) for piece in pieces])
    assert rows_of(joined) == merged([point for piece in pieces for point in piece])


@st.composite
def dense_blocks(draw: st.DrawFn) -> list[PointBlock]:
    """Blocks of the same series, in any order of ids, each of which has every row."""
    ids = draw(st.permutations([3, 5, 8]))[: draw(st.integers(1, 3))]
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(ROWS)
        size = len(rows) * len(ids)
        values = draw(st.lists(st.sampled_from((0.5, 1.5)), min_size=size, max_size=size))
        steps, times = zip(*rows, strict=True)
        counts = np.full(len(ids), len(rows), dtype=np.int64)
        blocks.append(
            PointBlock(np.array(ids), counts, None, np.array(steps), np.array(times), np.array(values))
        )
    return blocks


@st.composite
def sparse_blocks(draw: st.DrawFn) -> list[PointBlock]:
    """Blocks of which each series has some of the rows."""
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(ROWS)
        ids = draw(st.lists(st.sampled_from((3, 5, 8)), min_size=1, max_size=3, unique=True))
        index = st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=len(rows), unique=True)
        chosen = [sorted(draw(index)) for _ in ids]
        size = sum(map(len, chosen))
        values = draw(st.lists(st.sampled_from((0.5, 1.5)), min_size=size, max_size=size))
        steps, times = zip(*rows, strict=True)
        blocks.append(
            PointBlock(
                ids=np.array(ids),
                counts=np.array([len(each) for each in chosen]),
                rows=np.array([row for each in chosen for row in each]),
                steps=np.array(steps),
                times=np.array(times),
                values=np.array(values),
            )
        )
    return blocks


@given(
    dense_blocks()
    | sparse_blocks()
    | st.tuples(dense_blocks(), sparse_blocks()).map(lambda two: two[0] + two[1])
)
def test_blocks_are_merged_as_a_sorted_list_of_each_series(blocks: list[PointBlock]) -> None:
    written: dict[int, list[Point]] = {}
    for block in blocks:
        for series, points in series_of(block).items():
            written.setdefault(series, []).extend(points)
    result = merge_blocks(blocks)
    assert result.ids.tolist() == sorted(written)
    assert series_of(result) == {series: merged(points) for series, points in sorted(written.items())}


@given(dense_blocks() | sparse_blocks())
def test_repeats_within_a_block_are_counted(blocks: list[PointBlock]) -> None:
    written = series_of(blocks[0])
    repeats = sum(len(points) - len(merged(points)) for points in written.values())
    assert count_repeats(blocks[0]) == repeats
