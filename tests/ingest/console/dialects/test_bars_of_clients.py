"""Progress bars of those that take part in the rounds of a federated training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

DESCRIPTIONS = [
    "Local participant {client} loss = {loss}",
    "Client {client} loss: {loss}",
    "Training client_{client}: loss={loss}",
]


def _bars(description: str, client: int, number: int, steps: int = 4) -> str:
    return "".join(
        f"\r{description.format(client=client, loss=f'{9 - number}.{client}{at}')}: {at * 100 // steps:>3}%"
        f"|{'#' * at:<10}| {at}/{steps} [00:0{at}<00:01,  3.5it/s]"
        for at in range(1, steps + 1)
    )


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_the_bars_of_a_client_count_steps_of_its_own(description: str, tmp_path: Path) -> None:
    text = "".join(
        "".join(_bars(description, client, number) + "\n" for client in (7, 3, 11))
        + f"The {number} communication accuracy: 5{number}.5 method: avg\n"
        for number in range(3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps.pop("communication accuracy") == [0, 1, 2]
    assert steps == {f"loss/client={client}": [*range(1, 13)] for client in (7, 3, 11)}


def test_a_client_that_does_not_take_part_in_a_round_has_no_steps_of_it(tmp_path: Path) -> None:
    parts = [(7, 3), (3,), (7, 3)]
    text = "".join(
        "".join(_bars(DESCRIPTIONS[0], client, number) + "\n" for client in clients)
        for number, clients in enumerate(parts)
    )
    assert steps_of(read_log(tmp_path, text)) == {
        "loss/client=7": [*range(1, 9)],
        "loss/client=3": [*range(1, 13)],
    }


ROUNDS = [
    "The {n} communication accuracy: 5{n}.5, loss: 1.{n}\n",
    "the {n} communication round accuracy: 5{n}.5, loss: 1.{n}\n",
]


@pytest.mark.parametrize("line", ROUNDS)
def test_the_number_of_a_round_of_communication_is_a_position(line: str, tmp_path: Path) -> None:
    steps = steps_of(read_log(tmp_path, "".join(line.format(n=n) for n in range(6))))
    assert steps["loss"] == [*range(6)]
    assert len(steps) == 2


def test_other_numbers_behind_an_article_are_no_positions(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 1.{n}\nThe 5 community mean accuracy: 5{n}.5\n" for n in range(6))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*range(6)]}
