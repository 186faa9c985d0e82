"""Detection for notebooks: arrays and data frames in, findings that show themselves out."""

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
from holter.cli.report.words import kind, mark, place
from holter.curves import around, series_of
from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.arrays import run_from_arrays
from holter.detectors.findings.sparkline import sparkline
from holter.detectors.launch_checks import run_launch_checks
from holter.plurals import counted
from holter.tuning import Tuning
from holter.types import ConfigKey, Diagnostic, Finding, Kind, RunData

_SHOWN = 50
_PICTURE = 24
_COLUMNS = (
    "kind", "severity", "metric", "labels", "attempt", "start_step", "peak_step", "end_step", "detected_step",
    "classified_step", "confidence", "summary", "advice",
)  # fmt: skip


class Findings(list[Finding]):
    """Findings with the run they are about, so that a notebook can show them with their curves.

    `remarks` are what is to be said of how the run is set up, and of the numbers it reports.
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
        """One finding, or some of them with the same run."""
        if isinstance(index, slice):
            return Findings(super().__getitem__(index), self.run, self.remarks)
        return super().__getitem__(index)

    def __repr__(self) -> str:
        """A line of where and a sentence each."""
        lines = [self._headline()]
        for finding in self[:_SHOWN]:
            where = f"{mark(finding)} {kind(finding)}, {place(finding)}, {_series(finding)}"
            lines += [f"{where}  {self._line(finding)}".rstrip(), f"  {finding.summary}"]
        set_up = [f"{mark(remark)} {remark.summary}" for remark in self.remarks]
        return "\n".join([*lines, *self._rest(), *set_up])

    def _repr_html_(self) -> str:
        """A small table with pictures."""
        rows = "".join(self._row(finding) for finding in self[:_SHOWN])
        table = f'<table style="text-align: left">{rows}</table>' if rows else ""
        set_up = [f"{mark(one)} {escape(one.summary)}<br><i>{escape(one.advice)}</i>" for one in self.remarks]
        below = "".join(f"<p>{one}</p>" for one in [*self._rest(), *set_up])
        return f"<p>{escape(self._headline())}</p>{table}{below}"

    def _headline(self) -> str:
        points = counted(sum(map(len, self.run.series.values())), "point")
        if not self:
            return f"Nothing found in {points}."
        return f"{counted(len(self), 'finding')} in {points}:"

    def _rest(self) -> list[str]:
        return [f"... and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []

    def _line(self, finding: Finding) -> str:
        series = series_of(self.run, finding)
        if series is None or finding.kind is Kind.STALL:
            return ""
        excerpt = around(series, finding)
        return sparkline(excerpt.steps().astype(float), excerpt.values(), _PICTURE)

    def _row(self, finding: Finding) -> str:
        series = series_of(self.run, finding)
        drawn = series is not None and finding.kind is not Kind.STALL
        picture = thumbnail(around(series, finding), finding) if series is not None and drawn else ""
        left = 'style="text-align: left; vertical-align: top'
        return (
            f'<tr><td {left}; white-space: nowrap"><b>{mark(finding)} {escape(kind(finding))}</b><br>'
            f'{escape(place(finding))}<br>{escape(_series(finding))}</td><td {left}">{picture}</td>'
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
    """What Holter finds in arrays, as a list that prints and shows itself.

    Either `steps` and `values` of one metric [n], or a table (a dict of arrays, a data frame) with a column
    `step`, perhaps `attempt` and `wall_time`, and a column a metric; or a long table of `step`, `metric`,
    `value` and labels. `config` is how the run is set up, as a framework names it: it is what remarks rest
    on. Steps that go backwards begin a new attempt where none is given. Raises ValueError
    when columns differ in length, steps are missing or not whole, or values are no numbers.
    """
    if not isinstance(tuning, Tuning):
        raise TypeError(f"tuning: a holter.tuning.Tuning expected, not {tuning!r}")
    run = with_roles(run_from_arrays(steps, values, metric=metric, attempt=attempt, time=time), tuning)
    stated = {ConfigKey(name): value for name, value in flatten_settings(config or {}).items()}
    run = replace(run, config={key: dict.fromkeys(_attempts(run), value) for key, value in stated.items()})
    return Findings(find(run, tuning=tuning), run, run_launch_checks(run))


def _attempts(run: RunData) -> list[int]:
    return sorted({number for one in run.series.values() for number in np.unique(one.attempt).tolist()})


def findings_frame(findings: Iterable[Finding]) -> Any:
    """Findings as a pandas data frame: a row each, their evidence in columns `evidence.NAME`.

    Raises ImportError without pandas, which nothing else here needs.
    """
    pandas = import_module("pandas")
    rows = []
    for finding in findings:
        said = finding.as_json()
        evidence = {f"evidence.{name}": value for name, value in said["evidence"].items()}
        rows.append({name: said[name] for name in _COLUMNS} | evidence)
    frame = pandas.DataFrame(rows, columns=None if rows else list(_COLUMNS))
    steps = {name: "Int64" for name in _COLUMNS if name.endswith("_step")}  # whole, and empty while open
    return frame.astype(steps)


def _series(finding: Finding) -> str:
    inside = ",".join(f"{name}={value}" for name, value in finding.labels)
    return f"{finding.metric}{{{inside}}}" if inside else finding.metric
