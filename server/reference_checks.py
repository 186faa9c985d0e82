"""How a run compares with its references, as stored: the newest comparison, and when it was worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from holter.detectors.compare.course import Course
from holter.server.schemas.runs import ReferenceStatus


@dataclass(frozen=True, kw_only=True)
class WorseEpisode:
    """One time during which a run was worse; steps are those of the run. `end_step`: None while it lasts."""

    metric: str
    attempt: int
    start_step: int
    detected_step: int
    end_step: int | None
    references: tuple[str, ...]
    axis: str
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    summary: str


@dataclass(frozen=True, kw_only=True)
class ReferenceChecks:
    """The newest comparison of a run with its references, by number, and all episodes.

    `references`: public ids. `versions`: of the references at that time. `relative`...: the difference from
    the nearest reference as a share of its loss, with its interval. `at_step`, `since_step`: steps of the
    run.
    """

    number: int = -1
    references: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    course: Course = Course.UNKNOWN
    axis: str = "step"
    at_step: int | None = None
    since_step: int | None = None
    relative: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    sentence: str = ""
    checked_at: float = 0.0
    episodes: tuple[WorseEpisode, ...] = field(default_factory=tuple)

    def as_json(self) -> dict[str, Any]:
        """The checks as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> ReferenceChecks:
        """The checks from the values that `as_json` returned; those of a new run without any."""
        if not stored:
            return cls()
        episodes = tuple(
            WorseEpisode(**{**each, "references": tuple(each["references"])}) for each in stored["episodes"]
        )
        lists = {name: tuple(stored[name]) for name in ("references", "names")}
        return cls(**{**stored, **lists, "course": Course(stored["course"]), "episodes": episodes})


def reference_status(stored: Mapping[str, Any] | None) -> ReferenceStatus | None:
    """The stored checks of a run as REST states them; None for a run that was not compared."""
    if not stored:
        return None
    checks = ReferenceChecks.from_json(stored)
    return {
        "course": checks.course,
        "references": list(checks.references),
        "names": list(checks.names),
        "aligned_by": checks.axis,
        "at_step": checks.at_step,
        "since_step": checks.since_step,
        "relative": checks.relative,
        "relative_low": checks.relative_low,
        "relative_high": checks.relative_high,
        "sentence": checks.sentence,
        "checked_at": checks.checked_at,
    }
