"""Lines above the counter that they belong to: `loss: 0.5`, and below it `Finished epoch 1`.

Most programs state where they are before they state what they measured. Lines with values before the first
counter of a text are therefore retained. If such a line comes again behind that counter, and this states that
something ended or follows such lines alone, it is below its values; so is a step with values of its own of
which the memory or a rate is right above, or results where the step has others of an evaluation. The lines
are then read when their counter comes, as if they were below it. Results above the first batch of all belong
to it if their like are above the second one of its epoch, else to the untrained model. For an evaluation
above the first of all see `initial_results`, for one between an epoch and its first step
`results_of_next_step`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.headings.opening_settings import is_among_opening_names
from holter.ingest.console.line.changed_rates import changed_rate
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import ENDS
from holter.ingest.console.plain.counts_above import (
    counts_due,
    may_have_counts,
    remaining_counts,
    waits_for_data,
)
from holter.ingest.console.plain.first_evaluations import (
    first_evaluation_due,
    has_first_evaluation,
    may_be_first_evaluation,
    remaining_first_evaluation,
)
from holter.ingest.console.plain.initial_results import (
    UNDECIDED,
    initial_results,
    is_waiting,
    results_before_steps,
)
from holter.ingest.console.plain.kept_lines import (
    LAST_OF_FIRST,
    KnownLine,
    LineAbove,
    is_measured,
    is_result,
    is_training,
    known_line,
    shares_value,
)
from holter.ingest.console.plain.notes_above import has_note, holds_note, note_due, remaining_note
from holter.ingest.console.plain.plain_line import counts_of_neighbor
from holter.ingest.console.plain.results_again import (
    forget_results,
    has_results_above,
    keep_results,
    results_due_before,
)
from holter.ingest.console.plain.results_of_next_step import (
    has_results_waiting,
    may_be_of_next_step,
    remaining_results,
    results_decided,
    waiting_results,
    waits_for_step,
)
from holter.ingest.console.steps.batch_rows import BATCH_ROWS
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.launch_beginnings import note_values
from holter.ingest.console.steps.lines_of_epochs import MOST_LINES_OF_EPOCH
from holter.ingest.console.steps.positions import position
from holter.ingest.console.steps.row_numbers import RowNumbers
from holter.ingest.console.steps.timed_rows import TIMED_ROWS, are_timed
from holter.ingest.metric_names import is_metric_name

_MOST_LINES = 64
_MOST_ROWS = 1024
"""Lines that are retained while the first one has a loss of the training: those of an epoch's batches."""
_LONGEST = 500

_MOST_IN_TURN = 6
"""Lines of a batch, each in other words."""
_LONGEST_LINE_END = 2


def may_wait(state: DialectState) -> bool:
    """Whether lines may be read later than they come: no counter was seen yet, or it is known."""
    is_open = "above" in state or "placed" not in state
    is_open |= is_waiting(state) or has_note(state) or has_results_above(state) or may_have_counts(state)
    return is_open or has_first_evaluation(state) or may_be_of_next_step(state)


def has_waiting(state: DialectState) -> bool:
    """Whether lines wait that are known to belong to a counter below them."""
    above = state.get("above", {})
    is_waiting_above = "templates" in above and bool(above["lines"])
    return is_waiting_above or has_first_evaluation(state) or has_results_waiting(state)


def lines_due_before(line: str, start: int, state: DialectState) -> list[LineAbove]:
    """The lines above that are read before a line, as it shows that they belong to the counter between.

    `start`: where the line begins.
    """
    if due := note_due(line, state) or counts_due(line, state):
        return due
    if has_first_evaluation(state):
        return first_evaluation_due(line, state)
    if is_waiting(state) and (initial := results_before_steps(line, state)):
        return initial
    if has_results_waiting(state):
        return results_decided(line, _touching(waiting_results(state), start), state)
    due = _lines_due(line, start, state)
    forget_results(due, state)
    return due or (results_due_before(line, state) if has_results_above(state) else [])


