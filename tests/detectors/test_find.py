"""All detectors together: one finding per real event, also from a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import holter
from holter.detectors import BUILTIN, Detector, Tuning, find, fingerprint, registry
from holter.detectors.detector import DetectorContext
from holter.registry import DuplicateNameError, build
from holter.types import Finding, Kind, RunData
from tests.support.curves import healthy_run, loss_curve, rank_times, run, series, speed_curve, until


def slow_rank_and_run() -> RunData:
    """A rank that slows everyone down from step 1200 on."""
    rng = np.random.default_rng(0)
    speed = speed_curve(rng, 3000)
    speed[1200:] *= 0.85
    ranks = rank_times(rng, 150, 8, slow=[(3, 60, 149, 1.18)])
    return run(series("tokens_per_s", speed, time=1.7e9 + np.cumsum(2e5 / speed)), *ranks)


def test_a_slow_run_that_waits_for_a_slow_rank_is_one_incident() -> None:
    (finding,) = find(slow_rank_and_run())
    assert finding.kind is Kind.STRAGGLER


def test_a_slow_run_with_even_ranks_is_reported_once_the_timings_are_there() -> None:
    data = slow_rank_and_run()
    even = rank_times(np.random.default_rng(1), 150, 8)
    speed = data.named(["tokens_per_s"])
    (finding,) = find(run(*speed, *even))
    assert finding.kind is Kind.THROUGHPUT_REGRESSION
    assert finding.detected_step >= 1200 + 10 * 20
    assert find(until(run(*speed, *even), 0, finding.detected_step - 1)) == []


def test_a_cause_that_is_detected_later_is_named_by_its_consequence() -> None:
    """Short bursts are detected later in the ranks than in the speed of the run."""
    rng = np.random.default_rng(0)
    speed = speed_curve(rng, 3000)
    bursts = []
    for row in range(60, 150, 16):
        speed[row * 20 : row * 20 + 30] *= 0.85
        bursts.append((3, row, row + 1, 1.18))
    data = run(
        series("tokens_per_s", speed, time=1.7e9 + np.cumsum(2e5 / speed)),
        *rank_times(rng, 150, 8, slow=bursts),
    )
    by_kind = {finding.kind: finding for finding in find(data)}
    consequence = by_kind[Kind.THROUGHPUT_REGRESSION]
    assert consequence.severity == "info"
    cause = consequence.evidence["because_of"]
    assert (cause["kind"], cause["labels"]) == ("straggler", {"rank": 3})
    assert Kind.STRAGGLER in by_kind


def test_findings_are_in_the_order_of_detection() -> None:
    rng = np.random.default_rng(0)
    loss = loss_curve(rng, 3000)
    for at in (900, 1500, 2100):
        loss[at : at + 20] += 4.0
    steps = [finding.detected_step for finding in find(run(series("loss", loss)))]
    assert len(steps) == 3
    assert steps == sorted(steps)


def test_a_fingerprint_stays_while_a_finding_develops() -> None:
    loss = loss_curve(np.random.default_rng(0), 3000)
    loss[1500:1530] += 4.0
    data = run(series("loss", loss))
    early, late = find(until(data, 0, 1505)), find(data)
    assert early[0].end_step is None
    assert late[0].end_step is not None
    assert fingerprint(early[0]) == fingerprint(late[0])


def test_sensitivity_changes_what_is_reported() -> None:
    speed = speed_curve(np.random.default_rng(0), 3000)
    speed[1510:] *= 0.985
    data = run(series("tokens_per_s", speed, time=1.7e9 + np.cumsum(2e5 / speed)))
    assert find(data) == []
    assert len(find(data, tuning=Tuning(sensitivity=2.0))) == 1


@pytest.mark.parametrize("wrong", [{"fast_recovery_steps": 0}, {"sensitivity": 0.0}, {"sensitivity": 11.0}])
def test_preferences_out_of_range_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Tuning(**wrong)  # type: ignore[arg-type]


@dataclass(frozen=True)
class DuplicateDetector:
    """A detector of another package with the name of a built-in one."""

    name: ClassVar[str] = "spike"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STALL})

    def detect(self, run: RunData, context: DetectorContext) -> list[Finding]:
        return []


def test_two_detectors_of_one_name_are_refused() -> None:
    other: Detector = DuplicateDetector()
    with pytest.raises(DuplicateNameError, match="spike"):
        build((*BUILTIN, other), group="holter.detectors.none")
    assert len(registry()) >= len(BUILTIN)


class TestFromANotebook:
    def test_steps_and_values_are_enough(self) -> None:
        loss = loss_curve(np.random.default_rng(0), 2000)
        loss[1200:1210] += 4.0
        (finding,) = holter.analyze(np.arange(2000), loss)
        assert (finding.kind, finding.metric, finding.start_step) == ("spike_fast", "loss", 1200)

    def test_a_table_of_columns_is_taken_as_it_is(self) -> None:
        speed = speed_curve(np.random.default_rng(0), 3000)
        speed[1510:] *= 0.8
        table = {
            "step": list(range(3000)),
            "wall_time": (1.7e9 + np.cumsum(2e5 / speed)).tolist(),
            "tokens_per_s": speed.tolist(),
            "note": ["words"] * 3000,
            "eval/loss": [None] * 3000,
        }
        (finding,) = holter.analyze(table)
        assert (finding.kind, finding.start_step) == ("throughput_regression", 1510)

    def test_steps_that_go_backwards_begin_an_attempt(self) -> None:
        speed = speed_curve(np.random.default_rng(0), 3000)
        speed[1500:] *= 0.8
        step = np.concatenate([np.arange(1500), np.arange(1400, 2900)])
        (finding,) = holter.analyze(step, speed, metric="tokens_per_s")
        assert (finding.attempt, finding.start_step) == (1, 1400)

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"loss": [1.0]}, "step"),
            ({"step": [1, 2], "loss": [1.0]}, "loss: 2 values expected"),
            ({"step": [1, float("nan")], "loss": [1.0, 2.0]}, "finite"),
            ({"step": [[1]], "loss": [1.0]}, "flat"),
            ({"step": [1, 1.5], "loss": [1.0, 2.0]}, "step: whole numbers expected, not 1.5"),
            ({"step": [1], "attempt": [0, 1], "loss": [1.0]}, "attempt"),
        ],
    )
    def test_invalid_columns_are_named(self, table: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            holter.analyze(table)

    def test_steps_alone_are_not_enough(self) -> None:
        with pytest.raises(ValueError, match="values"):
            holter.analyze([1, 2, 3])

    def test_texts_are_no_values(self) -> None:
        with pytest.raises(ValueError, match="loss: numbers expected"):
            holter.analyze([1, 2], ["high", "low"])

    def test_a_dict_is_no_tuning(self) -> None:
        with pytest.raises(TypeError, match=r"tuning: a holter\.tuning\.Tuning expected"):
            holter.analyze([1], [1.0], tuning={"ignore": ["stall"]})  # type: ignore[arg-type]


def test_a_healthy_run_has_no_findings() -> None:
    assert find(healthy_run(0)) == []
