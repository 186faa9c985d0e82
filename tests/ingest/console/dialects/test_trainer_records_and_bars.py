"""Records of a Hugging Face Trainer: their steps by bars and epochs, and launches of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 6)


def timed_bar(step: int, total: int, time: str) -> str:
    return f"\r{100 * step // total:3}%|{'█' * 5}| {step}/{total} [{time}<9:10:11,  9.99s/it]"


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "records of a Trainer below the steps that the program counts": (
        "".join(
            f"Loss at step {10 * n}: 1.{n}\n"
            + (f"{{'loss': 1.{n}5, 'grad_norm': 0.{n}, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" * (n % 2))
            for n in N
        ),
        {
            "Loss": [10 * n for n in N],
            **{
                name: [10, 30, 50]
                for name in ("train/loss", "train/grad_norm", "train/learning_rate", "epoch")
            },
        },
    ),
    "results that examples of the Trainer print behind its records": (
        "".join(f"{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" for n in N)
        + "{'eval_loss': 0.71234, 'eval_f1': 0.61234, 'epoch': 0.5}\n"
        + "***** train metrics *****\n  epoch      =        0.5\n  train_loss =     1.3\n\n"
        + "***** eval metrics *****\n  epoch     =   0.5\n  eval_f1   = 0.6123\n  eval_loss = 0.7123\n\n"
        + "***** predict metrics *****\n  predict_f1      =   0.5812\n  predict_samples =   872\n",
        {
            **{name: [*N] for name in ("train/loss", "train/learning_rate", "epoch")},
            **{name: [5] for name in ("eval/loss", "eval/f1", "test/f1")},
        },
    ),
    "a Trainer that evaluates after more than an hour": (
        "".join(
            "".join(timed_bar(10 * n + step, 900, f"{n}:06:{step:02}") for step in range(11))
            + f"\n{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.1}}\n"
            + "".join(timed_bar(step, 25, f"00:{step:02}") for step in range(26))
            + "\n\x1b[A{'eval_loss': 3.5, 'eval_runtime': 364.8, 'epoch': 0.1}\n"
            + timed_bar(10 * n + 10, 900, f"{n}:07:00")
            + "\n"
            for n in range(3)
        ),
        {
            name: [10, 20, 30]
            for name in ("train/loss", "train/learning_rate", "epoch", "eval/loss", "eval/runtime")
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_records_of_a_trainer_are_at_the_steps_of_its_bars(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


BAR = "{percent:3}%|{bar:10}| {step}/{total} [00:01<00:10,  1.00it/s]"


def bar(step: int, total: int) -> str:
    return "\r" + BAR.format(percent=100 * step // total, bar="#", step=step, total=total)


OPENING = """\
Using device: cuda, seed: {0}
Loaded 1{0}00 samples from the data set
Model with 12.{0}M parameters is ready
Writing checkpoints to the output folder
"""


def trainer(records: int, every: int) -> str:
    total = records * every
    lines = "".join(
        f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'epoch': {n / records:.2f}}}\n{bar(every * n, total)}"
        for n in range(1, records + 1)
    )
    return f"{bar(0, total)}\n{lines}\n{{'train_runtime': 40.0, 'train_loss': 2.1, 'epoch': 1.0}}\n"


@pytest.mark.parametrize("records", [(3, 3), (3, 5), (4, 2)])
def test_trainers_of_one_launch_are_told_apart(tmp_path: Path, records: tuple[int, int]) -> None:
    run = read_log(tmp_path, OPENING.format(1) + trainer(records[0], 10) + trainer(records[1], 10))
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["train/loss"] == [10 * n for n in range(1, records[0] + 1)]
    assert steps["train/loss/trainer=2"] == [10 * n for n in range(1, records[1] + 1)]
    assert steps["train/train_loss"] == [10 * records[0]]


def test_an_evaluation_before_the_first_loss_of_the_next_trainer_is_of_it(tmp_path: Path) -> None:
    records = "".join(
        f"{{'eval_loss': 0.{n}, 'eval_runtime': 4.0, 'epoch': {n / 4}}}\n"
        f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'epoch': {n / 4}}}\n{bar(10 * n, 40)}"
        for n in range(1, 5)
    )
    run = read_log(tmp_path, OPENING.format(1) + trainer(4, 10) + f"{bar(0, 40)}\n{records}")
    assert run.attempts == 1
    assert {name for name in steps_of(run) if "eval" in name} == {
        "eval/loss/trainer=2",
        "eval/runtime/trainer=2",
    }
    assert len(steps_of(run)["train/loss/trainer=2"]) == 4


def test_an_evaluation_behind_the_end_of_a_trainer_is_of_it(tmp_path: Path) -> None:
    evaluation = "{'eval_loss': 0.5, 'eval_runtime': 4.0, 'epoch': 1.0}\n"
    run = read_log(tmp_path, OPENING.format(1) + trainer(4, 10) + evaluation)
    assert "eval/loss" in steps_of(run)


def test_a_trainer_that_is_started_again_is_another_attempt(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(OPENING.format(n) + trainer(3, 10) for n in (1, 2)))
    assert run.attempts == 2
    assert steps_of(run)["train/loss"] == [10, 20, 30] * 2


@pytest.mark.parametrize(("every", "total"), [(10, 1000), (50, 4000), (25, 1130), (1, 97)])
def test_records_of_a_trainer_with_rare_bars_are_at_their_steps(
    tmp_path: Path, every: int, total: int
) -> None:
    lines, rare = [bar(0, total), "\n"], total // 4
    for step in range(1, total + 1):
        if step % every == 0:
            lines.append(f"{{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': {step / total:.2f}}}\n")
        if step % rare == 0:
            lines.append(bar(step, total) + "\n")
    run = read_log(tmp_path, OPENING.format(1) + "".join(lines))
    assert steps_of(run)["train/loss"] == list(range(every, total + 1, every))
    assert run.attempts == 1


def test_the_last_record_before_the_end_is_not_lost(tmp_path: Path) -> None:
    run = read_log(tmp_path, f"{bar(10, 20)}\n{{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.5}}\n")
    assert len(run.data.series[SeriesKey("train/loss")]) == 1


def test_a_trainer_whose_epoch_goes_back_was_started_again(tmp_path: Path) -> None:
    def record(n: int, epoch: float) -> str:
        return f"{{'loss': 2.{n}, 'grad_norm': 0.5, 'learning_rate': 0.00015, 'epoch': {epoch}}}\n"

    launches = [[record(n, 0.1 * n) for n in range(1, count)] for count in (6, 14)]
    run = read_log(tmp_path, "".join(line for launch in launches for line in launch))
    assert run.attempts == 2
    assert steps_of(run)["train/loss"] == [*range(1, 6), *range(1, 14)]
    twice = read_log(tmp_path, "".join(line * 2 for line in launches[1]))
    assert steps_of(twice)["train/loss"] == [*range(1, 14)]


def test_results_of_a_trainer_without_any_record_are_at_their_epoch(tmp_path: Path) -> None:
    text = (
        "***** train metrics *****\n  epoch       =        4.0\n  train_loss  =     0.5\n"
        "***** eval metrics *****\n  epoch         =        4.0\n  eval_samples  =        872\n"
        "  eval_runtime  = 0:00:12.34\n  eval_loss     =     0.25\n"
    )
    run = read_log(tmp_path, text)
    values = {key.metric: (s.step.tolist(), s.value.tolist()) for key, s in run.data.series.items()}
    assert values == {"train/loss": ([4], [0.5]), "eval/loss": ([4], [0.25])}
