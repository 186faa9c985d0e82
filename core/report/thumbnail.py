"""A curve in the size of a word, as SVG that needs no style sheet: for tables in notebooks."""

from __future__ import annotations

import numpy as np

from holter.report.excerpt import Excerpt
from holter.types import Finding, FloatArray, Severity

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

    line = _line(x(step[known]), value[known])
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


def _line(x: FloatArray, value: FloatArray) -> str:
    column = x.astype(np.int64)
    order = np.lexsort((value, column))
    ends = np.flatnonzero(np.diff(column[order], append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    kept = np.sort(np.concatenate([order[starts], order[ends]]))
    low, high = float(value.min()), float(value.max())
    height = (high / 2 - low / 2) or 1.0  # halves: two large numbers may differ by more than a float holds
    y = _HEIGHT - _MARGIN - (value[kept] / 2 - low / 2) / height * (_HEIGHT - 2 * _MARGIN)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[kept].tolist(), y.tolist(), strict=True))
