"""What detection should know about a project that its numbers do not say."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class DetectionSettings(BaseModel):
    """The table `[projects.NAME.detection]` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
