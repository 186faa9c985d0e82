"""Finds the trainings in a document of JSON that lists them: `[{"seed": 1, "history": {...}}, ...]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from holter.ingest import step_columns
from holter.ingest.metric_names import is_metric_name
from holter.ingest.names import storable_label
from holter.types import Labels, labels_of

_LEAST_TRAININGS = 2
_LEAST_VALUES = 5
"""Numbers of a list that are those of all epochs: fewer may be those of a step."""
_NAMES = ("name", "model", "run", "experiment", "fold", "seed", "id", "method", "dataset", "variant")
"""Keys that may state which training it is."""
_LIST = "list"
"""The label of trainings in other lists than the first of a document, which has their key."""
_MOST_NESTED = 4
_OF_OTHERS = re.compile(r"(?i)class|label|client|per_")
"""Names of lists whose numbers are not those of steps."""


def trainings_of(document: Any, depth: int = 0) -> list[tuple[Labels, Mapping[str, Any]]]:
    """The trainings that a document lists, with their labels; nothing of another document.

    The first training has no label, others have their name, or their number, and the key of another list.
    """
    if isinstance(document, dict) and depth < _MOST_NESTED:
        lists = {key: found for key, each in document.items() if (found := trainings_of(each, depth + 1))}
        return [
            (labels_of({**dict(labels), **({_LIST: storable_label(key)} if number else {})}), item)
            for number, (key, found) in enumerate(lists.items())
            for labels, item in found
        ]
    if not isinstance(document, list) or not are_trainings(document):
        return []
    name = next((name for name in _NAMES if _distinguishes(name, document)), "training")
    return [
        (labels_of({name: storable_label(str(item.get(name, number)))}) if number > 1 else (), item)
        for number, item in enumerate(document, 1)
    ]


def are_trainings(items: Sequence[Any]) -> bool:
    """Whether these are a training each, of several."""
    count = len(items)
    return count >= _LEAST_TRAININGS and all(
        isinstance(item, dict) and _is_training(item, count) for item in items
    )


def _is_training(item: Mapping[str, Any], count: int) -> bool:
    """Whether an object, one of so many, has the values of several steps in it, and is none of one step.

    There are more steps than trainings: the numbers of a list may also be those of clients or of classes.
    """
    if step_columns.find_any_step(
        [name for name, value in item.items() if not isinstance(value, list | dict)]
    ):
        return False
    least = max(_LEAST_VALUES, count + 1)
    return any(_has_steps(name, value, least) for name, value in item.items())


def _has_steps(name: str, value: Any, least: int, depth: int = 0) -> bool:
    if isinstance(value, dict) and depth < _MOST_NESTED:
        return any(_has_steps(key, inner, least, depth + 1) for key, inner in value.items())
    if not isinstance(value, list) or len(value) < least or _OF_OTHERS.search(name) is not None:
        return False
    if all(isinstance(item, dict) for item in value):
        return any(is_metric_name(key) for key in value[0])
    return is_metric_name(name) and all(isinstance(item, int | float) for item in value)


def _distinguishes(name: str, items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a name or a number under a key is another one in each of the items."""
    values = [item.get(name) for item in items]
    are_names = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    return are_names and len({*map(str, values)}) == len(values)
