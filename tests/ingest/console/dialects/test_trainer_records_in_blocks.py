"""Records of a Trainer that a buffer holds back, which are printed in blocks behind bars that none holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


def bar(at: int, total: int) -> str:
    return f"\r{100 * at // total:3d}%|{'#' * (10 * at // total):10}| {at}/{total} [00:02<00:04,  9.70it/s]"


def record(step: int, per_epoch: int) -> str:
    numbers = f"'grad_norm': {1 + step / 700:.5f}, 'learning_rate': {1e-4 / step:.6e}"
    return f"{{'loss': {5 / (1 + step / 50):.4f}, {numbers}, 'epoch': {round(step / per_epoch, 2)}}}\n"


def evaluation(step: int, per_epoch: int) -> str:
    return f"{{'eval_loss': {2 / step:.5f}, 'eval_runtime': 3.1, 'epoch': {step / per_epoch}}}\n"


def training(per_epoch: int, epochs: int, interval: int, size: int, *, evaluates: bool = True) -> str:
    """A training whose records are written once there are `size` bytes of them; its bars are at once."""
    text, held, total = "", "", per_epoch * epochs
    for step in range(1, total + 1):
        text += bar(step, total)
        if step % interval == 0:
            held += record(step, per_epoch)
            text, held = (text + held, "") if len(held) >= size else (text, held)
            text += bar(step, total)  # it is drawn again below what is printed
        if evaluates and step % per_epoch == 0:
            text += "".join(bar(at, 20) for at in range(21))
            held += evaluation(step, per_epoch)
            text, held = (text + held, "") if len(held) >= size else (text, held)
            text += bar(step, total)
    return f"{text}{held}{{'train_runtime': 281.5, 'train_loss': 0.94, 'epoch': {epochs}.0}}\n"


@pytest.mark.parametrize("size", [1, 1500, 4096, 8192, 100_000])
@pytest.mark.parametrize("shape", [(40, 3, 7), (150, 5, 20), (533, 3, 10), (533, 2, 20)])
def test_records_in_blocks_are_at_their_steps(shape: tuple[int, int, int], size: int, tmp_path: Path) -> None:
    per_epoch, epochs, interval = shape
    run = read_log(tmp_path, training(*shape, size))
    assert run.attempts == 1
    assert not run.unreadable
    assert steps_of(run)["train/loss"] == [*range(interval, per_epoch * epochs + 1, interval)]
    evaluated = steps_of(run)["eval/loss"]
    ends = [per_epoch * epoch for epoch in range(1, epochs + 1)]
    assert all(0 <= end - step < interval for end, step in zip(ends, evaluated, strict=True))


@pytest.mark.parametrize("size", [1, 1500, 8192])
def test_records_in_blocks_without_evaluations_are_at_their_steps(size: int, tmp_path: Path) -> None:
    run = read_log(tmp_path, training(400, 3, 25, size, evaluates=False))
    assert run.attempts == 1
    assert steps_of(run)["train/loss"] == [*range(25, 1201, 25)]


def test_the_record_of_the_last_bar_may_still_be_in_a_buffer(tmp_path: Path) -> None:
    first = "".join(record(step, 100) for step in range(10, 91, 10))
    second = "".join(record(step, 100) for step in range(100, 301, 10))
    bars = [bar(at, 300) for at in range(301)]
    text = f"{''.join(bars[:101])}\n{first}{''.join(bars[100:])}\n{second}"
    run = read_log(tmp_path, text)
    assert steps_of(run)["train/loss"] == [*range(10, 301, 10)]


def test_a_trainer_that_is_started_again_is_another_attempt(tmp_path: Path) -> None:
    opening = "Loading the tokenizer from disk\nDataset ready with all of its columns\nDevice is cuda\n"
    text = "".join(opening + training(150, 2, 10, 1500) for _ in range(2))
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    assert len(steps_of(run)["train/loss"]) == 60


@pytest.mark.parametrize("at", [200, 600, 900])
def test_a_bar_may_be_drawn_again_before_the_last_record_of_a_block(at: int, tmp_path: Path) -> None:
    text, rows = "", []
    for step in range(1, 1001):
        text += bar(step, 2970) + "\n"
        if step % 20 == 0:
            rows.append(record(step, 594).replace(f"{round(step / 594, 2)}}}", f"{step / 594:.4g}}}"))
        if step % 100 == 0:
            again = bar(step, 2970) + "\n" if step == at else ""
            text += "".join(rows[:-1]) + again + rows[-1] + bar(step, 2970) + "\n"
            rows = []
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["train/loss"] == [*range(20, 1001, 20)]


@pytest.mark.parametrize("size", [1, 500, 600, 900, 100_000])
def test_an_evaluation_behind_a_loss_of_the_same_epoch_is_not_before_it(size: int, tmp_path: Path) -> None:
    text, held, per_epoch = "", "", 160
    for step in range(1, per_epoch + 1):
        text += bar(step, per_epoch)
        if step % 10 == 0:
            held += record(step, per_epoch)
        if step % 50 == 0:  # at the epochs 0.3125, 0.625 and 0.9375
            text += "".join(bar(at, 8) for at in range(9)) + bar(step, per_epoch)
            held += f"{{'eval_loss': {2 / step:.5f}, 'eval_runtime': 3.1, 'epoch': {step / per_epoch:.2f}}}\n"
        if len(held) >= size:
            text, held = text + held + bar(step, per_epoch), ""
    run = read_log(tmp_path, text + held)
    assert run.attempts == 1
    assert steps_of(run)["train/loss"] == [*range(10, 161, 10)]
    assert steps_of(run)["eval/loss"] == [50, 100, 150]


def test_a_trainer_may_log_many_rewards_with_long_names(tmp_path: Path) -> None:
    names = [f"rewards/what_the_answer_of_the_model_is_worth_by_rule_{n}/mean" for n in range(66)]
    rewards = ", ".join(f"'{name}': 0.5" for name in names)
    rows = (f"{{'loss': 0.{n}, {rewards}, 'num_tokens': {n}5000.0, 'epoch': 0.{n}}}\n" for n in range(1, 10))
    steps = steps_of(read_log(tmp_path, "".join(rows)))
    assert steps["train/loss"] == steps["train/num_tokens"] == [*range(1, 10)]


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("opening", ["", "Using the device cuda\n"])
def test_epochs_that_begin_anew_are_of_another_launch(tmp_path: Path, ends: bool, opening: str) -> None:
    def launch(records: int) -> str:
        text = "".join(
            f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'epoch': {n / 5:.2f}}}\n"
            for n in range(1, records + 1)
        )
        end = f"{{'train_runtime': 40.0, 'train_loss': 2.1, 'epoch': {records / 5}}}\n"
        return opening + text + (end if ends else "")

    run = read_log(tmp_path, launch(10) + launch(5) + launch(10))
    assert run.attempts == 3
    assert steps_of(run)["train/loss"] == [*range(1, 11), *range(1, 6), *range(1, 11)]


def test_the_summary_of_a_trainer_hides_no_record(tmp_path: Path) -> None:
    records = "".join(
        f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'entropy': 1.{n}, 'epoch': 0.{3 * n}}}\n"
        for n in range(1, 4)
    )
    end = "{'train_runtime': 40.0, 'train_loss': 2.2, 'entropy': 0.9, 'epoch': 1.0}\n"
    run = read_log(tmp_path, records + end)
    [entropy] = [series for key, series in run.data.series.items() if key.metric == "train/entropy"]
    assert entropy.value.tolist() == [1.1, 1.2, 1.3, 0.9]
    assert steps_of(run)["train/loss"] == [1, 2, 3]
