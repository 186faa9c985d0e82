"""The environment of a run's launches: taken out of the configuration, and compared between attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holter.attempts.config import ConfigByAttempt
from holter.attempts.config_diff import list_changes
from holter.environment_names import (
    GIT_CHANGED,
    GIT_CHANGED_FILES,
    INCOMPLETE,
    OF_ONE_LAUNCH,
    PACKAGES,
    PREFIX,
    VARIABLES,
)
from holter.types import ConfigKey, ConfigValue, Labels

NOT_INSTALLED = "not installed"
NOT_SET = "not set"
NO_VALUE = "none"
_PARTS_BY_NAME = {PACKAGES: "packages", VARIABLES: "variables", "git_": "git"}
"""The part of the capture that states names with this beginning."""
_ABSENT = {PACKAGES: NOT_INSTALLED, VARIABLES: NOT_SET}


def without_environment(config: ConfigByAttempt) -> ConfigByAttempt:
    """The configuration of a run without the environment of its launches."""
    return {key: values for key, values in config.items() if not key.name.startswith(PREFIX)}


def environment_of(config: ConfigByAttempt) -> ConfigByAttempt:
    """The environment of each launch: settings without the prefix, a setting for each package.

    A launch that states its environment states all of it: what an earlier or later one has and this one has
    not is `NOT_INSTALLED`, `NOT_SET` or `NO_VALUE` there, unless the capture of that part was incomplete, or
    the changed files of its repository could not be counted in time.
    """
    stated: dict[ConfigKey, dict[int, ConfigValue]] = {}
    for key, values in config.items():
        if not key.name.startswith(PREFIX):
            continue
        name = key.name.removeprefix(PREFIX)
        for attempt, value in values.items():
            for each, expanded in _expand(name, value):
                stated.setdefault(ConfigKey(each, key.labels), {})[attempt] = expanded
    return _with_absent(stated)


def _expand(name: str, value: ConfigValue) -> Iterator[tuple[str, ConfigValue]]:
    if not name.startswith(PACKAGES):
        yield name, value
        return
    for line in str(value).splitlines():
        package, _, version = line.partition(" ")
        if package and version:
            yield f"{PACKAGES}{package}", version


def _with_absent(stated: Mapping[ConfigKey, Mapping[int, ConfigValue]]) -> ConfigByAttempt:
    """Complete what each source states: the job (no labels), another host, or an agent."""
    attempts: dict[Labels, set[int]] = {}
    for key, values in stated.items():
        attempts.setdefault(key.labels, set()).update(values)
    completed = {}
    for key, values in sorted(stated.items()):
        if key.name in OF_ONE_LAUNCH:
            completed[key] = dict(sorted(values.items()))
            continue
        incomplete = stated.get(ConfigKey(INCOMPLETE, key.labels), {})
        part = next((part for begin, part in _PARTS_BY_NAME.items() if key.name.startswith(begin)), "")
        absent = next((text for begin, text in _ABSENT.items() if key.name.startswith(begin)), NO_VALUE)
        complete = attempts[key.labels] - values.keys()
        if key.name in (GIT_CHANGED, GIT_CHANGED_FILES):  # unknown where the files could not be counted
            complete &= stated.get(ConfigKey(GIT_CHANGED, key.labels), {}).keys()
        missing = (attempt for attempt in complete if part not in str(incomplete.get(attempt, "")).split())
        completed[key] = dict(sorted({**dict.fromkeys(missing, absent), **values}.items()))
    return completed


def list_environment_changes(environment: ConfigByAttempt) -> list[dict[str, Any]]:
    """What changed at each launch, as `list_changes` lists settings, without what differs in any case.

    A host that joins with values that other hosts had before is no change, and neither is what the job states
    for the first time: every complete capture states it, so that the ones before were not.
    """
    known: dict[str, dict[int, set[ConfigValue]]] = {}
    for key, values in environment.items():
        for attempt, value in values.items():
            known.setdefault(key.name, {}).setdefault(attempt, set()).add(value)
    compared = {
        key: values
        for key, values in environment.items()
        if key.name not in OF_ONE_LAUNCH and not (key.labels and _is_known(known[key.name], values))
    }
    changes = []
    for launch in list_changes(compared):
        if settings := [each for each in launch["settings"] if each["before"] is not None or each["labels"]]:
            changes.append(launch | {"settings": settings})
    return changes


def _is_known(by_attempt: Mapping[int, set[ConfigValue]], values: Mapping[int, ConfigValue]) -> bool:
    """Whether each value of a host also occurs in an earlier attempt, or is the first one of its name."""
    return all(
        attempt == min(by_attempt)
        or any(value in by_attempt[earlier] for earlier in by_attempt if earlier < attempt)
        for attempt, value in values.items()
    )
