"""What an incident looks like: its curve as a line of text, and as a PNG drawn by a process of its own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from holter.types import Finding, FloatArray, IntArray, SeriesKey

_logger = logging.getLogger(__name__)
_POINTS = 600
_CELLS = 40
_BARS = "▁▂▃▄▅▆▇█"
_NOT_FINITE = "✕"
_LEAST_BEFORE, _LEAST_AFTER = 200, 100


class Stretch(Protocol):
    """One attempt's share of a chart."""

    @property
    def attempt(self) -> int: ...
    @property
    def ghost(self) -> bool: ...
    @property
    def step(self) -> IntArray: ...
    @property
    def value(self) -> FloatArray: ...


class Chart(Protocol):
    """One series' chart: real points, extremes kept; `nonfinite` as (attempt, step, value)."""

    @property
    def segments(self) -> Sequence[Stretch]: ...
    @property
    def nonfinite(self) -> Sequence[tuple[int, int, float]]: ...


class ChartSource(Protocol):
    """The part of the store that pictures need."""

    def chart(
        self,
        run_id: int,
        keys: Collection[SeriesKey],
        *,
        from_step: int | None = None,
        to_step: int | None = None,
        points: int = 1000,
    ) -> Sequence[Chart]:
        """Charts of these series over a range of steps."""
        ...


class IncidentCharts:
    """Draws incidents' curves. matplotlib lives in a short-lived process: the server's memory stays small.

    Whatever fails is logged and leaves the message without a curve.
    """

    def __init__(self, store: ChartSource, *, timeout: float = 30.0) -> None:
        self._store = store
        self._timeout = timeout

    def sketch(self, run_id: int, finding: Finding) -> str:
        """The curve around the incident in one line of text, empty if there is none."""
        try:
            chart = self._chart(run_id, finding)
            return sketch(chart) if chart is not None else ""
        except Exception:
            _logger.exception("no sketch of %s in run %d", finding.kind, run_id)
            return ""

    def picture(self, run_id: int, finding: Finding) -> bytes | None:
        """The curve around the incident as a PNG, None if it cannot be drawn in time."""
        try:
            chart = self._chart(run_id, finding)
            if chart is None:
                return None
            return draw(_asked(chart, finding), timeout=self._timeout)
        except Exception:
            _logger.exception("no picture of %s in run %d", finding.kind, run_id)
            return None

    def _chart(self, run_id: int, finding: Finding) -> Chart | None:
        key = SeriesKey(finding.metric, finding.labels)
        first, last = surroundings(finding)
        charts = self._store.chart(run_id, [key], from_step=first, to_step=last, points=_POINTS)
        return charts[0] if charts and charts[0].segments else None


def surroundings(finding: Finding) -> tuple[int, int | None]:
    """The steps worth seeing: as much before the finding as it lasted, and half as much after it."""
    start, end = finding.start_step, finding.end_step
    seen = end if end is not None else max(finding.detected_step, finding.peak_step or start)
    lasted = max(seen - start, 1)
    after = None if end is None else end + max(lasted // 2, _LEAST_AFTER)
    return max(0, start - max(lasted, _LEAST_BEFORE)), after


def sketch(chart: Chart) -> str:
    """The newest attempts' points as bars, and their range.

    The point farthest from the middle stands for its cell.
    """
    step, value = _current(chart)
    if len(step) < 2:
        return ""
    middle, low, high = float(np.median(value)), float(value.min()), float(value.max())
    cells = min(_CELLS, len(step))
    edges = np.linspace(step[0], step[-1], cells + 1)[1:-1]
    cell = np.searchsorted(edges, step, side="right")
    broken = set(np.searchsorted(edges, [at for _, at, _ in chart.nonfinite], side="right").tolist())
    bars = []
    for number in range(cells):
        inside = value[cell == number]
        if number in broken:
            bars.append(_NOT_FINITE)
        elif len(inside):
            farthest = float(inside[np.argmax(np.abs(inside - middle))])
            bars.append(_BARS[round((farthest - low) / (high - low or 1.0) * (len(_BARS) - 1))])
        else:
            bars.append(" ")  # nothing was logged there
    return f"{''.join(bars)}  {_number(low)} to {_number(high)}"


def _current(chart: Chart) -> tuple[IntArray, FloatArray]:
    kept = [one for one in chart.segments if not one.ghost and len(one.step)] or list(chart.segments)
    step = np.concatenate([one.step for one in kept])
    value = np.concatenate([one.value for one in kept])
    order = np.argsort(step, kind="stable")
    return step[order], value[order]


def _asked(chart: Chart, finding: Finding) -> dict[str, Any]:
    baseline = finding.evidence.get("baseline")
    return {
        "name": str(SeriesKey(finding.metric, finding.labels)),
        "severity": finding.severity.value,
        "onset": finding.start_step,
        "end": finding.end_step,
        "baseline": baseline if isinstance(baseline, int | float) else None,
        "stretches": [
            {
                "attempt": one.attempt,
                "ghost": one.ghost,
                "step": one.step.tolist(),
                "value": one.value.tolist(),
            }
            for one in chart.segments
        ],
        "nonfinite": [at for _, at, _ in chart.nonfinite],
    }


def draw(asked: Mapping[str, Any], *, timeout: float = 30.0) -> bytes:
    """A PNG of what holter.server.rendering.render_png is asked for.

    Raises subprocess.SubprocessError when the process fails or takes longer than `timeout` seconds.
    """
    done = subprocess.run(
        [sys.executable, "-m", "holter.server.rendering.render_png"],
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=timeout,
        check=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    return done.stdout


def _number(value: float) -> str:
    return f"{value:.3g}"
