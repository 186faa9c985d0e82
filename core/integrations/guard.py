"""Keeps errors of a plug-in away from the training: they are reported once and otherwise ignored."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

_LOGGER = logging.getLogger("holter")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_reported: set[str] = set()


def guarded(hook: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a hook return None instead of raising an exception; the first error of each hook is logged."""

    @functools.wraps(hook)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as error:
            report(hook.__qualname__, error)
            return None

    return cast("Callable[_P, _R]", call)


def report(where: str, error: Exception) -> None:
    """Log an error of a plug-in, once for each place."""
    if where not in _reported:
        _reported.add(where)
        _LOGGER.warning("holter: %s is ignored from now on: %s: %s", where, type(error).__name__, error)
