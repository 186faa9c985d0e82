"""Tables in JSON that was given by hand: records, columns as pandas writes them, charts of TensorBoard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.read_run import OfflineRun
from tests.support.log_runs import read_log, steps_of

LOSSES = [2.5, 2.25, 2.125, 2.0]
RECORDS: list[dict[str, Any]] = [{"loss": loss, "acc": 1 / loss} for loss in LOSSES]
KEYED = {"loss": [0, 1, 2, 3], "acc": [0, 1, 2, 3]}


def steps(value: Any, tmp_path: Path, name: str = "history.json", **options: Any) -> dict[str, list[int]]:
    run = read_log(tmp_path, json.dumps(value, **options), name)
    assert run.attempts == 1
    return steps_of(run)


@pytest.mark.parametrize("options", [{}, {"indent": 2}])
@pytest.mark.parametrize(
    "value",
    [
        RECORDS,
        {"history": RECORDS},
        {"args": {"lr": 0.1, "epochs": 4}, "log": RECORDS, "best": 2.0},
        {str(number): record for number, record in enumerate(RECORDS)},
        {f"epoch_{number}": record for number, record in enumerate(RECORDS)},
        {name: {str(n): record[name] for n, record in enumerate(RECORDS)} for name in ("loss", "acc")},
    ],
)
def test_the_order_of_records_or_their_keys_are_their_steps(
    value: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    assert steps(value, tmp_path, **options) == KEYED


def test_a_step_of_records_is_theirs(tmp_path: Path) -> None:
    records = [{"epoch": 5 * number, **record} for number, record in enumerate(RECORDS)]
    assert steps({"history": records}, tmp_path) == {"loss": [0, 5, 10, 15], "acc": [0, 5, 10, 15]}


def test_several_tables_are_named_after_their_keys(tmp_path: Path) -> None:
    found = steps({"train": RECORDS, "val": RECORDS}, tmp_path)
    assert {*found} == {"train/loss", "train/acc", "val/loss", "val/acc"}


def test_points_of_a_chart_are_named_after_their_tag(tmp_path: Path) -> None:
    points = [[1_700_000_000.5 + n, 10 * n, loss] for n, loss in enumerate(LOSSES)]
    assert steps(points, tmp_path, "run-train-tag-epoch_loss.json") == {"epoch_loss": [0, 10, 20, 30]}


def test_lines_without_a_step_are_counted(tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in RECORDS)
    assert steps_of(read_log(tmp_path, text, "stats.jsonl")) == KEYED


def test_lists_of_all_epochs_remain_those(tmp_path: Path) -> None:
    value = {"config": {"layers": [64, 128, 256]}, "history": {"loss": LOSSES}}
    assert steps(value, tmp_path) == {"history/loss": [0, 1, 2, 3]}


def values(run: OfflineRun) -> dict[str, dict[int, float]]:
    return {
        key.metric: dict(zip(series.step.tolist(), series.value.tolist(), strict=True))
        for key, series in run.data.series.items()
    }


@pytest.mark.parametrize(
    "document",
    [
        {
            "train_loss": [[10 * n, loss] for n, loss in enumerate(LOSSES)],
            "val_loss": [[0, 3], [5, 2], [9, 1]],
        },
        {
            "train_loss": [{"step": 10 * n, "value": loss} for n, loss in enumerate(LOSSES)],
            "val_loss": [{"step": n, "value": loss} for n, loss in ((0, 3), (5, 2), (9, 1))],
        },
        {
            "train_loss": {str(10 * n): loss for n, loss in enumerate(LOSSES)},
            "val_loss": {"0": 3, "5": 2, "9": 1},
        },
    ],
    ids=["pairs", "objects with a value", "keys"],
)
def test_series_of_a_document_have_steps_of_their_own(document: dict[str, Any], tmp_path: Path) -> None:
    found = values(read_log(tmp_path, json.dumps({"lr": 0.1, **document}), "history.json"))
    assert found == {
        "train_loss": {10 * n: loss for n, loss in enumerate(LOSSES)},
        "val_loss": {0: 3, 5: 2, 9: 1},
    }


def test_lists_of_values_next_to_a_table_are_read(tmp_path: Path) -> None:
    evaluations = [{"map": 0.1 * n} for n in range(4)]
    run = read_log(tmp_path, json.dumps({"train_loss": LOSSES, "val": evaluations}), "history.json")
    assert steps_of(run) == {"train_loss": [0, 1, 2, 3], "val/map": [0, 1, 2, 3]}


def test_values_of_classes_are_no_history(tmp_path: Path) -> None:
    of_classes = {"per_class_acc": {"0": 0.5, "1": 0.25, "2": 0.75}}
    run = read_log(tmp_path, json.dumps({"history": RECORDS, **of_classes}), "history.json")
    assert steps_of(run) == KEYED


def test_lines_of_an_epoch_each_are_one_table(tmp_path: Path) -> None:
    text = "".join(json.dumps({str(n): record}) + "\n" for n, record in enumerate(RECORDS))
    assert steps_of(read_log(tmp_path, text, "stats.jsonl")) == KEYED


@pytest.mark.parametrize("name", ["gen", "t", "steps", "tokens_seen"])
def test_what_goes_up_by_its_name_is_the_step(name: str, tmp_path: Path) -> None:
    records = [{"score": loss, name: 7 * n * n} for n, loss in enumerate(LOSSES)]
    assert steps({"history": records}, tmp_path) == {"score": [0, 7, 28, 63]}


def test_lengths_of_episodes_are_values(tmp_path: Path) -> None:
    records = [{"reward": loss, "steps": 7 - n % 2} for n, loss in enumerate(LOSSES)]
    assert steps(records, tmp_path) == {"reward": [0, 1, 2, 3], "steps": [0, 1, 2, 3]}


def test_a_long_history_is_read_whatever_is_next_to_it(tmp_path: Path) -> None:
    episodes = [*range(10)]
    document = {
        "episode_rewards": [n / 2 for n in episodes],
        "episode_metrics": [{"throughput": 100.5, "delay": 7.5, "packets": 60, "lost": n} for n in episodes],
    }
    run = read_log(tmp_path, json.dumps(document), "history.json")
    assert steps_of(run)["episode_rewards"] == steps_of(run)["episode_metrics/delay"] == episodes


def test_trainings_in_a_list_are_labelled(tmp_path: Path) -> None:
    runs = [
        {"seed": seed, "loss": LOSSES * 2, "val": [{"epoch": n, "acc": n / 8} for n in range(1, 6)]}
        for seed in (3, 7)
    ]
    run = read_log(tmp_path, json.dumps({"lr": 0.1, "runs": runs}), "runs.json")
    assert run.attempts == 1
    assert {(key.metric, key.labels): series.step.tolist() for key, series in run.data.series.items()} == {
        (metric, labels): steps
        for metric, steps in (("loss", [*range(8)]), ("val/acc", [*range(1, 6)]))
        for labels in ((), (("seed", "7"),))
    }


def test_lists_of_records_are_no_trainings(tmp_path: Path) -> None:
    records = [{"loss": loss, "client_loss": [loss + n / 8 for n in range(6)]} for loss in LOSSES]
    found = steps(records, tmp_path)
    assert found["loss"] == found["client_loss"] == found["client_loss 6"] == [0, 1, 2, 3]


def test_parts_of_a_document_have_their_own_epochs(tmp_path: Path) -> None:
    document = {
        "train": {"epochs": [*range(1, 9)], "loss": LOSSES * 2},
        "val": {"epochs": [2, 4, 6, 8], "loss": LOSSES},
    }
    assert steps(document, tmp_path) == {"train/loss": [*range(1, 9)], "val/loss": [2, 4, 6, 8]}


def test_trainings_in_several_lists_are_told_apart_by_the_keys_of_these(tmp_path: Path) -> None:
    histories = [{"epoch": [*range(8)], "loss": [1 / (n + m + 1) for n in range(8)]} for m in range(3)]
    document = {
        key: {"configs": [{"layers": n, "lr": 0.1} for n in range(3)], "histories": histories}
        for key in ("depth", "width")
    }
    run = read_log(tmp_path, json.dumps(document), "histories.json")
    names = ["loss", "loss/training=2", "loss/training=3"]
    names += ["loss/list=width", "loss/list=width/training=2", "loss/list=width/training=3"]
    assert steps_of(run) == {name: [*range(8)] for name in names}


def test_folds_under_keys_that_count_are_no_steps(tmp_path: Path) -> None:
    document = {"folds": {str(fold): {"train_loss": [0.5] * 6, "val_acc": [0.25] * 6} for fold in range(3)}}
    run = read_log(tmp_path, json.dumps(document), "folds.json")
    assert set(map(tuple, steps_of(run).values())) == {tuple(range(6))}
    assert len(run.data.series) == 6


@pytest.mark.parametrize("cell", [{"loss": 0.5}, 0.5], ids=["records", "numbers"])
def test_batches_under_epochs_are_continued(tmp_path: Path, cell: Any) -> None:
    document = {f"epoch_{epoch}": {f"{batch}": cell for batch in range(5)} for epoch in (1, 2, 3)}
    name = "loss" if isinstance(cell, dict) else "value"
    assert steps(document, tmp_path) == {"epoch": [*range(15)], name: [*range(15)]}


def test_counts_of_classes_are_no_batches(tmp_path: Path) -> None:
    confusion = {str(row): {str(column): 7 * row + column for column in range(4)} for row in range(4)}
    assert steps_of(read_log(tmp_path, json.dumps(confusion), "confusion.json")) == {}


def test_values_in_lists_have_the_names_that_the_document_states(tmp_path: Path) -> None:
    document = {
        "meta": {"fit_metrics": [{"name": "Logloss"}, {"name": "F1"}], "held_metrics": ["Logloss", "F1"]},
        "left": [],
        "iterations": [{"iteration": n, "fit": [0.5, 0.25], "held": [0.75, 0.125]} for n in range(4)],
    }
    names = ("fit/Logloss", "fit/F1", "held/Logloss", "held/F1")
    assert steps(document, tmp_path) == {name: [0, 1, 2, 3] for name in names}
