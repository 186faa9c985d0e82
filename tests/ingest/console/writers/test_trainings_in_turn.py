"""Trainings of one launch in turn: folds, seeds and models are told apart by labels, and are no attempts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.log_runs import read_log, steps_of

HEADINGS = [
    "========== fold: {0} training ==========",
    "Fold {0}/5",
    "--- Fold {0} ---",
    "2026-01-01 10:00:00,123 - INFO - Training fold {0}",
    "### seed = {0} ###",
    "Subject #{0}:",
]
LINES = [
    "Epoch {epoch} - avg_train_loss: {loss:.4f}  avg_val_loss: 0.5  time: 20s",
    "Epoch [{epoch}/9], loss: {loss:.4f}",
    "epoch={epoch} loss={loss:.4f}",
    "Training epoch {epoch}: 100%|####| 5/5 [00:01<00:00, 5.1it/s, loss={loss:.4f}]",
]


@pytest.mark.parametrize("heading", HEADINGS)
def test_folds_get_labels_and_the_first_has_none(tmp_path: Path, heading: str) -> None:
    lines = [
        line
        for fold in range(3)
        for line in (heading.format(fold), *(LINES[1].format(epoch=e, loss=1 / e) for e in (1, 2, 3)))
    ]
    run = read_log(tmp_path, "\n".join(lines) + "\n")
    assert run.attempts == 1
    assert [steps for name, steps in steps_of(run).items() if name.startswith("loss")] == [[1, 2, 3]] * 3


def test_a_second_launch_with_the_same_folds_is_an_attempt(tmp_path: Path) -> None:
    launch = "".join(
        f"fold {fold}\n" + "".join(f"epoch {n}: loss 0.{n}\n" for n in (1, 2)) for fold in (0, 1)
    )
    run = read_log(tmp_path, launch + launch)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [1, 2, 1, 2], "loss/fold=1": [1, 2, 1, 2]}


def test_models_are_named(tmp_path: Path) -> None:
    text = "".join(
        f"=== Training model {name} ===\n" + "".join(f"Epoch {n}/3, loss: 0.{n}\n" for n in (1, 2, 3))
        for name in ("ResNet18", "VGG16")
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [1, 2, 3], "loss/model=VGG16": [1, 2, 3]}


def test_a_fine_tuning_that_counts_anew_is_no_attempt(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch[ {n}/3] loss=0.{n}\n" for n in (1, 2, 3))
    tuned = "".join(f"FT Epoch[ {n}/2] loss=0.{n}\n" for n in (1, 2))
    run = read_log(tmp_path, epochs + tuned)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [1, 2, 3], "loss/stage=FT": [1, 2]}
    assert read_log(tmp_path, (epochs + tuned) * 2).attempts == 2


def test_the_phases_of_one_training_are_not_split(tmp_path: Path) -> None:
    text = "Training model A\nstep 1: loss 0.5\nstep 2: loss 0.4\nTraining model B\nstep 3: loss 0.3\n"
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1, 2, 3]}


@pytest.mark.parametrize("words", ["started", "complete", "set: 100", "loss: 0.5"])
def test_other_lines_that_begin_with_training_name_nothing(tmp_path: Path, words: str) -> None:
    text = "".join(f"Training {words}\nepoch 1: loss 0.5\nepoch 2: loss 0.4\n" for _ in range(2))
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    assert not any(key.labels for key in run.data.series)


@pytest.mark.parametrize("heading", ["=== {0} ===", "10:20:30 - INFO - ##### {0} #####", "\n***** {0} *****"])
def test_headings_between_signs_name_trainings(tmp_path: Path, heading: str) -> None:
    names = ("LSTM, 2 layers", "Ablation: gate=False")
    text = "".join(
        f"{heading.format(name)}\n=== Configuration ===\n" + "".join(f"epoch {n}: loss 0.5\n" for n in (1, 2))
        for name in names
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [1, 2], f"loss/training={names[1]}": [1, 2]}
    assert read_log(tmp_path, text * 2).attempts == 2


@pytest.mark.parametrize("heading", ["=== Epoch {0} ===", "--- Results ---", "### Run of 2026-01-0{0} ###"])
def test_other_headings_between_signs_name_none(tmp_path: Path, heading: str) -> None:
    text = "".join(
        f"{heading.format(launch)}\n" + "epoch 1: loss 0.5\nepoch 2: loss 0.5\n" for launch in (1, 2)
    )
    run = read_log(tmp_path, text)
    assert not any(key.labels for key in run.data.series)
    assert run.attempts == 2


def test_models_and_their_seeds_are_told_apart(tmp_path: Path) -> None:
    text = "".join(
        f"Running {model} seed={seed}\n" + "".join(f"Epoch {n}/3 | Loss: 0.5\n" for n in (1, 2, 3))
        for model in ("M1", "M2")
        for seed in (42, 7)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert [*steps_of(run)] == [
        *("Loss", "Loss/seed=7", "Loss/seed=7/training=Running M2", "Loss/training=Running M2"),
    ]


@settings(max_examples=40, deadline=None)
@given(
    heading=st.sampled_from(HEADINGS),
    line=st.sampled_from(LINES[:3]),
    folds=st.lists(st.integers(2, 6), min_size=2, max_size=4),
    noise=st.sampled_from(["", "Saving the model\n", "best score so far\n"]),
)
def test_every_fold_has_its_own_steps(
    tmp_path_factory: pytest.TempPathFactory, heading: str, line: str, folds: list[int], noise: str
) -> None:
    lines = []
    for fold, epochs in enumerate(folds):
        lines.append(heading.format(fold) + "\n")
        for epoch in range(1, epochs + 1):
            lines += [line.format(epoch=epoch, loss=fold + 1 / epoch) + "\n", noise]
    run = read_log(tmp_path_factory.mktemp("folds"), "".join(lines))
    assert run.attempts == 1
    losses = [series for key, series in run.data.series.items() if key.metric in ("loss", "avg_train_loss")]
    found = {tuple(series.step.tolist()): round(series.value[0].item()) for series in losses}
    assert sum(map(len, (series.step for series in losses))) == sum(folds)
    assert set(found) == {tuple(range(1, epochs + 1)) for epochs in folds}


def test_the_folds_of_keras_are_told_apart(tmp_path: Path) -> None:
    epoch = "Epoch {0}/2\n5/5 [==============================] - 1s 20ms/step - loss: 1.{0} - val_loss: 1.5\n"
    text = "".join(f"Fold {fold}\n{epoch.format(1)}{epoch.format(2)}" for fold in (1, 2, 3))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == steps_of(run)["loss/fold=2"] == steps_of(run)["loss/fold=3"] == [0, 1]


OPENING = "Using the device cuda:0\nLoading the data from disk\nModel with 12M parameters\nSeed set to 7\n"


def epochs(last: int, line: str = "Epoch {0}/9 loss: 0.5\n") -> str:
    return "".join(line.format(number) for number in range(1, last + 1))


@pytest.mark.parametrize("between", ["", "Model with 25M parameters\n", "Now the large one\nReady\n" * 9])
@pytest.mark.parametrize("line", ["Epoch {0}/9 loss: 0.5\n", "Epoch {0}/9 loss: 0.5\nval_acc: 0.9\n"])
def test_steps_that_begin_anew_in_the_same_launch_are_those_of_its_next_training(
    tmp_path: Path, between: str, line: str
) -> None:
    text = OPENING + epochs(5, line) + between + epochs(9, line) + between + epochs(4, line)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["loss"] == [*range(1, 6)]
    assert steps["loss/training=2"] == [*range(1, 10)]
    assert steps["loss/training=3"] == [*range(1, 5)]
    if "val_acc" in line:
        assert steps["val_acc/training=2"] == [*range(1, 10)]


def test_opening_lines_or_a_step_back_into_the_middle_show_another_launch(tmp_path: Path) -> None:
    assert read_log(tmp_path, (OPENING + epochs(5)) * 2).attempts == 2
    back = "".join(f"Epoch {number}/9 loss: 0.5\n" for number in range(3, 9))
    assert read_log(tmp_path, OPENING + epochs(5) + back).attempts == 2
    trainings = OPENING + epochs(5) + epochs(9)
    run = read_log(tmp_path, trainings + trainings)
    assert run.attempts == 2
    assert steps_of(run) == {
        "loss": [*range(1, 6)] * 2,
        "loss/training=2": [*range(1, 10)] * 2,
    }


def test_steps_with_a_total_that_begin_anew_after_their_end_are_those_of_the_next_epoch(
    tmp_path: Path,
) -> None:
    lap = "".join(f"[{step}/40] loss: 0.5\n" for step in (10, 20, 30, 40))
    assert steps_of(read_log(tmp_path, OPENING + lap * 3)) == {"loss": [*range(10, 130, 10)]}
    run = read_log(tmp_path, (OPENING + lap) * 2)
    assert (run.attempts, steps_of(run)["loss"]) == (2, [10, 20, 30, 40] * 2)


def _trainings(count: int, between: str = "") -> str:
    """So many trainings of three epochs, each with a loss and an evaluation."""
    epochs = "".join(f"Epoch {n}/3 loss: 0.{n}\nval accuracy: 0.{n}\n" for n in (1, 2, 3))
    return between.join([epochs] * count)


@pytest.mark.parametrize(
    "opening", ["Using device: cuda\n", "cuda\n3300\n", "Loading data from /data\nBuilt the model\n"]
)
@pytest.mark.parametrize("between", ["", "3300\n", "Finish Training\n", "lr is now 0.1\n"])
def test_trainings_without_a_heading_are_of_one_launch_that_printed_its_opening_once(
    tmp_path: Path, opening: str, between: str
) -> None:
    run = read_log(tmp_path, opening + _trainings(3, between))
    assert run.attempts == 1
    names = ["", "/training=2", "/training=3"]
    assert steps_of(run) == {
        f"{metric}{name}": [1, 2, 3] for metric in ("loss", "val accuracy") for name in names
    }


def _study(heading: str, between: str) -> str:
    return heading + "".join(
        (between.format(n) if n else "") + "".join(f"Ep {e}: reward={e / 9:.3f}\n" for e in (200, 400, 600))
        for n in range(3)
    )


@pytest.mark.parametrize("heading", ["STARTING STUDY\n", "Total number of combinations: 768\n"])
def test_lines_between_trainings_without_the_first_of_the_text_are_no_launches(
    tmp_path: Path, heading: str
) -> None:
    run = read_log(tmp_path, _study(heading, "Data of gamma {} saved\n\n"))
    assert run.attempts == 1
    assert [len(steps) for steps in steps_of(run).values()] == [3, 3, 3]


def test_steps_that_begin_anew_with_no_line_between_or_behind_the_first_of_the_text_are_attempts(
    tmp_path: Path,
) -> None:
    heading = "STARTING STUDY\n"
    assert read_log(tmp_path, _study(heading, "")).attempts == 3
    assert read_log(tmp_path, _study(heading, "Data of gamma {} saved\n" + heading)).attempts == 3


def test_a_first_line_that_only_one_launch_prints_says_nothing(tmp_path: Path) -> None:
    assert read_log(tmp_path, _study("Extracting archives\n", "Reward {} is best\n")).attempts == 3


def test_a_traceback_between_shows_another_launch(tmp_path: Path) -> None:
    crash = 'Traceback (most recent call last):\n  File "train.py", line 9\nOSError: {}\n'
    assert read_log(tmp_path, _study("STARTING STUDY\n", crash)).attempts == 3


def test_a_launch_that_prints_its_opening_again_is_an_attempt_and_its_trainings_are_counted_anew(
    tmp_path: Path,
) -> None:
    opening = "Using device: cuda\nLoading data from /data\nBuilt the model with 10 layers\n"
    run = read_log(tmp_path, (opening + _trainings(2)) * 2)
    assert run.attempts == 2
    assert steps_of(run)["loss/training=2"] == [1, 2, 3] * 2


def test_steps_that_go_back_to_the_middle_are_an_attempt(tmp_path: Path) -> None:
    lines = "".join(f"Step {n} loss: 0.5\n" for n in (*range(10), *range(4, 20)))
    assert read_log(tmp_path, "Using device: cuda\n" + lines).attempts == 2


def test_the_first_lines_of_the_program_show_another_launch_though_others_changed(tmp_path: Path) -> None:
    changed = OPENING.splitlines(keepends=True)[0] + "Building another model with 25M parameters\n"
    assert read_log(tmp_path, OPENING + epochs(5) + changed + epochs(9)).attempts == 2


def test_models_below_bare_names_are_trained_in_turn(tmp_path: Path) -> None:
    text = "".join(
        f"{name}\n" + epochs(3, "Epoch {0}/3\n------\ntrain Loss: 0.5 Acc: 0.9\n")
        for name in ("vgg", "vit_b")
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["train Loss/training=2"] == [1, 2, 3]
    assert read_log(tmp_path, text * 2).attempts == 2


def test_settings_show_launches_that_end_after_one_record(tmp_path: Path) -> None:
    settings = (
        "2026-01-02 10:00:00,123 - DEBUG - Running with config {'file': 'a.bin', 'epochs': 10, 'batch': 8}\n"
    )
    launch = settings + "2026-01-02 10:00:01,123 - INFO - Testing Epoch: 1, accuracy: 0.94, Pk: 0.33\n"
    assert read_log(tmp_path, settings + launch * 9).attempts == 9


def test_sentences_about_a_client_name_no_training(tmp_path: Path) -> None:
    text = "".join(
        f"[gossip] ignored returned own message from client_{n}\nRound {n}: accuracy: 0.{n}\n"
        for n in (3, 2, 4)
    )
    assert not any("training=" in name for name in steps_of(read_log(tmp_path, text)))


SHORT_OPENING = "Using device: cuda\nLoading data from /data\n"


def test_clients_that_begin_anew_in_the_same_launch_are_of_its_next_training(tmp_path: Path) -> None:
    rounds = "".join(f"Client {client} - Round {n} - Loss: 0.{n}\n" for n in range(3) for client in (0, 1))
    run = read_log(tmp_path, SHORT_OPENING + rounds * 2)
    assert run.attempts == 1
    names = [f"Loss/client={client}{more}" for client in (0, 1) for more in ("", "/training=2")]
    assert steps_of(run) == {name: [0, 1, 2] for name in names}


def test_epochs_that_begin_anew_in_each_of_many_rounds_go_on(tmp_path: Path) -> None:
    text = SHORT_OPENING + "".join(
        f"Round {n}\nTrain discriminator\nEpoch 0, train loss: 0.5\nEpoch 1, train loss: 0.4\n"
        for n in range(200)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert len(run.data.series) < 100
    assert run.points == 400


def test_all_of_many_long_trainings_are_told_apart(tmp_path: Path) -> None:
    rows = "".join(f"step={n} loss=0.{n}\n" for n in range(100, 600, 100))
    run = read_log(tmp_path, SHORT_OPENING + "".join(f"fitting the cell {n}\n{rows}" for n in range(90)))
    assert run.attempts == 1
    labels = ["", *(f"/training={n}" for n in range(2, 91))]
    assert steps_of(run) == {f"loss{label}": [100, 200, 300, 400, 500] for label in labels}


def test_the_next_training_may_print_other_metrics_besides(tmp_path: Path) -> None:
    other = "[A2C] Completed Episode {0}/5, Reward: 98{0}.5, Length: 1000\n"
    text = OPENING + epochs(5, "[DQN] Episode {0} - Reward: 101{0}.5\n") + epochs(5, other)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {
        "Reward": [*range(1, 6)],
        "Reward/training=2": [*range(1, 6)],
        "Length/training=2": [*range(1, 6)],
    }


def test_the_trainings_of_later_launches_are_told_apart_as_well(tmp_path: Path) -> None:
    opening = "Loading the data\nBuilding the model\n"
    layers = epochs(5, "epoch {0}: loss = 0.5\n") + "Layer 2\n" + epochs(5, "epoch {0}: loss = 0.4\n")
    joint = epochs(5, "epoch {0}: loss = 0.5, KL = 0.1\n")
    run = read_log(tmp_path, opening + (opening + layers + joint) * 3)
    assert run.attempts == 3
    assert steps_of(run) == {
        name: [*range(1, 6)] * 3 for name in ("loss", "loss/training=2", "loss/training=3", "KL/training=3")
    }


@pytest.mark.parametrize("setting", ["lr = {0}", "--- Learning rate: {0} ---", "batch_size={0}"])
def test_a_setting_above_each_training_names_it(tmp_path: Path, setting: str) -> None:
    text = "".join(
        f"{setting.format(value)}\n" + "".join(f"Epoch {n}/3, loss: 0.{n}\n" for n in (1, 2, 3))
        for value in ("16", "32")
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    [name] = steps_of(run).keys() - {"loss", "lr", "Learning rate"}
    assert name.endswith("=32")


def test_a_rate_below_each_epoch_is_a_metric(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/3\nloss: 0.{n}\nlr: 0.0{n}\n" for n in (1, 2, 3))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1, 2, 3], "lr": [1, 2, 3]}


@pytest.mark.parametrize("word", ["iteration index", "step number", "Iteration no.", "batch index"])
def test_a_word_for_an_index_names_no_part_of_a_training(word: str, tmp_path: Path) -> None:
    rows = "".join(f"{word}: {n}, batch loss: 2.{n}\n" for n in (0, 100, 200))
    run = read_log(tmp_path, f"building model\nepoch 0, lr=0.0001\n{rows}" * 4)
    assert run.attempts == 4
    assert steps_of(run) == {"batch loss": [0, 100, 200] * 4, "lr": [0] * 4}


PHASES = [
    ("Pretrain Epoch {0}: loss: 0.5\n", "Train Epoch {0}: loss: 0.4\n", "stage=train"),
    ("Pretraining epoch {0}/9, loss = 0.5\n", "Training epoch {0}/9, loss = 0.4\n", "stage=train"),
    ("[Warmup] epoch {0}: loss: 0.5\n", "[Train] epoch {0}: loss: 0.4\n", "stage=train"),
    ("Warmup epoch {0}: loss: 0.5\n", "Epoch {0}: loss: 0.4\n", "stage=train"),
    ("Generator pretraining: epoch {0}, loss = 0.5\n", "Adversarial: epoch {0}, loss = 0.4\n", "stage=train"),
    ("Epoch {0} (pretrain): loss = 0.5\n", "Epoch {0} (finetune): loss = 0.4\n", "stage=finetune"),
    ("pretrain step {0}, loss = 0.5\n", "train step {0}, loss = 0.4\n", "stage=train"),
    ("Stage 1 Epoch {0}/9 loss: 0.5\n", "Stage 2 Epoch {0}/9 loss: 0.4\n", "stage=2"),
    ("Phase 1 - Epoch {0}: loss: 0.5\n", "Phase 2 - Epoch {0}: loss: 0.4\n", "stage=2"),
]


@pytest.mark.parametrize(("before", "behind", "label"), PHASES)
def test_another_word_around_what_is_counted_begins_a_stage_of_the_same_launch(
    tmp_path: Path, before: str, behind: str, label: str
) -> None:
    run = read_log(tmp_path, epochs(3, before) + epochs(5, behind))
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["loss"] == [1, 2, 3]
    assert steps[f"loss/{label}"] == [1, 2, 3, 4, 5]
    assert read_log(tmp_path, (epochs(3, before) + epochs(5, behind)) * 2).attempts == 2
    assert read_log(tmp_path, epochs(3, before) + epochs(3, before)).attempts == 2


def test_what_is_trained_in_turn_at_the_same_steps_is_told_apart(tmp_path: Path) -> None:
    text = "".join(f"D step {n}: loss: 0.5\nG step {n}: loss: 0.4\n" for n in range(1, 9))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(1, 9)], "loss/stage=G": [*range(1, 9)]}


def test_a_line_without_a_stage_is_of_the_one_above_that_measures_something_else_at_its_epoch(
    tmp_path: Path,
) -> None:
    text = "".join(
        f"[Warmup] Epoch {n} | recon 0.{n} | acc 0.3\nEpoch {n} | avg loss 1.{n} | mean F1 0.4\n"
        for n in range(1, 6)
    )
    names = ("recon", "acc", "avg loss", "mean F1")
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(1, 6)] for name in names}


@pytest.mark.parametrize("heading", ["Fine-tuning the model...\n", "=== Start pretraining\n"])
def test_a_heading_names_a_stage(tmp_path: Path, heading: str) -> None:
    run = read_log(tmp_path, epochs(3) + heading + epochs(5))
    assert run.attempts == 1
    [name] = steps_of(run).keys() - {"loss"}
    assert name.startswith("loss/phase=")
    assert read_log(tmp_path, (heading + epochs(3)) * 2).attempts == 2


@pytest.mark.parametrize(
    ("client", "result", "metric"),
    [
        ("Client {0}\n", "Global model accuracy: 0.{0}\n", "Global model accuracy"),
        ("--- Client {0} ---\n", "Round {0} - test loss: 0.{0}\n", "test loss"),
        ("Training client {0}\n", "[Round {0}] Server test acc: 0.{0}\n", "Server test acc"),
    ],
)
def test_clients_go_on_through_rounds_and_what_all_trained_is_of_none(
    tmp_path: Path, client: str, result: str, metric: str
) -> None:
    text = SHORT_OPENING + "".join(
        f"Round {n}\n"
        + "".join(client.format(each) + epochs(2, "Epoch {0}/2, loss: 0.5\n") for each in (1, 2, 3))
        + result.format(n)
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    losses = {f"loss{label}": [*range(1, 7)] for label in ("", "/client=2", "/client=3")}
    assert steps_of(run) == {**losses, metric: [2, 4, 6]}


@pytest.mark.parametrize(
    "heading", ["Running for depth: {0}\n", "10:00:0{0},12{0} - Combination {0}: width=64, layers={0}\n"]
)
def test_a_first_line_that_counts_on_heads_a_training(tmp_path: Path, heading: str) -> None:
    text = "".join(heading.format(n) + epochs(3) + f"Test accuracy: 0.{n}\n" for n in (1, 2, 3))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert [steps_of(run)[f"loss{label}"] for label in ("", "/training=2", "/training=3")] == [[1, 2, 3]] * 3
    later = text.replace("10:00:", "11:00:")
    assert read_log(tmp_path, text + later).attempts == 2
    launches = [heading.format(1).replace("10:00:", f"1{n}:00:") + epochs(3) for n in (1, 2, 3)]
    assert read_log(tmp_path, "".join(launches)).attempts == 3


@pytest.mark.parametrize(
    ("heads", "trainings"),
    [
        ((1, 2, 1, 2, 3, 1), {"loss": 3, "loss/training=2": 2, "loss/training=3": 1}),
        ((1, 2, 1, 2), {"loss": 2, "loss/training=2": 2}),
        ((1, 1, 1), {"loss": 3}),
    ],
)
def test_each_launch_counts_its_trainings_from_the_first(
    tmp_path: Path, heads: tuple[int, ...], trainings: dict[str, int]
) -> None:
    fits = "".join(
        f"Reading the recordings of drive {head} now\n" + epochs(4, "Epoch {0}/4\n60/60 - 4s - loss: 0.5\n")
        for head in heads
    )
    run = read_log(tmp_path, fits)
    assert run.attempts == trainings["loss"]
    assert {name: steps.count(steps[0]) for name, steps in steps_of(run).items()} == trainings


def test_launches_of_one_epoch_remain_launches_while_the_epoch_is_held_back(tmp_path: Path) -> None:
    def fit(count: int) -> str:
        return "Reading the recordings now\n" + "".join(
            f"Epoch {n}/{count}\n4{n}s - loss: 0.{n} - acc: 0.5\n" for n in range(1, count + 1)
        )

    run = read_log(tmp_path, fit(1) + fit(1) + fit(4) + fit(4))
    assert run.attempts == 4
    assert steps_of(run)["loss"] == [1, 1, 1, 2, 3, 4, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "line", ["seed {0} | ep {1} | loss {1}.5 | val {1}.25", "model {0}/3 epoch {1}/4 loss {1}.5"]
)
def test_lines_begin_with_the_training_that_they_are_of(tmp_path: Path, line: str) -> None:
    text = "".join(line.format(training, epoch) + "\n" for training in (1, 2, 3) for epoch in (1, 2, 3, 4))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    losses = {key.labels: [*s.step] for key, s in run.data.series.items() if key.metric == "loss"}
    word = line.partition(" ")[0]
    assert losses == {((word, str(number)),): [1, 2, 3, 4] for number in (1, 2, 3)}


@pytest.mark.parametrize("prefix", ["gpu{} ", "gpu {} | ", "[gpu{}] "])
def test_processes_name_their_device(tmp_path: Path, prefix: str) -> None:
    text = "".join(f"{prefix.format(gpu)}epoch {n} loss {n}.{gpu}\n" for n in (1, 2, 3) for gpu in (0, 1))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    values = {key.labels: [*s.value] for key, s in run.data.series.items()}
    assert values[()] == [1.0, 2.0, 3.0]
    assert values[(("rank", "1"),)] == [1.1, 2.1, 3.1]


@pytest.mark.parametrize(
    ("result", "prefix"),
    [
        ("===== fold: {} result =====\nScore: 0.9\n", "eval/"),
        ("Score for fold {}: Score of 0.9; loss of 0.4\n", "eval/"),
        ("===== CV =====\nScore: 0.9\n", "cv/"),
    ],
)
def test_the_result_of_a_fold_is_none_of_its_last_epoch(tmp_path: Path, result: str, prefix: str) -> None:
    epochs = "".join(f"Epoch {n} - loss: 0.{n} - Score: 0.5{n}\n" for n in (1, 2, 3))
    text = "".join(f"===== fold: {fold} training =====\n{epochs}{result.format(fold)}" for fold in (0, 1))
    run = read_log(tmp_path, text)
    scores = [[*s.value] for key, s in run.data.series.items() if key.metric == "Score"]
    assert scores == [[0.51, 0.52, 0.53]] * 2
    results = [[*s.value] for key, s in run.data.series.items() if key.metric == f"{prefix}Score"]
    assert results == [[0.9], [0.9]]
    losses = [[*s.value] for key, s in run.data.series.items() if key.metric == "loss"]
    assert losses == [[0.1, 0.2, 0.3]] * 2


def test_the_result_of_all_folds_is_of_none(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n} - loss: 0.{n} - Score: 0.5{n}\n" for n in (1, 2, 3))
    folds = (f"=== fold: {n} training ===\n{epochs}=== fold: {n} result ===\nScore: 0.{n}\n" for n in (7, 8))
    run = read_log(tmp_path, "".join(folds) + "===== OOF =====\nScore: 0.75\n")
    results = {(key.metric, dict(key.labels).get("fold")): [*s.value] for key, s in run.data.series.items()}
    assert results["oof/Score", None] == [0.75]
    assert (results["eval/Score", None], results["eval/Score", "8"]) == ([0.7], [0.8])
    assert ("oof/Score", "8") not in results


def test_results_of_an_epoch_are_of_the_training(tmp_path: Path) -> None:
    text = "Epoch {0} started\n===== Epoch {0} results =====\nloss: 0.{0}\n===== Phase {0} =====\n"
    run = read_log(tmp_path, "".join(text.format(n) for n in (1, 2, 3)))
    assert steps_of(run)["loss"] == [1, 2, 3]


def _counted_at_the_end(launch: int) -> str:
    epochs = "".join(f"[run] INFO - epoch {n:03d} | node loss {4 - n / 5:.2f}\n" for n in range(1, 9))
    repeats = "".join(
        f"{epochs}[run] INFO - Repeat: {n}\n[run] INFO - Best dev F1: 0.7{n}{launch}\n" for n in (1, 2, 3)
    )
    return f"Loading graphs\n[run] INFO - Namespace(heads={launch}, epochs=8)\n{repeats}"


def test_a_count_right_above_results_is_of_the_training_that_is_over(tmp_path: Path) -> None:
    run = read_log(tmp_path, _counted_at_the_end(1) + _counted_at_the_end(2))
    assert run.attempts == 2
    steps = {name: steps for name, steps in steps_of(run).items() if name.startswith("node loss")}
    every = 2 * [*range(1, 9)]
    assert steps == {"node loss": every, "node loss/training=2": every, "node loss/training=3": every}
    results = [[*s.value] for key, s in run.data.series.items() if key.metric == "Best dev F1"]
    assert sorted(results) == [[0.711, 0.712], [0.721, 0.722], [0.731, 0.732]]


def test_a_heading_above_an_evaluation_before_the_training_names_what_is_below(tmp_path: Path) -> None:
    part = "Task: {0}\nTest accuracy: 0.1{0}\n" + "".join(f"epoch {n} loss 0.{n}\n" for n in (1, 2, 3))
    before = "".join(f"epoch {n} loss 0.{n}\n" for n in (1, 2, 3))
    steps = steps_of(read_log(tmp_path, before + part.format(1) + part.format(2)))
    assert {"loss", "loss/task=1", "loss/task=2"} <= steps.keys()


def test_each_heading_of_settings_between_signs_names_its_training(tmp_path: Path) -> None:
    rows = "".join(f"Epoch {n} loss: 0.{n} acc: 0.9{n}\n" for n in range(1, 6))
    names = ("oak", "elm", "ash", "birch")
    text = "".join(f"--- optimizer: {name}, lr: 0.{at} ---\n{rows}" for at, name in enumerate(names, 1))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    labels = {dict(key.labels).get("optimizer") for key in run.data.series}
    assert labels == {None, "elm", "ash", "birch"}
