"""Channels: where notifications go. One file a channel, and one line in `BUILTIN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from holter.registry import build
from holter.server.channels.channel import Channel, ChannelSettings, ChannelType, Delivered, GiveUp, Retry
from holter.server.channels.email import EMAIL
from holter.server.channels.message import Message
from holter.server.channels.slack import SLACK

__all__ = [
    "BUILTIN",
    "Channel",
    "ChannelError",
    "ChannelType",
    "Delivered",
    "GiveUp",
    "Message",
    "ConfiguredChannel",
    "Retry",
    "open_channels",
    "registry",
]

BUILTIN: tuple[ChannelType, ...] = (EMAIL, SLACK)


class ChannelError(ValueError):
    """A channel cannot be set up as its settings say. Names the setting and tells no value."""


@dataclass(frozen=True, slots=True)
class ConfiguredChannel:
    """A channel that is set up, with the name and settings it was given."""

    name: str
    settings: ChannelSettings
    channel: Channel


def registry() -> dict[str, ChannelType]:
    """Every kind of channel by name: the built-in ones and those of installed packages."""
    return build(BUILTIN, group="holter.channels")


def open_channels(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, ConfiguredChannel]:
    """The channels that the tables `[channels.NAME]` describe, by name. Raises ChannelError."""
    kinds = registry()
    return {name: _open(name, options, kinds) for name, options in settings.items()}


def _open(name: str, options: Mapping[str, Any], kinds: Mapping[str, ChannelType]) -> ConfiguredChannel:
    kind = kinds.get(str(options.get("type")))
    if kind is None:
        raise ChannelError(f"[channels.{name}] type: expected one of {', '.join(sorted(kinds))}")
    try:
        settings = kind.settings.model_validate(dict(options))
    except ValidationError as error:
        raise ChannelError(
            "; ".join(_spelled(name, one) for one in error.errors(include_input=False))
        ) from None
    return ConfiguredChannel(name, settings, kind.open(settings))


def _spelled(name: str, error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    what = "there is no such setting" if error["type"] == "extra_forbidden" else error["msg"]
    return f"[channels.{name}] {where}: {what}".replace(" :", ":").replace("Value error, ", "")
