"""Lines of evaluations that count these, beside steps of the training: `Step 0: test score 3` at step 99."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.line_counts import Counts

_LEAST_STEP = 10
"""The step of the training from which on a zero or a one is no step before the last one."""
_FIRST = (0, 1)
_MOST_KINDS = 64


def counts_itself(kind: str, counts: Counts, names: Collection[str], state: dict[str, Any]) -> bool:
    """Whether a line of the results of an evaluation counts such lines, and no steps of the training.

    The first of its kind has a zero or a one behind later steps of the training, and each the next number.
    With some of the names of the training's last line it is one of a training that begins.
    """
    if counts.keys() != {Counter.STEP} or state.get("alone") is not True:
        return False
    number, total = counts[Counter.STEP]
    kinds: dict[str, int | None] = state.setdefault("own counts", {})
    if kind not in kinds:
        is_own = number in _FIRST and not total and state.get("step", 0) >= _LEAST_STEP
        is_own &= not {*names} < {*state.get("names", ())}
        if len(kinds) < _MOST_KINDS:
            kinds[kind] = number if is_own and "may begin" not in state else None
    else:
        last = kinds[kind]
        kinds[kind] = number if last is not None and number == last + 1 else None
    return kinds.get(kind) is not None
