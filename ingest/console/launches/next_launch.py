"""Decides whether a record is the first of another launch, by its step and what was printed before it.

A launch that only evaluates is no attempt: nothing was trained again. Its records are held back until one of
a training shows that they are its first ones, or the next launch or the end of the text that they are all.
Then they have the label `launch=2` and so on, so that they are apart from those of the launch before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.plain.initial_results import first_with_initial
from holter.ingest.console.steps.first_epoch import Record
from holter.ingest.console.steps.launch_beginnings import last_epochs
from holter.ingest.console.steps.rates_of_epochs import is_of_other_steps
from holter.types import labels_of

LAUNCH = "launch"
"""The label of what a launch printed that only evaluated."""
_MOST_UNDECIDED = 8
_MOST_EVALUATED = 1024
"""Records of an evaluation that are held back where a launch was shown."""


class NextLaunch:
    """The launch that may begin with the next record.

    `may_restart`: opening lines came again, so that it does if the step is not behind the last one.
    `may_resume`: what came again shows a launch by itself, so that it does if the step is behind it, too.
    `begins`: another launch was shown, so that it begins with the next record that is of no evaluation.
    `is_again`: the rates of an epoch came again behind its steps, so it does unless the step continues.
    `number`: that of the last launch of this attempt.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.may_restart: bool = state.get("may restart", False)
        self.may_resume: bool = state.get("may resume", False)
        self.begins: bool = state.get("begins", False)
        self.is_again: bool = state.get("again", False)
        self.number: int = state.get("number", 1)
        self.last_step: int | None = state.get("last step")
        self._initial: tuple[int, str] | None = tuple(state["initial"]) if "initial" in state else None
        self.undecided = [Record.from_json(record) for record in state.get("undecided", ())]
        """Records that may be the last of a launch, or the first of the next one."""

    def state(self) -> dict[str, Any]:
        """What is known of it, as JSON-able values."""
        known: dict[str, Any] = {}
        if self.may_restart:
            known["may restart"] = True
        if self.may_resume:
            known["may resume"] = True
        if self.begins:
            known["begins"] = True
        if self.is_again:
            known["again"] = True
        if self.number > 1:
            known["number"] = self.number
        if self.last_step is not None:
            known["last step"] = self.last_step
        if self._initial is not None:
            known["initial"] = [*self._initial]
        if self.undecided:
            known["undecided"] = [record.to_json() for record in self.undecided]
        return known

    @property
    def is_holding(self) -> bool:
        """Whether records are held back until the next one shows of which launch they are."""
        return bool(self.undecided)

    def is_at(self, loaded: int | None, states: Iterable[DialectState]) -> bool:
        """Whether a checkpoint of the last step or epoch was loaded.

        So does a program that was started again: one that continues has no need of it.
        """
        if loaded is None:
            return False
        epochs = [epoch for state in states for epoch in last_epochs(state)]
        return any(last is not None and 0 <= loaded - last <= 1 for last in (self.last_step, *epochs))

    def is_elsewhere(self, states: Iterable[DialectState]) -> bool:
        """Whether this record does not continue behind the rates of an epoch that came again.

        What launches have above their first step is noted, too.
        """
        if self._initial is None and self.undecided:
            self._initial = next(filter(None, map(first_with_initial, states)), None)
        if not self.is_again:
            return False
        others = [is_of_other_steps(state) for state in states]
        self.is_again = None in others
        return any(others)

    @property
    def is_open(self) -> bool:
        """Whether the next record may be the first one of another launch."""
        return self.may_restart or self.may_resume or self.begins or self.is_again

    def holds(self, record: Record, step: int, *, is_of_end: bool, evaluates: bool) -> bool:
        """Hold a record back where it may be of either launch; returns whether it is.

        So may the first of an evaluation, `is_of_end`, at the last step, and rates alone at any: they may be
        among the settings of the next launch. `evaluates`: it is of an evaluation, behind a training.
        """
        if not self.is_open:
            return False
        is_known = self.may_restart or self.may_resume or self.begins
        is_before = is_known and self.last_step is not None and step < self.last_step + (not is_of_end)
        if evaluates and (self.begins or is_before) and len(self.undecided) < _MOST_EVALUATED:
            self.undecided.append(record._replace(is_before=is_before))
            return True
        is_open = self.may_restart and is_of_end and step == self.last_step
        is_open |= record.is_setting
        if is_open and len(self.undecided) < _MOST_UNDECIDED:
            self.undecided.append(record)
            return True
        return False

    def release(self) -> list[Record]:
        """The records that were held back, of the launch that is known by now.

        Those of a launch that only evaluated have its label, and are no rows of a training.
        """
        has_evaluated = self._has_evaluated
        undecided, self.undecided = self.undecided, []
        if not has_evaluated:
            return undecided
        self.number += 1
        return [_of_launch(self.number, record) for record in undecided]

    @property
    def _has_evaluated(self) -> bool:
        """Whether what is held back is of a launch that only evaluated, if nothing follows."""
        return bool(self.undecided) and (self.begins or any(record.is_before for record in self.undecided))

    @property
    def has_opened(self) -> bool:
        """Whether records are held back that another launch began, if settings are among what came again."""
        return self.is_holding and not self._has_evaluated

    def begins_at(
        self,
        step: int,
        *,
        is_named: bool,
        is_of_end: bool,
        is_repeated: bool,
        is_epoch_back: bool,
        is_elsewhere: bool,
    ) -> bool:
        """Whether another launch begins with a record at this step, which later ones are compared with.

        `is_named`: its training is named, which may be the next one of the same launch. `is_of_end`: it is
        the first of an evaluation, which may be at the last step. `is_repeated`: a program crashed, and this
        record would be the second one at its step. `is_epoch_back`: its epoch is before that of the last one.
        `is_elsewhere`: it does not continue behind the last one.
        """
        last, self.last_step = self.last_step, step
        # the step after the checkpoint may be that at which the program crashed
        begins = self.begins or (is_repeated and step == last) or is_elsewhere
        if last is not None and (self.may_restart or self.may_resume):
            is_back = self.may_restart and (step <= last - is_of_end or is_epoch_back) and not is_named
            begins = begins or is_back or (self.may_resume and step > last)
            self.may_restart = False
            # what has no step of its own decides nothing
            self.may_resume &= step == last and not begins
        if begins:
            self.begins, self.number = False, 1
            self.undecided = [
                self._as_initial(step, last, record)
                or _of_first_step(step, last, record, is_elsewhere=is_elsewhere)
                for record in self.undecided
            ]
            self.is_again = False
        return begins

    def _as_initial(self, step: int, last: int | None, record: Record) -> Record | None:
        """An evaluation without a step above the first one of a launch: at 0, as in the first launch."""
        if self._initial is None or record.rows[0].step != last or step > max(1, self._initial[0]):
            return None
        if not all(map(is_of_evaluation, record.rows[0].values)):
            return None
        prefix = self._initial[1]
        rows = [
            row._replace(step=0, values={f"{prefix}{name}": value for name, value in row.values.items()})
            for row in record.rows
        ]
        return record._replace(rows=rows, at=None, is_before=False)


def _of_first_step(step: int, last: int | None, record: Record, *, is_elsewhere: bool) -> Record:
    """A record that was held back, now that its launch begins at a step: one without its own is there."""
    rows = record.rows
    is_rate = all(map(is_setting, rows[0].values))
    if (step < rows[0].step and (rows[0].step == last or is_rate)) or (is_elsewhere and is_rate):
        rows = [row._replace(step=step) for row in rows]
    return record._replace(rows=rows, at=None, is_before=False)


def _of_launch(number: int, record: Record) -> Record:
    """A record with the label of its launch, which is of no training."""
    rows = [row._replace(labels=labels_of({**dict(row.labels), LAUNCH: number})) for row in record.rows]
    return record._replace(rows=rows, is_unlabelled=False, is_named=False)
