"""Computes what a drawing of a curve shows: lines, marks, bands and the visible range.

The drawings themselves are thin: SVG in `holter.cli.report.svg`, PNG in `holter.server.rendering.render_png`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from holter.plurals import counted, verb
from holter.types import Finding, FloatArray, IntArray

_SPARSE_POINTS = 200
"""Points up to which each is drawn as a dot, too."""
_BODY = (0.02, 0.98)
"""Quantiles between which the body of the values lies; its width is their distance."""
_LARGEST = 1e308
"""Differences of larger numbers would not be finite."""


class PlotSource(Protocol):
    """Points of one attempt that are joined by a line; `ghost`: newer attempts superseded them."""

    @property
    def attempt(self) -> int: ...
    @property
    def ghost(self) -> bool: ...
    @property
    def step(self) -> IntArray: ...
    @property
    def value(self) -> FloatArray: ...


@dataclass(frozen=True, kw_only=True)
class PlotLine:
    """The points of a line [n], all finite: the first, last, lowest and highest of each column of pixels."""

    attempt: int
    ghost: bool
    steps: list[float]
    values: list[float]


@dataclass(frozen=True, kw_only=True)
class PlotBand:
    """The steps of a finding; `ended`: its end is known. `own`: it is about the series that is drawn."""

    start: float
    end: float
    ended: bool
    severity: str
    own: bool = True
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class CurvePlot:
    """A drawing's content in steps and values. Ghost lines come first, so that others are above them.

    `low` to `high` is the visible range of values; `outside` of the `points` finite ones are not in it, and
    `lowest` to `highest` is the range of all. `nonfinite` are the steps with a NaN or an infinity, one for
    each column of pixels. `resumes` are the first steps of all attempts but the first, by attempt.
    """

    first_step: float
    last_step: float
    low: float
    high: float
    lowest: float
    highest: float
    points: int
    outside: int
    lines: tuple[PlotLine, ...]
    bands: tuple[PlotBand, ...]
    nonfinite: list[float]
    resumes: tuple[tuple[int, float], ...]

    @property
    def sparse(self) -> bool:
        """Whether there are so few points that each is drawn as a dot."""
        return self.points <= _SPARSE_POINTS

    @property
    def note(self) -> str:
        """What the visible range leaves out, empty if nothing."""
        if not self.outside:
            return ""
        count = f"{counted(self.outside, 'point')} {verb(self.outside, 'is', 'are')}"
        return f"{count} outside of this range ({_number(self.lowest)} to {_number(self.highest)})"

    def x(self, steps: Sequence[float]) -> FloatArray:
        """Positions of steps as shares of the width, from the left."""
        return _shares(np.asarray(steps, np.float64), self.first_step, self.last_step)

    def y(self, values: Sequence[float]) -> FloatArray:
        """Positions of values as shares of the height, from the top; those out of range are on its edge."""
        shown = np.clip(np.asarray(values, np.float64), self.low, self.high)
        # halves: two large numbers may differ by more than a float can hold
        return 1 - (shown / 2 - self.low / 2) / (self.high / 2 - self.low / 2)

    def as_json(self) -> dict[str, Any]:
        """The plot as JSON-able values, for a process of its own."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CurvePlot:
        """A plot from the values of `as_json`."""
        lines = tuple(PlotLine(**line) for line in values["lines"])
        bands = tuple(PlotBand(**band) for band in values["bands"])
        return cls(**{**values, "lines": lines, "bands": bands})


def plot_curve(
    sources: Sequence[PlotSource],
    *,
    first_step: float,
    last_step: float,
    columns: int,
    body_widths: float,
    bands: Iterable[PlotBand] = (),
    nonfinite: Sequence[float] = (),
) -> CurvePlot:
    """The plot of these points, reduced to `columns` of pixels.

    `body_widths`: values farther from the body of the values than this many of its widths are out of range;
    infinity keeps all in range. `nonfinite`: steps without a finite value that the sources do not have.
    """
    finite = np.concatenate([source.value[np.isfinite(source.value)] for source in sources] or [np.empty(0)])
    low, high = _visible_range(finite, body_widths)
    if len(finite) and finite.min() >= 0:
        low = max(low, 0.0)  # the margin suggests no values that cannot be
    lines = [_line(source, first_step, last_step, columns) for source in sources]
    gaps = [source.step[~np.isfinite(source.value)].astype(np.float64) for source in sources]
    starts = {source.attempt: float(source.step[0]) for source in reversed(sources) if len(source.step)}
    return CurvePlot(
        first_step=first_step,
        last_step=last_step,
        low=low,
        high=high,
        lowest=float(finite.min()) if len(finite) else 0.0,
        highest=float(finite.max()) if len(finite) else 0.0,
        points=len(finite),
        outside=int(np.sum((finite < low) | (finite > high))),
        lines=tuple(sorted((line for line in lines if line.steps), key=lambda line: not line.ghost)),
        bands=tuple(bands),
        nonfinite=_one_per_column(np.concatenate([*gaps, nonfinite]), first_step, last_step, columns),
        resumes=tuple(sorted(starts.items())[1:]),
    )


def finding_band(finding: Finding, last_step: float, *, own: bool = True, label: str = "") -> PlotBand:
    """The band of a finding, up to the last step where it has no end."""
    end = last_step if finding.end_step is None else max(finding.end_step, finding.start_step)
    return PlotBand(
        start=finding.start_step,
        end=end,
        ended=finding.end_step is not None,
        severity=finding.severity.value,
        own=own,
        label=label,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _shares(steps: FloatArray, first: float, last: float) -> FloatArray:
    return np.clip((steps - first) / max(last - first, 1.0), 0, 1)


def _columns_of(steps: FloatArray, first: float, last: float, columns: int) -> IntArray:
    return (_shares(steps, first, last) * columns).astype(np.int64)


def _visible_range(finite: FloatArray, body_widths: float) -> tuple[float, float]:
    """A range in which the body of the values can be read, with a margin."""
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    body_low, body_high = (float(edge) for edge in np.quantile(finite, _BODY))
    width = body_high - body_low
    if 0 < width < np.inf and body_widths < np.inf:
        low = max(low, body_low - body_widths * width)
        high = min(high, body_high + body_widths * width)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return max(low - margin, -_LARGEST), min(high + margin, _LARGEST)


def _line(source: PlotSource, first: float, last: float, columns: int) -> PlotLine:
    known = np.isfinite(source.value)
    steps, values = source.step[known].astype(np.float64), source.value[known]
    indices = _extremes(_columns_of(steps, first, last, columns), values)
    return PlotLine(
        attempt=int(source.attempt),
        ghost=bool(source.ghost),
        steps=steps[indices].tolist(),
        values=values[indices].tolist(),
    )


def _extremes(column: IntArray, values: FloatArray) -> IntArray:
    """The indices of the first, the last, the lowest and the highest point of each column, ascending."""
    if not len(values):
        return np.empty(0, np.int64)
    order = np.lexsort((values, column))
    starts = np.flatnonzero(np.diff(column[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    firsts = np.flatnonzero(np.diff(column, prepend=-1))
    lasts = np.append(firsts[1:], len(column)) - 1
    return np.unique(np.concatenate([order[starts], order[ends], firsts, lasts]))


def _one_per_column(steps: FloatArray, first: float, last: float, columns: int) -> list[float]:
    _, index = np.unique(_columns_of(steps, first, last, columns), return_index=True)
    return [float(step) for step in steps[np.sort(index)]]
