"""Probable causes: named first where they are clear, listed where they are not, and never from the future."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.detectors import IncrementalState, find
from holter.detectors.causes import explain_findings
from holter.detectors.causes.changed_settings import setting_code
from holter.json_values import plain
from holter.types import Cause, ConfigKey, ConfigValue, Finding, Kind, RunData, Severity
from tests.support.curves import run, series, speed_curve
from tests.support.loss_curves import Floats, curve, decay, falling, prefix, run_of

POINTS, ONSET = 3000, 1500
AT = np.arange(POINTS)


def higher(**others: Floats) -> RunData:
    """A run whose loss jumps at step 1,500 and settles higher."""
    value = curve(seed=3) + decay(POINTS, ONSET, 2.0, 40) + np.where(AT >= ONSET, 0.4, 0.0)
    return run_of(value, **others)


REPORTED = Finding(
    kind=Kind.SPIKE_SLOW,
    metric="loss",
    attempt=0,
    start_step=ONSET,
    detected_step=ONSET + 8,
    severity=Severity.WARNING,
    confidence=0.9,
    summary="Loss rose.",
    advice="Watch it.",
)


def changed(before: float, after: float, step: int) -> Floats:
    return np.where(step > AT, before, after)


def only(data: RunData) -> Finding:
    (finding,) = find(data)
    return finding


class TestClearCauses:
    @pytest.mark.parametrize(
        ("severity", "end", "words"),
        [
            (Severity.INFO, 1560, "Nothing else to do: the loss is back."),
            (Severity.INFO, None, "Nothing else to do now: noise may explain the loss."),
            (Severity.WARNING, None, "then go back to a checkpoint from before step 1,496."),
        ],
    )
    def test_the_advice_says_that_the_loss_is_back_only_once_it_is(
        self, severity: Severity, end: int | None, words: str
    ) -> None:
        found = replace(REPORTED, severity=severity, end_step=end)
        (explained,) = explain_findings(
            [found], higher(lr=changed(0.0105, 0.224, 1496)), IncrementalState(), all_findings=[]
        )
        assert words in explained.advice

    def test_a_learning_rate_that_jumped_comes_first_and_batches_are_innocent(self) -> None:
        finding = only(higher(lr=changed(0.0105, 0.224, 1496)))
        (cause,) = finding.causes
        assert cause.is_clear
        assert finding.summary.startswith(
            "Learning rate rose from 0.0105 to 0.224 at step 1,496; the loss followed. Loss rose from"
        )
        assert finding.advice.startswith(
            "Unless intended, restore the schedule of the learning rate; then go"
        )
        assert "from before step 1,496" in finding.advice
        assert "skip" not in finding.advice
        assert finding.evidence.keys().isdisjoint({"skip_from", "skip_until"})
        assert (cause.code, cause.step, cause.before, cause.after) == ("learning_rate", 1496, 0.0105, 0.224)
        assert cause.evidence_for[0] == "4 steps before the onset"
        assert "The only such change in 1,501 rows" in cause.evidence_for

    @pytest.mark.parametrize(
        ("code", "others", "sentence"),
        [
            ("batch_size", {"batch_size": changed(512, 64, 1490)}, "Batch size fell from 512 to 64"),
            ("sequence_length", {"seq_length": changed(2048, 8192, 1499)}, "Sequence length rose from 2,048"),
            ("mixture", {"mix__code": changed(0.2, 0.5, 1495)}, "Share of code rose from 20.0% to 50.0%"),
            (
                "gradient_clipping",
                {"max_grad_norm": changed(1.0, 0.0, 1497)},
                "Gradient clipping at 1 was switched off at step 1,497",
            ),
            ("precision", {"fp16": changed(0, 1, 1499)}, "fp16 rose from 0 to 1"),
            ("hyperparameter", {"weight_decay": changed(0.1, 0.0, 1499)}, "weight_decay fell from 0.1 to 0"),
        ],
    )
    def test_other_logged_settings(self, code: str, others: dict[str, Floats], sentence: str) -> None:
        finding = only(higher(**others))
        assert [(cause.code, cause.is_clear) for cause in finding.causes] == [(code, True)]
        assert finding.summary.startswith(sentence)

    def test_a_learning_rate_that_climbs_out_of_its_decay(self) -> None:
        rate = 1e-3 * (1 - AT / 4000) * np.exp(np.clip((AT - 1485) / 13, 0, 3))
        (cause,) = only(higher(lr=rate)).causes
        assert cause.sentence.startswith("Learning rate climbed from")
        assert cause.is_clear

    def test_two_changes_at_one_step_are_named_together(self) -> None:
        finding = only(higher(lr=changed(1e-3, 5e-3, 1497), seq_length=changed(2048, 4096, 1497)))
        assert {cause.code for cause in finding.clear_causes} == {"learning_rate", "sequence_length"}
        assert " and sequence length rose from 2,048 to 4,096 at step 1,497; the loss" in finding.summary
        assert all("changed too" in cause.evidence_against[-1] for cause in finding.causes)

    def test_a_stage_does_not_explain_what_a_far_higher_learning_rate_causes(self) -> None:
        finding = only(higher(lr=changed(1e-2, 0.2, 1496), batch_size=changed(512, 448, 1470)))
        assert finding.severity == "critical"
        assert [cause.code for cause in finding.clear_causes] == ["learning_rate"]

    def test_a_rise_that_a_stage_announced_still_needs_no_action(self) -> None:
        finding = only(higher(batch_size=changed(512, 64, 1490)))
        assert finding.advice.startswith("Nothing to do")


class TestWeakEvidence:
    def test_nothing_changed(self) -> None:
        finding = only(higher(lr=np.full(POINTS, 1e-3), batch_size=np.full(POINTS, 512.0)))
        assert finding.causes == ()
        assert finding.summary.startswith("Loss rose from")
        assert "skip the batches" in finding.advice

    @pytest.mark.parametrize("step", [900, 1300, 1510, 2000])
    def test_a_change_long_before_or_after_the_onset(self, step: int) -> None:
        assert only(higher(lr=changed(1e-3, 2e-2, step))).clear_causes == ()

    def test_a_schedule_is_no_change(self) -> None:
        warm_up = np.minimum((AT + 1) / 1500, 1.0)
        for rate in (warm_up, 0.5 + 0.5 * np.cos(np.pi * AT / POINTS), 1 + np.sin(AT / 30)):
            assert only(higher(lr=1e-3 * rate)).clear_causes == ()

    def test_settings_that_change_all_the_time(self) -> None:
        ramp = 64.0 + 16 * ((AT + 20) // 60)
        lengths = np.random.default_rng(0).choice([512.0, 1024.0, 2048.0], POINTS)
        assert only(higher(batch_size=ramp)).clear_causes == ()
        assert only(higher(seq_length=lengths)).causes == ()

    def test_a_lower_limit_of_the_gradient_norm_is_listed_but_not_named(self) -> None:
        (cause,) = only(higher(max_grad_norm=changed(1.0, 0.1, 1499))).causes
        assert not cause.is_clear
        assert "A lower limit rarely raises a loss" in cause.evidence_against


class TestRestarts:
    def restarted(self, **settings: tuple[ConfigValue, ConfigValue]) -> Finding:
        value = curve(seed=3) + decay(POINTS, ONSET, 1.5, 12)
        data = run_of(value, attempt=(AT >= ONSET).astype(int))
        config = {ConfigKey(name): {0: pair[0], 1: pair[1]} for name, pair in settings.items()}
        return only(replace(data, config=config))

    def test_a_restart_with_another_setting_names_it(self) -> None:
        finding = self.restarted(seq_length=(2048, 8192), output_dir=("/a", "/b"), job_id=(1, 2))
        assert finding.summary.startswith(
            "Setting seq_length changed from 2,048 to 8,192 with the restart at step 1,500; the loss followed"
        )
        assert [cause.code for cause in finding.causes] == ["sequence_length"]

    def test_several_settings_are_one_cause(self) -> None:
        finding = self.restarted(seq_length=(2048, 8192), lr=(1e-3, 1e-2), dtype=("bf16", "fp16"))
        (cause,) = finding.causes
        assert cause.code == "restart_settings"
        assert "dtype changed from bf16 to fp16" in finding.summary

    def test_without_a_difference_the_summary_stays(self) -> None:
        finding = self.restarted(seq_length=(2048, 2048), hostname=("n1", "n2"))
        assert finding.kind is Kind.RESUME_ARTIFACT
        assert finding.summary.startswith("Loss rose from")
        assert [cause.code for cause in finding.causes] == ["restart"]
        assert finding.causes[0].evidence_against == (
            "No setting that its launch states, and no logged series, changed with it",
        )

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("optimizer.adam_beta2", "hyperparameter"),
            ("perDeviceTrainBatchSize", "batch_size"),
            ("training.dtype", "precision"),
            ("train_data_path", "mixture"),
            ("save_interval", None),
            ("output_dir", None),
            ("run_name", None),
            ("slurm_job_id", None),
        ],
    )
    def test_settings_by_what_they_may_matter_to(self, name: str, code: str | None) -> None:
        assert setting_code(name, of_speed=False) == code

    def test_settings_that_matter_to_the_speed(self) -> None:
        assert setting_code("tensor_parallel_size", of_speed=True) is not None
        assert setting_code("optimizer.adam_beta2", of_speed=True) is None


class TestSlowRanks:
    def slow_run(self) -> RunData:
        rng = np.random.default_rng(5)
        rows, ranks = 300, 8
        cost = 0.005 * rng.standard_normal((rows, ranks))
        cost[140:, 3] += np.log(1.3)
        compute = np.exp(cost)
        waits = compute.max(axis=1, keepdims=True) - compute + 0.1
        where = {"step": 10 * np.arange(rows)}
        timed = [
            series(name, values[:, rank], rank=rank, host=f"n{rank // 2}", **where)
            for name, values in (("compute_time", compute), ("collective_time", waits))
            for rank in range(ranks)
        ]
        seconds = np.repeat(compute.max(axis=1) + 0.1, 10)
        speed = 1e5 / seconds * np.exp(0.005 * rng.standard_normal(10 * rows))
        return run(*timed, series("tokens_per_s", speed, time=1.7e9 + np.cumsum(1e5 / speed)))

    def test_a_slow_rank_and_the_slow_down_are_one_incident_that_names_rank_and_host(self) -> None:
        findings = [each for each in find(self.slow_run()) if each.severity != "info"]
        (finding,) = findings
        assert finding.kind is Kind.STRAGGLER
        assert finding.summary.startswith("Rank 3 on n1 computes 30% longer")
        assert finding.summary.endswith("of its throughput.")
        assert [each["kind"] for each in finding.evidence["also"]] == ["throughput_regression"]

    def test_a_healthy_speed_has_no_cause(self) -> None:
        speed = speed_curve(np.random.default_rng(0), POINTS)
        speed[ONSET:] *= 0.8
        data = run(series("tokens_per_s", speed), series("lr", changed(1e-3, 1e-2, 1499)))
        assert [cause for each in find(data) for cause in each.causes] == []


class TestContract:
    data = higher(
        lr=changed(1e-3, 2e-2, 1497), mix__code=0.3 + 0.01 * np.random.default_rng(1).standard_normal(POINTS)
    )

    def test_causes_are_known_at_the_detection_and_stay(self) -> None:
        finished = only(self.data)
        for step in range(finished.detected_step, POINTS, 397):
            assert only(prefix(self.data, attempt=0, step=step)).causes == finished.causes

    def test_incremental_passes_give_the_same(self) -> None:
        state = IncrementalState()
        for step in (1400, 1502, 1503, 1600, 2999):
            part = prefix(self.data, attempt=0, step=step)
            assert find(part, state=state) == find(part)

    def test_a_change_that_arrives_late_is_found(self) -> None:
        state, rates = IncrementalState(), next(key for key in self.data.series if key.metric == "lr")
        without = replace(self.data, series={k: v for k, v in self.data.series.items() if k != rates})
        assert [each.causes for each in find(without, state=state)] == [()]
        assert find(self.data, state=state) == find(self.data)

    def test_settings_that_arrive_late_are_found(self) -> None:
        value = curve(level=falling(POINTS)) + decay(POINTS, ONSET, 1.5, 12)
        data, state = run_of(value, attempt=(AT >= ONSET).astype(int)), IncrementalState()
        find(data, state=state)
        later = replace(data, config={ConfigKey("dropout"): {0: 0.0, 1: 0.5}})
        assert find(later, state=state) == find(later)
        assert only(later).causes[0].code == "hyperparameter"

    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(
            st.one_of(st.floats(width=64), st.sampled_from([0.0, -1.0, 1e308, 1e-308, np.inf])),
            min_size=1,
            max_size=40,
        )
    )
    def test_any_values_of_the_other_series_are_accepted(self, values: list[float]) -> None:
        names = ("lr", "batch_size", "seq_length", "max_grad_norm", "weight_decay", "loss_scale", "mix/a")
        others = {name.replace("/", "__"): np.resize(values, POINTS) for name in names}
        for finding in explain_findings([REPORTED], higher(**others), IncrementalState(), all_findings=[]):
            json.dumps(plain(finding.as_json()), allow_nan=False)
            assert all(0 <= cause.score < 1 for cause in finding.causes)

    def test_a_cause_is_the_same_after_json(self) -> None:
        for cause in only(self.data).causes:
            assert Cause.from_json(json.loads(json.dumps(plain(cause.as_json()), allow_nan=False))) == cause
