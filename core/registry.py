"""The registry of plug-ins: formats, detectors, channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class DuplicateNameError(ValueError):
    """Two plug-ins have the same name."""


def build(builtin: Iterable[T], *, group: str) -> dict[str, T]:
    """The built-in plug-ins and those that installed packages declare under `group`, by name.

    An entry point names a callable without arguments that returns the plug-in. Raises DuplicateNameError
    when two have the same name.
    """
    registry: dict[str, T] = {}
    external: list[T] = [factory() for factory in _entry_points(group)]
    for plugin in (*builtin, *external):
        registered = registry.setdefault(plugin.name, plugin)
        if registered is not plugin:
            raise DuplicateNameError(
                f"{plugin.name!r}: {type(registered).__module__} and {type(plugin).__module__}"
            )
    return registry


@cache
def _entry_points(group: str) -> tuple[Callable[[], Any], ...]:
    """The plug-in factories of installed packages; cached, as reading the metadata takes milliseconds."""
    return tuple(entry.load() for entry in entry_points(group=group))
