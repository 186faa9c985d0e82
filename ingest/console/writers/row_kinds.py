"""Rows with values of the same names, and the steps at which their writers are; see `interleaved_writers`.

A launch that ended after its first record shows itself by no step: the next one begins at the same. After an
unusual pause it does. Otherwise rows are held back until those of later steps show it (`first_step_again`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import nan
from operator import gt, sub
from typing import Any

from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.writers.first_step_again import counted_steps, rows_of_launch
from holter.ingest.console.writers.training_count import TrainingCount
from holter.ingest.rows import LogRow, row_from_json, row_to_json

MAX_HELD = 8
"""Rows after which it is a restart; more where steps go back again among them, as those of many writers."""
MOST_HELD = 40
MAX_WRITERS = 16
_MAX_LAG = 48
"""Rows by which another writer may be behind."""
_LEAST_USUAL = 4
"""Distances of rows of which the median is the usual one."""

PlacedRow = tuple[int, LogRow]
"""A row and its place among those since the first one that is held."""


@dataclass(slots=True)
class RowKind:
    """Rows with values of the same names. `steps` are those at which its writers are.

    `recent` are the last steps of the only writer so far, `interval` the least number of steps between two
    of its rows, 0 while unknown. `left` is the step that was left where the steps began again, and `usual`
    the number of steps between two rows then; `returns` counts how often a row soon went on from there.
    `is_again`: the rows that are held are the first one's step again, and what follows, `is_between` others,
    `is_begun` each below a line that states that a training starts;
    `repeats`: it is known that steps have several rows, and how many; `at_step` are those of the last step so
    far, `missing` those that the step before lacks.
    """

    steps: list[int] = field(default_factory=list)
    recent: list[int] = field(default_factory=list)
    interval: int = 0
    held: list[PlacedRow] = field(default_factory=list)
    trainings: TrainingCount = field(default_factory=TrainingCount)
    names: tuple[str, ...] = ()
    left: int | None = None
    usual: int = 0
    returns: int = 0
    is_again: bool = False
    repeats: int = 0
    at_step: int = 0
    missing: int = 0
    is_between: bool = False
    is_begun: bool = False

    def to_json(self) -> list[Any]:
        """The state as JSON-able values."""
        held = [[place, row_to_json(row)] for place, row in self.held]
        return [
            self.steps,
            self.recent[-_MAX_LAG:],
            self.interval,
            held,
            self.trainings.first,
            self.trainings.number,
            self.trainings.before,
            self.trainings.end,
            self.names,
            [self.left, self.usual, self.returns, self.is_again, self.repeats, self.is_between],
            [self.at_step, self.missing],
            self.is_begun,
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> RowKind:
        """The state from what `to_json` returned."""
        steps, recent, interval, held, *more = stored  # earlier versions stored less
        rows = [
            (row[0], row_from_json(row[1]))
            if len(row) == 2  # earlier versions stored a step, a time and values
            else (place, LogRow(row[0], nan if row[1] is None else row[1], row[2]))
            for place, row in enumerate(held)
        ]
        kind = cls(list(steps), list(recent), interval, rows, TrainingCount(*more[:4]))
        kind.names = tuple(more[4]) if more[4:] else ()
        if more[5:]:
            kind.left, kind.usual, kind.returns = more[5][:3]
            kind.is_again, kind.repeats, kind.is_between = [*more[5][3:], False, 0, True][:3]
        if more[6:]:
            kind.at_step, kind.missing = more[6]
        kind.is_begun = bool(more[7:] and more[7])
        return kind

    def is_first_again(self, row: LogRow) -> bool:
        """Whether a row of a training is at the step of its only one so far."""
        is_first = self.steps == [row.step] == self.recent and not (self.held or self.repeats)
        return is_first and not all(map(is_of_evaluation, self.names))

    def continues(self, row: LogRow) -> bool:
        """Whether a row is that of the only writer, without a doubt."""
        return row.step > self.steps[0] or (row.step == self.steps[0] and not self.is_first_again(row))

    def add(
        self,
        row: LogRow,
        place: int,
        *,
        is_near: bool,
        is_paused: bool = False,
        is_again: bool = False,
        is_between: bool = False,
        is_begun: bool = False,
    ) -> list[PlacedRow]:
        """The rows that are clear now.

        `is_again`: it is at the step of the only row so far; `is_paused`: after a pause as well.
        `is_between`: other rows, or more text than usual, came before it; `is_begun`: a line that states
        that a training starts.
        """
        if is_paused:
            return self._begin_again([(place, row._replace(begins=True))])
        if is_again:
            self.held, self.is_again = [(place, row)], True
            self.is_between, self.is_begun = is_between, is_begun
            return []
        if self.is_again:
            return self._decide_again(row, place, is_between=is_between, is_begun=is_begun)
        if self.held:
            return self._decide(row, place, is_near=is_near)
        if len(self.steps) > 1:
            return [(place, self._assign(row, is_near=is_near))]
        if (is_near and self._returns(row.step)) or self._is_late(row.step):
            self.steps.append(row.step)
            return [(place, of_writer(row, 1))]
        if not self.steps or row.step >= self.steps[0]:
            self.advance(row.step)
            return [(place, row)]
        if is_near and self.interval and self._is_regular():
            self.held.append((place, row))
            return []
        return self._begin_again([(place, row)])

    @property
    def is_alone(self) -> bool:
        """Whether rows that continue are of the only writer."""
        return len(self.steps) == 1 and not (self.held or self._may_return)

    @property
    def _may_return(self) -> bool:
        return self.left is not None and bool(self.steps) and len(self.recent) <= MAX_HELD

    def _returns(self, step: int) -> bool:
        """Whether a row continues where the steps were left, for the second time: these are two writers."""
        if not self._may_return:
            return False
        assert self.left is not None, "the step that was left"
        continues = 0 < step - self.left <= 2 * self.usual < step - self.steps[0]
        self.returns += continues
        return continues and self.returns > 1

    def _is_late(self, step: int) -> bool:
        """Whether a row is one that the step before lacks, where steps have as many rows as writers."""
        return self.missing > 0 and step in self.recent[-2:-1]

    def begins_anew(self, step: int) -> bool:
        """Whether a step is that of the first row again, and the only writer had gone on since then."""
        first = self.trainings.first
        return len(self.steps) == 1 and first is not None and step <= first < self.steps[0]

    def begin_training(self, number: int, before: int = 0) -> None:
        """Forget its steps: what comes next is of the training with this number."""
        self.forget_steps()
        self.trainings.begin(number, before)

    def forget_steps(self) -> None:
        """Forget its steps: what comes next is printed by another launch."""
        self.steps, self.recent = [], []

    def restart(self) -> list[PlacedRow]:
        """The rows held back, as those of the first writer."""
        if self.is_again:
            behind = [row.step for _, row in self.held if row.step > self.steps[0]]
            continues = self.is_between and len({*behind}) == len(behind) > 0
            return self._launch(1) if continues or (self.is_begun and not behind) else self._repeat()
        held, self.held = self.held, []
        if not held:
            return []
        rows = rows_of_launch([row.step for _, row in held], is_between=False)
        return self._begin_again(_with_launches(held, rows) if rows else held)

    def _repeat(self) -> list[PlacedRow]:
        """The rows held back, as those of steps with several rows."""
        held, self.held = self.held, []
        steps = [*self.steps, *(row.step for _, row in held)]
        self.is_again, self.repeats, self.at_step = False, steps.count(self.steps[0]), 1
        for _, row in held:
            self.advance(row.step)
        return held

    def _decide_again(self, row: LogRow, place: int, *, is_between: bool, is_begun: bool) -> list[PlacedRow]:
        """Whether launches begin with the first of the rows that are held; see `first_step_again`."""
        first, last = self.steps[0], self.held[-1][1].step
        self.is_between &= is_between or row.step > first
        self.is_begun &= is_begun or row.step > first
        steps = [first, *(held.step for _, held in self.held), row.step]
        rows = rows_of_launch(steps, is_between=self.is_between)
        if row.step < last:
            return self.restart() + self.add(row, place, is_near=True)
        self.held.append((place, row))
        if counted := counted_steps(steps):
            for number, step in enumerate(counted[1:]):
                place, row = self.held[number]
                self.held[number] = (place, row._replace(step=step))
            return self._repeat()
        if rows is None:
            return []
        return self._launch(rows) if rows else self._repeat()

    def _launch(self, rows: int) -> list[PlacedRow]:
        """The rows held back, so many of which at the first step are of a launch each."""
        held, self.held, self.is_again = self.held, [], False
        return self._begin_again(_with_launches(held, rows, before=1))

    def follow(self) -> list[PlacedRow]:
        """The rows held back, as those of a restart that others show; a step back later is one, too."""
        if not self.held and len(self.steps) == 1:
            self.interval = 0
        self.is_again = False
        return self.restart()

    def _is_regular(self) -> bool:
        """Whether its last rows are equally far apart, so that the next step is known."""
        last = self.recent[-4:]
        return all(after - before <= 2 * self.interval for before, after in pairwise(last))

    def advance(self, step: int) -> None:
        """Note a step at which the only writer went on, which does not go back."""
        if not self.steps:
            self.steps = [step]
            self.recent.append(step)
            if self.trainings.first is None:
                self.trainings.first = step
            return
        difference = step - self.steps[0]
        if difference > 0 or not self.recent:
            if not 0 < self.interval <= difference:
                self.interval = difference
            self.recent.append(step)
            if len(self.recent) >= 4 * _MAX_LAG:
                del self.recent[:-_MAX_LAG]
        if self.repeats:
            self.missing = self.missing if difference == 0 else self.repeats - self.at_step
            self.at_step = 1 + self.at_step * (difference == 0)
        self.steps[0] = step

    def continues_through(self, steps: Sequence[int]) -> bool:
        """Whether rows at these steps are those of the only writer, and each `continues` the one before."""
        if not self.is_alone or self.repeats or steps[0] < self.steps[0]:
            return False
        is_behind_first = steps[0] > self.steps[0] or len(self.recent) > 1
        return is_behind_first and not any(map(gt, steps, steps[1:]))

    def advance_through(self, steps: Sequence[int]) -> None:
        """The same as to `advance` to each of some steps at which it `continues_through`."""
        rising = [*dict.fromkeys((self.steps[0], *steps))]
        if len(rising) > 1:
            least = min(map(sub, rising[1:], rising))
            self.interval = min(self.interval or least, least)
            self.recent = [*self.recent, *rising[1:]][-_MAX_LAG:]
        self.steps[0] = rising[-1]

    def _begin_again(self, rows: list[PlacedRow]) -> list[PlacedRow]:
        self.left = self.steps[0] if len(self.steps) == 1 else None
        if len(self.recent) > _LEAST_USUAL:
            distances = sorted(after - before for before, after in pairwise(self.recent[-_MAX_LAG:]))
            self.usual = distances[len(distances) // 2]
        self.steps, self.recent = [], []
        for _, row in rows:
            self.advance(row.step)
        return rows

    def _decide(self, row: LogRow, place: int, *, is_near: bool) -> list[PlacedRow]:
        """Whether the first writer continues; if it does not, the rows held back are those of a restart."""
        last = self.held[-1][1].step
        first, others = self.steps[0], sorted(held.step for _, held in self.held)
        # several rows of a step prove nothing, nor does the next step
        follows = row.step in (last, last + self.interval)
        is_known = row.step in others and not follows
        # a launch that has passed all steps of a short one before it continues, too
        is_beyond = others[-1] < first and row.step - others[-1] > 1.5 * self.interval
        continues = row.step > first and (is_known or is_beyond)
        if is_near and continues and row.step - first <= 2 * self.interval * (1 + len(self.held)):
            held, self.held = self.held, []
            return [
                (at, self._assign(late._replace(begins=False), is_near=True, new=index == 0))
                for index, (at, late) in enumerate([*held, (place, row)])
            ]
        if not is_near or len(self.held) >= self._most_held():
            return self.restart() + self.add(row, place, is_near=is_near)
        self.held.append((place, row))
        return []

    def _most_held(self) -> int:
        steps = [row.step for _, row in self.held]
        back = sum(after <= before for before, after in pairwise(steps))
        return min(MOST_HELD, MAX_HELD * (1 + back))

    def _assign(self, row: LogRow, *, is_near: bool, new: bool = False) -> LogRow:
        """The row with the label of the writer that is next before its step."""
        earlier = [] if new else [step for step in self.steps if step < row.step]
        if earlier:
            writer = self.steps.index(max(earlier))
            self.steps[writer] = row.step
        elif (
            (is_near or len(self.steps) < self.repeats)
            and len(self.steps) < MAX_WRITERS
            and (new or min(self.steps) - row.step <= MAX_HELD * self.interval)
        ):
            writer = len(self.steps)
            self.steps.append(row.step)
        else:
            self._begin_again([(0, row)])
            return row
        return of_writer(row, writer)


def _with_launches(held: Sequence[PlacedRow], rows: int, before: int = 0) -> list[PlacedRow]:
    """Rows that are held, so many of which at their first step are of a launch each, with those `before`."""
    first = held[0][1].step
    return [
        (place, row._replace(begins=row.step == first and number % rows == 0))
        for number, (place, row) in enumerate(held, start=before)
    ]


def of_writer(row: LogRow, writer: int) -> LogRow:
    """The row with the label of its writer, if that is not the first one."""
    return row._replace(labels=(("process", str(writer)),)) if writer else row
