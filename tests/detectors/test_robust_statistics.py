"""Medians and quantiles equal those of numpy bit by bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holter.detectors.robust_statistics import median, quantiles

FINITE = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60).map(np.array)


@given(values=FINITE)
def test_a_median_equals_that_of_numpy(values: np.ndarray) -> None:
    assert median(values) == np.median(values)


@given(values=FINITE, share=st.floats(0, 1))
def test_quantiles_equal_those_of_numpy(values: np.ndarray, share: float) -> None:
    assert (
        quantiles(values, (share, 0.16, 0.5, 0.84)) == np.quantile(values, (share, 0.16, 0.5, 0.84)).tolist()
    )


def test_a_median_with_nan_is_nan() -> None:
    assert np.isnan(median(np.array([1.0, np.nan, 2.0])))
    assert np.isnan(median(np.array([1.0, np.nan])))
