"""Lines of a name and a number: results next to known metrics, names of their own for lines of one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = "".join(f"Epoch {n}/3, loss: 0.{n}\n" for n in (1, 2, 3))


@pytest.mark.parametrize("heading", ["", "Report:\n", "\nPattern metrics:\n"])
def test_whatever_is_measured_next_to_a_known_metric_is_a_result(tmp_path: Path, heading: str) -> None:
    text = f"{EPOCHS}{heading}  Polygon area: 0.84\n  Accuracy: 0.9\n{heading}  Detection Rate (all): 88.1%\n"
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {
        "loss": [1, 2, 3],
        "Polygon area": [3],
        "Accuracy": [3],
        "Detection Rate (all)": [3],
    }


@pytest.mark.parametrize("sign", ["=", " = ", ": "])
def test_results_that_never_change_are_read_next_to_known_metrics(tmp_path: Path, sign: str) -> None:
    text = "".join(
        f"Epoch: {n}, global_step={n}000\nq_loss=0.{n}\n"
        f"eval_solved_mean{sign}0.0\neval_return_mean{sign}5.{n}\neval_len_mean{sign}40.0\n"
        for n in (1, 2, 3, 4)
    )
    steps = steps_of(read_log(tmp_path, text))
    names = ("q_loss", "eval_solved_mean", "eval_return_mean", "eval_len_mean")
    assert steps == {name: [1000, 2000, 3000, 4000] for name in names}


@pytest.mark.parametrize("name", ["SPS", "fps", "Speed"])
def test_a_speed_in_whole_numbers_is_read_next_to_known_metrics(tmp_path: Path, name: str) -> None:
    text = "".join(
        f"Epoch: {n}, global_step={n}000\n{name}: 10{n}, pg_loss=0.{n}, envs: 4{n}\n" for n in (1, 2, 3)
    )
    assert steps_of(read_log(tmp_path, text)) == {each: [1000, 2000, 3000] for each in (name, "pg_loss")}


@pytest.mark.parametrize("line", ["Hidden size: 0.5", "Samples: 900", "weight_decay: 0.1", "lr: 0.1"])
def test_settings_and_amounts_next_to_results_are_none(tmp_path: Path, line: str) -> None:
    steps = steps_of(read_log(tmp_path, f"{EPOCHS}Accuracy: 0.9\n{line}\n"))
    assert steps.keys() - {"lr"} == {"loss", "Accuracy"}


@pytest.mark.parametrize("name", ["eval_loss", "val_loss", "test_loss", "Test Loss"])
@pytest.mark.parametrize("below", ["", "accuracy: 0.9\n"])
def test_a_loss_of_an_evaluation_behind_the_last_epoch_is_a_result(
    tmp_path: Path, name: str, below: str
) -> None:
    assert steps_of(read_log(tmp_path, f"{EPOCHS}{name}: 0.31\n{below}"))[name] == [3]


def test_a_loss_of_an_evaluation_does_not_replace_that_of_the_last_epoch(tmp_path: Path) -> None:
    bar = "5/5 [==============================] - 1s 2ms/step - loss: 0.{0} - val_loss: 0.{0}5\n"
    text = "".join(f"Epoch {n}/3\n{bar.format(n)}" for n in (1, 2, 3))
    run = read_log(tmp_path, f"{text}Trial 1 Complete [00h 00m 05s]\nval_loss: 0.42\n")
    assert [[*each.value] for key, each in run.data.series.items() if key.metric == "val_loss"] == [
        [0.15, 0.25, 0.35]
    ]


def test_a_number_far_from_results_is_none(tmp_path: Path) -> None:
    text = f"{EPOCHS}Accuracy: 0.9\n{'Saving all that was learnt.' * 10}\nFree space: 17.5\n"
    assert steps_of(read_log(tmp_path, text)).keys() == {"loss", "Accuracy"}


def test_two_lines_of_a_step_with_the_same_names_are_told_apart_by_their_words(tmp_path: Path) -> None:
    text = "".join(
        f"epoch {n} >>>>>>\ntraining set : loss 0.{n}, acc 0.8\nheld-out : loss 1.{n}, acc 0.7\n"
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert steps_of(run) == {name: [1, 2, 3] for name in ("loss", "acc", "held-out/loss", "held-out/acc")}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["loss"] == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("logger", ["", "[LINE:32] INFO  [2026-01-02 10:00:00,123]  ", "10:00:01 | INFO | "])
def test_a_heading_of_an_evaluation_may_be_behind_a_logger(tmp_path: Path, logger: str) -> None:
    text = "".join(
        f"{logger}Step {n}: Loss = 0.{n}\n{logger}valid: metrics for gesture\n{logger}{{'accuracy': 0.{n}}}\n"
        for n in (1, 2, 3)
    )
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [1, 2, 3], "valid/accuracy": [1, 2, 3]}


def test_results_behind_a_logger(tmp_path: Path) -> None:
    logger = "2026-01-02 10:00:00,123 train INFO: "
    text = "".join(f"{logger}Epoch[{n}] Iteration[5/9] Loss: 0.{n}\n" for n in (1, 2, 3))
    text += f"{logger}Validation Results\n{logger}mAP: 40.8%\n{logger}CMC curve, Rank-1  :54.2%\n"
    steps = steps_of(read_log(tmp_path, text))
    assert {name for name in steps if name.startswith("validation")} == {
        "validation/mAP",
        "validation/Rank-1",
    }


@pytest.mark.parametrize(
    "line", ["Epoch {0} done. Speed: 11{0}.6[samples/s]", "Epoch: {0} | perplex = 0.{0}"]
)
def test_whatever_is_measured_at_an_epoch_is_a_metric(tmp_path: Path, line: str) -> None:
    text = "".join(f"Epoch {n} loss: 0.5\n{line.format(n)}\n" for n in range(1, 8))
    [name] = steps_of(read_log(tmp_path, text)).keys() - {"loss"}
    assert steps_of(read_log(tmp_path, text))[name] == [*range(1, 8)]


def test_an_epoch_with_a_rate_announces_the_losses_below_it(tmp_path: Path) -> None:
    text = "".join(
        f"epoch : {n} learning speed : [1.0]\nCheckpoint {n} saved !\nepoch_loss: 4.{n}\n" for n in (1, 2, 3)
    )
    assert steps_of(read_log(tmp_path, text)) == {"learning speed": [1, 2, 3], "epoch_loss": [1, 2, 3]}
