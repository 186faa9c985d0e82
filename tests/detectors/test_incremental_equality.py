"""A look that goes on from what was remembered finds what a look at everything finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.detectors import BUILTIN, Detector, IncrementalState, find
from holter.detectors.detector import DetectorContext
from holter.types import Finding, RunData, Series, SeriesKey
from tests.detectors.curves import loss_curve, rank_times, run, series, speed_curve
from tests.detectors.eventful_runs import EVENTFUL, clock

each_detector = pytest.mark.parametrize("detector", BUILTIN, ids=[one.name for one in BUILTIN])
seeds = st.integers(0, 2**32 - 1)


def many_things(seed: int) -> RunData:
    """A run of up to three launches with everything in it that some detector looks at, and faults in all."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 2500))
    ends = np.sort(rng.choice(np.arange(20, n), int(rng.integers(0, 3)), replace=False))
    attempt = np.searchsorted(ends, np.arange(n), side="right")
    begins = np.concatenate(([0], ends))
    # each launch goes back behind the last one's end
    first = np.maximum(begins - np.cumsum(rng.integers(0, 300, len(begins))), 0)
    step = first[attempt] + np.arange(n) - begins[attempt]
    fault = np.arange(n) - rng.integers(0, n)
    lasting = rng.choice([2, 50, 1e9])
    bump = rng.uniform(0.1, 3) * np.where(fault >= 0, np.exp(-np.maximum(fault, 0) / lasting), 0)
    loss = loss_curve(rng, n) + bump
    loss[(rng.random(n) < 0.01) & (fault > 0)] = np.nan
    speed = speed_curve(rng, n)
    speed[int(rng.integers(0, n)) :] *= 0.85
    slow = [(int(rng.integers(6)), n // 60, n // 30, 1.3)]
    leaking = np.clip(fault, 0, rng.choice([400, 1200, 1e9])) * (fault < rng.choice([1500, 1e9]))
    memory = 4e10 + 1e7 * leaking + rng.normal(0, 3e7, n)
    scale = 2.0 ** np.maximum(16 - np.maximum(fault, 0) // 20, 0)
    times = clock(speed)["time"] + 3600.0 * (rng.random() < 0.5) * (fault > 0)
    where = {"attempt": attempt, "step": step, "time": times}
    share = np.clip(0.3 + 0.2 * (fault > 0) + rng.normal(0, 0.01, n), 0, 1)
    apart = {"a": 1.0, "b": 1.9} if rng.random() < 0.5 else {"a": 1.1, "b": 0.9, "c": 1.0}
    parts = {f"loss/{name}": loss * factor * rng.normal(1, 0.01, n) for name, factor in apart.items()}
    if len(parts) == 2:
        # the share of one falls back in the end, or it does not
        drawn = np.where(fault > 400 * rng.integers(1, 9), 0.3, share)
        loss = drawn * parts["loss/a"] + (1 - drawn) * parts["loss/b"]
    faults = np.floor(np.maximum(fault, 0) / rng.choice([3, 200, 1e9]))
    number = 40.0 * np.arange(n)[:, None] + rng.integers(0, 2, (n, 4))
    hung = slice(int(rng.integers(0, n)), n if rng.random() < 0.5 else None, 1)
    number[hung][:20], number[hung][:20, 2] = number[hung][0].max(), number[hung][0].max() - 1
    whole = [
        series("loss", loss, **where),
        series("grad_norm", np.exp(rng.normal(0, 0.1, n)) * (1 + 5 * bump), **where),
        series("lr", 3e-4 * np.minimum(step / 100, 1), **where),
        series("tokens_per_s", speed, **where),
        series("loss_scale", scale, **where),
        series("gpu_memory_allocated", memory, **(where | {"step": 10 * step})),
        series("mix/a", share, **where),
        series("mix/b", 1 - share, **where),
        *(series(name, value, **where) for name, value in parts.items()),
        series("xid", np.where(fault > 0, 79.0, 0.0), **where),
        series("ecc_errors_uncorrected", faults * rng.choice([1.0, 0.1]), gpu=3, **where),
        *(series("coll_sn", number[:, rank], rank=rank, **where) for rank in range(4)),
        *rank_times(rng, max(n // 20, 4), 6, slow=slow),
    ]
    return run(*(one for one in whole if one.key.metric == "loss" or rng.random() < 0.8))


def first_rows(whole: RunData, share: float, rng: np.random.Generator, *, late: int) -> RunData:
    """What of each series has come by some moment: not all have come equally far."""
    kept = {}
    for key, one in whole.series.items():
        rows = min(
            len(one),
            max(int(share * len(one)) - int(rng.integers(0, late + 1)), 0 if share < 1 else len(one)),
        )
        if rows:
            kept[key] = rows_of(one, slice(rows))
    return RunData(series=kept)


def rows_of(one: Series, rows: slice | np.ndarray) -> Series:
    return Series(
        key=one.key,
        attempt=one.attempt[rows],
        step=one.step[rows],
        time=one.time[rows],
        value=one.value[rows],
    )


def found(detector: Detector, data: RunData, memory: IncrementalState) -> list[Finding]:
    with np.errstate(all="ignore"):  # as find() asks them
        return list(detector.detect(data, DetectorContext(state=memory)))


@each_detector
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_on_any_prefixes_of_a_run(detector: Detector, seed: int) -> None:
    rng, whole, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    late = int(rng.choice([0, 0, 5, 60]))
    for share in np.sort(np.append(rng.random(int(rng.integers(1, 8))), 1.0)).tolist():
        data = first_rows(whole, share, rng, late=late)
        now = max((float(np.nanmax(one.time)) for one in data.series.values()), default=0.0)
        data = replace(data, now=now + float(rng.uniform(0, 5000)))
        assert found(detector, data, memory) == found(detector, data, IncrementalState())


@each_detector
@pytest.mark.parametrize("name", EVENTFUL)
def test_on_prefixes_of_runs_in_which_something_happens(detector: Detector, name: str) -> None:
    rng, whole, memory = np.random.default_rng(5), EVENTFUL[name], IncrementalState()
    for share in (0.1, 0.4, 0.401, 0.45, 0.62, 0.85, 0.851, 1.0):
        data = first_rows(whole, share, rng, late=0)
        assert found(detector, data, memory) == found(detector, data, IncrementalState())


@each_detector
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_when_rows_come_out_of_their_order_or_are_written_again(detector: Detector, seed: int) -> None:
    rng, whole, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    longest = max(len(one) for one in whole.series.values())
    missing = {key: rng.random(len(one)) < 3 / longest for key, one in whole.series.items()}
    for share in (0.5, 0.7, 1.0):
        data = first_rows(whole, share, rng, late=0)
        part = {key: rows_of(one, ~missing[key][: len(one)]) for key, one in data.series.items()}
        early = RunData(series={key: one for key, one in part.items() if len(one)})
        assert found(detector, early, memory) == found(detector, early, IncrementalState())
    assert found(detector, whole, memory) == found(detector, whole, IncrementalState())
    key = SeriesKey("loss")
    value = whole.series[key].value.copy()
    row = int(rng.integers(0, len(value)))
    value[row:] += rng.normal(0, 1.0)
    again = RunData(series={**whole.series, key: replace(whole.series[key], value=value)})
    memory.mark_changed(key, row)
    assert found(detector, again, memory) == found(detector, again, IncrementalState())


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_all_of_them_together(seed: int) -> None:
    rng, whole, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    for share in np.sort(np.append(rng.random(4), 1.0)).tolist():
        data = first_rows(whole, share, rng, late=3)
        assert find(data, state=memory) == find(data)
        assert find(data, state=memory) == find(data)
