"""Tells several writers of one text apart where no prefix does, by the steps of their lines.

Where a step goes back, either the program was started again, or another process prints into the same text and
is behind. Of the latter there is a sign soon: the first process continues from its own step. Until then a few
rows are held back. Neither other text than usual before the line nor a pause leave a doubt: these are
restarts.

The writers are numbered by their order at first. Where two are at the same step, it is unknown which of them
prints the next line: the lower number is taken.

A program that trains several models in turn begins anew, too, but prints its opening lines once. Rows of such
a training, from the second on, have the label `training`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isnan
from operator import sub
from typing import Any, NamedTuple
from zlib import crc32

from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.writers.row_kinds import MOST_HELD, PlacedRow, RowKind, of_writer
from holter.ingest.console.writers.training_count import TrainingCount
from holter.ingest.rows import LogRow, row_from_json, row_to_json

_FEWEST_AT_ONCE = 16
"""Rows that are looked at by their kinds: fewer are sooner one after another."""
_MAX_KINDS = 32
"""Kinds of rows, by the names of their values, that are looked at."""
_LONGEST_GAP = 4096
_LONG_PAUSE, _LONG_PAUSES = 600.0, 8.0
"""Seconds, and times the longest pause so far, after which no training begins anew in the same launch."""
_SHORTEST_PAUSE = 5.0
_USUAL_PAUSES = 4.0
"""A pause of so many times the longest one so far is not usual."""


_UNKNOWN = ("", None)


class UnlabelledRows:
    """Rows of which no prefix states who printed them, and where the line of each begins and ends."""

    __slots__ = ("ends", "rows", "starts")

    def __init__(self, rows: list[LogRow], starts: list[int], ends: list[int]) -> None:
        self.rows, self.starts, self.ends = rows, starts, ends

    def add(self, row: LogRow, start: int, end: int) -> None:
        """Add the next row."""
        self.rows.append(row)
        self.starts.append(start)
        self.ends.append(end)

    def behind(self, number: int) -> UnlabelledRows:
        """The rows behind the first ones."""
        return UnlabelledRows(self.rows[number:], self.starts[number:], self.ends[number:])

    def only(self, number: int, row: LogRow) -> UnlabelledRows:
        """A row instead of that with this number."""
        return UnlabelledRows([row], [self.starts[number]], [self.ends[number]])


class InterleavedWriters:
    """Labels the rows of writers other than the first with `process`; holds rows while that is unclear."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._kinds = {name: RowKind.from_json(kind) for name, kind in state.get("kinds", {}).items()}
        self._end: int | None = state.get("end")
        self._gap: int = state.get("gap", 2)
        self._time: float | None = state.get("time")
        self._pause: float | None = state.get("pause")
        self._usual_pause = _usual_pause(self._pause)
        self._training: int = state.get("training", 1)
        self._places: int = state.get("places", 0)
        self._last: str | None = state.get("last")
        """The kind of the last row."""
        self._behind = [_Behind.from_json(row) for row in state.get("behind", ())]
        """Rows of other kinds since the first row that is held."""
        self._begun = [_Begun(*each) for each in state.get("begun", ())]
        self.is_same_launch: bool = state.get("same launch", False)
        """Whether a training that begins anew belongs to the launch so far."""
        self._is_guess: bool = state.get("guess", False)
        self._begins_training = False
        self._first_guess: bool | None = state.get("first guess")
        """What was guessed where the steps went back first; the text around may be another one later."""

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
            if self._begun:
                state["begun"] = [[*each] for each in self._begun]
            if self.is_same_launch:  # rows that are held back may be the last ones
                state["same launch"] = True
            if self._is_guess:
                state["guess"] = True
        if self._first_guess is not None:
            state["first guess"] = self._first_guess
        return state if self._training == 1 else {**state, "training": self._training}

    def has_at(self, step: int, values: Mapping[str, float]) -> bool:
        """Whether a row of this launch had a value of one of these names at a step or behind it."""
        return any(
            kind.steps and max(kind.steps) >= step and not values.keys().isdisjoint(kind.names)
            for kind in self._kinds.values()
        )

    @property
    def has_trained(self) -> bool:
        """Whether any row of this text was of no evaluation."""
        return any(not all(map(is_of_evaluation, kind.names)) for kind in self._kinds.values())

    def would_repeat(self, step: int, values: Mapping[str, float]) -> bool:
        """Whether a row would be the second one at the last step of values that have one writer."""
        return not self.is_holding and any(
            kind.steps == [step] and not (kind.repeats or values.keys().isdisjoint(kind.names))
            for kind in self._kinds.values()
        )

    def begins_kind_anew(self, row: LogRow) -> bool:
        """Whether a row is at the first step of its kind again, from which the only writer had gone on."""
        kind = self._kinds.get(_kind_of(tuple(row.values)))
        return kind is not None and not kind.held and kind.begins_anew(row.step)

    @property
    def has_gone_on(self) -> bool:
        """Whether any row of this launch was behind its first one."""
        return any(
            kind.trainings.first is not None and any(step > kind.trainings.first for step in kind.steps)
            for kind in self._kinds.values()
        )

    @property
    def has_one(self) -> bool:
        """Whether one writer has printed everything so far."""
        return not self.is_holding and all(len(kind.steps) == 1 for kind in self._kinds.values())

    def note_launch(self, *, is_same: bool, is_guess: bool = False, begins_training: bool = False) -> bool:
        """Note whether the next row is one of the launch so far, unless rows before it wait for a decision.

        Where that is a guess, it is what it was the first time that the steps went back. `begins_training`:
        a line above it states that a training starts. Returns whether it was noted.
        """
        self._begins_training = begins_training
        if self.is_holding:
            return False
        self._is_guess = is_guess
        self.is_same_launch = self._first_guess if is_guess and self._first_guess is not None else is_same
        return True

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
            kind = RowKind(trainings=TrainingCount(number=self._training), names=tuple(row.values))
        if not (kind.steps or kind.held) and self._begins_anew(row):
            if self._is_long_after(row):
                clear += self.begin_again()
                row, self.is_same_launch = row._replace(begins=True), False
                kind.begin_training(1)
            elif self.is_same_launch and any(other.trainings.may_advance for other in self._kinds.values()):
                clear += self._begin_next_training()
                kind.begin_training(self._training)
        self._kinds[name] = kind
        if not self.is_holding and len(kind.steps) == 1 and (writer := self._writer_at(row.step, kind)):
            self._end, self._last = end, name
            return [*clear, kind.trainings.of_training(of_writer(row, writer))]
        if self.is_same_launch and kind.steps[:1] > [row.step] and self._is_long_after(row):
            self.is_same_launch = False
        is_again = kind.is_first_again(row) and not self._has_gone_back
        is_paused = is_again and self._is_paused(row)
        is_back = kind.steps[:1] > [row.step] or (bool(kind.held) and row.step <= kind.held[-1][1].step)
        is_near = self._is_near(row, start, learn=not (is_again or is_back))
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
            is_begun=self._begins_training,
        )
        begins = was_holding or last > kind.steps or any(each.begins for _, each in rows)
        if rows and len(kind.steps) == 1 and begins:
            # the program was started again: rows of other kinds belong to it, too
            rows = self._begin_trainings(kind, rows)
            for other in self._kinds.values():
                if other is not kind:
                    rows += self._released(other)
            self._training = max(self._training, kind.trainings.number)
            if not self.is_same_launch:
                for other in self._kinds.values():
                    if other is not kind and not other.trainings.is_before(kind.trainings):
                        other.forget_steps()
            self._begin_with(kind.trainings)
            return clear + _beginning(self._in_order(rows))
        if self.is_holding and not (was_holding or kind.held):
            self._behind += [_Behind(place, name, each) for place, each in rows]
            return clear + (self.release() if len(self._behind) >= MOST_HELD else [])
        return clear + self._in_order([(place, kind.trainings.of_training(each)) for place, each in rows])

    def _next_place(self) -> int:
        """The place of the next row among those since the first one that is held."""
        self._places = self._places + 1 if self.is_holding else 0
        return self._places

    def _in_order(self, rows: Sequence[PlacedRow]) -> list[LogRow]:
        """Rows that are clear now as they came, with those behind them unless others are still held."""
        if self.is_holding:
            return [row for _, row in rows]
        begun, self._begun = self._begun, []
        if len(rows) == 1 and not self._behind:
            return [rows[0][1]]
        behind = [(at, self._training_at(at, name, begun).of_training(row)) for at, name, row in self._behind]
        self._behind = []
        return [row for _, row in sorted([*rows, *behind], key=lambda each: each[0])]

    def _training_at(self, place: int, name: str, begun: Sequence[_Begun]) -> TrainingCount:
        """The training that a row of a kind is of: the last one that began before its place, if any did."""
        before = max((each for each in begun if each.place < place), default=None)
        known = self._kinds[name].trainings
        return known if before is None else replace(known, number=before.number, before=before.steps)

    def _begin_with(self, trainings: TrainingCount) -> None:
        """What comes next of the kinds that are of an earlier training is of this one."""
        for kind in self._kinds.values():
            if kind.trainings.is_before(trainings):
                kind.begin_training(trainings.number, trainings.before)

    @property
    def _has_gone_back(self) -> bool:
        """Whether rows of a kind are held whose step went back: what is behind them is of their training."""
        return any(kind.held and not kind.is_again for kind in self._kinds.values())

    def add_lines(self, lines: UnlabelledRows) -> list[LogRow]:
        """The rows that are clear now. See `add`."""
        if len(lines.rows) >= _FEWEST_AT_ONCE and (kinds := self._continuing_kinds(lines.rows)):
            return self._add_continuing(lines, kinds)
        clear: list[LogRow] = []
        known: dict[tuple[str, ...], tuple[str, RowKind]] = {}
        is_holding = self.is_holding
        for row, start, end in zip(lines.rows, lines.starts, lines.ends, strict=True):
            names = tuple(row.values)
            name, kind = known.get(names, _UNKNOWN)
            if kind is None and (kind := self._kinds.get(name := _kind_of(names))) is not None:
                known[names] = name, kind
            if is_holding or kind is None or not kind.is_alone or not kind.continues(row):
                clear += self.add(row, start, end)
                is_holding = self.is_holding
                continue
            self._learn_distance(row, start)
            self._end, self._last = end, name
            if row.time == row.time:
                self._time = row.time
            kind.advance(row.step)
            kind.trainings.end = row.step
            clear.append(row if kind.trainings.number == 1 else kind.trainings.of_training(row))
        return clear

    def all_continue(self, rows: Sequence[LogRow]) -> bool:
        """Whether all rows are those of the only writer of their kind."""
        return bool(self._continuing_kinds(rows))

    def _continuing_kinds(self, rows: Sequence[LogRow]) -> dict[str, tuple[RowKind, list[int]]]:
        """The kinds of rows with the steps of each; none if not each is of the only writer of its kind."""
        steps: dict[tuple[str, ...], list[int]] = {}
        for row in rows:
            if (of_kind := steps.get(names := tuple(row[2]))) is None:
                of_kind = steps[names] = []
            of_kind.append(row[0])
        kinds: dict[str, tuple[RowKind, list[int]]] = {}
        for names, of_kind in steps.items():
            kind = self._kinds.get(name := _kind_of(names))
            if kind is None or name in kinds or not kind.continues_through(of_kind):
                return {}
            kinds[name] = kind, of_kind
        return {} if self.is_holding else kinds

    def _add_continuing(
        self, lines: UnlabelledRows, kinds: Mapping[str, tuple[RowKind, list[int]]]
    ) -> list[LogRow]:
        """The rows, all of which go on."""
        rows = lines.rows
        self._learn_distances(lines)
        self._end, self._last = lines.ends[-1], _kind_of(tuple(rows[-1].values))
        is_first = True
        for kind, steps in kinds.values():
            kind.advance_through(steps)
            kind.trainings.end = steps[-1]
            is_first &= kind.trainings.number == 1
        if is_first:
            return rows
        trainings = {name: kind.trainings for name, (kind, _) in kinds.items()}
        return [trainings[_kind_of(tuple(row.values))].of_training(row) for row in rows]

    def of_running(self, row: LogRow, *, is_same_launch: bool) -> LogRow:
        """A row of a step that is not complete, with the label of its training."""
        if row.labels:
            return row
        kinds = [kind for kind in self._kinds.values() if not row.values.keys().isdisjoint(kind.names)]
        number = max((kind.trainings.number for kind in kinds), default=1)
        if is_same_launch and any(kind.begins_anew(row.step) for kind in kinds):
            number += 1
        return TrainingCount(number=number).of_training(row)

    def _writer_at(self, step: int, kind: RowKind) -> int:
        """The writer at a step as rows of another kind show it, where they are of several; 0 is the first."""
        for other in self._kinds.values():  # a loop, as it is asked for each row that is not settled
            if len(other.steps) > 1 and other is not kind and step in other.steps:
                return other.steps.index(step)
        return 0

    def _begins_anew(self, row: LogRow) -> bool:
        """Whether a row with values of new names begins another training, which may print others besides."""
        names = {name.removeprefix("epoch/") for name in row.values}
        return any(
            kind.begins_anew(row.step) and not names.isdisjoint(kind.names) for kind in self._kinds.values()
        )

    def _begin_next_training(self) -> list[LogRow]:
        """The rows held back; what comes next is of the next training."""
        rows = self.release()
        self._training += 1
        for kind in self._kinds.values():
            kind.begin_training(self._training)
        return rows

    def _begin_trainings(self, kind: RowKind, rows: Sequence[PlacedRow]) -> list[PlacedRow]:
        """Rows that begin anew: each time they do is the next training, where no other launch began."""
        first = rows[0][1].step
        is_back = first < kind.trainings.end or any(row.begins for _, row in rows)
        if is_back and self._is_guess and self._first_guess is None:
            self._first_guess = self.is_same_launch
        if is_back and not self.is_same_launch and kind.trainings.number > 1:
            self._count_from_first(kind, first)
        if not self.is_same_launch or kind.trainings.first is None or first > kind.trainings.first:
            return [(place, kind.trainings.of_training(row)) for place, row in rows]
        named, last = [], first
        for number, (place, row) in enumerate(rows):
            if not number or ((row.begins or row.step < last) and row.step <= kind.trainings.first):
                kind.trainings.advance()
                self._begun.append(_Begun(place, kind.trainings.number, kind.trainings.before))
            named.append((place, kind.trainings.of_training(row)._replace(begins=False)))
            last = row.step
        kind.trainings.first = first
        return named

    def _count_from_first(self, kind: RowKind, step: int) -> None:
        """Count the trainings of another launch, which begins with a row of a kind, from one again."""
        self._training = 1
        for other in self._kinds.values():
            if other.trainings.number > 1:
                other.trainings.begin(1)
        kind.trainings.first = step

    def _released(self, kind: RowKind) -> list[PlacedRow]:
        """The rows of a kind that were held back, as those of a restart that others show."""
        rows = kind.follow()
        return self._begin_trainings(kind, rows) if rows else []

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back."""
        for kind in self._kinds.values():  # noqa: SIM110 (asked several times for each line)
            if kind.held:
                return True
        return False

    def release(self) -> list[LogRow]:
        """The rows held back, as those of a restart: nothing comes after them, or what proves it."""
        released: list[PlacedRow] = []
        for kind in self._kinds.values():
            if rows := kind.restart():
                released += self._begin_trainings(kind, rows)
        self._training = max((kind.trainings.number for kind in self._kinds.values()), default=1)
        if released:
            self._begin_with(max((kind.trainings for kind in self._kinds.values()), key=_order_of))
        return _beginning(self._in_order(released))

    def begin_again(self) -> list[LogRow]:
        """The rows held back; what comes next is printed by another launch."""
        rows = self.release()
        for kind in self._kinds.values():
            kind.begin_training(1)
        self._training = 1
        return rows

    def _is_paused(self, row: LogRow) -> bool:
        """Whether a pause before a row is longer than usual, as far as any are known."""
        return self._pause is not None and self._pause_before(row) > self._usual_pause

    def _is_long_after(self, row: LogRow) -> bool:
        """Whether a row comes so long after the last one that another launch must have printed it."""
        return self._pause_before(row) > max(_LONG_PAUSE, _LONG_PAUSES / _USUAL_PAUSES * self._usual_pause)

    def _pause_before(self, row: LogRow) -> float:
        """Seconds between a row and the one before; 0 where no clock shows it."""
        return 0.0 if self._time is None or isnan(row.time) else row.time - self._time

    def _is_near(self, row: LogRow, start: int, *, learn: bool) -> bool:
        """Whether there is no more text, and no longer pause, than usual between a row and the one before."""
        gap = 0 if self._end is None else start - self._end
        is_near = gap <= self._gap and self._pause_before(row) <= self._usual_pause
        if learn:
            self._learn_distance(row, start)
        return is_near

    def _learn_distance(self, row: LogRow, start: int) -> None:
        """Note how much text, and how long a pause, is between a row and the one before."""
        if self._end is not None and start - self._end > self._gap:
            self._gap = min(start - self._end, _LONGEST_GAP)
        if self._time is not None and row.time == row.time:
            self._learn_pause(row.time - self._time)

    def _learn_distances(self, lines: UnlabelledRows) -> None:
        """Note how much text, and how long a pause, is between some rows; the last one has the last time."""
        ends = lines.ends if self._end is None else [self._end, *lines.ends]
        starts = lines.starts[1:] if self._end is None else lines.starts
        self._gap = max(self._gap, min(max(map(sub, starts, ends), default=0), _LONGEST_GAP))
        times = [row[1] for row in lines.rows if row[1] == row[1]]
        if not times:
            return
        if self._time is not None:
            times.insert(0, self._time)
        self._time = times[-1]
        pauses = [*map(sub, times[1:], times)]
        if max(pauses, default=-1.0) > (self._pause or -1.0):
            for pause in pauses:
                self._learn_pause(pause)

    def _learn_pause(self, pause: float) -> None:
        """Note a pause between two rows; that between two launches is not usual."""
        if pause > (self._pause or -1.0):
            self._pause = min(pause, self._usual_pause)
            self._usual_pause = _usual_pause(self._pause)


def _usual_pause(longest: float | None) -> float:
    """Seconds up to which a pause is usual where so many are the longest so far, None if none is known."""
    return _USUAL_PAUSES * max(longest or 0.0, _SHORTEST_PAUSE)


class _Begun(NamedTuple):
    """The place at which a training begins among rows that were held, its number and the steps before it."""

    place: int
    number: int
    steps: int


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


def _order_of(trainings: TrainingCount) -> tuple[int, int]:
    return trainings.number, trainings.before


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
