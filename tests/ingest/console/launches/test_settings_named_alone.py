"""Settings of a launch below one another, each a name and a number, with others than in the launch before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

SETTINGS = {
    "a rate above the others": {
        "lr": (0.001, 0.01, 0.0005),
        "batch_size": (32, 32, 64),
        "dropout": (0.5, 0.3, 0.1),
    },
    "weights of losses": {
        "batch_size": (32, 32, 64),
        "lambda_kl": (0.1, 0.05, 0.2),
        "margin": (0.2, 0.3, 0.25),
    },
    "those of reinforcement learning": {
        "gamma": (0.99, 0.98, 0.97),
        "reward_scale": (1.0, 0.1, 0.5),
        "target_kl": (0.01, 0.02, 0.05),
    },
    "thresholds": {
        "iou_thresh": (0.5, 0.6, 0.7),
        "score_thr": (0.05, 0.1, 0.01),
        "weight_decay": (0.1, 0.2, 0.3),
    },
    "shares of data": {
        "hidden_dim": (64, 128, 256),
        "mask_ratio": (0.15, 0.3, 0.5),
        "val_ratio": (0.1, 0.2, 0.3),
    },
}
EPOCHS = {
    "lines": lambda last: [f"epoch {n}: train loss {2 / n:.3f}" for n in range(1, last + 1)],
    "blocks": lambda last: [
        line for n in range(1, last + 1) for line in (f"Epoch {n}", f"train loss: {2 / n:.3f}")
    ],
    "batches": lambda last: [
        f"Epoch: [{n}][{b}/30] train loss {2 / n:.3f}" for n in range(1, last + 1) for b in (10, 20, 30)
    ],
}


@pytest.mark.parametrize(
    "opening", [[], ["Arguments", "Data loaded from /shards"]], ids=["alone", "below lines"]
)
@pytest.mark.parametrize("form", ["{}: {}", "{} = {}", "   {}: {}", "{:<18}: {}"])
@pytest.mark.parametrize("epochs", EPOCHS)
@pytest.mark.parametrize("case", SETTINGS)
def test_settings_of_a_later_launch_are_no_values_of_the_one_before(
    tmp_path: Path, case: str, epochs: str, form: str, opening: list[str]
) -> None:
    lines: list[str] = []
    for launch in range(3):
        lines += opening
        lines += [form.format(name, values[launch]) for name, values in SETTINGS[case].items()]
        lines += EPOCHS[epochs](4 + launch)
    run = read_log(tmp_path, "\n".join(lines) + "\n")
    assert {key.metric for key in run.data.series} <= {"train loss", "Epoch"}


@pytest.mark.parametrize("name", ["epsilon", "temperature"])
def test_what_is_set_above_the_first_epoch_is_a_value_where_each_epoch_states_it(
    tmp_path: Path, name: str
) -> None:
    lines = [f"{name}: 1.0", "batch_size: 32", "learning_starts: 100"]
    for n in range(1, 7):
        lines += [f"epoch {n}: train loss {2 / n:.3f}", f"{name}: {1 - n / 10:.2f}"]
    steps = steps_of(read_log(tmp_path, "\n".join(lines) + "\n"))
    assert steps[name] == [*range(1, 7)]


def test_a_rate_in_blocks_of_epochs_is_a_value_below_settings(tmp_path: Path) -> None:
    lines = ["lr: 0.1", "batch_size: 32", "hidden_dim: 64"]
    for n in range(1, 7):
        lines += [f"Epoch {n}", f"train loss: {2 / n:.3f}", f"lr: {0.1 / n:.4f}"]
    steps = steps_of(read_log(tmp_path, "\n".join(lines) + "\n"))
    assert steps["lr"] == steps["train loss"] == [*range(1, 7)]


def test_values_above_the_first_counter_are_no_settings_as_a_rate_is_among_them(tmp_path: Path) -> None:
    lines = ["batch_size: 32"]
    for n in range(1, 6):
        lines += [f"train loss: {2 / n:.3f}", f"lr: {0.1 / n:.4f}", f"Epoch {n} done"]
    steps = steps_of(read_log(tmp_path, "\n".join(lines) + "\n"))
    assert steps["train loss"] == [*range(1, 6)]


def test_two_of_the_settings_that_a_training_prints_now_and_then_are_values(tmp_path: Path) -> None:
    lines = ["gamma: 0.99", "epsilon: 1.0", "temperature: 2.0", "batch_size: 32"]
    for n in range(1, 41):
        lines += [f"epoch {n}: train loss {2 / n:.3f}"]
        lines += [f"epsilon: {1 - n / 50:.2f}", f"temperature: {2 - n / 40:.2f}"] if n % 10 == 0 else []
    steps = steps_of(read_log(tmp_path, "\n".join(lines) + "\n"))
    assert steps["epsilon"] == steps["temperature"] == [20, 30, 40]
