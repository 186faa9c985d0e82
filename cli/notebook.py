"""Detection for notebooks: takes arrays and data frames, returns findings that display themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike

from holter.attempts.config_values import flatten_settings
from holter.cli.report.svg import thumbnail
from holter.cli.report.words import describe_position, kind_title, severity_sign
from holter.curves import around, series_of
from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.arrays import run_from_arrays
from holter.detectors.findings.sparkline import sparkline
from holter.detectors.launch_checks import run_launch_checks
from holter.plurals import counted
from holter.tuning import Tuning
from holter.types import ConfigKey, Diagnostic, Finding, Kind, RunData

_MAX_SHOWN = 50
"""Findings that are displayed."""
_CURVE_WIDTH = 24
"""Characters of a curve in a line of text."""
_COLUMNS = (
    "kind", "severity", "metric", "labels", "attempt", "start_step", "peak_step", "end_step", "detected_step",
    "classified_step", "confidence", "summary", "advice",
)  # fmt: skip


class Findings(list[Finding]):
    """Findings with the run that they are about, so that a notebook can show them with their curves.

    `remarks`: diagnostics of how the run is configured, and of the numbers that it reports.
    """

    def __init__(self, findings: Iterable[Finding], run: RunData, remarks: Iterable[Diagnostic] = ()) -> None:
        super().__init__(findings)
        self.run = run
        self.remarks = list(remarks)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Finding | Findings:
        """One finding, or several with the same run."""
        if isinstance(index, slice):
            return Findings(super().__getitem__(index), self.run, self.remarks)
        return super().__getitem__(index)

    def __repr__(self) -> str:
        """The findings as text: a line with title, position and curve, and the summary."""
        lines = [self._headline()]
        for finding in self[:_MAX_SHOWN]:
            title = f"{severity_sign(finding)} {kind_title(finding)}"
            position = f"{describe_position(finding)}, {_series_name(finding)}"
            lines += [f"{title}, {position}  {self._curve(finding)}".rstrip(), f"  {finding.summary}"]
        diagnostics = [f"{severity_sign(each)} {each.summary}" for each in self.remarks]
        return "\n".join([*lines, *self._not_shown(), *diagnostics])

    def _repr_html_(self) -> str:
        """The findings as an HTML table with curves."""
        rows = "".join(self._row(finding) for finding in self[:_MAX_SHOWN])
        table = f'<table style="text-align: left">{rows}</table>' if rows else ""
        diagnostics = [
            f"{severity_sign(each)} {escape(each.summary)}<br><i>{escape(each.advice)}</i>"
            for each in self.remarks
        ]
        below = "".join(f"<p>{text}</p>" for text in [*self._not_shown(), *diagnostics])
        return f"<p>{escape(self._headline())}</p>{table}{below}"

    def _headline(self) -> str:
        points = counted(sum(map(len, self.run.series.values())), "point")
        if not self:
            return f"No findings in {points}."
        return f"{counted(len(self), 'finding')} in {points}:"

    def _not_shown(self) -> list[str]:
        return [f"... and {len(self) - _MAX_SHOWN} more"] if len(self) > _MAX_SHOWN else []

    def _curve(self, finding: Finding) -> str:
        series = series_of(self.run, finding)
        if series is None or finding.kind is Kind.STALL:
            return ""
        excerpt = around(series, finding)
        return sparkline(excerpt.steps().astype(float), excerpt.values(), _CURVE_WIDTH)

    def _row(self, finding: Finding) -> str:
        series = series_of(self.run, finding)
        has_curve = series is not None and finding.kind is not Kind.STALL
        curve = thumbnail(around(series, finding), finding) if series is not None and has_curve else ""
        left = 'style="text-align: left; vertical-align: top'
        return (
            f'<tr><td {left}; white-space: nowrap">'
            f"<b>{severity_sign(finding)} {escape(kind_title(finding))}</b><br>"
            f"{escape(describe_position(finding))}<br>{escape(_series_name(finding))}</td>"
            f'<td {left}">{curve}</td>'
            f'<td {left}">{escape(finding.summary)}<br><i>{escape(finding.advice)}</i></td></tr>'
        )


def analyze(
    steps: ArrayLike | Mapping[str, Any],
    values: ArrayLike | None = None,
    *,
    metric: str = "loss",
    attempt: ArrayLike | None = None,
    time: ArrayLike | None = None,
    config: Mapping[str, Any] | None = None,
    tuning: Tuning = Tuning(),
) -> Findings:
    """The findings in arrays, as a list that displays itself.

    Either `steps` and `values` of one metric [n], or a table (a dict of arrays, a data frame) with a column
    `step`, optionally `attempt` and `wall_time`, and a column per metric; or a long table of `step`,
    `metric`, `value` and labels. `config` has the run's settings, as its framework names them: diagnostics
    are based on it. A decreasing step begins a new attempt where no attempts are given. Raises ValueError
    when columns differ in length, steps are missing or not whole numbers, or values are not numbers.
    """
    if not isinstance(tuning, Tuning):
        raise TypeError(f"tuning: a holter.tuning.Tuning expected, not {tuning!r}")
    run = with_roles(run_from_arrays(steps, values, metric=metric, attempt=attempt, time=time), tuning)
    settings = {ConfigKey(name): value for name, value in flatten_settings(config or {}).items()}
    run = replace(run, config={key: dict.fromkeys(_attempts(run), value) for key, value in settings.items()})
    return Findings(find(run, tuning=tuning), run, run_launch_checks(run))


def _attempts(run: RunData) -> list[int]:
    return sorted({number for series in run.series.values() for number in np.unique(series.attempt).tolist()})


def findings_frame(findings: Iterable[Finding]) -> Any:
    """Findings as a pandas data frame: one row each, their evidence in columns `evidence.NAME`.

    Raises ImportError without pandas, which is needed for this function only.
    """
    pandas = import_module("pandas")
    rows = []
    for finding in findings:
        fields = finding.as_json()
        evidence = {f"evidence.{name}": value for name, value in fields["evidence"].items()}
        rows.append({name: fields[name] for name in _COLUMNS} | evidence)
    frame = pandas.DataFrame(rows, columns=None if rows else list(_COLUMNS))
    steps = {name: "Int64" for name in _COLUMNS if name.endswith("_step")}  # integers that may be missing
    return frame.astype(steps)


def _series_name(finding: Finding) -> str:
    inside = ",".join(f"{name}={value}" for name, value in finding.labels)
    return f"{finding.metric}{{{inside}}}" if inside else finding.metric
