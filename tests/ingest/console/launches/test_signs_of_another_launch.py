"""What shows another launch in one text: opening lines, arguments, headings, pauses and single records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

N = range(1, 5)


def test_a_line_that_the_program_starts_and_its_arguments_show_a_launch(tmp_path: Path) -> None:
    arguments = ("{'epoch_number': 1}, {'log_root': '/logs'}", "{'log_root': '/logs'}, {'epoch_number': 1}")
    text = "".join(
        f"05/15/2018 09:0{n}:56 [Program starts.]\n05/15/2018 09:0{n}:56 [Arg used:][{arguments[n % 2]}]\n"
        f"05/15/2018 09:0{n}:57 Average Training loss 0.25{n} - epoch 1/1\n"
        for n in N
    )
    assert read_log(tmp_path, text).attempts == len(N)


def test_the_long_summary_of_a_model_is_no_record_and_no_launch_where_each_fit_prints_it(
    tmp_path: Path,
) -> None:
    """Rows count up, each behind a bar, as rows of records may; a launch's opening lines come once."""
    names = ("model", "loss_fn", "train_acc", "val_acc", "val_f1", "test_acc", "test_f1", "test_auc")
    summary = "GPU available: False, used: False\nTPU available: False, using: 0 TPU cores\n"
    summary += "   | Name      | Type     | Params | Mode  | FLOPs\n" + "-" * 50 + "\n"
    summary += "".join(
        f"{n}  | {name:9} | {name.title().replace('_', '')} | 0      | train | 0    \n"
        for n, name in enumerate(names)
    )
    summary += "-" * 50 + "\n8.8 K     Trainable params\n822 K     Non-trainable params\n"
    bars = [
        "".join(
            f"\rEpoch {epoch}: 100%|####| 28/28 [00:05<00:00, 5.0it/s, train_loss=0.{value + epoch}]"
            for epoch in range(4)
        )
        + "\n"
        for value in (60, 40)
    ]
    opening = "Seed set to 42\nLoaded 200 regions of the brain\nLoaded encoder from a checkpoint\n"
    run = read_log(tmp_path, f"{opening}{summary}{bars[0]}\n{summary}{bars[1]}")
    assert run.attempts == 1
    assert {key.metric for key in run.data.series} == {"train_loss"}


def test_blocks_of_launches_appended_to_one_another_are_not_torn(tmp_path: Path) -> None:
    def block(epoch: int) -> str:
        losses = f"train loss: 29.{epoch}\nvalid loss: 28.1\nbest val: 28.{epoch}\n"
        return f"epoch: {epoch}\n{losses}time spent: 1{epoch}.5\n"

    epochs = [*range(1, 9), 1, *range(1, 4), 1, 2, *range(1, 10)]
    run = read_log(tmp_path, "".join(map(block, epochs)))
    starts = {name: series.attempt.tolist() for (name, _), series in run.data.series.items()}
    assert starts["train loss"] == starts["valid loss"] == starts["best val"]
    assert run.attempts == 5, "one of them ended after an epoch"


def test_settings_with_a_rate_among_them_show_the_next_launch(tmp_path: Path) -> None:
    settings = ("datapath:data/train", "epoch:20", "gamma:0.7", "loss_weights:[1.0, 2.0]", "lr:0.01")
    opening = "".join(f"[main.py:48] INFO {setting}\n" for setting in (*settings, "save_path:results"))
    opening += "[main.py:57] INFO Number of model parameters: 61610\n"
    records = "".join(f"[main.py:110] INFO Epoch: {n}/20   Training Loss: 0.{n}\n" for n in N)
    run = read_log(tmp_path, 2 * (opening + records))
    assert steps_of(run)["Training Loss"] == 2 * [*N]
    assert run.attempts == 2


def test_rows_that_wait_are_not_those_of_the_next_launch(tmp_path: Path) -> None:
    interrupted = "Epoch 5/50\n" + "Details - Var: 0.1, Dist: 0.2\n" * 2
    launch = "".join(f"Epoch {n}/50\nTraining loss: 0.{n}\nDetails - Var: 0.{n}, Dist: 0.2\n" for n in N)
    steps = steps_of(read_log(tmp_path, f"Epoch 4/50\nTraining loss: 0.5\n{interrupted}{launch}"))
    assert steps["Var"] == [*N]


