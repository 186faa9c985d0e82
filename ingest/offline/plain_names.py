"""Which of two kinds of rows that state a name at the same steps has the plain name: that with more of them.

While a text is being written, the kind that was printed first has it; all of a log shows which is the rarer
one, such as an evaluation that is printed above the first line of the training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holter.ingest.console.writers.repeated_rows import REPEAT
from holter.types import Series, SeriesKey, labels_of

_MANY = 2
"""How many times as many points one of them has."""


def with_plain_names(series: Mapping[SeriesKey, Series]) -> dict[SeriesKey, Series]:
    """The series, in the order of the keys; the larger of two has the key of that with the smaller number."""
    found = dict(series)
    for key in series:
        labels = dict(key.labels)
        if labels.pop(REPEAT, None) is None:
            continue
        first = SeriesKey(key.metric, labels_of(labels))
        if first in found and _covers(found[key], found[first]):
            more, fewer = found[key], found[first]
            found[first], found[key] = replace(more, key=first), replace(fewer, key=key)
    return found


def _covers(larger: Series, smaller: Series) -> bool:
    """Whether a series has many more points than another, and one at each of its steps."""
    if len(larger) < _MANY * len(smaller):
        return False
    pairs = [{*zip(each.attempt.tolist(), each.step.tolist(), strict=True)} for each in (smaller, larger)]
    return pairs[0] <= pairs[1]
