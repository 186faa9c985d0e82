"""What is set about scraping exporters: `[scrape]` in holter.toml."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator


class ScrapeSettings(BaseModel):
    """Addresses of Prometheus exporters, how often, for which run, and which metrics more.

    Without a `run` what they say goes to every run that is under way, of `project` if that is given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    endpoints: tuple[str, ...] = Field(default=(), max_length=1024)
    every: float = Field(default=15.0, ge=1, le=3600)
    project: str = ""
    run: str = ""
    also: tuple[str, ...] = Field(default=(), max_length=100)

    @field_validator("endpoints")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            parts = urlsplit(address)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise ValueError("expected addresses such as http://node1:9400/metrics")
        return value
