"""Filters and orders of `Api().runs(filters=..., order=...)`: MongoDB's operators on fields of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any, TypeVar

import re2  # type: ignore[import-untyped]

from holter.server.wandb_api.operations import OperationError

Document = Mapping[str, Any]
"""A run as filters see it: `config` and `summary_metrics` are objects, the other fields are values."""

AnyDocument = TypeVar("AnyDocument", bound=Document)
MAX_LENGTH = 20_000
_MAX_DEPTH = 20
_MISSING = object()
_ALIASES = {
    "displayName": "display_name",
    "createdAt": "created_at",
    "heartbeatAt": "heartbeat_at",
    "updated_at": "heartbeat_at",
    "updatedAt": "heartbeat_at",
    "jobType": "job_type",
    "summaryMetrics": "summary_metrics",
    "summary": "summary_metrics",
}
FIELDS = (
    "name", "display_name", "state", "tags", "group", "job_type", "notes", "created_at", "heartbeat_at",
    "config", "summary_metrics",
)  # fmt: skip


def parse_filter(text: str | None) -> Callable[[Document], bool]:
    """The condition of a filter, a JSON object as text. Raises OperationError naming what was expected."""
    if text is not None and len(text) > MAX_LENGTH:
        raise OperationError(f"filters: expected at most {MAX_LENGTH} characters")
    try:
        stated = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise OperationError(f"filters: expected JSON ({error})") from error
    return _condition({} if stated is None else stated, 0)


def _condition(stated: object, depth: int) -> Callable[[Document], bool]:
    """The condition of an object: all of its members must hold."""
    if not isinstance(stated, dict) or depth > _MAX_DEPTH:
        raise OperationError(f"filters: expected an object, found {str(stated)[:60]!r}")
    parts = [_member(name, value, depth) for name, value in stated.items()]
    return lambda run: all(part(run) for part in parts)


def _member(name: str, value: object, depth: int) -> Callable[[Document], bool]:
    if name in ("$and", "$or", "$nor"):
        if not isinstance(value, list):
            raise OperationError(f"filters: {name}: expected a list")
        parts = [_condition(each, depth + 1) for each in value]
        if name == "$and":
            return lambda run: all(part(run) for part in parts)
        if name == "$or":
            return lambda run: any(part(run) for part in parts)
        return lambda run: not any(part(run) for part in parts)
    path = field_path(name)
    test = _test(value, depth)
    return lambda run: test(_find(run, path))


def field_path(name: str) -> tuple[str, str]:
    """The field of a run and the name within it (`config.lr` -> `config`, `lr`). Raises OperationError."""
    field, _, inner = name.partition(".")
    field = _ALIASES.get(field, field)
    if field not in FIELDS or bool(inner) != (field in ("config", "summary_metrics")):
        raise OperationError(
            f"the field {name[:60]!r} is unknown: expected config.NAME, summary_metrics.NAME, "
            + ", ".join(FIELDS[:-2])
        )
    return field, inner


def _find(run: Document, path: tuple[str, str]) -> Any:
    field, inner = path
    value = run.get(field)
    if not inner:
        return _MISSING if value is None else value
    found = _descend(value, inner)
    if found is _MISSING and field == "config" and inner.endswith(".value"):
        found = _descend(value, inner.removesuffix(".value"))
    return found


def _descend(value: Any, name: str) -> Any:
    """A member of nested objects, whose names may have dots themselves."""
    if not isinstance(value, dict):
        return _MISSING
    if name in value:
        return value[name]
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        if (head := ".".join(parts[:count])) in value:
            return _descend(value[head], ".".join(parts[count:]))
    return _MISSING


def _test(value: object, depth: int) -> Callable[[Any], bool]:
    """The test of a field: by operators, or for equality."""
    if not (isinstance(value, dict) and value and all(name.startswith("$") for name in value)):
        return lambda found: _equals(found, value)
    if depth > _MAX_DEPTH:
        raise OperationError("filters: too deep")
    options = value.get("$options", "")
    if options not in ("", "i"):
        raise OperationError("filters: $options: expected 'i'")
    tests = [
        _regex(wanted, ignore_case=options == "i") if name == "$regex" else _operator(name, wanted, depth)
        for name, wanted in value.items()
        if name != "$options"
    ]
    return lambda found: all(test(found) for test in tests)


def _operator(name: str, wanted: Any, depth: int) -> Callable[[Any], bool]:
    if name in ("$in", "$nin"):
        if not isinstance(wanted, list):
            raise OperationError(f"filters: {name}: expected a list")
        is_in = name == "$in"
        return lambda found: any(_equals(found, each) for each in wanted) == is_in
    if name == "$not":
        test = _test(wanted, depth + 1)
        return lambda found: not test(found)
    if name == "$exists":
        return lambda found: (found is not _MISSING) == bool(wanted)
    simple: dict[str, Callable[[Any], bool]] = {
        "$eq": lambda found: _equals(found, wanted),
        "$ne": lambda found: not _equals(found, wanted),
        "$gt": lambda found: _comparable(found, wanted) and found > wanted,
        "$gte": lambda found: _comparable(found, wanted) and found >= wanted,
        "$lt": lambda found: _comparable(found, wanted) and found < wanted,
        "$lte": lambda found: _comparable(found, wanted) and found <= wanted,
    }
    if name not in simple:
        known = ", ".join(("$and", "$or", "$nor", *simple, "$in", "$nin", "$exists", "$regex", "$not"))
        raise OperationError(f"filters: the operator {name[:40]!r} is unknown: expected one of {known}")
    return simple[name]


def _equals(found: Any, wanted: Any) -> bool:
    """Equality; null equals a missing field, and a list of tags equals each of its members."""
    if found is _MISSING or found is None:
        return wanted is None
    if isinstance(found, bool) != isinstance(wanted, bool):
        return False
    if isinstance(found, list) and not isinstance(wanted, list):
        return any(_equals(each, wanted) for each in found)
    return bool(found == wanted)


def _comparable(found: Any, wanted: Any) -> bool:
    numbers = (int, float)
    if isinstance(found, bool) or isinstance(wanted, bool):
        return False
    both_numbers = isinstance(found, numbers) and isinstance(wanted, numbers)
    return both_numbers or (isinstance(found, str) and isinstance(wanted, str))


def _regex(wanted: Any, *, ignore_case: bool) -> Callable[[Any], bool]:
    """A search for a pattern, by RE2 in linear time."""
    if not isinstance(wanted, str):
        raise OperationError("filters: $regex: expected a text")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        pattern = re2.compile(wanted, options=options)
    except re2.error as error:
        raise OperationError(f"filters: $regex: {error}") from error

    def matches(found: Any) -> bool:
        if isinstance(found, list):
            return any(matches(each) for each in found)
        return isinstance(found, str) and pattern.search(found) is not None

    return matches


def sorted_runs(runs: Iterable[AnyDocument], order: str | None) -> list[AnyDocument]:
    """Runs in an order such as `-summary_metrics.loss`; those without a value come last."""
    name = order or "+created_at"
    path = field_path(name.lstrip("+-"))
    numbers, texts, others = list[Any](), list[Any](), list[AnyDocument]()
    for run in runs:
        value = _find(run, path)
        if isinstance(value, int | float) and not isnan(value):
            numbers.append((value, run))
        elif isinstance(value, str):
            texts.append((value, run))
        else:
            others.append(run)
    descends = name.startswith("-")
    for found in (numbers, texts):
        found.sort(key=lambda each: each[0], reverse=descends)
    return [*(run for _, run in numbers), *(run for _, run in texts), *others]
