"""A curve in the size of a word, as SVG that needs no style sheet: for tables in notebooks.

Curves as inline SVG: a line per stretch, ghosts dashed, incidents as bands, nothing lost to reduction.

The picture stretches with the page while its words, which stand around it, keep their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from holter.cli.report.words import kind, place
from holter.curves import Excerpt, LineSegment
from holter.detectors.formatting import figure
from holter.plurals import counted, verb
from holter.types import Finding, FloatArray, IntArray, Severity

WIDTH, HEIGHT = 960, 160
_FEW = 200
"""Points that are drawn as dots, too."""
_NUMBERS = 12
"""Attempts whose numbers can be read beside each other, on a phone too."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Where a step and a value stand in the picture."""

    first: float
    last: float
    low: float
    high: float

    def x(self, step: FloatArray) -> FloatArray:
        """Units from the left."""
        span = max(self.last - self.first, 1.0)
        return np.clip((step - self.first) / span, 0, 1) * WIDTH

    def y(self, value: FloatArray) -> FloatArray:
        """Units from the top; values outside of the range lie on its edge."""
        share = (np.clip(value, self.low, self.high) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return HEIGHT * (1 - share)


def draw(excerpt: Excerpt, findings: Sequence[Finding], *, title: str) -> str:
    """The excerpt as a picture with its axes in words; empty without finite points.

    A finding on this series is a band, one on another a bar along the axis.
    """
    values = np.concatenate([stretch.value for stretch in excerpt.segments] or [np.empty(0)])
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ""
    low, high = _range(finite)
    scale = Scale(first=float(excerpt.first_step), last=float(excerpt.last_step), low=low, high=high)
    dotted = len(finite) <= _FEW
    resumes = _resumes(excerpt)
    parts = [
        *(_band(finding, scale, excerpt) for finding in findings),
        *(f'<path class="grid" d="M0 {y}H{WIDTH}"/>' for y in (0, HEIGHT // 2, HEIGHT)),
        *_ticks(resumes, scale),
        *(_line(one, scale, dotted) for one in sorted(excerpt.segments, key=lambda one: not one.ghost)),
        *_not_finite(excerpt, scale),
    ]
    picture = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
    )
    outside = int(np.sum((finite < low) | (finite > high)))
    return f'<div class="plot">{_around(picture, scale, resumes, outside)}</div>'


def _around(picture: str, scale: Scale, resumes: Sequence[tuple[int, int]], outside: int) -> str:
    """The picture with three values beside it, three steps below, and the numbers of attempts."""
    middle = scale.low / 2 + scale.high / 2
    values = "".join(f"<span>{figure(value)}</span>" for value in (scale.high, middle, scale.low))
    steps = (scale.first, (scale.first + scale.last) / 2, scale.last)
    # a half stands between steps: one of them would be said in the wrong place where few are shown
    shown = "".join(
        f"<span>{step:,.{int(step % 1 > 0 and scale.last - scale.first < 100)}f}</span>" for step in steps
    )
    note = ""
    if outside:
        words = f"{counted(outside, 'point')} {verb(outside, 'lies', 'lie')}"
        note = f'<div class="note">{words} outside of this range</div>'
    apart = -(-len(resumes) // _NUMBERS)
    places = [(number, step) for i, (number, step) in enumerate(resumes) if i % max(apart, 1) == 0]
    numbers = "".join(
        f'<span style="left:{float(scale.x(np.array([step]))[0]) / WIDTH:.1%}">{number}</span>'
        for number, step in places
    )
    below = f'<div class="resumes">{numbers}</div>' if numbers else ""
    return (
        f'{note}<div class="values">{values}</div><div class="picture">{picture}</div>'
        f'{below}<div class="steps">{shown}</div>'
    )


def _range(finite: FloatArray) -> tuple[float, float]:
    """Robust extremes: what is far outside of the body of the points is noted, and does not flatten it."""
    low, high = float(finite.min()), float(finite.max())
    near, far = (float(one) for one in np.quantile(finite, [0.02, 0.98]))
    reach = far - near
    if reach > 0:
        low, high = max(low, near - 2 * reach), min(high, far + 2 * reach)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return max(low - margin, -1e308), min(high + margin, 1e308)


def _line(stretch: LineSegment, scale: Scale, dotted: bool) -> str:
    known = np.isfinite(stretch.value)
    step, value = stretch.step[known].astype(np.float64), stretch.value[known]
    if not len(step):
        return ""
    kept = _extremes(scale.x(step), value)
    pairs = list(zip(scale.x(step[kept]).tolist(), scale.y(value[kept]).tolist(), strict=True))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
    dots = ""
    if not stretch.ghost and (dotted or len(pairs) == 1):
        dots = f'<path class="dots" d="{"".join(f"M{a:.1f} {b:.1f}h0" for a, b in pairs)}"/>'
    return f'<polyline class="{"ghost" if stretch.ghost else "curve"}" points="{points}"/>{dots}'


def _extremes(x: FloatArray, value: FloatArray) -> IntArray:
    """Which points to draw: of those in one column the first, the last, the lowest, the highest."""
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
    own = finding.metric == excerpt.key.metric
    top = 0 if own else HEIGHT - 4
    onset = f'<path class="onset" d="M{left:.1f} 0V{HEIGHT}"/>' if own else ""
    return (
        f'<g class="{finding.severity.value}"><title>{kind(finding)}, {place(finding)}</title>'
        f'<rect class="{"band" if own else "bar"}" x="{left:.1f}" y="{top}" '
        f'width="{max(right - left, 1.5):.1f}" height="{HEIGHT - top}"/>{onset}</g>'
    )


def _resumes(excerpt: Excerpt) -> list[tuple[int, int]]:
    """Each attempt that is in the picture with its first step there; none where there is only one."""
    first = {one.attempt: int(one.step[0]) for one in reversed(excerpt.segments)}
    return sorted(first.items())[1:]


def _ticks(resumes: Sequence[tuple[int, int]], scale: Scale) -> list[str]:
    x = scale.x(np.array([step for _, step in resumes], dtype=np.float64))
    return [f'<path class="tick" d="M{at} {HEIGHT}v-7"/>' for at in np.unique(x.astype(np.int64)).tolist()]


def _not_finite(excerpt: Excerpt, scale: Scale) -> list[str]:
    """A mark on the axis at every step (column of the picture) with a NaN or an infinity."""
    steps = [stretch.step[~np.isfinite(stretch.value)] for stretch in excerpt.segments]
    x = scale.x(np.concatenate(steps).astype(np.float64)) if steps else np.empty(0)
    y = HEIGHT - 10
    return [f'<path class="broken" d="M{a} {y}v10"/>' for a in np.unique(x.astype(np.int64)).tolist()]


_WIDTH, _HEIGHT, _MARGIN = 180, 36, 3
_COLOUR = {Severity.CRITICAL: "#d3302c", Severity.WARNING: "#c07a10", Severity.INFO: "#4d83b0"}


def thumbnail(excerpt: Excerpt, finding: Finding) -> str:
    """The timeline of an excerpt as a small `<svg>` with the finding's stretch tinted; empty without points.

    Every column of pixels shows its lowest and highest value, so that a single spike stays visible.
    """
    step, value = excerpt.steps().astype(np.float64), excerpt.values()
    known = np.isfinite(value)
    if not known.any():
        return ""
    first, span = float(excerpt.first_step), max(float(excerpt.last_step - excerpt.first_step), 1.0)

    def x(steps: FloatArray) -> FloatArray:
        return np.clip((steps - first) / span, 0, 1) * _WIDTH

    line = _line_thumbnail(x(step[known]), value[known])
    end = float(excerpt.last_step if finding.end_step is None else finding.end_step)
    left, right = x(np.array([finding.start_step, end], dtype=np.float64)).tolist()
    broken = "".join(
        f'<path d="M{at} {_HEIGHT - 6}v6" stroke="#d3302c"/>' for at in np.unique(x(step[~known]).astype(int))
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f'<rect x="{left:.1f}" width="{max(right - left, 1.5):.1f}" height="{_HEIGHT}" '
        f'fill="{_COLOUR[finding.severity]}" opacity=".2"/>'
        f'<polyline points="{line}" fill="none" stroke="#3072c1"/>{broken}</svg>'
    )


def _line_thumbnail(x: FloatArray, value: FloatArray) -> str:
    column = x.astype(np.int64)
    order = np.lexsort((value, column))
    ends = np.flatnonzero(np.diff(column[order], append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    kept = np.sort(np.concatenate([order[starts], order[ends]]))
    low, high = float(value.min()), float(value.max())
    height = (high / 2 - low / 2) or 1.0  # halves: two large numbers may differ by more than a float holds
    y = _HEIGHT - _MARGIN - (value[kept] / 2 - low / 2) / height * (_HEIGHT - 2 * _MARGIN)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[kept].tolist(), y.tolist(), strict=True))
