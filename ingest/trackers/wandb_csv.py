"""CSV files that W&B's page exports from a chart: for each run a column, or three if they are of buckets."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from holter.ingest import step_columns
from holter.ingest.trackers.base import CollectionError, LoggedSeries, RunContents, TrackerRun
from holter.ingest.wandb.chart_csv import OWN_STEP, ChartColumn, is_chart_export, parse_header
from holter.plurals import counted
from holter.types import ConfigKey, SeriesKey, Unreadable

_MAX_FILE_BYTES = 1024**3
_SAMPLED = (
    "sampled by W&B's page, which gives about 1,500 points of a line at most: spikes between may be gone"
)


class WandbCsv:
    """The runs of an export, at the steps of its first column; sampled series are reported as such."""

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
        """The runs, in the order of their columns."""
        header, rows = _rows(path)
        columns_by_run: dict[str, list[ChartColumn]] = {}
        for curve in parse_header(header):
            columns_by_run.setdefault(curve.run, []).append(curve)
        for run, curves in columns_by_run.items():
            yield TrackerRun(id=run, project="default", name=run, read=partial(_read, header, rows, curves))


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise CollectionError(
            f"{path}: expected an export of W&B's page, found more than {_MAX_FILE_BYTES} bytes"
        )
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
            header, *rows = csv.reader(file)
    except (csv.Error, ValueError) as error:
        raise CollectionError(f"{path}: cannot be read as CSV: {error}") from error
    return header, rows


def _read(header: Sequence[str], rows: Sequence[Sequence[str]], curves: Sequence[ChartColumn]) -> RunContents:
    left_out: list[Unreadable] = []
    axis = next((curve.column for curve in curves if curve.metric == OWN_STEP and not curve.bound), None)
    if axis is None and step_columns.find_step([header[0]]) is not None:
        axis = 0
    if axis is None:
        reason = f"its axis is {header[0]!r}, not a step: points are counted"
        left_out.append(Unreadable(location="column 1", reason=reason))
    series = {curve: _points(rows, axis, curve, left_out) for curve in curves if curve.metric != OWN_STEP}
    values = {curve.metric: points.values for curve, points in series.items() if not curve.bound}
    sampled = any(
        curve.bound
        and not np.array_equal(points.values, values.get(curve.metric, points.values), equal_nan=True)
        for curve, points in series.items()
    )
    if sampled:
        left_out.append(Unreadable(location="every curve", reason=_SAMPLED))
    # bounds that equal the value everywhere are redundant
    logged = [points for curve, points in series.items() if sampled or not curve.bound]
    return RunContents(logged=logged, config={ConfigKey("wandb.sampled"): sampled}, left_out=tuple(left_out))


def _points(
    rows: Sequence[Sequence[str]], axis: int | None, curve: ChartColumn, left_out: list[Unreadable]
) -> LoggedSeries:
    """The values of a column at the steps of the axis; without an axis, rows are counted."""
    steps: list[int] = []
    values: list[float] = []
    invalid = 0
    for row in rows:
        if len(row) <= max(axis or 0, curve.column) or step_columns.is_empty_cell(row[curve.column]):
            continue
        try:
            value = float(row[curve.column])
            steps.append(len(steps) if axis is None else step_columns.read_step(row[axis]))
            values.append(value)
        except ValueError:
            invalid += 1
    if invalid:
        reason = f"{counted(invalid, 'row')} without a number, or without an integer as their step"
        left_out.append(Unreadable(location=f"column {curve.column + 1}", reason=reason))
    labels = (("bucket", curve.bound),) if curve.bound else ()
    return LoggedSeries(
        SeriesKey(curve.metric, labels),
        np.array(steps, dtype=np.int64),
        np.full(len(steps), np.nan),
        np.array(values, dtype=np.float64),
    )
