"""Reads the printed lines of a program, in one framework's dialect, from a text that is being written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any, BinaryIO

from holter.ingest.console.dialect import (
    ConsoleDialect,
    DialectState,
    LineKind,
    LineResult,
    LineSettings,
    LineValues,
)
from holter.ingest.console.headings.training_sections import share_section
from holter.ingest.console.launches.launch_records import LaunchRecords, has_steps_of_training
from holter.ingest.console.launches.stated_settings import StatedSettings
from holter.ingest.console.line.class_rows import named_by_class
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.parsed_kind import EXPECTED, parse_found
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.plain import lines_above
from holter.ingest.console.plain.initial_results import initial_values, state_before_training
from holter.ingest.console.plain.kept_lines import LineAbove
from holter.ingest.console.search.block_search import BlockSearch, FoundLine, FoundTable
from holter.ingest.console.steps.announced_steps import follow_epoch
from holter.ingest.console.steps.evaluation_passes import trained_at
from holter.ingest.console.steps.first_epoch import FirstEpoch, Record
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.rates_of_epochs import came_again, have_own_epoch
from holter.ingest.console.steps.steps_over_epochs import LENGTH_FOUND, LENGTH_KNOWN, LENGTH_UNKNOWN
from holter.ingest.console.table_records import TableRecords
from holter.ingest.console.text.prefixes import CleanLine, strip_prefixes
from holter.ingest.console.text.values import parse_time
from holter.ingest.console.writers.process_series import ProcessSeries
from holter.ingest.console.writers.process_states import ProcessStates
from holter.ingest.console.writers.redrawn_lines import RedrawnLines
from holter.ingest.console.writers.repeated_rows import RepeatedRows
from holter.ingest.errors import ProblemBuffer
from holter.ingest.lines import read_text_block
from holter.ingest.rows import LogRow, first_launch, row_from_json, row_to_json
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.uncollected import uncollected
from holter.types import Batch, Unreadable


class ConsoleReader:
    """Reads one text that is being written.

    Where several ranks print, each gives its series a rank. The first process that prints values is the main
    one: its series have no label, and once others print values it appears among the ranks as well. Settings
    of the whole job are taken from the first process that states any.
    """

    def __init__(self, dialect: ConsoleDialect, state: Mapping[str, Any]) -> None:
        self._search, self._kinds = BlockSearch(dialect.kinds), dialect.kinds
        self._numbers = dialect.numbers
        self._states = ProcessStates(state.get("memories", {}))
        self._series = ProcessSeries(state)
        self._settings = StatedSettings(state)
        self._launches = LaunchRecords(dialect.kinds, self._states, self._series, state)
        self._opening = self._launches.opening
        self._first_epoch = FirstEpoch(state.get("first epoch", ()))
        self._redrawn = RedrawnLines(state)
        self._ready = [row_from_json(row) for row in state.get("ready", ())]
        """Rows of the next launches, each of which is a batch of its own."""
        self._repeats = RepeatedRows(state.get("repeats", ()))
        self.problems = ProblemBuffer(state)
        self._tables = TableRecords(
            self._launches, self._states, self._series, self._redrawn, self._is_storable
        )

    def state(self) -> Mapping[str, Any]:
        """What later lines depend on, which process is the main one, and problems not reported yet."""
        pending = {
            "first epoch": self._first_epoch.state(),
            "ready": [row_to_json(row) for row in self._ready],
            "repeats": self._repeats.state(),
        }
        return {
            "memories": self._states.stored(),
            **self._settings.state(),
            **self._series.state(),
            **self._launches.state(),
            **{name: stored for name, stored in pending.items() if stored},
            **self._redrawn.state(),
            **self.problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines hold; see `Reader`."""
        yield from self.problems.drain()
        yield from self.ready()
        while (block := read_text_block(stream)) is not None:
            parsed, begin = ParsedLines(), stream.tell() - len(block)
            with uncollected():
                size = self.parse(block, parsed, begin)
                batches = self.batches(parsed)
                first = next(batches, None)
            if size < len(block):
                stream.seek(begin + size)
            if first is not None:
                yield first
                yield from batches
            yield from self.problems.drain()
        yield from self.batches(self.flush())

    def batches(self, parsed: ParsedLines) -> Iterator[Batch]:
        """The rows and settings, those of each launch in a batch; no batch if there are none."""
        parsed.rows, self._ready = first_launch(parsed.rows)
        if parsed.rows or parsed.config:
            restarts = parsed.restarts or bool(parsed.rows and parsed.rows[0].begins)
            batch = self._repeats.batch(parsed.rows, config=parsed.config, restarts=restarts)
            parsed.rows = []  # so many objects are not kept until the next batch
            yield batch
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
        """Whether rows are held back until more lines show which process printed them, or at which step."""
        waits = ("waiting" in state or "running" in state for state in self._states)
        return self._launches.writers.is_holding or self._launches.next.is_holding or any(waits)

    @property
    def waits_for_step(self) -> bool:
        """Whether lines wait for others that state at which step they are, however long these take."""
        waiting = any(map(lines_above.has_waiting, self._states))
        return waiting or self._first_epoch.is_holding

    @property
    def begins_late(self) -> bool:
        """Whether the text began in a later epoch, and nothing stated how long epochs are."""
        axes = [known_axis(state) for state in self._states]
        return any(LENGTH_UNKNOWN in axis or LENGTH_FOUND in axis for axis in axes)

    @property
    def waits_for_length(self) -> bool:
        """Whether it is unknown so far how long epochs are."""
        return any(LENGTH_UNKNOWN in known_axis(state) for state in self._states)

    def with_lengths(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """An earlier state of such a text with how long epochs are, as far as that is known now."""
        lengths = {
            process: axis[LENGTH_FOUND]
            for process, each in self._states.by_process()
            if LENGTH_FOUND in (axis := known_axis(each))
        }
        memories = {**state.get("memories", {})}
        for process, length in lengths.items():
            known = memories.get(process, {})
            memories[process] = {**known, "plain lines": {**known_axis(known), LENGTH_KNOWN: length}}
        return {**state, "memories": memories} if lengths else state

    @property
    def counts_lines(self) -> bool:
        """Whether steps are a count of lines that name their epoch alone, which is a guess."""
        return any("counted" in state.get("plain lines", {}) for state in self._states)

    def finish(self) -> Iterator[Batch]:
        """Yield the rows that more lines of the text would have decided on; there are none."""
        parsed = ParsedLines()
        self.release(parsed)
        yield from self.batches(parsed)

    def release(self, parsed: ParsedLines) -> None:
        """Add the rows that more lines of the text would have decided on to `parsed`."""
        self._release_above(parsed)
        self._launches.release(parsed)

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
            if self._launches.stops_before(parsed, self._release_above):
                self._search.put_back(found)
                self._search.stop(block[found.start - begin :], found.start)
                return found.start - begin
            if isinstance(found, FoundTable) and found.gaps:
                end = self._add_over_gaps(found, parsed, begin)
                if end is None:
                    self._search.put_back(*found.apart())
                else:
                    self._opening.skip(end - begin)
                continue
            if isinstance(found, FoundTable):
                known = self._parse_known_singly(found, block, parsed, begin)
                if known is not None and (end := self._tables.add(known, parsed)) is not None:
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
        if line.labels and not found.kind.job_wide:
            follow_epoch(self._states.of(()), self._states.of(line.labels))
        if not found.kind.may_be_above:
            return self._read_line(found, line, parsed)
        state = self._states.of(line.labels)
        if not lines_above.may_wait(state):
            return self._read_line(found, line, parsed)
        place = LineAbove(
            self._numbers[found.kind],
            found.start,
            found.line.decode("latin-1"),
            line.message,
            in_block=found.kind.in_blocks,
        )
        message = line.message
        if due := lines_above.lines_due_before(message, found.start, state):
            with self._opening.reading_waiting():
                self._read_above(due, parsed)
        if lines_above.waits(message, place, state):
            self._opening.note_waiting()
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
        self._launches.add(self._first_epoch.release(), parsed)
        self._launches.place_undecided(parsed)

    def _read_line(self, found: FoundLine, line: CleanLine, parsed: ParsedLines) -> bool:
        """Add what one line holds to `parsed`; whether it is a record."""
        kind = found.kind
        state = self._states.of((self._series.main or ()) if kind.job_wide else line.labels)
        result = self._parse(found, line, state)
        if kind.names_training and not line.labels:
            share_section(state, self._states)
        if known := self._first_epoch.known(state):
            self._launches.add(known, parsed)
        is_record = False
        for item in result if isinstance(result, list) else (result,):
            if isinstance(item, LineSettings):
                self._add_settings(item, kind, line, parsed)
            elif item is not None and item.values and self._is_storable(item.step, found.start):
                named = item._replace(values=named_by_class(item.values, state))
                self._add_values(named, found, line, state, parsed)
                is_record |= not kind.is_apart
        return is_record

    def _parse(self, found: FoundLine, line: CleanLine, state: DialectState) -> LineResult:
        """What one line holds; None as well if it cannot be parsed."""
        try:
            return parse_found(found.kind, self._numbers, found.line, found.start, line, state)
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

    def _add_over_gaps(self, found: FoundTable, parsed: ParsedLines, begin: int) -> int | None:
        """Add the records of a table with other text between its lines, if nothing depends on that.

        Returns where the last record ends in the stream, None if nothing was added.
        """
        state = self._states.of(found.process)
        if any([self._may_hold(kind, state) for kind in found.kinds]):
            return None
        return self._tables.add_over_gaps(found, parsed, begin)

    def _may_hold(self, kind: LineKind, state: DialectState) -> bool:
        """Whether the next record of this kind may be held back, or is that of an earlier step."""
        may_wait = (kind.may_be_above and lines_above.may_wait(state)) or "best" in known_axis(state)
        may_hold = self._launches.is_open or may_wait
        return may_hold or self._first_epoch.is_open(state, counts_lines=kind.any_program)

    def _add_settings(
        self, settings: LineSettings, kind: LineKind, line: CleanLine, parsed: ParsedLines
    ) -> None:
        """Add settings to those of the launch, or to those of the next one where rows are before them."""
        if not kind.yields_settings:
            raise TypeError(f"{kind} states {settings.config}, expected `yields_settings=True`")
        if not self._launches.next.begins:
            self._release_above(parsed)
        held = self._launches.writers.release()
        parsed.rows += held
        parsed.in_launch |= bool(held)
        config = self._settings.pending if parsed.in_launch else parsed.config
        config |= self._settings.of_line(settings, line.labels)

    def _add_values(
        self, item: LineValues, found: FoundLine, line: CleanLine, state: DialectState, parsed: ParsedLines
    ) -> None:
        """Add the rows of the values of a line, or hold them back until their step is known."""
        kind, launches = found.kind, self._launches
        # those at its own step it may replace
        has_later = item.may_go_back and launches.writers.has_at(item.step + item.is_provisional, item.values)
        if has_later or (item.is_running and (launches.restarts or launches.next.begins)):
            return  # a series that has later points already would go back
        if item.begins:
            launches.begin_next(parsed)
        rows = self._rows_of_values(item, found, line)
        if kind.is_apart or item.is_late or item.is_running:
            parsed.rows += [launches.of_running(row) for row in rows] if item.is_running else rows
            return
        is_unlabelled = not (kind.job_wide or rows[0].labels) and self._series.is_alone(line.labels)
        if is_unlabelled:
            rows[0] = launches.beginning(rows[0])
        launches.next.is_again |= came_again(state) and not self._opening.is_same_launch
        at = trained_at(item.step, known_axis(state))
        has_rates_alone = all(map(is_setting, item.values)) and not have_own_epoch(state)
        record = Record(
            rows,
            found.start,
            found.start + len(found.line) + 1,
            is_unlabelled=is_unlabelled,
            is_named=bool(item.labels),
            job_wide=kind.job_wide,
            in_block=kind.in_blocks,
            is_same_launch=is_unlabelled and launches.is_same,
            at=at if at != item.step else None,
            is_guess=is_unlabelled and launches.is_guess,
            begins_training=is_unlabelled and self._opening.has_begun_training,
            is_setting=has_rates_alone,
        )
        has_one_writer = not self._opening.is_repeated
        if not self._first_epoch.holds(record, line.message, state, has_one_writer=has_one_writer):
            launches.add([record], parsed)
        launches.note_record(
            parsed,
            counts_steps=has_steps_of_training(rows[0]),
            is_setting=has_rates_alone,
        )

    def _rows_of_values(self, item: LineValues, found: FoundLine, line: CleanLine) -> list[LogRow]:
        """A row for each series of the process that gets the values of a line."""
        # the clock of the line itself states no time zone, the prefix does
        time = item.time if isnan(line.time) else line.time
        time = parse_time(line.logged) if isnan(time) and line.logged else time
        is_provisional = item.is_running or item.is_provisional or self._redrawn.is_at(found.start)
        return [
            LogRow(item.step, time, item.values, labels, is_provisional=is_provisional)
            for labels in self._series.of_values(item.labels, line.labels, job_wide=found.kind.job_wide)
        ]

    def _is_storable(self, step: int, position: int) -> bool:
        """Whether a step can be stored; if not, it is a problem of the line there."""
        if abs(step) > LARGEST_STEP:
            self.problems.add(f"byte {position}", "expected a step, found a larger number")
            return False
        return True
