"""Reported events: the findings of events that are over, so that later passes do not form them again.

Such a finding rests on nothing that comes after the point which made its end certain.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.detections import LossDetection
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.positions import Position, rows_up_to
from holter.types import Finding, RunData, SeriesKey


@dataclass(frozen=True, eq=False)
class _Event:
    """The finding of an event, and what it was formed of: the same objects in the next pass if unchanged."""

    parts: tuple[Excursion, ...]
    details: Hashable
    finding: Finding


class ReportedEvents:
    """The findings of one pass; those of events that were over in an earlier pass are known."""

    def __init__(self, run: RunData, state: IncrementalState) -> None:
        self._series = [run.series[key] for key in sorted(run.series)]
        self._checkpoints: ScanCheckpoints[Mapping[Hashable, _Event]] = state.checkpoints(
            "reported_events", self._series
        )
        checkpoint = self._checkpoints.latest(self._series)
        self._known = {} if checkpoint is None else checkpoint.state
        self._upto: Position | None = None if checkpoint is None else checkpoint.upto
        self._new: dict[Hashable, _Event] = {}

    def finding_of(
        self,
        detection: LossDetection,
        development: LossDetection,
        key: SeriesKey,
        waited: int,
        form: Callable[[], Finding],
    ) -> Finding:
        """The finding of a detection with its development in a series `key`; `form` makes a new one."""
        if not (_is_final(detection) and _is_final(development)):
            return form()
        place = (detection.series.key, detection.excursion.attempt, detection.excursion.start)
        parts = detection.parts + development.parts
        details = (
            development.series.key,
            key,
            waited,
            len(detection.parts),
            *((each.settled_at, each.is_usual) for each in (detection, development)),
        )
        known = self._known.get(place)
        if known is not None and known.details == details and _are_same(known.parts, parts):
            return known.finding
        finding = form()
        self._new[place] = _Event(parts, details, finding)
        ended = max((each.excursion.attempt, _last_step(each, waited)) for each in (detection, development))
        self._upto = ended if self._upto is None else max(self._upto, ended)
        return finding

    def save(self) -> None:
        """Store the new findings for the next pass."""
        if self._new and self._upto is not None:
            rows = tuple(rows_up_to(each, self._upto) for each in self._series)
            self._checkpoints.save(Checkpoint({**self._known, **self._new}, rows, upto=self._upto))


def _is_final(detection: LossDetection) -> bool:
    """Whether nothing that is still to come changes an event: it is over, and no restart is its cause."""
    excursion = detection.excursion
    is_over = bool(detection.parts) and excursion.recovery.confirmed is not None
    return is_over and detection.settled_at is not None and not excursion.at_restart


def _last_step(detection: LossDetection, waited: int) -> int:
    """The last step on which the finding of an event that is over rests."""
    excursion, last = detection.excursion, len(detection.segment.step) - 1
    confirmed = excursion.start + (excursion.recovery.confirmed or 0)
    row = max(confirmed, excursion.detected + waited, detection.settled_at or 0)
    return int(detection.segment.step[min(row, last)])


def _are_same(known: tuple[Excursion, ...], parts: tuple[Excursion, ...]) -> bool:
    return len(known) == len(parts) and all(a is b for a, b in zip(known, parts, strict=True))
