"""Laboratory runs: two disjoint lists, plans that repeat, truth from the mechanism and the twin, scores."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holter.ingest.offline.read_run import read_run
from tests.support.loss_curves import curve, decay

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STEPS, FAULT = 2000, 1000


@pytest.fixture(scope="module")
def laboratory() -> Any:
    """The modules of the benchmark that need no torch."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        names = ("lists", "plan", "recording", "labels", "timings", "files", "measure", "command")
        modules = {name: importlib.import_module(f"laboratory.{name}") for name in names}
        modules["scores"] = importlib.import_module("event_scores")
    finally:
        sys.path.remove(str(BENCHMARKS))
    return SimpleNamespace(**modules)


def planned(laboratory: Any, mechanism: str, **changes: Any) -> Any:
    """The plan of a run with this mechanism at step 1,000 of 2,000, logged every step."""
    for part in laboratory.lists.LISTS.values():
        for each in part.mechanisms:
            if each.name == mechanism:
                plan = laboratory.plan.draw(part.name, 5, 0)
                usual = {
                    "mechanism": each,
                    "steps": STEPS,
                    "fault_step": FAULT,
                    "crash_step": FAULT,
                    "length": 5,
                    "habit": laboratory.lists.LogHabit(),
                }
                return replace(plan, **usual | changes)
    raise AssertionError(mechanism)


