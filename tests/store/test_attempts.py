"""Attempts: launches are told apart by the log's word, by writers and clocks, and by steps going back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.attempts import Attempts
from holter.types import Batch, Column, SeriesKey

LOSS = SeriesKey("loss")


def rows(
    steps: Sequence[int],
    times: Sequence[float] | None = None,
    *,
    metrics: Sequence[str] = ("loss",),
    attempt: str | None = None,
    restarts: bool = False,
) -> Batch:
    n = len(steps)
    return Batch(
        steps=np.array(steps, dtype=np.int64),
        times=np.array(times if times is not None else [np.nan] * n, dtype=float),
        columns=tuple(Column(key=SeriesKey(metric), values=np.arange(n, dtype=float)) for metric in metrics),
        attempt=attempt,
        restarts=restarts,
    )


def split(attempts: Attempts, writer: str, batch: Batch) -> list[tuple[int, list[int]]]:
    return [(number, piece.steps.tolist()) for number, piece in attempts.split(writer, batch)]


def test_a_run_begins_with_attempt_0() -> None:
    assert split(Attempts(), "w", rows([5, 6, 7], [1, 2, 3])) == [(0, [5, 6, 7])]


@pytest.mark.parametrize("times", [[10, 11, 12, 20, 21], None])
def test_the_same_writer_going_back_opens_an_attempt_at_that_row(times: list[float] | None) -> None:
    assert split(Attempts(), "w", rows([1, 2, 3, 2, 3], times)) == [(0, [1, 2, 3]), (1, [2, 3])]


def test_lower_steps_with_older_wall_times_are_late_delivery() -> None:
    assert split(Attempts(), "w", rows([1, 2, 5, 3, 4, 6], [1, 2, 5, 3, 4, 6])) == [(0, [1, 2, 5, 3, 4, 6])]


def test_an_equal_step_is_no_regression() -> None:
    assert split(Attempts(), "w", rows([1, 2, 2, 3], [1, 2, 3, 4])) == [(0, [1, 2, 2, 3])]


def test_sparse_series_with_their_own_step_axis_do_not_open_attempts() -> None:
    attempts = Attempts()
    attempts.split("w", rows(range(100, 200), np.arange(100.0).tolist()))
    for epoch, time in ((1, 101.0), (0, 102.0)):
        assert split(attempts, "w", rows([epoch], [time], metrics=["eval"])) == [(0, [epoch])]


def beside(steps: Sequence[int], times: Sequence[float] | None = None, **labels: str) -> Batch:
    one = rows(steps, times)
    key = SeriesKey("collective_time", tuple(sorted({**labels, "steps": "sequence number"}.items())))
    return replace(one, columns=(replace(one.columns[0], key=key),))


@pytest.mark.parametrize("clock", [True, False])
def test_series_with_steps_of_their_own_open_no_attempt_and_follow_those_there_are(clock: bool) -> None:
    attempts = Attempts()

    def times(begin: float, count: int) -> list[float] | None:
        return [begin + at for at in range(count)] if clock else None

    assert split(attempts, "log", rows(range(100), times(0, 100))) == [(0, list(range(100)))]
    again = [*range(5000, 5050), *range(50)]
    assert split(attempts, "profile", beside(again, times(0, 100), rank="0")) == [(0, again)]
    assert split(attempts, "other", beside([7, 3], times(50, 2), rank="0")) == [(0, [7, 3])]
    assert split(attempts, "log", rows(range(50, 90), times(1000, 40))) == [(1, list(range(50, 90)))]
    if clock:
        assert split(attempts, "profile", beside([1, 2], times(1010, 2), rank="0")) == [(1, [1, 2])]


def test_a_new_writer_is_settled_by_its_first_rows_of_training_however_many_others_it_logs_before() -> None:
    attempts = Attempts()
    attempts.split("1.out", rows(range(300)))
    attempts.split("2.out", beside(range(5000), rank="0"))
    assert split(attempts, "2.out", rows(range(200, 400))) == [(1, list(range(200, 400)))]


def test_explicit_attempt_name_decides() -> None:
    attempts = Attempts()
    assert split(attempts, "w", rows([1, 2], [1, 2], attempt="3")) == [(3, [1, 2])]
    assert split(attempts, "w", rows([2, 1], [3, 4], attempt="3")) == [(3, [2, 1])]
    assert split(attempts, "w", rows([1], [5], attempt="slurm-812")) == [(4, [1])]
    assert split(attempts, "v", rows([1], [5], attempt="slurm-812")) == [(4, [1])]
    assert split(attempts, "w", rows([1], [6], attempt="4711471")) == [(5, [1])]


def test_a_marked_restart_opens_an_attempt_unless_the_run_is_empty() -> None:
    attempts = Attempts()
    assert split(attempts, "w", rows([1, 2], [1, 2], restarts=True)) == [(0, [1, 2])]
    assert split(attempts, "w", rows([3, 4], [3, 4], restarts=True)) == [(1, [3, 4])]
    assert split(attempts, "x", rows([5], [5], restarts=True)) == [(2, [5])]


def test_a_new_writer_that_rolls_back_is_a_new_attempt() -> None:
    attempts = Attempts()
    attempts.split("old", rows(range(100), np.arange(100.0).tolist()))
    assert split(attempts, "new", rows([50, 51], [130, 131])) == [(1, [50, 51])]


def test_a_new_writer_after_a_long_silence_is_a_new_attempt_though_nothing_was_lost() -> None:
    attempts = Attempts()
    attempts.split("old", rows(range(100), np.arange(100.0).tolist()))
    assert split(attempts, "new", rows([100], [130])) == [(1, [100])]


def test_a_rotated_file_of_another_name_goes_on_in_the_same_attempt() -> None:
    attempts = Attempts()
    attempts.split("log.1", rows(range(100), np.arange(100.0).tolist()))
    assert split(attempts, "log.2", rows([100, 101], [100, 101])) == [(0, [100, 101])]


def test_a_concurrent_writer_joins_the_attempt_of_its_time() -> None:
    attempts = Attempts()
    attempts.split("rank0", rows([1, 2, 3, 2, 3], [10, 20, 30, 40, 50]))
    assert split(attempts, "rank1", rows([1, 2, 3], [10, 20, 30])) == [(0, [1, 2, 3])]
    assert split(attempts, "eval", rows([3], [51], metrics=["eval/loss"])) == [(1, [3])]


def test_every_rank_of_a_new_launch_is_in_the_one_attempt() -> None:
    attempts = Attempts()
    for rank in range(3):
        attempts.split(f"rank{rank}.a", rows(range(9), np.arange(9.0).tolist(), metrics=[f"time{rank}"]))
    for rank in (1, 0, 2):
        found = split(attempts, f"rank{rank}.b", rows([5, 6], [100 + rank / 8, 101], metrics=[f"time{rank}"]))
        assert found == [(1, [5, 6])]


def test_ranks_read_file_by_file_find_the_attempts_that_the_first_one_opened() -> None:
    attempts = Attempts()
    for rank in range(3):
        skew = rank / 8
        times = [0 - skew, 1, 2, 30 - skew, 31, 32]
        found = split(attempts, f"rank{rank}", rows([0, 1, 2, 1, 2, 3], times, metrics=[f"time{rank}"]))
        assert found == [(0, [0, 1, 2]), (1, [1, 2, 3])]


def test_sidecar_writer_follows_a_restart() -> None:
    attempts = Attempts()
    attempts.split("train", rows(range(50), np.arange(50.0).tolist()))
    attempts.split("monitor", rows([10, 49], [10, 49], metrics=["gpu"]))
    attempts.split("train2", rows([20, 21], [100, 101]))
    found = split(attempts, "monitor", rows([50, 51, 52], [60, 102, 103], metrics=["gpu"]))
    assert found == [(0, [50]), (1, [51, 52])]


def test_relaunched_evaluations_of_older_checkpoints_open_no_attempt() -> None:
    attempts = Attempts()
    attempts.split("train", rows(range(50), np.arange(50.0).tolist()))
    attempts.split("eval.1", rows([20], [30], metrics=["eval"]))
    attempts.split("train", rows(range(50, 99), np.arange(50.0, 99.0).tolist()))
    assert split(attempts, "eval.2", rows([10], [98], metrics=["eval"])) == [(0, [10])]


def test_without_a_clock_a_second_writer_of_the_same_steps_hides_nothing() -> None:
    attempts = Attempts()
    attempts.split("a.csv", rows([1, 2, 3]))
    assert split(attempts, "b.csv", rows([1, 2, 3])) == [(1, [1, 2, 3])]


def test_a_log_that_goes_back_at_every_row_is_split_in_reasonable_time() -> None:
    batch = rows([1, 0] * 2000, metrics=["loss", "lr"])
    assert len(Attempts().split("w", batch)) == 2001


logged = st.lists(
    st.tuples(
        st.integers(0, 6),  # step
        st.sampled_from([0.0, 1.0, 2.0, 50.0, np.nan]),  # time since the row before
        st.sampled_from([-3.0, 0.0, 0.0, 0.0]),  # late by
        st.sampled_from([(0,), (0, 1), (1,), (0, 1, 2), (2,)]),  # which series
    ),
    min_size=1,
    max_size=30,
)


def batch_of(found: list[tuple[int, float, float, tuple[int, ...]]], *, restarts: bool) -> Batch:
    since = np.array([gap for _, gap, _, _ in found])
    late = np.array([behind for _, _, behind, _ in found])
    times = np.where(np.isnan(since), np.nan, np.nancumsum(since) + late)
    columns = []
    for series in range(3):
        at = np.array([row for row, (_, _, _, which) in enumerate(found) if series in which], dtype=np.int64)
        if len(at):
            columns.append(Column(key=SeriesKey(f"m{series}"), values=at.astype(float), rows=at))
    steps = np.array([step for step, *_ in found], dtype=np.int64)
    return Batch(steps=steps, times=times, columns=tuple(columns), restarts=restarts)


@given(st.lists(st.tuples(st.sampled_from("abc"), logged, st.booleans()), min_size=1, max_size=4), st.data())
def test_attempts_do_not_depend_on_how_rows_were_cut_into_batches_or_on_restarts(
    deliveries: list[tuple[str, list[tuple[int, float, float, tuple[int, ...]]], bool]], data: st.DataObject
) -> None:
    whole, pieces = Attempts(), Attempts()
    for writer, found, restarts in deliveries:
        batch = batch_of(found, restarts=restarts)
        expected = [number for number, piece in whole.split(writer, batch) for _ in piece.steps]
        got: list[int] = []
        position = 0
        while position < len(batch.steps):
            stop = data.draw(st.integers(position + 1, len(batch.steps)))
            for number, piece in pieces.split(writer, batch.cut(position, stop)):
                got += [number] * len(piece.steps)
            pieces = Attempts.from_json(json.loads(json.dumps(pieces.to_json())))
            position = stop
        assert got == expected


@given(logged)
def test_splitting_keeps_every_value_in_order(found: list[tuple[int, float, float, tuple[int, ...]]]) -> None:
    batch = batch_of(found, restarts=False)
    pieces = [piece for _, piece in Attempts().split("w", batch)]
    assert np.concatenate([piece.steps for piece in pieces]).tolist() == batch.steps.tolist()
    for column in batch.columns:
        held = [c.values for piece in pieces for c in piece.columns if c.key == column.key]
        assert np.concatenate(held).tolist() == column.values.tolist()
