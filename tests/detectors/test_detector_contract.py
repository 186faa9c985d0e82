"""What every detector in the registry promises, whatever it looks for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holter import detectors
from holter.cli.report import json as jsonable
from holter.detectors import Detector, find, registry
from holter.detectors.detector import DetectorContext
from holter.detectors.findings import CATALOGUE
from holter.detectors.findings.fields import CORRELATED
from holter.types import RunData
from tests.detectors.curves import (
    healthy_run,
    identity,
    loss_curve,
    rank_times,
    run,
    series,
    speed_curve,
    until,
)

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


def clock(speed: np.ndarray) -> dict[str, np.ndarray]:
    """Wall times of steps of 200,000 tokens at such a speed."""
    return {"time": 1.7e9 + np.cumsum(2e5 / speed)}


def eventful_runs() -> dict[str, RunData]:
    """Runs in which something happens that some detector speaks of."""
    rng = np.random.default_rng(7)
    n = 3000
    spiky = loss_curve(rng, n)
    spiky[1200:1230] += 3.0
    spiky[1800:] += np.minimum(np.arange(n - 1800) / 200, 3.0)
    spiky[2500:2503] = np.nan
    slow = speed_curve(rng, n)
    slow[1500:2200] *= 0.85
    drifting = speed_curve(rng, n)
    drifting[1000:] *= np.exp(-np.minimum(np.arange(n - 1000) / 8000, 0.2))
    stream = rng.normal(0, 1, n)
    replay_step = np.concatenate([np.arange(900), np.arange(800, 2400)])
    place = np.concatenate([np.arange(900), np.arange(1600)])
    replay_attempt = np.repeat([0, 1], [900, 1600])
    base = 2.0 + 6.0 * (replay_step + 20.0) ** -0.35
    replayed = base * np.exp(0.05 * stream[place] + rng.normal(0, 0.02, len(place)))
    ranks = rank_times(rng, 150, 8, slow=[(3, 60, 149, 1.15), (5, 20, 22, 1.3), (5, 30, 33, 1.3)])
    waits = 2.0 * np.arange(n)
    waits[1000:] += 7200
    return {
        "numbers": overflows(rng, n),
        "data": other_data(rng, n),
        "machines": failing_machines(rng, n),
        "evaluations": evaluations(rng, spiky),
        "spikes": run(series("loss", spiky)),
        "slow": run(series("tokens_per_s", slow, **clock(slow)), series("step_time", 1e5 / slow)),
        "drifting": run(series("tokens_per_s", drifting, **clock(drifting))),
        "replay": run(series("loss", replayed, step=replay_step, attempt=replay_attempt)),
        "ranks": run(*ranks, series("step_time", 1.0 / slow)),
        "silence": run(series("loss", loss_curve(rng, n), time=1.7e9 + waits)),
    }


def evaluations(rng: np.random.Generator, loss: np.ndarray) -> RunData:
    """Two evaluations every 25 steps that jump, are NaN, turn upwards after a restart; and the loss."""
    at = np.concatenate((np.arange(0, 1800, 25), np.arange(1500, 3000, 25)))
    where = {"step": at, "attempt": np.repeat([0, 1], [72, 60])}
    losses = []
    for noise in (0.004, 0.008):
        value = (2.0 + 6.0 * (at + 200.0) ** -0.35) * np.exp(rng.normal(0, noise, len(at)))
        value[40:42] *= 1.2
        value[60:] *= 1.1
        value[100:] += np.arange(32) * 0.03
        value[68] = np.nan
        losses.append(value)
    both = [series(f"eval/{name}_loss", one, **where) for name, one in zip("ab", losses, strict=True)]
    return run(series("loss", loss), series("lr", np.full(len(loss), 1e-3)), *both)


def overflows(rng: np.random.Generator, n: int) -> RunData:
    """Gradients overflow and the loss scale collapses; later a logger hides NaN."""
    loss, norm, scale = loss_curve(rng, n), np.exp(rng.normal(0, 0.2, n)), np.full(n, 2.0**16)
    norm[1000:1008] = np.inf
    scale[1001:1500] = np.exp2(np.maximum(16.0 - np.arange(1, 500), 9))
    loss[2000:2060], loss[2500:2520], norm[2700:2720] = 0.0, loss[2499], 0.0
    return run(series("loss", loss), series("grad_norm", norm), series("loss_scale", scale))


def other_data(rng: np.random.Generator, n: int) -> RunData:
    """The shares of two datasets change, come back and change again with a restart; both learn something."""
    at = np.arange(n)
    shares = np.where((at >= 900) & (at < 1600) | (at >= 2400), 0.8, 0.2)
    learnt = 1 - 0.3 / (1 + np.exp(-(at - 2000) / 10.0))
    losses = [level * (1 + 0.02 * rng.normal(0, 1, n)) * learnt for level in (1.8, 3.0)]
    where = {"attempt": (at >= 2400).astype(int)}
    total = (1 - shares) * losses[0] + shares * losses[1]
    both = [series(f"loss/{name}", one, **where) for name, one in zip("ab", losses, strict=True)]
    return run(series("loss", total, **where), *both)


def failing_machines(rng: np.random.Generator, n: int) -> RunData:
    """Memory leaks until a restart, a GPU reports faults, a rank falls out of step for a while."""
    at = np.arange(n)
    where = {"step": at * 10, "attempt": (at >= 2400).astype(int)}
    memory = 30 + 2e-3 * np.minimum(at, 1500) + 0.02 * rng.normal(0, 1, n)
    number = 40.0 * at[:, None] + rng.integers(0, 2, (n, 4))
    number[700:720] = number[700].max()
    number[700:720, 2] -= 1
    return run(
        series("memory(GiB)", memory, **where),
        series("xid", np.where(at < 1200, 0, 79), **where),
        series("loss", loss_curve(rng, n), **where),
        *(series("coll_sn", number[:, rank], rank=rank, **where) for rank in range(4)),
    )


EVENTFUL = eventful_runs()


@each_detector
def test_healthy_runs_raise_nothing_above_information(detector: Detector) -> None:
    for seed in range(20):
        assert [
            one for one in detector.detect(healthy_run(seed), DetectorContext()) if one.severity != "info"
        ] == []


@each_detector
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(any_floats, min_size=1, max_size=3), seed=st.integers(0, 2**16))
def test_any_floats_are_taken_without_complaint(
    detector: Detector, values: list[np.ndarray], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    names = ("loss", "tokens_per_s", "grad_norm", "step_time", "lr", "loss/code", "mix/code", "loss_scale")
    whole = []
    for value, name in zip(values * 3, names, strict=False):
        n = len(value)
        attempt = np.sort(rng.integers(0, 3, n))
        step = np.concatenate(
            [np.sort(rng.choice(500, int((attempt == a).sum()), replace=False)) for a in range(3)]
        )
        whole.append(series(name, value, attempt=attempt, step=step, time=rng.choice([1e9, np.nan, 2e9], n)))
    ranks = [series("compute_time", np.roll(values[0], rank), rank=rank) for rank in range(5)]
    with np.errstate(all="ignore"):  # as find() asks them
        findings = list(detector.detect(run(*whole, *ranks, now=3e9), DetectorContext()))
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


@each_detector
@pytest.mark.parametrize("name", EVENTFUL)
def test_what_was_said_on_a_prefix_is_said_on_the_whole(detector: Detector, name: str) -> None:
    whole = EVENTFUL[name]
    said = {identity(finding) for finding in detector.detect(whole, DetectorContext())}
    for attempt, step in prefixes(whole, 25, seed=3):
        for finding in detector.detect(until(whole, attempt, step), DetectorContext()):
            assert identity(finding) in said, (attempt, step)


@pytest.mark.parametrize("name", EVENTFUL)
def test_together_they_keep_their_word_too_and_speak_as_soon_as_they_can(name: str) -> None:
    whole = EVENTFUL[name]
    said = {identity(finding): finding for finding in find(whole)}
    assert said, "a run in which something happens"
    for attempt, step in prefixes(whole, 25, seed=4):
        heard = {identity(finding) for finding in find(until(whole, attempt, step))}
        assert heard <= set(said), (attempt, step)
        due = {
            who
            for who, one in said.items()
            # a silence shows in the next point, or to one who asks for the time
            if (one.attempt, one.detected_step) <= (attempt, step) and one.kind != "stall"
        }
        assert due <= heard, (attempt, step)


def prefixes(whole: RunData, count: int, *, seed: int) -> list[tuple[int, int]]:
    """Random places in the life of a run, and the moments around each of its findings."""
    rng = np.random.default_rng(seed)
    longest = max(whole.series.values(), key=len)
    places = rng.integers(20, len(longest), count)
    cuts = [(int(longest.attempt[place]), int(longest.step[place])) for place in places]
    for finding in find(whole):
        cuts += [(finding.attempt, finding.detected_step + more) for more in (-1, 0, 1)]
    return cuts


@pytest.mark.parametrize("name", EVENTFUL)
def test_findings_are_plain_data_within_the_run(name: str) -> None:
    whole = EVENTFUL[name]
    steps = np.concatenate([one.step for one in whole.series.values()])
    for finding in find(whole):
        json.dumps(jsonable.plain(finding.as_json()), allow_nan=False)
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
