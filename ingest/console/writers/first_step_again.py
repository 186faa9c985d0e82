"""Rows that come again at the first step of a launch: of several processes, or of launches of one record.

Several processes, or a program with several lines for each step, print the steps behind it as often. A launch
that ended after its first record prints none of them, so that these are fewer: four rows of step 0, and one
of each step behind it, are of four launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

_MOST_ROWS = 12
"""Rows after which they are those of one launch."""


def counted_steps(steps: Sequence[int]) -> list[int]:
    """The steps of rows of the first step that are counted: `1, 1, 1, 4, 5` as if they began with 1, 2 and 3.

    So are lines of an epoch of which the first may be those of several processes.
    """
    first, *behind = dict.fromkeys(steps)
    rows = steps.count(first)
    if len(behind) < 2 or (distance := behind[1] - behind[0]) * rows != behind[0] - first:
        return []
    return [first + number * distance for number in range(rows)]


def rows_of_launch(steps: Sequence[int], *, is_between: bool) -> int | None:
    """How many rows of the first step each launch has; 0 if all are of one, and None while it is unknown.

    `steps` are those of the rows so far. One behind the first shows enough if other lines came between the
    rows of that, `is_between`; else it takes two.
    """
    firsts, *behind = (len([*rows]) for _, rows in groupby(steps))
    counts = {*behind[:-1]}  # more rows of the last one may follow
    if any(count >= firsts for count in behind) or len(counts) > 1:
        return 0
    if len(behind) < (2 if is_between else 3):
        return 0 if len(steps) > _MOST_ROWS else None
    [rows_of_step] = counts
    return 0 if firsts % rows_of_step else rows_of_step
