"""Headings by the process that starts the others: they name the training below for all of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

STEPS = [0, 50, 100, 150]


def _training(number: int, prefixes: list[str]) -> str:
    return "".join(
        f"{prefix}Epoch 0 step {step}.0 loss: {9 - rank}.{number}{step:03}\n"
        for step in STEPS
        for rank, prefix in enumerate(prefixes)
    )


PREFIXES = {
    "closed brackets": ["P0] ", "P1] ", "P2] "],
    "closed brackets behind times": [f"Rank{rank} 10:00:0{rank}.123456] " for rank in range(3)],
    "words and colons": ["Process 0: ", "Process 1: ", "Process 2: "],
}


@pytest.mark.parametrize("kind", PREFIXES)
def test_trainings_of_several_processes_have_the_name_of_the_heading_above(kind: str, tmp_path: Path) -> None:
    text = "------- One process -------\n" + _training(0, [""])
    for number, name in enumerate(("Row Linear", "Column Linear", "Data Parallel"), 1):
        text += f"------- {name} ------\n" + _training(number, PREFIXES[kind])
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert {name: steps for name, steps in steps_of(run).items() if name.startswith("loss")} == {
        "loss": STEPS,
        **{f"loss/rank={rank}": STEPS for rank in range(3)},
        **{
            f"loss/rank={rank}/training={name}": STEPS
            for rank in range(3)
            for name in ("Column Linear", "Data Parallel")
        },
    }


def test_the_number_of_a_part_in_complete_brackets_is_no_process(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"[P1] Epoch {n} loss: 0.{n}\n" for n in range(4)))
    assert not any("rank" in dict(key.labels) for key in run.data.series)
