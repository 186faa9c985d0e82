"""Lines as scripts that train generative models, agents and populations print them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
TENS = [10 * n for n in N]

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "letters of networks beside a time in minutes": (
        "".join(f"Epoch: {n}, Iter: {10 * n}, D: 1.{n}, G: 0.4{n}, Time so far (min): 0.2{n}\n" for n in N),
        {"Epoch": TENS, "D": TENS, "G": TENS, "Time so far (min)": TENS},
    ),
    "steps of the environment behind the scores of an episode": (
        "".join(f"Episode:\t{n}\t\tMean Score:\t-9{n}.5\t\tEnv steps:\t200\n" for n in N),
        {"Mean Score": [*N], "Env steps": [*N]},
    ),
    "outputs of a discriminator as the beginning of a name": (
        "".join(f"Step {n}, g_loss: 1.{n}\nD(G(Z))_loss: 0.4{n}\nD(x)_loss: 0.6{n}\n" for n in N),
        {"g_loss": [*N], "D(G(Z))_loss": [*N], "D(x)_loss": [*N]},
    ),
    "layers in names": (
        "".join(f"Iteration: {n} Loss: 9.{n}\nStyle Loss 3_1: 2.{n}\nStyle Loss 4_1: 3.{n}\n" for n in N),
        {"Loss": [*N], "Style Loss 3_1": [*N], "Style Loss 4_1": [*N]},
    ),
    "a list behind a position that has its name ahead": (
        "".join(f"clone loss in iter {n} : [0.5{n}, 0.6{n}, 0.7{n}]\n" for n in N),
        {"clone loss": [*N], "clone loss 2": [*N], "clone loss 3": [*N]},
    ),
    "a tensor behind a position that has its name ahead": (
        "".join(
            f"Loss (for one batch) at step  {n} tf.Tensor(0.6{n}51, shape=(), dtype=float64)\n" for n in N
        ),
        {"Loss": [*N]},
    ),
    "a number at the end of a line behind its position": (
        "".join(f"training loss at step {n} 0.6{n}51\n" for n in N),
        {"training loss": [*N]},
    ),
    "bits of densities": (
        "".join(
            f"Currently at Epoch: {n}\nTrain Loss: 8{n}.5\n\nBits per dim: 4.{n}\n"
            f"----\nValidation - Bits per dim: 4.1{n}\n"
            for n in N
        ),
        {"Train Loss": [*N], "Bits per dim": [*N], "validation/Bits per dim": [*N]},
    ),
    "how many episodes a mean is of": (
        "".join(f"steps: {n}00, episodes: {n}, mean 100 episode reward: 2{n}.5\n" for n in N[1:]),
        {name: [100 * n for n in N[1:]] for name in ("episodes", "mean 100 episode reward")},
    ),
    "what a search tries": (
        "".join(f"Generation {n}: best fitness = 2{n}.5, best individual = [1, 0, {n}]\n" for n in N),
        {"best fitness": [*N]},
    ),
    "values as they were computed, without a sign": (
        "".join(f"Step {n}0: loss 0.5{n}\nav bernoulli 49{n}.5970354862\n" for n in N),
        {"loss": TENS, "av bernoulli": TENS},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lines_of_generative_models_and_agents_are_read(case: str, tmp_path: Path) -> None:
    assert_steps(tmp_path, *CASES[case])


@pytest.mark.parametrize(
    "line", ["Gen {}: best = 2{}.5, mean = 1{}.5", "gen {}/50 | best 2{}.5 | mean 1{}.5"]
)
def test_a_short_word_for_generations_counts(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n, n, n) + "\n" for n in range(3, 20))
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(3, 20)] for name in ("best", "mean")}


def test_the_loss_of_a_generator_counts_no_generations(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nGen 0.5{n} | Disc loss: 0.6{n}\n" for n in N)
    assert_steps(tmp_path, text, {"Disc loss": [*N]})


def test_steps_of_the_environment_ahead_of_a_reward_count(tmp_path: Path) -> None:
    text = "".join(f"Episode {n} | Env steps: {100 * n} | reward: 4.{n}\n" for n in N)
    assert_steps(tmp_path, text, {"Episode": [100 * n for n in N], "reward": [100 * n for n in N]})


def test_rounded_values_of_unknown_names_need_a_sign(tmp_path: Path) -> None:
    text = "".join(f"Step {n}0: loss 0.5{n}\nwaited outside 3.{n}\n" for n in N)
    assert_steps(tmp_path, text, {"loss": TENS})
