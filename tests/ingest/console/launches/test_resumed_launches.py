"""Launches that go on at the step after the last one: what they print before shows that they are launches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import read_log, steps_of


def iterations(first: int, last: int) -> str:
    return "".join(f"iter: {step}  loss: 0.5  lr: 0.1\n" for step in range(first, last + 1, 10))


def arguments(rate: float = 0.1) -> str:
    return f"Namespace(resume=True, lr={rate}, batch=8)\n"


@pytest.mark.parametrize(
    "statement",
    [
        "Resuming from epoch 3, training until 10 in all\n",
        "[10:00:00] === run A: RESUMING from out/best-epoch=3.ckpt (now on GPU) ===\n",
        "Resumed training from checkpoint out/last.pth\n",
        "Model found at path out/run/s1_i900.pth, pursuing the training\n",
        "Found checkpoint out/last.pth (step 30); resuming training\n",
        "Traceback (most recent call last):\nKeyboardInterrupt\nLoading ...\nResuming from epoch 4\n",
    ],
)
def test_a_program_says_that_it_resumes(tmp_path: Path, statement: str) -> None:
    run = read_log(tmp_path, "Ready\n" + iterations(10, 30) + statement + iterations(40, 60))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*range(10, 70, 10)]


@pytest.mark.parametrize(
    "statement",
    [
        "resume = None\n",
        "  'resume_from': 'a.pth',\n",
        "Nothing to resume\n",
        "New best model found, continuing training\n",
    ],
)
def test_other_words_about_resumption_show_no_launch(tmp_path: Path, statement: str) -> None:
    run = read_log(tmp_path, "Ready\n" + iterations(10, 30) + statement + iterations(40, 60))
    assert run.attempts == 1


def test_arguments_that_come_again_show_a_launch_that_goes_on(tmp_path: Path) -> None:
    dumped = "CONFIG:\n  NUM_ITER: 200\nVERSION: 2\n"
    text = arguments() + dumped + iterations(10, 30) + arguments() + dumped + iterations(40, 60)
    assert read_log(tmp_path, text).attempts == 2


def test_the_arguments_of_failed_launches_do_if_they_are_others(tmp_path: Path) -> None:
    failed = 3 * (arguments() + "Loading the data\nBuilding the model\n")
    text = failed + iterations(10, 30)
    assert read_log(tmp_path, text + arguments(0.2) + iterations(40, 60)).attempts == 2
    # workers that import the program print the arguments of their parent
    assert read_log(tmp_path, text + 2 * arguments() + iterations(40, 60)).attempts == 1


def test_a_key_of_settings_that_a_later_launch_prints_is_no_heading(tmp_path: Path) -> None:
    opening = (
        arguments() + "Loading the data from a.csv\nBuilding the model\nTEST:\n  DETECTIONS: 100\nSEED: 1\n"
    )
    run = read_log(tmp_path, (opening + iterations(10, 30)) * 2)
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [10, 20, 30] * 2
    assert not any(name.startswith("test") for name in steps_of(run))


def test_the_epochs_of_a_launch_are_as_long_as_its_own_first_one(tmp_path: Path) -> None:
    def launch(batches: int) -> str:
        return "".join(
            f"Epoch {epoch} - TRAIN - Batch {batch} loss 2.{epoch}\n"
            for epoch in range(3)
            for batch in range(0, batches, 10)
        )

    run = read_log(tmp_path, launch(100) + launch(40))
    assert run.attempts == 2
    (loss,) = (each for key, each in run.data.series.items() if "loss" in key.metric)
    steps = loss.step[loss.attempt == 1]
    assert steps.tolist() == [31 * epoch + batch for epoch in range(3) for batch in range(0, 40, 10)]


@pytest.mark.parametrize("opening", ["Namespace(lr=0.1, batch=8)\n", "Running with config {'lr': 0.1}\n"])
def test_launches_that_only_test_are_at_their_own_epoch(tmp_path: Path, opening: str) -> None:
    trained = opening + "".join(
        f"Training Epoch: {n}, Loss: 0.{n}\nVal Epoch: {n}, F1: 0.{n}\n" for n in (1, 2, 3)
    )
    tested = "".join(f"{opening}Testing Epoch: 1, F1: 0.{n}\n" for n in (4, 5, 6))
    run = read_log(tmp_path, trained + tested + trained)
    assert run.attempts == 2, "they train nothing again"
    steps = steps_of(run)
    assert [steps[f"testing/F1/launch={number}"] for number in (2, 3, 4)] == [[1], [1], [1]]
    assert steps["Loss"] == [1, 2, 3, 1, 2, 3]


def test_a_launch_may_begin_with_an_evaluation_of_other_data(tmp_path: Path) -> None:
    test, val = "Test Epoch: 1, F1: 0.1\n", "Val Epoch: 1, F1: 0.3\n"
    launches = (test, test, val + test, test, val, test, test)
    run = read_log(tmp_path, "".join(f"Namespace(lr=0.1, batch=8)\n{launch}" for launch in launches))
    assert run.attempts == 7
    attempts = {key.metric: series.attempt.tolist() for key, series in run.data.series.items()}
    assert attempts == {"test/F1": [0, 1, 2, 3, 5, 6], "val/F1": [2, 4]}


def test_an_evaluation_behind_opening_lines_may_be_the_last_of_a_launch(tmp_path: Path) -> None:
    opening = "Loading the model\n"
    trained = "".join(f"Train Epoch: {n}, loss: 0.{n}\n" for n in (1, 2, 3))
    run = read_log(
        tmp_path, f"{opening}{trained}{opening}Test Epoch: 3, F1: 0.4\nTrain Epoch: 4, loss: 0.1\n"
    )
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [1, 2, 3, 4], "test/F1": [3]}


@pytest.mark.parametrize("before", [2, 5])
@pytest.mark.parametrize("short", [1, 2])
def test_launches_of_one_record_behind_a_longer_one_are_seen(tmp_path: Path, before: int, short: int) -> None:
    launches = [range(1, 10 * before, 10), *([range(1, 2)] * short), range(1, 150, 10)]
    text = "".join(f"epoch: 1  iter: {step}/699  loss: 1.{step}\n" for steps in launches for step in steps)
    run = read_log(tmp_path, text)
    assert run.attempts == 2 + short
    assert steps_of(run)["loss"] == [step for steps in launches for step in steps]


CRASH = 'Traceback (most recent call last):\n  File "train.py", line 8, in main\nKeyboardInterrupt\n'


@pytest.mark.parametrize(
    ("between", "attempts"),
    [
        (CRASH + "Loading the weights from last.pth\n", 2),
        (CRASH + "=> loaded checkpoint 'last.tar' (epoch 3, loss 0.7)\n", 2),
        (CRASH + "Using the device cuda\n", 2),
        ("Resumed from checkpoint at step 30 (best_loss so far: 0.8112)\n", 2),
        (CRASH, 1),
        ("Loading the weights from last.pth\n", 1),
        (CRASH + "Saved the weights in last.pth\n", 1),
        ("Loading the weights from last.pth\n" + CRASH, 1),
        (CRASH.replace("Traceback", "  Traceback") + "Loading the weights from last.pth\n", 1),
        (CRASH.replace("KeyboardInterrupt\n", "") + "Loading the weights from last.pth\n", 1),
    ],
)
def test_what_comes_behind_a_traceback_shows_another_process(
    tmp_path: Path, reading: Any, between: str, attempts: int
) -> None:
    text = "Using the device cuda\n" + iterations(10, 30) + between + iterations(40, 60)
    run = read_log(tmp_path, text)
    assert run.attempts == attempts
    assert steps_of(run)["loss"] == [*range(10, 70, 10)]
    content = text.encode()
    complete = reading.read_complete("train.log", content)
    chosen = reading.format_of("train.log", content)
    sizes = [*range(0, len(content), 7), len(content)]
    assert reading.read_growing("train.log", content, sizes, chosen=chosen) == complete


@pytest.mark.parametrize(
    ("said", "attempts"),
    [("Loaded the net at epoch 3\n", 2), ("Restored the weights\n", 2), ("Saved the epoch 3\n", 1), ("", 1)],
)
def test_what_loads_something_behind_an_end_is_another_process(
    tmp_path: Path, said: str, attempts: int
) -> None:
    run = read_log(tmp_path, "Hello\n" + iterations(10, 30) + ENDS[-1] + said + iterations(40, 60))
    assert run.attempts == attempts
    assert steps_of(run)["loss"] == [*range(10, 70, 10)]


def test_a_test_behind_a_traceback_that_is_caught_is_of_the_same_launch(tmp_path: Path) -> None:
    end = "Loading the weights from best.pth\niter: 30  test loss: 0.7\n"
    assert read_log(tmp_path, iterations(10, 30) + CRASH + end).attempts == 1


ENDS = [
    CRASH,
    "Killed\n",
    "run.sh: line 3: 1234 Killed                  python3 run.py\n",
    "*** Aborted at 1600000000 (unix time) ***\n",
    "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2021-01-01T10:00:00 DUE TO TIME LIMIT ***\n",
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("opening", ["", "Loading the data\nUsing device cuda\n"])
def test_a_launch_repeats_the_step_at_which_the_one_before_crashed(
    tmp_path: Path, end: str, opening: str
) -> None:
    run = read_log(tmp_path, opening + iterations(10, 30) + end + iterations(30, 60))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [10, 20, 30, 30, 40, 50, 60]


@pytest.mark.parametrize("end", ENDS)
def test_no_training_of_the_same_launch_follows_its_end(tmp_path: Path, end: str) -> None:
    run = read_log(tmp_path, "Loading the data\n" + iterations(10, 30) + end + "Hello\n" + iterations(10, 60))
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {()}


@pytest.mark.parametrize(
    "behind", ["iter: 30  acc: 0.5\n", "iter: 30  val loss: 0.5\n", "val loss: 0.5\n", "Killed: 5 foes\n"]
)
def test_what_is_caught_ends_no_launch(tmp_path: Path, behind: str) -> None:
    text = iterations(10, 30) + CRASH + behind + iterations(40, 60)
    assert read_log(tmp_path, text).attempts == 1


def test_what_one_of_several_processes_raises_ends_no_launch(tmp_path: Path) -> None:
    steps = [2 * iterations(step, step) for step in range(10, 60, 10)]
    one = iterations(60, 60)
    assert read_log(tmp_path, "".join(steps) + one + CRASH + one).attempts == 1


def test_a_rate_that_was_printed_at_each_epoch_names_no_training(tmp_path: Path) -> None:
    def epoch(n: int) -> str:
        return f"\nEpoch {n}/5\nTrain Loss: {n}.5 | Acc: 0.{n}\nLearning Rate: 0.00{6 - n}\n"

    run = read_log(tmp_path, 2 * "".join(map(epoch, range(1, 6))))
    assert run.attempts == 2
    assert steps_of(run)["Train Loss"] == 2 * [*range(1, 6)]


def test_a_first_line_that_comes_again_as_a_record_opens_no_program(tmp_path: Path) -> None:
    def launch(at: int) -> str:
        return "".join(f"loss item: {n}.{at}5\n[{n}] avg_loss: {n}.{at}\n" for n in range(1, 7))

    run = read_log(tmp_path, f"{launch(1)}Finished\n{launch(2)}")
    assert run.attempts == 2
    assert steps_of(run)["loss item"] == steps_of(run)["avg_loss"] == 2 * [*range(1, 7)]


def test_what_a_server_prints_in_each_round_opens_no_program(tmp_path: Path) -> None:
    text = "".join(
        f"INFO :      \nINFO :      [ROUND {n}]\nINFO :      configure_fit: sampled 4 clients (out of 4)\n"
        "INFO :      aggregate_fit: received 4 results and 0 failures\n"
        f"INFO :      configure_evaluate: sampled 4 clients (out of 4)\n[SERVER] Round {n} - MAE: {n}.5\n"
        for n in range(1, 7)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["MAE"] == [*range(1, 7)]


@pytest.mark.parametrize(
    ("between", "attempts"),
    [
        ("=> loaded checkpoint 'last.tar' (epoch 30)\n", 2),
        ("=> loaded checkpoint 'best.tar' (epoch 20)\n", 1),
        ("Using the device cuda\nLoading the weights from last.pth\n", 2),
        ("Using the device cuda\n", 1),
        ("Restored all states from the checkpoint at out/last.ckpt\n", 2),
        ("Continuing training from epoch 4\n", 2),
        ("The training continues from here\n", 1),
    ],
)
def test_a_checkpoint_of_the_last_step_is_loaded_by_another_launch(
    tmp_path: Path, between: str, attempts: int
) -> None:
    run = read_log(tmp_path, "Using the device cuda\n" + iterations(10, 30) + between + iterations(40, 60))
    assert run.attempts == attempts
    assert steps_of(run)["loss"] == [*range(10, 70, 10)]


def test_a_test_of_what_was_saved_is_of_the_same_launch(tmp_path: Path) -> None:
    opening = "Using the device cuda\n"
    test = opening + "=> loaded checkpoint 'best.tar' (epoch 30)\niter: 30  test loss: 0.7\n"
    assert read_log(tmp_path, opening + iterations(10, 30) + test).attempts == 1


def test_weights_that_are_loaded_for_each_test_show_no_launch(tmp_path: Path) -> None:
    opening = "Loading the weights of the network from a.pth\n"
    text = opening + "".join(iterations(step, step) + opening for step in range(10, 60, 10))
    assert read_log(tmp_path, text).attempts == 1


def test_a_launch_that_resumes_counts_the_lines_of_its_epochs_on(tmp_path: Path) -> None:
    def lines(*epochs: int) -> str:
        return "".join(f"Train Epoch: {epoch} Loss: 2.{epoch}{n}\n" for epoch in epochs for n in range(9))

    run = read_log(tmp_path, "Ready\n" + lines(1, 2, 3) + "Resuming from epoch 2\n" + lines(3, 4))
    assert run.attempts == 2
    assert steps_of(run)["Loss"] == [*range(1, 28), *range(19, 37)]


def test_launches_of_one_epoch_before_and_behind_longer_ones(tmp_path: Path) -> None:
    opening = "[2026-05-03 10:00:00]: train [line:45] INFO  ______start_training______\n"
    lengths, text = [1, 1, 2, 2, 6, 1, 1, 5], 4 * opening  # some ended before their first record
    for number, epochs in enumerate(lengths):
        text += opening
        for epoch in range(epochs):
            text += (
                f"Train Epoch: {epoch} (rate : 0.001 )| LOSS: 0.{number}{epoch}1 | F1: 0.{number}{epoch}2\n"
            )
            if number > 1:
                text += f"Valid Epoch: {epoch} | LOSS: 0.{number}{epoch}3 | F1: 0.{number}{epoch}4\n"
    losses = read_log(tmp_path, text).data.series[SeriesKey("LOSS")]
    assert Counter(losses.attempt.tolist()) == dict(enumerate(lengths))


@pytest.mark.parametrize(
    "settings", ["lr: {}, bs: 32, alpha: 0.5, reward_scale: 0.1\n", "Testing learning rate {}\n"]
)
def test_settings_above_the_first_record_are_no_results_of_the_launch_before(
    tmp_path: Path, settings: str
) -> None:
    rows = "".join(f"Epoch {n} loss: 0.{n} acc: 0.9{n}\n" for n in range(1, 6))
    run = read_log(tmp_path, "".join(settings.format(rate) + rows for rate in (0.1, 0.2, 0.3)))
    assert {key.metric for key in run.data.series} == {"loss", "acc"}


def test_rates_beside_a_result_of_each_epoch_are_no_settings_of_a_launch(tmp_path: Path) -> None:
    row = "learning rate 0.1, mean reward: 0.{0}\n"
    text = row.format(9) + "".join(f"Epoch {n} loss: 0.{n}\n" + row.format(n) for n in range(1, 9))
    assert len(steps_of(read_log(tmp_path, text))["mean reward"]) >= 7


@pytest.mark.parametrize("opening", ["Loading the images of oaks\n", "Loading data\nUsing device: cuda\n"])
def test_a_training_that_is_resumed_for_more_epochs_is_another_attempt(tmp_path: Path, opening: str) -> None:
    def rows(first: int, last: int) -> str:
        return "".join(f"Epoch {n}/{last} loss: 0.{n} acc: 0.9{n}\n" for n in range(first, last + 1))

    assert read_log(tmp_path, opening + rows(1, 10) + opening + rows(11, 20)).attempts == 2
    assert read_log(tmp_path, opening + rows(1, 10) + rows(11, 20)).attempts == 1


@pytest.mark.parametrize("interrupted_at", [30, 90])
def test_a_launch_that_evaluates_first_trains_the_interrupted_epoch_again(
    tmp_path: Path, interrupted_at: int
) -> None:
    def rows(epoch: int, end: int) -> str:
        return "".join(f"Epoch: [{epoch}][{n}/100]\tLoss 2.{epoch}{n:02} (2.5)\n" for n in range(0, end, 10))

    opening = "Arguments: Namespace(lr=0.1, seed={0})\nRandom seed: {0}\nWeights from saved/{0}.pt\n"
    test = "".join(f"Test: [{n}/50]\tPSNR 21.{n:02}\n" for n in range(0, 50, 10)) + " * PSNR 21.5\n"
    first = opening.format(7) + test + rows(0, 100) + test + rows(1, 100) + test + rows(2, interrupted_at)
    run = read_log(tmp_path, first + opening.format(8) + test + rows(2, 100) + test)
    assert run.attempts == 2
    losses = run.data.series[SeriesKey("Loss")]
    assert losses.step[losses.attempt == 1].tolist() == [*range(200, 300, 10)]
    assert "eval/Loss" not in steps_of(run)
