"""Parses lines of any program that differ in their numbers alone, in columns.

The values, steps and state are those that `plain_line` gives for one line after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from operator import eq, itemgetter, lt
from typing import Any

from holter.ingest.console.dialect import DialectState, EpochLines
from holter.ingest.console.headings.data_columns import LEAST_INDENT
from holter.ingest.console.headings.other_epochs import name_next_training
from holter.ingest.console.headings.training_sections import (
    enter_section,
    enter_section_evaluated,
    is_named,
    name_stage,
    section_labels,
)
from holter.ingest.console.layouts.layout_prefixes import PrefixedLines
from holter.ingest.console.layouts.layout_slots import MAX_COUNT_DIGITS
from holter.ingest.console.layouts.line_layouts import LayoutContent, LineLayout
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.evaluation_names import metric_name, name_of_mean
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import number_at, value_of
from holter.ingest.console.line.result_lines import is_named_number
from holter.ingest.console.line.settings_in_objects import as_read
from holter.ingest.console.plain.plain_line import (
    announce_epoch,
    axis_state,
    counts_of_neighbor,
    note_line,
)
from holter.ingest.console.search.nested_keys import forget_keys
from holter.ingest.console.steps.evaluated_parts import end_evaluation, note_evaluation
from holter.ingest.console.steps.evaluation_passes import names_of_pass
from holter.ingest.console.steps.evaluation_steps import (
    begins_pass,
    evaluated_batch,
    evaluation_step,
    is_own_pass,
    lacks_epoch,
    repeats_step,
)
from holter.ingest.console.steps.known_steps import (
    EVALUATES_ALONE,
    counts_on,
    has_steps,
    is_behind,
    note_global_steps,
    note_steps_alone,
)
from holter.ingest.console.steps.launch_beginnings import note_trained_steps
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.steps.lines_of_epochs import note_uncounted
from holter.ingest.console.steps.outer_counts import is_outer_count
from holter.ingest.console.steps.round_steps import end_round, is_within_announced
from holter.ingest.console.steps.stated_names import names_of_means, note_means, note_names
from holter.ingest.console.steps.steady_steps import counts_steps_on, may_count_on
from holter.ingest.console.steps.step_axis import (
    as_epoch,
    note_inner_count,
    note_last_step,
    training_step,
    training_steps,
)
from holter.ingest.console.text.glued_lines import glued_records
from holter.ingest.console.text.values import begins_with_year, find_time, parse_time, parse_year_first
from holter.ingest.rows import LogRow, rows_from_columns

_NO_TIME = float("nan")
_number, _total = itemgetter(0), itemgetter(1)
"""What a line counts, and the total of that."""
_WITHOUT_TOTAL = {0}
_STEPS_ALONE = ({Counter.STEP}, {Counter.GLOBAL_STEP})
"""What lines count that announce nothing but a step."""
_SCALED_COUNT_DIGITS = 6
"""Digits of a count with a unit such as K: more may be beyond the largest step."""


@dataclass(frozen=True, slots=True)
class _CountColumn:
    """The columns of a count and its total, -1 without one."""

    counter: Counter
    column: int
    total: int
    scale: float


@dataclass(frozen=True, slots=True)
class _MetricColumn:
    name: str
    column: int
    scale: float


@dataclass(frozen=True, slots=True)
class _PlainContent:
    """What the columns of a layout are; `time` is that of the time, -1 without one."""

    shape: LineShape
    counts: tuple[_CountColumn, ...]
    metrics: tuple[_MetricColumn, ...]
    time: int
    year_first: bool

    @property
    def is_noted(self) -> bool:
        """Whether lines without any value are the epoch or the step of those below them."""
        counters = [count.counter for count in self.counts]
        if set(counters) == {Counter.EPOCH, Counter.BATCH}:
            return True
        if self.shape.is_heading and not {*counters} <= {Counter.EPOCH, Counter.OTHER}:
            return True
        return (
            bool(self.shape.split and counters)
            or self.shape.is_round
            or (counters == [Counter.EPOCH] and not self.shape.is_amount)
        )


def describe_line(line: str, parts: list[str]) -> LayoutContent | None:
    """What the numbers of a line are, None if its time is in several of them.

    Lines with labels, those that may be in the second of two columns, of settings, of the best step, bars,
    those with unknown names, evaluations whose step may be late, and the rates of an epoch are read one by
    one.
    """
    shape, numbers = shape_of_line(parts), parts[1::2]
    if len(glued_records(line)) > 1:
        return None  # of these not the shape of the first alone
    if shape.row is not None or shape.about is not None or shape.code >= 0:
        return None
    if line.startswith(" " * LEAST_INDENT):  # perhaps the second column of data
        return None
    if any(field.is_percent for field in shape.counters):
        return None
    if shape.data_ahead:  # lines above decide what the others are of
        return None
    if shape.has_fractions:  # other lines of the layout may have whole numbers there, which count
        return None
    if shape.is_best or shape.may_recur or shape.is_bar or shape.may_be_late or shape.has_rates_alone:
        return None
    if is_named_number(parts, shape):
        return None
    if not shape.counters and shape.metrics:
        return None  # nothing in it is a position
    if shape.is_settings or as_read(line) != line:  # settings may open a launch
        return None
    match, time = find_time(line), -1
    if match is not None:
        time = number_at(match.start(), match.end(), parts)
        if time < 0:
            return None
    counters = {field.counter: field for field in reversed(shape.counters)}
    may_be_own = Counter.BATCH in counters or (Counter.EPOCH in counters and len(counters) > 1)
    may_be_own |= counters.keys() == {Counter.STEP} and counters[Counter.STEP].total_index < 0
    if shape.is_of_evaluation and not shape.split and may_be_own:
        return None  # whether the others are its own depends on the lines above
    if shape.is_of_round and counters.keys() >= {Counter.OTHER, Counter.EPOCH}:
        return None  # each line states in which round it counts epochs
    counts = {
        index: MAX_COUNT_DIGITS if field.scale == 1 else _SCALED_COUNT_DIGITS
        for field in counters.values()
        for index in (field.index, field.total_index)
        if index >= 0
    }
    metrics = [field for field in shape.metrics if value_of(numbers[field.index]) is not None]
    groups = sorted({*counts, *(field.index for field in metrics), *([time] if time >= 0 else ())})
    column = {-1: -1, **{index: column for column, index in enumerate(groups)}}
    content = _PlainContent(
        shape,
        tuple(
            _CountColumn(counter, column[field.index], column[field.total_index], field.scale)
            for counter, field in counters.items()
        ),
        tuple(_MetricColumn(field.name, column[field.index], field.scale) for field in metrics),
        column[time],
        time >= 0 and begins_with_year(numbers[time]),
    )
    if not shape.metrics and is_outer_count(counts_of_neighbor(shape, numbers)):
        return None  # whether the epochs below are of the same launch depends on it
    if shape.is_note and content.is_noted:  # whether it announces anything depends on the lines above
        return None
    is_empty = not shape.is_record and not content.is_noted
    return LayoutContent(() if is_empty else tuple(groups), counts, content, is_empty)


class PlainTable:
    """Lines of one layout; see `LineTable`."""

    def __init__(self, layout: LineLayout, rows: Sequence[tuple[bytes, ...]]) -> None:
        content: _PlainContent = layout.content
        prefix, columns = layout.prefix, list(zip(*rows, strict=True))
        self._shape = content.shape
        self._printed = PrefixedLines(prefix, columns)
        self.has_values = self._shape.is_record
        self.by_process = self._printed.by_process
        columns_of_prefix, columns = columns, columns[prefix.groups :]
        self._counts = {count.counter: _counts(count, columns) for count in content.counts}
        self._counted: tuple[int, Counts] = (-1, {})
        """What a line counts, and the number of that line."""
        self._names: list[str] = []
        self._direct: list[int] = []
        self._continues = self.counts_alone = False
        self._totals_of = {count.counter: _totals(count, self._counts) for count in content.counts}
        self.announces_steps = _announces_steps(self._shape, self._totals_of)
        if not self._shape.is_record:
            return
        self._times = prefix.times_around(columns_of_prefix, _times(content, columns, len(rows)))
        names = [metric_name(metric.name, self._shape.split) for metric in content.metrics]
        self._stated = [metric.name for metric in content.metrics]
        self._names = list(dict.fromkeys(names))
        self._cells = list(zip(*_values(content, columns), strict=True)) or [()] * len(rows)
        self._columns = names
        self._is_of_epoch = not self._shape.split and self._counts.keys() == {Counter.EPOCH}
        self._is_of_means = bool(self._shape.split) and self._counts.keys() <= {Counter.EPOCH, Counter.OTHER}
        self._direct = self._direct_steps()
        self._totals = self._totals_of.get(Counter.STEP) or self._totals_of.get(Counter.BATCH) or set()
        self._is_lap = bool(self._totals - {0})
        self._is_global = Counter.GLOBAL_STEP in self._counts
        self._steps_alone = min(self._counts, default=Counter.EPOCH) < Counter.EPOCH not in self._counts
        names_stage = bool(self._shape.stage or self._shape.part)
        self._continues = (
            bool(self._direct)
            and self._steps_alone
            and not (self._is_lap or names_stage or self._shape.is_of_episode)
        )
        """Whether the lines count steps and state nothing else of their position."""
        self.counts_alone = self._continues and bool(names)
        values = map(dict, map(zip, repeat(names), self._cells)) if self._direct else ()
        self._direct_rows = rows_from_columns(self._direct, self._times, values)

    def _direct_steps(self) -> list[int]:
        """The steps where these are what the lines count; empty if they may be continued over epochs."""
        if self._shape.split:
            return []
        axis = min(self._counts, default=Counter.EPOCH)
        is_alone = Counter.EPOCH not in self._counts and axis is not Counter.EPOCH
        if axis is Counter.GLOBAL_STEP or (is_alone and self._totals_of[axis] == _WITHOUT_TOTAL):
            return [*map(_number, self._counts[axis])]
        return []

    def of_lines(self, lines: Sequence[int]) -> PlainTable:
        """Some of these lines, as a table of their own."""
        some = copy(self)
        some.__dict__.pop("within_epochs", None)
        pick = itemgetter(*lines, lines[-1])  # with one alone it would return no tuple
        some._counted = (-1, {})
        some._counts = {counter: [*pick(column)[:-1]] for counter, column in self._counts.items()}
        some._printed = self._printed.of_lines(lines)
        some.by_process = some._printed.by_process
        if self._shape.is_record:
            some._times, some._cells = [*pick(self._times)[:-1]], [*pick(self._cells)[:-1]]
        if self._direct:
            some._direct = [*pick(self._direct)[:-1]]
            some._direct_rows = [*pick(self._direct_rows)[:-1]]
        return some

    @property
    def steady_rows(self) -> Sequence[LogRow]:
        """The rows of all lines, where these count steps alone."""
        return self._direct_rows

    def counts_on(self, state: DialectState) -> bool:
        """Whether the lines count steps, and nothing else is known of these in this state."""
        axis = axis_state(state)
        return self.counts_alone and may_count_on(axis, is_global=self._is_global, behind_heading=True)

    @cached_property
    def within_epochs(self) -> EpochLines | None:
        """The lines, where they count steps within epochs, or are of an evaluation and count none."""
        shape, counters = self._shape, self._counts.keys()
        if shape.stage or shape.part or shape.is_of_episode or shape.is_report or not self._names:
            return None
        inner = self._counts.get(Counter.STEP) or self._counts.get(Counter.BATCH)
        is_of_evaluation = bool(shape.split) and inner is None and Counter.GLOBAL_STEP not in counters
        is_within = not shape.split and inner is not None and counters == {Counter.EPOCH, min(counters)}
        if not (is_of_evaluation or is_within):
            return None
        values = [*map(dict, map(zip, repeat(self._columns), self._cells))]
        epochs = () if is_of_evaluation else self._counts[Counter.EPOCH]
        return EpochLines(epochs, inner, self._times, values)

    def step_of(self, line: int) -> int:
        """The step that a line counts."""
        return self._direct[line]

    def rows(self, first: int, last: int, state: DialectState) -> list[LogRow | None]:
        """What some of the lines hold, in the order of their lines."""
        axis = axis_state(state)
        if self._continues and counts_steps_on(self._direct[last - 1], axis, is_global=self._is_global):
            note_names(self._names, self._direct[first], self._direct[last - 1], axis)
            return [*self._direct_rows[first:last]]
        if axis.pop("best", False) and is_behind(self._counts_of(first), axis):
            rest = self.rows(first + 1, last, state) if last > first + 1 else []
            return [None, *rest]  # of several processes
        names_stage = self._shape.stage or self._shape.part
        if self._shape.is_record and not self._shape.split:
            name_next_training(self._counts_of(first), axis)
        if not self._shape.is_record or ("section" not in axis and not names_stage):
            return self._rows(first, last, axis)
        if names_stage or is_named(axis):  # the first of the lines decides
            lines = [
                each for line in range(first, last) for each in self._rows_of_section(line, line + 1, axis)
            ]
            return lines
        return self._rows_of_section(first, last, axis)

    def _rows_of_section(self, first: int, last: int, axis: dict[str, Any]) -> list[LogRow | None]:
        """The same where lines above name trainings: the first line may begin one of them."""
        if self._shape.is_record and not self._shape.split:
            part = self._shape.part
            stage = f"{self._cells[first][self._stated.index(part)]:g}" if part in self._stated else ""
            name_stage(stage or self._shape.stage, self._names, self._counts_of(first), axis)
            for line in sorted({first, last - 1}):
                enter_section({counter: column[line] for counter, column in self._counts.items()}, axis)
        elif self._shape.is_record:
            enter_section_evaluated(self._counts_of(first), axis)
        labels = section_labels(axis, self._names, of_all=self._shape.is_of_all)
        rows = self._rows(first, last, axis)
        return rows if labels is None else [row and row._replace(labels=labels) for row in rows]

    def _rows(self, first: int, last: int, axis: dict[str, Any]) -> list[LogRow | None]:
        if not self._shape.is_record:
            self._note(first, last, axis)
            return [None] * (last - first)
        if not self._shape.split:
            is_announced = (
                "evaluating" in axis
                and not self._shape.is_of_training
                and (
                    self._is_lap
                    or EVALUATES_ALONE in axis
                    or self._is_of_heading(self._counts_of(first), axis)
                )
            )
            is_other = self._is_lap and (self._has_other_total(axis) or self._is_again(first, last, axis))
            if is_announced or is_other:
                return [self._row_of_batch(line, axis) for line in range(first, last)]
            end_evaluation(axis)
            forget_keys(axis)
            if self._shape.is_of_episode:
                is_within_announced(*self._counts[Counter.EPOCH][first], axis)
        return self._rows_at_steps(first, last, axis)

    def _is_of_heading(self, counts: Counts, axis: dict[str, Any]) -> bool:
        """Whether a line below the heading of an evaluation is of it, by what it counts."""
        if repeats_step(counts, self._names, axis) or lacks_epoch(counts, axis):
            return True
        return is_own_pass(counts, self._names, axis)

    def _has_other_total(self, axis: dict[str, Any]) -> bool:
        """Whether the batches of these lines have another total than those of the training so far."""
        return "total" in axis and self._totals != {axis["total"]}

    def _is_again(self, first: int, last: int, axis: dict[str, Any]) -> bool:
        """Whether one of these lines may begin another pass through the batches of its epoch."""
        if "epoch" not in axis:
            return False
        if begins_pass(self._counts_of(first), self._names, axis):
            return True
        inner = (self._counts.get(Counter.STEP) or self._counts[Counter.BATCH])[first:last]
        epochs = self._counts.get(Counter.EPOCH)
        same = repeat(True) if epochs is None else map(eq, epochs[first:last], epochs[first + 1 : last])
        return any(
            step <= before and is_same for before, step, is_same in zip(inner, inner[1:], same, strict=False)
        )

    def _rows_at_steps(self, first: int, last: int, axis: dict[str, Any]) -> list[LogRow | None]:
        if self._shape.is_round and not self._shape.split and Counter.OTHER in self._counts:
            end_round(self._counts[Counter.OTHER][last - 1][0], axis)
        if self._direct and (self._is_global or counts_on(axis)):
            self._note_direct(first, last, axis)
            note_names(self._names, self._direct[first], self._direct[last - 1], axis)
            return [*self._direct_rows[first:last]]
        if last - first > 1 and "bar" in axis and self._counts.keys() == {Counter.STEP}:
            return [row for line in range(first, last) for row in self._rows_at_steps(line, line + 1, axis)]
        is_of_epoch = self._is_of_epoch or (
            not self._shape.split and self._counts_at(first, axis).keys() == {Counter.EPOCH}
        )
        announce_epoch(self._shape, self._counts_of(last - 1), axis)
        steps = self._steps(first, last, axis)
        if steps is None:
            return [None] * (last - first)
        axis["split"] = self._shape.split
        if self._shape.split:
            note_evaluation(self._shape.split, axis)
        times, cells = self._times, self._cells
        if is_of_epoch and has_steps(axis, self._shape.kind):
            names_of_rows = (self._names_at_end_of_epoch(step, axis) for step in steps)
            return [
                LogRow(step, times[line], dict(zip(names, cells[line], strict=True)))
                for line, step, names in zip(range(first, last), steps, names_of_rows, strict=True)
            ]
        if not self._shape.split:
            of_epoch = is_of_epoch and "counted" not in axis
            note_names(self._names, steps[0], steps[-1], axis, of_epoch=of_epoch)
        names = self._columns
        if self._is_of_means and (of_pass := names_of_pass(self._shape.split, axis)):
            names = [
                name_of_mean(stated, self._shape.split) if stated in of_pass else name
                for stated, name in zip(self._stated, names, strict=True)
            ]
        if last - first == 1:
            return [LogRow(steps[0], times[first], dict(zip(names, cells[first], strict=True)))]
        return [
            LogRow(step, times[line], dict(zip(names, cells[line], strict=True)))
            for line, step in zip(range(first, last), steps, strict=True)
        ]

    def _note_direct(self, first: int, last: int, axis: dict[str, Any]) -> None:
        """Note some lines whose steps are what they count."""
        lines, step = last - first, self._direct[last - 1]
        note_inner_count(self._counts_of(last - 1), axis)
        axis["split"] = ""
        note_trained_steps(self._direct[first:last], axis)
        if self._is_global:
            note_global_steps(axis, self._counts_of(last - 1).get(Counter.EPOCH))
            axis["step"] = step
            axis.pop("heading", None)
            axis.pop("ended", None)
            axis.pop("begun", None)
        elif self._steps_alone:
            note_last_step(step, axis)
        else:
            note_uncounted(axis)
            axis["step"] = step
            axis.pop("heading", None)
        if self._steps_alone:
            note_steps_alone(lines, axis)

    def _counts_of(self, line: int) -> Counts:
        if line != self._counted[0]:  # it is asked for several times
            self._counted = line, {counter: column[line] for counter, column in self._counts.items()}
        return self._counted[1]

    def _counts_at(self, line: int, axis: dict[str, Any]) -> Counts:
        return as_epoch(self._counts_of(line), axis)

    def _row_of_batch(self, line: int, axis: dict[str, Any]) -> LogRow | None:
        """What a line holds that may be a batch of an evaluation."""
        counts = self._counts_at(line, axis)
        data = "" if self._shape.is_of_training else evaluated_batch(counts, self._names, axis)
        if not data:
            end_evaluation(axis)
            return self._rows_at_steps(line, line + 1, axis)[0]
        step = evaluation_step(counts, data, self._stated, axis)
        if step is None:
            return None
        axis["split"] = data
        note_evaluation(data, axis)
        of_pass = names_of_pass(data, axis) if counts.keys() <= {Counter.EPOCH, Counter.OTHER} else ()
        names = (
            name_of_mean(name, data) if name in of_pass else metric_name(name, data) for name in self._columns
        )
        return LogRow(step, self._times[line], dict(zip(names, self._cells[line], strict=True)))

    def _steps(self, first: int, last: int, axis: dict[str, Any]) -> list[int] | None:
        """The steps of some lines, None if none of them counts what is a step."""
        if self._shape.split:
            found = [
                evaluation_step(counts, self._shape.split, self._stated, axis)
                for counts in map(self._counts_of, range(first, last))
            ]
            return None if None in found else [step for step in found if step is not None]
        if last - first == 1:
            step = training_step(self._counts_at(first, axis), axis, self._shape.kind)
            return None if step is None else [step]
        if self._counts.keys() == {Counter.OTHER} and "announced" in axis:  # they may count within that epoch
            found = [
                training_step(self._counts_at(line, axis), axis, self._shape.kind)
                for line in range(first, last)
            ]
            return [step for step in found if step is not None] or None
        counts_by_row = {counter: column[first:last] for counter, column in self._counts.items()}
        return training_steps(counts_by_row, axis, self._shape.kind) or None

    def _names_at_end_of_epoch(self, step: int, axis: dict[str, Any]) -> list[str]:
        """The names of values of a line that counts nothing but the epoch whose batches were printed."""
        if means := names_of_means(axis):
            note_means(self._stated, step, axis)
            return [f"epoch/{name}" if name in means else name for name in self._columns]
        note_names(self._names, step, step, axis, of_epoch="counted" not in axis)
        return self._columns

    def _note(self, first: int, last: int, axis: dict[str, Any]) -> None:
        """Note what lines without values announce; of steps that rise, the first and the last ones do."""
        lines = [*range(first, last)]
        if self._counts.keys() in _STEPS_ALONE and self._rises(first, last):
            lines = [*lines[:2], *lines[2:][-2:]]
        for line in lines:
            note_line(self._shape, self._counts_of(line), axis)

    def _rises(self, first: int, last: int) -> bool:
        """Whether what lines count goes up from each to the next, of the same total."""
        counter, column = next(iter(self._counts.items()))
        lines = column[first:last]
        counts = [*map(_number, lines)]
        has_one_total = len(self._totals_of[counter]) == 1 or len({*map(_total, lines)}) == 1
        return has_one_total and all(map(lt, counts, counts[1:]))


def _announces_steps(shape: LineShape, totals: Mapping[Counter, set[int]]) -> bool:
    """Whether lines of a shape announce steps and nothing else: no end, no evaluation, no round."""
    if shape.is_record or shape.split or shape.is_end or shape.is_round or shape.is_of_round:
        return False
    return totals == {Counter.STEP: _WITHOUT_TOTAL}


def _counts(count: _CountColumn, columns: list[tuple[bytes, ...]]) -> list[tuple[int, int]]:
    counts = _count(columns[count.column], count.scale)
    if count.total < 0:
        return [*zip(counts, repeat(0))]
    return list(zip(counts, _count(columns[count.total], count.scale), strict=True))


def _totals(count: _CountColumn, counts: Mapping[Counter, Sequence[tuple[int, int]]]) -> set[int]:
    """The totals of what some lines count."""
    return _WITHOUT_TOTAL if count.total < 0 else {*map(_total, counts[count.counter])}


def _count(column: tuple[bytes, ...], scale: float) -> list[int]:
    return list(map(int, column)) if scale == 1 else [int(float(text) * scale) for text in column]


def _times(content: _PlainContent, columns: list[tuple[bytes, ...]], rows: int) -> list[float]:
    if content.time < 0:
        return [_NO_TIME] * rows
    if content.year_first:
        return list(map(parse_year_first, columns[content.time]))
    return [parse_time(text.decode()) for text in columns[content.time]]


def _values(content: _PlainContent, columns: list[tuple[bytes, ...]]) -> list[list[float]]:
    values = []
    for metric in content.metrics:
        column = columns[metric.column]
        try:
            numbers = list(map(float, column))
        except ValueError:  # with thousands separators, or durations
            numbers = [value_of(text.decode()) or 0.0 for text in column]
        if metric.scale != 1:
            numbers = [number * metric.scale for number in numbers]
        values.append(numbers)
    return values
