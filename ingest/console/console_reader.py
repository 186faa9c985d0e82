"""Reads the printed lines of a program, in one framework's dialect, from a text that is being written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isnan
from typing import Any, BinaryIO

from holter.ingest.console import lines_above
from holter.ingest.console.block_search import BlockSearch, FoundLine, FoundTable
from holter.ingest.console.data_names import is_of_evaluation
from holter.ingest.console.dialect import (
    ConsoleDialect,
    DialectState,
    LineKind,
    LineResult,
    LineSettings,
    LineValues,
)
from holter.ingest.console.evaluation_passes import trained_at
from holter.ingest.console.first_epoch import FirstEpoch, Record
from holter.ingest.console.initial_results import initial_values, state_before_training
from holter.ingest.console.interleaved_writers import InterleavedWriters, UnlabelledRows
from holter.ingest.console.kept_lines import LineAbove
from holter.ingest.console.labelled_trainings import LabelledTrainings
from holter.ingest.console.launch_opening import LaunchOpening
from holter.ingest.console.line_settings import is_setting
from holter.ingest.console.next_launch import NextLaunch
from holter.ingest.console.parsed_kind import EXPECTED, parse_found
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.prefixes import CleanLine, strip_prefixes
from holter.ingest.console.process_rows import rows_of_parts
from holter.ingest.console.process_series import ProcessSeries
from holter.ingest.console.process_states import ProcessStates
from holter.ingest.console.rates_of_epochs import came_again
from holter.ingest.console.redrawn_lines import RedrawnLines
from holter.ingest.console.repeated_rows import RepeatedRows
from holter.ingest.console.stated_settings import StatedSettings
from holter.ingest.console.step_axis import is_in_other_epochs, known_axis
from holter.ingest.console.values import parse_time
from holter.ingest.errors import ProblemBuffer
from holter.ingest.lines import read_text_block
from holter.ingest.rows import LogRow, first_launch, row_from_json, row_to_json
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Batch, Labels, Unreadable


class ConsoleReader:
    """Reads one text that is being written.

    Where several ranks print, each gives its series a rank. The first process that prints values is the main
    one: its series have no label, and once others print values it appears among the ranks as well. Settings
    of the whole job are taken from the first process that states any.
    """

    def __init__(self, dialect: ConsoleDialect, state: Mapping[str, Any]) -> None:
        self._search, self._kinds = BlockSearch(dialect.kinds), dialect.kinds
        self._states = ProcessStates(state.get("memories", {}))
        self._series = ProcessSeries(state)
        self._settings = StatedSettings(state)
        self._writers = InterleavedWriters(state.get("writers", {}))
        self._trainings = LabelledTrainings(state.get("trainings", {}))
        self._first_epoch = FirstEpoch(state.get("first epoch", ()))
        self._redrawn = RedrawnLines(state)
        self._opening = LaunchOpening(state.get("opening", {}))
        self._ready = [row_from_json(row) for row in state.get("ready", ())]
        """Rows of the next launches, each of which is a batch of its own."""
        self._restarts: bool = state.get("restarts", False)
        self._next = NextLaunch(state)
        self._begins_within = False
        """Whether the next row begins a launch behind others that were read with it."""
        self._repeats = RepeatedRows(state.get("repeats", ()))
        self.problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """What later lines depend on, which process is the main one, and problems not reported yet."""
        pending = {
            "writers": self._writers.state(),
            "trainings": self._trainings.state(),
            "opening": self._opening.state(),
            "first epoch": self._first_epoch.state(),
            "ready": [row_to_json(row) for row in self._ready],
            "restarts": self._restarts,
            "repeats": self._repeats.state(),
        }
        return {
            "memories": self._states.stored(),
            **self._settings.state(),
            **self._series.state(),
            **{name: stored for name, stored in pending.items() if stored},
            **self._redrawn.state(),
            **self._next.state(),
            **self.problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines hold; see `Reader`."""
        yield from self.problems.drain()
        yield from self.ready()
        while (block := read_text_block(stream)) is not None:
            parsed, begin = ParsedLines(), stream.tell() - len(block)
            size = self.parse(block, parsed, begin)
            if size < len(block):
                stream.seek(begin + size)
            yield from self.batches(parsed)
            yield from self.problems.drain()
        yield from self.batches(self.flush())

    def batches(self, parsed: ParsedLines) -> Iterator[Batch]:
        """The rows and settings, those of each launch in a batch; no batch if there are none."""
        rows, self._ready = first_launch(parsed.rows)
        if rows or parsed.config:
            restarts = parsed.restarts or bool(rows and rows[0].begins)
            yield self._repeats.batch(rows, config=parsed.config, restarts=restarts)
        yield from self.ready()

    def ready(self) -> Iterator[Batch]:
        """Batches of launches that were parsed, but not yielded yet."""
        while self._ready:
            rows, self._ready = first_launch(self._ready)
            yield self._repeats.batch(rows, restarts=True)

    def flush(self) -> ParsedLines:
        """The settings of a launch of which nothing else is known yet."""
        return ParsedLines(config=self._settings.take_pending())

    def knows(self, line: bytes) -> bool:
        """Whether a framework's dialect knows the line: its values may come with those of another line."""
        return self._search.is_of_framework(line)

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back until more lines say which process printed them, or at which step."""
        waits = ("waiting" in state or "running" in state for state in self._states)
        return self._writers.is_holding or self._next.is_holding or any(waits)

    @property
    def waits_for_step(self) -> bool:
        """Whether lines wait for others that say at which step they are, however long these take."""
        waiting = any(map(lines_above.has_waiting, self._states))
        return waiting or self._first_epoch.is_holding

    @property
    def counts_lines(self) -> bool:
        """Whether steps are a count of lines that name their epoch alone, which is a guess."""
        return any("counted" in state.get("plain lines", {}) for state in self._states)

    def finish(self) -> Iterator[Batch]:
        """Yield the rows that more lines of the text would have decided on; there are none."""
        parsed = ParsedLines()
        self._release_above(parsed)
        parsed.rows += [*self._writers.release(), *self._release_waiting()]
        yield from self.batches(parsed)

    def parse(self, block: bytes, parsed: ParsedLines, begin: int = 0) -> int:
        """Add what some complete lines hold to `parsed`; return how many bytes were parsed.

        It stops early at a line that states settings after rows of a launch, or before the first record of
        another launch: they belong to the next launch and come with what follows. A line that cannot be
        parsed is added to `problems` and skipped; `begin` is the position of the block in the stream.
        """
        self._redrawn.begin_block(block, begin)
        size = self._parse_block(block, parsed, begin)
        self._redrawn.end_block(size)
        return size

    def _parse_block(self, block: bytes, parsed: ParsedLines, begin: int) -> int:
        parsed.config |= self._settings.take_pending()
        self._search.begin_block(block, begin)
        self._opening.begin_block(self._search.messages)
        for found in self._search.lines():
            self._opening.advance(found.start - begin)
            if self._stops_before_launch(parsed):
                self._search.put_back(found)
                self._search.stop(block[found.start - begin :], found.start)
                return found.start - begin
            if isinstance(found, FoundTable):
                known = self._parse_known_singly(found, block, parsed, begin)
                if known is not None and (end := self._parse_table(known, parsed)) is not None:
                    self._opening.skip(end - begin)
                continue
            size = self._parse_line(found, block, parsed, begin)
            if self._settings.pending:
                self._search.stop(block[size:], begin + size)
                self._opening.advance(size)
                return size
        self._opening.advance(len(block))
        return len(block)

    def _parse_line(self, found: FoundLine, block: bytes, parsed: ParsedLines, begin: int) -> int:
        """Add what one line holds to `parsed`; return where the next line of the block begins."""
        after = min(len(block), found.start - begin + len(found.line) + 1)
        try:
            clean = self._redrawn.with_labels(strip_prefixes(found.line), found.start)
        except Exception as error:
            self.problems.add_failure(f"byte {found.start}", EXPECTED, error)
            return after
        if self._read_in_order(found, clean, parsed) or found.kind.collects:
            self._opening.skip(after)
        return after

    def _read_in_order(self, found: FoundLine, line: CleanLine, parsed: ParsedLines) -> bool:
        """Read a line, and those above that belong to it; whether it is a record or waits for its counter."""
        if not found.kind.may_be_above:
            return self._read_line(found, line, parsed)
        state = self._states.of(line.labels)
        if not lines_above.may_wait(state):
            return self._read_line(found, line, parsed)
        place = LineAbove(
            self._kinds.index(found.kind),
            found.start,
            found.line.decode("latin-1"),
            line.message,
            in_block=found.kind.in_blocks,
        )
        message = line.message
        self._read_above(lines_above.lines_due_before(message, found.start, state), parsed)
        if lines_above.waits(message, place, state):
            return True
        is_record = self._read_line(found, line, parsed)
        due = lines_above.lines_due_behind(message, place, state, has_values=is_record)
        self._read_above(due, parsed)
        return is_record

    def _read_above(self, lines: Sequence[LineAbove], parsed: ParsedLines) -> None:
        """Read lines that waited for the counter below them, or are above everything that counts."""
        initial = state_before_training()
        for each in lines:
            if each.kind >= len(self._kinds):  # the state is that of another version
                continue
            found = FoundLine(each.start, each.text.encode("latin-1"), self._kinds[each.kind])
            line = strip_prefixes(found.line)
            if not each.is_initial:
                self._read_line(found, line, parsed)
                continue
            for item in initial_values(self._parse(found, line, initial), each):
                self._add_values(item, found, line, initial, parsed)

    def _release_above(self, parsed: ParsedLines) -> None:
        """Add the records that wait for lines of a launch of which there are no more."""
        for state in self._states:
            self._read_above(lines_above.remaining(state), parsed)
        self._add_records(self._first_epoch.release(), parsed)
        self._place_undecided(parsed)

    def _read_line(self, found: FoundLine, line: CleanLine, parsed: ParsedLines) -> bool:
        """Add what one line holds to `parsed`; whether it is a record."""
        kind = found.kind
        state = self._states.of((self._series.main or ()) if kind.job_wide else line.labels)
        result = self._parse(found, line, state)
        if known := self._first_epoch.known(state):
            self._add_records(known, parsed)
        is_record = False
        for item in result if isinstance(result, list) else (result,):
            if isinstance(item, LineSettings):
                self._add_settings(item, kind, line, parsed)
            elif item is not None and item.values and self._is_storable(item.step, found.start):
                self._add_values(item, found, line, state, parsed)
                is_record |= not kind.is_apart
        return is_record

    def _parse(self, found: FoundLine, line: CleanLine, state: DialectState) -> LineResult:
        """What one line holds; None as well if it cannot be parsed."""
        try:
            return parse_found(found.kind, found.line, found.start, line, state)
        except Exception as error:
            self.problems.add_failure(f"byte {found.start}", EXPECTED, error)
            return None

    def _parse_known_singly(
        self, found: FoundTable, block: bytes, parsed: ParsedLines, begin: int
    ) -> FoundTable | None:
        """Parse the first lines of a table one by one while it may be that their records are held back.

        Returns the rest of the table, None if there is none.
        """
        if not self._series.is_alone(process := found.process):
            return found
        kinds, state = found.kinds, self._states.of(process)
        if not any([self._may_hold(kind, state) for kind in kinds]) or not found.is_of(process):
            return found
        lines = 0
        for place, next_place, kind in zip(found.starts, found.ends, found.kinds_of_lines(), strict=True):
            if not any(self._may_hold(each, state) for each in kinds):
                break
            start, end = found.offset + place, found.offset + next_place
            line = FoundLine(start, block[start - begin : end - begin].rstrip(b"\r\n"), kind)
            self._parse_line(line, block, parsed, begin)
            lines += 1
        return found.behind(lines)

    def _may_hold(self, kind: LineKind, state: DialectState) -> bool:
        """Whether the next record of this kind may be held back, or is that of an earlier step."""
        may_wait = (kind.may_be_above and lines_above.may_wait(state)) or "best" in known_axis(state)
        following = self._next.is_open or self._next.is_holding
        return following or may_wait or self._first_epoch.is_open(state, counts_lines=kind.any_program)

    def _add_settings(
        self, settings: LineSettings, kind: LineKind, line: CleanLine, parsed: ParsedLines
    ) -> None:
        """Add settings to those of the launch, or to those of the next one where rows are before them."""
        if not kind.yields_settings:
            raise TypeError(f"{kind} states {settings.config}, expected `yields_settings=True`")
        if not self._next.begins:
            self._release_above(parsed)
        held = self._writers.release()
        parsed.rows += held
        parsed.in_launch |= bool(held)
        config = self._settings.pending if parsed.in_launch else parsed.config
        config |= self._settings.of_line(settings, line.labels)

    def _add_values(
        self, item: LineValues, found: FoundLine, line: CleanLine, state: DialectState, parsed: ParsedLines
    ) -> None:
        """Add the rows of the values of a line, or hold them back until their step is known."""
        kind = found.kind
        # those at its own step it may replace
        has_later = item.may_go_back and self._writers.has_at(item.step + item.is_provisional, item.values)
        if has_later or (item.is_running and (self._restarts or self._next.begins)):
            return  # a series that has later points already would go back
        # the clock of the line itself states no time zone, the prefix does
        time = item.time if isnan(line.time) else line.time
        time = parse_time(line.logged) if isnan(time) and line.logged else time
        is_provisional = item.is_running or item.is_provisional or self._redrawn.is_at(found.start)
        rows = [
            LogRow(item.step, time, item.values, labels, is_provisional=is_provisional)
            for labels in self._series.of_values(item.labels, line.labels, job_wide=kind.job_wide)
        ]
        if kind.is_apart or item.is_late or item.is_running:
            parsed.rows += [self._of_running(row) for row in rows] if item.is_running else rows
            return
        is_unlabelled = not (kind.job_wide or rows[0].labels) and self._series.is_alone(line.labels)
        if is_unlabelled:
            rows[0] = self._beginning(rows[0])
        self._next.is_again |= came_again(state) and not self._opening.is_same_launch
        at = trained_at(item.step, known_axis(state))
        record = Record(
            rows,
            found.start,
            found.start + len(found.line) + 1,
            is_unlabelled=is_unlabelled,
            is_named=bool(item.labels),
            job_wide=kind.job_wide,
            in_block=kind.in_blocks,
            is_same_launch=is_unlabelled and self._opening.is_same_launch,
            at=at if at != item.step else None,
            is_guess=is_unlabelled and self._opening.is_guess,
        )
        has_one_writer = not self._opening.is_repeated
        if not self._first_epoch.holds(record, line.message, state, has_one_writer=has_one_writer):
            self._add_records([record], parsed)
        # reports with a unit of their own, as those of RAS, repeat their headings
        counts_steps = all(name != "steps" for name, _ in rows[0].labels)
        self._note_record(parsed, counts_steps=counts_steps, is_setting=all(map(is_setting, item.values)))

    def _add_records(self, records: Sequence[Record], parsed: ParsedLines) -> None:
        """Add the rows of lines, or hold them back until it is known who printed them."""
        for record in records:
            row = record.rows[0]
            counts_steps = all(name != "steps" for name, _ in row.labels)
            if counts_steps:
                evaluates = all(map(is_of_evaluation, row.values))
                is_of_end = evaluates and not self._writers.has_at(row.step, row.values)
                step = row.step if record.at is None else record.at
                evaluates = evaluates and self._next.is_open and self._writers.has_trained
                if self._next.holds(record, step, is_of_end=is_of_end, evaluates=evaluates):
                    continue
                self._note_step(row, step, parsed, is_named=record.is_named, is_of_end=is_of_end)
            self._place(record, parsed, counts_steps=counts_steps)

    def _place(self, record: Record, parsed: ParsedLines, *, counts_steps: bool = True) -> None:
        """Add the rows of a record of the launch that is known to have printed it."""
        rows = record.rows
        if record.is_unlabelled:
            self._writers.note_launch(is_same=record.is_same_launch, is_guess=record.is_guess)
            rows = self._writers.add(rows[0], record.start, record.end, in_block=record.in_block)
        elif record.is_named and counts_steps and not record.job_wide:
            rows = [self._of_training(each) for each in rows]
        if self._begins_within and rows:
            rows = [rows[0]._replace(begins=True), *rows[1:]]
            self._begins_within = False
        parsed.rows += rows

    def _place_undecided(self, parsed: ParsedLines) -> None:
        """Add records that were held back, now that it is known whether another launch began before them."""
        for record in self._next.release():
            self._place(record, parsed)

    def _beginning(self, row: LogRow) -> LogRow:
        """The row, which begins a launch where its steps begin anew behind the start of a process.

        Those of trainings with names may be many more, so that the steps of all would not show it.
        """
        is_first = self._opening.may_have_started and self._writers.begins_kind_anew(row)
        return row._replace(begins=True) if is_first else row

    def _of_running(self, row: LogRow) -> LogRow:
        """A row of a step that is not complete, with the label of its training."""
        return self._writers.of_running(row, is_same_launch=self._opening.is_same_launch)

    def _of_training(self, row: LogRow) -> LogRow:
        """A row with labels of its own, with that of its training."""
        return self._trainings.of_training(row, is_same_launch=self._opening.is_same_launch)

    def _stops_before_launch(self, parsed: ParsedLines) -> bool:
        """Whether the next record is, or may be, the first of another launch, and rows are before it."""
        opening, following = self._opening, self._next
        if opening.is_new_launch():
            self._release_above(parsed)
            parsed.rows += self._begin_launch()
            return bool(parsed.rows)
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
                parsed.restarts, self._restarts = True, False
            self._release_above(parsed)
            parsed.rows += self._release_waiting()
            opening.set_aside()
            following.may_restart = True
            for state, kind in product(self._states, self._kinds):
                if kind.may_begin is not None:
                    kind.may_begin(state)
            may_resume = True
        if may_resume:
            parsed.rows += self._writers.release()
        return bool(parsed.rows) and (may_resume or opening.crash.may_repeat)

    def _note_step(
        self, row: LogRow, step: int, parsed: ParsedLines, *, is_named: bool, is_of_end: bool = False
    ) -> None:
        """This record follows, at this step of the training: it may be the first of another launch.

        Rates alone decide nothing: they may be among its settings. For the rest see `NextLaunch.begins_at`.
        """
        following, may_repeat = self._next, self._opening.crash.may_repeat and not is_named
        may_begin = following.is_open or may_repeat
        last = following.last_step
        if last is not None and step < last and not (is_named or self._opening.is_same_launch):
            self._trainings.begin_launch()  # what rows with names count is of the launch before
        if not (may_begin or following.undecided):  # so it is for nearly all rows
            following.last_step = step
            self._opening.note_step(step, last)
            return
        if may_begin and all(map(is_setting, row.values)):
            return
        is_back = may_repeat and self._writers.has_one and self._opening.crash.ended_behind(step, last)
        self._opening.crash.may_repeat = False
        is_repeated = may_repeat and self._writers.would_repeat(step, row.values)
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
            self._begins_within = is_elsewhere and bool(parsed.rows)
            self._restart(parsed)
            self._restarts = not self._begins_within
        self._place_undecided(parsed)

    def _restart(self, parsed: ParsedLines) -> None:
        """Note that the program was started again, which lines that were read before it may have shown."""
        parsed.rows += self._writers.begin_again()
        self._trainings.begin_launch()
        self._restarts = True

    def _begin_launch(self) -> list[LogRow]:
        """The rows of the launch before that were held back; the next record is one of another launch."""
        waiting, has_trained = self._release_waiting(), self._writers.has_trained
        rows = [*self._writers.begin_again(), *waiting]
        self._trainings.begin_launch()
        for state, kind in product(self._states, self._kinds):
            if kind.begin_launch is not None:
                kind.begin_launch(state)
        self._opening.forget()
        self._next.begins, self._restarts = has_trained, not has_trained
        return rows

    def _note_record(
        self, parsed: ParsedLines, *, counts_steps: bool = True, is_setting: bool = False
    ) -> None:
        """A record of a launch was read; one of rates alone may be among the settings of the next launch."""
        parsed.in_launch = True
        parsed.restarts |= self._restarts
        self._restarts = False
        known = self._opening.note_record(is_setting=is_setting) if counts_steps else ()
        for name, state in product(known, self._states):
            state[name] = True

    def _release_waiting(self) -> list[LogRow]:
        """Records that wait for a line that states their step, at the most likely one."""
        rows: list[LogRow] = []
        for labels, state in self._states.with_labels():
            for kind in self._kinds:
                for item in kind.release(state) if kind.release is not None else ():
                    of_item = [
                        LogRow(item.step, item.time, item.values, series, is_provisional=item.is_running)
                        for series in self._series.of_values(item.labels, labels, job_wide=kind.job_wide)
                    ]
                    rows += [self._of_running(row) for row in of_item] if item.is_running else of_item
        return rows

    def _parse_table(self, found: FoundTable, parsed: ParsedLines) -> int | None:
        """Add what lines of known layouts hold to `parsed`, as if each were parsed by itself.

        Returns where the last record among them ends in the stream, None if there is none.
        """
        line, offset, end_of_records = 0, found.offset, None
        starts, ends, has_redrawn = found.starts, found.ends, self._redrawn.has_any
        unlabelled, main, is_noted, is_steady = UnlabelledRows([], [], []), None, False, False
        for table, begin, end, _ in found.parts:
            parts = table.by_process(begin, end)
            if has_redrawn:
                places = [offset + at for at in starts[line : line + end - begin]]
                parts = self._redrawn.parts(parts, places)
            every = rows_of_parts(table, parts, self._states.of, is_settled=self._is_settled)
            for (_, _, process), rows in zip(parts, every, strict=True):
                is_alone = self._series.is_alone(process)
                for row, at in rows:
                    start, line = starts[line], line + 1
                    if row is None or not (row.values and self._is_storable(row.step, offset + start)):
                        continue
                    if has_redrawn and self._redrawn.is_at(offset + start):
                        row = row._replace(is_provisional=True)
                    is_steady = self._notes_step(row, at, parsed, is_steady=is_steady)
                    end_of_records = offset + ends[line - 1]
                    if is_alone and not row.labels:
                        if main != process:
                            self._series.labels_of_process(process)
                            main = process
                        unlabelled.add(row, offset + start, end_of_records)
                        continue
                    if unlabelled.rows:
                        self._add_unlabelled(unlabelled, parsed)
                        unlabelled = UnlabelledRows([], [], [])
                    parsed.rows += self._rows_of_process(row, process)
                    if not is_noted or self._restarts:  # nothing comes between these lines
                        self._note_record(parsed)
                        is_noted = True
        self._add_unlabelled(unlabelled, parsed)
        return end_of_records

    def _notes_step(self, row: LogRow, step: int, parsed: ParsedLines, *, is_steady: bool) -> bool:
        """Note a record; whether the next one right behind it begins no launch: this one if `is_steady`."""
        following, opening = self._next, self._opening
        if not is_steady:
            self._note_step(row, step, parsed, is_named=bool(row.labels))
            return not (opening.was_interrupted or following.is_open or following.undecided)
        last, following.last_step = following.last_step, step
        if last is not None and step < last and not (row.labels or opening.is_same_launch):
            self._trainings.begin_launch()
        return True

    def _is_settled(self, parts: int) -> bool:
        """Whether so many parts of several processes depend on nothing else's steps, and begin no launch."""
        following, opening = self._next, self._opening
        if following.is_open or following.is_holding or opening.crash.may_repeat or not opening.has_record:
            return False
        return self._states.has_room(parts)

    def _rows_of_process(self, row: LogRow, process: Labels) -> list[LogRow]:
        """A row for each series of a process that gets its values, with the label of its training."""
        if not row.labels:
            labels = self._series.labels_of_process(process)
        else:
            row = self._of_training(row)
            labels = self._series.labels_of(row.labels, process)
        return [LogRow(row.step, row.time, row.values, each, *row[4:]) for each in labels]

    def _add_unlabelled(self, lines: UnlabelledRows, parsed: ParsedLines) -> None:
        """Add rows of lines without a prefix that states who printed them, and where these lines are."""
        for number, row in enumerate(lines.rows):
            row = self._beginning(row)
            is_settled = self._writers.note_launch(
                is_same=self._opening.is_same_launch, is_guess=self._opening.is_guess
            )
            if number and is_settled:  # nothing comes between these lines
                parsed.rows += self._writers.add_lines(lines.behind(number))
                return
            self._note_record(parsed)
            parsed.rows += self._writers.add_lines(lines.only(number, row))

    def _is_storable(self, step: int, position: int) -> bool:
        """Whether a step can be stored; if not, it is a problem of the line there."""
        if abs(step) > LARGEST_STEP:
            self.problems.add(f"byte {position}", "expected a step, found a larger number")
            return False
        return True
