"""Lines of batches that count nothing, between lines that state an epoch or a step: each is a step.

`Batch loss: 1.58` for each batch, and behind the last one `Epoch 1 finished, average loss: 1.55`. There are
more of them than processes print, or as many as the step that is stated behind them.

So are those behind all steps of a training with the names of these, more than processes print: of a second
optimizer, such as L-BFGS, that calls back without a count.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.steps.lines_of_epochs import MOST_LINES_OF_EPOCH
from holter.ingest.console.steps.row_numbers import RowNumbers

BATCH_ROWS = RowNumbers("rows")
_ALIKE, _FOLLOW = "alike behind", "rows follow"
"""The lines behind a step so far that may be rows, and that the rows follow the steps of others."""


def next_batch_row(template: int, state: dict[str, Any]) -> int | None:
    """The step of a line of this text; None if its lines are no steps, or are those of an evaluation."""
    if state.get("evaluating"):
        return None
    if _FOLLOW in state and "step" in state:
        note_step(int(state["step"]), state)
    return BATCH_ROWS.next(template, state)


def note_row_behind(template: int, step: int, state: dict[str, Any], *, counts_alone: bool) -> None:
    """Note a line that counts nothing behind a step whose names it has; many of this text are steps.

    Not so where an earlier step has such lines, as those of other processes at each step. `counts_alone`: all
    lines so far that counted anything counted steps.
    """
    known = state.setdefault(_ALIKE, [template, step, 0])
    if known[:2] != [template, step]:
        known[2] = -1  # of the first text at another step, or of another text
    elif known[2] >= 0:
        known[2] += 1
    if known[2] >= MOST_LINES_OF_EPOCH and counts_alone:
        del state[_ALIKE]
        state[_FOLLOW] = True
        BATCH_ROWS.note(template, step, state)


def note_step(step: int, state: dict[str, Any]) -> None:
    """Note a step that a line between the rows states."""
    if (rows := state.get(BATCH_ROWS.key)) is not None:
        rows["last"] = step


def end_epoch(number: int, state: dict[str, Any]) -> None:
    """Note that a line states an epoch that is over; if it was over before, another launch began.

    Nothing showed it when its first epoch began: that is behind the launch before, the next ones count on.
    """
    rows = state.get(BATCH_ROWS.key)
    if rows is None:
        return
    epoch, step = rows.get("ended", (None, 0))
    length = rows.setdefault("length", rows["last"])
    if epoch is not None and number <= epoch and rows["last"] != step:
        state.pop("laps", None)
        rows["last"] = state["step"] = max(1, number - rows["first epoch"] + 1) * length
    rows.setdefault("first epoch", number)
    rows["ended"] = [number, rows["last"]]
