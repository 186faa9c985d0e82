"""How long a project's points are kept, and how finely."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator


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