def _lines_due(line: str, start: int, state: DialectState) -> list[LineAbove]:
    """The same for lines that are read at the counter below them, or above all others."""
    above = state.get("above")
    if above is None:
        return []
    if "templates" in above:
        if "unconfirmed" in above and (due := _confirmed(known_line(line), state)) is not None:
            return due
        if len(above["lines"]) < _MOST_LINES:
            return []
        initial = _forgotten(state)  # too many for the lines of an epoch
        return [*initial, *(LineAbove(*each) for _, each in above["lines"])]
    known = known_line(line)
    if "first" not in above:
        touching = _touching(above["lines"], start) if known.shape.counters else 0
        initial = initial_results(line, known, touching, state)
        return initial or _rows_above(known.shape, line, state)
    if rows := _rows_of_epoch(known, state):
        return rows
    templates = [template for template, _ in above["lines"]]
    if known.template not in templates or not is_measured(known.shape):
        return []
    begin = templates.index(known.template)
    if not (above["ends"] or is_training(known.shape)):
        touching = len(templates) - above.get("touching", 0)
        may_be_early = is_result(known.shape) and not above.get("evaluates", False)
        if known.template not in templates[touching:] or may_be_early:
            return []
        begin = touching
    while begin and not _shape(above["lines"][begin - 1]).metrics:
        begin -= 1  # headings of what is below them
    lines = above["lines"][begin:]
    above["templates"], above["lines"] = sorted({template for template, _ in lines}), []
    above["at"] = above["first"]
    if "heading" in above:
        above["lines"].append(above.pop("heading"))
    if "unconfirmed" in above:
        above["unconfirmed"] = lines
        return []
    return [LineAbove(*each) for _, each in lines]


def _step_of(known: KnownLine) -> int | None:
    """The step of a line that counts nothing else."""
    counts = counts_of_neighbor(known.shape, known.numbers) if known.shape.counters else {}
    return counts[min(counts)][0] if len(counts) == 1 and min(counts) <= Counter.STEP else None


def _confirmed(known: KnownLine, state: DialectState) -> list[LineAbove] | None:
    """The lines above the first step if the second one is as far behind it; else those behind the first.

    Those above the step 0 are of it if the second one is of the same epoch. None if a line is no step.
    """
    above = state["above"]
    if UNDECIDED in above:
        counts = counts_of_neighbor(known.shape, known.numbers)
        if not counts or not known.shape.is_record:
            return None
        is_confirmed = counts.get(Counter.EPOCH, (0, 0))[0] == above["epoch of first"]
    elif (number := _step_of(known)) is not None:
        is_confirmed = number == 2 * above["first"]
    else:
        return None
    lines = above.pop("unconfirmed")
    if not is_confirmed:
        lines = above["lines"]
        return [*_forgotten(state), *(LineAbove(*each) for _, each in lines)]
    above.pop(UNDECIDED, None)
    return [LineAbove(*each) for _, each in lines]


def _forgotten(state: DialectState) -> list[LineAbove]:
    """Forget the lines above; those of them that are of the untrained model in any case."""
    return [LineAbove(*each) for each in state.pop("above").get(UNDECIDED, ())]


def waits(line: str, place: LineAbove, state: DialectState) -> bool:
    """Whether a line waits for the counter below it, as do all between it and those that wait already."""
    if ("placed" not in state and holds_note(line, place, state)) or waits_for_data(line, place, state):
        return True
    above = state.get("above")
    if "placed" not in state and may_be_first_evaluation(line, place, _right_above(place, above), state):
        return True
    if above is None or "templates" not in above or "counted" in known_axis(state):
        if not may_be_of_next_step(state):
            return False
        if above is not None and any(_has_result(LineAbove(*each[1]).message) for each in above["lines"]):
            return False
        if is_waiting_line := waits_for_step(line, place, state):
            state.pop("above", None)
        return is_waiting_line
    known = known_line(line)
    is_between = bool(above["lines"]) and not known.shape.counters and _may_hold_values(known, place)
    if known.template not in above["templates"] and not is_between:
        return False
    above["lines"].append([known.template, place])
    return True


def lines_due_behind(
    line: str, place: LineAbove, state: DialectState, *, has_values: bool
) -> list[LineAbove]:
    """The lines above that are read behind a line, as it states the counter that they belong to.

    `has_values`: values were read from the line itself. Without any it may be one that belongs to a counter.
    """
    if has_values:
        note_values(known_axis(state))
    if "placed" in state and "above" not in state:
        return []
    above, at = state.get("above"), position(known_axis(state))
    known = known_line(line)
    if at is None:
        if not (has_values or known.shape.counters):
            _keep(known, place, state)
        return []
    if above is not None and "placed" not in state and above.keys().isdisjoint(("templates", UNDECIDED)):
        keep_results(above["lines"], known, state)
    state["placed"] = True
    if above is None:
        return []
    if has_values:
        above.pop("heading", None)
    if not known.shape.counters:
        if not known.has_numbers and "templates" not in above:
            above["heading"] = [known.template, place]  # maybe of values that wait
        elif "first" in above and "templates" not in above and has_values and not above["ends"]:
            return _forget_above(state)  # the counter is above these values
        return []
    if "templates" not in above:
        rates = _rates_changed_above(above["lines"])
        return [*rates, *_lines_above_first(line, place, at, known, state)]
    if at == above["at"] or not (above["lines"] or known.shape.is_record):
        return []  # `Epoch 2`: what waits then is of the first record below
    above["at"], lines, above["lines"] = at, above["lines"], []
    return [LineAbove(*each) for _, each in lines]


