"""Adds records to the launch that printed them: each may be the first one of another launch.

A record is held back while its step, or the text around it, may be those of a launch that ends or of one that
begins, or of another process (`next_launch`, `interleaved_writers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import gt
from typing import Any

from holter.ingest.console.dialect import LineKind
from holter.ingest.console.launches.launch_opening import LaunchOpening
from holter.ingest.console.launches.next_launch import NextLaunch
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.steps.evaluation_steps import begin_evaluation
from holter.ingest.console.steps.first_epoch import Record
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.launch_beginnings import is_in_other_epochs
from holter.ingest.console.steps.outer_counts import are_epochs_within
from holter.ingest.console.writers.interleaved_writers import InterleavedWriters, UnlabelledRows
from holter.ingest.console.writers.labelled_trainings import LabelledTrainings
from holter.ingest.console.writers.process_series import ProcessSeries
from holter.ingest.console.writers.process_states import ProcessStates
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import label_of


class LaunchRecords:
    """The launches of a text, and what their records are compared with.

    `restarts`: the next record begins a launch; `_begins_within`: it does behind others that were read with
    it, so that its row shows it. `_is_shown`: its line states it itself.
    """

    def __init__(
        self,
        kinds: Sequence[LineKind],
        states: ProcessStates,
        series: ProcessSeries,
        state: Mapping[str, Any],
    ) -> None:
        self._kinds, self._states, self._series = kinds, states, series
        self.writers = InterleavedWriters(state.get("writers", {}))
        self._trainings = LabelledTrainings(state.get("trainings", {}))
        self.opening = LaunchOpening(state.get("opening", {}))
        self.next = NextLaunch(state)
        self.restarts: bool = state.get("restarts", False)
        self._begins_within = self._is_shown = False

    def state(self) -> dict[str, Any]:
        """What later records are compared with, as JSON-able values."""
        pending = {
            "writers": self.writers.state(),
            "trainings": self._trainings.state(),
            "opening": self.opening.state(),
            "restarts": self.restarts,
        }
        return {**{name: stored for name, stored in pending.items() if stored}, **self.next.state()}

    @property
    def is_open(self) -> bool:
        """Whether the next record may be the first of a launch, or is held back as others are."""
        return self.next.is_open or self.next.is_holding

    @property
    def is_same(self) -> bool:
        """Whether the next record is one of the same launch, even if its step begins anew."""
        return self.opening.is_same_launch or self._has_epochs_within

    @property
    def is_guess(self) -> bool:
        """Whether that is a guess."""
        return self.opening.is_guess and not self._has_epochs_within

    @property
    def _has_epochs_within(self) -> bool:
        return any(are_epochs_within(known_axis(state)) for state in self._states)

    def is_settled(self, parts: int) -> bool:
        """Whether so many parts of several processes depend on nothing else's steps, and begin no launch."""
        if self.is_open or self.opening.crash.may_repeat or not self.opening.has_record:
            return False
        return self._states.has_room(parts)

    def stops_before(self, parsed: ParsedLines, release_lines: Callable[[ParsedLines], None]) -> bool:
        """Whether the next record is, or may be, the first of another launch, and rows are before it.

        `release_lines` adds what lines of the launch before hold that wait for others.
        """
        opening, following = self.opening, self.next
        if opening.settings.came_again and not self.writers.has_gone_on:
            opening.settings.drop()
        if opening.is_new_launch():
            release_lines(parsed)
            parsed.rows += self._begin_launch()
            return bool(parsed.rows)
        if following.begins and opening.evaluated:
            self._begin_evaluation()
        may_resume = not following.may_resume and (
            opening.may_resume() or following.is_at(opening.loaded_at, self._states)
        )
        following.may_resume |= may_resume
        if opening.may_be_new_launch():
            # so did the lines before the records that are held back
            if following.has_opened and opening.states_settings:
                self._restart(parsed)
                if parsed.rows:  # of the launch before
                    return True
                parsed.restarts, self.restarts = True, False
            release_lines(parsed)
            parsed.rows += self._release_waiting()
            opening.set_aside()
            following.may_restart = True
            for state, kind in product(self._states, self._kinds):
                if kind.may_begin is not None:
                    kind.may_begin(state)
            may_resume = True
        if may_resume:
            parsed.rows += self.writers.release()
        return bool(parsed.rows) and (may_resume or opening.crash.may_repeat)

    def begin_next(self, parsed: ParsedLines) -> None:
        """Note that the next record is the first one of another launch than that of the rows so far."""
        parsed.rows += self._begin_launch()
        self._is_shown = True

    def add(self, records: Sequence[Record], parsed: ParsedLines) -> None:
        """Add the rows of lines, or hold them back until it is known who printed them."""
        for record in records:
            row = record.rows[0]
            counts_steps = has_steps_of_training(row)
            if counts_steps:
                evaluates = all(map(is_of_evaluation, row.values))
                is_of_end = evaluates and not self.writers.has_at(row.step, row.values)
                step = row.step if record.at is None else record.at
                evaluates = evaluates and self.next.is_open and self.writers.has_trained
                if self.next.holds(record, step, is_of_end=is_of_end, evaluates=evaluates):
                    continue
                self.note_step(
                    row,
                    step,
                    parsed,
                    is_named=record.is_named,
                    is_of_end=is_of_end,
                    is_rate=record.is_setting,
                )
            self._place(record, parsed, counts_steps=counts_steps)

    def add_unlabelled(self, lines: UnlabelledRows, parsed: ParsedLines) -> None:
        """Add rows of lines without a prefix that states who printed them, and where these lines are.

        Their steps are noted.
        """
        for number, row in enumerate(lines.rows):
            row = self.beginning(row)
            is_settled = self.writers.note_launch(
                is_same=self.is_same,
                is_guess=self.is_guess,
                begins_training=self.opening.has_begun_training,
            )
            if number and is_settled:  # nothing comes between these lines
                parsed.rows += self.writers.add_lines(lines.behind(number))
                return
            self.note_record(parsed)
            parsed.rows += self.writers.add_lines(lines.only(number, row))

    def _place(self, record: Record, parsed: ParsedLines, *, counts_steps: bool = True) -> None:
        """Add the rows of a record of the launch that is known to have printed it."""
        rows = record.rows
        if record.is_unlabelled:
            self.writers.note_launch(
                is_same=record.is_same_launch,
                is_guess=record.is_guess,
                begins_training=record.begins_training,
            )
            rows = self.writers.add(rows[0], record.start, record.end, in_block=record.in_block)
        elif record.is_named and counts_steps and not record.job_wide:
            rows = [self.of_training(each) for each in rows]
        if self._begins_within and rows:
            rows = [rows[0]._replace(begins=True), *rows[1:]]
            self._begins_within = False
        parsed.rows += rows

    def place_undecided(self, parsed: ParsedLines) -> None:
        """Add records that were held back, now that it is known whether another launch began before them."""
        for record in self.next.release():
            self._place(record, parsed)

    def release(self, parsed: ParsedLines) -> None:
        """Add the rows that more lines of the text would have decided on; there are none."""
        parsed.rows += [*self.writers.release(), *self._release_waiting()]

    def beginning(self, row: LogRow) -> LogRow:
        """The row, which begins a launch where its steps begin anew behind the start of a process.

        Those of trainings with names may be many more, so that the steps of all would not show it.
        """
        is_first = self.opening.may_have_started and self.writers.begins_kind_anew(row)
        return row._replace(begins=True) if is_first else row

    def of_running(self, row: LogRow) -> LogRow:
        """A row of a step that is not complete, with the label of its training."""
        return self.writers.of_running(row, is_same_launch=self.opening.is_same_launch)

    def of_training(self, row: LogRow) -> LogRow:
        """A row with labels of its own, with that of its training."""
        return self._trainings.of_training(row, is_same_launch=self.opening.is_same_launch)

    def note_step(
        self,
        row: LogRow,
        step: int,
        parsed: ParsedLines,
        *,
        is_named: bool,
        is_of_end: bool = False,
        is_rate: bool = False,
    ) -> None:
        """This record follows, at this step of the training: it may be the first of another launch.

        Rates alone, `is_rate`, decide nothing: they may be among its settings. For the rest see
        `NextLaunch.begins_at`.
        """
        following, may_repeat = self.next, self.opening.crash.may_repeat and not is_named
        may_begin = following.is_open or may_repeat
        last = following.last_step
        if last is not None and step < last:
            self._note_back(is_named=is_named)
        if not (may_begin or following.undecided):  # so it is for nearly all rows
            following.last_step = step
            self.opening.note_step(step, last)
            return
        if may_begin and is_rate:
            return
        is_back = may_repeat and self.writers.has_one and self.opening.crash.ended_behind(step, last)
        self.opening.crash.may_repeat = False
        is_repeated = may_repeat and self.writers.would_repeat(step, row.values)
        is_named = is_named and not self._trainings.has_at(row)  # else it would be replaced
        is_elsewhere = following.is_elsewhere(self._states)
        begins = following.begins_at(
            step,
            is_named=is_named,
            is_of_end=is_of_end,
            is_repeated=is_repeated,
            is_epoch_back=following.may_restart and any(map(is_in_other_epochs, self._states)),
            is_elsewhere=is_elsewhere,
        )
        if begins or is_back:
            self._begins_within = (is_elsewhere or self._is_shown) and bool(parsed.rows)
            self._is_shown = False
            self._restart(parsed)
            self.restarts = not self._begins_within
        self.place_undecided(parsed)

    @property
    def is_steady(self) -> bool:
        """Whether a record right behind the last one begins no launch, whatever its step is."""
        return not (self.opening.was_interrupted or self.next.is_open or self.next.undecided)

    def note_steady_step(self, step: int, *, is_named: bool) -> None:
        """The same as `note_step` for a record right behind one behind which it `is_steady`."""
        last, self.next.last_step = self.next.last_step, step
        if last is not None and step < last:
            self._note_back(is_named=is_named)

    def all_continue(self, rows: Sequence[LogRow]) -> bool:
        """Whether no step of some rows goes back, so that nothing between them matters."""
        steps, last = [row[0] for row in rows], self.next.last_step
        if any(map(gt, steps, steps[1:])) or (last is not None and steps[0] < last):
            return False
        return self.writers.all_continue(rows)

    def note_steady_steps(self, rows: Sequence[LogRow]) -> None:
        """The same for several records without names."""
        steps = [row.step for row in rows]
        if any(map(gt, steps, steps[1:])):
            self._note_back(is_named=False)
        for step in (*steps[:1], *steps[-1:]):
            self.note_steady_step(step, is_named=False)

    def _note_back(self, *, is_named: bool) -> None:
        """The step went back: what rows with names count is of the launch before, if others did."""
        if not (is_named or self.opening.is_same_launch):
            self._trainings.begin_launch()

    def _restart(self, parsed: ParsedLines) -> None:
        """Note that the program was started again, which lines that were read before it may have shown."""
        parsed.rows += self.writers.begin_again()
        self._trainings.begin_launch()
        self.restarts = True

    def _begin_launch(self) -> list[LogRow]:
        """The rows of the launch before that were held back; the next record is one of another launch."""
        waiting, has_trained = self._release_waiting(), self.writers.has_trained
        rows = [*self.writers.begin_again(), *waiting]
        self._trainings.begin_launch()
        for state, kind in product(self._states, self._kinds):
            if kind.begin_launch is not None:
                kind.begin_launch(state)
        if has_trained and self.opening.evaluated:
            self._begin_evaluation()
        self.opening.forget()
        self.next.begins, self.restarts = has_trained, not has_trained
        return rows

    def _begin_evaluation(self) -> None:
        """The launch that begins with the next record trains nothing, as its command states."""
        for state in self._states:
            begin_evaluation(self.opening.evaluated, known_axis(state))

    def note_record(
        self, parsed: ParsedLines, *, counts_steps: bool = True, is_setting: bool = False
    ) -> None:
        """A record of a launch was read; one of rates alone may be among the settings of the next launch."""
        parsed.in_launch = True
        parsed.restarts |= self.restarts
        self.restarts = False
        known = self.opening.note_record(is_setting=is_setting) if counts_steps else ()
        for name, state in product(known, self._states):
            state[name] = True

    def _release_waiting(self) -> list[LogRow]:
        """Records that wait for a line that states their step, at the most likely one if it can be stored."""
        rows: list[LogRow] = []
        for labels, state in self._states.with_labels():
            for kind in self._kinds:
                for item in kind.release(state) if kind.release is not None else ():
                    if abs(item.step) > LARGEST_STEP:
                        continue
                    of_item = [
                        LogRow(item.step, item.time, item.values, series, is_provisional=item.is_running)
                        for series in self._series.of_values(item.labels, labels, job_wide=kind.job_wide)
                    ]
                    rows += [self.of_running(row) for row in of_item] if item.is_running else of_item
        return rows


def has_steps_of_training(row: LogRow) -> bool:
    """Whether the step of a row is one of the training.

    Reports with a unit of their own, as those of RAS, repeat their headings.
    """
    return label_of(row.labels, "steps") is None
