"""Curves as inline SVG: a line per stretch, ghosts dashed, incidents as bands, nothing lost to reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from holter.detectors.figures import figure
from holter.report.excerpt import Excerpt, Stretch
from holter.types import Finding, FloatArray

WIDTH, HEIGHT = 960, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 16, 20
_COLUMNS = WIDTH - _LEFT - _RIGHT
_FEW = 200


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Where a step and a value stand in the picture."""

    first: float
    last: float
    low: float
    high: float

    def x(self, step: FloatArray) -> FloatArray:
        """Pixels from the left."""
        span = max(self.last - self.first, 1.0)
        return _LEFT + np.clip((step - self.first) / span, 0, 1) * _COLUMNS

    def y(self, value: FloatArray) -> FloatArray:
        """Pixels from the top; values outside of the range lie on its edge."""
        share = (np.clip(value, self.low, self.high) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def draw(excerpt: Excerpt, findings: Sequence[Finding], *, title: str) -> str:
    """The excerpt as one `<svg>`, with a band for each finding; empty without finite points."""
    values = np.concatenate([stretch.value for stretch in excerpt.stretches] or [np.empty(0)])
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ""
    low, high = _range(finite)
    scale = Scale(first=float(excerpt.first_step), last=float(excerpt.last_step), low=low, high=high)
    outside = int(np.sum((finite < low) | (finite > high)))
    parts = [
        *(_band(finding, scale, excerpt) for finding in findings),
        *_grid(scale),
        *(_line(stretch, scale) for stretch in sorted(excerpt.stretches, key=lambda one: not one.ghost)),
        *_not_finite(excerpt, scale),
    ]
    if outside:
        words = "1 point lies" if outside == 1 else f"{outside:,} points lie"
        parts.append(f'<text class="note" x="{WIDTH - _RIGHT}" y="11">{words} outside of this range</text>')
    label = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _range(finite: FloatArray) -> tuple[float, float]:
    """Robust extremes: what is far outside of the body of the points is noted, and does not flatten it."""
    low, high = float(finite.min()), float(finite.max())
    near, far = (float(one) for one in np.quantile(finite, [0.02, 0.98]))
    reach = far - near
    if reach > 0:
        low, high = max(low, near - 2 * reach), min(high, far + 2 * reach)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return max(low - margin, -1e308), min(high + margin, 1e308)


def _line(stretch: Stretch, scale: Scale) -> str:
    known = np.isfinite(stretch.value)
    step, value = stretch.step[known].astype(np.float64), stretch.value[known]
    if not len(step):
        return ""
    kept = _extremes(scale.x(step), value)
    x, y = scale.x(step[kept]), scale.y(value[kept])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    dots = ""
    if len(x) <= _FEW and not stretch.ghost:
        dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1.6"/>' for a, b in zip(x, y, strict=True))
    return f'<polyline class="{"ghost" if stretch.ghost else "curve"}" points="{points}"/>{dots}'


def _extremes(x: FloatArray, value: FloatArray) -> FloatArray:
    """Which points to draw: of those in one column of pixels the first, the last, the lowest, the highest."""
    column = x.astype(np.int64)
    order = np.lexsort((value, column))
    starts = np.flatnonzero(np.diff(column[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    firsts = np.flatnonzero(np.diff(column, prepend=-1))
    lasts = np.append(firsts[1:], len(column)) - 1
    return np.unique(np.concatenate([order[starts], order[ends], firsts, lasts]))


def _band(finding: Finding, scale: Scale, excerpt: Excerpt) -> str:
    if not excerpt.first_step <= finding.start_step <= excerpt.last_step:
        return ""
    end = excerpt.last_step if finding.end_step is None else max(finding.end_step, finding.start_step)
    left, right = scale.x(np.array([finding.start_step, end], dtype=np.float64)).tolist()
    height = HEIGHT - _TOP - _BOTTOM
    return (
        f'<g class="{finding.severity.value}"><rect class="band" x="{left:.1f}" y="{_TOP}" '
        f'width="{max(right - left, 1.5):.1f}" height="{height}"/>'
        f'<path class="onset" d="M{left:.1f} {_TOP}v{height}"/></g>'
    )


def _grid(scale: Scale) -> list[str]:
    """Three values and three steps, written as they are."""
    parts = []
    for share in (0.0, 0.5, 1.0):
        value = scale.low * (1 - share) + scale.high * share
        y = float(scale.y(np.array([value]))[0])
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}h{_COLUMNS}"/>')
        parts.append(f'<text class="value" x="{_LEFT - 6}" y="{y + 4:.1f}">{figure(value)}</text>')
        step = scale.first * (1 - share) + scale.last * share
        x = _LEFT + share * _COLUMNS
        anchor = ("start", "middle", "end")[int(share * 2)]
        parts.append(
            f'<text class="step" x="{x:.1f}" y="{HEIGHT - 5}" text-anchor="{anchor}">{step:,.0f}</text>'
        )
    return parts


def _not_finite(excerpt: Excerpt, scale: Scale) -> list[str]:
    """A mark on the axis at every step (column of pixels) with a NaN or an infinity."""
    steps = [stretch.step[~np.isfinite(stretch.value)] for stretch in excerpt.stretches]
    x = scale.x(np.concatenate(steps).astype(np.float64)) if steps else np.empty(0)
    y = HEIGHT - _BOTTOM
    return [f'<path class="broken" d="M{a} {y - 5}v10"/>' for a in np.unique(x.astype(np.int64)).tolist()]
