"""Lines of batches that count nothing, between lines that state an epoch or a step: each is a step.

`Batch loss: 1.58` for each batch, and behind the last one `Epoch 1 finished, average loss: 1.55`. There are
more of them than processes print, or as many as the step that is stated behind them.

So are those behind all steps of a training with the names of these, more than processes print: of a second
optimizer, such as L-BFGS, that calls back without a count.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.steps.lines_of_epochs import MOST_LINES_OF_EPOCH

Rows = dict[str, Any]
_BEHIND = "rows behind"


def note_rows(template: int, before: int, state: Rows) -> None:
    """Note that lines of this text are steps; so many were `before` those that are read first."""
    state["rows"] = {"template": template, "last": before, "is between": True}


def next_row(template: int, state: Rows) -> int | None:
    """The step of a line of this text; None if its lines are no steps, or are those of an evaluation."""
    rows = state.get("rows")
    if rows is None or rows["template"] != template or state.get("evaluating"):
        return None
    last = rows["last"] if rows.get("is between", True) else state.get("step", 0)
    rows["last"] = last + 1
    return int(rows["last"])


def note_row_behind(template: int, step: int, state: Rows, *, counts_alone: bool) -> None:
    """Note a line that counts nothing behind a step whose names it has; many of this text are steps.

    Not so where an earlier step has such lines, as those of other processes at each step. `counts_alone`: all
    lines so far that counted anything counted steps.
    """
    known = state.setdefault(_BEHIND, [template, step, 0])
    if known[:2] != [template, step]:
        known[2] = -1  # of the first text at another step, or of another text
    elif known[2] >= 0:
        known[2] += 1
    if known[2] >= MOST_LINES_OF_EPOCH and counts_alone:
        del state[_BEHIND]
        state["rows"] = {"template": template, "last": step, "is between": False}


def forget_rows(state: Rows) -> None:
    """Count from the beginning: another launch begins."""
    state.pop(_BEHIND, None)
    if "rows" in state:
        rows = state["rows"]
        state["rows"] = {"template": rows["template"], "is between": rows.get("is between", True), "last": 0}


def note_step(step: int, state: Rows) -> None:
    """Note a step that a line between the rows states."""
    if "rows" in state:
        state["rows"]["last"] = step


def end_epoch(number: int, state: Rows) -> None:
    """Note that a line states an epoch that is over; if it was over before, another launch began.

    Nothing showed it when its first epoch began: that is behind the launch before, the next ones count on.
    """
    rows = state.get("rows")
    if rows is None:
        return
    epoch, step = rows.get("ended", (None, 0))
    length = rows.setdefault("length", rows["last"])
    if epoch is not None and number <= epoch and rows["last"] != step:
        state.pop("laps", None)
        rows["last"] = state["step"] = max(1, number - rows["first epoch"] + 1) * length
    rows.setdefault("first epoch", number)
    rows["ended"] = [number, rows["last"]]
