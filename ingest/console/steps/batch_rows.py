"""Lines of batches that count nothing, between lines that state an epoch or a step: each is a step.

`Batch loss: 1.58` for each batch, and behind the last one `Epoch 1 finished, average loss: 1.55`. There are
more of them than processes print, or as many as the step that is stated behind them.
"""

from __future__ import annotations

from typing import Any

from holter.ingest.console.steps.row_numbers import RowNumbers

BATCH_ROWS = RowNumbers("rows")


def next_batch_row(template: int, state: dict[str, Any]) -> int | None:
    """The step of a line of this text; None if its lines are no steps, or are those of an evaluation."""
    return None if state.get("evaluating") else BATCH_ROWS.next(template, state)


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
