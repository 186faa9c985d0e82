"""Tuning by the user: sensitivity, kinds, roles, planned events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.roles import MetricWithRole, Role, role_of
from holter.tuning import MetricTuning, PlannedChange, PlannedEvent, Tuning
from holter.types import Kind, RunData, SeriesKey
from tests.support.curves import loss_curve, rank_times, run, series, speed_curve, until


def spiky(metric: str = "loss", *, at: int = 1500, seed: int = 0) -> RunData:
    """A loss with one spike of thirty steps."""
    loss = loss_curve(np.random.default_rng(seed), 3000)
    loss[at : at + 30] += 4.0
    return run(series(metric, loss))


def slow(metric: str = "tokens_per_s", *, share: float = 0.8, at: int = 1510) -> RunData:
    """A run that becomes slower, and stays so."""
    speed = speed_curve(np.random.default_rng(0), 3000)
    speed[at:] *= share
    return run(series(metric, speed, time=1.7e9 + np.cumsum(2e5 / speed)))


def kinds_of(data: RunData, tuning: Tuning) -> list[Kind]:
    return [finding.kind for finding in find(data, tuning=tuning)]


class TestKinds:
    def test_an_ignored_kind_is_not_reported(self) -> None:
        assert kinds_of(spiky(), Tuning()) == [Kind.SPIKE_FAST]
        assert kinds_of(spiky(), Tuning(ignore=frozenset({Kind.SPIKE_FAST}))) == []

    def test_only_the_wanted_kinds_are_reported(self) -> None:
        both = run(*spiky().series.values(), *slow().series.values())
        matters = Tuning(kinds=frozenset({Kind.THROUGHPUT_REGRESSION}))
        assert kinds_of(both, matters) == [Kind.THROUGHPUT_REGRESSION]

    def test_the_consequence_of_an_ignored_cause_is_reported(self) -> None:
        """Who does not care for single ranks still wants to know that the run is slow."""
        rng = np.random.default_rng(0)
        speed = speed_curve(rng, 3000)
        speed[1200:] *= 0.85
        ranks = rank_times(rng, 150, 8, slow=[(3, 60, 149, 1.18)])
        data = run(series("tokens_per_s", speed, time=1.7e9 + np.cumsum(2e5 / speed)), *ranks)
        assert kinds_of(data, Tuning()) == [Kind.STRAGGLER]
        assert kinds_of(data, Tuning(ignore=frozenset({Kind.STRAGGLER}))) == [Kind.THROUGHPUT_REGRESSION]


class TestMetrics:
    def test_an_unknown_name_has_the_role_that_the_user_set(self) -> None:
        assert find(slow("my_tps")) == []
        (finding,) = find(slow("my_tps"), tuning=Tuning(metrics={"my_*": Role.THROUGHPUT}))
        assert (finding.kind, finding.metric, finding.start_step) == ("throughput_regression", "my_tps", 1510)
        assert type(finding.metric) is str

    def test_a_role_that_the_user_set_overrides_the_name(self) -> None:
        assert find(spiky("train/loss"), tuning=Tuning(metrics={"train/loss": Role.OTHER})) == []

    def test_a_metric_that_is_ignored_counts_as_not_logged(self) -> None:
        both = run(*spiky().series.values(), *slow().series.values())
        tuning = Tuning(metric={"loss": MetricTuning(ignore=True)})
        assert kinds_of(both, tuning) == [Kind.THROUGHPUT_REGRESSION]

    def test_of_several_patterns_the_most_specific_applies(self) -> None:
        tuning = Tuning(metrics={"*": Role.OTHER, "my_*": Role.LOSS, "my_tps": Role.THROUGHPUT})
        assert [tuning.role(SeriesKey(name)) for name in ("loss", "my_loss", "my_tps")] == [
            Role.OTHER,
            Role.LOSS,
            Role.THROUGHPUT,
        ]

    def test_sensitivity_may_be_set_for_one_metric(self) -> None:
        faint = slow(share=0.985)
        alert = MetricTuning(sensitivity=2.0)
        assert kinds_of(faint, Tuning(metric={"loss*": alert})) == []
        assert kinds_of(faint, Tuning(metric={"tokens*": alert})) == [Kind.THROUGHPUT_REGRESSION]

    def test_the_recovery_of_fast_spikes_may_be_set_for_one_metric(self) -> None:
        patient = MetricTuning(fast_recovery_steps=10)
        assert kinds_of(spiky(), Tuning(metric={"loss": patient})) == [Kind.SPIKE_SLOW]
        assert kinds_of(spiky("lm loss"), Tuning(metric={"loss": patient})) == [Kind.SPIKE_FAST]

    def test_a_metric_with_a_role_equals_its_name_and_keeps_the_role_in_copies(self) -> None:
        told = MetricWithRole("my_tps", Role.THROUGHPUT)
        assert (told, hash(told)) == ("my_tps", hash("my_tps"))
        assert role_of(SeriesKey(told)) is Role.THROUGHPUT
        assert role_of(SeriesKey("my_tps")) is Role.OTHER


class TestPlannedEvents:
    def test_a_planned_event_is_not_reported(self) -> None:
        planned = PlannedEvent(kind="throughput_regression", from_step=1505, to_step=1600)
        assert kinds_of(slow(), Tuning(expected=[planned])) == []

    def test_a_start_some_points_early_is_still_the_planned_event(self) -> None:
        planned = PlannedEvent(what=PlannedChange.BATCH_SIZE, from_step=1514, to_step=1600)
        assert kinds_of(slow(), Tuning(expected=[planned])) == []

    @pytest.mark.parametrize(
        "other",
        [
            PlannedEvent(kind="throughput_regression", from_step=1550, to_step=1600),
            PlannedEvent(kind="throughput_regression", from_step=100, to_step=1500),
            PlannedEvent(kind=("spike_fast", "stall"), from_step=1500, to_step=1600),
            PlannedEvent(kind="throughput_regression", metric="mfu", from_step=1500, to_step=1600),
            PlannedEvent(what=PlannedChange.DATA_SWITCH, from_step=1500),
            PlannedEvent(what=PlannedChange.EVALUATION, every=1000, lasting=50),
        ],
    )
    def test_what_happens_elsewhere_is_not_the_planned_event(self, other: PlannedEvent) -> None:
        assert kinds_of(slow(), Tuning(expected=[other])) == [Kind.THROUGHPUT_REGRESSION]

    def test_a_real_event_after_the_planned_one_is_reported(self) -> None:
        speed = speed_curve(np.random.default_rng(0), 6000)
        speed[1500:] *= 0.7
        speed[4000:] *= 0.8
        data = run(series("tokens_per_s", speed, time=1.7e9 + np.cumsum(2e5 / speed)))
        planned = PlannedEvent(
            what=PlannedChange.BATCH_SIZE, from_step=1500, to_step=1500, note="context 4k -> 8k"
        )
        (finding,) = find(data, tuning=Tuning(expected=[planned]))
        assert abs(finding.start_step - 4000) < 16

    def test_a_periodic_event_recurs(self) -> None:
        every = PlannedEvent(kind="spike_fast", every=500, lasting=20)
        assert kinds_of(spiky(at=1500), Tuning(expected=[every])) == []
        assert kinds_of(spiky(at=1520), Tuning(expected=[every])) == []
        assert kinds_of(spiky(at=1600), Tuning(expected=[every])) == [Kind.SPIKE_FAST]

    def test_a_periodic_event_may_begin_later(self) -> None:
        every = PlannedEvent(kind="spike_fast", every=500, lasting=20, from_step=2000)
        assert kinds_of(spiky(at=1500), Tuning(expected=[every])) == [Kind.SPIKE_FAST]

    def test_a_planned_event_is_planned_on_every_prefix(self) -> None:
        planned = Tuning(
            expected=[PlannedEvent(what=PlannedChange.LEARNING_RATE, from_step=1500, to_step=1510)]
        )
        for last in range(1490, 1900, 10):
            assert find(until(spiky(), 0, last), tuning=planned) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"from_step": 3}, "kind or what"),
        ({"kind": "stal", "from_step": 3}, "kind: one of spike_fast, .* expected, not 'stal'"),
        ({"what": "luck", "from_step": 3}, "what: one of learning rate, .* not 'luck'"),
        ({"kind": "stall"}, "from_step, to_step or every"),
        ({"kind": "stall", "every": 100}, "every and lasting"),
        ({"kind": "stall", "every": 100, "lasting": 101}, "lasting: from 1"),
        ({"kind": "stall", "from_step": 5, "to_step": 4}, "to_step: at least from_step"),
        ({"kind": "stall", "from_step": 5, "note": "x" * 10_001}, "at most 10,000 characters"),
    ],
)
def test_an_incomplete_planned_event_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PlannedEvent(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ignore": ["stal"]}, "ignore: one of"),
        ({"kinds": ["stal"]}, "kinds: one of"),
        ({"metrics": {"a": "los"}}, "metrics: one of loss"),
        ({"metric": {"a": {"sensitivity": 0.5}}}, "metric: a MetricTuning expected for 'a'"),
    ],
)
def test_unknown_names_are_refused_with_the_valid_ones(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tuning(**wrong)


def test_names_may_be_plain_strings() -> None:
    reported: dict[str, Any] = {"ignore": ["stall"], "kinds": ["stall"], "metrics": {"a": "loss"}}
    tuning = Tuning(**reported)
    assert tuning == Tuning(**reported | {"ignore": "stall", "kinds": iter(["stall"])})
    assert tuning == Tuning(
        ignore=frozenset({Kind.STALL}), kinds=frozenset({Kind.STALL}), metrics={"a": Role.LOSS}
    )
    assert hash(tuning) == hash(Tuning(**reported))


def test_incremental_state_of_another_tuning_changes_nothing() -> None:
    data = run(*spiky("my_loss").series.values(), *slow().series.values())
    memory = IncrementalState()
    for tuning in (
        Tuning(metrics={"my_loss": Role.LOSS}),
        Tuning(metrics={"my_loss": Role.LOSS}, ignore=frozenset({Kind.SPIKE_FAST})),
        Tuning(metrics={"my_loss": Role.LOSS}, metric={"my_*": MetricTuning(fast_recovery_steps=10)}),
        Tuning(metric={"tokens*": MetricTuning(ignore=True)}),
        Tuning(expected=[PlannedEvent(what=PlannedChange.MAINTENANCE, from_step=1500)]),
        Tuning(),
    ):
        assert find(data, tuning=tuning, state=memory) == find(data, tuning=tuning)
