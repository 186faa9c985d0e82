"""The settings of routing as lines of `holter.toml`: read, and written for a policy that is in force."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from holter.server.alerting.routing.policy import NOBODY, NotificationPolicy
from holter.server.alerting.routing.route_tree import BY_INCIDENT, RoutingError
from holter.settings.alerting import AlertingSettings
from holter.settings.settings import describe_problems

_TABLES = frozenset(
    {
        "route", "receivers", "inhibit_rules", "builtin_inhibition", "time_intervals", "digests",
        "report_failing_channels",
    }
)  # fmt: skip
"""Settings of `[alerting]` that decide who is notified; others may contain secrets."""
_DURATIONS = frozenset({"group_wait", "group_interval", "repeat_interval", "escalate_after"})
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def read_settings_text(text: str) -> AlertingSettings:
    """The settings of `[alerting]` in lines of a `holter.toml` that has nothing else.

    Raises RoutingError with the line, or the key and what is expected.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RoutingError(f"this is not TOML: {error}") from None
    except RecursionError:
        raise RoutingError("this is not TOML: its values are nested too deeply") from None
    if others := sorted(tables.keys() - {"alerting"}):
        raise RoutingError(f"{others[0]}: expected tables of [alerting] only; channels are the server's")
    alerting = tables.get("alerting", {})
    try:
        settings = AlertingSettings.model_validate(alerting)
    except ValidationError as error:
        raise RoutingError("; ".join(f"alerting.{problem}" for problem in describe_problems(error))) from None
    except RecursionError:
        raise RoutingError("alerting.route: the routes are nested too deeply") from None
    if others := sorted(alerting.keys() - _TABLES):
        raise RoutingError(f"alerting.{others[0]}: it is no setting of routing, and has no effect on it")
    return settings


def settings_text(settings: AlertingSettings, policy: NotificationPolicy) -> str:
    """The lines that make the policy in force; where no route is set, a tree that decides the same."""
    tables = settings.model_dump(mode="json", by_alias=True, exclude_unset=True, include=set(_TABLES))
    if settings.route is None:
        routes = [
            {
                "matchers": [str(matcher) for matcher in route.matchers],
                "receiver": route.receiver,
                "continue": True,
            }
            for route in policy.root.routes
        ]
        root: dict[str, Any] = {"receiver": NOBODY, "group_by": list(BY_INCIDENT), "repeat_interval": 0}
        tables = {"route": root | {"routes": routes}} | tables
    return "\n".join(_table(tables, ("alerting",))).strip() + "\n"


def _table(values: Mapping[str, Any], path: Sequence[str], header: str = "") -> Iterator[str]:
    """The lines of a table: its own values first, as TOML requires, then the tables in it."""
    simple = {name: value for name, value in values.items() if not _is_table(name, value)}
    if simple or header.startswith("[["):
        yield from ("", header or f"[{'.'.join(path)}]")
    for name, value in simple.items():
        yield f"{_key(name)} = {_value(name, value)}"
    for name, value in values.items():
        inner = (*path, _key(name))
        if isinstance(value, Mapping):
            yield from _table(value, inner)
        elif _is_table(name, value):
            for each in value:
                yield from _table(each, inner, f"[[{'.'.join(inner)}]]")


def _is_table(name: str, value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return name != "times" and isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _text(name)


def _value(name: str, value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in _DURATIONS:
        return _text(_duration(float(value)))
    if isinstance(value, list):
        return f"[{', '.join(_value('', each) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(inner)} = {_value(inner, each)}' for inner, each in value.items())} }}"
    return json.dumps(value)


def _text(text: str) -> str:
    """A basic string of TOML, whose escapes are those of JSON but for the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _duration(seconds: float) -> str:
    """Seconds as `parse_duration` reads them: 5400 is "1h30m"."""
    rest, parts = round(1000 * seconds), []
    for unit, size in (*((name, 1000 * length) for name, length in _UNITS), ("ms", 1)):
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0"
