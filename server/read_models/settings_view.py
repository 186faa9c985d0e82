"""The settings of a server as a table: what is set, where, and the default. Secrets are never shown."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from holter.server.schemas.service import SettingSource, SettingView
from holter.settings import Settings
from holter.settings.alerting import parse_duration

_NO_SECRETS = frozenset(
    {
        "type", "minimum", "history", "settle", "calm", "burst", "window", "deadline", "timeout", "to",
        "from", "host", "port", "security", "allow_private", "api_url", "device", "expire", "format",
        "picture", "retry", "server", "teams",
    }
)  # fmt: skip
"""Options of channels whose values are shown; others may be passwords or addresses with a key."""
_SECRET_FIELDS = frozenset(
    {"database_url", "password", "secret_key", "slack_webhook_url", "slack_signing_secret", "smtp_url"}
)
_SECRET_NAME = re.compile(r"secret|password|token|(^|_)url$")
"""Names of settings in tables whose values may be secrets, or addresses with one."""
_LONGEST = 400


def list_settings(settings: Settings) -> list[SettingView]:
    """Every setting with its value as text; those of tables by their full names, `http.max_body_kb`."""
    file = _file_values(settings)
    return list(_rows(settings, file))


def settings_file(settings: Settings) -> Path | None:
    """The settings file that was read, None if there is none."""
    path = Path(str(settings.model_config.get("toml_file") or ""))
    return path.absolute() if path.is_file() else None


def _file_values(settings: Settings) -> Mapping[str, Any]:
    path = settings_file(settings)
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # changed since the start: what it says now is not what is in force
        return {}


def _rows(settings: Settings, file: Mapping[str, Any]) -> Iterator[SettingView]:
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        default = field.get_default(call_default_factory=True)
        source = _source(name, settings, file)
        if isinstance(value, BaseModel):
            yield from _table(name, value, default, source)
        elif name == "channels":
            yield from _channels(value, source)
        elif name == "projects":
            yield from _projects(value, source)
        else:
            yield _row(name, value, default, source, secret=name in _SECRET_FIELDS)


def _table(name: str, table: BaseModel, default: BaseModel, source: SettingSource) -> Iterator[SettingView]:
    """The settings of a table and of the tables in it."""
    for inner in type(table).model_fields:
        value, usual = getattr(table, inner), getattr(default, inner)
        origin: SettingSource = source if inner in table.model_fields_set else "default"
        if isinstance(value, BaseModel) and isinstance(usual, BaseModel):
            yield from _table(f"{name}.{inner}", value, usual, origin)
        else:
            secret = bool(_SECRET_NAME.search(inner))
            if _is_duration(type(table), inner):
                value, usual = _seconds(value), _seconds(usual)
            yield _row(f"{name}.{inner}", value, usual, origin, secret=secret)


def _is_duration(table: type[BaseModel], field: str) -> bool:
    """Whether a setting is a duration, whose name does not have the unit."""
    validators = (getattr(each, "func", None) for each in table.model_fields[field].metadata)
    return any(each is parse_duration for each in validators)


def _seconds(value: object) -> str:
    """A duration as `holter.toml` may have it."""
    return "" if value is None else f"{_text(value)}s"


def _source(name: str, settings: Settings, file: Mapping[str, Any]) -> SettingSource:
    if name not in settings.model_fields_set:
        return "default"
    if name in file:
        return "file"
    has_variable = any(variable.startswith(f"HOLTER_{name.upper()}") for variable in os.environ)
    return "environment" if has_variable else "flag"


def _channels(channels: Mapping[str, Mapping[str, Any]], source: SettingSource) -> Iterator[SettingView]:
    for channel, options in channels.items():
        for option, value in options.items():
            yield _row(f"channels.{channel}.{option}", value, None, source, secret=option not in _NO_SECRETS)


def _projects(projects: Mapping[str, BaseModel], source: SettingSource) -> Iterator[SettingView]:
    for pattern, project in projects.items():
        for table in sorted(project.model_fields_set):
            section = getattr(project, table)
            for option in sorted(section.model_fields_set):
                default = type(section).model_fields[option].get_default(call_default_factory=True)
                yield _row(f"projects.{pattern}.{table}.{option}", getattr(section, option), default, source)


def _row(
    name: str, value: object, default: object, source: SettingSource, *, secret: bool = False
) -> SettingView:
    secret = secret or isinstance(value, SecretStr)
    return {
        "name": name,
        "value": ("set, not shown" if value else "") if secret else _text(value),
        "default": "" if secret else _text(default),
        "source": source,
        "secret": secret,
    }


def _text(value: object) -> str:
    if value is None or value == "" or value == () or value == {}:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else str(value)  # 3600, not 3600.0
    if isinstance(value, tuple | list | frozenset | set):
        texts = [_text(item) for item in value]
        text = ", ".join(sorted(texts) if isinstance(value, frozenset | set) else texts)
    elif isinstance(value, Mapping):
        text = ", ".join(f"{key} = {_text(item)}" for key, item in value.items())
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
