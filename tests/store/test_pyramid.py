"""Pyramids: what every bucket says of its points, against a loop that anybody can read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.pyramid import (
    BUCKET,
    MIN_PYRAMID_POINTS,
    decode_pyramids,
    decompress_pyramid,
    encode_pyramid,
)


@given(
    values=st.integers(MIN_PYRAMID_POINTS, MIN_PYRAMID_POINTS + 3 * BUCKET).flatmap(
        lambda size: arrays(np.float64, size, elements=st.floats(-1e300, 1e300), fill=st.floats(-1.0, 1.0))
    )
)
@settings(max_examples=40, deadline=None)
def test_every_bucket_matches_its_points(values: np.ndarray) -> None:
    steps = np.arange(len(values)) * 3
    buckets = decode_pyramids([decompress_pyramid(encode_pyramid(SeriesPoints(steps, steps * 0.5, values)))])
    inner = range(1, len(values) - 1, BUCKET)
    ends = [
        (0, 1),
        *((at, min(at + BUCKET, len(values) - 1)) for at in inner),
        (len(values) - 1, len(values)),
    ]
    assert sorted(buckets.step.tolist()) == [3 * start for start, _ in ends]
    for at, (start, stop) in zip(np.argsort(buckets.step), ends, strict=True):
        part = values[start:stop]
        assert buckets.points[at] == len(part)
        assert (buckets.low[at], buckets.high[at]) == (part.min(), part.max())
        assert buckets.low_step[at] == steps[start + part.argmin()]
        assert buckets.high_step[at] == steps[start + part.argmax()]
        assert buckets.low_time[at] == buckets.low_step[at] * 0.5
        assert buckets.high_time[at] == buckets.high_step[at] * 0.5
        size = float(np.abs(part).max())
        assert buckets.mean[at] == pytest.approx(math.fsum(part) / len(part), rel=1e-9, abs=1e-9 * size)
