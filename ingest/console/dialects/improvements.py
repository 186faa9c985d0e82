"""Lines of a metric that improved: the new value is the best one at their step, see `improvements`."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.dialects.set_rates import values_of_change
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.evaluation_names import best_of, name_of_best
from holter.ingest.console.line.improvements import CHANGED, IMPROVING, NEW_BEST, NUMBER, improvement
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_tokens import split_numbers, value_of
from holter.ingest.console.plain.plain_line import axis_state, counts_of
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.known_steps import has_steps, number_of_epoch
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_time
from holter.ingest.metric_names import is_metric_name


def _improved(line: str, state: DialectState) -> LineValues | None:
    """The new value, at the epoch that the line names or the step above it."""
    found, axis = improvement(line), axis_state(state)
    if found is None or not is_metric_name(found.name) or is_setting(found.name):
        return values_of_change(line, state)
    step, value = _step(found.ahead, state), value_of(found.value.rstrip("%"))
    if step is None or value is None:
        return None
    values = {name_of_best(found.name, best_of("")): value}
    return LineValues(step, values, parse_time(line), section_labels(axis, values))


def _step(ahead: str, state: DialectState) -> int | None:
    """The epoch that is stated before the name, where lines count epochs alone; else the step above."""
    axis, parts = axis_state(state), split_numbers(ahead)
    counts = counts_of(shape_of_line(parts), parts[1::2])
    if counts.keys() == {Counter.EPOCH} and not has_steps(axis):
        return number_of_epoch(counts[Counter.EPOCH][0], axis)
    return position(axis)


IMPROVEMENTS = LineKind(
    pattern=LinearPattern(rf"(?i)(?:[a-z\d](?:{CHANGED}|{NEW_BEST})|{IMPROVING}){NUMBER}".encode()),
    parse=_improved,
    any_program=True,
)
"""Lines of a metric that improved, with its old and its new value."""