def test_each_start_of_the_training_is_a_launch_even_if_it_ends_after_a_record(tmp_path: Path) -> None:
    launch = "INFO:root:Start Training for Task: collar\n[Epoch 0] loss: 0.5\n"
    run = read_log(tmp_path, 3 * launch + "[Epoch 1] loss: 0.4\n")
    assert (steps_of(run), run.attempts) == ({"loss": [0, 0, 0, 1]}, 3)


def test_columns_that_count_again_are_of_another_launch(tmp_path: Path) -> None:
    columns = ["".join(f"{n},{size / n}\n" for n in N) for size in (10.5, 12.5)]
    run = read_log(tmp_path, "".join(columns), "train_loss.txt")
    assert (steps_of(run), run.attempts) == ({"train_loss": 2 * [*N]}, 2)


def test_a_report_behind_a_line_of_the_opening_begins_no_launch(tmp_path: Path) -> None:
    opening = "INFO - utils.py - load_model_and_parallel - 108 - Use single gpu in: ['0']\n"
    report = (
        "         precision    recall  f1-score   support\n\nplant      0.90     0.14     0.25        14\n"
    )
    text = opening + "".join(f"epoch:0 {n}/4 loss:2.{n}\n" for n in N) + opening + report
    assert read_log(tmp_path, text + text).attempts == 2


def test_a_heading_with_a_time_that_comes_again_shows_another_launch(tmp_path: Path) -> None:
    heading = "================ Training Loss (Thu Oct 31 2{}:57:18 2024) ================\n"
    record = "(epoch: 60, iters: {}, time: 2.0) D_A: 0.0{}\n"
    text = heading.format(1) + record.format(100, 1) + record.format(200, 2)
    text += heading.format(2) + record.format(100, 3) + heading.format(3) + heading.format(4)
    assert read_log(tmp_path, text + record.format(100, 4) + record.format(200, 5)).attempts == 3


OPENING = """\
Using device: cuda, seed: {0}
Loaded 1{0}00 samples from the data set
Model with 12.{0}M parameters is ready
Writing checkpoints to the output folder
"""


def launches(*steps: range, line: str = "step {0}: loss 0.5, lr 0.1\n") -> str:
    return "".join(
        OPENING.format(number) + "".join(line.format(step) for step in of_launch)
        for number, of_launch in enumerate(steps)
    )


@pytest.mark.parametrize(
    "steps",
    [
        (range(10, 60, 10), range(60, 120, 10)),
        (range(10, 40, 10), range(10, 60, 10), range(10, 100, 10)),
        (range(10, 100, 10), range(80, 100, 10), range(90, 150, 10)),
        (range(1, 2), range(1, 2), range(1, 2), range(1, 2)),
        (range(1, 2), range(1, 9)),
    ],
    ids=[
        "resumed at the next step",
        "interrupted",
        "interrupted after a few",
        "one record each",
        "one, then more",
    ],
)
@pytest.mark.parametrize(
    "line", ["step {0}: loss 0.5, lr 0.1\n", "Validating\nEpoch {0}/200, train_loss=0.5\n"]
)
def test_the_opening_lines_show_launches(
    tmp_path: Path, reading: Any, steps: tuple[range, ...], line: str
) -> None:
    text = launches(*steps, line=line)
    run = read_log(tmp_path, text)
    assert run.attempts == len(steps)
    (found,) = [series for key, series in run.data.series.items() if key.metric.endswith("loss")]
    for number, of_launch in enumerate(steps):
        assert found.step[found.attempt == number].tolist() == list(of_launch)
    content = text.encode()
    complete = reading.read_complete("train.log", content)
    assert reading.read_restarted("train.log", content, every=1) == complete


PROMPT = "rob@box:~/go$ python3 training/train.py --seed 1\n"


