"""Which folder is a run, and the names that users of each tool expect for their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.discovery.run_layout import RunAssignment, assign_file, assign_tree, chronological_key
from holter.types import labels_of

ROOT = Path("/logs/project")


def events(process: str = "node7.4711", seconds: int = 1_700_000_000, uid: int = 0) -> str:
    return f"events.out.tfevents.{seconds}.{process}.{uid}"


def placed(*files: str, one_run: bool = False) -> dict[str, RunAssignment]:
    places = assign_tree(ROOT, [ROOT / file for file in files], one_run=one_run)
    return {path.relative_to(ROOT).as_posix(): place for path, place in places.items()}


def runs(*files: str) -> list[str]:
    return [placed(*files)[file].run for file in files]


def test_tensorboard_users_find_a_run_per_folder() -> None:
    files = [f"exp1/{events()}", f"exp2/{events('node8.1')}", f"sweep/lr-1/{events('node9.1')}"]
    assert runs(*files) == ["exp1", "exp2", "sweep/lr-1"]


def test_lightning_users_find_a_run_per_version() -> None:
    files = [f"lightning_logs/version_0/{events()}", "lightning_logs/version_1/metrics.csv"]
    assert runs(*files) == ["lightning_logs/version_0", "lightning_logs/version_1"]


def test_hugging_face_users_find_a_run_per_launch_under_its_output_folder() -> None:
    file = f"llama-ft/runs/May05_12-30-00_node7/{events()}"
    assert runs(file) == ["llama-ft/runs/May05_12-30-00_node7"]


def test_keras_train_and_validation_are_one_run_reported_apart_by_prefix() -> None:
    files = [f"20240505-123000/train/{events()}.v2", f"20240505-123000/validation/{events(uid=1)}.v2"]
    places = placed(*files)
    assert [(places[file].run, places[file].prefix) for file in files] == [
        ("20240505-123000", "train/"),
        ("20240505-123000", "validation/"),
    ]


def test_keras_folders_directly_below_the_watched_one_are_a_run_named_after_it() -> None:
    assert runs(f"train/{events()}", f"validation/{events(uid=1)}") == ["project", "project"]


def test_an_estimators_eval_folder_belongs_to_its_run() -> None:
    files = [f"model/{events()}", f"model/eval/{events(uid=1)}"]
    places = placed(*files)
    assert [(places[file].run, places[file].prefix) for file in files] == [("model", ""), ("model", "eval/")]


def test_add_scalars_folders_are_labels_of_their_run() -> None:
    file = f"exp1/loss_train/{events(uid=2)}"
    place = placed(f"exp1/{events()}", file)[file]
    assert (place.run, place.labels) == ("exp1", labels_of({"folder": "loss_train"}))


def test_the_watched_folder_may_be_a_run_with_sub_writers_of_its_process() -> None:
    file = f"loss_train/{events(uid=2)}"
    places = placed(events(), file)
    assert [place.run for place in places.values()] == ["project", "project"]
    assert places[file].labels == labels_of({"folder": "loss_train"})


def test_a_watched_folder_with_a_stray_log_retains_its_runs_apart() -> None:
    files = ["summary.csv", f"exp1/{events()}", f"exp2/{events('node8.1')}"]
    assert runs(*files) == ["project", "exp1", "exp2"]


def test_folders_of_ranks_are_labels() -> None:
    files = [f"exp1/{events()}", f"exp1/rank_3/{events('node8.12')}"]
    assert placed(*files)[files[1]].labels == labels_of({"rank": 3})


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        (events(), "node7.4711"),
        (events(uid=3), "node7.4711"),
        (f"{events()}.v2", "node7.4711"),
        ("events.out.tfevents.1700000000.ip-10-0-0-1.ec2.internal.52.0", "ip-10-0-0-1.ec2.internal.52"),
        ("events.out.tfevents.1700000000.10.0.0.5.123.0", "10.0.0.5.123"),
        ("events.out.tfevents.1700000000.laptop", "laptop"),
        ("metrics.csv", "metrics.csv"),
    ],
)
def test_a_writer_is_a_process_where_the_name_shows_it_and_a_file_elsewhere(name: str, writer: str) -> None:
    assert placed(f"exp1/{name}")[f"exp1/{name}"].writer == writer


def test_everything_below_a_single_runs_folder_is_that_run() -> None:
    files = [
        f"out/runs/May05_12-30-00_node7/{events()}",
        f"out/runs/May06_08-00-00_node7/{events('node7.12', 1_700_086_400)}",
    ]
    places = placed(*files, one_run=True)
    assert [(place.run, place.labels) for place in places.values()] == [("project", ()), ("project", ())]
    assert len({place.writer for place in places.values()}) == 2


@pytest.mark.parametrize(
    ("file", "run"),
    [
        ("exp1/loss-curve.csv", "loss-curve"),
        ("exp1/metrics.csv", "exp1"),
        ("exp1/attempt-3.csv.gz", "exp1"),
        (f"exp1/{events()}", "exp1"),
    ],
)
def test_a_file_watched_by_itself_is_a_run(file: str, run: str) -> None:
    assert assign_file(ROOT / file).run == run


def test_files_are_read_in_the_order_in_which_they_were_begun() -> None:
    names = [
        events(seconds=1_700_000_100),
        events("node7.99", 1_700_000_000),
        "attempt-10.csv",
        "attempt-9.csv",
    ]
    ordered = sorted((ROOT / name for name in names), key=chronological_key)
    assert [path.name for path in ordered] == [names[3], names[2], names[1], names[0]]


def test_a_run_that_puts_logs_and_event_files_in_folders_of_their_own_is_one() -> None:
    files = [f"exp1/tensorboard/{events()}", "exp1/logs/train.log", "exp1/logs/nccl_logs/node7.log"]
    places = placed(*files, f"exp2/tb/{events('node9.1')}")
    assert [places[file].run for file in (*files, f"exp2/tb/{events('node9.1')}")] == ["exp1"] * 3 + ["exp2"]
    assert {places[file].labels for file in files} == {()}, "where a run keeps its logs is no label"
    assert placed(*files, one_run=True)[files[0]].labels == ()


def test_folders_of_outputs_that_hold_runs_are_not_joined() -> None:
    files = [f"tensorboard/exp1/{events()}", f"tensorboard/exp2/{events('node9.1')}", "logs/exp1/out.log"]
    assert runs(*files) == ["tensorboard/exp1", "tensorboard/exp2", "logs/exp1"]
    assert runs(f"logs_exp1/{events()}", "logs_exp2/out.log") == ["logs_exp1", "logs_exp2"]


def test_a_watched_run_folder_that_is_split_is_one_run_named_after_it() -> None:
    assert runs(f"tensorboard/{events()}", "logs/out.log", "metrics.jsonl") == ["project"] * 3
