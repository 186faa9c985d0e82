"""Which dataset a rise belongs to, where others are high by chance."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.loss.affected_datasets import (
    AffectedDataset,
    AffectedDatasetThresholds,
    find_affected_dataset,
)
from tests.support.curves import series

AT, SIGMA = 100, 0.1


def affected(web: list[float], code: list[float]) -> AffectedDataset | None:
    """The answer for rises of two datasets in sigmas, of which the first two points raised the alarm."""
    random = np.random.default_rng(5)
    before = random.normal(0, 1, (2, AT))
    values = np.concatenate((before, [web, code]), axis=1)
    datasets = [series(f"loss/{name}", 2 + SIGMA * value) for name, value in zip("ab", values, strict=True)]
    steps = np.arange(AT + 1, AT + len(code))
    return find_affected_dataset(datasets, 0, AT, steps, AffectedDatasetThresholds())


def named(found: AffectedDataset | None) -> str | None:
    assert found is not None
    return None if found.dataset is None else found.dataset.key.metric


def test_what_is_clear_is_known_at_once() -> None:
    alone, both = affected([0.0, 0.5], [8.0, 9.0]), affected([6.0, 7.0], [8.0, 9.0])
    assert (named(alone), named(both)) == ("loss/b", None)
    assert alone is not None
    assert both is not None
    assert alone.waited == both.waited == 0


def test_two_points_of_the_other_that_are_high_by_chance_do_not_name_both() -> None:
    found = affected([2.4, 3.4, -1.0, -0.5, 0.5], [8.0, 9.0, 8.5, 8.0, 9.0])
    assert named(found) == "loss/b"
    assert found is not None
    assert 0 < found.waited < 4


def test_a_rise_of_both_that_shows_late_in_one_is_one_of_both() -> None:
    assert named(affected([2.0, 2.4, 5.0, 5.5, 5.0], [8.0, 9.0, 8.5, 8.0, 9.0])) is None


def test_a_clear_rise_of_another_dataset_is_one_of_both_however_high_the_first_is() -> None:
    assert named(affected([180.0, 170.0], [1000.0, 900.0])) is None
    assert named(affected([60.0, 50.0], [1000.0, 900.0])) == "loss/b"  # what bad batches of one do to all
    assert named(affected([1.5, 1.0], [12.0, 12.0])) == "loss/b"  # maybe chance


def test_a_short_rise_is_not_thinned_out_by_waiting() -> None:
    web, code = [1.8, 2.4, *[0.0] * 8], [7.0, 7.5, *[0.0] * 8]
    found = affected(web, code)
    assert found is not None
    assert found.waited <= 1


@pytest.mark.parametrize("points", [2, 3])
def test_it_is_unknown_until_enough_points_tell(points: int) -> None:
    assert affected([2.2] * points, [8.0] * points) is None
