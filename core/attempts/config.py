"""What logs say of launches besides points, by attempt: settled with rows, or waiting for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holter.types import NO_CONFIG, Batch, Config, ConfigKey, ConfigValue

ByAttempt = Mapping[ConfigKey, Mapping[int, ConfigValue]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What a writer stated after its last row, or before its first (`silent`), in or after this attempt."""

    attempt: int
    silent: bool
    config: Config


def spread(stretches: Sequence[tuple[int, Batch]], said: Config, row: int) -> list[tuple[int, Batch]]:
    """The stretches of a batch with what was said of the launch of its `row`, and of no other."""
    found, begin = [], 0
    for attempt, piece in stretches:
        config = said if begin <= row < begin + len(piece.steps) else NO_CONFIG
        found.append((attempt, piece if piece.config == config else replace(piece, config=config)))
        begin += len(piece.steps)
    return found


def by_attempt(settled: ByAttempt, waiting: Iterable[Waiting], started: Iterable[int]) -> ByAttempt:
    """What is said of each attempt, with what no row has settled yet.

    That belongs to the first attempt from its writer's on that says nothing else. Where each one does, a
    writer that had logged rows has announced a new launch, which comes after all `started`; what one
    without rows says then only fills gaps, and of a launch that has not begun it says nothing yet.
    """
    found = {key: dict(values) for key, values in settled.items()}
    held = {number for values in found.values() for number in values} | set(started)
    following = max(held, default=-1) + 1
    for one in waiting:
        if one.silent and one.attempt >= following > 0:
            continue
        numbers = [*(number for number in sorted(held) if number >= one.attempt), following]
        fits = next(number for number in numbers if not _contradicts(settled, number, one.config))
        number = one.attempt if one.silent and fits == following else fits
        for key, value in one.config.items():
            values = found.setdefault(key, {})
            if not (one.silent and number in values):
                values[number] = value
    return {key: dict(sorted(found[key].items())) for key in sorted(found)}


def _contradicts(settled: ByAttempt, number: int, config: Config) -> bool:
    return any(settled.get(key, {}).get(number, value) != value for key, value in config.items())


def newest(config: ByAttempt) -> dict[str, ConfigValue]:
    """The job's settings by their names, without those of single processes: of each the newest attempt's."""
    return {key.name: values[max(values)] for key, values in config.items() if not key.labels}
