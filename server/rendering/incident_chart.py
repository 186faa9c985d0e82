"""The curve around an incident for its message: as a line of text, and as a PNG drawn by another process."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from holter.curve_plot import CurvePlot, PlotSource, finding_band, plot_curve
from holter.detectors.findings.sparkline import sparkline
from holter.server.rendering.picture_process import PictureProcess
from holter.types import Finding, SeriesKey

_logger = logging.getLogger(__name__)
_POINTS = 600
_COLUMNS = 1200
_BODY_WIDTHS = 40.0
"""A picture of an incident shows the incident: only what would flatten even that is out of range."""
_SKETCH_WIDTH = 40
_LEAST_BEFORE, _LEAST_AFTER = 200, 100
_pictures = PictureProcess("holter.server.rendering.render_png")


class IncidentSeries(Protocol):
    """The points of one series: real ones, extremes retained; `nonfinite` as (attempt, step, value)."""

    @property
    def segments(self) -> Sequence[PlotSource]: ...
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
    ) -> Sequence[IncidentSeries]:
        """The points of these series over a range of steps, at most so many."""
        ...


@dataclass(frozen=True, kw_only=True)
class PictureRequest:
    """What `render_png` draws: a plot with its title and the level that the incident is measured against."""

    plot: CurvePlot
    title: str
    baseline: float | None = None

    def encode(self) -> bytes:
        """The request as JSON."""
        values = {"plot": self.plot.as_json(), "title": self.title, "baseline": self.baseline}
        return json.dumps(values).encode()

    @classmethod
    def decode(cls, values: dict[str, Any]) -> PictureRequest:
        """The request from parsed JSON."""
        return cls(**{**values, "plot": CurvePlot.from_json(values["plot"])})


class IncidentCharts:
    """Draws incidents' curves. matplotlib runs in another process: the server's memory stays small.

    A failure is logged and leaves the message without a curve.
    """

    def __init__(self, store: ChartSource, *, timeout: float = 30.0) -> None:
        self._store = store
        self._timeout = timeout

    def prepare(self) -> None:
        """Start what draws pictures: one will be wanted within seconds."""
        prepare_pictures()

    def sketch(self, run_id: int, finding: Finding) -> str:
        """The curve around the incident in one line of text, empty if there is none."""
        try:
            series = self._read(run_id, finding)
            return sketch(series) if series is not None else ""
        except Exception:
            _logger.exception("no sketch of %s in run %d", finding.kind.value, run_id)
            return ""

    def picture(self, run_id: int, finding: Finding) -> bytes | None:
        """The curve around the incident as a PNG, None if it cannot be drawn in time."""
        try:
            series = self._read(run_id, finding)
            if series is None:
                return None
            return render_png(_picture_request(series, finding), timeout=self._timeout)
        except Exception:
            _logger.exception("no picture of %s in run %d", finding.kind.value, run_id)
            return None

    def _read(self, run_id: int, finding: Finding) -> IncidentSeries | None:
        key = SeriesKey(finding.metric, finding.labels)
        first, last = surroundings(finding)
        series = self._store.chart(run_id, [key], from_step=first, to_step=last, points=_POINTS)
        return series[0] if series and series[0].segments else None


def surroundings(finding: Finding) -> tuple[int, int | None]:
    """The steps to show: as much before the finding as it lasted, and half as much after it."""
    start, end = finding.start_step, finding.end_step
    last = end if end is not None else max(finding.detected_step, finding.peak_step or start)
    duration = max(last - start, 1)
    after = None if end is None else end + max(duration // 2, _LEAST_AFTER)
    return max(0, start - max(duration, _LEAST_BEFORE)), after


def sketch(series: IncidentSeries) -> str:
    """The newest attempts' points as a sparkline, and their range."""
    current = [segment for segment in series.segments if not segment.ghost and len(segment.step)]
    segments = current or list(series.segments)
    gaps = np.array([step for _, step, _ in series.nonfinite], dtype=np.float64)
    step = np.concatenate([segment.step for segment in segments]).astype(np.float64)
    value = np.concatenate([segment.value for segment in segments])
    if len(step) < 2:
        return ""
    shown = sparkline(
        np.concatenate([step, np.clip(gaps, step.min(), step.max())]),
        np.concatenate([value, np.full(len(gaps), np.nan)]),
        min(_SKETCH_WIDTH, len(step)),
    )
    return f"{shown}  {value.min():.3g} to {value.max():.3g}"


def _picture_request(series: IncidentSeries, finding: Finding) -> PictureRequest:
    baseline = finding.evidence.get("baseline")
    nonfinite = [float(step) for _, step, _ in series.nonfinite]
    steps = [float(segment.step[i]) for segment in series.segments if len(segment.step) for i in (0, -1)]
    first = min([*steps, *nonfinite, finding.start_step])
    last = max([*steps, *nonfinite, finding.end_step or finding.start_step])
    plot = plot_curve(
        series.segments,
        first_step=first,
        last_step=last,
        columns=_COLUMNS,
        body_widths=_BODY_WIDTHS,
        bands=[finding_band(finding, last)],
        nonfinite=nonfinite,
    )
    return PictureRequest(
        plot=plot,
        title=str(SeriesKey(finding.metric, finding.labels)),
        baseline=float(baseline) if isinstance(baseline, int | float) else None,
    )


def prepare_pictures() -> None:
    """Start the process that draws, so that the next picture does not wait for it."""
    try:
        _pictures.prepare()
    except OSError:
        _logger.exception("no process could be started that draws pictures")


def close_pictures() -> None:
    """End the process that draws."""
    _pictures.close()


def render_png(request: PictureRequest, *, timeout: float = 30.0) -> bytes:
    """The PNG that `holter.server.rendering.render_png` draws in a process of its own.

    Raises subprocess.SubprocessError when the process fails or takes longer than `timeout` seconds.
    """
    return _pictures.draw(request.encode(), timeout=timeout)