@pytest.mark.parametrize(
    ("opening", "steps"),
    [
        (PROMPT, (range(10, 40, 10), range(40, 60, 10), range(60, 70, 10))),
        ("Loaded the encoder with missing keys: []\n", (range(1, 11), range(1, 41))),
        (OPENING.format(1) * 2, (range(1, 11), range(1, 41))),
        ("Loaded the encoder with missing keys: []\n", (range(1, 5), range(2, 4), range(1, 2), range(1, 9))),
    ],
    ids=[
        "a prompt of the shell",
        "a single line",
        "a failed launch before each",
        "a single line, a few records",
    ],
)
def test_short_openings_show_launches(tmp_path: Path, opening: str, steps: tuple[range, ...]) -> None:
    text = "".join(
        opening + "".join(f"step {step}: loss_{number % 2} 0.5\n" for step in of_launch)
        for number, of_launch in enumerate(steps)
    )
    assert read_log(tmp_path, "starting\n" + text).attempts == len(steps)


def test_settings_with_a_number_of_epochs_show_launches(tmp_path: Path) -> None:
    line = "2026-01-02 10:00:00,123 - INFO - learning_rate:1e-05,epoch:3,batch_size:32,weight_decay:0.1\n"
    launch = line * 2 + "".join(
        f"INFO - Epoch {n}/3, Train Loss: 0.5\nINFO - Epoch {n}/3, Val Loss: 0.4\n" for n in (1, 2)
    )
    assert read_log(tmp_path, launch * 3).attempts == 3
    one = line * 2 + "INFO - Epoch 1/1, Train Loss: 0.5\n"
    assert read_log(tmp_path, one * 3).attempts == 3


def test_lines_that_come_with_each_epoch_begin_no_launch(tmp_path: Path) -> None:
    text = OPENING.format(1) + "".join(
        f"Loading the data of epoch {n}\nTraining the network now\nsaving model\nEpoch {n}, loss: 0.5\n"
        for n in range(1, 4)
    )
    assert read_log(tmp_path, text).attempts == 1
    going_on = "".join(f"Loading the training data\nstep {n}: loss 0.5\n" for n in range(1, 9))
    assert read_log(tmp_path, going_on).attempts == 1
    no_set_up = "".join(
        f"here we go again\nand once more\nuntil the very end\nEpoch {n}, loss: 0.5\n" for n in range(1, 4)
    )
    assert read_log(tmp_path, no_set_up).attempts == 1


def test_a_launch_that_resumes_in_a_later_epoch_is_at_its_steps(tmp_path: Path) -> None:
    lines = {
        epoch: f"Training at Epoch #{epoch}...\n"
        + "".join(f"\tIteration:{n} | Loss:0.5\n" for n in (0, 10, 20))
        for epoch in range(4)
    }
    run = read_log(tmp_path, "".join(lines[epoch] for epoch in (0, 1, 2, 1, 2, 3)))
    (series,) = run.data.series.values()
    assert run.attempts == 2
    assert series.step[series.attempt == 1].tolist() == [21, 31, 41, 42, 52, 62, 63, 73, 83]


SINGLE = {
    "after a pause": "".join(
        f"2025-05-03 12:{minute}:24 - INFO - Epoch 1/1, Loss: 2.5\n"
        f"2025-05-03 12:{minute}:38 - INFO - Validation Loss: 0.75\n"
        for minute in (39, 42, 49)
    ),
    "with other results between": "".join(
        f"epoch: {epoch}\ntrain loss: {epoch}.5\nvalid loss: {epoch}.7\n" for epoch in (1, 1, 2, 3, 1, 2)
    ),
}


@pytest.mark.parametrize("case", SINGLE)
def test_a_launch_that_ended_after_its_first_record_is_one(tmp_path: Path, case: str) -> None:
    run = read_log(tmp_path, SINGLE[case])
    assert run.attempts == 3
    assert all(0 in series.attempt for series in run.data.series.values())
    assert run.points == SINGLE[case].count("oss:")


