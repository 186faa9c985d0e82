"""How much a project may send and keep."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


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
