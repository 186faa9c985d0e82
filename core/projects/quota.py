"""How much a project may send and keep."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class QuotaSettings(BaseModel):
    """The table `[projects.NAME.quota]` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
