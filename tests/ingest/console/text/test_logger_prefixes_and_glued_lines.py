"""Times, levels and places that loggers print before a message, and records glued to one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)
_LOGURU = "2021-01-01 10:00:00.123 | INFO     | __main__:train:139 - "

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a clock of twelve hours": (
        "".join(
            f"11/25 12:00:00 PM epoch {n} lr 2.5e-02\n11/25 12:10:00 PM train_acc 12.{n}\n"
            "11/25 12:11:00 PM valid_acc 11.1\n"
            for n in N
        ),
        {name: [*N] for name in ("lr", "train_acc", "valid_acc")},
    ),
    "the prefix of absl": (
        "".join(
            f"I1125 12:00:00.123 140 run_experiment.py:400] Starting iteration {n}\n"
            f"I1125 12:00:01.123 140 run_experiment.py:331] Average return per training episode: 12.{n}\n"
            for n in N
        ),
        {"Average return per training episode": [*N]},
    ),
    "a function between the file and the line": (
        "".join(f"root | INFO | train.py:<module>:213 | [1, {n}000] loss: 2.{n}\n" for n in N),
        {"epoch": [1000, 2000, 3000, 4000], "loss": [1000, 2000, 3000, 4000]},
    ),
    "the place that loguru puts before a message": (
        "".join(f"{_LOGURU}[{n},   {batch}] loss: 1.5\n" for n in (1, 2) for batch in (100, 200)),
        {"loss": [100, 200, 300, 400], "epoch": [100, 200, 300, 400]},
    ),
    "the path of a file on Windows and the line in brackets": (
        "".join(
            f"2021-01-01 10:00:00,123 - D:\\oak\\my_net\\run.py[line:{40 + n}] - INFO: {text}\n"
            for n in N
            for text in (f"Epoch {n} loss 2.{n}", f"test accuracy 0.{n}")
        ),
        {"loss": [*N], "test accuracy": [*N]},
    ),
    "a level before a metric of a network": (
        "".join(
            f"[2021-01-01 10:00 net] (a.py 101): INFO Train: [{n}/6][0/100]\tloss 2.{n}\n"
            f"[2021-01-01 10:00 net] (a.py 9): INFO Accuracy of the network on the 500 test images: 3{n}%\n"
            for n in range(6)
        ),
        {
            name: [100 * n for n in range(6)]
            for name in ("loss", "epoch", "Accuracy of the network on the 500 test images")
        },
    ),
    "a step in brackets before a part of the epoch": (
        "".join(
            f"I0305 14:05:1{n}.123456 14012345 writer.py:35] [{n}00] epoch={n * 0.5}, loss=2.{n}, lr=0.1\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("epoch", "loss", "lr")},
    ),
    "a rank in brackets before the epoch": (
        "".join(f"[0] epoch={n}, loss=2.{n}, lr=0.1\n" for n in N),
        {name: [*N] for name in ("loss", "lr")},
    ),
    "words of a message before the step": (
        "".join(
            f"2024-03-05T14:0{n}:11.123456Z  INFO train{{epoch={n // 3}}}: trainer: batch done "
            f"step={n}0 loss=1.{n} grad_norm=7.{n}\n"
            for n in N
        ),
        {name: [10, 20, 30, 40] for name in ("epoch", "loss", "grad_norm")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_loggers_print_before_a_line_is_no_value(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_the_name_of_a_logger_is_no_series(tmp_path: Path) -> None:
    text = "".join(
        f"INFO:mi-test:Train Epoch: {n} [0%]\nINFO:mi-test:[{n}0, 0.0001]\n"
        f"INFO:mi-test:loss_disc=4.{n}, loss_gen=3.2\n"
        for n in N
    )
    steps = [10, 20, 30, 40]
    assert steps_of(read_log(tmp_path, text)) == {"lr": steps, "loss_disc": steps, "loss_gen": steps}


def test_a_line_of_the_source_in_a_column_is_no_value(tmp_path: Path) -> None:
    text = "".join(
        f"[11/25 0{launch}:00:20][INFO] run_model:  31{launch}: Start epoch: 1\n"
        + "".join(
            f"[11/25 0{launch}:01:0{n}][INFO] tools.print_stats:   9{n}: "
            f'json_stats: {{"epoch": "1/40", "iter": "{n}0/900", "loss": {n}.25}}\n'
            for n in N[: 4 * (launch < 3)]
        )
        for launch in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert steps_of(run)["loss"] == 2 * [10, 20, 30, 40]
    assert not {"run_model", "print_stats"} & steps_of(run).keys()
    assert run.attempts == 2


def test_a_count_in_a_column_is_no_line_of_the_source(tmp_path: Path) -> None:
    text = "".join(f"[11/25 01:01:0{n}][INFO] epoch:   {n}: acc: 0.{n}5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"acc": [*N]}


def test_lines_of_a_queue_do_not_hide_those_of_a_program_that_no_format_claims(tmp_path: Path) -> None:
    epochs = [
        f"Epoch {n}, Phase train\ntrain Loss: {2 / n:.4f} Acc: {1 - 0.5 / n:.4f}\n" for n in range(1, 9)
    ]
    end = "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2021-01-01T10:00:00 DUE TO TIME LIMIT ***\n"
    run = read_log(
        tmp_path, "".join(epochs[:5]) + end + "Restored the weights of epoch 4\n" + "".join(epochs[4:])
    )
    assert run.attempts == 2
    assert steps_of(run)["train Loss"] == [1, 2, 3, 4, 5, 5, 6, 7, 8]
    alone = read_log(tmp_path, end)
    assert {key.metric for key in alone.data.series} == {"job_ends"}


def test_a_date_may_have_two_dashes_before_its_time(tmp_path: Path) -> None:
    text = "".join(f"Episode {n} reward: 1.{n} Time: 02/05/2026--11:4{n} Frame: {n}78\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)).keys() == {"reward", "Frame"}


def test_records_that_are_glued_to_one_another_are_all_read(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, Loss: 0.{n}5" + "\n" * (n % 3 == 0) for n in range(1, 9))
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"Loss": [*range(1, 9)]}
    [losses] = run.data.series.values()
    assert losses.value.tolist() == pytest.approx([n / 10 + 0.05 for n in range(1, 9)])


def test_a_record_that_processes_print_into_one_line_is_one_of_a_launch(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, Loss: 0.{n}5" * (1 + n % 2) + "\n" for n in range(1, 7))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Loss": [*range(1, 7)]}


def test_a_name_may_be_glued_to_the_number_before_it(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss2.{n}5acc0.{n}5\n" for n in range(1, 7))
    steps = [*range(1, 7)]
    assert steps_of(read_log(tmp_path, text)) == {"loss": steps, "acc": steps}
