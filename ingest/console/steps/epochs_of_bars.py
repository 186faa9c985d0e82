"""Epochs of progress bars that state none, by the lines below that end them: `Epoch 1/6 loss: 2`.

Such a bar does not show when it is of another launch. The line of an epoch that was over before does: the
bar above it stays behind the launch before, the next ones count on. So does a bar behind the last epoch.
"""

from __future__ import annotations

from typing import Any

Axis = dict[str, Any]


def end_epoch_of_bars(number: int, epochs: int, axis: Axis) -> None:
    """Note the line of an epoch of so many, 0 if unknown, at the step of the last bar of the training."""
    step = int(axis["step"])
    known = axis.setdefault("epochs of bars", {"first": number, "length": step})
    last, last_step = known.get("last", (number, step))
    if number < last and step - last_step >= known["length"]:
        known["first"] = min(number, known["first"])
        axis["bars begun"] = (number - known["first"] + 1) * known["length"]
    known["last"] = [number, step]
    known["is complete"] = 0 < epochs <= number


def are_complete(axis: Axis) -> bool:
    """Whether the last of all epochs is over: another bar of the training is one of another launch."""
    return bool(axis.get("epochs of bars", {}).get("is complete"))


def steps_begun(axis: Axis) -> int | None:
    """The steps of a launch before its next bar, once a line has shown that it began; else None."""
    begun: int | None = axis.pop("bars begun", None)
    return begun
