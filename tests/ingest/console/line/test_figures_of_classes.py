"""Precision, recall and F-score of classes, and how many there are of each, which is no metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

_EPOCHS = range(1, 8)


def _log(*rows: str) -> str:
    """An epoch with a row for each class below it; `{}` are its digits."""
    return "".join(
        f"Epoch {epoch} loss 0.{epoch}\n" + "".join(f"{row.replace('{}', str(epoch))}\n" for row in rows)
        for epoch in _EPOCHS
    )


@pytest.mark.parametrize(
    "figures",
    [
        "precision:  81.{}2%; recall:  80.{}1%; FB1:  80.{}5  12{}",
        "precision: 81.{}2%; recall: 80.{}1%; FB1: 80.{}5 12{}",
        "prec: 0.{}2, rec: 0.{}1, f1-score: 0.{}5 12{}",
        "P: 0.{}2 R: 0.{}1 F1: 0.{}5  12{}",
    ],
)
@pytest.mark.parametrize("prefix", ["", "INFO:root:"])
def test_a_number_behind_the_f_score_of_a_class_is_no_value(
    tmp_path: Path, figures: str, prefix: str
) -> None:
    rows = [f"{prefix}     oak: {figures}", f"{prefix} plum: {figures}"]
    steps = steps_of(read_log(tmp_path, _log(*rows)))
    assert len(steps) == 1 + 2 * 3
    assert not any(name.endswith(" 2") for name in steps)
    assert all(each == [*_EPOCHS] for each in steps.values())


def test_one_of_all_is_apart_from_those_of_classes(tmp_path: Path) -> None:
    rows = [
        "accuracy:  9{}.12%; precision:  7{}.13%; recall:  6{}.14%; FB1:  8{}.15",
        "     oak: precision:  4{}.12%; recall:  3{}.11%; FB1:  2{}.15  12{}",
    ]
    assert steps_of(read_log(tmp_path, _log(*rows))).keys() == {
        *("loss", "accuracy", "precision", "recall", "FB1"),
        *("oak/precision", "oak/recall", "oak/FB1"),
    }


def test_several_f_scores_are_values(tmp_path: Path) -> None:
    names = steps_of(read_log(tmp_path, _log("precision: 0.{}1, recall: 0.{}2, F1: 0.{}5 0.{}6 0.{}7")))
    assert {"F1", "F1 2", "F1 3"} <= names.keys()


def test_classes_before_single_letters_are_apart(tmp_path: Path) -> None:
    rows = ["oak P: 0.1{} R: 0.2{} F1: 0.3{}", "plum P: 0.4{} R: 0.5{} F1: 0.6{}"]
    run = read_log(tmp_path, _log(*rows))
    values = {key.metric: series.value[0] for key, series in run.data.series.items() if not key.labels}
    del values["loss"]
    assert values == {
        **{"oak P": 0.11, "R": 0.21, "F1": 0.31},
        **{"plum P": 0.41, "plum/R": 0.51, "plum/F1": 0.61},
    }
