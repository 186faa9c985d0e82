"""What the columns of a printed table state that its rows are of: a seed, a fold, a model, as in CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.tables.row_subjects import (
    RowSubjects,
    is_never_measured,
    may_be_numbered,
    subject_cell,
    subject_word,
)
from holter.types import Labels, labels_of

_DATA_SET = "dataset"
"""A column that is a label by itself."""
_MOST_TABLES = 8
"""Tables of a text, by the names of their columns."""
_WHOLE = re.compile(r"-?\d{1,18}")
_NUMBER = re.compile(r"[-+.\d][-+.\deE/%]*|(?i:nan|inf)|-")


class TableSubjects(NamedTuple):
    """The labels of a row, and the indices of the columns that have no measurements."""

    labels: Labels
    no_metrics: frozenset[int]


_NO_SUBJECTS = TableSubjects((), frozenset())


def subjects_of_row(
    names: Sequence[str], cells: Sequence[str], step: int, state: DialectState
) -> TableSubjects:
    """What a row at a step is of, by the names of the columns of its table."""
    words = _words_of(tuple(names))
    if not words:
        return _NO_SUBJECTS
    found = {column: cells[column].strip() for column in words}
    columns = [column for column, cell in found.items() if _is_name(cell, words[column])]
    tables, key = state.setdefault("subjects of tables", {}), "|".join(names)
    if key not in tables and len(tables) >= _MOST_TABLES:
        return _NO_SUBJECTS
    table = tables.setdefault(key, {"words": [words[column] for column in columns]})
    by_word = {words[column]: subject_cell(found[column]) for column in columns}
    rows = RowSubjects(table.get("rows", {}))
    subject = tuple(by_word.get(word, "") for word in table["words"])
    [labels] = rows.labels([subject], [step], table["words"]) if subject else [()]
    table["rows"] = rows.state()
    taken = (column for column in columns if rows.tells or is_never_measured(words[column]))
    return TableSubjects(labels, frozenset(taken))


def with_subjects(labels: Labels | None, subjects: TableSubjects) -> Labels | None:
    """The labels of a row with those by which it is distinguished."""
    return labels_of({**dict(labels or ()), **dict(subjects.labels)}) if subjects.labels else labels


@lru_cache(maxsize=64)
def _words_of(names: tuple[str, ...]) -> dict[int, str]:
    """The words for what columns distinguish, by their indices."""
    words = {column: subject_word(name) for column, name in enumerate(names)}
    return {column: word for column, word in words.items() if word and word != _DATA_SET}


def _is_name(cell: str, word: str) -> bool:
    """Whether a cell names a training or numbers it, and is nothing measured."""
    if _WHOLE.fullmatch(cell) is not None:
        return may_be_numbered(word)
    return bool(cell) and _NUMBER.fullmatch(cell) is None
