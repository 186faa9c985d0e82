"""Which series come side by side: the same names again are recognised, and not looked at again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from itertools import repeat
from sys import intern

from holter.types import Labels, SeriesKey, Shape

_BYTES = 64 * 2**20
_SHAPE_BYTES = 500
_KEY_BYTES = 250
_key = partial(
    tuple.__new__, SeriesKey
)  # what SeriesKey does, without a call of Python's for each of thousands


class Shapes:
    """The shapes of batches that were found to be in order, as many as fit into `most` bytes.

    Runs of one kind have one shape, so that their names stand in memory once. Threads may share it.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[Labels, tuple[str, ...]], Shape] = OrderedDict()
        self._good: set[Shape] = set()
        self.held = 0  # bytes, about

    def find(self, names: tuple[str, ...], labels: Labels) -> Shape:
        """The shape of series with these metrics and labels: the one that is known, or a new one."""
        with self._guard:
            shape = self._known.get((labels, names))
            if shape is not None:
                self._known.move_to_end((labels, names))
                return shape
        return Shape(map(_key, zip(map(intern, names), repeat(labels))))

    def knows(self, shape: Shape) -> bool:
        """Whether it was found to be in order before."""
        return shape in self._good

    def keep(self, shape: Shape) -> None:
        """Recognise it from now on: it is in order."""
        key = shape.keys[0].labels, _metrics(shape)
        size = _size(shape)
        with self._guard:
            if key not in self._known and size <= self._most:
                self._known[key] = shape
                self._good.add(shape)
                self.held += size
            while self.held > self._most:
                _, oldest = self._known.popitem(last=False)
                self._good.discard(oldest)
                self.held -= _size(oldest)


def _metrics(shape: Shape) -> tuple[str, ...]:
    return tuple([metric for metric, _ in shape.keys])


def _size(shape: Shape) -> int:
    return _SHAPE_BYTES + _KEY_BYTES * len(shape.keys) + sum(map(len, _metrics(shape)))
