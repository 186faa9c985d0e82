"""The filter and the order of searches for runs, as mlflow.search_runs documents them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any

from holter.server.mlflow_api.call import INVALID, MlflowError
from holter.server.mlflow_api.like import like
from holter.server.mlflow_api.run_view import RunView

Condition = Callable[[RunView], bool]
SortKey = Callable[[RunView], tuple[bool, Any]]

MAX_LENGTH = 10_000
_ENTITIES = {
    "metric": "metrics",
    "metrics": "metrics",
    "param": "params",
    "params": "params",
    "parameter": "params",
    "parameters": "params",
    "tag": "tags",
    "tags": "tags",
    "attribute": "attributes",
    "attributes": "attributes",
    "attr": "attributes",
    "run": "attributes",
}
_NUMBERS = frozenset({"start_time", "end_time", "created"})
_ALIASES = {"created": "start_time", "Created": "start_time", "run name": "run_name", "Run name": "run_name"}
_NAME = r"""(?:(?P<entity>[A-Za-z]+)\.)?(?:`(?P<ticked>[^`]+)`|"(?P<quoted>[^"]+)"|(?P<plain>[\w./-]+))"""
_VALUE = r"""(?P<value>'[^']*'|"[^"]*"|\([^()]*\)|[-+\w.]+)"""
_CONDITION = re.compile(
    rf"\s*{_NAME}\s*(?P<comparison>>=|<=|!=|=|>|<|\bNOT\s+IN\b|\bIN\b|\bI?LIKE\b|\bIS\s+NOT\s+NULL\b"
    rf"|\bIS\s+NULL\b)\s*{_VALUE}?\s*",
    re.IGNORECASE,
)
_AND = re.compile(r"AND\b", re.IGNORECASE)
_ORDER = re.compile(rf"\s*{_NAME}(?:\s+(?P<direction>ASC|DESC))?\s*", re.IGNORECASE)
_TEXTS = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_OF_NUMBERS = frozenset({"=", "!=", ">", ">=", "<", "<="})
_OF_TEXTS = frozenset({"=", "!=", "IN", "NOT IN", "LIKE", "ILIKE"})
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda found, wanted: found == wanted,
    "!=": lambda found, wanted: found != wanted,
    ">": lambda found, wanted: found > wanted,
    ">=": lambda found, wanted: found >= wanted,
    "<": lambda found, wanted: found < wanted,
    "<=": lambda found, wanted: found <= wanted,
    "IN": lambda found, wanted: found in wanted,
    "NOT IN": lambda found, wanted: found not in wanted,
    "LIKE": lambda found, wanted: like(found, wanted, ignore_case=False),
    "ILIKE": lambda found, wanted: like(found, wanted, ignore_case=True),
}


def parse_filter(text: str) -> list[Condition]:
    """The conditions of a filter, all of which must hold. Raises MlflowError."""
    if len(text) > MAX_LENGTH:
        raise MlflowError(INVALID, f"the filter has {len(text)} characters: expected at most {MAX_LENGTH}")
    conditions: list[Condition] = []
    position = 0
    while text[position:].strip():
        match = _CONDITION.match(text, position)
        if match is None:
            raise _invalid(text[position:])
        conditions.append(_condition(match))
        position = match.end()
        if following := _AND.match(text, position):
            position = following.end()
            if not text[position:].strip():
                raise _invalid(text)
        elif position < len(text):
            raise _invalid(text[position:])
    return conditions


def _invalid(text: str) -> MlflowError:
    expected = "expected conditions such as metrics.loss < 2 AND params.lr = '0.1', joined by AND"
    return MlflowError(INVALID, f"invalid filter at {text[:60]!r}: {expected}")


def _condition(match: re.Match[str]) -> Condition:
    entity, name = _named(match)
    comparison = re.sub(r"\s+", " ", match["comparison"].upper())
    if comparison in {"IS NULL", "IS NOT NULL"}:
        return lambda run: (_value(run, entity, name) is None) == (comparison == "IS NULL")
    if match["value"] is None:
        raise _invalid(match[0])
    is_number = entity == "metrics" or (entity == "attributes" and name in _NUMBERS)
    wanted = _wanted(match["value"], comparison, is_number=is_number, source=match[0])
    if comparison not in (_OF_NUMBERS if is_number else _OF_TEXTS):
        raise _invalid(match[0])
    compare = _COMPARISONS[comparison]

    def holds(run: RunView) -> bool:
        found = _value(run, entity, name)
        return found is not None and compare(found, wanted)

    return holds


def _named(match: re.Match[str]) -> tuple[str, str]:
    """The entity, and the name of what is compared in it."""
    name = match["ticked"] or match["quoted"] or match["plain"]
    entity = match["entity"]
    if entity is None and match["plain"] and "." in name:
        entity, _, name = name.partition(".")
    known = _ENTITIES.get((entity or "attributes").lower())
    if known is None:
        entities = "metrics, params, tags or attributes"
        raise MlflowError(INVALID, f"invalid entity {str(entity)[:40]!r}: expected {entities}")
    return known, _ALIASES.get(name, name) if known == "attributes" else name


def _wanted(text: str, comparison: str, *, is_number: bool, source: str) -> Any:
    if is_number:
        try:
            return float(text)
        except ValueError:
            raise _invalid(source) from None
    if comparison in {"IN", "NOT IN"}:
        if not text.startswith("("):
            raise _invalid(source)
        return [single or double for single, double in _TEXTS.findall(text)]
    if text[0] not in "'\"":
        raise _invalid(source)
    return text[1:-1]


def _value(run: RunView, entity: str, name: str) -> Any:
    """What a run has under a name: a number for metrics and times, else a text; None where it has nothing."""
    if entity == "metrics":
        return run.value(name)
    if entity == "attributes":
        found = run.info.get(name)
        return float(found) if name in _NUMBERS and found is not None else found
    return (run.parameters if entity == "params" else run.tags).get(name)


def sort_runs(runs: Iterable[RunView], order: Iterable[str]) -> list[RunView]:
    """Runs in an order, those without a value last; else the newest first. Raises MlflowError."""
    result = sorted(runs, key=lambda run: -run.info["start_time"])
    for text in reversed([*order]):
        match = _ORDER.fullmatch(text[:MAX_LENGTH])
        if match is None:
            raise MlflowError(INVALID, f"invalid order {text[:60]!r}: expected such as metrics.loss DESC")
        entity, name = _named(match)
        descending = (match["direction"] or "").upper() == "DESC"
        having = [run for run in result if _sortable(run, entity, name)]
        without = [run for run in result if not _sortable(run, entity, name)]
        having.sort(key=lambda run: _value(run, entity, name), reverse=descending)
        result = having + without
    return result


def _sortable(run: RunView, entity: str, name: str) -> bool:
    value = _value(run, entity, name)
    return value is not None and (not isinstance(value, float) or -inf <= value <= inf)
