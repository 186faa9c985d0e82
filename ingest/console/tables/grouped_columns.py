"""Columns of which several have one name: `# step, loss_train, loss_test, metrics_test` of DeepXDE.

A program that minimises several losses writes all of them below one name: first those of the training, then
as many of the evaluation, then what else is measured. How many there are follows from the first row: the
same loss on other points is of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.text.values import parse_number

_NAMES = ("step", "loss_train", "loss_test", "metrics_test")
_LEAST_CELLS = 3
_MOST_METRICS = 8
_LEAST = 1e-300
"""A loss of nothing has no logarithm."""


def names_of_groups(names: Sequence[str], cells: Sequence[str], state: DialectState) -> list[str]:
    """A name for each cell of a row below a heading that names groups of columns; none below others."""
    if tuple(names) != _NAMES or len(cells) < _LEAST_CELLS:
        return []
    losses = state.get("losses of table", {}).get(str(len(cells)))
    if losses is None:
        losses = _losses(cells[1:])
        state["losses of table"] = {str(len(cells)): losses}
    counts = (1, losses, losses, len(cells) - 1 - 2 * losses)
    return [
        name if number == 0 else f"{name} {number + 1}"
        for name, count in zip(_NAMES, counts, strict=True)
        for number in range(count)
    ]


def _losses(cells: Sequence[str]) -> int:
    """How many losses of the training a row has, if as many of the evaluation follow."""
    values = [parse_number(cell) for cell in cells]
    most = len(cells) // 2
    possible = range(max(1, most - _MOST_METRICS // 2), most + 1)
    return min(reversed(possible), key=lambda losses: _difference(values, losses))


def _difference(values: Sequence[float | None], losses: int) -> float:
    """How much the losses of the evaluation differ from those of the training, as powers, on average."""
    pairs = zip(values[:losses], values[losses : 2 * losses], strict=True)
    return sum(_of_pair(*pair) for pair in pairs) / losses


def _of_pair(first: float | None, second: float | None) -> float:
    if first is None or second is None or not (isfinite(first) and isfinite(second)):
        return 0.0
    return abs(log(max(abs(first), _LEAST)) - log(max(abs(second), _LEAST)))
