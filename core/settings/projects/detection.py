"""What detection should know about a project that its numbers do not say."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, model_validator

from holter.metrics import Role
from holter.tuning import Expected, MetricTuning, Tuning
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
    expected: tuple[Expected, ...] = ()

    @model_validator(mode="after")
    def _is_usable(self) -> DetectionSettings:
        self.tuning()
        return self

    def tuning(self) -> Tuning:
        """The same as the detectors take it."""
        return Tuning(**{name: getattr(self, name) for name in type(self).model_fields})
