"""Finds the values of all epochs in lists, as programs write them when they end.

`{"loss": [1.2, 0.9], "val_loss": [1.3, 1.1]}` of Keras, `train losses: [1.2, 0.9]`, `acc = array([0.4])`.
A list with the name of a metric is a history, and so are others that are as long; one that counts up, such as
`epoch`, has the steps of those that are as long. Without it the first value is at step 0. A list that begins
with all values of the one before has grown, and replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from math import nan
from typing import NamedTuple

from holter.ingest import step_columns
from holter.ingest.metric_names import is_metric_name
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Labels, labels_of

_LEAST_VALUES = 3
_LEAST_SHARE = 0.5
"""Of the numbers of a text that are in histories: others are about something else."""
_LEAST_OF_DOCUMENT = 8
"""Values of a history in a document of JSON, whatever else is in it."""
_MOST_LINES = 3
"""Lines of a text without brackets that may be lists; of more they are a table."""
_LONGEST_NAME = 120
_MOST_NESTED = 8
_TOKEN = re.compile(r"[{}]|\[([^\[\]{}]*)\]")
_CALL = re.compile(r"(?<![\w.])(?:(?:np|numpy|torch|jnp)\.)?(?:float|u?int|tensor|Array|array)\d{0,2}\(")
_OPTION = re.compile(r", ?(?:dtype|device|grad_fn|requires_grad)=[\w.<>':]{1,60}")
_SEPARATOR = re.compile(r"[\s,)]+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.]{0,40}(?:[eE][-+]?\d{1,4})?(?!\w)")
_NESTED = re.compile(r"\[\s*(?:\[[^\[\]{}]*\][\s,]*)+\]")
"""A list of lists in a dictionary, which has several numbers for each value of the lists beside it."""
_QUOTED = re.compile(r"['\"]([-+\d.eEnainf]{1,40})['\"]")
"""A number as a text: `"0.25"`."""
_KEY = re.compile(r"['\"]([^'\"\n]{1,80})['\"]\s{0,8}[:,]\s{0,40}(?:\w{1,20}[.(])*$")
"""A quoted key, also of a dictionary that is printed as pairs."""
_WORDS = re.compile(
    r"(?:^|[\n,;|>\]])[ \t#*-]{0,20}([A-Za-z][\w ./@-]{0,60}?)\s{0,4}[:=]?\s{0,8}(?:[\w.]{1,30}\()*$"
)
"""Words before a list, on its line or the one above."""


class _History(NamedTuple):
    name: str
    values: list[float]


def rows_of_histories(text: str, stem: str, *, is_document: bool = False) -> list[LogRow]:
    """The rows of the histories in a text; nothing of a text that is about something else.

    `is_document`: it is one of JSON, in which a long history is one whatever else there is.

    `stem` is the name of the file, after which lists without a name are called if it is that of a metric. A
    name that comes again is of the next training, which has the label `training`.
    """
    if "{" in text:
        text = _NESTED.sub("[]", text)
    found = _named([*_histories(text)], stem)
    lengths = {len(each.values) for each in found if is_metric_name(each.name)}
    histories = [each for each in found if len(each.values) in lengths]
    in_lists = sum(len(each.values) for each in histories)
    is_long = is_document and max(lengths, default=0) >= _LEAST_OF_DOCUMENT
    if not histories or not (is_long or in_lists >= _LEAST_SHARE * sum(1 for _ in _NUMBER.finditer(text))):
        return []
    trainings: list[dict[str, list[float]]] = []
    for name, values in histories:
        fitting = (each for each in trainings if name not in each or each[name] == values[: len(each[name])])
        if (training := next(fitting, None)) is None:
            trainings.append(training := {})
        training[name] = values
    return [
        row
        for number, training in enumerate(trainings, 1)
        for row in _rows(training, labels_of({"training": str(number)}) if number > 1 else ())
    ]


def _histories(text: str) -> Iterator[_History]:
    """The lists of numbers of a text with their names, the keys of the dictionaries around them included."""
    if "[" not in text:
        lines = text.splitlines()
        text = "".join(f"[{line}]\n" for line in lines) if len(lines) <= _MOST_LINES else ""
    keys: list[str] = []
    for token in _TOKEN.finditer(text):
        before = text[max(0, token.start() - _LONGEST_NAME) : token.start()]
        if token[0] == "{":
            keys.append(_key_of(before) if len(keys) < _MOST_NESTED else "")
        elif token[0] == "}":
            del keys[-1:]
        elif len(values := _values(token[1])) >= _LEAST_VALUES:
            name = _key_of(before) or _words_of(before)
            yield _History("/".join(filter(None, (*keys[:_MOST_NESTED], name))) if name else "", values)


def _named(histories: Sequence[_History], stem: str) -> list[_History]:
    """The histories with names, those without one after a file with the name of a metric.

    More lists without a name than each of them has values are rows, of a step each.
    """
    unnamed = [values for name, values in histories if not name]
    if not is_metric_name(stem) or len(unnamed) > max(map(len, unnamed), default=0):
        return [history for history in histories if history.name]
    numbers = count(1)
    return [
        history
        if history.name
        else history._replace(name=stem if (n := next(numbers)) == 1 else f"{stem}_{n}")
        for history in histories
    ]


def _key_of(before: str) -> str:
    """The quoted key that ends a text."""
    return "" if (key := _KEY.search(before)) is None else key[1].strip()


def _words_of(before: str) -> str:
    """The words that end a text."""
    return "" if (words := _WORDS.search(before)) is None else words[1].strip()


def _values(text: str) -> list[float]:
    """The numbers of a list; nothing if anything else is in it, such as the dots of a list that was cut."""
    if "(" in text or "=" in text:
        text = _CALL.sub("", _OPTION.sub("", text))
    try:
        cells = _QUOTED.sub(r"\1", text).replace("null", "nan")
        return [float(cell) for cell in _SEPARATOR.split(cells) if cell]
    except ValueError:
        return []


def _rows(training: Mapping[str, Sequence[float]], labels: Labels) -> Iterator[LogRow]:
    """The values of a training, row by row; lists of different lengths one after another."""
    for length in dict.fromkeys(map(len, training.values())):
        columns = {name: values for name, values in training.items() if len(values) == length}
        steps, counting = _steps(columns)
        columns = {name: values for name, values in columns.items() if name not in counting}
        for index, step in enumerate(steps or range(length) if columns else ()):
            yield LogRow(step, nan, {name: values[index] for name, values in columns.items()}, labels)


def _steps(columns: Mapping[str, Sequence[float]]) -> tuple[list[int], list[str]]:
    """The list of steps or epochs among those of a length, and its names; nothing without one that counts up.

    Each part may have its own: `{"train": {"epochs": [1, 2], "loss": [...]}, "val": {...}}`.
    """
    name = step_columns.find_step([*columns])
    if name is None:
        tails = {each.rpartition("/")[2]: each for each in reversed([*columns])}
        tail = step_columns.find_step([*tails])
        name = tails[tail] if tail is not None else None
    numbers = columns[name] if name is not None else ()
    if not numbers or not all(abs(number) <= LARGEST_STEP and number == int(number) for number in numbers):
        return [], []
    if not all(a < b for a, b in pairwise(numbers)):
        return [], []
    return [*map(int, numbers)], [each for each, values in columns.items() if [*values] == [*numbers]]
