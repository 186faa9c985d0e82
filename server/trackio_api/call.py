"""One call of the interface: its parameters, typed access to them, and errors in trackio's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holter.server.context import ServerContext
from holter.server.store.keys import storable_text

TRACKER = "trackio"


class TrackioError(Exception):
    """A call cannot be answered. Clients keep what they wanted to send, and send it again later."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackioCall:
    """A call with the named parameters of its body; `may_read`: whether its sender may read runs."""

    context: ServerContext
    parameters: Mapping[str, Any]
    may_read: bool = True

    def text(self, name: str) -> str:
        """A parameter that is a text, empty for anything else."""
        value = self.parameters.get(name)
        return storable_text(value) if isinstance(value, str) else ""

    def required(self, name: str) -> str:
        """The same. Raises TrackioError for an empty one."""
        if value := self.text(name):
            return value
        raise TrackioError(f"Missing required parameter: {name}")

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        """The objects of a list; anything else in it is left out."""
        value = self.parameters.get(name)
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


Handler = Callable[[TrackioCall], Any]
"""Answers a call with a value of JSON."""
