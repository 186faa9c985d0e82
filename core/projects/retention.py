"""How long a project's points are kept, and how finely."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class RetentionSettings(BaseModel):
    """The table `[projects.NAME.retention]` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
