"""Distinguishes the rows of several trainings in one log by names and numbers that state of which each is.

`seed,epoch,loss`: a training for each seed, one after another or in turn. Where the steps of a row with
another seed do not continue, the seed distinguishes rows: the series of the first seed have no label, those
of others what differs from it (`loss{seed=2}`). Where they do (`phase` from `warmup` to `finetune`), it does
not. The same for folds, models and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from holter.ingest.console.tables.table_rows import is_data
from holter.ingest.names import storable_label
from holter.ingest.step_columns import is_empty_cell
from holter.types import Labels, labels_of

_NUMBERED = "seed|fold|trial|run|client|repetition|replicate|subject|experiment|exp"
_MAY_BE_NUMBERED = "task|phase|stage|model|agent|env"
_SUBJECT = re.compile(
    rf"(?:random_|cv_?|k_?)?(?P<word>{_NUMBERED}|{_MAY_BE_NUMBERED}|method|algo(?:rithm)?|variant|config"
    r"|optimi[sz]er|network|arch(?:itecture)?|dataset|scheduler|strategy|policy|environment)(?:_?(?:id|idx|index|name|no|num|number|#))?"
)
"""Names of columns and keys, in lower case and `_` between words, that may state the training of a row."""
_NUMBERS = re.compile(rf"(?:{_NUMBERED})")
"""What has numbers that are no measurements."""
_WHOLE_NUMBERS = re.compile(rf"(?:{_NUMBERED}|{_MAY_BE_NUMBERED})")
"""What may have whole numbers as names."""
_MOST_SUBJECTS = 1024
"""Trainings that are distinguished; rows of more are those of the one before them."""

_Subject = tuple[str, ...]


class RowSubjects:
    """Finds the labels of rows by what they state that they are of; see the module."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._known: dict[_Subject, Labels] = {
            tuple(subject): labels_of(dict(labels)) for subject, labels in state.get("known", ())
        }
        self._last: _Subject | None = tuple(state["last"]) if "last" in state else None
        self._step: int = state.get("step", 0)
        self.tells: bool = state.get("tells", False)
        """Whether trainings have been distinguished."""
        self._is_constant: bool = state.get("constant", False)
        """Whether what differs within a training states nothing: rows of trainings are one after another."""

    def state(self) -> dict[str, Any]:
        """The trainings so far, as JSON-able values; empty before the first row."""
        if self._last is None:
            return {}
        known = [[subject, labels] for subject, labels in self._known.items()]
        state = {"known": known, "last": self._last, "step": self._step, "tells": self.tells}
        return {**state, "constant": True} if self._is_constant else state

    def knows(self, subject: _Subject) -> bool:
        """Whether a row has stated before that it is of this."""
        return subject in self._known

    def add_column(self, position: int, cell: str) -> None:
        """Add what rows state as well, at this position among the others; so far all had this cell."""
        self._known = {
            (*subject[:position], cell, *subject[position:]): labels
            for subject, labels in self._known.items()
        }
        if self._last is not None:
            self._last = (*self._last[:position], cell, *self._last[position:])

    def labels(self, rows: Iterable[_Subject], steps: Iterable[int], names: Sequence[str]) -> list[Labels]:
        """The labels of rows at these steps; `names` are those of the labels."""
        return [self._labels_of(row, step, names) for row, step in zip(rows, steps, strict=True)]

    def _labels_of(self, subject: _Subject, step: int, names: Sequence[str]) -> Labels:
        known = self._known
        if self._last is not None and not any(subject):  # a row that states nothing of it
            subject = self._last
        if subject not in known:
            if self._last is None:
                known[subject] = ()
            elif len(known) >= _MOST_SUBJECTS:
                subject = self._last
            elif (self.tells and not self._is_constant) or step <= self._step:
                self.tells = True
                pairs = zip(names, subject, next(iter(known)), strict=True)
                known[subject] = labels_of({name: cell for name, cell, first in pairs if first != cell != ""})
            else:
                known[subject] = known[self._last]
        self._last, self._step = subject, step
        return known[subject]


@lru_cache(maxsize=256)
def may_be_numbered(word: str) -> bool:
    """Whether what a word tells apart may have whole numbers as names."""
    return _WHOLE_NUMBERS.fullmatch(word) is not None


@lru_cache(maxsize=256)
def is_never_measured(word: str) -> bool:
    """Whether numbers of what a word tells apart are no measurements in any log."""
    return _NUMBERS.fullmatch(word) is not None


@lru_cache(maxsize=1024)
def subject_word(name: str) -> str:
    """The word for what a column or key of this name tells apart; nothing for others."""
    match = _SUBJECT.fullmatch("_".join(name.lower().replace("-", " ").split()))
    return "" if match is None else match["word"]


@lru_cache(maxsize=1024)
def subject_cell(cell: str) -> str:
    """What a cell states of its row, a whole number without a point; nothing if it is the data of the row."""
    text = cell.strip()
    if text.endswith(".0") and text[:-2].isdecimal():
        return text[:-2]
    return "" if is_empty_cell(text) or is_data(text) else storable_label(text)
