"""Steps that go on through the rounds of a training, each of which counts its epochs anew.

`Round 2` above `Epoch 0, loss: 0.5`, or both in a line, as federated and active learning print them: the
epochs of a round follow those of the one before. Several clients may count the epochs of the same round: at
the same steps where lines name the client, else one after another.
"""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState


def note_round(number: int, state: DialectState) -> None:
    """Note the round of the lines below."""
    state["round"] = number


def is_in_round(state: DialectState) -> bool:
    """Whether a line has named a round."""
    return "round" in state


def counts_through_rounds(state: DialectState) -> bool:
    """Whether lines have counted epochs within rounds, so that a round is no step itself."""
    return "steps of rounds" in state


def forget_round(state: DialectState) -> None:
    """Forget the round: another launch begins."""
    state.pop("round", None)
    state.pop("steps of rounds", None)
    state.pop("names client", None)


def note_named_client(state: DialectState, *, is_named: bool) -> None:
    """Note whether the next line says which client it is of."""
    state["names client"] = is_named


def step_through_rounds(step: int, state: DialectState) -> int:
    """A step within its round, counted through those before; where steps go on themselves, as it is.

    `steps of rounds` has the round, the steps before it, its last step, the distance of two steps, and its
    first step: where that comes again, another client begins.
    """
    number = int(state["round"])
    last_number, before, last, distance, *more = state.get("steps of rounds", (number, 0, step, 1, step))
    first = more[0] if more else step
    if number > last_number:
        if step <= last:
            before += last - step + distance
        first = last = step
    elif number < last_number:  # another launch
        before, first, last = 0, step, step
    elif step > last:
        last, distance = step, step - last
    elif first >= step < last and not state.get("names client"):
        before += last - step + distance
        last = step
    state["steps of rounds"] = [number, before, last, distance, first]
    return int(before) + step
