"""The health strip as inline SVG: attempts, superseded steps, throughput, incidents of a run in one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from holter.detectors.findings import title_of
from holter.server.schemas.runs import HealthStrip, StripAttempt, StripIncident

WIDTH = 1000
_MIN_WIDTH = 0.0015
"""Share of the width: an attempt that crashed at once stays visible."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """One attempt from position `begin` to `end`, 0 to 1; superseded from `lost` on."""

    attempt: StripAttempt
    begin: float
    end: float
    lost: float

    def position(self, step: int) -> float:
        """The position of a step of this attempt."""
        first, last = self.attempt["first_step"], self.attempt["last_step"]
        share = (step - first) / max(1, last - first)
        return self.begin + min(1.0, max(0.0, share)) * (self.end - self.begin)


def strip_svg(strip: HealthStrip) -> str:
    """The strip, scaled to the width of the page by its style sheet."""
    segments = _lay_out(strip["attempts"])
    ordered = sorted(strip["incidents"], key=lambda incident: incident["severity"].rank)
    parts = [
        '<defs><pattern id="lost" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch" width="2" height="6"/></pattern></defs>',
        *(_attempt(segment) for segment in segments),
        *(_throughput(segment, strip) for segment in segments),
        *(_incident(incident, segments) for incident in ordered),
    ]
    count = len(strip["incidents"])
    label = f"Health strip: {len(segments)} attempts, {count} incidents"
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _lay_out(attempts: Sequence[StripAttempt]) -> list[_Segment]:
    """By wall time if the log has it, otherwise one after the other by number of steps."""
    shown = [attempt for attempt in attempts if attempt["last_step"] >= attempt["first_step"]]
    times = [time for attempt in shown for time in (attempt["first_time"], attempt["last_time"])]
    known = [time for time in times if time is not None]
    spans: list[tuple[float, float]] = []
    if len(known) == len(times) and len(set(known)) > 1:
        spans = list(zip(known[::2], known[1::2], strict=True))
    else:
        done = 0.0
        for attempt in shown:
            steps = attempt["last_step"] - attempt["first_step"] + 1
            spans.append((done, done + steps))
            done += steps
    begin = min((first for first, _ in spans), default=0.0)
    length = (max((last for _, last in spans), default=1.0) - begin) or 1.0
    segments = []
    for attempt, (first, last) in zip(shown, spans, strict=True):
        left = (first - begin) / length
        right = max((last - begin) / length, min(1.0, left + _MIN_WIDTH))
        steps = attempt["last_step"] - attempt["first_step"] + 1
        lost = attempt["lost_from_step"]
        share = 1.0 if lost is None else max(0.0, (lost - attempt["first_step"]) / steps)
        segments.append(_Segment(attempt, left, right, left + share * (right - left)))
    return segments


def _attempt(segment: _Segment) -> str:
    parts = [_rectangle("attempt", segment.begin, segment.end, 0, 100)]
    if segment.lost < segment.end:
        parts.append(_rectangle("superseded", segment.lost, segment.end, 0, 100))
    parts.append(_rectangle("base", segment.begin, segment.end, 94, 6))
    return "".join(parts)


def _throughput(segment: _Segment, strip: HealthStrip) -> str:
    steps, shares = strip["throughput"]["step"], strip["throughput"]["relative"]
    first, last = segment.attempt["first_step"], segment.attempt["last_step"]
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


def _incident(incident: StripIncident, segments: Sequence[_Segment]) -> str:
    segment = next((each for each in segments if each.attempt["number"] == incident["attempt"]), None)
    if segment is None:
        return ""
    start = segment.position(incident["start_step"])
    ends = incident["end_step"] is not None or incident["state"] != "open"
    end = segment.position(incident["end_step"] or incident["start_step"]) if ends else segment.end
    title = escape(f"{title_of(incident['kind'])} at step {incident['start_step']:,}, {incident['state']}")
    return (
        f'<g class="{incident["severity"].value}"><title>{title}</title>'
        f"{_rectangle('extent', start, max(start, end), 0, 100)}"
        f'<path class="mark" d="M{WIDTH * start:.1f} 0V100"/></g>'
    )


def _rectangle(name: str, begin: float, end: float, y: int, height: int) -> str:
    return (
        f'<rect class="{name}" x="{WIDTH * begin:.1f}" width="{WIDTH * max(0.0, end - begin):.1f}" '
        f'y="{y}" height="{height}"/>'
    )
