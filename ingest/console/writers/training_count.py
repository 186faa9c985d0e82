"""Counts the trainings of a launch that follow one another where the steps of its rows begin anew.

Rows from the second training on have the label `training`. After very many of them the steps go on instead,
as those of the few epochs of each round; of longer ones, as in a search through settings, there may be more.
"""

from __future__ import annotations

from dataclasses import dataclass

from holter.ingest.rows import LogRow
from holter.types import labels_of

_MOST_TRAININGS, _MOST_ROUNDS = 1024, 64
"""Trainings of a launch that are distinguished, and those that may be rounds of a few steps each."""
_LONGEST_ROUND = 20
"""Steps of a training that may be a round."""


@dataclass(slots=True)
class TrainingCount:
    """The training that rows of one kind are of: its number in the launch.

    `first` is the step at which it began, None while there is none. The steps of rows continue by those
    `before`; `end` is the last step before that is added.
    """

    first: int | None = None
    number: int = 1
    before: int = 0
    end: int = 0

    def begin(self, number: int, before: int = 0) -> None:
        """What comes next is of the training with this number."""
        self.first, self.number, self.before = None, number, before

    def is_before(self, other: TrainingCount) -> bool:
        """Whether its rows are of an earlier training than those of another kind."""
        return (self.number, self.before) < (other.number, other.before)

    @property
    def may_advance(self) -> bool:
        """Whether the next training would be distinguished from this one."""
        return self.number < (_MOST_ROUNDS if self._steps <= _LONGEST_ROUND else _MOST_TRAININGS)

    @property
    def _steps(self) -> int:
        """The steps of this training so far."""
        return self.end - (self.first or 0) + 1

    def advance(self) -> None:
        """Count a training whose steps begin anew."""
        if self.may_advance:
            self.number, self.before = self.number + 1, 0
        else:
            self.before += self._steps

    def of_training(self, row: LogRow) -> LogRow:
        """The row with the label of its training, if that is not the first one of its launch."""
        self.end = row.step
        if self.number == 1:
            return row
        labels = dict(row.labels)  # a heading may have named the training, too
        labels["training"] = f"{labels.get('training', '')} {self.number}".strip()
        return row._replace(step=row.step + self.before, labels=labels_of(labels))
