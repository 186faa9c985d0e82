"""Nonfinite losses and gradient norms, and missing losses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.detectors import find
from holter.detectors.detector import DetectorContext
from holter.detectors.loss.nonfinite import NonfiniteDetector
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity
from tests.support.loss_curves import curve, identity, prefix, run_of

POINTS = 1000
NAN, INF = np.nan, np.inf


def detect_all(run: RunData) -> list[Finding]:
    return list(NonfiniteDetector().detect(run, DetectorContext()))


def without_loss(run: RunData, missing: np.ndarray | list[int]) -> RunData:
    """The run with no loss at some of its rows."""
    loss = run.series[SeriesKey("loss")]
    rows = ~np.isin(np.arange(len(loss)), missing)
    columns = {name: getattr(loss, name)[rows] for name in ("attempt", "step", "time", "value")}
    return RunData(series={**run.series, loss.key: dataclasses.replace(loss, **columns)})


def run_with(
    *, loss: dict[int, float] | None = None, norm: dict[int, float] | None = None, **others: np.ndarray
) -> RunData:
    """A healthy run except for some values of the loss and the gradient norm, by step."""
    columns = curve(POINTS), np.full(POINTS, 0.7)
    for column, changed in zip(columns, (loss or {}, norm or {}), strict=True):
        column[list(changed)] = list(changed.values())
    run = run_of(columns[0], lr=np.linspace(3e-4, 1e-5, POINTS), **others)
    return RunData(series={**run.series, **run_of(columns[1], metric="grad_norm").series})


def scale(*halved: int) -> np.ndarray:
    return np.asarray(2.0 ** (20.0 - np.searchsorted(halved, np.arange(POINTS), side="right")))


class TestGradientNorms:
    def test_a_nonfinite_norm_is_detected_at_once_and_critical_when_it_lasts(self) -> None:
        run = run_with(norm=dict.fromkeys(range(500, POINTS), NAN))
        severities = []
        for later in (0, 1, 2, 100):
            (finding,) = detect_all(prefix(run, attempt=0, step=500 + later))
            assert (finding.kind, finding.metric, finding.start_step) == (Kind.NONFINITE, "grad_norm", 500)
            assert finding.detected_step == 500
            severities.append(finding.severity)
        assert severities == [Severity.INFO, Severity.INFO, Severity.CRITICAL, Severity.CRITICAL]

    def test_a_single_nonfinite_norm_is_information(self) -> None:
        (finding,) = detect_all(run_with(norm={500: INF}))
        assert finding.severity is Severity.INFO
        assert finding.end_step == 501
        assert "Gradient norm became infinite at step 500 and was finite again" in finding.summary

    def test_a_nonfinite_norm_at_the_step_of_a_nonfinite_loss_is_one_event(self) -> None:
        (finding,) = detect_all(run_with(loss={500: NAN}, norm={500: NAN, 501: NAN}))
        assert (finding.metric, finding.start_step, finding.end_step) == ("loss", 500, 502)

    def test_a_nonfinite_loss_that_follows_is_the_same_event_and_critical(self) -> None:
        after = dict.fromkeys(range(501, POINTS), NAN)
        (finding,) = detect_all(run_with(loss=after, norm={500: INF, **after}))
        assert (finding.metric, finding.start_step, finding.severity) == ("grad_norm", 500, Severity.CRITICAL)
        assert "the loss became NaN at step 501" in finding.summary

    def test_overflows_of_a_scaled_loss_are_ordinary(self) -> None:
        run = run_with(norm={300: INF, 600: INF, 601: INF}, loss_scale=scale(301, 601, 602))
        assert detect_all(run) == []

    def test_the_search_for_the_first_scale_is_ordinary(self) -> None:
        first = range(16)
        assert detect_all(run_with(norm=dict.fromkeys(first, INF), loss_scale=scale(*first))) == []

    def test_the_search_for_a_scale_that_is_not_logged_is_ordinary_for_sixteen_steps(self) -> None:
        assert detect_all(run_with(norm=dict.fromkeys((0, 1, 2, 5, 40), INF))) == []
        (finding,) = detect_all(run_with(norm=dict.fromkeys(range(POINTS), NAN)))
        assert (finding.start_step, finding.detected_step) == (0, 16)
        assert finding.severity is Severity.CRITICAL
        for scales in ({"loss_scale": np.ones(POINTS)}, {}):
            (finding,) = detect_all(run_with(norm={3: NAN}, **scales))
            assert finding.start_step == 3

    def test_lasting_overflows_of_a_scaled_loss_are_detected(self) -> None:
        steps = range(500, POINTS)
        (finding,) = detect_all(run_with(norm=dict.fromkeys(steps, INF), loss_scale=scale(*steps)))
        assert (finding.start_step, finding.detected_step) == (500, 502)
        assert finding.severity is Severity.CRITICAL

    def test_a_scale_of_one_excuses_nothing(self) -> None:
        (finding,) = detect_all(run_with(norm={500: NAN}, loss_scale=np.ones(POINTS)))
        assert finding.detected_step == 500


class TestMissingLosses:
    def test_rows_without_a_loss_are_detected_while_other_metrics_continue(self) -> None:
        (finding,) = detect_all(without_loss(run_with(), np.arange(700, POINTS)))
        assert (finding.kind, finding.metric, finding.start_step) == (Kind.NONFINITE, "loss", 700)
        assert 702 <= finding.detected_step <= 704
        assert finding.severity is Severity.CRITICAL
        assert "missing" in finding.summary

    def test_missing_losses_are_over_when_the_loss_is_back(self) -> None:
        (finding,) = detect_all(without_loss(run_with(), np.arange(700, 730)))
        assert (finding.end_step, finding.severity) == (730, Severity.WARNING)

    def test_a_loss_that_becomes_nan_and_then_is_missing_is_one_event(self) -> None:
        run = without_loss(run_with(loss={698: NAN, 699: NAN}), np.arange(700, POINTS))
        (finding,) = detect_all(run)
        assert (finding.start_step, finding.end_step) == (698, None)

    @pytest.mark.parametrize("missing", [[999], [500], [400, 401], [300, 500, 700]])
    def test_one_or_two_missing_rows_are_no_finding(self, missing: list[int]) -> None:
        assert detect_all(without_loss(run_with(), missing)) == []

    @pytest.mark.parametrize("every", [2, 5, 10, 100])
    def test_a_sparse_loss_is_not_missing(self, every: int) -> None:
        assert detect_all(without_loss(run_with(), np.flatnonzero(np.arange(POINTS) % every))) == []

    def test_a_loss_that_counts_steps_of_its_own_is_not_missing(self) -> None:
        run = run_of(curve(POINTS), lr=np.full(POINTS, 1e-4))
        rate = run.series[SeriesKey("lr")]
        apart = dataclasses.replace(rate, step=rate.step * 10)
        assert detect_all(RunData(series={**run.series, rate.key: apart})) == []

    def test_a_loss_that_becomes_sparse_with_an_attempt_is_not_missing(self) -> None:
        attempt = np.repeat([0, 1], POINTS // 2)
        run = run_of(curve(POINTS), attempt=attempt, lr=np.full(POINTS, 1e-4))
        rare = np.flatnonzero((attempt == 1) & (np.arange(POINTS) % 10 > 0))
        assert detect_all(without_loss(run, rare)) == []

    def test_metrics_logged_at_their_own_steps_do_not_count(self) -> None:
        run = run_of(curve(POINTS), **{"eval/loss": curve(POINTS), "gpu_memory": np.ones(POINTS)})
        assert detect_all(without_loss(run, np.arange(500, POINTS))) == []


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    loss=st.dictionaries(st.integers(80, 139), st.sampled_from([NAN, INF]), max_size=8),
    norm=st.dictionaries(st.integers(80, 139), st.sampled_from([NAN, INF]), max_size=12),
    missing=st.lists(st.tuples(st.integers(80, 139), st.integers(1, 9)), max_size=4),
    scaled=st.booleans(),
)
def test_findings_stay_whatever_is_logged(
    loss: dict[int, float], norm: dict[int, float], missing: list[tuple[int, int]], scaled: bool
) -> None:
    others = {"loss_scale": scale()} if scaled else {}
    gone = [step for first, rows in missing for step in range(first, first + rows)]
    run = prefix(without_loss(run_with(loss=loss, norm=norm, **others), gone), attempt=0, step=160)
    final = {identity(finding) for finding in detect_all(run)}
    for step in range(79, 161):
        early = {identity(finding) for finding in detect_all(prefix(run, attempt=0, step=step))}
        assert early == {position for position in final if position[-1] <= step}  # type: ignore[operator]


def test_nan_in_a_policy_loss_is_reported_though_its_rises_are_not() -> None:
    value = np.random.default_rng(0).normal(0, 0.02, 3000)
    value[1000:1200] += 1.0
    value[2000:] = np.nan
    step = np.arange(3000)
    series = Series(
        key=SeriesKey("actor/pg_loss"),
        attempt=np.zeros(3000, dtype=np.int64),
        step=step,
        time=np.full(3000, np.nan),
        value=value,
    )
    (finding,) = find(RunData(series={series.key: series}))
    assert (finding.kind, finding.start_step) == (Kind.NONFINITE, 2000)
    assert finding.summary.startswith("Loss term actor/pg_loss became NaN")
