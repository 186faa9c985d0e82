"""What the keys of a filter mean, and which runs a filter finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from holter.server.run_search.config_columns import ConfigColumns
from holter.server.run_search.metric_columns import MetricColumns, Statistic
from holter.server.run_search.run_index import IndexedRun, IndexSnapshot
from holter.server.run_search.syntax import Condition, FilterError, Operator, parse
from holter.server.run_search.values import compares, read_moment, read_number, required_number, text_pattern
from holter.types import ConfigValue, Kind, Severity

Test = Callable[[IndexedRun], bool]
CONFIG_PREFIX = "config."
FUNCTION = re.compile(r"(last|best|min|max|mean)\((.+)\)")

_TEXTS: Mapping[str, Callable[[IndexedRun], Sequence[str]]] = {
    "project": lambda run: (run.project,),
    "name": lambda run: (run.name, run.display_name) if run.display_name else (run.name,),
    "id": lambda run: (run.public_id,),
    "group": lambda run: (run.group,) if run.group else (),
    "note": lambda run: (run.note,) if run.note else (),
    "tag": lambda run: run.tags,
    "kind": lambda run: [incident.kind for incident in run.incidents],
    "open": lambda run: [incident.kind for incident in run.incidents if incident.state == "open"],
    "severity": lambda run: [incident.severity for incident in run.incidents if incident.state == "open"],
    "state": lambda run: (run.state,),
    "health": lambda run: (run.health,),
    "is": lambda run: _properties(run),
}
_NUMBERS: Mapping[str, Callable[[IndexedRun], float | None]] = {
    "steps": lambda run: run.progress.last_step,
    "attempts": lambda run: run.progress.attempts,
    "points": lambda run: run.progress.points,
    "incidents": lambda run: sum(incident.state == "open" for incident in run.incidents),
}
_TIMES: Mapping[str, Callable[[IndexedRun], float]] = {
    "created": lambda run: run.created_at,
    "updated": lambda run: run.last_update,
}
_ALIASES = {
    "status": "state",
    "tags": "tag",
    "notes": "note",
    "step": "steps",
    "run": "name",
    "in": "project",
}
_SEVERITIES = tuple(str(severity) for severity in Severity)
PROPERTIES = ("attention", "running", "unresolved", "finished", "stalled", "starred", "damaged", "noted")
CHOICES: Mapping[str, Sequence[str]] = {
    "state": ("running", "stalled", "finished"),
    "health": ("ok", *_SEVERITIES),
    "severity": _SEVERITIES,
    "kind": tuple(sorted(Kind)),
    "open": tuple(sorted(Kind)),
    "is": PROPERTIES,
}
"""The possible values of the keys that have a fixed set of them."""
KEYS: Mapping[str, str] = {
    "project": "project",
    "name": "part of the name",
    "state": "running, stalled or finished",
    "is": "attention, unresolved, starred, ...",
    "tag": "a tag",
    "group": "a group",
    "note": "part of the note",
    "kind": "had an incident of this kind",
    "open": "has an open incident of this kind",
    "severity": "of an open incident",
    "health": "worst open incident",
    "incidents": "number of open incidents",
    "steps": "newest step",
    "attempts": "number of launches",
    "points": "number of points",
    "created": "date, or age such as 7d",
    "updated": "date, or age such as 2h",
    "id": "id in addresses",
}
"""All keys of runs themselves, with what their values are."""
_CONTAINED = frozenset({"name", "note"})
_ORDERED_ONLY = (Operator.IS, Operator.EQUALS, Operator.DIFFERS)


def _properties(run: IndexedRun) -> list[str]:
    names: set[str] = {run.section, run.state}
    names |= {name for name, holds in (("starred", run.starred), ("damaged", run.damaged)) if holds}
    return [*names, "noted"] if run.note else [*names]


class FoundRuns(NamedTuple):
    """The runs that a filter finds, in the order of the snapshot, and what its author should know."""

    runs: list[IndexedRun]
    notices: list[str]


class RunFilter:
    """Evaluates filters over the index, and over settings and metrics of all runs."""

    def __init__(self, config: ConfigColumns, metrics: MetricColumns) -> None:
        self._config = config
        self._metrics = metrics

    def find(self, text: str, snapshot: IndexSnapshot, now: float) -> FoundRuns:
        """The runs that a filter finds. Raises FilterError."""
        conditions = parse(text)
        notices: list[str] = []
        runs = list(snapshot.runs)
        # metrics last: they are read of the runs that are left
        for condition in sorted(conditions, key=lambda each: _cost(each.key)):
            test = self._test(condition, snapshot, runs, now, notices)
            runs = [run for run in runs if test(run) is not condition.negated]
        return FoundRuns(runs, notices)

    def _test(
        self,
        condition: Condition,
        snapshot: IndexSnapshot,
        runs: Sequence[IndexedRun],
        now: float,
        notices: list[str],
    ) -> Test:
        key = _ALIASES.get(condition.key.lower(), condition.key.lower())
        if not key:
            part = text_pattern(condition.values[0], anywhere=True)
            return lambda run: part(run.text)
        if key in _TEXTS:
            return _text_test(condition, key)
        if key in _NUMBERS:
            return _number_test(condition, _NUMBERS[key])
        if key in _TIMES:
            return _time_test(condition, _TIMES[key], now)
        if function := FUNCTION.fullmatch(condition.key):
            return self._metric_test(condition, function[2], Statistic(function[1]), runs)
        names = self._config.called(condition.key.removeprefix(CONFIG_PREFIX), snapshot)
        if names:
            return self._config_test(condition, names, snapshot)
        return self._unknown_test(condition, runs, notices)

    def _config_test(self, condition: Condition, names: Sequence[str], snapshot: IndexSnapshot) -> Test:
        columns = list(self._config.columns(names, snapshot).values())
        test = _config_value_test(condition)
        different = condition.operator in (Operator.DIFFERS, Operator.UNLIKE)

        def holds(run: IndexedRun) -> bool:
            values = [column[run.id] for column in columns if run.id in column]
            return bool(values) and (all if different else any)(test(value) for value in values)

        return holds

    def _metric_test(
        self, condition: Condition, metric: str, statistic: Statistic, runs: Sequence[IndexedRun]
    ) -> Test:
        if statistic is Statistic.MEAN:
            expected = "last, best, min or max of a metric: a mean can be a column, but not in a filter"
            raise FilterError(condition.position, f"expected {expected}")
        values = self._metrics.values(metric, statistic, runs)
        if condition.values == ("*",):
            return lambda run: run.id in values
        return _number_test(condition, lambda run: values.get(run.id))

    def _unknown_test(self, condition: Condition, runs: Sequence[IndexedRun], notices: list[str]) -> Test:
        key = condition.key
        is_number = all(value == "*" or read_number(value) is not None for value in condition.values)
        if is_number and not key.startswith(CONFIG_PREFIX):
            values = self._metrics.values(key, Statistic.LAST, runs)
            if values:
                return self._metric_test(condition, key, Statistic.LAST, runs)
        near = get_close_matches(key.lower(), KEYS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        notices.append(f"No run has a setting or metric {key}{hint}")
        return lambda run: False


def _cost(key: str) -> int:
    if key.lower() in KEYS or key.lower() in _ALIASES or not key:
        return 0
    return 2 if FUNCTION.fullmatch(key) else 1


def _text_test(condition: Condition, key: str) -> Test:
    if condition.operator.orders:
        raise FilterError(condition.position, f"{condition.key} is text: expected {condition.key}:VALUE")
    choices = CHOICES.get(key)
    contains = condition.operator in (Operator.LIKE, Operator.UNLIKE) or (
        key in _CONTAINED and condition.operator is Operator.IS
    )
    if choices and not contains:
        for value in condition.values:
            _check_choice(value, choices, condition)
    patterns = [text_pattern(value, anywhere=contains) for value in condition.values]
    texts = _TEXTS[key]

    def holds(run: IndexedRun) -> bool:
        return any(pattern(text.lower()) for text in texts(run) for pattern in patterns)

    return (
        (lambda run: not holds(run)) if condition.operator in (Operator.DIFFERS, Operator.UNLIKE) else holds
    )


def _check_choice(value: str, choices: Sequence[str], condition: Condition) -> None:
    if value.lower() in choices or "*" in value or "?" in value:
        return
    near = get_close_matches(value.lower(), choices, n=1)
    known = f"did you mean {near[0]}?" if near else f"expected {', '.join(choices)}"
    raise FilterError(condition.value_position, f"{condition.key} is never {value[:40]}: {known}")


def _number_test(condition: Condition, number_of: Callable[[IndexedRun], float | None]) -> Test:
    if condition.operator in (Operator.LIKE, Operator.UNLIKE):
        raise FilterError(condition.position, f"{condition.key} is a number: expected <, <=, =, >= or >")
    if condition.operator.orders and len(condition.values) > 1:
        raise FilterError(condition.value_position, f"expected one value after {condition.operator}")
    limits = [required_number(value, condition.value_position) for value in condition.values]
    tests = [compares(condition.operator, limit) for limit in limits]

    def holds(run: IndexedRun) -> bool:
        number = number_of(run)
        if number is None:
            return False
        return any(test(number) for test in tests) is not (condition.operator is Operator.DIFFERS)

    return holds


def _time_test(condition: Condition, time_of: Callable[[IndexedRun], float], now: float) -> Test:
    if not condition.operator.orders or len(condition.values) > 1:
        example = f"{condition.key}<7d (less than 7 days ago) or {condition.key}>=2026-11-20"
        raise FilterError(condition.position, f"{condition.key} is a time: expected such as {example}")
    moment = read_moment(condition.values[0], now, condition.value_position)
    test = compares(_REVERSED[condition.operator] if moment.is_age else condition.operator, moment.time)
    return lambda run: test(time_of(run))


_REVERSED = {
    Operator.LESS: Operator.MORE,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.MORE: Operator.LESS,
    Operator.AT_LEAST: Operator.AT_MOST,
}
"""A smaller age is a later time."""


def _config_value_test(condition: Condition) -> Callable[[ConfigValue], bool]:
    operator = condition.operator
    if condition.values == ("*",):
        return lambda value: True
    if operator.orders:
        if len(condition.values) > 1:
            raise FilterError(condition.value_position, f"expected one value after {operator}")
        test = compares(operator, required_number(condition.values[0], condition.value_position))
        return lambda value: (number := number_in(value)) is not None and test(number)
    alike = operator in (Operator.LIKE, Operator.UNLIKE)
    tests = [_equals(value, anywhere=alike) for value in condition.values]
    different = operator in (Operator.DIFFERS, Operator.UNLIKE)
    return lambda value: any(test(value) for test in tests) is not different


def _equals(wanted: str, *, anywhere: bool) -> Callable[[ConfigValue], bool]:
    pattern = text_pattern(wanted, anywhere=anywhere)
    number = None if anywhere else read_number(wanted)
    if number is None:
        return lambda value: pattern(config_text(value))
    same = compares(Operator.EQUALS, number)

    def holds(value: ConfigValue) -> bool:
        found = number_in(value)
        return pattern(config_text(value)) if found is None else same(found)

    return holds


def number_in(value: ConfigValue) -> float | None:
    """The number that a setting has, also as text; None for other values."""
    if isinstance(value, bool) or value is None:
        return None
    return read_number(value) if isinstance(value, str) else float(value)


def config_text(value: ConfigValue) -> str:
    """A setting as text in lower case."""
    return str(value).lower()
