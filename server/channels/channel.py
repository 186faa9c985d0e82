"""What a channel promises: to send a message, and to say whether it arrived, may yet, or never will."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from holter.server.channels.message import Message
from holter.types import Severity


@dataclass(frozen=True, slots=True)
class Delivered:
    """It arrived. `thread` is what keeps later messages together with it, None where nothing can."""

    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It did not arrive, and may later. `after`: seconds that the other side asked to be left alone."""

    reason: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It did not arrive and never will: trying the same again is pointless."""

    reason: str


Outcome = Delivered | Retry | GiveUp


class Channel(Protocol):
    """A destination of messages, set up.

    `send` returns in bounded time, never raises for what the other side does, and tells no secret in a
    reason. A message may be sent twice (its `key` is then the same). `destination` is for people;
    `wants_picture` says that the channel can show a PNG.
    """

    @property
    def destination(self) -> str: ...

    @property
    def wants_picture(self) -> bool: ...

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send it, below `thread` if it has one: what `Delivered` of the incident's first message gave."""
        ...


class ChannelSettings(BaseModel):
    """What every channel can be told. `hide_input_in_errors`: a mistyped secret is not printed back."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)

    type: str
    minimum: Severity = Field(Severity.WARNING, description="the least severity that is sent")
    history: bool = Field(False, description="also send what ended long before Holter saw it")
    settle: float = Field(
        5.0, ge=0, description="seconds to wait for more about an incident before it is sent"
    )
    calm: float = Field(
        300.0, ge=0, le=900, description="seconds that a recovery must have lasted before it is sent"
    )
    burst: int = Field(10, ge=1, description="messages within `window`, more are told together in one")
    window: float = Field(3600.0, gt=0, description="seconds over which `burst` counts")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelType:
    """A kind of channel: the name that settings call it by, its settings, and how one is made of them."""

    name: str
    settings: type[ChannelSettings]
    open: Callable[[Any], Channel]
