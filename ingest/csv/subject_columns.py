"""The columns of a CSV log that say of which training each row is: a seed, a fold, a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from holter.ingest.console.row_subjects import (
    RowSubjects,
    is_never_measured,
    may_be_numbered,
    subject_cell,
    subject_word,
)
from holter.ingest.step_columns import is_empty_cell
from holter.types import IntArray, Labels

_WHOLE = re.compile(r"\s*-?\d{1,18}(?:\.0)?\s*")
_NUMBER = re.compile(r"\s*(?:[-+.\d][-+.\deE]*%?|nan|inf)\s*", re.IGNORECASE)


class SubjectColumns:
    """The columns that may say of which training a row is, and the labels of rows by them.

    Which of them do is decided by their first cells: names, or whole numbers of what is numbered. `known` are
    the names of others of which it is known.
    """

    def __init__(
        self,
        header: Sequence[str],
        taken: Iterable[int],
        state: Mapping[str, Any],
        known: Collection[str] = (),
    ) -> None:
        words = {
            index: subject_word(name) or "_".join(name.lower().split()) * (name in known)
            for index, name in enumerate(header)
            if index not in {*taken}
        }
        self._words = {index: word for index, word in words.items() if word}
        self._numbered: list[int] = state.get("numbered", [])
        self._named: list[int] = state.get("named", [])
        self._open: list[int] = state.get("open", [*self._words])
        self._rows = RowSubjects(state.get("rows", {}))
        self._names = {index: self._label_of(header[index], word) for index, word in self._words.items()}

    def state(self) -> dict[str, Any]:
        """What is known of the columns, as JSON-able values; empty if there are none."""
        if not self._words:
            return {}
        columns = {"numbered": self._numbered, "named": self._named, "open": self._open}
        return {**columns, "rows": self._rows.state()}

    @property
    def no_metrics(self) -> set[int]:
        """The columns that have no measurements, among them those that are labels of the series."""
        if self._rows.tells:
            return {*self._numbered, *self._named}
        return {index for index in self._numbered if is_never_measured(self._words[index])}

    def labels(self, cells: Sequence[Sequence[str]], steps: IntArray) -> list[Labels] | None:
        """The labels of the rows with these columns of cells; None if no row has any."""
        for index in [*self._open]:
            self._decide(index, cells[index])
        columns = sorted({*self._numbered, *self._named})
        if not columns:
            return None
        subjects = zip(*([subject_cell(cell) for cell in cells[index]] for index in columns), strict=True)
        found = self._rows.labels(subjects, steps.tolist(), [self._names[index] for index in columns])
        return found if any(found) else None

    def _decide(self, index: int, cells: Sequence[str]) -> None:
        """Decide by the first cell of a column that has one."""
        first = next((cell for cell in cells if not is_empty_cell(cell)), None)
        if first is None:
            return
        self._open = [other for other in self._open if other != index]
        if _WHOLE.fullmatch(first) is not None and may_be_numbered(self._words[index]):
            self._numbered = [*self._numbered, index]
        elif _NUMBER.fullmatch(first) is None:
            self._named = [*self._named, index]

    def _label_of(self, name: str, word: str) -> str:
        """The name of the label for a column: the word for it, unless another one has that as well."""
        is_one = [*self._words.values()].count(word) == 1
        return word if is_one else "_".join(name.lower().split())