def _rates_changed_above(lines: list[Any]) -> list[LineAbove]:
    """The rates above the first counter that state what they were before: they hold from there on."""
    rates = [[template, each] for template, each in lines if changed_rate(LineAbove(*each).message)]
    lines[:] = [each for each in lines if each not in rates]
    return [LineAbove(*each) for _, each in rates]


def _lines_above_first(
    line: str, place: LineAbove, at: int, known: KnownLine, state: DialectState
) -> list[LineAbove]:
    """Note the first counter of the text."""
    above, shape = state["above"], known.shape
    ends = ENDS.search(line) is not None
    if "first" not in above and not ends and _announces(line, shape):
        del state["above"]
        return []
    may_be_first = not (shape.is_record or shape.split) and _step_of(known) == at
    if "first" not in above and (ends or at <= LAST_OF_FIRST or may_be_first):
        above["first"], above["ends"] = at, ends
        if UNDECIDED in above:
            above["epoch of first"] = counts_of_neighbor(shape, known.numbers).get(Counter.EPOCH, (0, 0))[0]
        if (not ends and at > LAST_OF_FIRST) or UNDECIDED in above:
            above["unconfirmed"] = []
        counts_epochs = {field.counter for field in shape.counters} == {Counter.EPOCH}
        is_epoch = counts_epochs and not (ends or shape.is_record)
        above["epoch"] = is_epoch and any(is_training(_shape(each)) for each in above["lines"][-1:])
        if shape.is_record and not shape.split:
            touching = above["touching"] = _touching(above["lines"], place.start)
            right_above = [LineAbove(*each) for _, each in above["lines"][-touching:]] if touching else []
            above["evaluates"] = any(is_of_evaluation(field.name) for field in shape.metrics)
            above["evaluates"] |= shares_value(known, right_above) or UNDECIDED in above
        return []
    # nothing of what was above the first counter is above the second
    return _forgotten(state) if above.get("first") != at else []


def remaining(state: DialectState) -> list[LineAbove]:
    """The lines that still wait at the end of a launch."""
    above = state.get("above")
    if results := remaining_results(state) or remaining_first_evaluation(state):
        return results
    if (
        (note := remaining_note(state) or remaining_counts(state))
        or above is None
        or ("first" not in above and "templates" not in above)
    ):
        return note
    lines = above["lines"] if "templates" in above or above["ends"] else []
    if "templates" in above:
        above["lines"], above["at"] = [], None
    else:
        lines = [*((0, each) for each in _forgotten(state)), *lines]
    return [LineAbove(*each) for _, each in lines]


def _rows_above(shape: LineShape, line: str, state: DialectState) -> list[LineAbove]:
    """The lines above the first counter that are steps of their own.

    They are losses of a training in the same words, more than processes print in an epoch, or as many as the
    step that this line states. So many results with the time since the start are those of another process.
    """
    above = state["above"]
    if not (shape.is_record and above["lines"]) or shape.split:
        return []
    rows = _last_rows(above["lines"])
    template, count = rows[-1][0], sum(each[0] == rows[-1][0] for each in rows)
    before = above.get("dropped", {}).get(str(template), 0) if len(rows) == len(above["lines"]) else 0
    if count == len(rows) > MOST_LINES_OF_EPOCH and _are_of_another_process(rows):
        return _as_steps(template, rows, before, state, TIMED_ROWS)
    counts = counts_of_neighbor(shape, split_numbers(line)[1::2])
    number, _ = next(iter(counts.values()), (0, 0))
    if counts.keys() == {Counter.EPOCH}:
        are_steps = count > MOST_LINES_OF_EPOCH
    else:
        are_steps = counts.keys() == {Counter.STEP} and count + before == number > 1
    first = _shape(rows[-1])
    if not (are_steps and is_training(first)) or first.row is not None:  # `Client 3 loss: 0.5`
        return []
    return _as_steps(template, rows, before, state)


def _rows_of_epoch(known: KnownLine, state: DialectState) -> list[LineAbove]:
    """The losses above the line of the first epoch that are steps of it, as its results are below.

    Losses of the training below would show that the epoch is above them.
    """
    above = state["above"]
    is_result = is_measured(known.shape) and not is_training(known.shape)
    if not is_result or not above.get("epoch", False):
        return []
    rows = _last_rows(above["lines"])
    count = sum(each[0] == rows[-1][0] for each in rows)
    return _as_steps(rows[-1][0], rows, 0, state) if count > MOST_LINES_OF_EPOCH else []


