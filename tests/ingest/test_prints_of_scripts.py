"""Lines that training scripts print in forms of their own: each value at its step, in its launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 7)


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a mean over the last episodes, in a sentence": (
        "".join(
            f"Episode {10 * n} finished after {n}7 steps with return {n}.5\n"
            f"Mean return over the last 10 episodes is {n}.25\n"
            for n in N
        ),
        {"return": [10 * n for n in N], "Mean return": [10 * n for n in N]},
    ),
    "what is counted has the name of a metric before it": (
        "".join(
            f"Loss during epoch {n} / 6, batch {at} / 20: batch loss = {9 - n}.{at}, lr = 0.001\n"
            for n in N
            for at in (5, 15)
        ),
        {name: [at + 20 * n for n in range(6) for at in (5, 15)] for name in ("batch loss", "epoch", "lr")},
    ),
    "an arrow before the heading of an epoch, and values with names that are none of metrics": (
        "".join(f"→ Epoch {n}/6\n  drift: 0.{n}1 | torsion: 0.{n}7\n" for n in N),
        {"drift": [*N], "torsion": [*N]},
    ),
    "names between signs of mathematics": (
        "".join(f"epoch {n} loss=0.{n} ‖w‖=1.{n} ⟨cos(a, b)⟩=0.{n}5\n" for n in N),
        {"loss": [*N], "‖w‖": [*N], "⟨cos(a, b)⟩": [*N]},
    ),
    "positions with commas between thousands": (
        "".join(f"  [{n},500/60,000] Win rate vs basic: {n}1.5% (best: 90.0%)\n" for n in N),
        {f"{best}Win rate vs basic": [1000 * n + 500 for n in N] for best in ("", "best/")},
    ),
    "many lines of a step with a name that is no known metric": (
        "".join(f"Generation {n}/6\n" + "".join(f"Thrust: {n}.{at}5\n" for at in range(5)) for n in N),
        {"Thrust": [*N], **{f"Thrust/repeat={n}": [*N] for n in range(2, 6)}},
    ),
    "a line that says that an epoch is done, behind its record": (
        "".join(f"Epoch = {n}, Loss = 2.{9 - n}\nRun-up = 1.{n}\nEpoch {n} done in 3.{n}.\n" for n in N),
        {"Loss": [*N], "Run-up": [*N]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_value_is_at_its_step(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    assert_steps(tmp_path, text, expected)


def test_what_the_shell_says_of_an_ended_program_shows_the_next_launch(tmp_path: Path) -> None:
    def launch(last: int) -> str:
        return "".join(f"Epoch [{n}/40]\n  Train: CVW={n}.5\n" for n in range(5, last + 1, 5))

    run = read_log(tmp_path, launch(20) + "Killed\n" + launch(40))
    assert run.attempts == 2
    assert steps_of(run)["CVW"] == [5, 10, 15, 20, *range(5, 41, 5)]
