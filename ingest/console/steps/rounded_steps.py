"""Steps of which a table has the first digits alone: `1.02e+05`, as `%.3g` prints what has more of them."""

from __future__ import annotations

import re
from typing import Any

_ROUNDED = re.compile(r"\d(?:\.(\d{1,12}))?e\+?(\d{1,2})")
_DIGITS = 3
"""What loggers print, of which zeros at the end are left out."""
_LEAST_STEPS = 3
"""Steps whose mean distance is that of the next ones."""
_LEAST_DISTANCES = 2
"""Equal distances in a row between steps with all of their digits, which the next ones have as well."""


def step_of_rounded(text: str, value: int, known: dict[str, Any]) -> int:
    """The step of the next table by its text: as far behind the one before as those above lie apart.

    A step that this does not round to is as printed, and one that goes back begins anew. `known` has what is
    known of the steps above.
    """
    unit = _unit(text, known)
    last: int | None = known.get("last")
    if last is None or value < last - unit:
        known.update(first=value, last=value, steps=1)
        return value
    if unit == 1:
        _note_distance(value - last, known)
    elif _even_distance(known):  # of which tables between them that are lost change nothing
        known["distance"] = _even_distance(known)
    elif known["steps"] >= _LEAST_STEPS:
        known["distance"] = (last - known["first"]) / (known["steps"] - 1)
    step = max(value, int(last))
    if unit > 1 and "distance" in known:  # maybe that of the launch before
        following: int = last + round(known["distance"])
        if abs(following - value) <= unit / 2:
            step = following
    known.update(last=step, steps=known["steps"] + 1)
    return step


def _note_distance(distance: int, known: dict[str, Any]) -> None:
    """Note how far apart two steps are that have all of their digits."""
    before, times = known.get("even", (0, 0))
    known["even"] = [distance, times + 1 if distance == before else 1]


def _even_distance(known: dict[str, Any]) -> int:
    """The distance of the last steps that had all of their digits, 0 if it was not the same several times."""
    distance, times = known.get("even", (0, 0))
    return int(distance) if times >= _LEAST_DISTANCES else 0


def _unit(text: str, known: dict[str, Any]) -> int:
    """What a step was rounded to, 1 if it has all of its digits."""
    rounded = _ROUNDED.fullmatch(text.strip())
    if rounded is None:
        return 1
    known["digits"] = digits = max(len(rounded[1] or "") + 1, known.get("digits", _DIGITS))
    return int(10 ** max(int(rounded[2]) + 1 - digits, 0))
