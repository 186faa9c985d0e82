"""Where attempts and incidents are on a health strip: of reports as SVG, of e-mails as coloured cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import NamedTuple

from holter.plurals import counted
from holter.types import Severity

CELLS = 80
"""Cells of a strip in an e-mail: five points each on a telephone, and so each can be seen."""
_MIN_WIDTH = 0.0015
"""Share of the width: an attempt that crashed at once stays visible."""


class AttemptPosition(NamedTuple):
    """One attempt: steps, wall times (None without a clock), and the first step that a newer one repeats."""

    number: int
    first_step: int
    last_step: int
    first_time: float | None
    last_time: float | None
    lost_from_step: int | None


class IncidentPosition(NamedTuple):
    """One incident; `end_step` None: it had no end, and lasts if it `is_open`."""

    attempt: int
    start_step: int
    end_step: int | None
    is_open: bool
    severity: Severity


class StripSegment(NamedTuple):
    """One attempt from position `begin` to `end`, 0 to 1; superseded from `lost` on."""

    attempt: AttemptPosition
    begin: float
    end: float
    lost: float

    def position(self, step: int) -> float:
        """The position of a step of this attempt."""
        first, last = self.attempt.first_step, self.attempt.last_step
        share = (step - first) / max(1, last - first)
        return self.begin + min(1.0, max(0.0, share)) * (self.end - self.begin)


class StripCell(NamedTuple):
    """Neighbouring cells of one kind, `width` of `CELLS`.

    `kind`: attempt, lost (rolled back), gap (nothing logged), the severity at the onset of an incident, or
    the severity and `-extent` while one lasts.
    """

    kind: str
    width: int


def lay_out_attempts(attempts: Iterable[AttemptPosition]) -> list[StripSegment]:
    """By wall time if the log has it, otherwise one after the other by number of steps."""
    shown = [attempt for attempt in attempts if attempt.last_step >= attempt.first_step]
    times = [time for attempt in shown for time in (attempt.first_time, attempt.last_time)]
    known = [time for time in times if time is not None]
    spans: list[tuple[float, float]] = []
    if len(known) == len(times) and len(set(known)) > 1:
        spans = list(zip(known[::2], known[1::2], strict=True))
    else:
        done = 0.0
        for attempt in shown:
            steps = attempt.last_step - attempt.first_step + 1
            spans.append((done, done + steps))
            done += steps
    begin = min((first for first, _ in spans), default=0.0)
    length = (max((last for _, last in spans), default=1.0) - begin) or 1.0
    segments = []
    for attempt, (first, last) in zip(shown, spans, strict=True):
        left = (first - begin) / length
        right = max((last - begin) / length, min(1.0, left + _MIN_WIDTH))
        steps = attempt.last_step - attempt.first_step + 1
        lost = attempt.lost_from_step
        share = 1.0 if lost is None else max(0.0, (lost - attempt.first_step) / steps)
        segments.append(StripSegment(attempt, left, right, left + share * (right - left)))
    return segments


def incident_extent(
    incident: IncidentPosition, segments: Sequence[StripSegment]
) -> tuple[float, float] | None:
    """The positions of an incident's beginning and end, None where its attempt is not on the strip."""
    segment = next((each for each in segments if each.attempt.number == incident.attempt), None)
    if segment is None:
        return None
    start = segment.position(incident.start_step)
    if incident.end_step is None and incident.is_open:
        return start, segment.end
    return start, max(start, segment.position(incident.end_step or incident.start_step))


def strip_cells(
    segments: Sequence[StripSegment], incidents: Iterable[IncidentPosition]
) -> tuple[StripCell, ...]:
    """The strip as a row of cells. Of several incidents in a cell the most severe one is shown."""
    if not segments:
        return ()
    kinds = [_kind_of_cell(index, segments) for index in range(CELLS)]
    extents = [
        (incident, extent)
        for incident in sorted(incidents, key=lambda incident: incident.severity.rank)
        if (extent := incident_extent(incident, segments)) is not None
    ]
    for incident, (start, end) in extents:
        for index in range(_cell_of(start), min(CELLS, ceil(end * CELLS))):
            kinds[index] = f"{incident.severity.value}-extent"
    for incident, (start, _) in extents:
        kinds[_cell_of(start)] = incident.severity.value
    return tuple(StripCell(kind, len(list(cells))) for kind, cells in groupby(kinds))


def strip_caption(segments: Sequence[StripSegment], incidents: Sequence[IncidentPosition]) -> str:
    """What a strip shows in words: "Steps 0 to 1,514 · 2 attempts · 3 incidents, 1 open"."""
    attempts = [segment.attempt for segment in segments]
    first = min(each.first_step for each in attempts)
    last = max(each.last_step for each in attempts)
    parts = [
        f"Steps {first:,} to {last:,}",
        counted(len(attempts), "attempt"),
        *_counts(incidents),
    ]
    return " · ".join(parts)


def _counts(incidents: Sequence[IncidentPosition]) -> Iterator[str]:
    if incidents:
        still_open = sum(incident.is_open for incident in incidents)
        yield f"{counted(len(incidents), 'incident')}, {still_open} open"


def _kind_of_cell(index: int, segments: Sequence[StripSegment]) -> str:
    position = (index + 0.5) / CELLS
    covering = [segment for segment in segments if segment.begin <= position <= segment.end]
    covering = covering or [  # an attempt between two centres of cells is seen too
        each for each in segments if each.end - each.begin < 1 / CELLS and _cell_of(each.begin) == index
    ]
    if not covering:
        return "gap"
    return "lost" if position > covering[-1].lost else "attempt"


def _cell_of(position: float) -> int:
    return min(CELLS - 1, int(position * CELLS))
