"""The columns of a CSV log that state of which training each row is: a seed, a fold, a model.

Where these do not differ, others do if they have another cell in each training (`constant_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from holter.ingest.console.tables.row_subjects import (
    RowSubjects,
    is_never_measured,
    may_be_numbered,
    subject_cell,
    subject_word,
)
from holter.ingest.csv.constant_columns import ConstantColumns, NextTraining, names_of_columns
from holter.ingest.step_columns import is_empty_cell
from holter.types import IntArray, Labels

_WHOLE = re.compile(r"\s*-?\d{1,18}(?:\.0)?\s*")
_NUMBER = re.compile(r"\s*(?:[-+.\d][-+.\deE]*%?|nan|inf)\s*", re.IGNORECASE)


class SubjectColumns:
    """The columns that may state of which training a row is, and the labels of rows by them.

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
        names = names_of_columns(header, taken)
        words = {
            index: subject_word(name) or "_".join(name.lower().split()) * (name in known)
            for index, name in names.items()
        }
        self._words = {index: word for index, word in words.items() if word}
        others = {index: name for index, name in names.items() if index not in self._words}
        self._constant = ConstantColumns(others, state.get("constant", {}), texts_alone=bool(self._words))
        self._numbered: list[int] = state.get("numbered", [])
        self._named: list[int] = state.get("named", [])
        self._settings: list[int] = state.get("settings", [])
        """Those of the named columns that have numbers, which are metrics as well."""
        self._open: list[int] = state.get("open", [*self._words])
        self._rows = RowSubjects(state.get("rows", {}))
        self._names = {
            index: self._label_of(name, self._words.get(index, "")) for index, name in names.items()
        }

    def state(self) -> dict[str, Any]:
        """What is known of the columns, as JSON-able values; empty if there are none."""
        constant = {"constant": constant} if (constant := self._constant.state()) else {}
        if not (self._words or self._named):
            return constant
        columns = {"numbered": self._numbered, "named": self._named, "open": self._open}
        if self._settings:
            columns["settings"] = self._settings
        return {**columns, "rows": self._rows.state(), **constant}

    @property
    def no_metrics(self) -> set[int]:
        """The columns that have no measurements, among them those that are labels of the series."""
        numbered = {*self._numbered}
        if not self._rows.tells:
            numbered = {index for index in numbered if is_never_measured(self._words[index])}
        return (numbered | {*self._named}) - {*self._settings}

    def labels(self, cells: Sequence[Sequence[str]], steps: IntArray) -> list[Labels] | None:
        """The labels of the rows with these columns of cells; None if no row has any."""
        for index in [*self._open]:
            self._decide(index, cells[index])
        found: list[Labels] = []
        for begin, end in self._constant.spans(cells, steps):
            training = self._constant.next_training(begin, cells, int(steps[begin]))
            if training is not None and self._is_known(begin, cells):
                self._add_columns(training)
            columns = self._columns
            subjects = zip(*(map(subject_cell, cells[index][begin:end]) for index in columns), strict=True)
            names = [self._names[index] for index in columns]
            found += (
                self._rows.labels(subjects, steps[begin:end].tolist(), names)
                if columns
                else [()] * (end - begin)
            )
            self._constant.add_rows(begin, end, cells, steps)
        return found if any(found) else None

    @property
    def _columns(self) -> list[int]:
        return sorted({*self._numbered, *self._named})

    def _is_known(self, row: int, cells: Sequence[Sequence[str]]) -> bool:
        """Whether the columns that distinguish trainings so far state a training of a row that is known."""
        subject = tuple(subject_cell(cells[index][row]) for index in self._columns)
        return not subject or self._rows.knows(subject)

    def _add_columns(self, training: NextTraining) -> None:
        """Let the columns distinguish trainings in which one differs from those before."""
        if not self._columns:
            self._rows = RowSubjects(
                {"known": [[(), []]], "last": (), "step": training.last, "constant": True}
            )
        for index, cell in zip(training.columns, training.cells, strict=True):
            self._named = [*self._named, index]
            self._rows.add_column(self._columns.index(index), cell)
            if _NUMBER.fullmatch(cell) is not None:
                self._settings = [*self._settings, index]
        self._constant.forget(training.columns)

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
        return word if word and is_one else "_".join(name.lower().split())
