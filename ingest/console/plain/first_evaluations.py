"""The evaluation of a model that is not trained yet, in the words of the records of the training.

`testing ...` and `epoch: 0, loss: 2.5` above `epoch: 0, loss: 0.6` of the training, and again `testing ...`:
what repeats its epoch, and the heading below, show that the first record is of an evaluation. It waits for
these, as does the second one.
"""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.headings.evaluation_headings import heading_data
from holter.ingest.console.line.data_names import names_data
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.kept_lines import LAST_OF_FIRST, LineAbove, known_line
from holter.ingest.console.plain.plain_line import counts_of_neighbor

_WAITING = "first evaluation"
"""The data of a heading, the epoch and the kind of the record below it, and the records of this epoch."""
_EVALUATED_AND_TRAINED = 2


def has_first_evaluation(state: DialectState) -> bool:
    """Whether a record waits that may be of an evaluation before the training."""
    return _WAITING in state


def may_be_first_evaluation(line: str, place: LineAbove, above: str, state: DialectState) -> bool:
    """Whether a line waits: the first record of a text, of an epoch, right below the line `above`."""
    if _WAITING in state:
        _, number, template, records = state[_WAITING]
        is_next: bool = known_line(line).template == template and _number_of_epoch(line) == number
        if is_next:
            records.append(place)
        return is_next
    data = heading_data(above) if above else None
    number = _number_of_epoch(line) if data else None
    if number is None or number > LAST_OF_FIRST:
        return False
    state[_WAITING] = [data, number, known_line(line).template, [place]]
    return True


def first_evaluation_due(line: str, state: DialectState) -> list[LineAbove]:
    """The records that waited for a line: one that states anything, but for the second one of their epoch."""
    data, number, template, records = state[_WAITING]
    known, heading = known_line(line), heading_data(line)
    if heading is None and not (known.shape.metrics or known.shape.counters):
        return []
    is_second = len(records) < _EVALUATED_AND_TRAINED and known.template == template
    if is_second and _number_of_epoch(line) == number:
        return []
    first, *others = remaining_first_evaluation(state)
    if others and heading == data:
        first = first._replace(is_initial=True, is_renamed=number == 0, data=data)
    return [first, *others]


def remaining_first_evaluation(state: DialectState) -> list[LineAbove]:
    """The records that still wait at the end of a launch."""
    return [LineAbove(*each) for each in state.pop(_WAITING)[-1]] if _WAITING in state else []


def _number_of_epoch(line: str) -> int | None:
    """The epoch of a record that counts nothing else and names no data."""
    known = known_line(line)
    shape = known.shape
    if not shape.is_record or shape.split or any(names_data(field.name) for field in shape.metrics):
        return None
    counts = counts_of_neighbor(shape, known.numbers)
    return counts[Counter.EPOCH][0] if counts.keys() == {Counter.EPOCH} else None
