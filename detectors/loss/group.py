"""Groups of points or rows that belong together, by their numbers in an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = 64
"""More than it ever takes to speak of a group."""


@dataclass(frozen=True)
class Group:
    """`begun` are the numbers of the first of them, `last` that of the last one; so many `points` in all."""

    begun: tuple[int, ...]
    last: int
    points: int

    @staticmethod
    def of(numbers: Sequence[int]) -> Group:
        """A group of these, in their order."""
        return Group(tuple(numbers[:_SHOWN]), numbers[-1], len(numbers))

    @property
    def first(self) -> int:
        return self.begun[0]

    def and_then(self, numbers: Sequence[int]) -> Group:
        """With others that follow."""
        begun = (*self.begun, *numbers[: _SHOWN - len(self.begun)])
        return Group(begun, numbers[-1], self.points + len(numbers))
