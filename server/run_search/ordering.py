"""Orders of runs: by their own fields, by a setting, or by a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

from holter.server.run_search.conditions import CONFIG_PREFIX, FUNCTION, number_in
from holter.server.run_search.config_columns import ConfigColumns, value_of
from holter.server.run_search.metric_columns import MetricColumns, Statistic
from holter.server.run_search.run_index import IndexedRun, IndexSnapshot
from holter.server.run_sections import SECTIONS
from holter.types import ConfigValue, Severity

SortKey = Callable[[IndexedRun], Any]
ATTENTION = "attention"
"""The order of the overview: by section, then the most severe; what runs does not move when points arrive."""


class UnknownOrderError(ValueError):
    """There is nothing of this name to order runs by."""


def _attention(run: IndexedRun) -> tuple[int, int, float]:
    rank = 0 if run.health == "ok" else Severity(run.health).rank
    running = run.state != "finished"
    return SECTIONS.index(run.section), -rank, -(run.created_at if running else run.last_update)


_KEYS: Mapping[str, SortKey] = {
    ATTENTION: _attention,
    "updated": lambda run: run.last_update,
    "created": lambda run: run.created_at,
    "name": lambda run: _natural(run.name),
    "project": lambda run: run.project.lower(),
    "state": lambda run: run.state,
    "health": lambda run: 0 if run.health == "ok" else Severity(run.health).rank,
    "steps": lambda run: run.progress.last_step,
    "attempts": lambda run: run.progress.attempts,
    "points": lambda run: run.progress.points,
    "incidents": lambda run: sum(incident.state == "open" for incident in run.incidents),
    "group": lambda run: run.group.lower() or None,
    "tags": lambda run: run.tags or None,
    "starred": lambda run: run.starred,
}
ORDERS = tuple(_KEYS)


class RunOrder:
    """Sorts runs. Runs without a value come last, in both directions."""

    def __init__(self, config: ConfigColumns, metrics: MetricColumns) -> None:
        self._config = config
        self._metrics = metrics

    def sort(self, runs: Sequence[IndexedRun], sort: str, snapshot: IndexSnapshot) -> list[IndexedRun]:
        """The runs by a key; `-` in front: from the highest. Raises UnknownOrderError."""
        descending, name = sort.startswith("-"), sort.removeprefix("-")
        key = self._key(name, runs, snapshot)
        keyed = [(key(run), run) for run in runs]
        having = [pair for pair in keyed if not _is_missing(pair[0])]
        having.sort(key=lambda pair: pair[0], reverse=descending)
        return [run for _, run in having] + [run for value, run in keyed if _is_missing(value)]

    def _key(self, name: str, runs: Sequence[IndexedRun], snapshot: IndexSnapshot) -> SortKey:
        if name in _KEYS:
            return _KEYS[name]
        if function := FUNCTION.fullmatch(name):
            statistic = Statistic(function[1])
            if statistic is Statistic.MEAN:
                raise UnknownOrderError(
                    "runs are ordered by last, best, min or max of a metric, not by a mean"
                )
            values = self._metrics.values(function[2], statistic, runs)
            return lambda run: values.get(run.id)
        names = self._config.called(name.removeprefix(CONFIG_PREFIX), snapshot)
        if not names:
            expected = (
                f"expected a setting, a function of a metric such as last(loss), or {', '.join(ORDERS)}"
            )
            raise UnknownOrderError(f"{name[:60]!r} is unknown: {expected}")
        columns = list(self._config.columns(names, snapshot).values())
        return lambda run: _config_key(value_of(run, columns))


def _natural(name: str) -> list[tuple[int, int | str]]:
    """A name as a key in which numbers are ordered by size: run-9 before run-10."""
    parts: list[tuple[int, int | str]] = []
    digits = letters = ""
    for letter in name.lower():
        if letter.isdecimal() and letter.isascii():
            if letters:
                parts.append((1, letters))
            digits, letters = digits + letter, ""
        else:
            if digits:
                parts.append((0, int(digits)))
            digits, letters = "", letters + letter
    parts.append((0, int(digits)) if digits else (1, letters))
    return parts


def _config_key(value: ConfigValue | None) -> tuple[int, float | str] | None:
    """Numbers before text; None for no value."""
    if value is None:
        return None
    number = number_in(value)
    return (1, str(value).lower()) if number is None or isnan(number) else (0, number)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
