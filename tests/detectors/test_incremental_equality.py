"""A pass with incremental state gives the same findings as one without, for every detector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.detectors import BUILTIN, Detector, IncrementalState, find
from holter.detectors.detector import DetectorContext
from holter.types import Finding, RunData, Series, SeriesKey
from tests.support.curves import loss_curve, rank_times, run, series, speed_curve
from tests.support.eventful_runs import EVENTFUL, clock

each_detector = pytest.mark.parametrize("detector", BUILTIN, ids=[each.name for each in BUILTIN])
seeds = st.integers(0, 2**32 - 1)


def many_things(seed: int) -> RunData:
    """A run of up to three launches with every series that some detector uses, and faults in all."""
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
    full_run = [
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
    return run(*(each for each in full_run if each.key.metric == "loss" or rng.random() < 0.8))


def first_rows(full_run: RunData, share: float, rng: np.random.Generator, *, late: int) -> RunData:
    """The rows of each series that have arrived by some moment; not all are equally far."""
    kept = {}
    for key, each in full_run.series.items():
        rows = min(
            len(each),
            max(int(share * len(each)) - int(rng.integers(0, late + 1)), 0 if share < 1 else len(each)),
        )
        if rows:
            kept[key] = rows_of(each, slice(rows))
    return RunData(series=kept)


def rows_of(each: Series, rows: slice | np.ndarray) -> Series:
    return Series(
        key=each.key,
        attempt=each.attempt[rows],
        step=each.step[rows],
        time=each.time[rows],
        value=each.value[rows],
    )


def detected(detector: Detector, data: RunData, memory: IncrementalState) -> list[Finding]:
    with np.errstate(all="ignore"):  # as find() asks them
        return list(detector.detect(data, DetectorContext(state=memory)))


@pytest.mark.slow
@each_detector
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_on_random_prefixes_of_a_run(detector: Detector, seed: int) -> None:
    rng, full_run, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    late = int(rng.choice([0, 0, 5, 60]))
    for share in np.sort(np.append(rng.random(int(rng.integers(1, 8))), 1.0)).tolist():
        data = first_rows(full_run, share, rng, late=late)
        now = max((float(np.nanmax(each.time)) for each in data.series.values()), default=0.0)
        data = replace(data, now=now + float(rng.uniform(0, 5000)))
        assert detected(detector, data, memory) == detected(detector, data, IncrementalState())


@pytest.mark.slow
@each_detector
@pytest.mark.parametrize("name", EVENTFUL)
def test_on_prefixes_of_eventful_runs(detector: Detector, name: str) -> None:
    rng, full_run, memory = np.random.default_rng(5), EVENTFUL[name], IncrementalState()
    for share in (0.1, 0.4, 0.401, 0.45, 0.62, 0.85, 0.851, 1.0):
        data = first_rows(full_run, share, rng, late=0)
        assert detected(detector, data, memory) == detected(detector, data, IncrementalState())


@pytest.mark.slow
@each_detector
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_rows_out_of_order_or_written_again(detector: Detector, seed: int) -> None:
    rng, full_run, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    longest = max(len(each) for each in full_run.series.values())
    missing = {key: rng.random(len(each)) < 3 / longest for key, each in full_run.series.items()}
    for share in (0.5, 0.7, 1.0):
        data = first_rows(full_run, share, rng, late=0)
        part = {key: rows_of(each, ~missing[key][: len(each)]) for key, each in data.series.items()}
        early = RunData(series={key: each for key, each in part.items() if len(each)})
        assert detected(detector, early, memory) == detected(detector, early, IncrementalState())
    assert detected(detector, full_run, memory) == detected(detector, full_run, IncrementalState())
    key = SeriesKey("loss")
    value = full_run.series[key].value.copy()
    row = int(rng.integers(0, len(value)))
    value[row:] += rng.normal(0, 1.0)
    again = RunData(series={**full_run.series, key: replace(full_run.series[key], value=value)})
    memory.mark_changed(key, row)
    assert detected(detector, again, memory) == detected(detector, again, IncrementalState())


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=seeds)
def test_all_detectors_together(seed: int) -> None:
    rng, full_run, memory = np.random.default_rng(seed), many_things(seed), IncrementalState()
    for share in np.sort(np.append(rng.random(4), 1.0)).tolist():
        data = first_rows(full_run, share, rng, late=3)
        assert find(data, state=memory) == find(data)
        assert find(data, state=memory) == find(data)
