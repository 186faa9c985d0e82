"""Settings of the server and its commands: flags, then HOLTER_* variables, then holter.toml.

What is set about scraping exporters: `[scrape]` in holter.toml.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from holter.custom_format import CustomFormat
from holter.settings.network import reachable, url
from holter.settings.projects import ProjectSettings, settings_of


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


FILE = Path("holter.toml")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8"]
Tflops = Annotated[float, Field(gt=0, lt=1e7)]


def default_data_dir() -> Path:
    """Where a person's data lie when nothing else is said: `$XDG_DATA_HOME/holter`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "holter"


class Settings(BaseSettings):
    """What can be set. Each is a flag, `HOLTER_<NAME>`, or a line of holter.toml (docs/settings.md)."""

    model_config = SettingsConfigDict(
        env_prefix="HOLTER_", toml_file=FILE, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(default_factory=default_data_dir)
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    public_url: str = ""
    password: SecretStr | None = None
    max_batch_mb: int = Field(default=64, ge=1, le=1024)
    max_import_mb: int = Field(default=16_384, ge=1)
    channels: dict[str, dict[str, Any]] = Field(default_factory=dict)
    slack_webhook_url: SecretStr | None = None
    smtp_url: SecretStr | None = None
    email_to: str = ""
    email_from: str = ""
    projects: dict[str, ProjectSettings] = Field(default_factory=dict)
    peaks: dict[Annotated[str, Field(min_length=2)], dict[Precision, Tflops]] = Field(default_factory=dict)
    formats: tuple[CustomFormat, ...] = ()
    scrape: ScrapeSettings = ScrapeSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags before the environment before the file; no .env files, no secrets folders."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @field_validator("database_url")
    @classmethod
    def _is_known_database(cls, value: str) -> str:
        if value and not re.match(r"sqlite:///[^:]|postgres(ql)?(\+psycopg)?://", value):
            raise ValueError("expected postgresql+psycopg://user:password@host/database, or sqlite:///FILE")
        return value

    @field_validator("public_url")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        if value and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname):
            raise ValueError("expected an address such as https://holter.example.com")
        return value.rstrip("/")

    @field_validator("password")
    @classmethod
    def _is_long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 8:
            raise ValueError("expected at least 8 characters")
        return value

    @field_validator("formats")
    @classmethod
    def _have_different_names(cls, value: tuple[CustomFormat, ...]) -> tuple[CustomFormat, ...]:
        names = [one.name for one in value]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two formats are called {twice[0]!r}: give one of them several `patterns`")
        return value

    @property
    def database(self) -> str:
        """The database's address: as set, or the SQLite file in `data_dir`."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser().absolute() / 'holter.db'}"

    @property
    def address(self) -> str:
        """The address people open: `public_url` if set, else the first of `addresses`."""
        return self.public_url or self.addresses[0]

    @property
    def addresses(self) -> list[str]:
        """Where the server listens: every address that can be opened, those for other machines first."""
        return [url(host, self.port) for host in reachable(self.host)]

    @property
    def login_required(self) -> bool:
        """Whether anyone but this machine's users could reach the server, or a password is set."""
        outside = bool(self.public_url) and not is_loopback(urlsplit(self.public_url).hostname or "")
        return outside or self.password is not None or not is_loopback(self.host)

    def project(self, name: str) -> ProjectSettings:
        """What is set for the project of this name."""
        return settings_of(self.projects, name)

    def all_channels(self) -> dict[str, dict[str, Any]]:
        """The channels by name: those of `[channels.NAME]`, and those that the short settings make."""
        channels = {name: dict(options) for name, options in self.channels.items()}
        if self.slack_webhook_url:
            url = self.slack_webhook_url.get_secret_value()
            channels.setdefault("slack", {"type": "slack", "url": url})
        if self.smtp_url and self.email_to:
            to = [address.strip() for address in self.email_to.split(",")]
            email = {"type": "email", "url": self.smtp_url.get_secret_value(), "to": to}
            channels.setdefault("email", email | ({"from": self.email_from} if self.email_from else {}))
        return channels


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
