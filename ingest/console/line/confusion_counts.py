"""The four counts of a confusion matrix in a line: `{'tn': 412, 'fp': 8, 'fn': 35, 'tp': 145}`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

_COUNTS = frozenset({"tp", "fp", "fn", "tn"})
"""Any of them alone may be something else: `tp: 8` is a tensor-parallel size."""


def confusion_counts(names: Sequence[str]) -> frozenset[str]:
    """The names of a line that are those of the counts of a confusion matrix, if all four are among them."""
    return _confusion_counts(tuple(names))


@lru_cache(maxsize=256)
def _confusion_counts(names: tuple[str, ...]) -> frozenset[str]:
    found = {name: name.lower() for name in names if name.lower() in _COUNTS}
    return frozenset(found) if len({*found.values()}) == len(_COUNTS) else frozenset()
