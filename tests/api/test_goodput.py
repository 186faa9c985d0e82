"""The cost of rollbacks: lost steps, lost seconds, goodput; and the throughput of the health strip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from holter.attempts.goodput import Goodput, TimeUse, measure_goodput, superseded_steps
from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.roles import MetricWithRole, Role
from holter.server.read_models.chart_layout import (
    BINS,
    CHART_SERIES,
    default_charts,
    relative_throughput,
    representative_series,
)
from holter.types import Series, SeriesKey


def series(*pieces: tuple[int, range, float]) -> Series:
    """Attempts of one point a second, each from its own start time."""
    attempt = np.concatenate([np.full(len(steps), number) for number, steps, _ in pieces])
    step = np.concatenate([np.array(steps, np.int64) for _, steps, _ in pieces])
    time = np.concatenate([begin + np.arange(len(steps), dtype=float) for _, steps, begin in pieces])
    return Series(key=SeriesKey("loss"), attempt=attempt, step=step, time=time, value=np.ones(len(step)))


def spent(one: Series, spans: list[AttemptSpan]) -> Goodput:
    """How the time was spent, which is known here."""
    result = measure_goodput(one, spans)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([AttemptSpan(0, 0, 99)], [(None, 0)]),
        ([AttemptSpan(0, 0, 99), AttemptSpan(1, 100, 150)], [(None, 0), (None, 0)]),
        ([AttemptSpan(0, 0, 99), AttemptSpan(1, 80, 150)], [(80, 20), (None, 0)]),
        ([AttemptSpan(0, 0, 99), AttemptSpan(1, 80, 85)], [(80, 20), (None, 0)]),
        (
            [AttemptSpan(0, 0, 99), AttemptSpan(1, 50, 60), AttemptSpan(2, 80, 85)],
            [(50, 31), (None, 0), (None, 0)],
        ),
        ([AttemptSpan(0, 10, 99), AttemptSpan(1, 0, 5)], [(10, 90), (None, 0)]),
        (
            [AttemptSpan(0, 0, 99), AttemptSpan(2, 20, 30), AttemptSpan(1, 10, 25)],
            [(10, 90), (None, 0), (20, 6)],
        ),
    ],
)
def test_lost_steps_are_those_that_the_timeline_supersedes(
    spans: list[AttemptSpan], expected: list[tuple[int | None, int]]
) -> None:
    assert [superseded_steps(span, spans) for span in spans] == expected
    for span, (first, lost) in zip(spans, expected, strict=True):
        steps = np.arange(span.first_step, span.last_step + 1)
        ghost = superseded_points(np.full(len(steps), span.number), steps, spans)
        assert int(ghost.sum()) == lost
        assert (int(steps[ghost][0]) if lost else None) == first


def test_time_spent_on_superseded_steps_is_lost_and_downtime_is_not_work() -> None:
    one = series((0, range(100), 0.0), (1, range(80, 180), 199.0))
    cost = spent(one, [AttemptSpan(0, 0, 99), AttemptSpan(1, 80, 179)])
    assert cost.seconds(TimeUse.SUPERSEDED) == 20.0
    assert cost.share(TimeUse.FORWARD) == pytest.approx((79 + 99) / 298)


def test_a_standstill_inside_an_attempt_is_not_work() -> None:
    one = series((0, range(100), 0.0))
    one.time[50:] += 1000.0
    cost = spent(one, [AttemptSpan(0, 0, 99)])
    assert cost.seconds(TimeUse.SUPERSEDED) == 0.0
    assert cost.share(TimeUse.FORWARD) == pytest.approx(99 / 1099)


def test_without_a_clock_there_is_no_goodput() -> None:
    one = series((0, range(10), 0.0))
    one.time[:] = np.nan
    assert measure_goodput(one, [AttemptSpan(0, 0, 9)]) is None


def test_throughput_is_relative_to_the_runs_own_best() -> None:
    step = np.arange(10_000)
    value = np.where(step < 5000, 200.0, 100.0)
    drawn = relative_throughput(step, value, slower_is_more=False)
    assert len(drawn["step"]) == len(drawn["relative"]) <= BINS
    assert drawn["relative"][0] == 1.0
    assert drawn["relative"][-1] == 0.5
    slow = relative_throughput(step, 1 / value, slower_is_more=True)
    assert np.allclose(slow["relative"], drawn["relative"])


@pytest.mark.parametrize("value", [[], [np.nan], [0.0, -1.0], [np.inf]])
def test_throughput_without_usable_values_is_empty(value: list[float]) -> None:
    drawn = relative_throughput(np.arange(len(value)), np.array(value), slower_is_more=True)
    assert drawn == {"step": [], "relative": []}


class Counted(NamedTuple):
    """A series and how many points it has."""

    key: SeriesKey
    points: int


def test_the_series_with_few_labels_and_many_points_represents_its_role() -> None:
    total, rank = SeriesKey("train/loss"), SeriesKey("train/loss", (("rank", "0"),))
    sparse = SeriesKey("loss")
    result = representative_series([Counted(rank, 9000), Counted(sparse, 10), Counted(total, 1000)])
    assert result == {Role.LOSS: total}


@pytest.mark.parametrize(
    ("total", "points", "represents"), [("train_loss", 1000, True), ("train_loss", 1, False), ("", 0, False)]
)
def test_a_component_represents_the_loss_only_where_no_total_is_logged_as_often(
    total: str, points: int, represents: bool
) -> None:
    component = SeriesKey("cls_loss")
    totals = [Counted(SeriesKey(total), points)] if total else []
    result = representative_series([Counted(component, 1200), Counted(SeriesKey("bbox_loss"), 9), *totals])
    assert result == {Role.LOSS: SeriesKey(total) if represents else component}


def test_the_speed_of_evaluations_is_not_that_of_the_run() -> None:
    names = ("eval/samples_per_second", "eval_steps_per_second", "validation_step_time")
    evaluations = [Counted(SeriesKey(name), 1000) for name in names]
    assert representative_series(evaluations) == {}
    losses = [Counted(SeriesKey(MetricWithRole("score", Role.LOSS)), 9), Counted(SeriesKey("reward"), 9)]
    assert representative_series(losses) == {Role.LOSS: losses[0].key}
    speed = SeriesKey("train/samples_per_second")
    assert representative_series([*evaluations, Counted(speed, 10)]) == {Role.THROUGHPUT: speed}


def test_losses_of_adversaries_are_no_losses_of_datasets() -> None:
    for names, title in (
        (("loss/g", "loss/d"), "Loss terms"),
        (("loss/code", "loss/prose"), "Loss by dataset"),
    ):
        (chart,) = default_charts([Counted(SeriesKey(name), 100) for name in names])
        assert chart["title"] == title


def test_charts_begin_with_loss_throughput_gradient_norm_and_learning_rate() -> None:
    names = ["memory/used", "lr", "grad_norm", "tokens_per_sec", "loss", "something else"]
    ranks = [SeriesKey("step_time", (("rank", f"{rank}"),)) for rank in range(200)]
    drawn = default_charts([Counted(key, 10) for key in [*map(SeriesKey, names), *ranks]])
    assert [chart["title"] for chart in drawn] == [
        "Loss", "Throughput", "Gradient norm", "Learning rate", "Step time", "Memory",
    ]  # fmt: skip
    step_time = drawn[4]
    assert len(step_time["series"]) == CHART_SERIES
    assert step_time["series_count"] == 200


def test_charts_of_one_role_are_few_and_those_of_incidents_are_among_them() -> None:
    losses = [Counted(SeriesKey(f"loss_{name}"), 10) for name in ("a", "b", "c", "d", "e", "f")]
    used = [Counted(SeriesKey(f"memory_{name}"), 10) for name in "abcdef"]
    drawn = default_charts([*losses, *used], {"memory_f"})
    shown = [chart["series"][0]["metric"] for chart in drawn if chart["role"] == "memory"]
    assert shown == ["memory_a", "memory_b", "memory_c", "memory_d", "memory_f"]


def test_layers_have_no_chart_first_next_to_the_metric_of_the_entire_model() -> None:
    layers = [Counted(SeriesKey(f"layers/{number}/grad_norm"), 10) for number in range(30)]
    losses = [Counted(SeriesKey(f"loss/dataset-{number}"), 10) for number in range(30)]
    drawn = default_charts([*layers, *losses, Counted(SeriesKey("grad_norm"), 10)])
    assert [chart["title"] for chart in drawn] == ["Gradient norm", "Loss by dataset"]
    assert [len(default_charts(layers)), len(default_charts(layers, {"layers/7/grad_norm"}))] == [4, 5]
    with_incident = default_charts([*layers, Counted(SeriesKey("grad_norm"), 10)], {"layers/7/grad_norm"})
    assert [chart["series"][0]["metric"] for chart in with_incident] == ["grad_norm", "layers/7/grad_norm"]


def test_learning_rates_share_a_chart_and_a_single_point_has_none_next_to_a_curve() -> None:
    rates = [("lr", 1), ("lr/1", 500), ("learning rate", 500)]
    drawn = default_charts([Counted(SeriesKey(name), points) for name, points in rates])
    assert [(chart["title"], len(chart["series"])) for chart in drawn] == [("Learning rate", 2)]
    (alone,) = default_charts([Counted(SeriesKey("lr"), 1)])
    assert alone["series"][0]["metric"] == "lr"


def test_downsampling_adds_no_stalls() -> None:
    full_series = series((0, range(5000), 0.0), (0, range(5000, 6000), 20_000.0))
    retained = np.unique([*range(2000), *range(2000, 5999, 100), 4999, 5000, 5999])
    downsampled = Series(
        key=full_series.key,
        **{name: getattr(full_series, name)[retained] for name in ("attempt", "step", "time", "value")},
    )
    shares = [
        spent(one, [AttemptSpan(0, 0, 5999)]).share(TimeUse.FORWARD) for one in (full_series, downsampled)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.001)
    assert shares[0] == pytest.approx(6000 / 21_000, abs=0.001)
