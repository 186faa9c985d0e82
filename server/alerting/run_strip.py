"""The health strip of a run for its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holter.attempts.goodput import superseded_steps
from holter.attempts.superseded import AttemptSpan
from holter.server.alerting.incident import Incident, IncidentState
from holter.server.channels.message import MessageStrip
from holter.server.rendering.strip_layout import (
    CELLS,
    AttemptPosition,
    IncidentPosition,
    lay_out_attempts,
    strip_caption,
    strip_cells,
)


class AttemptExtent(Protocol):
    """One attempt: its number, and the first and last steps and wall times (None without a clock)."""

    @property
    def number(self) -> int: ...
    @property
    def first_step(self) -> int: ...
    @property
    def last_step(self) -> int: ...
    @property
    def first_time(self) -> float | None: ...
    @property
    def last_time(self) -> float | None: ...


class StripAttempts(Protocol):
    """The part of the store that strips need."""

    def attempts(self, run_id: int) -> Sequence[AttemptExtent]:
        """The attempts of a run, by number."""
        ...


def run_strip(attempts: Sequence[AttemptExtent], incidents: Sequence[Incident]) -> MessageStrip | None:
    """The strip of a run with these attempts and incidents, None without points."""
    spans = [AttemptSpan(each.number, each.first_step, each.last_step) for each in attempts]
    segments = lay_out_attempts(
        AttemptPosition(
            each.number,
            each.first_step,
            each.last_step,
            each.first_time,
            each.last_time,
            superseded_steps(span, spans)[0],
        )
        for each, span in zip(attempts, spans, strict=True)
    )
    if not segments:
        return None
    shown = [
        IncidentPosition(
            incident.finding.attempt,
            incident.finding.start_step,
            incident.finding.end_step,
            incident.is_open,
            incident.finding.severity,
        )
        for incident in incidents
        if incident.state is not IncidentState.CLOSED
    ]
    return MessageStrip(
        parts=tuple((cell.kind, cell.width / CELLS) for cell in strip_cells(segments, shown)),
        caption=strip_caption(segments, shown),
    )
