"""The contract that every detector in the registry fulfils."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holter import detectors
from holter.detectors import Detector, find, registry
from holter.detectors.detector import DetectorContext
from holter.detectors.findings import CATALOGUE
from holter.detectors.findings.fields import CORRELATED
from holter.json_values import plain
from tests.support.curves import (
    healthy_run,
    identity,
    run,
    series,
    until,
)
from tests.support.eventful_runs import EVENTFUL

ALL = list(registry().values())
each_detector = pytest.mark.parametrize("detector", ALL, ids=[one.name for one in ALL])

any_floats = arrays(
    np.float64,
    st.integers(0, 120),
    elements=st.one_of(
        st.floats(width=64, allow_nan=True, allow_infinity=True),
        st.sampled_from([0.0, 1.0, 1e-308, 1e308, -1.0, np.nan, np.inf]),
        st.floats(0.9, 1.1),
    ),
)


@each_detector
def test_healthy_runs_have_no_warnings(detector: Detector) -> None:
    for seed in range(20):
        assert [
            one for one in detector.detect(healthy_run(seed), DetectorContext()) if one.severity != "info"
        ] == []


@pytest.mark.slow
@each_detector
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(any_floats, min_size=1, max_size=3), seed=st.integers(0, 2**16))
def test_any_floats_are_accepted(detector: Detector, values: list[np.ndarray], seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ("loss", "tokens_per_s", "grad_norm", "step_time", "lr", "loss/code", "mix/code", "loss_scale")
    full_run = []
    for value, name in zip(values * 3, names, strict=False):
        n = len(value)
        attempt = np.sort(rng.integers(0, 3, n))
        step = np.concatenate(
            [np.sort(rng.choice(500, int((attempt == a).sum()), replace=False)) for a in range(3)]
        )
        full_run.append(
            series(name, value, attempt=attempt, step=step, time=rng.choice([1e9, np.nan, 2e9], n))
        )
    ranks = [series("compute_time", np.roll(values[0], rank), rank=rank) for rank in range(5)]
    with np.errstate(all="ignore"):  # as find() asks them
        findings = list(detector.detect(run(*full_run, *ranks, now=3e9), DetectorContext()))
    for finding in findings:
        assert finding.kind in detector.kinds
        assert finding.detected_step >= finding.start_step or finding.end_step is not None


@each_detector
def test_no_points_no_findings(detector: Detector) -> None:
    assert list(detector.detect(run(), DetectorContext())) == []
    assert (
        list(detector.detect(run(series("loss", []), series("tokens_per_s", []), now=1e9), DetectorContext()))
        == []
    )


@each_detector
@pytest.mark.parametrize("name", EVENTFUL)
def test_the_same_data_gives_the_same_findings(detector: Detector, name: str) -> None:
    assert list(detector.detect(EVENTFUL[name], DetectorContext())) == list(
        detector.detect(EVENTFUL[name], DetectorContext())
    )


@pytest.mark.slow
@each_detector
@pytest.mark.parametrize("name", EVENTFUL)
def test_findings_on_a_prefix_are_findings_on_the_full_run(detector: Detector, name: str) -> None:
    full_run = EVENTFUL[name]
    reported = {identity(finding) for finding in detector.detect(full_run, DetectorContext())}
    for attempt, step in prefixes(name, 25, seed=3):
        for finding in detector.detect(until(full_run, attempt, step), DetectorContext()):
            assert identity(finding) in reported, (attempt, step)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTFUL)
def test_all_detectors_together_are_causal_and_report_without_delay(name: str) -> None:
    full_run = EVENTFUL[name]
    reported = {identity(finding): finding for finding in find(full_run)}
    assert reported, "a run in which something happens"
    for attempt, step in prefixes(name, 25, seed=4):
        on_prefix = {identity(finding) for finding in find(until(full_run, attempt, step))}
        assert on_prefix <= set(reported), (attempt, step)
        due = {
            who
            for who, one in reported.items()
            # a silence shows in the next point, or to one who asks for the time
            if (one.attempt, one.detected_step) <= (attempt, step) and one.kind != "stall"
        }
        assert due <= on_prefix, (attempt, step)


@cache
def prefixes(name: str, count: int, *, seed: int) -> list[tuple[int, int]]:
    """Random positions in a run, and those around each of its findings; the same for each detector."""
    full_run, rng = EVENTFUL[name], np.random.default_rng(seed)
    longest = max(full_run.series.values(), key=len)
    places = rng.integers(20, len(longest), count)
    cuts = [(int(longest.attempt[place]), int(longest.step[place])) for place in places]
    for finding in find(full_run):
        cuts += [(finding.attempt, finding.detected_step + more) for more in (-1, 0, 1)]
    return cuts


@pytest.mark.parametrize("name", EVENTFUL)
def test_findings_are_plain_data_within_the_run(name: str) -> None:
    full_run = EVENTFUL[name]
    steps = np.concatenate([one.step for one in full_run.series.values()])
    for finding in find(full_run):
        json.dumps(plain(finding.as_json()), allow_nan=False)
        assert steps.min() <= finding.start_step <= steps.max()
        assert 0.0 <= finding.confidence <= 1.0
        assert finding.summary.endswith(".")
        fields = {field.key for field in (*CATALOGUE[finding.kind].evidence, *CORRELATED)}
        assert finding.evidence.keys() <= fields


def test_every_file_with_a_detector_is_listed() -> None:
    folder = Path(str(detectors.__file__)).parent
    with_detector = {
        path.stem for path in folder.rglob("*.py") if "kinds: ClassVar[frozenset[Kind]] =" in path.read_text()
    }
    assert with_detector == {type(one).__module__.rpartition(".")[2] for one in detectors.BUILTIN}
