"""Settings that a program prints before its first record: the same lines in the next launch are no results.

`lr: 0.1, alpha: 0.5, reward_scale: 0.1` has the name of a metric. Above the first position of a text it has
no step; behind the records of a launch it would be at the last one of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.steps.step_axis import position

_MOST_LINES = 16
_POSITIONS = ("step", "announced", "heading", "epoch", "names")


def is_opening_setting(template: int, names: Sequence[str], axis: DialectState) -> bool:
    """Whether a line that counts nothing states settings as one above the first record did, which it notes.

    One of its names is that of a setting, the others are none of the values of records. A line that comes
    again at a later step than the last time is printed as the training continues.
    """
    if not any(map(is_setting, names)):
        return False
    key, known = str(template), axis.get("opening settings", {})
    if axis.keys().isdisjoint(_POSITIONS):
        if len(known) < _MOST_LINES:
            axis["opening settings"] = {**known, key: None}
        return False
    if key not in known or "names" not in axis:
        known.pop(key, None)  # it is printed in the first epoch as well
        return False
    if any(name in axis["names"] and not is_setting(name) for name in names):
        return False
    step, last = position(axis), known[key]
    if step is not None and last is not None and step > last:
        del known[key]
        return False
    known[key] = step
    return True
