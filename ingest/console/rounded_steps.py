"""Steps of which a table has the first digits alone: `1.02e+05`, as `%.3g` prints what has more of them."""

from __future__ import annotations

import re
from typing import Any

_ROUNDED = re.compile(r"\d(?:\.(\d{1,12}))?e\+?(\d{1,2})")
_DIGITS = 3
"""What loggers print, of which zeros at the end are left out."""
_LEAST_STEPS = 3
"""Steps whose mean distance is that of the next ones."""


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
    if known["steps"] >= _LEAST_STEPS:
        known["distance"] = (last - known["first"]) / (known["steps"] - 1)
    step = max(value, int(last))
    if unit > 1 and "distance" in known:  # maybe that of the launch before
        following: int = last + round(known["distance"])
        if abs(following - value) <= unit / 2:
            step = following
    known.update(last=step, steps=known["steps"] + 1)
    return step


def _unit(text: str, known: dict[str, Any]) -> int:
    """What a step was rounded to, 1 if it has all of its digits."""
    rounded = _ROUNDED.fullmatch(text.strip())
    if rounded is None:
        return 1
    known["digits"] = digits = max(len(rounded[1] or "") + 1, known.get("digits", _DIGITS))
    return int(10 ** max(int(rounded[2]) + 1 - digits, 0))
