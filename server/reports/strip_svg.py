"""The health strip as inline SVG: attempts, superseded steps, throughput, incidents of a run in one row."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from holter.detectors.findings import title_of
from holter.plurals import counted
from holter.server.alerting.incident import IncidentState
from holter.server.rendering.strip_layout import (
    AttemptPosition,
    IncidentPosition,
    StripSegment,
    incident_extent,
    lay_out_attempts,
)
from holter.server.schemas.runs import HealthStrip, StripIncident

WIDTH = 1000


def strip_svg(strip: HealthStrip) -> str:
    """The strip, scaled to the width of the page by its style sheet."""
    segments = lay_out_attempts(AttemptPosition(**attempt) for attempt in strip["attempts"])
    ordered = sorted(strip["incidents"], key=lambda incident: incident["severity"].rank)
    parts = [
        '<defs><pattern id="lost" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch" width="2" height="6"/></pattern></defs>',
        *(_attempt(segment) for segment in segments),
        *(_throughput(segment, strip) for segment in segments),
        *(_incident(incident, segments) for incident in ordered),
    ]
    attempts, incidents = counted(len(segments), "attempt"), counted(len(strip["incidents"]), "incident")
    label = f"Health strip: {attempts}, {incidents}"
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _attempt(segment: StripSegment) -> str:
    parts = [_rectangle("attempt", segment.begin, segment.end, 0, 100)]
    if segment.lost < segment.end:
        parts.append(_rectangle("superseded", segment.lost, segment.end, 0, 100))
    parts.append(_rectangle("base", segment.begin, segment.end, 94, 6))
    return "".join(parts)


def _throughput(segment: StripSegment, strip: HealthStrip) -> str:
    steps, shares = strip["throughput"]["step"], strip["throughput"]["relative"]
    first, last = segment.attempt.first_step, segment.attempt.last_step
    points = [
        f"{WIDTH * segment.position(step):.1f} {94 - 82 * share:.1f}"
        for step, share in zip(steps, shares, strict=True)
        if share is not None and first <= step <= last
    ]
    if not points:
        return ""
    left, right = WIDTH * segment.begin, WIDTH * segment.lost
    level = points[-1].split()[1]
    outline = f"M{left:.1f} 94L{'L'.join(points)}L{right:.1f} {level}L{right:.1f} 94Z"
    return f'<path class="throughput" d="{outline}"/>'


def _incident(incident: StripIncident, segments: Sequence[StripSegment]) -> str:
    is_open = incident["state"] == IncidentState.OPEN
    extent = incident_extent(
        IncidentPosition(
            incident["attempt"],
            incident["start_step"],
            incident["end_step"],
            is_open,
            incident["severity"],
        ),
        segments,
    )
    if extent is None:
        return ""
    start, end = extent
    title = title_of(incident["kind"], incident["metric"])
    title = escape(f"{title} at step {incident['start_step']:,}, {incident['state']}")
    return (
        f'<g class="{incident["severity"].value}"><title>{title}</title>'
        f"{_rectangle('extent', start, end, 0, 100)}"
        f'<path class="mark" d="M{WIDTH * start:.1f} 0V100"/></g>'
    )


def _rectangle(name: str, begin: float, end: float, y: int, height: int) -> str:
    return (
        f'<rect class="{name}" x="{WIDTH * begin:.1f}" width="{WIDTH * max(0.0, end - begin):.1f}" '
        f'y="{y}" height="{height}"/>'
    )
