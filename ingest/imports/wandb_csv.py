"""CSV files that W&B's page exports from a chart: one column a run, or three with what its buckets span."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from holter.ingest import axes
from holter.ingest.imports.collection import CollectionError, Contents, KeptRun, Logged
from holter.ingest.wandb.curves import OWN_STEP, Curve, curves_of, is_export
from holter.types import ConfigKey, FloatArray, SeriesKey, Unreadable

_LARGEST = 1024**3
_SAMPLED = (
    "sampled by W&B's page, which gives about 1,500 points of a line at most: spikes between may be gone"
)


class WandbCsv:
    """Each run of the export apart, at the steps of the first column; what is sampled is said to be."""

    name: ClassVar[str] = "wandb-csv"

    def holds(self, path: Path) -> bool:
        """A CSV file whose columns are `RUN - METRIC`, some with partners that end in __MIN and __MAX."""
        if path.suffix.lower() != ".csv" or not path.is_file():
            return False
        try:
            with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
                return is_export(next(csv.reader(file), []))
        except (OSError, csv.Error):
            return False

    def runs(self, path: Path) -> Iterator[KeptRun]:
        """Its runs, in the order of their columns."""
        header, rows = _rows(path)
        curves = curves_of(header)
        for run in dict.fromkeys(curve.run for curve in curves):
            mine = [curve for curve in curves if curve.run == run]
            yield KeptRun(id=run, project="default", name=run, read=partial(_read, header, rows, mine))


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    if path.stat().st_size > _LARGEST:
        raise CollectionError(f"{path}: expected an export of W&B's page, found more than {_LARGEST} bytes")
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
            header, *rows = csv.reader(file)
    except (csv.Error, ValueError) as error:
        raise CollectionError(f"{path}: cannot be read as CSV: {error}") from error
    return header, rows


def _read(header: Sequence[str], rows: Sequence[Sequence[str]], curves: Sequence[Curve]) -> Contents:
    left_out: list[Unreadable] = []
    own = next((curve for curve in curves if curve.metric == OWN_STEP and not curve.bound), None)
    axis = 0 if own is None else own.place
    if own is None and axes.find_step([header[0]]) is None:
        reason = f"its axis is {header[0]!r}, not a step: points are counted"
        left_out.append(Unreadable(place="column 1", reason=reason))
    numbers = {
        curve: _numbers(rows, axis, curve.place, left_out) for curve in curves if curve.metric != OWN_STEP
    }
    values = {curve.metric: found for curve, found in numbers.items() if not curve.bound}
    sampled = any(
        curve.bound and not np.array_equal(found, values.get(curve.metric, found), equal_nan=True)
        for curve, found in numbers.items()
    )
    if sampled:
        left_out.append(Unreadable(place="every curve", reason=_SAMPLED))
    logged = []
    for curve, found in numbers.items():
        if curve.bound and not sampled:
            continue  # the value once more
        labels = (("bucket", curve.bound),) if curve.bound else ()
        counted = own is None and axes.find_step([header[0]]) is None
        at = np.arange(len(found), dtype=np.float64) if counted else found[:, 0]
        times = np.full(len(found), np.nan)
        logged.append(Logged(SeriesKey(curve.metric, labels), at.astype(np.int64), times, found[:, 1]))
    config = {ConfigKey("wandb.sampled"): sampled}
    return Contents(logged=logged, config=config, left_out=tuple(left_out))


def _numbers(rows: Sequence[Sequence[str]], axis: int, place: int, left_out: list[Unreadable]) -> FloatArray:
    """Step and value of each row that has both, [n, 2]."""
    found, wrong = [], 0
    for row in rows:
        if len(row) <= max(axis, place) or axes.is_absent(row[place]) or axes.is_absent(row[axis]):
            continue
        try:
            found.append((float(row[axis]), float(row[place])))
        except ValueError:
            wrong += 1
    if wrong:
        left_out.append(Unreadable(place=f"column {place + 1}", reason=f"{wrong} cells are no numbers"))
    return np.array(found, dtype=np.float64).reshape(-1, 2)
