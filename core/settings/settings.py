"""Settings of the server and its commands: flags, then HOLTER_* variables, then holter.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from holter.custom_format import CustomFormat
from holter.settings.alerting import AlertingSettings, Duration
from holter.settings.http import HttpSettings, TrustedProxies
from holter.settings.network import is_loopback, reachable, url
from holter.settings.projects import ProjectSettings, settings_of

FILE = Path("holter.toml")

Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8"]
Tflops = Annotated[float, Field(gt=0, lt=1e7)]

_EXPECTED = {
    "tuple_type": "expected a list of tables: [[name]], each with its own lines",
    "list_type": "expected a list: [a, b]",
    "dict_type": "expected a table: {name = value}",
    "mapping_type": "expected a table: {name = value}",
    "int_parsing": "expected a whole number",
    "int_type": "expected a whole number",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "bool_parsing": "expected true or false",
    "string_type": "expected text in quotes",
}
"""Pydantic's types of errors, in the terms of holter.toml."""


class ScrapeSettings(BaseModel):
    """The table `[scrape]` of holter.toml: Prometheus exporters, how often, for which run, which metrics.

    Without a `run` the metrics go to every active run, of `project` if that is given. `also` names metrics
    in addition to the known ones.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    endpoints: tuple[str, ...] = Field(default=(), max_length=1024)
    every: Annotated[Duration, Field(ge=1, le=3600)] = 15.0
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


def default_data_dir() -> Path:
    """The default folder for data: `$XDG_DATA_HOME/holter`, or `~/.local/share/holter`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "holter"


class Settings(BaseSettings):
    """All settings. Each is a flag, `HOLTER_<NAME>`, or a line of holter.toml (docs/settings.md)."""

    model_config = SettingsConfigDict(
        env_prefix="HOLTER_", toml_file=FILE, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(default_factory=default_data_dir)
    database_url: str = Field(default="", repr=False)  # it may contain a password
    database_url_file: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    public_url: str = ""
    password: SecretStr | None = None
    secret_key: SecretStr | None = None
    max_batch_mb: int = Field(default=64, ge=1, le=1024)
    max_import_mb: int = Field(default=16_384, ge=1)
    parse_seconds: float = Field(default=5.0, gt=0)
    parse_memory_mb: int = Field(default=300, ge=64)
    http: HttpSettings = HttpSettings()
    trusted_proxies: TrustedProxies = ()
    channels: dict[str, dict[str, Any]] = Field(default_factory=dict)
    alerting: AlertingSettings = AlertingSettings()
    slack_webhook_url: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
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

    @model_validator(mode="before")
    @classmethod
    def _read_database_url(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not (file := values.get("database_url_file")):
            return values
        if values.get("database_url"):
            raise ValueError("expected one of database_url and database_url_file, not both")
        try:
            return {**values, "database_url": Path(file).expanduser().read_text(encoding="utf-8").strip()}
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ValueError(f"database_url_file: {file} cannot be read: {reason}") from None

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

    @field_validator("secret_key")
    @classmethod
    def _check_secret_key_length(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 32:
            raise ValueError("expected at least 32 random characters, such as those of: openssl rand -hex 32")
        return value

    @field_validator("formats")
    @classmethod
    def _have_different_names(cls, value: tuple[CustomFormat, ...]) -> tuple[CustomFormat, ...]:
        names = [custom.name for custom in value]
        if duplicates := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two formats are named {duplicates[0]!r}: give one of them several `patterns`")
        return value

    @property
    def database(self) -> str:
        """The database's URL: as set, or the SQLite file in `data_dir`."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser().absolute() / 'holter.db'}"

    @property
    def data_folder(self) -> Path:
        """The folder `data_dir` as an absolute path."""
        return self.data_dir.expanduser().absolute()

    @property
    def has_default_data_dir(self) -> bool:
        """Whether nobody has chosen a folder, which could then be shared on purpose."""
        return self.data_folder == default_data_dir().absolute()

    @property
    def address(self) -> str:
        """The address that users open: `public_url` if set, else the first of `addresses`."""
        return self.public_url or self.addresses[0]

    @property
    def addresses(self) -> list[str]:
        """Every address of the server that can be opened, those for other machines first."""
        return [url(host, self.port) for host in reachable(self.host)]

    @property
    def login_required(self) -> bool:
        """Whether other machines can reach the server, or a password is set."""
        outside = bool(self.public_url) and not is_loopback(urlsplit(self.public_url).hostname or "")
        return outside or self.password is not None or not is_loopback(self.host)

    def project(self, name: str) -> ProjectSettings:
        """The settings of the project of this name."""
        return settings_of(self.projects, name)

    def all_channels(self) -> dict[str, dict[str, Any]]:
        """The channels by name: those of `[channels.NAME]`, and those of the short settings.

        A table `[channels.slack]` or `[channels.email]` without a type adds to the short settings.
        """
        channels = {name: dict(options) for name, options in self.channels.items()}
        if self.slack_webhook_url:
            url = self.slack_webhook_url.get_secret_value()
            _add_channel(channels, "slack", {"type": "slack", "url": url})
        if self.slack_signing_secret:
            for options in channels.values():
                if options.get("type") == "slack" and "signing_secret_file" not in options:
                    options.setdefault("signing_secret", self.slack_signing_secret.get_secret_value())
        if self.smtp_url and self.email_to:
            to = [address.strip() for address in self.email_to.split(",")]
            email = {"type": "email", "url": self.smtp_url.get_secret_value(), "to": to}
            _add_channel(channels, "email", email | ({"from": self.email_from} if self.email_from else {}))
        return channels


def _add_channel(channels: dict[str, dict[str, Any]], name: str, options: dict[str, Any]) -> None:
    own = channels.get(name, {})
    if "type" not in own:
        channels[name] = options | own


class SettingsError(ValueError):
    """A setting is not valid; the message names it and what is expected."""


def load(flags: Mapping[str, Any] | None = None, *, file: Path | None = None) -> Settings:
    """The settings, with `flags` (None = not given) on top; `file` replaces the holter.toml of this folder.

    Raises SettingsError naming the setting and what is expected of it.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for name, other in (("database_url", "database_url_file"), ("database_url_file", "database_url")):
        if given.get(name) and other not in given:
            given[other] = None if other == "database_url_file" else ""  # a flag goes before the environment
    try:
        return (Settings if file is None else _settings_class(file))(**given)
    except ValidationError as error:
        raise SettingsError(
            f"settings (flags, HOLTER_* variables, {file or FILE}): " + "; ".join(describe_problems(error))
        ) from error
    except ValueError as error:  # a holter.toml that is not TOML, a HOLTER_CHANNELS that is not JSON
        raise SettingsError(f"settings ({file or FILE} or HOLTER_* variables): {error}") from error


def describe_problems(error: ValidationError) -> list[str]:
    """Each problem of settings as "key: what was expected", in the terms of holter.toml."""
    return [
        f"{'.'.join(map(str, problem['loc']))}: {_describe_error(problem['type'], problem['msg'])}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]


def _settings_class(file: Path) -> type[Settings]:
    if not file.is_file():
        raise SettingsError(f"{file}: no such settings file")

    class FileSettings(Settings):
        model_config = SettingsConfigDict(toml_file=file)

    return FileSettings


def _describe_error(error_type: str, message: str) -> str:
    if error_type in {"extra_forbidden", "unexpected_keyword_argument"}:
        return "unknown setting"
    return _EXPECTED.get(error_type) or message.removeprefix("Value error, ")
