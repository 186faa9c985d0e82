"""Settings are found under the names of all frameworks, and not mixed up with others."""

from __future__ import annotations

import pytest

from holter.config_keys import common_name, common_names, is_called


@pytest.mark.parametrize(
    ("name", "common"),
    [
        ("lr", "learning_rate"),
        ("optimizer.lr", "learning_rate"),
        ("learning-rate", "learning_rate"),
        ("trainer.learningRate", "learning_rate"),
        ("config.optim.base_lr", "learning_rate"),
        ("optimizer.name", "optimizer"),
        ("optimizer._target_", "optimizer"),
        ("n_embd", "hidden_size"),
        ("model.n_layers", "num_layers"),
        ("train.batch_size", "batch_size"),
        ("eval.batch_size", "eval.batch_size"),
        ("args.my-own-flag", "my_own_flag"),
        ("model.rope.theta", "model.rope.theta"),
    ],
)
def test_settings_have_common_names(name: str, common: str) -> None:
    assert common_name(name) == common


def test_two_settings_of_one_run_never_share_a_name() -> None:
    assert common_names(["generator.lr", "discriminator.lr", "wd"]) == {
        "generator.lr": "generator.lr",
        "discriminator.lr": "discriminator.lr",
        "wd": "weight_decay",
    }


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("optimizer.lr", "lr", True),
        ("learning_rate", "lr", True),
        ("generator.lr", "learning_rate", True),
        ("generator.lr", "optimizer.lr", False),
        ("trainer.optimizer.lr", "optimizer.lr", True),
        ("model.rope_theta", "rope_theta", True),
        ("model.rope_theta", "theta", False),
        ("eval.batch_size", "batch_size", True),
        ("min_lr", "lr", False),
    ],
)
def test_a_wanted_name_means_settings(name: str, wanted: str, expected: bool) -> None:
    assert is_called(name, wanted) is expected
