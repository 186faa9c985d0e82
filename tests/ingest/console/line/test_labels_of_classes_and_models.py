"""Lines that name one of several classes, models, agents or thresholds: each has its own series."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a label with numbers between a count and its metric": (
        "".join(f"[{n + 1}/6] - 3-way-5-shot - Acc: 7{n}.5 - 9.25 s - ['cat', 'dog']\n" for n in range(6)),
        {"Acc": [*range(1, 7)]},
    ),
    "rows by category": (
        "".join(
            f"Epoch {n}, loss: 0.5\nCategory: person Accuracy 0.2 F1 0.{n}\n"
            "Category: street Accuracy 0.3 F1 0.4\n"
            for n in range(1, 5)
        ),
        {
            "loss": [1, 2, 3, 4],
            **{
                f"{name}/category={of}": [1, 2, 3, 4]
                for name in ("Accuracy", "F1")
                for of in ("person", "street")
            },
        },
    ),
    "metrics of several models in a line": (
        "".join(
            f"==> valid iteration {n}00: unet metrics: {{'dc': 0.35{n}}}, ynet metrics: {{'dc': 0.34{n}}}\n"
            f"iteration {n}00 | teacher loss 0.1, acc 0.2 | student loss 0.3, acc 0.4 | ema loss 2, acc 1\n"
            for n in range(1, 5)
        ),
        {
            name: [100, 200, 300, 400]
            for name in (
                "valid/unet/dc",
                "valid/ynet/dc",
                "teacher loss",
                "teacher/acc",
                "student loss",
                "student/acc",
                "ema loss",
                "ema/acc",
            )
        },
    ),
    "a model at the end of each row": (
        "".join(
            f"Epoch {n}/5 | loss 1.{n}{len(name)} | acc 0.{n}{len(name)} | Model {name}\n"
            for n in range(1, 6)
            for name in ("unet", "segformer")
        ),
        {name: [*range(1, 6)] for name in ("loss", "acc", "loss/model=segformer", "acc/model=segformer")},
    ),
    "rows of agents whose numbers are in their names": (
        "".join(
            f"Episode {n}/3 | avg_turns=1{n}.5\n"
            + "".join(f"  player_{k} avg_reward={n}.{k}  pl=-0.{n}{k}  ent=1.{n}{k}\n" for k in (0, 1))
            for n in N
        ),
        {"avg_turns": [*N]}
        | {f"player_{k}/{name}": [*N] for k in (0, 1) for name in ("avg_reward", "pl", "ent")},
    ),
    "two of one line are no subject of it": (
        "".join(f"Episode {n} player: red reward: {n}.5 player: blue reward: {n}.25\n" for n in N),
        {"red reward": [*N], "blue reward": [*N]},
    ),
    "names of classes that are padded": (
        "".join(
            f"Epoch {n} loss: 2.{n}\nAccuracy for class: cat   is 9{n}.1 %\n"
            f"Accuracy for class: horse is 8{n}.1 %\n"
            for n in range(6)
        ),
        {"loss": [*range(6)]}
        | {f"Accuracy for class: {name}/class={name}": [*range(6)] for name in ("cat", "horse")},
    ),
    "a class before the first of the names of its line": (
        "".join(
            f"Epoch {n}/6\n"
            + "".join(
                f"  {name} precision: 0.{n}{at} | recall: 0.{at}{n}\n"
                for at, name in ((1, "oak"), (2, "elm"))
            )
            for n in range(1, 7)
        ),
        {name: [*range(1, 7)] for name in ("oak precision", "recall", "elm precision", "elm/recall")},
    ),
    "rows of several data sets at an epoch": (
        "".join(f"Epoch 00{n} | Dataset 0{row} | NMI 0.1 | AUC 0.5\n" for n in N for row in range(2)),
        {f"{name}/dataset={row}": [1, 2, 3] for name in ("NMI", "AUC") for row in range(2)},
    ),
    "rows of classes below an epoch": (
        "".join(
            f"Epoch {n}/9\n  Train Loss: 0.5\n"
            + "".join(
                f"  Class {row}: Acc → Train: 0.9, Val: 0.8;  AUC → Train: 0.7, Val: 0.6\n" for row in N
            )
            for n in N
        ),
        {
            "Train Loss": [1, 2, 3],
            **{
                f"{name}/{data}/class={row}": [1, 2, 3]
                for name in ("Acc", "AUC")
                for data in ("Train", "Val")
                for row in N
            },
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_have_the_label_of_their_class_or_model(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_reports_on_classes_are_named_after_their_data(tmp_path: Path) -> None:
    report = (
        "         precision    recall  f1-score   support\n\n   0      1.000     0.143     0.250        14\n"
    )
    text = "".join(f"Epoch {n}, loss: 0.{n}\n" for n in range(1, 5))
    text += f"INFO - Running validation evaluation...\n{report}INFO - Running test evaluation...\n{report}"
    names = {*steps_of(read_log(tmp_path, text))}
    assert names == {
        "loss",
        *(f"{of}/0/{name}" for of in ("validation", "test") for name in ("precision", "recall", "f1")),
    }


@pytest.mark.parametrize("name", ["Success ratio", "recall", "Precision of boxes"])
def test_metrics_at_thresholds_are_told_apart(name: str, tmp_path: Path) -> None:
    rows = "".join(f"0.3 {name} :0.4{n}\n.75 {name}: 0.2{n}\nPair loss: 1.{n}\n\n" for n in (1, 2, 1, 3))
    run = read_log(tmp_path, rows)
    assert run.attempts == 1
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values == {
        f"0.3 {name}": [0.41, 0.42, 0.41, 0.43],
        f".75 {name}": [0.21, 0.22, 0.21, 0.23],
        "Pair loss": [1.1, 1.2, 1.1, 1.3],
    }


def test_reports_on_classes_may_end_in_another_column(tmp_path: Path) -> None:
    text = (
        "Epoch 1 loss: 0.5\nEpoch 2 loss: 0.4\n\n              precision    recall   f1-score   tests\n\n"
        "           A       0.98      0.97      0.96      2774\n"
        "           0       0.59      0.86      0.70      1381\n"
    )
    assert steps_of(read_log(tmp_path, text))["eval/A/precision"] == [2]
