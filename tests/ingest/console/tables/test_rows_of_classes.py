"""A class that is called `train`, as in Pascal VOC, is no data of the training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

CLASSES = ("lamp", "tram", "yacht", "train", "zebra")
STEPS = "".join(f"Epoch {{0}} iter {n}/80 loss: 0.{n}\n" for n in (40, 80))


def text_of(rows: str, heading: str = "", below: str = "") -> str:
    """Three epochs, each with a row for each class."""
    return "".join(
        STEPS.format(epoch)
        + heading
        + "".join(
            rows.format(name=name, a=f"0.{epoch}{n}", b=f"0.{n}{epoch}") for n, name in enumerate(CLASSES)
        )
        + below
        for epoch in (1, 2, 3)
    )


@pytest.mark.parametrize(
    ("rows", "heading", "names"),
    [
        ("{name} {a} {b}\n", "class  IoU  Acc\n", ("eval/{}/IoU", "eval/{}/Acc")),
        ("| {name} | {a} | {b} |\n", "| object | IoU | Acc |\n", ("eval/{}/IoU", "eval/{}/Acc")),
        ("{name:<9}: {a}\n", "Validation results:\n", ("validation/{}",)),
        ("  {name} {a}\n", "Eval:\n", ("eval/{}",)),
        ("{name}\t{a}\n", "Category\tIoU\n", ("eval/{}/IoU",)),
        (
            "{name}: precision {a} recall {b}\n",
            "test results:\n",
            ("test/{}/precision", "test/{}/recall"),
        ),
    ],
)
def test_a_row_of_a_class_that_is_called_train_is_of_the_evaluation(
    tmp_path: Path, rows: str, heading: str, names: tuple[str, ...]
) -> None:
    steps = steps_of(read_log(tmp_path, text_of(rows, heading, "mIoU: 0.5\n")))
    of_classes = {name for name in steps if "IoU" not in name or "/IoU" in name} - {"loss", "Epoch"}
    assert of_classes - {"eval/mIoU"} == {name.format(each) for name in names for each in CLASSES}
    assert steps[names[0].format("train")] == [80, 160, 240]


@pytest.mark.parametrize(
    ("rows", "name"),
    [("{name} ap: {a}\n", "class train ap"), ("Class {name} AP: {a} recall: {b}\n", "Class train AP")],
)
def test_a_class_without_a_heading_above_is_named_as_one(tmp_path: Path, rows: str, name: str) -> None:
    steps = steps_of(read_log(tmp_path, text_of(rows, below="mAP: 0.7\n")))
    assert steps[name] == [80, 160, 240]


def test_a_line_with_numbers_of_classes_has_that_of_train(tmp_path: Path) -> None:
    line = "AP: {{'lamp': 0.1{0}, 'tram': 0.2{0}, 'yacht': 0.3{0}, 'train': 0.4{0}, 'zebra': 0.5{0}}}\n"
    run = read_log(tmp_path, "".join(STEPS.format(epoch) + line.format(epoch) for epoch in (1, 2, 3)))
    values = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    assert values["class train"] == [0.41, 0.42, 0.43]
    assert values["tram"] == [0.21, 0.22, 0.23]


@pytest.mark.parametrize(
    "above", ["lr: 0.1\ntime: 0.5\ngrad_norm: 0.25\n", "val: 0.7\ndev: 0.8\ntest: 0.9\n"]
)
def test_the_loss_of_the_training_below_other_numbers_is_no_class(tmp_path: Path, above: str) -> None:
    text = "".join(f"Epoch {n}\n{above}train: 0.{n}\n" for n in (1, 2, 3))
    assert steps_of(read_log(tmp_path, text))["train"] == [1, 2, 3]


def test_columns_of_classes_side_by_side_and_empty_cells_are_read(tmp_path: Path) -> None:
    table = (
        "| category | AP | category | AP |\n|:---|:---|:---|:---|\n| lamp | 1{0}.5 | tram | 2{0}.5 |\n"
        "| train | 3{0}.5 |     |    |\n| class | gts | ap |\n| yacht | 7 | 0.{0} |\n| mAP |    | 0.{0}5 |\n"
    )
    steps = steps_of(read_log(tmp_path, "".join(STEPS.format(n) + table.format(n) for n in (1, 2))))
    for name in ("lamp/AP", "tram/AP", "train/AP", "yacht/ap", "mAP/ap"):
        assert steps[f"eval/{name}"] == [80, 160]


@pytest.mark.parametrize("name", ["", "{word}\t"], ids=["identifiers", "identifiers and names"])
def test_rows_of_classes_may_have_amounts_and_identifiers(tmp_path: Path, name: str) -> None:
    rows = "".join(
        f"0{number}\t80\t0.{number % 97}5\t1.{number % 89}5\t{name.format(word=word)}\n"
        for word, number in (("cup", 1234567), ("bed", 2345678))
    )
    heading = "Taxonomy\t#Sample\tCD\tF1\t" + ("#ModelName\t" if name else "")
    text = "".join(
        f"Epoch {n} loss: 0.{n}\n==== TEST RESULTS ====\n{heading}\n{rows}Overall\t\t0.{n}\t1.{n}\t\n\n"
        for n in (1, 2, 3)
    )
    names = [f"test/{row}/{score}" for row in ("01234567", "02345678", "Overall") for score in ("CD", "F1")]
    assert steps_of(read_log(tmp_path, text)) == {each: [1, 2, 3] for each in ("loss", *names)}
