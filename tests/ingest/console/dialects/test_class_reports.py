"""Reports of scikit-learn on classes: the data that they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = "".join(
    f"[Epoch {n}/3]\nTrain Loss: 0.{n}, Train Acc: 0.5\nVal Loss: 0.{n}5, Val Acc: 0.4\n" for n in (1, 2, 3)
)
REPORT = (
    "              precision    recall  f1-score   support\n\n"
    "         oak       0.91      0.72      0.81       120\n"
    "         elm       0.64      0.85      0.73        80\n\n"
    "    accuracy                           0.77       200\n"
)
LOGGER = "2026-01-02 10:00:00,123 - INFO - "


def _data(text: str, folder: Path) -> set[str]:
    """The data of the scores of the class `oak`."""
    names = steps_of(read_log(folder, text))
    return {name.partition("/")[0] for name in names if "/oak/" in name}


@pytest.mark.parametrize("logger", ["", LOGGER])
@pytest.mark.parametrize("data", ["Test", "Holdout"])
def test_a_report_right_below_a_result_is_of_its_data(data: str, logger: str, tmp_path: Path) -> None:
    result = f"{logger}{data} Loss: 0.42, {data} Accuracy: 0.77\n{logger}Classification Report:\n"
    assert _data(f"{EPOCHS}{result}{REPORT}", tmp_path) == {data.lower()}


@pytest.mark.parametrize("between", ["", "Restoring the best weights\n", "Images were seen thrice.\n" * 6])
def test_a_report_below_the_last_validation_may_be_of_other_data(between: str, tmp_path: Path) -> None:
    assert _data(f"{EPOCHS}{between}Classification Report:\n{REPORT}", tmp_path) == {"eval"}


def test_a_report_far_below_a_result_is_of_no_known_data(tmp_path: Path) -> None:
    between = "Images were seen thrice.\n" * 6
    text = f"{EPOCHS}Test Loss: 0.42, Test Accuracy: 0.77\n{between}{REPORT}"
    assert _data(text, tmp_path) == {"eval"}


def test_a_report_below_the_heading_of_an_evaluation_is_of_its_data(tmp_path: Path) -> None:
    text = f"{EPOCHS}Evaluating on test set...\nAccuracy: 0.77\nClassification Report:\n{REPORT}"
    assert _data(text, tmp_path) == {"test"}


_EPOCHS = "Epoch 1 loss: 0.5\nEpoch 2 loss: 0.4\n"


def test_the_support_may_be_before_the_scores(tmp_path: Path) -> None:
    text = (
        "Class    Support    Precision    Recall    F1-Score\n" + 50 * "-" + "\n"
        "7        120        0.4100       0.0175    0.0348\n"
        "old oak  300        0.6111       0.3875    0.4680\n"
    )
    steps = steps_of(read_log(tmp_path, _EPOCHS + text))
    assert {name for name in steps if name.startswith("eval/")} == {
        f"eval/{name}/{metric}" for name in ("7", "old oak") for metric in ("precision", "recall", "f1")
    }


def test_rows_of_another_table_with_the_same_classes_are_none(tmp_path: Path) -> None:
    report = "           Precision    Recall    Fscore\n" + "".join(
        f"{name:<10} 0.62{n}024  0.7{n}1135  0.67{n}375\n"
        for n, name in enumerate(("CALM", "WINDY", "STORMY"))
    )
    matrix = "\n    Predicted\n  True  CALM  WINDY  STORMY\n" + "".join(
        f"  {name:<10}  0.{n}  0.{n + 1}  0.1\n" for n, name in enumerate(("CALM", "WINDY", "STORMY"), 2)
    )
    steps = steps_of(read_log(tmp_path, f"{_EPOCHS}{report}{matrix}"))
    assert steps["eval/CALM/precision"] == [2]
    assert not any("repeat" in name for name in steps)
