"""Completion of filters: keys, settings, metrics, and the values that runs have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from holter.server.run_search.conditions import CHOICES, KEYS
from holter.server.run_search.config_columns import ConfigColumns
from holter.server.run_search.metric_columns import SUGGESTED_RUNS, MetricColumns
from holter.server.run_search.run_index import IndexedRun, IndexSnapshot
from holter.server.run_search.syntax import quote
from holter.server.schemas.run_search import Completion, CompletionList

MAX_COMPLETIONS = 50
_CONDITION = re.compile(r"-?([^\s\":=<>~!]+)(!=|<=|>=|!~|[:=<>~])(?:.*,)?")
_ORDERED = re.compile(r"[<>]")
_OWN_VALUES: Mapping[str, Callable[[IndexedRun], Sequence[str]]] = {
    "project": lambda run: (run.project,),
    "tag": lambda run: run.tags,
    "group": lambda run: (run.group,) if run.group else (),
    "name": lambda run: (run.name,),
}
_AGES = ("1h", "6h", "1d", "7d", "30d")


class FilterCompletion:
    """Completes filters with what the runs have."""

    def __init__(self, config: ConfigColumns, metrics: MetricColumns) -> None:
        self._config = config
        self._metrics = metrics

    def complete(self, text: str, at: int, snapshot: IndexSnapshot) -> CompletionList:
        """What can stand at the position `at` of a filter, instead of what is written there already."""
        at = max(0, min(at, len(text)))
        start = _word_start(text, at)
        word = text[start:at]
        condition = _CONDITION.match(word)
        if condition is None:
            negation = word.startswith("-")
            part = word.removeprefix("-").lstrip('"').lower()
            return _answer(start + negation, at, self._keys(part, snapshot))
        behind = start + condition.end()
        part = text[behind:at].strip('"').lower()
        found = [
            each for each in self._values(condition[1], condition[2], snapshot) if part in each[0].lower()
        ]
        return _answer(behind, at, [(f"{quote(value)} ", detail) for value, detail in found])

    def metric_names(self, snapshot: IndexSnapshot) -> list[str]:
        """The metrics of the newest runs."""
        return self._metrics.names(snapshot.runs[:SUGGESTED_RUNS])

    def _keys(self, part: str, snapshot: IndexSnapshot) -> list[tuple[str, str]]:
        keys = [(f"{key}:" if key not in ("steps", "attempts", "points", "incidents") else f"{key}>", detail)
                for key, detail in KEYS.items() if part in key]  # fmt: skip
        keys = [
            (text.replace(":", "<") if text in ("created:", "updated:") else text, detail)
            for text, detail in keys
        ]
        if not part:
            return keys
        settings = [(quote(name), "setting") for name in self._config.names(snapshot) if part in name.lower()]
        metrics = [
            (f"{function}({name})", "metric")
            for name in self.metric_names(snapshot)
            if part in name.lower() or part in ("last", "best")
            for function in ("last", "best")
            if "(" not in name and '"' not in name
        ]
        found = [*keys, *settings, *metrics]
        return sorted(found, key=lambda each: not each[0].lower().startswith(part))

    def _values(self, key: str, operator: str, snapshot: IndexSnapshot) -> list[tuple[str, str]]:
        name = key.lower()
        if name in CHOICES:
            return [(value, "") for value in CHOICES[name]]
        if name in _OWN_VALUES:
            return _counted(value for run in snapshot.runs for value in _OWN_VALUES[name](run))
        if name in ("created", "updated"):
            return [(age, "age") for age in _AGES]
        names = self._config.called(key, snapshot) if name not in KEYS else []
        columns = self._config.columns(names, snapshot).values()
        values = (str(value) for column in columns for value in column.values())
        return _counted(values if not _ORDERED.match(operator) else (value for value in values if value))


def _word_start(text: str, at: int) -> int:
    """Where the condition that contains a position begins: behind the last space outside quotation marks."""
    start, quoted = 0, False
    for index, letter in enumerate(text[:at]):
        if letter == '"' and text[index - 1 : index] != "\\":
            quoted = not quoted
        elif letter.isspace() and not quoted:
            start = index + 1
    return start


def _counted(values: Iterable[str]) -> list[tuple[str, str]]:
    """Values with the number of runs that have them, the most frequent first."""
    counts = Counter(value for value in values if value and len(value) <= 200)
    return [(value, f"{count:,} runs" if count > 1 else "1 run") for value, count in counts.most_common(1000)]


def _answer(start: int, end: int, found: Sequence[tuple[str, str]]) -> CompletionList:
    completions = [Completion(text=text, detail=detail) for text, detail in found[:MAX_COMPLETIONS]]
    return {"start": start, "end": end, "completions": completions}
