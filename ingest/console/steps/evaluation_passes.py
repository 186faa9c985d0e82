"""Passes of an evaluation through its data, whose lines count the batches: each has a step of its own.

All lines of a pass are at the same step of the training. The first one is placed there, the others at the
steps behind it, as far as there are any before the next evaluation, which is expected as far behind this one
as this one is behind the last. Those that find no room are at the last of these steps, where the last one
counts. Values of the same names on other lines of the evaluation are the means of a pass, if it has several
lines; the only one has the result as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Any, NamedTuple

from holter.ingest.console.steps.known_steps import EVALUATES_ALONE

_MOST_PASSES = 32
"""Data of which passes are looked at."""
_MOST_NAMES = 64


NO_PASS_BELOW = "trains below"
"""That the heading of an evaluation came again behind a pass below it: those below are of the training."""


class _Pass(NamedTuple):
    """A pass: the step of the training, that of its last line, and the last one that there is room for.

    `batch` is that of the last line, `names` are those of the values; `has_several` lines.
    """

    at: int
    step: int
    end: int
    batch: int
    names: Sequence[str]
    has_several: bool = False


def step_in_pass(batch: int, names: Sequence[str], data: str, at: int, state: dict[str, Any]) -> int:
    """The step of a line that counts a batch of an evaluation of some data at a step of the training."""
    passes: dict[str, list[Any]] = state.setdefault("passes", {})
    last = _Pass(*passes[data]) if data in passes else None
    if last is None and len(passes) >= _MOST_PASSES:
        return at
    if last is not None and last.at == at:
        step = last.step + (batch != last.batch and last.step < last.end)
        names = [*dict.fromkeys((*last.names, *names))][:_MOST_NAMES]
        has_several = last.has_several or batch != last.batch
        now = last._replace(step=step, batch=batch, names=names, has_several=has_several)
    elif last is None or at < last.at:  # the first one, or that of another launch
        now = _Pass(at, at, at + at - 1, batch, [*names])
    else:
        now = _Pass(at, max(at, last.step + 1), at + (at - last.at) - 1, batch, [*names])
    passes[data] = [*now]
    return now.step


def names_of_pass(data: str, state: dict[str, Any]) -> Collection[str]:
    """The names of the values of a pass through some data at the last step of the training, if it has means.

    A launch that only evaluates has those of its passes, as the training had those of its epochs.
    """
    stored = state.get("passes", {}).get(data)
    if stored is None:
        return ()
    last = _Pass(*stored)
    has_means = last.has_several or EVALUATES_ALONE in state
    return last.names if has_means and last.at == state.get("step") else ()


def is_result_of_pass(names: Sequence[str], state: dict[str, Any]) -> bool:
    """Whether a line whose values have these names begins with one of the pass that the line above is of."""
    stored = pass_at_last_step(state.get("split") or "", state)
    return stored is not None and bool(names) and names[0] in stored[1]


def pass_at_last_step(data: str, state: dict[str, Any]) -> tuple[int, Set[str]] | None:
    """The last batch of the pass through some data at the last step of the training, and its names."""
    stored = state.get("passes", {}).get(data)
    if stored is None or (last := _Pass(*stored)).at != state.get("step"):
        return None
    return last.batch, {*last.names}


def note_heading_again(data: str, state: dict[str, Any]) -> None:
    """Note the heading of an evaluation of some data, behind a pass below the one before or not."""
    if data == state.get("evaluating") and pass_at_last_step(data, state) is not None:
        state[NO_PASS_BELOW] = True


def trained_at(step: int, state: dict[str, Any]) -> int:
    """The step of the training at a line that was read just now, which may be one of a pass behind it."""
    for at, last, *_ in state.get("passes", {}).values():
        if at < step <= last and at == state.get("step"):
            return int(at)
    return step
