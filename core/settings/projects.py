"""Settings of projects: quotas, retention and detection, by patterns of project names."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from holter.roles import Role
from holter.tuning import MetricTuning, PlannedEvent, Tuning
from holter.types import Kind, Severity


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
        """The settings in the form that detectors take."""
        return Tuning(**{name: getattr(self, name) for name in type(self).model_fields})


class QuotaSettings(BaseModel):
    """The table `[projects.NAME.quota]` of holter.toml. 0: no limit.

    `max_points_per_second` is a token bucket with a capacity of `burst_seconds`: after a pause, the points
    of that many seconds may be sent at once. `max_bytes` limits the stored points of the project.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_series_per_run: int = Field(default=100_000, ge=0)
    max_points_per_second: float = Field(default=0, ge=0)
    burst_seconds: float = Field(default=60, gt=0)
    max_bytes: int = Field(default=0, ge=0)


class RetentionSettings(BaseModel):
    """The table `[projects.NAME.retention]` of holter.toml. Days since a run's last data; 0: never."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    full_resolution_days: float = 0
    """Days after which a run is downsampled; of a run that continues, its older part."""
    thin_to: int = Field(default=100, ge=8, le=16_384)
    """Of this many neighbouring points four are retained: first, last, lowest, highest."""
    delete_after_days: float = 0
    """Days after which a run is deleted."""

    @field_validator("full_resolution_days", "delete_after_days")
    @classmethod
    def _is_never_or_a_day(cls, value: float) -> float:
        # a silent run may continue within a day, and is then analysed again
        if value != 0 and not value >= 1:
            raise ValueError("expected at least 1 (day), or 0 for never")
        return value


class ReferenceSettings(BaseModel):
    """The table `[projects.NAME.reference]` of holter.toml: reference runs (docs/compare.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    choose: Literal["pinned", "similar"] = "pinned"
    """`similar`: where no run is pinned, the most similar earlier run is the reference."""
    severity: Severity = Severity.INFO
    """The severity of findings of the kind `worse_than_reference`."""


class ProjectSettings(BaseModel):
    """The tables `[projects.NAME.quota]`, `.retention`, `.detection` and `.reference` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quota: QuotaSettings = QuotaSettings()
    retention: RetentionSettings = RetentionSettings()
    detection: DetectionSettings = DetectionSettings()
    reference: ReferenceSettings = ReferenceSettings()


def settings_of(projects: Mapping[str, ProjectSettings], name: str) -> ProjectSettings:
    """The settings of one project: each field is taken from the most specific pattern that sets it.

    Patterns are as in a shell (`*`, `llm-*`); the name itself takes precedence over any pattern, a longer
    pattern over a shorter one.
    """
    matching = [pattern for pattern in projects if fnmatchcase(name, pattern)]
    matching.sort(key=lambda pattern: (pattern == name, len(pattern), pattern))
    merged: dict[str, dict[str, object]] = {
        "quota": {},
        "retention": {},
        "detection": {},
        "reference": {},
    }
    for pattern in matching:
        for section, fields in merged.items():
            table = getattr(projects[pattern], section)
            fields |= {field: getattr(table, field) for field in table.model_fields_set}
    return ProjectSettings.model_validate(merged)
