"""Lines of nothing but an epoch and its rates, which a program prints as the epoch begins.

One that comes again with nothing of the training behind the one before is of another process, or of a launch
that ended there: it is the same once more. Behind steps of the epoch another launch may have begun: it has if
the next step is of another total, or is none that continues.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.steps.known_steps import has_steps, known_axis
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.steps.steps_over_epochs import RATES_ABOVE

_LAST, _LEFT, _AGAIN, _STATED = "rates", "left epoch", "epoch again", "rates stated"
_MOST_DISTANCES = 2
"""Distances between two steps of which one was left out at most."""


def repeats_rates(shape: LineShape, counts: Counts, numbers: list[str], axis: dict[str, Any]) -> bool:
    """Whether a line of an epoch and its rates is the one before it once more; note it if it is none."""
    if not shape.has_rates_alone or counts.keys() != {Counter.EPOCH}:
        return False
    if not has_steps(axis):
        axis[_STATED] = True
    number, at = counts[Counter.EPOCH][0], [*axis.get("epoch", ())]
    last, are_above = axis.get(_LAST), axis.get(RATES_ABOVE, False)
    axis[_LAST], axis[RATES_ABOVE] = [number, *numbers], True
    if last is None or last[0] != number:
        axis.pop(_LEFT, None)
        return False
    if not are_above and at[:1] == [number]:
        first, distance = axis.get("first of epoch", at[1]), axis.get("stride", 0)
        axis[_LEFT] = [*at, distance if at[1] > first else 0, axis.get("total", 0)]
        axis[_AGAIN] = True
    # where no steps are counted within epochs, the names are those of the last record
    is_next = bool(at) or axis.get("names") == [field.name for field in shape.metrics]
    is_again = are_above and is_next and last == axis[_LAST] and "may begin" not in axis
    if is_again:
        axis.pop(_STATED, None)
    return is_again


def came_again(state: DialectState) -> bool:
    """Whether the last line was such a one of an epoch whose steps are above it; this is asked once."""
    axis = known_axis(state)
    return _AGAIN in axis and bool(axis.pop(_AGAIN))


def have_own_epoch(state: DialectState) -> bool:
    """Whether the last line stated its epoch with its rates, and no line counts steps; this is asked once.

    They are no settings of the next launch then.
    """
    axis = known_axis(state)
    return _STATED in axis and bool(axis.pop(_STATED))


def is_of_other_steps(state: DialectState) -> bool | None:
    """Whether the step behind such a line does not continue from those above it; None while there is none.

    If it does not, the epochs of the launch before state nothing of those that follow.
    """
    axis = known_axis(state)
    number, last, distance, total = axis.get(_LEFT, (None, 0, 0, 0))
    epoch, step = axis.get("epoch", (None, 0))
    is_other = bool(total > 0 and axis.get("total") != total)
    if number == epoch and step == last and not is_other:
        return None
    axis.pop(_LEFT, None)
    if number is None or number != epoch:
        return False
    is_other |= distance > 0 and not last < step <= last + _MOST_DISTANCES * distance
    if is_other:
        axis["length"] = 0
    return is_other
