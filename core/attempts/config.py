"""The config of a run's launches, by attempt: assigned by rows, or pending until a row comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holter.types import NO_CONFIG, Batch, Config, ConfigKey, ConfigValue

ConfigByAttempt = Mapping[ConfigKey, Mapping[int, ConfigValue]]
"""The value of each setting in each attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingConfig:
    """Config that a writer stated after its last row, or before its first (`silent`), during this attempt."""

    attempt: int
    silent: bool
    config: Config


def attach_config(segments: Sequence[tuple[int, Batch]], config: Config, row: int) -> list[tuple[int, Batch]]:
    """The segments of a batch with `config` on the segment that contains `row`, and on no other."""
    attached, begin = [], 0
    for attempt, segment in segments:
        own = config if begin <= row < begin + len(segment.steps) else NO_CONFIG
        attached.append((attempt, segment if segment.config == own else replace(segment, config=own)))
        begin += len(segment.steps)
    return attached


def config_by_attempt(
    assigned: ConfigByAttempt, pending: Iterable[PendingConfig], started: Iterable[int]
) -> ConfigByAttempt:
    """The config of each attempt, including config that no row has assigned yet.

    Pending config belongs to the first attempt, from its writer's on, that does not contradict it. Where each
    one does, a writer that had logged rows has announced a new launch, which comes after all `started`; the
    config of a writer without rows then only fills gaps, and is left out for a launch that has not begun.
    """
    config = {key: dict(values) for key, values in assigned.items()}
    known = {number for values in config.values() for number in values} | set(started)
    following = max(known, default=-1) + 1
    for statement in pending:
        if statement.silent and statement.attempt >= following > 0:
            continue
        numbers = [*(number for number in sorted(known) if number >= statement.attempt), following]
        fits = next(number for number in numbers if not _contradicts(assigned, number, statement.config))
        number = statement.attempt if statement.silent and fits == following else fits
        for key, value in statement.config.items():
            values = config.setdefault(key, {})
            if not (statement.silent and number in values):
                values[number] = value
    return {key: dict(sorted(config[key].items())) for key in sorted(config)}


def _contradicts(assigned: ConfigByAttempt, number: int, config: Config) -> bool:
    return any(assigned.get(key, {}).get(number, value) != value for key, value in config.items())


def newest_settings(config: ConfigByAttempt) -> dict[str, ConfigValue]:
    """The newest value of each setting of the job by its name, without settings of single processes."""
    return {key.name: values[max(values)] for key, values in config.items() if not key.labels}
