"""The interface of channels: send a message; it arrived, may arrive later, or never will."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, model_validator

from holter.server.channels.message import Message
from holter.types import Severity


@dataclass(frozen=True, slots=True)
class Delivered:
    """It arrived. `thread` groups later messages with it, None where the channel has no threads."""

    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It did not arrive, and may later. `after`: seconds that the receiving server asked to wait."""

    reason: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It did not arrive and never will: another attempt is pointless."""

    reason: str


Outcome = Delivered | Retry | GiveUp


class Channel(Protocol):
    """A configured destination of messages.

    `send` returns in bounded time (`SendDeadline` ends connections), never raises for what the receiving
    server does, and has no secret in a reason. A message may be sent twice (its `key` is then the same).
    `destination` is a text for people; `wants_picture`: the channel can show a PNG.
    """

    @property
    def destination(self) -> str: ...

    @property
    def wants_picture(self) -> bool: ...

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send it, into `thread` if there is one: that of `Delivered` for the incident's first message."""
        ...


@runtime_checkable
class UpdatingChannel(Protocol):
    """A channel that can replace the first message of a thread by one that states what holds now."""

    def update(self, message: Message, thread: str) -> Outcome:
        """Replace it, as bounded as `send`. `Delivered`, too, where it cannot be replaced any more."""
        ...


@runtime_checkable
class PacedChannel(Protocol):
    """A channel whose receiving server takes one message in `least_interval` seconds."""

    @property
    def least_interval(self) -> float: ...


class ChannelSettings(BaseModel):
    """Settings of every channel. `hide_input_in_errors`: a mistyped secret is not printed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)

    type: str
    minimum: Severity = Field(Severity.WARNING, description="the lowest severity that is sent")
    history: bool = Field(False, description="also send what ended long before Holter saw it")
    settle: float = Field(
        2.0, ge=0, description="seconds to wait for more about an incident before it is sent"
    )
    calm: float = Field(
        300.0, ge=0, le=900, description="seconds that a recovery must have lasted before it is sent"
    )
    burst: int = Field(10, ge=1, description="messages within `window`, more become one")
    deadline: float = Field(
        30.0,
        gt=0,
        le=90,
        description="seconds for a whole send, from connecting to the last answer",
    )
    window: float = Field(3600.0, gt=0, description="seconds in which `burst` messages may be sent")

    @model_validator(mode="before")
    @classmethod
    def _read_secret_files(cls, values: Any) -> Any:
        """Replace `NAME_file` by the secret NAME that the file contains."""
        if not isinstance(values, dict):
            return values
        secrets = [name for name, field in cls.model_fields.items() if "SecretStr" in str(field.annotation)]
        named = [name for name in secrets if values.get(f"{name}_file")]
        values = dict(values)
        for name in named:
            if values.get(name):
                raise ValueError(f"expected one of {name} and {name}_file, not both")
            values[name] = _read_secret(name, values.pop(f"{name}_file"))
        return values


def _read_secret(name: str, file: object) -> str:
    try:
        secret = Path(str(file)).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"{name}_file: {file} cannot be read: {reason}") from None
    if not secret:
        raise ValueError(f"{name}_file: {file} is empty")
    return secret


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelType:
    """A type of channel: its name in settings, the model of its settings, and its constructor."""

    name: str
    settings: type[ChannelSettings]
    open: Callable[[Any], Channel]