def recorded(laboratory: Any, plan: Any, effect: np.ndarray, start: int = 0) -> Any:
    """A recording of one attempt from `start` on, whose loss is that of the twin and an effect."""
    loss = curve(STEPS, noise=0.02, seed=1)
    step = np.arange(STEPS, dtype=np.float64)
    twin = {"step": step, "loss": loss, "grad_norm": np.ones(STEPS), "rate": np.full(STEPS, 1e-3)}
    twin["batch_size"] = np.full(STEPS, 8.0)
    run = {name: values[start:] for name, values in {**twin, "loss": loss + effect}.items()}
    first = {name: values[: plan.crash_step] for name, values in twin.items()}
    probe = np.stack((step[::20], np.linspace(3, 1, STEPS // 20)), axis=1)
    attempts = (first, run) if start else (run,)
    return laboratory.recording.Recording(plan=plan, attempts=attempts, twin=twin, probe=probe)


def test_the_lists_share_only_the_control_without_fault(laboratory: Any) -> None:
    lists = laboratory.lists
    for part in fields(lists.ListPart):
        one, other = (getattr(each, part.name) for each in (lists.DEVELOPMENT, lists.RESERVED))
        shared = {str(each) for each in one} & {str(each) for each in other}
        assert shared <= {str(lists.PLAIN)} or part.name == "name", part.name


def test_a_plan_is_the_same_for_a_seed_and_another_for_another(laboratory: Any) -> None:
    draw = laboratory.plan.draw
    assert draw("development", 3, 8) == draw("development", 3, 8)
    assert draw("development", 3, 8) != draw("development", 4, 8)


@pytest.mark.parametrize("name", ["development", "reserved"])
def test_a_round_of_runs_has_every_mechanism(laboratory: Any, name: str) -> None:
    part = laboratory.lists.LISTS[name]
    length = sum(each.weight for each in part.mechanisms)
    drawn = {laboratory.plan.draw(name, 1, index).mechanism.name for index in range(length)}
    assert drawn == {each.name for each in part.mechanisms}


def test_every_mechanism_is_described(laboratory: Any) -> None:
    for part in laboratory.lists.LISTS.values():
        text = laboratory.command.describe(part)
        assert all(
            f"| {each.name} | {each.family} | {each.description} |" in text for each in part.mechanisms
        )


RISES = {
    "spike_fast": decay(STEPS, FAULT, 1.0, 10),
    "spike_slow": decay(STEPS, FAULT, 2.0, 120),
    "spike_unrecovered": 1.0 * (np.arange(STEPS) >= FAULT),
    "divergence": np.clip((np.arange(STEPS) - FAULT) / 300, 0, 3),
}


@pytest.mark.parametrize("kind", RISES)
def test_the_class_follows_from_the_difference_to_the_twin(laboratory: Any, kind: str) -> None:
    plan = planned(laboratory, "shuffled_labels")
    (event,) = laboratory.labels.label(recorded(laboratory, plan, RISES[kind]))
    assert (event["class"], event["start_step"], event["ambiguous"]) == (kind, FAULT, False)


def test_a_slow_rise_that_comes_back_may_be_called_a_divergence(laboratory: Any) -> None:
    effect = np.interp(np.arange(STEPS), (FAULT, FAULT + 300, FAULT + 500), (0, 2, 0))
    (event,) = laboratory.labels.label(recorded(laboratory, planned(laboratory, "rate_ramp"), effect))
    assert (event["class"], event["accept"]) == ("spike_slow", ["divergence"])


@pytest.mark.parametrize(("share_of_code", "dataset"), [(0.0, "web"), (0.1, "web"), (0.5, None)])
def test_a_fault_that_moved_one_dataset_alone_names_it(
    laboratory: Any, share_of_code: float, dataset: str | None
) -> None:
    effect = RISES["spike_unrecovered"]
    plan = planned(laboratory, "label_rot", index=3)
    recording = recorded(laboratory, plan, effect)
    noise = {name: curve(STEPS, noise=0.02, seed=seed) for seed, name in enumerate(plan.datasets, 2)}
    moved = {"web": effect, "code": share_of_code * effect}
    (run,) = recording.attempts
    with_datasets = replace(
        recording,
        twin=recording.twin | {f"loss/{name}": values for name, values in noise.items()},
        attempts=(run | {f"loss/{name}": noise[name] + moved[name] for name in noise},),
    )
    (event,) = laboratory.labels.label(with_datasets)
    assert (event["class"], event["params"].get("dataset")) == ("spike_unrecovered", dataset)


def test_an_effect_far_below_the_noise_is_ambiguous(laboratory: Any) -> None:
    plan = planned(laboratory, "shuffled_labels")
    (event,) = laboratory.labels.label(recorded(laboratory, plan, decay(STEPS, FAULT, 0.02, 5)))
    assert event["ambiguous"]
    assert event["reason"].startswith("not visible")


def test_a_rise_that_ends_in_nan_is_two_events(laboratory: Any) -> None:
    effect = np.clip((np.arange(STEPS) - FAULT) / 300, 0, 3)
    effect[1900:] = np.nan
    events = laboratory.labels.label(recorded(laboratory, planned(laboratory, "rate_ramp"), effect))
    assert [(event["class"], event["start_step"]) for event in events] == [
        ("spike_unrecovered", FAULT),
        ("nan", 1900),
    ]
    assert "divergence" in events[0]["accept"]


def test_replayed_data_are_visible_by_the_noise_of_both_passes(laboratory: Any) -> None:
    plan = planned(laboratory, "replay_recent", length=400, crash_step=FAULT + 50)
    loss = curve(STEPS, noise=0.02, seed=1)
    again = np.zeros(STEPS)
    again[FAULT : FAULT + 400] = loss[FAULT - 400 : FAULT] - loss[FAULT : FAULT + 400]
    (event,) = laboratory.labels.label(recorded(laboratory, plan, again, FAULT))
    assert (event["class"], event["attempt"], event["ambiguous"]) == ("repeated_data", 1, False)
    assert (event["start_step"], event["first_unseen_step"]) == (FAULT, FAULT + 400)
    (other,) = laboratory.labels.label(recorded(laboratory, plan, np.zeros(STEPS), FAULT))
    assert other["ambiguous"]


def test_instability_without_a_fault_is_ambiguous(laboratory: Any) -> None:
    plan = planned(laboratory, "plain")
    recording = recorded(laboratory, plan, np.zeros(STEPS))
    assert laboratory.labels.label(recording) == []
    recording.probe[60:70, 1] += 2
    (event,) = laboratory.labels.label(recording)
    assert (event["class"], event["ambiguous"]) == ("natural_instability", True)


def layouts() -> list[str]:
    return [
        "csv, a file per attempt",
        "csv, one file with a column attempt",
        "jsonl, one file",
        "jsonl, a file per attempt",
        "console",
    ]


@pytest.mark.parametrize("layout", layouts())
def test_each_layout_is_read_with_all_rows_and_attempts(laboratory: Any, layout: str, tmp_path: Path) -> None:
    ranks = 0 if layout == "console" else 4
    plan = planned(laboratory, "optimizer_lost", layout=layout, crash_step=FAULT + 40, ranks=ranks)
    recording = recorded(laboratory, plan, np.zeros(STEPS), FAULT)
    laboratory.files.write_run(recording, tmp_path / "run")
    truth = json.loads((tmp_path / "run" / "truth.json").read_text())
    run = read_run(tmp_path / "run")
    loss = next(each for key, each in run.data.series.items() if key.metric == plan.names.loss)
    assert len(loss) == truth["n_rows"] == STEPS + 40
    assert [int((loss.attempt == number).sum()) for number in (0, 1)] == [FAULT + 40, STEPS - FAULT]
    assert {key.labels for key in run.data.series if key.metric == "compute_time"} == {
        (("rank", str(rank)),) for rank in range(ranks)
    }


def test_the_written_lists_use_only_layouts_that_are_tested(laboratory: Any) -> None:
    assert {layout for part in laboratory.lists.LISTS.values() for layout in part.layouts} <= set(layouts())


def truth_with(*events: dict[str, Any]) -> dict[str, Any]:
    attempts = [{"file": "a", "first_step": 0, "last_step": 999}]
    return {"events": list(events), "attempts": attempts, "log_schedule": [[0, 1]], "n_rows": 1000}


def event(kind: str, start: int, **changes: Any) -> dict[str, Any]:
    return {
        "class": kind,
        "attempt": 0,
        "start_step": start,
        "end_step": start + 20,
        "ambiguous": False,
    } | changes


def finding(kind: str, start: int, **changes: Any) -> dict[str, Any]:
    found = {"kind": kind, "metric": "loss", "attempt": 0, "labels": {}}
    return found | {"start_step": start, "detected_step": start + 2} | changes


def scored(laboratory: Any, truth: dict[str, Any], *findings: dict[str, Any]) -> dict[str, Any]:
    scores = laboratory.scores.EventScores()
    scores.add(truth, findings)
    return dict(scores.summary())


def test_scores_count_found_misnamed_missed_and_false(laboratory: Any) -> None:
    truth = truth_with(event("spike_fast", 100), event("spike_slow", 300), event("nan", 600))
    summary = scored(
        laboratory, truth, finding("spike_fast", 101), finding("spike_fast", 300), finding("divergence", 900)
    )
    assert (summary["detected"], summary["class_accuracy"], summary["false_alarms"]) == (2, 0.5, 1)
    assert summary["detection_recall"] == pytest.approx(2 / 3, abs=1e-4)


def test_scores_take_accepted_classes_and_leave_out_what_is_ambiguous(laboratory: Any) -> None:
    accepted = truth_with(event("spike_slow", 100, accept=["spike_fast"]))
    assert scored(laboratory, accepted, finding("spike_fast", 100))["macro_f1"] == 1
    doubtful = truth_with(event("spike_slow", 100, ambiguous=True))
    summary = scored(laboratory, doubtful, finding("spike_fast", 100))
    assert (summary["events"], summary["false_alarms"]) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "found_in", "is_right"),
    [
        ("spike_slow", "loss/web", True),
        ("spike_fast", "loss/web", False),
        ("spike_slow", "loss/code", False),
        ("spike_slow", "loss", True),
    ],
)
def test_a_rise_of_one_dataset_has_its_own_kind_also_where_that_dataset_is_named(
    laboratory: Any, kind: str, found_in: str, *, is_right: bool
) -> None:
    truth = truth_with(event("spike_slow", 100, params={"dataset": "web"}))
    summary = scored(laboratory, truth, finding(kind, 100, metric=found_in))
    assert summary["class_accuracy"] == is_right


def test_a_second_finding_in_an_event_is_a_fragment(laboratory: Any) -> None:
    truth = truth_with(event("divergence", 100))
    summary = scored(laboratory, truth, finding("divergence", 110), finding("spike_fast", 700))
    assert (summary["fragments"], summary["false_alarms"]) == (1, 0)


def test_a_straggler_must_name_the_rank(laboratory: Any) -> None:
    truth = truth_with(event("straggler", 100, params={"rank": 3}))
    for rank, found in ((3, 1), (2, 0)):
        slow = finding("straggler", 100, metric="compute_time", labels={"rank": rank})
        assert scored(laboratory, truth, slow)["detected"] == found


def test_a_detector_is_any_command_that_prints_findings(laboratory: Any, tmp_path: Path) -> None:
    program = tmp_path / "detector.py"
    program.write_text('print(\'{"kind": "spike_fast", "start_step": 7}\')')
    run = laboratory.measure.run_detector
    assert run(f"{sys.executable} {program}", tmp_path) == [{"kind": "spike_fast", "start_step": 7}]
    program.write_text('print(\'{"kind": "spike_fast"}\')')
    with pytest.raises(laboratory.measure.DetectorError, match="line 1 of its output: expected an object"):
        run(f"{sys.executable} {program}", tmp_path)


def test_one_command_measures_runs_and_prints_every_contender(
    laboratory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spike = recorded(laboratory, planned(laboratory, "shuffled_labels"), decay(STEPS, FAULT, 2.0, 120))
    plain = recorded(laboratory, planned(laboratory, "plain"), np.zeros(STEPS))
    for name, recording in (("spike", spike), ("plain", plain)):
        laboratory.files.write_run(recording, tmp_path / name)
    laboratory.command.main(["measure", "--folder", str(tmp_path), "--jobs", "1"])
    printed = capsys.readouterr().out
    assert "2 runs, 1 events" in printed
    assert "| **Holter** | 1 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 0.00 | 0.00 |" in printed
    assert "| spike_slow | 1 |" in printed
    assert "| shuffled_labels | 1 | 1 | 1 |" in printed
    for rule in ("KillLossSpike", "OLMo spike score", "never"):
        assert f"| {rule} |" in printed
