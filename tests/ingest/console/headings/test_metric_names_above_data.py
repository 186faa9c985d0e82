"""The name of a metric on a line of its own, above lines of nothing but data; names of words with slashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log

N = range(1, 6)


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (
            "Loss:\nTrain: 1.{n}5  Val: 2.{n}5\nAccuracy:\nTrain: 0.{n}5  Val: 0.{n}1\n",
            ["Loss/Train", "Loss/Val", "Accuracy/Train", "Accuracy/Val"],
        ),
        (
            "  Loss\n    Train: 1.{n}5\n    Val: 2.{n}5\n  F1 score\n    Train: 0.{n}5\n    Val: 0.{n}1\n",
            ["Loss/Train", "Loss/Val", "F1 score/Train", "F1 score/Val"],
        ),
        ("Train: 1.{n}5  Val: 2.{n}5\n", ["Train", "Val"]),
    ],
)
def test_data_below_the_name_of_a_metric_are_named_after_it(
    tmp_path: Path, block: str, names: list[str]
) -> None:
    text = "".join(f"Epoch {n}\n{block.format(n=n)}" for n in N)
    assert_steps(tmp_path, f"Using device: cpu\n{text}", {name: [*N] for name in names})


def test_a_metric_above_an_epoch_names_nothing_of_the_next_one(tmp_path: Path) -> None:
    text = "Epoch 1\nLoss:\nTrain: 1.5  Val: 2.5\n" + "".join(
        f"Epoch {n}\nTrain: 1.{n}  Val: 2.{n}\n" for n in range(2, 6)
    )
    expected = {"Loss/Train": [1], "Loss/Val": [1], "Train": [2, 3, 4, 5], "Val": [2, 3, 4, 5]}
    assert_steps(tmp_path, text, expected)


def test_names_of_several_words_are_listed_with_slashes(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: train loss / val loss: 1.{n}5 / 2.{n}5\n" for n in N)
    assert_steps(tmp_path, text, {"train loss": [*N], "val loss": [*N]})


@pytest.mark.parametrize("prefix", ["", "[{731.py:7} INFO - ", "INFO: "])
def test_a_loss_of_nothing_but_data_names_the_data_of_the_line_below(prefix: str, tmp_path: Path) -> None:
    epochs = "".join(f"{prefix}Epoch {n}, objective = 0.9{n}, val = 0.8{n}\n" for n in (1, 2, 3))
    results = "".join(
        f"{prefix}{data}: 0.5{n}1\n{prefix}HeadNLL:0.4{n}1 TailNLL:0.1000 Acc:0.9{n}1\n"
        for n, data in enumerate(("Train", "Val", "Test"))
    )
    run = read_log(tmp_path, epochs + results)
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["Train"] == [0.501]
    assert values["Acc"] == [0.901]
    assert (values["val/HeadNLL"], values["val/Acc"]) == ([0.411], [0.911])
    assert (values["test/TailNLL"], values["test/Acc"]) == ([0.1], [0.921])
    assert all(not key.labels for key in run.data.series)