def _are_of_another_process(rows: Sequence[Any]) -> bool:
    """Whether rows, the last one first, are results that state the time since the start and no step."""
    lines = [known_line(LineAbove(*each).message) for _, each in reversed(rows)]
    return not is_training(lines[0].shape) and are_timed(lines[0].shape, (each.numbers for each in lines))


def _last_rows(lines: Sequence[Any]) -> list[Any]:
    """The last of some lines that are in the same words, or in a few in turn; the last one first.

    `D loss: 0.5` and `G loss: 0.8` of each batch are rows of these two. The first of them is then the first.
    """
    kinds = [template for template, _ in reversed(lines)]
    period = kinds.index(kinds[0], 1) if kinds[0] in kinds[1 : _MOST_IN_TURN + 1] else 1
    pairs = zip(kinds, kinds[period:], strict=False)
    count = period + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return [*reversed(lines)][: count - count % period]


def _as_steps(
    template: int,
    rows: Sequence[Any],
    before: int,
    state: DialectState,
    numbered: RowNumbers = BATCH_ROWS,
) -> list[LineAbove]:
    """Lines that are steps of their own, or are numbered, behind so many `before` them."""
    del state["above"]
    state["placed"] = True
    numbered.note(template, before, state.setdefault("plain lines", {}))
    return [LineAbove(*each) for _, each in reversed(rows)]


def _keep(known: KnownLine, place: LineAbove, state: DialectState) -> None:
    """Keep a line above the first counter, one of the last ones."""
    axis = known_axis(state)
    if is_among_opening_names(place.message, axis):
        _forget_settings(state, axis)
        return
    is_kept = is_measured(known.shape) or not known.has_numbers
    if (
        not ((is_kept and _may_hold_values(known, place)) or changed_rate(place.message))
        or known.shape.is_settings
        or len(place.text) > _LONGEST
    ):
        return
    above = state.setdefault("above", {"lines": []})
    lines = above["lines"]
    if all(template != known.template for template, _ in lines):
        above["dropped"] = {}
    lines.append([known.template, place])
    if len(lines) > _MOST_ROWS or (len(lines) > _MOST_LINES and not is_training(_shape(lines[0]))):
        dropped, first = above["dropped"], str(lines.pop(0)[0])
        dropped[first] = dropped.get(first, 0) + 1


def _forget_settings(state: DialectState, axis: DialectState) -> None:
    """Forget the lines above the first counter that are settings, as one below them has shown."""
    lines = state.get("above", {}).get("lines", [])
    lines[:] = [each for each in lines if not is_among_opening_names(LineAbove(*each[1]).message, axis)]
    if not lines:
        state.pop("above", None)


def _may_hold_values(known: KnownLine, place: LineAbove) -> bool:
    """Whether a line may hold values, or announce some; others may be passed over unseen."""
    is_known = any(is_metric_name(field.name) for field in known.shape.metrics)
    # `Time per epoch: 3.2` looks like one that counts
    return is_known or known.is_named_number or place.in_block or not known.has_numbers


def _forget_above(state: DialectState) -> list[LineAbove]:
    """Forget the lines above the first counter but for the memory or rates that were right above it.

    Returns those of them that are of the untrained model in any case.
    """
    above = state["above"]
    lines = above["lines"][len(above["lines"]) - above.get("touching", 0) :]
    if not lines or any(_has_result(LineAbove(*each[1]).message) for each in lines):
        return _forgotten(state)
    above["lines"] = lines
    return []


def _announces(line: str, shape: LineShape) -> bool:
    """Whether a line without values states that they are below it: `Step 0 of 40:`."""
    return not shape.is_record and line.rstrip().endswith(":")


def _touching(lines: Sequence[Any], start: int) -> int:
    """How many of the lines are right above a place, with nothing between them and it."""
    count, below = 0, start
    for _, line in reversed(lines):
        above = LineAbove(*line)
        if not 0 < below - above.start - len(above.text) <= _LONGEST_LINE_END:
            break
        count, below = count + 1, above.start
    return count


def _right_above(place: LineAbove, above: Mapping[str, Any] | None) -> str:
    """The line right above a place, if it waits."""
    lines = [] if above is None else above["lines"]
    return LineAbove(*lines[-1][1]).message if _touching(lines[-1:], place.start) else ""


@lru_cache(maxsize=256)  # the same lines wait while others without a counter follow
def _has_result(message: str) -> bool:
    return is_result(known_line(message).shape)


def _shape(kept: Sequence[Any]) -> LineShape:
    return known_line(LineAbove(*kept[1]).message).shape
