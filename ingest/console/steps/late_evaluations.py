"""Evaluations below the heading of the next epoch, in logs of epochs alone: they are of the epoch that ended.

`Epoch 2` is printed first, `val loss: 0.5` next, then the training of this epoch. It shows where the first
evaluation of a text is below the second heading, above the training there, and none is below the first.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.steps.known_steps import has_steps

_TRAINED, _IS_LATE, _FIRST = "trained in epoch", "evaluates later", "first announced"


def note_trained(epoch: int, state: dict[str, Any]) -> None:
    """Note an epoch that has values of the training below its heading."""
    state[_TRAINED] = epoch


def epoch_evaluated(step: int, state: dict[str, Any]) -> int:
    """The epoch of values of an evaluation that count nothing, below the heading of another one or not."""
    if state.get("announced", [None])[0] != step or has_steps(state):
        return step
    trained = max((int(state[name]) for name in (_TRAINED, "names at") if name in state), default=None)
    if trained is None:  # evaluations come before the training of their epoch
        state[_IS_LATE] = False
        return step
    is_second = step == trained + 1 and state.get(_FIRST) in (trained, step)
    is_late: bool = state.setdefault(_IS_LATE, is_second)
    return step - 1 if is_late and trained < step else step
