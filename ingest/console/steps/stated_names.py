"""The names of the values of the last lines of the training: lines of epochs with these have their means.

They have not where the names are those of lines of epochs alone, whose steps others count: `Step 3` above
`Epoch 0, loss: 0.5`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

_MOST_NAMES = 256


def note_names(
    names: Sequence[str], first: int, last: int, state: dict[str, Any], *, of_epoch: bool = False
) -> None:
    """Note the names of the values of lines from this first to this last step of the training.

    A step may have several lines. Lines of an epoch that have these names are means, unless the names were
    only those of such lines so far, `of_epoch`.
    """
    known: list[str] = state.get("names of epochs", [])
    if of_epoch:
        state["names of epochs"] = [*dict.fromkeys((*known, *names))][:_MOST_NAMES]
    elif known and not {*known}.isdisjoint(names):
        state["names of epochs"] = [name for name in known if name not in names]
    if state.get("names at") == first == last:
        names = [*dict.fromkeys((*state["names"], *names))]
    state["names"], state["names at"] = [*names], last


def note_means(names: Sequence[str], step: int, state: dict[str, Any]) -> None:
    """Note that a line has had the means of the training of an epoch, whose last step this is."""
    state["means"] = [step, [*names][:_MOST_NAMES]]


def has_means(names: Collection[str], step: int, state: dict[str, Any]) -> bool:
    """Whether a line has had the means of the training with these names at this step."""
    at, of_training = state.get("means", (None, ()))
    return at == step and {*names} <= {*of_training}


def names_of_means(state: dict[str, Any]) -> Collection[str]:
    """The names that are those of the means in a line of an epoch."""
    of_epochs = state.get("names of epochs", ())
    names: Sequence[str] = state.get("names", ())
    return [name for name in names if name not in of_epochs] if of_epochs else names
