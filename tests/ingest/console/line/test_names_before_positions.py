"""Names before what a line counts: `time 1.5, loss at step 5: 2.3`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

BEHIND_OTHERS = {
    "using time 3{n}.5, training loss at epoch {n}: 2.{n}\n": ["using time", "training loss"],
    "speed 3{n}.5 img/s | lr 0.1 | train loss at step {n}/9: 1.{n}\n": ["speed", "lr", "train loss"],
    "reg=0.2{n}, loss after iteration {n} = 1.{n}\n": ["reg", "loss"],
}


@pytest.mark.parametrize("line", BEHIND_OTHERS)
def test_a_name_before_a_position_may_be_behind_other_metrics(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n) for n in range(1, 7))
    assert_steps(tmp_path, text, {name: [*range(1, 7)] for name in BEHIND_OTHERS[line]})


def test_a_number_behind_a_position_has_no_name_of_a_metric_with_a_value(tmp_path: Path) -> None:
    text = "".join(f"acc: 0.5{n}, loss 1.{n} at epoch {n}: 0.75 s\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, text)) == {"acc": [1, 2, 3, 4], "loss": [1, 2, 3, 4]}


def test_a_word_for_an_optimizer_before_its_iterations_is_a_stage(tmp_path: Path) -> None:
    text = "".join(f"Adam iter {n}00, loss: 1.{n}\n" for n in range(1, 6))
    text += "".join(f"L-BFGS iter {n}0, loss: 0.{n}\n" for n in range(1, 6))
    first = [100 * n for n in range(1, 6)]
    assert_steps(tmp_path, text, {"loss": first, "loss/stage=L-BFGS": [10 * n for n in range(1, 6)]})


MEANS = (
    "mean cost at step {n}00 for last 100 steps: 0.{n}5\n",
    "mean cost at step {n}00 (averaged over the last 100 batches): 0.{n}5\n",
    "mean cost at step {n}00 (last 100 iterations): 0.{n}5\n",
)


@pytest.mark.parametrize("line", MEANS)
def test_over_how_many_steps_a_mean_is_may_be_between_its_position_and_value(
    line: str, tmp_path: Path
) -> None:
    text = "".join(line.format(n=n) for n in range(1, 7))
    assert_steps(tmp_path, text, {"mean cost": [100 * n for n in range(1, 7)]})


def test_a_mean_of_the_last_episodes_without_a_name_keeps_the_words_before_it(tmp_path: Path) -> None:
    text = "".join(f"Episode {n}, last 100 episodes: 1.{n}5\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"episodes": [*range(1, 7)]}


WITH_SIGNS = (
    "Loss after epoch={n}: 2.{n}5\n",
    "Loss for epoch = {n}: 2.{n}5\n",
    "Loss in epoch: {n} = 2.{n}5\n",
    "Loss (epoch={n}): 2.{n}5\n",
    "Loss [epoch: {n}]: 2.{n}5\n",
    "Loss at iteration={n} is 2.{n}5\n",
)


@pytest.mark.parametrize("line", WITH_SIGNS)
def test_what_is_counted_behind_a_name_may_have_a_sign(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n) for n in range(1, 7))
    assert_steps(tmp_path, text, {"Loss": [*range(1, 7)]})


def test_another_number_may_be_between_a_name_and_its_epoch(tmp_path: Path) -> None:
    text = "".join(f"Loss after words_read={n}0000 epoch={2 * n}: 2.{n}5\n" for n in range(1, 7))
    steps = [2 * n for n in range(1, 7)]
    assert_steps(tmp_path, text, {"words_read": steps, "Loss": steps})
