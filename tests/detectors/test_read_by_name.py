"""Series without a role that detectors read: the server loads no others of them."""

from __future__ import annotations

import pytest

from holter.detectors.read_by_name import is_read_by_name
from holter.types import SeriesKey


@pytest.mark.parametrize(
    "metric",
    [
        "completions/clipped_ratio",
        "actor/pg_clipfrac",
        "response_length/mean",
        "response_length/max",
        "eval_runtime",
        "val_time (ms)",
        "curriculum/difficulty",
        "kd_weight",
        "train/image_size",
    ],
)
def test_what_a_detector_reads_by_its_name_is_loaded(metric: str) -> None:
    assert is_read_by_name(SeriesKey(metric))
    assert not is_read_by_name(SeriesKey(metric, (("rank", "3"),)))


@pytest.mark.parametrize("metric", ["system/cpu", "epoch_time", "layers.3.weight/mean", "disk_read (MB/s)"])
def test_other_series_without_a_role_are_not(metric: str) -> None:
    assert not is_read_by_name(SeriesKey(metric))
