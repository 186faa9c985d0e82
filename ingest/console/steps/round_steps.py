"""Steps that continue through the rounds of a training, each of which counts its epochs anew.

`Round 2` above `Epoch 0, loss: 0.5`, or both in a line, as federated and active learning print them: the
epochs of a round follow those of the one before. Several clients may count the epochs of the same round: at
the same steps where lines name the client, else one after another.
"""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState

_LEAST_DIFFERENCE = 2
"""Between the totals of different counts: the last of 40 epochs from 0 may be taken for their total."""

_MOST_CLIENTS = 10_000


def note_round(number: int, state: DialectState) -> None:
    """Note the round of the lines below."""
    state["round"] = number


def is_within_announced(number: int, total: int, state: DialectState) -> bool:
    """Whether a count with its total is within an announced epoch, which is noted as a round of it then.

    `Ep 10/40 | Reward: 1.05` below `Epoch 1/25`; as many epochs are the announced ones themselves. Behind
    values of these it is another part of the training: `Epoch 10/10`, `loss: 0.4`, `Episode 1/500`.
    """
    announced, epochs = state.get("announced", (number, total))
    if not (epochs and total) or abs(epochs - total) < _LEAST_DIFFERENCE:
        return False
    has_values = "lines" in state or state.get("step") != state.get("left")
    if has_values and not is_in_round(state):
        return False
    note_round(int(announced), state)
    return True


def is_in_round(state: DialectState) -> bool:
    """Whether a line has named a round."""
    return "round" in state


def counts_through_rounds(state: DialectState) -> bool:
    """Whether lines have counted epochs within rounds, so that a round is no step itself."""
    return "steps of rounds" in state


def note_counted_round(number: int, state: DialectState) -> None:
    """Note a round that a record counts: where rounds begin again, those above state nothing of these.

    Records may count the same rounds from 0 and from 1.
    """
    if number + 1 < state.get("counted round", 0):
        state.pop("steps of rounds", None)
    state["counted round"] = number


def forget_round(state: DialectState) -> None:
    """Forget the round: another launch begins."""
    state.pop("round", None)
    state.pop("steps of rounds", None)
    state.pop("counted round", None)
    state.pop("names client", None)
    state.pop("epochs of clients", None)
    state.pop("outer", None)


def note_named_client(state: DialectState, *, is_named: bool) -> None:
    """Note whether the next line states which client it is of."""
    state["names client"] = is_named


def client_step(client: str, epoch: int, state: DialectState) -> int:
    """The step of a line of a client that counts nothing but the epoch of its round, through all rounds.

    The round is the one that a line above has named. Where lines name it below those of its clients, or none
    does, the next one begins behind such a line, or where the epoch of a client is not beyond its last one.
    """
    if not is_in_round(state):
        note_round(0, state)
        state["epochs of clients"] = {}
    epochs: dict[str, list[int]] | None = state.get("epochs of clients")
    if epochs is not None:
        last_round, last = epochs.get(client, (-1, epoch))
        if last_round == state["round"] and epoch <= last:
            note_round(last_round + 1, state)
        if client in epochs or len(epochs) < _MOST_CLIENTS:
            epochs[client] = [int(state["round"]), epoch]
    note_named_client(state, is_named=True)
    step = state["step"] = step_through_rounds(epoch, state)
    state.pop("heading", None)
    return step


def end_round(number: int, state: DialectState) -> None:
    """A line states values of a round: they are behind those of its clients, where no line has named it."""
    if state.get("epochs of clients"):
        note_round(number + 1, state)


def note_outer_step(number: int, state: DialectState) -> None:
    """Note a step that a line announces and nothing else: epochs below it may be counted within it.

    It is a round where such epochs were seen: `D-Step 2` above `Epoch 0, loss: 0.5`, `Epoch 1, loss: 0.4`.
    """
    if state.get("outer", [0, None, False])[2]:
        note_round(number, state)
        state["outer"] = [number, None, True]
    else:
        state["outer"] = [number, None, False]


def has_outer_step(state: DialectState) -> bool:
    """Whether a line has announced a step, and no line has counted steps since."""
    return "outer" in state


def forget_outer_step(state: DialectState) -> None:
    """Forget the step that a line announced."""
    del state["outer"]


def is_within_outer_step(state: DialectState) -> bool:
    """Whether epochs were seen to be counted within the steps that lines announce."""
    return bool(state.get("outer", [0, None, False])[2])


def note_inner_epoch(epoch: int, state: DialectState) -> None:
    """Note an epoch below an announced step: the second one shows that they are counted within it."""
    number, last, is_round = state["outer"]
    if not is_round and last is not None and epoch > last:
        is_round = True
        note_round(number, state)
        before = max(int(state.get("step", last)) - last, 0)
        state["steps of rounds"] = [number, before, last, 1, last]
        for name in ("alone", "heading", "laps"):
            state.pop(name, None)
    state["outer"] = [number, epoch, is_round]


def step_through_rounds(step: int, state: DialectState) -> int:
    """A step within its round, counted through those before; where steps continue themselves, as it is.

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
