"""CSV files that W&B's page exports from a chart: one column a run, or three with what its buckets span."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from holter.ingest import step_columns
from holter.ingest.trackers.base import CollectionError, RunContents, TrackerRun, LoggedSeries
from holter.ingest.wandb.chart_csv import OWN_STEP, ChartColumn, is_chart_export, parse_header
from holter.plurals import counted
from holter.types import ConfigKey, SeriesKey, Unreadable

_LARGEST = 1024**3
_SAMPLED = (
    "sampled by W&B's page, which gives about 1,500 points of a line at most: spikes between may be gone"
)


class WandbCsv:
    """Each run of the export apart, at the steps of the first column; what is sampled is said to be."""

    name: ClassVar[str] = "wandb-csv"

    def matches(self, path: Path) -> bool:
        """A CSV file whose columns are `RUN - METRIC`, some with partners that end in __MIN and __MAX."""
        if path.suffix.lower() != ".csv" or not path.is_file():
            return False
        try:
            with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
                return is_chart_export(next(csv.reader(file), []))
        except (OSError, csv.Error):
            return False

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """Its runs, in the order of their columns."""
        header, rows = _rows(path)
        of_runs: dict[str, list[ChartColumn]] = {}
        for curve in parse_header(header):
            of_runs.setdefault(curve.run, []).append(curve)
        for run, curves in of_runs.items():
            yield TrackerRun(id=run, project="default", name=run, read=partial(_read, header, rows, curves))


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    if path.stat().st_size > _LARGEST:
        raise CollectionError(f"{path}: expected an export of W&B's page, found more than {_LARGEST} bytes")
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
            header, *rows = csv.reader(file)
    except (csv.Error, ValueError) as error:
        raise CollectionError(f"{path}: cannot be read as CSV: {error}") from error
    return header, rows


def _read(header: Sequence[str], rows: Sequence[Sequence[str]], curves: Sequence[ChartColumn]) -> RunContents:
    left_out: list[Unreadable] = []
    own = next((curve.column for curve in curves if curve.metric == OWN_STEP and not curve.bound), None)
    axis = own if own is not None else 0 if step_columns.find_step([header[0]]) is not None else None
    if axis is None:
        reason = f"its axis is {header[0]!r}, not a step: points are counted"
        left_out.append(Unreadable(location="column 1", reason=reason))
    found = {curve: _points(rows, axis, curve, left_out) for curve in curves if curve.metric != OWN_STEP}
    values = {curve.metric: one.values for curve, one in found.items() if not curve.bound}
    sampled = any(
        curve.bound and not np.array_equal(one.values, values.get(curve.metric, one.values), equal_nan=True)
        for curve, one in found.items()
    )
    if sampled:
        left_out.append(Unreadable(location="every curve", reason=_SAMPLED))
    # bounds that are the value everywhere say nothing
    logged = [one for curve, one in found.items() if sampled or not curve.bound]
    return RunContents(logged=logged, config={ConfigKey("wandb.sampled"): sampled}, left_out=tuple(left_out))


def _points(
    rows: Sequence[Sequence[str]], axis: int | None, curve: ChartColumn, left_out: list[Unreadable]
) -> LoggedSeries:
    """Each row that has the curve's value, at its step; without an axis of steps they are counted."""
    steps: list[int] = []
    values: list[float] = []
    wrong = 0
    for row in rows:
        if len(row) <= max(axis or 0, curve.column) or step_columns.is_empty_cell(row[curve.column]):
            continue
        try:
            value = float(row[curve.column])
            steps.append(len(steps) if axis is None else step_columns.read_step(row[axis]))
            values.append(value)
        except ValueError:
            wrong += 1
    if wrong:
        reason = f"{counted(wrong, 'row')} without a number, or without a whole one as their step"
        left_out.append(Unreadable(location=f"column {curve.column + 1}", reason=reason))
    labels = (("bucket", curve.bound),) if curve.bound else ()
    return LoggedSeries(
        SeriesKey(curve.metric, labels),
        np.array(steps, dtype=np.int64),
        np.full(len(steps), np.nan),
        np.array(values, dtype=np.float64),
    )
