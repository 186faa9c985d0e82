"""The first record of a launch as its model is saved: `*Epoch 0, saved with loss: 0.5`, `Epoch 0, loss: 0.5`.

Behind the first record, a line with its values would look as if another launch had begun with it.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import LineValues

_FIRST = "first record"
_IS_SAVED = re.compile(r"(?i)\bsav(?:ed|ing)\b|\bcheckpoint|\bbest\b")


def repeats_first_record(line: str, record: LineValues, axis: dict[str, Any]) -> bool:
    """Whether a record has the step and the values of the first one of its launch, and one of them was saved.

    In the same words it is that of another launch, and in others that of another model in turn.
    """
    first = axis.get(_FIRST)
    if first is None:
        axis[_FIRST] = [_is_of_saved(line), record.step, record.values]
        return False
    if first[1] != record.step:
        first[1] = None  # the launch has gone on
    is_again = first[1] is not None and first[2] == record.values
    return is_again and first[0] != _is_of_saved(line)


def forget_first_record(axis: dict[str, Any]) -> None:
    """Another launch begins."""
    axis.pop(_FIRST, None)


def _is_of_saved(line: str) -> bool:
    return _IS_SAVED.search(line) is not None
