"""A run's launches side by side: what each was set up with, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holter.attempts.config import ByAttempt
from holter.types import ConfigValue, Labels

_NAMED = 8
"""Processes that are named where a value is theirs; the others are counted."""


def attempts_of(config: ByAttempt) -> list[int]:
    """The launches that anything is said of."""
    return sorted({number for values in config.values() for number in values})


def settings(config: ByAttempt) -> list[dict[str, Any]]:
    """Each setting by its name, with its values: in which attempts, and of which processes; JSON-able.

    `processes` counts those that a value is stated of with labels, 0 where it is the whole job's.
    """
    found = []
    for name, values in _by_name(config).items():
        stated: list[dict[str, Any]] = []
        whose: dict[tuple[str, ConfigValue, tuple[Labels, ...]], dict[str, Any]] = {}
        for attempt in sorted({number for one in values.values() for number in one}):
            for value, holders in _held(values, attempt):
                place = type(value).__name__, value, tuple(holders)
                if place not in whose:
                    whose[place] = {"attempts": [], "value": value, **_processes(holders)}
                    stated.append(whose[place])
                whose[place]["attempts"].append(attempt)
        found.append({"name": name, "values": stated})
    return found


def changes(config: ByAttempt) -> list[dict[str, Any]]:
    """What each launch was set up with otherwise than those before it, for those where anything was.

    `before` is the newest word of earlier launches, null where none said anything. What a launch does not
    state is taken to be as before.
    """
    found = []
    for number in attempts_of(config)[1:]:
        changed = [one for name, values in _by_name(config).items() for one in _changed(name, values, number)]
        if changed:
            found.append({"attempt": number, "settings": changed})
    return found


def _changed(
    name: str, values: Mapping[Labels, Mapping[int, ConfigValue]], number: int
) -> Iterator[dict[str, Any]]:
    pairs: dict[tuple[Any, ...], tuple[ConfigValue | None, ConfigValue, list[Labels]]] = {}
    for labels, by_attempt in values.items():
        if number not in by_attempt:
            continue
        now = by_attempt[number]
        earlier = [attempt for attempt in by_attempt if attempt < number]
        before = by_attempt[max(earlier)] if earlier else None
        if (type(before), before) != (type(now), now):
            place = type(before).__name__, before, type(now).__name__, now
            pairs.setdefault(place, (before, now, []))[2].append(labels)
    for before, now, holders in pairs.values():
        yield {"name": name, "before": before, "after": now, **_processes(holders)}


def _by_name(config: ByAttempt) -> dict[str, dict[Labels, Mapping[int, ConfigValue]]]:
    names: dict[str, dict[Labels, Mapping[int, ConfigValue]]] = {}
    for key, values in config.items():
        names.setdefault(key.name, {})[key.labels] = values
    return names


def _held(
    values: Mapping[Labels, Mapping[int, ConfigValue]], attempt: int
) -> list[tuple[ConfigValue, list[Labels]]]:
    held: dict[tuple[type, ConfigValue], tuple[ConfigValue, list[Labels]]] = {}
    for labels, by_attempt in values.items():
        if attempt in by_attempt:
            value = by_attempt[attempt]
            held.setdefault((type(value), value), (value, []))[1].append(labels)
    return list(held.values())


def _processes(holders: Iterable[Labels]) -> dict[str, Any]:
    labelled = [labels for labels in holders if labels]
    return {"processes": len(labelled), "labels": [dict(labels) for labels in labelled[:_NAMED]]}