@pytest.mark.parametrize("count", [2, 4, 7])
def test_launches_of_one_record_need_nothing_between_them_if_later_steps_have_fewer(
    tmp_path: Path, count: int
) -> None:
    records = [f"epoch 0, iter 0, loss: {number}.5\n" for number in range(count)]
    later = "".join(f"epoch 0, iter {step}, loss: 0.4\n" for step in range(10, 60, 10))
    run = read_log(tmp_path, "".join(records) + later)
    assert run.attempts == count
    assert len(steps_of(run)["loss"]) == count + 5
    processes = "".join(line * count for line in later.splitlines(keepends=True))
    assert read_log(tmp_path, "".join(records) + processes).attempts == 1


def test_a_first_step_that_comes_again_is_of_the_launch_whose_opening_lines_do_not(tmp_path: Path) -> None:
    later = "".join(f"step {step} loss: 0.4\n" for step in range(10, 60, 10))
    text = "Using device: cuda\nLoading the data\n" + "step 0 loss: 0.5\n" * 3 + later
    assert read_log(tmp_path, text).attempts == 1


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"epoch: {n}\ntrain loss: {n}.5\nvalid loss: {n}.7\n" * 2 for n in range(1, 4)),
        "".join(f"epoch {n} loss 0.{n}1\nvalid loss 0.5\nepoch {n} loss 0.{n}2\n" for n in range(1, 4)),
        "Epoch 0 test loss: 2.5\n"
        + "".join(f"Epoch {n} test loss: 2.5\nEpoch {n} loss 1.5\n" for n in (0, 1, 2)),
    ],
    ids=["two processes", "two records of an epoch", "an evaluation before the first epoch"],
)
def test_an_epoch_that_comes_again_is_no_launch(tmp_path: Path, text: str) -> None:
    assert read_log(tmp_path, text).attempts == 1


def test_results_between_launches_belong_to_the_launch_before_them(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"step {step} loss {n}.5\n" for step in (10, 20, 30)) + f"val loss {n}.5\n"
        for n in range(1, 4)
    )
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"loss": [10, 20, 30] * 3, "val loss": [30, 30, 30]}
    (results,) = (points for key, points in run.data.series.items() if key.metric == "val loss")
    assert results.attempt.tolist() == [0, 1, 2]
    assert results.value.tolist() == [1.5, 2.5, 3.5]


def test_the_first_step_behind_all_steps_of_a_launch_is_of_another(tmp_path: Path) -> None:
    first = "".join(f"step {n}/40 loss: 1.{n}\n" for n in range(10, 41, 10))
    second = "".join(f"step {n} loss: 0.{n}\n" for n in range(1, 5))
    assert read_log(tmp_path, first + second).attempts == 2


def test_the_first_line_again_begins_a_launch_of_rows_without_steps(tmp_path: Path) -> None:
    launch = "Namespace(batch_size=32, lr=0.1)\n" + "".join(
        f"Train  loss: 2.{n}, train acc: 0.5\n" for n in range(6)
    )
    run = read_log(tmp_path, launch * 2)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [*range(6), *range(6)], "train acc": [*range(6), *range(6)]}


def test_a_short_launch_is_followed_by_the_next_one(tmp_path: Path) -> None:
    def epochs(count: int) -> str:
        return "".join(
            "".join(f"| epoch {n} | {batch}/1782 batches | accuracy 0.5\n" for batch in (500, 1000, 1500))
            + f"{'-' * 59}\n| end of epoch {n} | valid accuracy 0.{n}\n{'-' * 59}\n"
            * (n < count or count > 2)
            for n in range(1, count + 1)
        )

    run = read_log(tmp_path, epochs(2) + epochs(5))
    assert run.attempts == 2
    assert all(set(key.labels) == set() for key in run.data.series)


def test_a_single_record_is_a_launch_where_the_next_one_logs_the_same_epoch(tmp_path: Path) -> None:
    launches = (3, 1, 4)
    rows = "".join(
        f'{{"train_loss": 2.{n}, "test_loss": 2.5, "test_acc": 0.{launch}, "epoch": {n}}}\n'
        for launch in launches
        for n in range(launch)
    )
    run = read_log(tmp_path, rows)
    assert run.attempts == 3
    assert len(next(iter(run.data.series.values())).step) == sum(launches)


