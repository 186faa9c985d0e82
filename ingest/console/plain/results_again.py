"""Results above the first line that counts whose like come again below later ones: of the untrained model.

`PSNR: 9.5` above `iter 100: loss 0.5`, and again behind `iter 500`. Nothing states that the first of them is
of an evaluation, but it is as much one as the others: it is at the step 0, with a name of its own where that
has values as well. What comes again with the same numbers, or before the next launch trains, is a setting.
Where values belong to a counter below them, `lines_above` reads them there.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_settings import is_learning_rate, is_setting
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.plain.kept_lines import (
    LAST_OF_FIRST,
    KnownLine,
    LineAbove,
    is_result,
    is_training,
    known_line,
)
from holter.ingest.console.plain.plain_line import counts_of_neighbor
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.opening_values import is_in_opening
from holter.ingest.console.steps.positions import position

_KEPT = "results again"
_MOST_LINES = 1024
"""Lines behind the first counter up to which results are looked for."""


def has_results_above(state: DialectState) -> bool:
    """Whether results above the first line that counts are waiting."""
    return _KEPT in state


def keep_results(lines: Sequence[Any], first: KnownLine, state: DialectState) -> None:
    """Keep the results among the lines above the first one that counts, those that came once."""
    counts = counts_of_neighbor(first.shape, first.numbers)
    if not counts:
        return
    times = Tally(template for template, _ in lines)
    shapes = {template: known_line(LineAbove(*line).message).shape for template, line in lines}
    # a value above one with the same name at the counter is its sum, or that of the last batch
    named = {field.name for field in first.shape.metrics}
    kept = {
        str(template): line
        for template, line in lines
        if times[template] == 1
        and _may_be_initial(shapes[template])
        and not {field.name for field in shapes[template].metrics} <= named
    }
    # losses of a training alone are those of its first steps
    if not all(is_training(shapes[int(template)]) for template in kept):
        number, _ = counts.get(Counter.EPOCH) or counts[min(counts)]
        state[_KEPT] = {"lines": kept, "first": number, "left": _MOST_LINES}


def _may_be_initial(shape: LineShape) -> bool:
    """Whether a line has results, and no setting among them."""
    is_set = shape.is_settings or any(
        is_setting(field.name) or is_learning_rate(field.name) for field in shape.metrics
    )
    return is_result(shape) and not is_set


def results_due_before(line: str, state: DialectState) -> list[LineAbove]:
    """The results that came above the first counter in the words of this line, which is below later ones."""
    kept = state[_KEPT]
    kept["left"] -= 1
    found = kept["lines"].pop(str(known_line(line).template), None)
    if not kept["lines"] or not kept["left"]:
        del state[_KEPT]
    if found is None or LineAbove(*found).message == line or is_in_opening(known_axis(state)):
        return []
    last = position(known_axis(state))
    is_begin = kept["first"] <= LAST_OF_FIRST or (last is not None and last >= 2 * kept["first"])
    if not is_begin:
        return []
    return [LineAbove(*found)._replace(is_initial=True, is_renamed=kept["first"] == 0)]


def forget_results(lines: Sequence[LineAbove], state: DialectState) -> None:
    """Forget results of which some lines were read at a counter."""
    if _KEPT in state and lines:
        read = {each.start for each in lines}
        kept = state[_KEPT]["lines"]
        if any(LineAbove(*each).start in read for each in kept.values()):
            del state[_KEPT]
