"""Launches that only evaluate: they train nothing again, and are apart from the launch before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

OPENINGS = {
    "a prompt": "ann@box:~/x$ python main.py --mode {0}\n",
    "nohup": "nohup: ignoring input\n",
    "arguments": "Namespace(lr=0.1, mode='{0}')\n",
    "opening lines": "Mode: {0}\nUsing the device cuda\nReading data of out/x.csv\nBuilding the network\n",
}
LOADED = "Loaded the weights of best.pth\n"


def trained(first: int, last: int) -> str:
    return "".join(f"Epoch {n}/9: loss 0.{n} val loss 0.{n + 40}\n" for n in range(first, last + 1))


@pytest.fixture(params=OPENINGS.values(), ids=OPENINGS)
def opening(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_it_prints_has_its_label(tmp_path: Path, opening: str) -> None:
    tested = opening.format("test") + LOADED + "Test loss: 0.7, test acc: 0.3\n"
    run = read_log(tmp_path, opening.format("train") + trained(1, 6) + tested)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["loss"] == steps["val loss"] == [*range(1, 7)]
    # arguments alone say little: at the last step, other metrics may be of the same launch
    label = "" if opening == OPENINGS["arguments"] else "/launch=2"
    assert steps[f"Test loss{label}"] == steps[f"test acc{label}"] == [6]


@pytest.mark.parametrize("tests", [1, 3])
def test_the_next_training_is_an_attempt(tmp_path: Path, reading: Any, opening: str, tests: int) -> None:
    tested = opening.format("test") + LOADED + "Epoch 2/9: val loss 0.7\n"
    train = opening.format("train")
    text = train + trained(1, 6) + tests * tested + train + trained(1, 9) + tested
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    steps = steps_of(run)
    assert steps["loss"] == steps["val loss"] == [*range(1, 7), *range(1, 10)]
    assert {name for name in steps if "launch" in name} == {
        f"val loss/launch={number}" for number in range(2, 2 + tests)
    }
    content = text.encode()
    assert reading.read_restarted("train.log", content, every=1) == reading.read_complete(
        "train.log", content
    )


def test_an_evaluation_before_a_training_is_of_its_launch(tmp_path: Path, opening: str) -> None:
    launch = opening.format("train") + "Epoch 0/9: val loss 2.3\n" + trained(1, 6)
    run = read_log(tmp_path, launch + launch)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [*range(1, 7)] * 2, "val loss": [*range(7)] * 2}


@pytest.mark.parametrize("launches", [1, 2, 5])
def test_results_without_any_position_are_read(tmp_path: Path, launches: int) -> None:
    text = "".join(f"Loading out/{n}.pth\nTest loss: 0.{n}5, Test acc: 0.{n}\n" for n in range(launches))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    labels = ["", *(f"/launch={number}" for number in range(2, launches + 1))]
    assert steps_of(run) == {f"Test {name}{label}": [0] for name in ("loss", "acc") for label in labels}


def test_results_below_a_heading_are_of_its_data_without_any_position(tmp_path: Path) -> None:
    text = "Loading out/best.pth\nTesting...\n10:00:01 INFO loss: 0.5\n10:00:01 INFO accuracy: 81.5%\n"
    assert steps_of(read_log(tmp_path, text)) == {"testing/loss": [0], "testing/accuracy": [0]}


def test_settings_and_results_of_epochs_are_no_results_of_launches(tmp_path: Path) -> None:
    assert steps_of(read_log(tmp_path, "model: oak\nlr: 0.1\nloss: 0.5\n")) == {}
    epochs = "".join(f"Evaluating the model\nTrain loss: 1.{n}\nVal loss: 2.{n}\n" for n in range(6))
    assert steps_of(read_log(tmp_path, epochs)) == {"Train loss": [*range(6)], "Val loss": [*range(6)]}


def test_results_of_trainings_that_are_appended_behind_a_date(tmp_path: Path) -> None:
    text = "".join(
        f"\n\n2024-02-0{n} 1{n}:29:25.783002 CNN parameters\nFeatures 5120\ncolumns: [], target: price\n"
        f"executed 65.8{n} minutes\nLoss: 0.5{n}\nAccuracy: 0.6{n}\n"
        for n in range(1, 5)
    )
    labels = ["", *(f"/launch={number}" for number in range(2, 5))]
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {f"{name}{label}": [0] for name in ("Loss", "Accuracy") for label in labels}
    epochs = "".join(
        f"2024-02-01 11:0{n}:25 Data read\n2024-02-01 11:0{n}:26 loss: 0.{n}\n" for n in range(5)
    )
    assert not any("launch" in name for name in steps_of(read_log(tmp_path, epochs)))


_EPOCHS = "".join(
    f"epoch: {n}, batch: 0, auc: 0.5{n}, loss: 0.9{n}\nepoch: {n}, batch: 10, auc: 0.6{n}, loss: 0.8{n}\n"
    f"epoch: {n} done, auc: 0.55{n}, loss: 0.85{n}\n"
    for n in range(4)
)


@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("tools/infer.py -m a.yaml", "eval"),
        ("run_test.py", "test"),
        ("main.py --eval --seed 1", "eval"),
        ("net.py --mode val", "val"),
    ],
)
def test_a_command_that_evaluates_checkpoints_trains_nothing(
    command: str, data: str, tmp_path: Path, reading: Any
) -> None:
    evaluated = "".join(
        f"load model of epoch {n}\nepoch: {n}, batch: 0, auc: 0.7{n}\nepoch: {n} done, auc: 0.75{n}\n"
        for n in (1, 3)
    )
    text = (
        f"ann@box:~/x$ python tools/main.py -m a.yaml\n{_EPOCHS}\nann@box:~/x$ python {command}\n{evaluated}"
        f"\nann@box:~/x$ python tools/main.py -m a.yaml\n{_EPOCHS}"
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    steps, ends = steps_of(run), [10, 21, 32, 43]
    assert steps["epoch/auc"] == steps["epoch/loss"] == 2 * ends
    label = "/launch=2"
    assert steps[f"{data}/auc{label}"] == steps[f"{data}/epoch/auc{label}"] == [21, 43]
    assert {name for name in steps if "launch" not in name} == {
        *("epoch", "auc", "loss", "epoch/auc", "epoch/loss")
    }
    content = text.encode()
    assert reading.read_restarted("train.log", content, every=1) == reading.read_complete(
        "train.log", content
    )


@pytest.mark.parametrize(
    ("command", "loaded"),
    [
        ("train_eval.py --eval", "load model of epoch 3\n"),
        ("main.py --eval_freq 3", "load model of epoch 3\n"),
        ("main.py --test", ""),
        ("test.py", ""),
    ],
)
def test_a_command_that_may_train_begins_an_attempt(command: str, loaded: str, tmp_path: Path) -> None:
    text = f"ann@box:~/x$ python main.py\n{_EPOCHS}\nann@box:~/x$ python {command}\n{loaded}{_EPOCHS}"
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    assert steps_of(run)["epoch/auc"] == 2 * [10, 21, 32, 43]


@pytest.mark.parametrize("before", ["", "2021-03-01 10:00:00,120 - log\\eval.log - INFO - "])
def test_evaluations_below_their_headings_are_numbered_where_nothing_counts(
    tmp_path: Path, before: str
) -> None:
    blocks = (
        line
        for n in range(1, 5)
        for data in ("valid", "test")
        for line in (
            f"evaluate:{data}",
            f"processed 120 tokens with 9 phrases; found: {n} phrases; correct: 1.",
            f"accuracy:  7{n}.50%; precision:   0.00%; recall:  1{n}.00%; f1:   0.00",
            f"     oak: precision:  2{n}.50%; recall:  1{n}.00%; f1:  1{n}.00  {n}",
            "     elm: precision:   0.00%; recall:   0.00%; f1:   0.00  0",
        )
    )
    text = f"{before}lr : 0.1\n{before}start training\n" + "".join(f"{before}{line}\n" for line in blocks)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    for data in ("valid", "test"):
        rows, scores = ("", "oak/", "elm/"), ("precision", "recall", "f1")
        names = [f"{data}/accuracy", *(f"{data}/{row}{score}" for row in rows for score in scores)]
        assert all(steps[name] == [0, 1, 2, 3] for name in names)


@pytest.mark.parametrize("heading", ["--- Evaluate {0} ---", "evaluate:{0}", "{0} results:"])
def test_rows_of_evaluations_alone_are_of_the_data_in_their_headings(tmp_path: Path, heading: str) -> None:
    blocks = (
        f"{heading.format(data)}\nbleu: {n}.51\nchrf: 1{n}.2\n"
        for n in range(1, 5)
        for data in ("dev", "test")
    )
    names = [f"{data}/{name}" for data in ("dev", "test") for name in ("bleu", "chrf")]
    assert steps_of(read_log(tmp_path, "".join(blocks))) == {name: [0, 1, 2, 3] for name in names}


def test_rows_of_a_training_with_evaluations_between_are_not_numbered_by_these(tmp_path: Path) -> None:
    blocks = (f"loss: 0.{9 - n}1\nloss: 0.{9 - n}\n--- Evaluate test ---\nacc: 0.{n}\n" for n in range(1, 5))
    steps = steps_of(read_log(tmp_path, "".join(blocks)))
    assert steps["loss"] == [*range(8)]


def test_values_of_a_training_between_evaluations_are_not_numbered_with_them(tmp_path: Path) -> None:
    blocks = (
        f"note {n}\n--- Evaluate test ---\nabout: {n}\nacc: 0.{n}\n--- Train ---\nacc: 0.{n + 3}\nend {n}\n"
        for n in range(1, 5)
    )
    assert "test/acc" not in steps_of(read_log(tmp_path, "".join(blocks)))


def test_empty_lines_behind_results_without_any_position_are_none(tmp_path: Path) -> None:
    time = "2021-03-0{} 10:00:00.123 | INFO     | run:main:{} - "
    launch = time + "Loading best.pth\n" + time + "Test loss: 0.{}5, Test acc: 0.5\n\n\n"
    run = read_log(tmp_path, "".join(launch.format(day, 9, day, 12, day) for day in (1, 2)))
    assert steps_of(run) == {
        f"Test {name}{label}": [0] for name in ("loss", "acc") for label in ("", "/launch=2")
    }


def test_results_of_several_models_are_numbered_within_each_launch(tmp_path: Path) -> None:
    time = "2021-03-0{} 10:00:00.123 | INFO     | run:main:{} - "
    launches = (
        2 * (time.format(day, 9) + "Running experiments with 2 parameter combinations and 1 iterations.\n")
        + "".join(
            time.format(day, 20 + model)
            + f"Training model with {{'dim': 3{model}, 'name': 'oak'}}\n"
            + 2 * (time.format(day, 30) + f"TEST results: {{'accuracy': 0.{day}{model}, 'f1': 0.5}}\n")
            for model in range(2)
        )
        for day in (1, 2, 3)
    )
    run = read_log(tmp_path, "".join(launches))
    values = {(key.metric, *key.labels): series.value.tolist() for key, series in run.data.series.items()}
    assert values["test/accuracy",] == [0.1, 0.11]
    assert values["test/accuracy", ("launch", "2")] == [0.2, 0.21]
    assert values["test/accuracy", ("launch", "3")] == [0.3, 0.31]
    assert {tuple(series.step) for series in run.data.series.values()} == {(0, 1)}


_OF_STOPPED = "get all words\n", "get all words\nbuild\n", "get all words\nbuild\n{}"


@pytest.mark.parametrize(("pause", "numbers"), [(20, [2, 3, 4]), (0, [])])
def test_launches_that_were_stopped_early_show_that_each_begins_behind_a_pause(
    tmp_path: Path, pause: int, numbers: list[int]
) -> None:
    lines, second = [], 10
    for launch in (0, 1, 2, 1, 2, 2, 2):
        second += pause
        for line in _OF_STOPPED[launch].format(f"Train accuracy 0.{second}\ntest recall 0.5\n").splitlines():
            clock = f"10:{second // 60:02}:{second % 60:02}"
            lines.append(f"2021-03-01 {clock},120 - E:\\oak\\net.py[line:7] - INFO: {line}\n")
            second += 1
    run = read_log(tmp_path, "".join(lines))
    labels = {key.labels for key in run.data.series if key.metric == "test recall"}
    assert labels - {()} == {(("launch", str(each)),) for each in numbers}
