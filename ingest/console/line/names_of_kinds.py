"""Names that rows of several kinds have: which values of them are measured of something else.

A program prints `loss: 0.5, lr: 0.1` of the training and `loss: 0.7, acc: 0.8` of something that it does not
name. From the first step on at which both state other values, those of the second kind have a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan

from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.number_names import counts
from holter.types import Labels

_SEVERAL = 2
_LEAST_DIGITS = 3
"""Digits of a number that may be another one with fewer of them."""


@dataclass(slots=True)
class KindOfRows:
    """The last step of rows with the same names and labels, how many there differ, and the last values.

    `shared` are names that other kinds have, too; `numbers` states what is added to the number of a row for
    those of them whose values are measured of something else.
    """

    step: int
    number: int
    values: Mapping[str, float]
    is_provisional: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    highest: int = 1
    """The highest number of a row."""
    shared: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _LastValue:
    kind: KindOfRows
    step: int
    value: float
    is_provisional: bool


class NamesOfKinds:
    """The kinds of rows that have each name, and its last value among those without a number."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[Labels, str], list[KindOfRows]] = {}
        self._last: dict[tuple[Labels, str], _LastValue] = {}

    def clear(self) -> None:
        """Forget all kinds."""
        self._kinds.clear()
        self._last.clear()

    def add(self, labels: Labels, kind: KindOfRows) -> None:
        """Note another kind.

        What counts or was set is no measurement: the last one holds. A batch with the mean so far, as in
        `Acc@1 70.2 (71.5)`, is replaced by the mean of all.
        """
        for name in kind.values:
            if _is_state(name) or f"{name}/mean" in kind.values:
                continue
            kinds = self._kinds.setdefault((labels, name), [])
            kinds.append(kind)
            if len(kinds) == 1:
                continue
            if len(kinds) == _SEVERAL:
                first = kinds[0]
                last = _LastValue(first, first.step, first.values[name], first.is_provisional)
                self._last[labels, name] = last
            for each in kinds:
                each.shared[name] = None

    def note(self, labels: Labels, kind: KindOfRows) -> None:
        """Note the last row of a kind, and give those of its names a number that others have stated."""
        if kind.number > 1:
            return
        for name in kind.shared:
            if name in kind.numbers:
                continue
            value, last = kind.values[name], self._last.get((labels, name))
            is_same_step = last is not None and last.step == kind.step and last.kind is not kind
            if last is not None and is_same_step and not (last.is_provisional or kind.is_provisional):
                if not is_same_value(value, last.value):
                    others = (each for each in self._kinds[labels, name] if each is not kind)
                    kind.numbers[name] = max(each.numbers.get(name, 0) + each.highest for each in others)
                continue
            self._last[labels, name] = _LastValue(kind, kind.step, value, kind.is_provisional)


def _is_state(name: str) -> bool:
    """Whether values of a name are counted or set, as the scale of a loss is at an overflow."""
    return not name.strip() or counts(name) or is_setting(name) or "scale" in name.lower()


def is_same_value(value: float, other: float) -> bool:
    """Whether two numbers are the same, or one is the other with fewer digits."""
    if value == other or (isnan(value) and isnan(other)):
        return True
    digits = [len(repr(each).removesuffix(".0").strip("-0.").replace(".", "")) for each in (value, other)]
    fewest = min(digits)
    return fewest >= _LEAST_DIGITS and f"{value:.{fewest}g}" == f"{other:.{fewest}g}"
