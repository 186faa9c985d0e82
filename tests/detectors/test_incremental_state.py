"""Checkpoints are used while they are valid, and discarded when they are not."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.incremental import Checkpoint, IncrementalState
from holter.types import Series
from tests.support.curves import series


def loss(*values: float, first: int = 0, attempt: int = 0) -> Series:
    return series("loss", values, step=first + np.arange(len(values)), attempt=attempt)


def newest(memory: IncrementalState, *of: Series) -> Checkpoint[str] | None:
    return memory.checkpoints("scan", of).latest(of)


def kept(memory: IncrementalState, series_: Series, state: str) -> None:
    memory.checkpoints("scan", [series_]).save(Checkpoint(state, (len(series_),)))


def test_a_series_that_has_grown_continues_from_the_latest_checkpoint() -> None:
    memory = IncrementalState()
    assert newest(memory, loss()) is None
    kept(memory, loss(1, 2), "two")
    kept(memory, loss(1, 2, 3), "three")
    assert newest(memory, loss(1, 2, 3, 4)) == Checkpoint("three", (3,))


def test_a_row_inserted_between_others_discards_later_checkpoints() -> None:
    memory = IncrementalState()
    for n in (2, 4, 6):
        kept(memory, loss(*range(n)), f"{n}")
    late = series("loss", [0, 1, 2, 2.5, 3, 4, 5], step=[0, 1, 2, 2, 3, 4, 5])
    assert newest(memory, late) == Checkpoint("2", (2,))


def test_a_row_that_changed_in_place_must_be_reported() -> None:
    memory = IncrementalState()
    for n in (2, 4, 6):
        kept(memory, loss(*range(n)), f"{n}")
    memory.mark_changed(loss().key, 4)
    assert newest(memory, loss(0, 1, 2, 3, 9, 5)) == Checkpoint("4", (4,))
    memory.mark_changed(loss().key, 0)
    assert newest(memory, loss(9, 1, 2, 3, 9, 5)) is None


def test_nan_equals_itself() -> None:
    memory = IncrementalState()
    kept(memory, loss(1, np.nan), "two")
    assert newest(memory, loss(1, np.nan, 3)) == Checkpoint("two", (2,))


def test_a_checkpoint_of_several_series_is_valid_until_one_has_an_earlier_point() -> None:
    memory = IncrementalState()
    norm = series("grad_norm", [1.0, 1.0])
    for n in (2, 3):
        both = (loss(*range(n)), norm)
        memory.checkpoints("scan", both).save(Checkpoint(f"{n}", (n, 2), upto=(0, n - 1)))
    assert newest(memory, loss(0, 1, 2), series("grad_norm", [1.0] * 2)) == Checkpoint(
        "3", (3, 2), upto=(0, 2)
    )
    assert newest(memory, loss(0, 1, 2), series("grad_norm", [1.0] * 3)) == Checkpoint(
        "2", (2, 2), upto=(0, 1)
    )


def test_other_series_or_settings_have_no_checkpoints() -> None:
    memory = IncrementalState().for_settings("a preference")
    kept(memory, loss(1, 2), "two")
    assert newest(memory.for_settings("a preference"), loss(1, 2)) is not None
    assert newest(memory, loss(1, 2), series("grad_norm", [1.0])) is None
    kept(memory, loss(1, 2), "two")
    assert newest(memory.for_settings("another"), loss(1, 2)) is None


@pytest.mark.parametrize("back", [1, 10, 100, 1000, 5000])
def test_a_few_checkpoints_reach_far_back(back: int) -> None:
    memory, whole = IncrementalState(), np.arange(10_000.0)
    trail = memory.checkpoints("scan", [series("loss", whole)])
    for n in range(10, 10_001, 10):
        trail.save(Checkpoint(n, (n,)))
    assert len(trail._checkpoints) < 25
    memory.mark_changed(loss().key, 10_000 - back)
    checkpoint = newest(memory, series("loss", whole))
    assert checkpoint is not None
    assert 10_000 - 5 * max(back, 10) <= checkpoint.rows[0] <= 10_000 - back


def test_a_result_is_cached_until_a_row_arrives_or_changes() -> None:
    memory, two = IncrementalState(), loss(1, 2)
    memory.checkpoints("scan", [two]).cache_result([two], "two")
    assert memory.checkpoints("scan", [two]).cached_result([two]) == "two"
    assert memory.checkpoints("scan", [loss(1, 2, 3)]).cached_result([loss(1, 2, 3)]) is None
    memory.mark_changed(two.key, 1)
    assert memory.checkpoints("scan", [loss(1, 9)]).cached_result([loss(1, 9)]) is None
