"""Comparison of the configs of a run's launches: the settings of each, and changes from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holter.attempts.config import ConfigByAttempt
from holter.types import ConfigValue, Labels

_MAX_LISTED_PROCESSES = 8
"""Processes that are listed with a value of theirs; further ones are only counted."""


def attempts_with_config(config: ConfigByAttempt) -> list[int]:
    """The attempts with any setting."""
    return sorted({number for values in config.values() for number in values})


def list_settings(config: ConfigByAttempt) -> list[dict[str, Any]]:
    """Each setting with its values, and the attempts and processes of each value, as JSON-able values.

    `processes` is the number of processes that a value is stated of with labels, 0 where it is the job's.
    """
    listed = []
    for name, values in _by_name(config).items():
        stated: list[dict[str, Any]] = []
        entries: dict[tuple[str, ConfigValue, tuple[Labels, ...]], dict[str, Any]] = {}
        for attempt in sorted({number for by_attempt in values.values() for number in by_attempt}):
            for value, processes in _processes_by_value(values, attempt):
                identity = type(value).__name__, value, tuple(processes)
                if identity not in entries:
                    entries[identity] = {"attempts": [], "value": value, **_processes_json(processes)}
                    stated.append(entries[identity])
                entries[identity]["attempts"].append(attempt)
        listed.append({"name": name, "values": stated})
    return listed


def list_changes(config: ConfigByAttempt) -> list[dict[str, Any]]:
    """The settings that changed at each launch, for launches where any did.

    `before` is the newest value of earlier launches, null where none stated one. A setting that a launch does
    not state counts as unchanged.
    """
    listed = []
    for number in attempts_with_config(config)[1:]:
        changed = [
            change
            for name, values in _by_name(config).items()
            for change in _changes_at(name, values, number)
        ]
        if changed:
            listed.append({"attempt": number, "settings": changed})
    return listed


def _changes_at(
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
            identity = type(before).__name__, before, type(now).__name__, now
            pairs.setdefault(identity, (before, now, []))[2].append(labels)
    for before, now, processes in pairs.values():
        yield {"name": name, "before": before, "after": now, **_processes_json(processes)}


def _by_name(config: ConfigByAttempt) -> dict[str, dict[Labels, Mapping[int, ConfigValue]]]:
    names: dict[str, dict[Labels, Mapping[int, ConfigValue]]] = {}
    for key, values in config.items():
        names.setdefault(key.name, {})[key.labels] = values
    return names


def _processes_by_value(
    values: Mapping[Labels, Mapping[int, ConfigValue]], attempt: int
) -> list[tuple[ConfigValue, list[Labels]]]:
    processes: dict[tuple[type, ConfigValue], tuple[ConfigValue, list[Labels]]] = {}
    for labels, by_attempt in values.items():
        if attempt in by_attempt:
            value = by_attempt[attempt]
            processes.setdefault((type(value), value), (value, []))[1].append(labels)
    return list(processes.values())


def _processes_json(processes: Iterable[Labels]) -> dict[str, Any]:
    labelled = [labels for labels in processes if labels]
    return {
        "processes": len(labelled),
        "labels": [dict(labels) for labels in labelled[:_MAX_LISTED_PROCESSES]],
    }
