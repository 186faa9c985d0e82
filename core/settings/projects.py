"""What can be said for a project rather than for the server: quotas, retention, detection.

Which settings hold for a project: those of every table whose pattern fits its name.

How long a project's points are kept, and how finely.

How much a project may send and keep.

What detection should know about a project that its numbers do not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from holter.roles import Role
from holter.tuning import MetricTuning, PlannedEvent, Tuning
from holter.types import Kind


class DetectionSettings(BaseModel):
    """The table `[projects.NAME.detection]` of holter.toml: the fields of `Tuning` (docs/tuning.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fast_recovery_steps: int = Tuning.fast_recovery_steps
    sensitivity: float = Tuning.sensitivity
    kinds: frozenset[Kind] | None = None
    ignore: frozenset[Kind] = frozenset()
    metrics: Mapping[str, Role] = {}
    metric: Mapping[str, MetricTuning] = {}
    expected: tuple[PlannedEvent, ...] = ()

    @model_validator(mode="after")
    def _is_usable(self) -> DetectionSettings:
        self.tuning()
        return self

    def tuning(self) -> Tuning:
        """The same as the detectors take it."""
        return Tuning(**{name: getattr(self, name) for name in type(self).model_fields})


class QuotaSettings(BaseModel):
    """The table `[projects.NAME.quota]` of holter.toml. 0: as much as it likes.

    `max_points_per_second` holds on average: whoever was quiet may send `burst_seconds` of it at once.
    `max_bytes` is what is stored of the whole project's points.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_series_per_run: int = Field(default=100_000, ge=0)
    max_points_per_second: float = Field(default=0, ge=0)
    burst_seconds: float = Field(default=60, gt=0)
    max_bytes: int = Field(default=0, ge=0)


class RetentionSettings(BaseModel):
    """The table `[projects.NAME.retention]` of holter.toml. Days count from a run's last news; 0: never."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    full_resolution_days: float = 0
    """After so many days a run is thinned, and what is older of one that goes on."""
    thin_to: int = Field(default=100, ge=8, le=16_384)
    """Of so many neighbouring points four stay: the first, the last, the lowest, the highest."""
    delete_after_days: float = 0
    """After so many days a run is deleted."""

    @field_validator("full_resolution_days", "delete_after_days")
    @classmethod
    def _is_never_or_a_day(cls, value: float) -> float:
        # within a day a run that fell silent may go on, and is looked at again
        if value != 0 and not value >= 1:
            raise ValueError("expected at least 1 (day), or 0 for never")
        return value


class ProjectSettings(BaseModel):
    """The tables `[projects.NAME.quota]`, `.retention` and `.detection` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quota: QuotaSettings = QuotaSettings()
    retention: RetentionSettings = RetentionSettings()
    detection: DetectionSettings = DetectionSettings()


def settings_of(projects: Mapping[str, ProjectSettings], name: str) -> ProjectSettings:
    """The settings of one project, field by field from the most particular pattern that says something.

    Patterns are as in a shell (`*`, `llm-*`); the name itself comes before any pattern, a longer pattern
    before a shorter one.
    """
    fitting = [pattern for pattern in projects if fnmatchcase(name, pattern)]
    fitting.sort(key=lambda pattern: (pattern == name, len(pattern), pattern))
    said: dict[str, dict[str, object]] = {"quota": {}, "retention": {}, "detection": {}}
    for pattern in fitting:
        for part, fields in said.items():
            table = getattr(projects[pattern], part)
            fields |= {field: getattr(table, field) for field in table.model_fields_set}
    return ProjectSettings.model_validate(said)
