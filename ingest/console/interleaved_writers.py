"""Tells several writers of one text apart where no prefix does, by the steps of their lines.

Where a step goes back, either the program was started again, or another process prints into the same text and
is behind. Of the latter there is a sign soon: the first process goes on from its own step. Until then a few
rows are held back. Neither other text than usual before the line nor a pause leave a doubt: these are
restarts.

The writers are numbered by their order at first. Where two are at the same step, it is unknown which of them
prints the next line: the lower number is taken.

A program that trains several models in turn begins anew, too, but prints its opening lines once. Rows of such
a training, from the second on, have the label `training`.

A launch that ended after its first record shows itself by no step: the next one begins at the same. After an
unusual pause it does. Where rows of other kinds or other text come between, rows are held back, too: several
processes print each step as often, and batches of an epoch come again, but the next launch goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import isnan, nan
from typing import Any, NamedTuple
from zlib import crc32

from holter.ingest.console.first_step_again import counted_steps, rows_of_launch
from holter.ingest.console.line_names import is_of_evaluation
from holter.ingest.console.training_count import MOST_TRAININGS, TrainingCount
from holter.ingest.rows import LogRow, row_from_json, row_to_json

MAX_HELD = 8
"""Rows after which it is a restart; more where steps go back again among them, as those of many writers."""
_MOST_HELD = 40
MAX_WRITERS = 16
_MAX_LAG = 48
"""Rows by which another writer may be behind."""
_LEAST_USUAL = 4
"""Distances of rows of which the median is the usual one."""
_MAX_KINDS = 32
"""Kinds of rows, by the names of their values, that are looked at."""
_LONGEST_GAP = 4096
_LONG_PAUSE, _LONG_PAUSES = 600.0, 8.0
"""Seconds, and times the longest pause so far, after which no training begins anew in the same launch."""
_USUAL_PAUSES = 4.0
"""A pause of so many times the longest one so far is not usual."""


class InterleavedWriters:
    """Labels the rows of writers other than the first with `process`; holds rows while that is unclear."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._kinds = {name: _RowKind.from_json(kind) for name, kind in state.get("kinds", {}).items()}
        self._end: int | None = state.get("end")
        self._gap: int = state.get("gap", 2)
        self._time: float | None = state.get("time")
        self._pause: float = state.get("pause", 5.0)
        self._training: int = state.get("training", 1)
        self._places: int = state.get("places", 0)
        self._last: str | None = state.get("last")
        """The kind of the last row."""
        self._behind = [_Behind.from_json(row) for row in state.get("behind", ())]
        """Rows of other kinds since the first row that is held."""
        self.is_same_launch: bool = state.get("same launch", False)
        """Whether a training that begins anew belongs to the launch so far."""

    def state(self) -> dict[str, Any]:
        """What later rows are compared with, as JSON-able values."""
        if not self._kinds:
            return {}
        kinds = {name: kind.to_json() for name, kind in self._kinds.items()}
        state: dict[str, Any] = {
            "kinds": kinds,
            "end": self._end,
            "gap": self._gap,
            "time": self._time,
            "pause": self._pause,
            "last": self._last,
        }
        if self.is_holding:
            state |= {"places": self._places, "behind": [row.to_json() for row in self._behind]}
            if self.is_same_launch:  # rows that are held back may be the last ones
                state["same launch"] = True
        return state if self._training == 1 else {**state, "training": self._training}

    def has_at(self, step: int, values: Mapping[str, float]) -> bool:
        """Whether a row of this launch had a value of one of these names at a step or behind it."""
        return any(
            kind.steps and max(kind.steps) >= step and not values.keys().isdisjoint(kind.names)
            for kind in self._kinds.values()
        )

    def add(self, row: LogRow, start: int, end: int, *, in_block: bool = False) -> list[LogRow]:
        """The rows that are clear now; `start` and `end` are where its line begins and ends.

        Nothing tells lines of two processes apart whose steps are in a heading above, `in_block`.
        """
        clear: list[LogRow] = []
        name = _kind_of(tuple(row.values))
        kind = self._kinds.get(name)
        if kind is None:
            if len(self._kinds) >= _MAX_KINDS:
                return [row]
            kind = _RowKind(trainings=TrainingCount(number=self._training), names=tuple(row.values))
        if not (kind.steps or kind.held) and self._is_of_next_training(row):
            clear += self._begin_next_training()
            kind.begin_training(self._training)
        self._kinds[name] = kind
        if self.is_same_launch and kind.steps[:1] > [row.step] and self._is_long_after(row):
            self.is_same_launch = False
        is_again = kind.is_first_again(row)
        is_paused = is_again and self._is_paused(row)
        is_near = self._is_near(row, start, learn=not (is_again or kind.steps[:1] > [row.step]))
        is_between = self._last != name or not is_near
        if is_again and self.is_same_launch and not is_between:
            is_again = False
        is_near &= not in_block
        self._end, self._last = end, name
        if not isnan(row.time):
            self._time = row.time
        last, was_holding = kind.steps[:1], bool(kind.held) and not kind.is_again
        rows = kind.add(
            row,
            self._next_place(),
            is_near=is_near,
            is_paused=is_paused,
            is_again=is_again,
            is_between=is_between,
        )
        begins = was_holding or last > kind.steps or any(each.begins for _, each in rows)
        if len(kind.steps) == 1 and not kind.held and begins:
            # the program was started again: rows of other kinds belong to it, too
            rows = self._begin_trainings(kind, rows)
            for other in self._kinds.values():
                if other is not kind:
                    rows += self._released(other)
            self._training = max(self._training, kind.trainings.number)
            for other in self._kinds.values():
                if other.trainings.is_before(kind.trainings):
                    other.begin_training(kind.trainings.number, kind.trainings.before)
                elif other is not kind and not self.is_same_launch:
                    other.forget_steps()
            return clear + _beginning(self._in_order(rows))
        if self.is_holding and not (was_holding or kind.held):
            self._behind += [_Behind(place, name, each) for place, each in rows]
            return clear + (self.release() if len(self._behind) >= _MOST_HELD else [])
        return clear + self._in_order([(place, kind.trainings.of_training(each)) for place, each in rows])

    def _next_place(self) -> int:
        """The place of the next row among those since the first one that is held."""
        self._places = self._places + 1 if self.is_holding else 0
        return self._places

    def _in_order(self, rows: Sequence[_Placed]) -> list[LogRow]:
        """Rows that are clear now as they came, with those behind them unless others are still held."""
        if self.is_holding:
            return [row for _, row in rows]
        behind = [(place, self._kinds[name].trainings.of_training(row)) for place, name, row in self._behind]
        self._behind = []
        return [row for _, row in sorted([*rows, *behind], key=lambda each: each[0])]

    def add_lines(self, lines: Sequence[tuple[LogRow, int, int]]) -> list[LogRow]:
        """The rows that are clear now; each has where its line begins and ends. See `add`."""
        clear: list[LogRow] = []
        is_holding = self.is_holding
        for row, start, end in lines:
            name = _kind_of(tuple(row.values))
            kind = self._kinds.get(name)
            if is_holding or kind is None or not kind.is_alone or not kind.goes_on(row):
                clear += self.add(row, start, end)
                is_holding = self.is_holding
                continue
            self._is_near(row, start, learn=True)
            self._end, self._last = end, name
            if row.time == row.time:
                self._time = row.time
            kind.advance(row.step)
            kind.trainings.end = row.step
            clear.append(row if kind.trainings.number == 1 else kind.trainings.of_training(row))
        return clear

    def _is_of_next_training(self, row: LogRow) -> bool:
        """Whether a row with values of new names begins the next training, which prints others besides."""
        return (
            self.is_same_launch
            and self._training < MOST_TRAININGS
            and any(
                kind.begins_anew(row.step) and not row.values.keys().isdisjoint(kind.names)
                for kind in self._kinds.values()
            )
        )

    def _begin_next_training(self) -> list[LogRow]:
        """The rows held back; what comes next is of the next training."""
        rows = self.release()
        self._training += 1
        for kind in self._kinds.values():
            kind.begin_training(self._training)
        return rows

    def _begin_trainings(self, kind: _RowKind, rows: Sequence[_Placed]) -> list[_Placed]:
        """Rows that begin anew: each time they do is the next training, where no other launch began."""
        first = rows[0][1].step
        if not self.is_same_launch or kind.trainings.first is None or first > kind.trainings.first:
            return [(place, kind.trainings.of_training(row)) for place, row in rows]
        named, last = [], first
        kind.trainings.advance()
        for number, (place, row) in enumerate(rows):
            if number and (row.begins or row.step < last) and row.step <= kind.trainings.first:
                kind.trainings.advance()
            named.append((place, kind.trainings.of_training(row)._replace(begins=False)))
            last = row.step
        kind.trainings.first = first
        return named

    def _released(self, kind: _RowKind) -> list[_Placed]:
        """The rows of a kind that were held back, as those of a restart that others show."""
        rows = kind.follow()
        return self._begin_trainings(kind, rows) if rows else []

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back."""
        return any(kind.held for kind in self._kinds.values())

    def release(self) -> list[LogRow]:
        """The rows held back, as those of a restart: nothing comes after them, or what proves it."""
        released: list[_Placed] = []
        for kind in self._kinds.values():
            if rows := kind.restart():
                released += self._begin_trainings(kind, rows)
        self._training = max((kind.trainings.number for kind in self._kinds.values()), default=1)
        return _beginning(self._in_order(released))

    def begin_again(self) -> list[LogRow]:
        """The rows held back; what comes next is printed by another launch."""
        rows = self.release()
        for kind in self._kinds.values():
            kind.begin_training(1)
        self._training = 1
        return rows

    def _is_paused(self, row: LogRow) -> bool:
        """Whether a pause before a row is longer than usual."""
        return self._pause_before(row) > _USUAL_PAUSES * self._pause

    def _is_long_after(self, row: LogRow) -> bool:
        """Whether a row comes so long after the last one that another launch must have printed it."""
        return self._pause_before(row) > max(_LONG_PAUSE, _LONG_PAUSES * self._pause)

    def _pause_before(self, row: LogRow) -> float:
        """Seconds between a row and the one before; 0 where no clock says."""
        return 0.0 if self._time is None or isnan(row.time) else row.time - self._time

    def _is_near(self, row: LogRow, start: int, *, learn: bool) -> bool:
        """Whether there is no more text, and no longer pause, than usual between a row and the one before."""
        gap = 0 if self._end is None else start - self._end
        pause = self._pause_before(row)
        is_near = gap <= self._gap and pause <= _USUAL_PAUSES * self._pause
        if learn:
            if gap > self._gap:
                self._gap = min(gap, _LONGEST_GAP)
            if pause > self._pause:  # that between two launches is not usual
                self._pause = min(pause, _USUAL_PAUSES * self._pause)
        return is_near


_Placed = tuple[int, LogRow]
"""A row and its place among those since the first one that is held."""


class _Behind(NamedTuple):
    """A row that is clear but comes behind one that is held: its place, its kind, and the row."""

    place: int
    kind: str
    row: LogRow

    def to_json(self) -> list[Any]:
        """The row as JSON-able values."""
        return [self.place, self.kind, row_to_json(self.row)]

    @classmethod
    def from_json(cls, stored: list[Any]) -> _Behind:
        """The row from what `to_json` returned."""
        place, kind, row = stored
        return cls(place, kind, row_from_json(row))


def _beginning(rows: list[LogRow]) -> list[LogRow]:
    """The rows, of which the first one begins a launch if any does: those of other kinds belong to it."""
    first = next((number for number, row in enumerate(rows) if row.begins), None)
    if first is None:
        return rows
    others = [row._replace(begins=False) for row in rows[1 : first + 1]]
    return [rows[0]._replace(begins=True), *others, *rows[first + 1 :]]


@lru_cache(maxsize=1024)
def _kind_of(names: tuple[str, ...]) -> str:
    return str(crc32("\n".join(names).encode(errors="surrogatepass")))  # JSON may have half a pair


@dataclass(slots=True)
class _RowKind:
    """Rows with values of the same names. `steps` are those at which its writers are.

    `recent` are the last steps of the only writer so far, `interval` the least number of steps between two
    of its rows, 0 while unknown. `left` is the step that was left where the steps began again, and `usual`
    the number of steps between two rows then; `returns` counts how often a row soon went on from there.
    `is_again`: the rows that are held are the first one's step again, and what follows, `is_between` others;
    `repeats`: it is known that steps have several rows.
    """

    steps: list[int] = field(default_factory=list)
    recent: list[int] = field(default_factory=list)
    interval: int = 0
    held: list[_Placed] = field(default_factory=list)
    trainings: TrainingCount = field(default_factory=TrainingCount)
    names: tuple[str, ...] = ()
    left: int | None = None
    usual: int = 0
    returns: int = 0
    is_again: bool = False
    repeats: bool = False
    is_between: bool = False

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
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> _RowKind:
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
            kind.is_again, kind.repeats, kind.is_between = [*more[5][3:], False, False, True][:3]
        return kind

    def is_first_again(self, row: LogRow) -> bool:
        """Whether a row of a training is at the step of its only one so far."""
        is_first = self.steps == [row.step] == self.recent and not (self.held or self.repeats)
        return is_first and not all(map(is_of_evaluation, self.names))

    def goes_on(self, row: LogRow) -> bool:
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
    ) -> list[_Placed]:
        """The rows that are clear now.

        `is_again`: it is at the step of the only row so far; `is_paused`: after a pause as well.
        `is_between`: other rows, or more text than usual, came before it.
        """
        if is_paused:
            return self._begin_again([(place, row._replace(begins=True))])
        if is_again:
            self.held, self.is_again, self.is_between = [(place, row)], True, is_between
            return []
        if self.is_again:
            return self._decide_again(row, place, is_between=is_between)
        if self.held:
            return self._decide(row, place, is_near=is_near)
        if len(self.steps) > 1:
            return [(place, self._assign(row, is_near=is_near))]
        if is_near and self._returns(row.step):
            self.steps.append(row.step)
            return [(place, row._replace(labels=(("process", "1"),)))]
        if not self.steps or row.step >= self.steps[0]:
            self.advance(row.step)
            return [(place, row)]
        if is_near and self.interval and self._is_regular():
            self.held.append((place, row))
            return []
        return self._begin_again([(place, row)])

    @property
    def is_alone(self) -> bool:
        """Whether rows that go on are of the only writer."""
        return len(self.steps) == 1 and not (self.held or self._may_return)

    @property
    def _may_return(self) -> bool:
        return self.left is not None and bool(self.steps) and len(self.recent) <= MAX_HELD

    def _returns(self, step: int) -> bool:
        """Whether a row goes on where the steps were left, for the second time: these are two writers."""
        if not self._may_return:
            return False
        assert self.left is not None, "the step that was left"
        goes_on = 0 < step - self.left <= 2 * self.usual < step - self.steps[0]
        self.returns += goes_on
        return goes_on and self.returns > 1

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

    def restart(self) -> list[_Placed]:
        """The rows held back, as those of the first writer."""
        if self.is_again:
            is_known = self.is_between and len({row.step for _, row in self.held}) > 1
            return self._launch(1) if is_known else self._repeat()
        held, self.held = self.held, []
        return self._begin_again(held) if held else []

    def _repeat(self) -> list[_Placed]:
        """The rows held back, as those of steps with several rows."""
        held, self.held = self.held, []
        self.is_again, self.repeats = False, True
        for _, row in held:
            self.advance(row.step)
        return held

    def _decide_again(self, row: LogRow, place: int, *, is_between: bool) -> list[_Placed]:
        """Whether launches begin with the first of the rows that are held; see `first_step_again`."""
        first, last = self.steps[0], self.held[-1][1].step
        self.is_between &= is_between or row.step > first
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

    def _launch(self, rows: int) -> list[_Placed]:
        """The rows held back, so many of which at the first step are of a launch each."""
        held, self.held, self.is_again = self.held, [], False
        first = self.steps[0]
        return self._begin_again(
            [
                (place, row._replace(begins=row.step == first and number % rows == 0))
                for number, (place, row) in enumerate(held, start=1)
            ]
        )

    def follow(self) -> list[_Placed]:
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
        self.steps[0] = step

    def _begin_again(self, rows: list[_Placed]) -> list[_Placed]:
        self.left = self.steps[0] if len(self.steps) == 1 else None
        if len(self.recent) > _LEAST_USUAL:
            distances = sorted(after - before for before, after in pairwise(self.recent[-_MAX_LAG:]))
            self.usual = distances[len(distances) // 2]
        self.steps, self.recent = [], []
        for _, row in rows:
            self.advance(row.step)
        return rows

    def _decide(self, row: LogRow, place: int, *, is_near: bool) -> list[_Placed]:
        """Whether the first writer goes on; if it does not, the rows held back are those of a restart."""
        last = self.held[-1][1].step
        first, others = self.steps[0], sorted(held.step for _, held in self.held)
        # several rows of a step prove nothing, nor does the next step
        follows = row.step in (last, last + self.interval)
        is_known = row.step in others and not follows
        # a launch that has passed all steps of a short one before it goes on, too
        is_beyond = others[-1] < first and row.step - others[-1] > 1.5 * self.interval
        goes_on = row.step > first and (is_known or is_beyond)
        if is_near and goes_on and row.step - first <= 2 * self.interval * (1 + len(self.held)):
            held, self.held = self.held, []
            return [
                (at, self._assign(late, is_near=True, new=index == 0))
                for index, (at, late) in enumerate([*held, (place, row)])
            ]
        if not is_near or len(self.held) >= self._most_held():
            return self.restart() + self.add(row, place, is_near=is_near)
        self.held.append((place, row))
        return []

    def _most_held(self) -> int:
        steps = [row.step for _, row in self.held]
        back = sum(after <= before for before, after in pairwise(steps))
        return min(_MOST_HELD, MAX_HELD * (1 + back))

    def _assign(self, row: LogRow, *, is_near: bool, new: bool = False) -> LogRow:
        """The row with the label of the writer that is next before its step."""
        earlier = [] if new else [step for step in self.steps if step < row.step]
        if earlier:
            writer = self.steps.index(max(earlier))
            self.steps[writer] = row.step
        elif (
            is_near
            and len(self.steps) < MAX_WRITERS
            and (new or min(self.steps) - row.step <= MAX_HELD * self.interval)
        ):
            writer = len(self.steps)
            self.steps.append(row.step)
        else:
            self._begin_again([(0, row)])
            return row
        return row._replace(labels=(("process", str(writer)),)) if writer else row
