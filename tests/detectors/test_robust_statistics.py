"""Medians and quantiles equal those of numpy bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.detectors.robust_statistics import (
    highest_median,
    median,
    median_error,
    quantiles,
    row_medians,
)

FINITE = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60).map(np.array)


@given(values=FINITE)
def test_a_median_equals_that_of_numpy(values: np.ndarray) -> None:
    assert median(values) == np.median(values)


@given(values=FINITE, share=st.floats(0, 1))
def test_quantiles_equal_those_of_numpy(values: np.ndarray, share: float) -> None:
    assert (
        quantiles(values, (share, 0.16, 0.5, 0.84)) == np.quantile(values, (share, 0.16, 0.5, 0.84)).tolist()
    )


@pytest.mark.parametrize("size", [1023, 1024, 1025, 1026, 5001])
def test_a_median_of_many_values_equals_that_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).standard_t(2, size)
    assert median(values) == np.median(values)
    assert median(np.round(values).astype(np.int64)) == np.median(np.round(values))


@pytest.mark.parametrize("size", [2, 3, 2000, 2001])
@pytest.mark.parametrize("place", [0, -1])
def test_a_median_with_nan_is_nan(size: int, place: int) -> None:
    values = np.arange(size, dtype=float)
    values[place] = np.nan
    assert np.isnan(median(values))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 32, 127])
def test_medians_of_rows_are_those_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).standard_t(2, (17, size))
    assert np.array_equal(row_medians(values), np.median(values, axis=1))
    assert len(row_medians(np.empty((0, size)))) == 0


@pytest.mark.parametrize("lasting", [1, 2, 6])
def test_the_error_of_a_median_is_its_spread_where_levels_alternate_or_repeat(lasting: int) -> None:
    random = np.random.default_rng(lasting)
    levels = np.array([0.0, 0.1, 0.3, 0.6])[random.integers(0, 4, (400, 60))]
    values = np.repeat(levels + random.normal(0, 0.02, levels.shape), lasting, axis=1)[:, :48]
    spread = np.std(np.median(values, axis=1))
    estimated = np.median([median_error(row, 48) for row in values])
    assert 0.6 < estimated / spread < 1.6


@pytest.mark.parametrize("count", [8, 32, 128])
def test_medians_of_normal_noise_hardly_exceed_as_many_of_their_errors(count: int) -> None:
    values = np.random.default_rng(count).standard_normal(4000)
    highest = highest_median(values, count, 3.0)
    assert highest == pytest.approx(3 * 1.2533 / count**0.5, rel=0.2)


def test_medians_of_two_levels_may_be_the_higher_one() -> None:
    values = np.where(np.random.default_rng(0).random(4000) < 0.55, 1.0, 2.0)
    assert highest_median(values, 32, 3.0) == 2.0
    assert highest_median(values, 4000, 1.0) == 1.0
