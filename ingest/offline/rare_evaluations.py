"""Evaluations now and then between the rows of a training that name no step: they are at its last one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from holter.ingest.console.line.data_names import is_of_evaluation

_LEAST_OF_TRAINING = 4
"""Rows of the training for each evaluation; fewer may be as many epochs, each with an evaluation."""
_Row = TypeVar("_Row", bound=Hashable)


def rare_evaluations(counts: Mapping[_Row, int], names_of: Callable[[_Row], Sequence[str]]) -> set[_Row]:
    """The kinds of rows, of which so many were counted, that evaluate far less often than others train."""
    evaluated = {row for row in counts if (names := names_of(row)) and all(map(is_of_evaluation, names))}
    most = max((number for row, number in counts.items() if row not in evaluated), default=0)
    return {row for row in evaluated if counts[row] * _LEAST_OF_TRAINING <= most}
