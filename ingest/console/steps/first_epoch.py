"""Holds back records of the first epoch of a text whose lines name nothing but their epoch.

They may be those of several processes, which are at the same step, or of batches, of which each is a step of
its own. It is known once the second epoch begins, or there are more lines than processes print. Until then
the first line alone has a step for certain, unless a single line of a step is above it (`lone_steps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.alike_lines import note_alike
from holter.ingest.console.steps.known_steps import known_axis, lines_of_first_epoch, may_count_lines
from holter.ingest.console.steps.lines_of_epochs import note_uncounted
from holter.ingest.console.steps.lone_steps import is_undecided, moved_lines
from holter.ingest.rows import LogRow, row_from_json, row_to_json

_MOST_HELD = 64


class Record(NamedTuple):
    """The rows of a line, and where this begins and ends.

    `is_unlabelled`: nothing states who printed it. `is_named`: the line states what it is of. `job_wide` and
    `in_block` are those of the kind of the line. `is_same_launch`: what came before it shows no other one;
    `is_guess`: nothing but text does. `begins_training`: a line above it states that a training starts. `at`
    is the step of the training there. `is_before`: that is before the last one, and the record is of an
    evaluation. `is_setting`: it has nothing but rates, which may be among the settings of the next launch.
    """

    rows: list[LogRow]
    start: int
    end: int
    is_unlabelled: bool
    is_named: bool
    job_wide: bool = False
    in_block: bool = False
    is_same_launch: bool = False
    at: int | None = None
    is_guess: bool = False
    is_before: bool = False
    begins_training: bool = False
    is_setting: bool = False

    def to_json(self) -> list[Any]:
        """The record as JSON-able values."""
        return [[row_to_json(row) for row in self.rows], *self[1:]]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Record:
        """The record from what `to_json` returned."""
        rows, *place = stored
        return cls([row_from_json(row) for row in rows], *place)


class FirstEpoch:
    """The records of the first epoch that are held back, each with the number of lines above it."""

    def __init__(self, stored: Sequence[Sequence[Any]]) -> None:
        self._held = [(lines, Record.from_json(record)) for lines, *record in stored]

    def state(self) -> list[list[Any]]:
        """What is held, as JSON-able values."""
        return [[lines, *record.to_json()] for lines, record in self._held]

    @property
    def is_holding(self) -> bool:
        """Whether records are held back."""
        return bool(self._held)

    def is_open(self, state: DialectState, *, counts_lines: bool) -> bool:
        """Whether the next line may be held back: it `counts_lines`, or such a line is above it."""
        axis = known_axis(state)
        if is_undecided(axis):
            return True
        return may_count_lines(axis) if counts_lines else lines_of_first_epoch(axis) > 0

    def holds(self, record: Record, line: str, state: DialectState, *, has_one_writer: bool) -> bool:
        """Whether the record of a line is held back: what its step is, is unknown.

        `has_one_writer`: nothing shows that several processes print into the text.
        """
        axis = known_axis(state)
        lines = lines_of_first_epoch(axis) - 1
        if is_undecided(axis) and len(self._held) < _MOST_HELD:
            self._held.append((max(lines, 0), record))
            return True
        if lines < 0 or not record.is_unlabelled:
            return False
        note_alike(line, record.rows[0], axis, has_one_writer=has_one_writer)
        if lines == 0:
            return False
        if len(self._held) >= _MOST_HELD:
            note_uncounted(axis)
            return False
        self._held.append((lines, record))
        return True

    def known(self, state: DialectState) -> list[Record]:
        """The records whose steps are known now."""
        if not self._held:
            return []
        axis = known_axis(state)
        if (moved := moved_lines(axis)) is not None:
            return [_at_end(record, *moved) for record in self.release()]
        if is_undecided(axis) or lines_of_first_epoch(axis):
            return []
        return self.release(is_counted="counted" in axis)

    def release(self, *, is_counted: bool = False) -> list[Record]:
        """All records, at steps of their own if lines are counted."""
        held, self._held = self._held, []
        if not is_counted:
            return [record for _, record in held]
        return [
            record._replace(rows=[row._replace(step=row.step + lines) for row in record.rows])
            for lines, record in held
        ]


def _at_end(record: Record, step: int, end: int, names: Sequence[str]) -> Record:
    """A record; at this step it is at the end of its epoch, with the means of values of these names."""
    rows = [
        row._replace(
            step=end,
            values={f"epoch/{name}" if name in names else name: value for name, value in row.values.items()},
        )
        if row.step == step
        else row
        for row in record.rows
    ]
    return record._replace(rows=rows)
