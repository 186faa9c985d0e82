"""Whether the curves of runs differ from a baseline's by more than noise."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from holter.config_keys import common_name
from holter.detectors.compare.axes import AxisSource, StepMap, XAxis
from holter.detectors.compare.curves import curve_of
from holter.detectors.compare.difference_fields import NO_DIFFERENCE, classification_of, difference_json
from holter.detectors.compare.figures import representative
from holter.detectors.compare.grid import GriddedCurve
from holter.detectors.compare.seed_spread import CurveLevels, levels_of, spread_of_repetitions
from holter.detectors.compare.settings import SettingCategory, category_of, settings_of_run
from holter.detectors.compare.significance import (
    Curve,
    CurveDifference,
    CurvePair,
    IntervalBand,
    SeedSpread,
    compare_pair,
    pair_curves,
)
from holter.detectors.compare.words import describe_loss
from holter.roles import Role
from holter.server.compare.run_access import RunAccess, StoredRun, compared_run
from holter.server.schemas.compare import (
    CompareStatistics,
    CurveComparison,
    DifferenceBand,
)
from holter.server.store import ReadMemory
from holter.server.store.cache import LruCache
from holter.types import SeriesKey

_NO_BAND: DifferenceBand = {"x": [], "difference": [], "low": [], "high": []}
_SEEDS = frozenset({"seed", "data_seed", "init_seed", "shuffle_seed"})
_CACHE_BYTES = 16 * 2**20
_ANSWER_BYTES = 20_000
"""Approximate memory of the answer about one run."""
READERS = max(2, min(8, os.cpu_count() or 1))
"""Threads that read and decompress curves."""


class StatisticsReader:
    """Computes the differences of curves, with intervals."""

    def __init__(self, access: RunAccess) -> None:
        self._access = access
        self._answers = LruCache(_CACHE_BYTES)

    def statistics(
        self, public_ids: Sequence[str], *, baseline: str | None, axis: XAxis, metric: str | None
    ) -> CompareStatistics:
        """The difference of each run from the baseline. `metric`: by default that of the training loss."""
        runs = self._access.runs(public_ids)
        request = (tuple((run.id, run.version) for run in runs), baseline, axis, metric)
        cached: CompareStatistics | None = self._answers.get(request)
        if cached is None:
            cached = self._compute(runs, baseline, axis, metric)
            self._answers.put(request, cached, _ANSWER_BYTES * len(runs))
        return cached

    def _compute(
        self, runs: Sequence[StoredRun], baseline: str | None, axis: XAxis, metric: str | None
    ) -> CompareStatistics:
        base = next(run for run in runs if run.public_id == (baseline or runs[0].public_id))
        maps = {run.id: self._access.axis(run, axis) for run in runs}
        keys = {run.id: series_of(run, metric) for run in runs}
        role = next((run.role(key) for run in (base, *runs) if (key := keys[run.id]) is not None), Role.LOSS)
        name = "loss" if role is Role.LOSS else metric or role.value
        others = [run for run in runs if run is not base]

        thread = threading.local()

        def read(run: StoredRun, memory: ReadMemory | None = None) -> GriddedCurve:
            return GriddedCurve(*_read_curve(run, keys[run.id], maps[run.id], memory))

        def reduce(run: StoredRun) -> _ReducedCurve:
            # each curve is reduced before the next: the points of all of them could be gigabytes
            curve = read(run, thread.memory)
            return _ReducedCurve(levels_of(curve), pair_curves(curve, reading.result()))

        with ThreadPoolExecutor(READERS, initializer=lambda: setattr(thread, "memory", ReadMemory())) as pool:
            # submitted first, since the others wait for it
            reading = pool.submit(read, base)
            reduced = list(pool.map(reduce, others))
        levels = {run.id: each.levels for run, each in zip(others, reduced, strict=True)}
        levels[base.id] = levels_of(reading.result())
        spread = _seed_spread(runs, levels)
        comparisons = []
        for run, (_, pair) in zip(others, reduced, strict=True):
            difference = None if pair is None else compare_pair(pair, spread=spread)
            comparisons.append(comparison_view(run, difference, (keys[run.id], keys[base.id]), axis, name))
        return {
            "baseline": base.public_id,
            "x": axis,
            "role": role.value,
            "runs": [compared_run(run, maps[run.id]) for run in runs],
            "comparisons": comparisons,
        }


def series_of(run: StoredRun, metric: str | None) -> SeriesKey | None:
    """A run's series of a metric, or where it has none of that name, of its role; by default its loss."""
    points = {each.key: each.points for each in run.summaries}
    if metric is None:
        return representative(points, Role.LOSS, run.role)
    named = [key for key in points if key.metric == metric or str(key) == metric]
    if named:
        return min(named, key=lambda key: (len(key.labels), key))
    role = run.tuning.role(SeriesKey(metric))
    return None if role is Role.OTHER else representative(points, role, run.role)


class _ReducedCurve(NamedTuple):
    """A curve without its points: its levels, and what its comparison with the baseline takes."""

    levels: CurveLevels
    pair: CurvePair | None


def _read_curve(
    run: StoredRun, key: SeriesKey | None, axis: StepMap, memory: ReadMemory | None = None
) -> Curve:
    if key is None or axis.source is AxisSource.MISSING:
        return Curve(np.empty(0), np.empty(0))
    return curve_of(run.read(key) if axis.takes_times else run.read_values(key, memory), axis)


def _seed_spread(runs: Sequence[StoredRun], levels: Mapping[int, CurveLevels]) -> SeedSpread | None:
    """The spread between those of the runs that differ by the seed only; None where there are too few."""
    groups: dict[tuple[tuple[str, str], ...], list[CurveLevels]] = {}
    for run in runs:
        if len(levels[run.id].center) and run.config:
            groups.setdefault(_without_seed(run), []).append(levels[run.id])
    return spread_of_repetitions(groups.values())


def _without_seed(run: StoredRun) -> tuple[tuple[str, str], ...]:
    return tuple(
        sorted(
            (name, str(value))
            for name, value in settings_of_run(run.config).items()
            if common_name(name) not in _SEEDS
            and category_of(common_name(name)) is not SettingCategory.IDENTITY
        )
    )


def comparison_view(
    run: StoredRun,
    difference: CurveDifference | None,
    keys: tuple[SeriesKey | None, SeriesKey | None],
    axis: XAxis,
    name: str,
) -> CurveComparison:
    """A difference as REST states it."""
    metric, baseline_metric = ("" if key is None else str(key) for key in keys)
    return {
        "run": run.public_id,
        "metric": metric,
        "baseline_metric": baseline_metric,
        "verdict": classification_of(difference),
        **(NO_DIFFERENCE if difference is None else difference_json(difference)),
        "sentence": describe_loss(difference, axis, name),
        "band": _NO_BAND if difference is None else _band(difference.band),
    }


def _band(band: IntervalBand) -> DifferenceBand:
    return {
        "x": band.x.tolist(),
        "difference": band.difference.tolist(),
        "low": band.low.tolist(),
        "high": band.high.tolist(),
    }
