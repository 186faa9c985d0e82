"""Lines that state a part of an epoch, such as `epoch 0.25`, and count nothing else: their numbers."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState

_NAMES_EPOCHS = ("announced", "epoch", "fraction")
"""What is known of a text whose lines have named epochs, or parts of these."""


def count_fraction(epoch: float, state: DialectState) -> int:
    """The number of a line that states a part of an epoch among those lines: another one at another part."""
    last, number = state.get("fraction", (-1.0, 0))
    if epoch != last:
        number = number + 1 if epoch > last else 1  # the program was started again
    state["fraction"] = [epoch, number]
    return int(number)


def count_pass(part: float, state: DialectState) -> int:
    """The number of the epoch that a part of one is of, where parts alone show when another one begins."""
    last, number = state.get("parts of epochs", (-1.0, 0))
    number += part < last
    state["parts of epochs"] = [part, number]
    return int(number)


def follows_steps(state: DialectState) -> bool:
    """Whether a part of an epoch is stated behind steps, which lines counted before any such part."""
    if "parts behind steps" not in state:
        state["parts behind steps"] = "laps" in state and state.keys().isdisjoint(_NAMES_EPOCHS)
    return bool(state["parts behind steps"])
