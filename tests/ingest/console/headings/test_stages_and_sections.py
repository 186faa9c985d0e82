"""What stands around a training: stages of its program, sections of settings, evaluations before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import labels_of
from tests.support.log_runs import read_log, steps_of

N = range(1, 4)

_EPOCHS = "".join(
    f"Epoch {n}/3\nTrain - Loss: 9.{n}5, Aux: 1.{n}\nVal - Loss: 7.{n}5, Aux: 2.{n}\n" for n in N
)


@pytest.mark.parametrize(
    "between", ["", "Starting training...\n", "2026-03-01 10:00:00 - INFO - Begin the model training\n"]
)
def test_a_line_of_the_training_is_none_of_the_evaluation_above_it(tmp_path: Path, between: str) -> None:
    text = f"Epoch 1/3\nFirst look/Test Validation...\n{between}" + _EPOCHS
    steps = steps_of(read_log(tmp_path, text))
    assert steps["Loss"] == steps["Aux"] == steps["val/Loss"] == [1, 2, 3]


def test_training_data_below_a_heading_of_all_data_is_evaluated(tmp_path: Path) -> None:
    text = "".join(
        f"step {n}, loss: 2.{n}\nFull evaluation:\n  Train - Accuracy: 0.8{n}\n  Accuracy: 0.7{n}\n"
        for n in N
    )
    assert {name for name in steps_of(read_log(tmp_path, text)) if name.startswith("eval")}


def test_a_logger_of_the_training_prints_evaluations_too(tmp_path: Path) -> None:
    text = "".join(
        f"train - INFO - step {n}, loss: 2.{n}\ntrain - INFO - Validation:\ntrain - INFO - Accuracy: 0.8{n}\n"
        for n in N
    )
    assert steps_of(read_log(tmp_path, text))["validation/Accuracy"] == [1, 2, 3]


def test_sections_of_settings_are_no_evaluations(tmp_path: Path) -> None:
    settings = (
        "MODEL:\n  DETECTOR:\n    BOX_SCALE: 4.0\n    IOU_LOW: 0.4\n    KEEP_SHARE: 0.05\n"
        "    LOSS_SHARE: 0.25\n    LOSS_POWER: 2.0\nSOLVER:\n  BASE_LR: 0.02\n  SAVE_PERIOD: 500\n"
        "  DECAY_BIAS: 0\nTEST:\n  BOXES_PER_IMG: 100\n"
    )
    records = "".join(f"trainer INFO: iter: {20 * n}  loss: 1.{n} (1.9)\n" for n in N)
    launch = "Using 1 device\nsetting up the model\n" + settings
    run = read_log(tmp_path, launch + records + 3 * launch + records)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [20, 40, 60, 20, 40, 60]}


def test_metrics_with_names_in_capitals_are_no_settings(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}:\n  LOSS_BOX: 0.{n}\n  NUM_BOXES: 30\n  LOSS_CLS: 1.{n}\nTEST:\n  LOSS_BOX: 0.{n}5\n"
        for n in N
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["LOSS_BOX"] == steps["LOSS_CLS"] == steps["test/LOSS_BOX"] == [1, 2, 3]


def test_stages_of_a_program_are_no_steps(tmp_path: Path) -> None:
    text = (
        "=====\nStep 1: Creating Toy Data\n=====\n  Rows: 300\n  Train: 200 samples\n  Val: 50 samples\n"
        "Step 2: Loading Data\n  Edges: 900\nStep 3: Building the Network\n"
        "Network created:\n  Model size: 4.2 MB\n"
        "Step 4: Training for 3 Epochs\n"
        + "".join(f"Epoch {n}/3:\n  Train Loss: 1.{n}\n  Val MSE: 2.{n}\n" for n in N)
        + "Step 5: Final Test Evaluation\nTest Results:\n  MSE: 0.8125\n  MAE: 0.75\n"
    )
    assert steps_of(read_log(tmp_path, text)) == {
        "Train Loss": [1, 2, 3],
        "Val MSE": [1, 2, 3],
        "test/MSE": [3],
        "test/MAE": [3],
    }


@pytest.mark.parametrize(
    ("words", "data"),
    [("Evaluating on the test set", "test/"), ("Evaluation", "evaluation/"), ("Comparing models", "")],
)
def test_a_stage_says_what_is_evaluated(tmp_path: Path, words: str, data: str) -> None:
    text = (
        "[1/4] Loading the dataset\n  Train: 140 samples\n[2/4] Building a model\n[3/4] Fitting\n"
        + "".join(f"Epoch {n}/3: loss=0.{n}\n" for n in N)
        + f"[4/4] {words}\n  Accuracy: 0.85\n"
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1, 2, 3], f"{data}Accuracy": [3]}


@pytest.mark.parametrize("words", ["Generating answers", "Loading data"])
def test_steps_with_the_same_words_are_of_the_training(tmp_path: Path, words: str) -> None:
    text = "".join(f"Step {n}: {words}\nreward: 0.{n}\nloss: 1.{n}\n" for n in range(1, 6))
    assert steps_of(read_log(tmp_path, text))["loss"][-4:] == [2, 3, 4, 5]


def test_words_of_what_was_done_name_no_model(tmp_path: Path) -> None:
    text = "Epoch 1/3\nloss: 0.5\nModel created:\n" + "".join(f"Epoch {n}/3\nloss: 0.{n}\n" for n in N)
    run = read_log(tmp_path, text)
    assert all(not key.labels or dict(key.labels).keys() <= {"repeat"} for key in run.data.series)


@pytest.mark.parametrize("prefix", ["", "2026-03-01 10:00:00,123 - INFO - "])
@pytest.mark.parametrize("heading", ["", "First Validation...\n"])
def test_an_evaluation_right_above_the_training_is_before_it(
    tmp_path: Path, prefix: str, heading: str
) -> None:
    text = f"Rows: 300\n{heading}Val - Loss: 13.5, Aux: 2.75\nStarting training...\n" + _EPOCHS
    text = "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))
    steps = steps_of(read_log(tmp_path, text))
    assert steps["Loss"] == steps["Aux"] == [1, 2, 3]
    assert steps["val/Loss"] == steps["val/Aux"] == [0, 1, 2, 3]


def test_amounts_of_data_above_the_training_are_no_evaluation(tmp_path: Path) -> None:
    text = "Train samples: 600\nVal samples: 200\nVal batches: 25\nStarting training...\n" + _EPOCHS
    assert {step for steps in steps_of(read_log(tmp_path, text)).values() for step in steps} == {1, 2, 3}


@pytest.mark.parametrize(
    "headings",
    [
        ("Start pre-training generator with MLE...", "Start pre-training discriminator..."),
        ("### Start pre-training generator ###", "### Start pre-training discriminator ###"),
        ("Pre-training the generator", "Pre-training the discriminator on samples"),
    ],
)
def test_models_that_are_trained_one_after_another_are_told_apart_by_the_headings_of_their_phases(
    tmp_path: Path, headings: tuple[str, str]
) -> None:
    text = "".join(
        f"{heading}\n\n"
        + "".join(
            f"{word}-Step {n}\n"
            + "".join(f"Epoch {at}, train loss: {place}.{n}{at}\n" for at in range(epochs))
            + f"eval loss: {place}.5{n}\n\n"
            for n in range(4)
        )
        for place, (heading, word, epochs) in enumerate(zip(headings, "GD", (1, 3), strict=True))
    )
    values = {str(key): points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()}
    label = "{phase=pre-training discriminator}"
    assert values["train loss"] == [0, 0.1, 0.2, 0.3]
    assert values["eval loss"] == [0.5, 0.51, 0.52, 0.53]
    assert values[f"train loss{label}"] == [float(f"1.{n}{at}") for n in range(4) for at in range(3)]
    assert values[f"eval loss{label}"] == [1.5, 1.51, 1.52, 1.53]


def test_a_kind_of_training_names_its_phase(tmp_path: Path) -> None:
    text = "".join(
        f"{heading}\n" + "".join(f"Epoch {n} loss {at}.{n}\n" for n in range(1, 5))
        for at, heading in enumerate(("Starting supervised training...", "Starting adversarial training..."))
    )
    values = {str(key): points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()}
    assert values == {"loss": [0.1, 0.2, 0.3, 0.4], "loss{phase=adversarial}": [1.1, 1.2, 1.3, 1.4]}


def refined(model: int, steps: int) -> str:
    """A model that is trained for epochs, and then by another method that counts its own iterations."""
    epochs = "".join(f"Epoch: {n} | Train Loss: {model}.{n:02}\n" for n in range(1, 41))
    rest = "".join(f"Newton Iteration: {n} | Train Loss: {model}.9{n:02}\n" for n in range(0, steps, 2))
    return f"====\n START: training of model - Kind {model}\n====\n{epochs}\nPolishing now\n{rest}Done\n"


def test_a_stage_that_counts_steps_behind_epochs_has_its_own_label(tmp_path: Path) -> None:
    text = "".join(refined(model, steps) for model, steps in ((1, 2), (2, 60), (3, 90)))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    found = {key.labels: points.step.tolist() for key, points in run.data.series.items()}
    expected = {}
    for model, steps in ((1, 2), (2, 60), (3, 90)):
        named = {"training": f"model - Kind {model}"} if model > 1 else {}
        expected[labels_of(named)] = [*range(1, 41)]
        expected[labels_of({"stage": "Newton", **named})] = [*range(0, steps, 2)]
    assert found == expected


def test_no_value_is_lost_where_epochs_continue_behind_a_stage(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: {epoch} | Train Loss: 1.{epoch}\n"
        + "".join(f"Inner Iteration: {n} | Train Loss: 1.{epoch}{n}\n" for n in range(1, 5) if epoch % 9 == 0)
        for epoch in range(1, 29)
    )
    assert read_log(tmp_path, text).points == 28 + 3 * 4


def test_the_line_of_an_epoch_is_of_the_stage_whose_batches_are_above_it(tmp_path: Path) -> None:
    text = "".join(
        f"begin epoch: {n}\n"
        + "".join(f"OAKNET epoch: {n} batch:{batch} loss:0.{n}{batch} acc:0.9\n" for batch in range(4))
        + f"end epoch: {n} loss:0.{n}5 val_loss:0.{n}3 acc:0.8\n"
        for n in N
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["loss"] == [*range(12)]
    assert {name for name in steps if "/" in name} == {"epoch/loss", "epoch/acc"}
    assert steps["epoch/loss"] == steps["val_loss"] == [3, 7, 11]
