"""Channels: the destinations of notifications. A new one is a file here and a line in `BUILTIN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from holter.registry import build
from holter.server.channels.apprise import APPRISE
from holter.server.channels.channel import Channel, ChannelSettings, ChannelType, Delivered, GiveUp, Retry
from holter.server.channels.discord import DISCORD
from holter.server.channels.email import EMAIL
from holter.server.channels.message import Message
from holter.server.channels.ntfy import NTFY
from holter.server.channels.opsgenie import OPSGENIE
from holter.server.channels.pagerduty import PAGERDUTY
from holter.server.channels.pushover import PUSHOVER
from holter.server.channels.slack import SLACK
from holter.server.channels.teams import TEAMS
from holter.server.channels.webhook import WEBHOOK

__all__ = [
    "BUILTIN",
    "Channel",
    "ChannelError",
    "ChannelType",
    "ConfiguredChannel",
    "Delivered",
    "GiveUp",
    "Message",
    "Retry",
    "open_channels",
    "registry",
]

BUILTIN: tuple[ChannelType, ...] = (
    EMAIL,
    SLACK,
    WEBHOOK,
    PAGERDUTY,
    OPSGENIE,
    TEAMS,
    DISCORD,
    NTFY,
    PUSHOVER,
    APPRISE,
)


class ChannelError(ValueError):
    """A channel's settings are wrong. Names the setting, and no value."""


@dataclass(frozen=True, slots=True)
class ConfiguredChannel:
    """A channel with the name and settings it was given."""

    name: str
    settings: ChannelSettings
    channel: Channel


def registry() -> dict[str, ChannelType]:
    """Every type of channel by name: the built-in ones and those of installed packages."""
    return build(BUILTIN, group="holter.channels")


def open_channels(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, ConfiguredChannel]:
    """The channels that the tables `[channels.NAME]` describe, by name. Raises ChannelError."""
    types = registry()
    return {name: _open(name, options, types) for name, options in settings.items()}


def _open(name: str, options: Mapping[str, Any], types: Mapping[str, ChannelType]) -> ConfiguredChannel:
    channel_type = types.get(str(options.get("type")))
    if channel_type is None:
        raise ChannelError(f"[channels.{name}] type: expected one of {', '.join(sorted(types))}")
    try:
        settings = channel_type.settings.model_validate(dict(options))
    except ValidationError as error:
        raise ChannelError(
            "; ".join(_describe(name, problem) for problem in error.errors(include_input=False))
        ) from None
    return ConfiguredChannel(name, settings, channel_type.open(settings))


def _describe(name: str, problem: Mapping[str, Any]) -> str:
    setting = ".".join(str(part) for part in problem["loc"])
    reason = "there is no such setting" if problem["type"] == "extra_forbidden" else problem["msg"]
    return f"[channels.{name}] {setting}: {reason}".replace(" :", ":").replace("Value error, ", "")
