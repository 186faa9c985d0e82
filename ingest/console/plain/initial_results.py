"""Results of an evaluation before the training: above the first line of a text that counts, at the step 0.

`Validation results:` and `acc: 0.1`, or `Test loss: 2.3`, above `Epoch 1` or above steps that begin there.
The epoch 0 has an evaluation of its own, so that what was measured before it is `initial/Test loss`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from holter.ingest.console.dialect import DialectState, LineResult, LineValues
from holter.ingest.console.headings.evaluation_headings import heading_data
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import ENDS
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.console.plain.kept_lines import (
    LAST_OF_FIRST,
    KnownLine,
    LineAbove,
    is_evaluation,
    is_training,
    known_line,
    shares_value,
)
from holter.ingest.console.plain.plain_line import counts_of_neighbor
from holter.ingest.console.steps.evaluated_parts import begins_training
from holter.ingest.metric_names import is_metric_name

_INITIAL = "initial/"
_WAITING = "initial results"
"""Those above a step that may be the first one or a later one, and this step."""
_FIRST = "first with initial results"
UNDECIDED = "undecided"
"""Those right above the first batch, among the lines above: each batch may have its own above it."""
_MOST_BETWEEN = 1
"""Lines without any metric between a heading and the results below it."""
_LEAST_NAMES = 2
"""Names that a line above has in common with the first record by no chance."""
_CONTINUES = re.compile(r"(?i)resum|continu")
_SIGNS = re.compile(r"[\W_]+")


def is_waiting(state: DialectState) -> bool:
    """Whether results wait for the second step of a text: it shows whether the first one was there."""
    return _WAITING in state


def initial_results(line: str, known: KnownLine, touching: int, state: DialectState) -> list[LineAbove]:
    """The results above a line that counts, if nothing above it has counted and the training begins there.

    They no longer wait as lines that may be of this line; so many lines are right above it (`touching`).
    """
    above, shape = state["above"], known.shape
    if begins_training(line.strip()) and _CONTINUES.search(line) is None:
        above["begins"] = True
    if not (shape.is_record or shape.is_heading) or not shape.counters or shape.is_amount:
        return []
    if shape.split or ENDS.search(line) is not None:
        return []
    lines = [LineAbove(*each) for _, each in above["lines"]]
    found = _results(lines)
    counts = counts_of_neighbor(shape, known.numbers)
    right_above = lines[len(lines) - touching :]
    if found and _may_be_of(known, found, right_above):
        found = []
    elif found and found[-1] in right_above and is_first_batch(known):
        above[UNDECIDED] = [each._replace(is_initial=True) for each in found]
        return []
    found = found or _of_same_names(known, lines)
    if not (found and counts):
        return []
    number, _ = counts.get(Counter.EPOCH) or counts[min(counts)]
    begins = number <= LAST_OF_FIRST or above.get("begins", False)
    if not begins and Counter.EPOCH in counts:
        return []
    starts = {each.start for each in found}
    above["lines"] = [[template, each] for template, each in above["lines"] if each[1] not in starts]
    is_at_first = number == 0 and (counts.keys() == {Counter.EPOCH} or not shape.is_record)
    found = [each._replace(is_initial=True, is_renamed=is_at_first) for each in found]
    state[_FIRST] = [max(count for count, _ in counts.values()), _INITIAL if is_at_first else ""]
    if begins:
        return found
    state[_WAITING] = [number, *found]
    return []


def is_first_batch(record: KnownLine) -> bool:
    """Whether a record is of the step 0 and has a loss: an evaluation of its own would be of the same model.

    So what is right above it may be of it, rather than of a model that is evaluated before its training.
    """
    counts = counts_of_neighbor(record.shape, record.numbers)
    counts_steps = bool(counts) and min(counts) <= Counter.BATCH and counts[min(counts)][0] == 0
    return counts_steps and record.shape.is_record and is_training(record.shape)


def results_before_steps(line: str, state: DialectState) -> list[LineAbove]:
    """The results that waited for this line if it has the second step, as far behind as the first one."""
    known = known_line(line)
    shape = known.shape
    if not (shape.is_record or shape.is_heading) or shape.split or not shape.counters:
        return []
    counts = counts_of_neighbor(shape, known.numbers)
    first, *lines = state[_WAITING]
    number = counts[min(counts)][0] if counts else first
    if number == first:
        return []
    del state[_WAITING]
    if number < 2 * first:
        del state[_FIRST]
        return []
    return [LineAbove(*each) for each in lines]


def first_with_initial(state: DialectState) -> tuple[int, str] | None:
    """What the first line counts that has initial results above it, and what their names begin with.

    Later launches have such results as well.
    """
    return tuple(state[_FIRST]) if _FIRST in state and _WAITING not in state else None


def _results(lines: Sequence[LineAbove]) -> list[LineAbove]:
    """Those of some lines that are results of an evaluation, with the headings above them.

    A line that names its data is enough for those below one another. None if a loss of the training is among
    them: then they are those of a step.
    """
    chosen: list[LineAbove] = []
    data, has_results = "", False
    for has_metrics, group in groupby(lines, lambda line: bool(_shape(line).metrics)):
        block = [*group]
        if not has_metrics:
            headings = [(line, heading_data(line.message)) for line in block]
            chosen += [line for line, heading in headings if heading]
            near = headings[-_MOST_BETWEEN - 1 :]
            data = next((heading for _, heading in reversed(near) if heading is not None), "")
            continue
        shapes = [*map(_shape, block)]
        if not data and any(map(is_training, shapes)):
            return []
        if data or any(map(is_evaluation, shapes)):
            chosen += block
            has_results |= any(is_metric_name(field.name) for shape in shapes for field in shape.metrics)
    return chosen if has_results else []


def _shape(line: LineAbove) -> LineShape:
    return known_line(line.message).shape


def _may_be_of(record: KnownLine, found: Sequence[LineAbove], right_above: Sequence[LineAbove]) -> bool:
    """Whether results above a record may be of it: of the same evaluation, or with one of its values.

    Others of the same measures state that they are of another one, below a heading or by words of their own.
    """
    if shares_value(record, right_above):
        return True
    if not any(is_of_evaluation(field.name) for field in record.shape.metrics):
        return False
    of_lines = {measure for line in right_above for measure in _measures(_shape(line))}
    is_other_part = bool(of_lines) and of_lines.isdisjoint(_measures(record.shape))
    return is_other_part or all(map(_is_bare, found))


def _of_same_names(record: KnownLine, lines: Sequence[LineAbove]) -> list[LineAbove]:
    """The only values above a record, if they have the names of all of its own, one of an evaluation."""
    measured = [line for line in lines if _shape(line).metrics]
    names = [field.name for field in record.shape.metrics]
    if len(measured) != 1 or len(names) < _LEAST_NAMES or not any(map(is_of_evaluation, names)):
        return []
    is_same = [field.name for field in _shape(measured[0]).metrics] == names
    return measured if is_same and not shares_value(record, measured) else []


def _is_bare(line: LineAbove) -> bool:
    """Whether a line is nothing but named numbers."""
    parts, metrics = split_numbers(line.message), _shape(line).metrics
    return bool(metrics) and not text_before(parts, metrics[0]).strip()


def _measures(shape: LineShape) -> Iterator[str]:
    """The last words of the names of a line, which are those of what is measured: `loss` of `val_loss`."""
    return (_SIGNS.split(field.name.lower())[-1] for field in shape.metrics)


def state_before_training() -> DialectState:
    """The state in which such lines are read: below a heading of the step 0."""
    return {"plain lines": {"heading": 0, "announced": [0, 0]}}


def initial_values(result: LineResult, line: LineAbove) -> Iterator[LineValues]:
    """The values that such a line held in this state."""
    for values in result if isinstance(result, list) else (result,):
        if isinstance(values, LineValues):
            prefix = _INITIAL if line.is_renamed else ""
            named = {
                f"{prefix}{metric_name(name, line.data)}": value for name, value in values.values.items()
            }
            yield values._replace(step=0, values=named, is_late=True)