def test_rows_of_an_epoch_are_no_launches(tmp_path: Path) -> None:
    rows = "".join(
        f'{{"train_loss": 2.{n}, "lr": 0.5, "acc": 0.{row}, "epoch": {n}}}\n'
        for n in range(4)
        for row in (1, 2)
    )
    assert read_log(tmp_path, rows).attempts == 1


def test_a_heading_of_cyclegan_begins_a_launch(tmp_path: Path) -> None:
    def launch(*iterations: int) -> str:
        return "================ Training Loss (Fri Jul  2 10:44:51 2021) ================\n" + "".join(
            f"(epoch: 1, iters: {n}, time: 0.780, data: 7.131) idt: 3.866 disc: 0.803 \n" for n in iterations
        )

    assert read_log(tmp_path, launch(100) + launch(500, 1000, 1500)).attempts == 2


def test_a_training_hours_later_is_that_of_another_launch(tmp_path: Path) -> None:
    def training(hour: int) -> str:
        return "".join(
            f"[2025-05-19 {hour}:0{n}:30] Epoch {n}\n[2025-05-19 {hour}:0{n}:40] loss: 0.{n}5\n"
            for n in range(6)
        )

    text = "[2025-05-19 10:00:00] Using the big model\n" + training(10) + "[2025-05-19 20:00:00] Hello\n"
    assert read_log(tmp_path, text + training(20)).attempts == 2


_RULE = "+-------+------+\n"


def test_a_launch_after_tables_that_grow_has_rows_of_its_own(tmp_path: Path) -> None:
    def tables(launch: int) -> str:
        rows = [f"|   {row}   | {launch}.{row}  |\n" for row in range(6)]
        return "".join(
            f"{_RULE}| epoch | loss |\n{_RULE}{''.join(rows[: n + 1])}{_RULE}" for n in range(len(rows))
        )

    run = read_log(tmp_path, tables(1) + tables(2))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*range(6), *range(6)]


def test_what_the_shell_says_of_an_ended_program_shows_the_next_launch(tmp_path: Path) -> None:
    def launch(last: int) -> str:
        return "".join(f"Epoch [{n}/40]\n  Train: CVW={n}.5\n" for n in range(5, last + 1, 5))

    run = read_log(tmp_path, launch(20) + "Killed\n" + launch(40))
    assert run.attempts == 2
    assert steps_of(run)["CVW"] == [5, 10, 15, 20, *range(5, 41, 5)]


def test_a_first_line_whose_value_comes_again_shows_no_launch(tmp_path: Path) -> None:
    rows = "".join(f"share of pairs kept :0.4{n}\nPair loss: 1.{n}\n\n" for n in (1, 2, 3, 1, 4, 5, 6))
    run = read_log(tmp_path, rows)
    assert run.attempts == 1
    [series] = (series for key, series in run.data.series.items() if key.metric == "Pair loss")
    assert series.step.tolist() == [*range(7)]


def test_the_arguments_of_a_program_show_its_launches(tmp_path: Path) -> None:
    launch = (
        "Namespace(lr=0.1, epochs=5, batch_size=8)\n" + '{"epoch": 0, "train_loss": 2.5, "test_acc": 0.5}\n'
    )
    assert read_log(tmp_path, launch * 3).attempts == 3


def test_launches_that_end_in_their_first_epoch_are_attempts(tmp_path: Path) -> None:
    launch = "Loading the datasets...\nEpoch 1/5\n" + "Training loss: 0.5\n" * 30
    assert read_log(tmp_path, launch * 3).attempts == 3


def test_a_launch_on_another_device_is_another_attempt(tmp_path: Path) -> None:
    launches = "".join(
        f"Training started on {device}...\n"
        + "".join(f"Epoch {n:02} | Train Loss: 2.{n} | Val Loss: 3.{n}\n" for n in range(1, epochs))
        for device, epochs in (("cpu", 9), ("cpu", 7), ("cuda", 8), ("cuda", 6))
    )
    run = read_log(tmp_path, launches)
    assert run.attempts == 4
    assert {*steps_of(run)} == {"Train Loss", "Val Loss"}
