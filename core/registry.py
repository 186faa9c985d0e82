"""One registry for everything that can be plugged in: formats, detectors, channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar


class Named(Protocol):
    """Anything with a name of its own."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class DuplicateNameError(ValueError):
    """Two plug-ins claim one name."""


def build(builtin: Iterable[T], *, group: str) -> dict[str, T]:
    """The built-in plug-ins and those that installed packages announce under `group`, by name.

    An entry point names a callable without arguments that makes the plug-in. Raises
    DuplicateNameError when two claim one name: silently preferring one would be a guess.
    """
    registry: dict[str, T] = {}
    external: list[T] = [make() for make in _announced(group)]
    for plugin in (*builtin, *external):
        holder = registry.setdefault(plugin.name, plugin)
        if holder is not plugin:
            raise DuplicateNameError(
                f"{plugin.name!r}: {type(holder).__module__} and {type(plugin).__module__}"
            )
    return registry


@cache
def _announced(group: str) -> tuple[Callable[[], Any], ...]:
    """What installed packages announce; looking through all of them takes milliseconds."""
    return tuple(entry.load() for entry in entry_points(group=group))
