"""The comparison of one run with a baseline, from their data in memory: for files, folders and notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from holter.attempts.goodput import Goodput, TimeUse
from holter.detectors.compare.axes import StepMap, XAxis, step_map
from holter.detectors.compare.curves import curve_of
from holter.detectors.compare.difference_fields import classification_of, difference_json
from holter.detectors.compare.figures import (
    ComparedValue,
    RunSeries,
    compare_figures,
    measure_run,
    representative,
)
from holter.detectors.compare.settings import SettingsComparison, compare_settings, settings_of_run
from holter.detectors.compare.significance import Curve, CurveDifference, SeedSpread, compare_curves
from holter.detectors.compare.words import (
    describe_environment,
    describe_incidents,
    describe_loss,
    describe_settings,
    describe_speed,
)
from holter.detectors.findings import title_of
from holter.json_values import plain
from holter.roles import Role
from holter.types import Finding, RunData, SeriesKey

_SAME_RATE = 0.01
"""Relative difference of tokens at equal steps from which on runs are aligned by tokens."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffInput:
    """A run to compare: its name, its data, what was found in it, and how its time was used, where known."""

    name: str
    data: RunData
    findings: Sequence[Finding] = ()
    goodput: Goodput | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class RunDiff:
    """What differs between a run and a baseline. `curves` are those of the run and of the baseline.

    Lists of values have two entries: the baseline's, then the run's. `axis_reason`: why this axis was chosen,
    or how x is derived; may be empty.
    """

    baseline: str
    run: str
    axis: XAxis
    axis_reason: str
    metric: str
    settings: SettingsComparison
    figures: Sequence[ComparedValue]
    incidents: dict[str, tuple[int, int]]
    loss: CurveDifference | None
    curves: tuple[Curve, Curve]

    @property
    def sentences(self) -> dict[str, str]:
        """A sentence each on configuration, environment, speed, loss and incidents."""
        return {
            "configuration": describe_settings(self.settings, 1, 0),
            "environment": describe_environment(self.settings, 1, 0),
            "speed": describe_speed(self.figures, 1, 0),
            "loss": describe_loss(self.loss, self.axis, self.metric),
            "incidents": describe_incidents(self.incidents, 1, 0),
        }

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON-able values (docs/compare.md)."""
        content = {
            "baseline": self.baseline,
            "run": self.run,
            "x": self.axis.value,
            "aligned_by": self.axis_reason,
            **self.sentences,
            "verdict": classification_of(self.loss),
            "difference": None if self.loss is None else difference_json(self.loss),
            "settings": [
                {
                    "name": each.name,
                    "category": each.category.value,
                    "names": list(each.names),
                    "values": list(each.values),
                    "folded": each.folded,
                }
                for each in self.settings.differences
            ],
            "equal_settings": self.settings.equal,
            "figures": [
                {"name": each.name, "title": each.title, "unit": each.unit, "better": each.better,
                 "values": list(each.values)}
                for each in self.figures
            ],
            "incidents_by_kind": [
                {"kind": kind, "title": title_of(kind), "counts": list(counts)}
                for kind, counts in self.incidents.items()
            ],
        }  # fmt: skip
        values: dict[str, Any] = plain(content)
        return values


def diff_runs(
    baseline: DiffInput,
    run: DiffInput,
    *,
    axis: XAxis | None = None,
    metric: str | None = None,
    spread: SeedSpread | None = None,
) -> RunDiff:
    """Compare a run with a baseline.

    `axis`: None for steps, or for tokens where both know them and they differ at equal steps. `metric`: by
    default the training loss. `spread`: that of repeated runs, where it is known.
    """
    inputs = (baseline, run)
    chosen, reason, maps = _choose_axis(inputs, axis)
    keys = [_key(each.data, metric) for each in inputs]
    curves = [
        Curve.empty() if key is None else curve_of(each.data.series[key], on_axis)
        for each, key, on_axis in zip(inputs, keys, maps, strict=True)
    ]
    return RunDiff(
        baseline=baseline.name,
        run=run.name,
        axis=chosen,
        axis_reason=reason,
        metric="loss" if metric is None else metric,
        settings=compare_settings([settings_of_run(each.data.config) for each in inputs]),
        figures=compare_figures([measure_run(_series(each)) for each in inputs]),
        incidents=_incidents(inputs),
        loss=compare_curves(curves[1], curves[0], spread=spread),
        curves=(curves[1], curves[0]),
    )


def _choose_axis(inputs: Sequence[DiffInput], axis: XAxis | None) -> tuple[XAxis, str, list[StepMap]]:
    """The axis that is wanted, or tokens or samples where steps mean different amounts of data."""
    if axis is not None:
        maps = [_map(each.data, axis) for each in inputs]
        reasons = [text for each in maps if (text := each.formula or each.reason or each.metric)]
        return axis, "; ".join(dict.fromkeys(reasons)), maps
    for candidate in (XAxis.TOKENS, XAxis.SAMPLES):
        maps = [_map(each.data, candidate) for each in inputs]
        if step_sizes_differ(maps):
            return candidate, f"a step has different numbers of {candidate.value} in both", maps
    return XAxis.STEP, "", [_map(each.data, XAxis.STEP) for each in inputs]


def step_sizes_differ(maps: Sequence[StepMap]) -> bool:
    """Whether a step means different amounts of data in runs whose x are known."""
    rates = [rate for each in maps if (rate := each.rate) is not None]
    return len(rates) == len(maps) and max(rates) > (1 + _SAME_RATE) * min(rates)


def _map(data: RunData, axis: XAxis) -> StepMap:
    times = [
        float(each.time[0]) for each in data.series.values() if len(each) and each.time[0] == each.time[0]
    ]
    return step_map(axis, data.series, data.series.__getitem__, data.config, min(times, default=None))


def _key(data: RunData, metric: str | None) -> SeriesKey | None:
    points = {key: len(series) for key, series in data.series.items()}
    if metric is None:
        return representative(points, Role.LOSS)
    named = [key for key in points if key.metric == metric or str(key) == metric]
    return min(named, key=lambda key: (len(key.labels), key), default=None)


def _series(each: DiffInput) -> RunSeries:
    series = each.data.series
    lengths = [float(one.step[-1]) for key, one in series.items() if len(one) and key.step_unit is None]
    return RunSeries(
        points={key: len(one) for key, one in series.items()},
        read=series.__getitem__,
        stated={
            "last_step": max(lengths, default=None),
            "duration": None if each.goodput is None else each.goodput.total / 1e6,
            "goodput": None if each.goodput is None else each.goodput.share(TimeUse.FORWARD),
        },
    )


def _incidents(inputs: Iterable[DiffInput]) -> dict[str, tuple[int, int]]:
    before, after = (Counter(finding.kind.value for finding in each.findings) for each in inputs)
    return {kind: (before[kind], after[kind]) for kind in sorted(before | after)}
