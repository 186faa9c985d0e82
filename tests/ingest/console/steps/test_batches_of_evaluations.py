"""Batches of an evaluation between those of the training, and rows of tables, below the lines of epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


def test_batches_with_another_total_behind_the_end_of_an_epoch_are_of_an_evaluation(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"epoch: {n}, {batch}/1875, acc: 0.{n}, loss: 2.{n}\n" for batch in range(0, 1875, 300))
        + "".join(f"epoch: {n}, {batch}/313, acc: 0.{n}, loss: 1.{n}\n" for batch in range(0, 313, 100))
        for n in range(8)
    )
    run = read_log(tmp_path, text)
    steps = steps_of(run)
    assert run.attempts == 1
    assert len(steps["loss"]) == 8 * 7
    assert len(steps["eval/loss"]) == 8 * 4
    assert {key.metric: series.value[-1] for key, series in run.data.series.items()}["loss"] == 2.7


@pytest.mark.parametrize("heading", ["--- validate (epoch={0})---", "Validate:", "10:00:00 - Validating ..."])
def test_batches_below_the_heading_of_a_validation(tmp_path: Path, heading: str) -> None:
    text = "".join(
        "".join(f"Epoch: [{n}][ {batch}/ 500]  Overall Loss 1.{n}  LR 0.01\n" for batch in (250, 500))
        + f"{heading.format(n)}\nEpoch: [{n}][ 100/ 100]  Loss 0.{n}  Top1 52.4\n"
        + f"==> Top1: 52.4  Loss: 0.{n}\n"
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["Overall Loss"] == [*range(250, 3001, 250)]
    [name] = {name for name in steps_of(run) if name.endswith("/Loss")}
    assert name.startswith("valid")
    assert steps_of(run)[name] == [*range(500, 3001, 500)]


def test_rows_of_a_table_below_each_epoch_go_on_through_the_epochs(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/9 Running...\n\nStep  Action    Reward\n-----------------------\n"
        + "".join(f"{step}     Up        {step}.00\n" for step in range(1, 3 + n))
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Reward": [*range(1, 13)]}


def test_the_epoch_and_the_batch_of_a_test_are_in_brackets_that_stand_apart(tmp_path: Path) -> None:
    text = "".join(
        "".join(
            f"[10:00:0{n}.1] Epoch: [{n}]  [{batch:4}/100]  eta: 0:01:00  loss: 0.5\n"
            for batch in (0, 50, 99)
        )
        + "".join(f"[10:00:0{n}.2] Test: [{n}]  [{batch:4}/20]  eta: 0:00:09  f1: 0.1\n" for batch in (0, 19))
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["test/f1"] == [step + n for step in range(99, 600, 100) for n in (0, 1)]
    assert len(steps_of(run)["loss"]) == 18


@pytest.mark.parametrize("count", ["step {0}, ", "global_step: {0} "])
def test_the_same_step_below_the_heading_of_an_evaluation_is_of_it(tmp_path: Path, count: str) -> None:
    text = "".join(
        f"{count.format(n)}loss 2.{n}, acc 0.5\n"
        + (f"\nEvaluation:\n{count.format(n)}loss 1.0, acc 0.9\n\n" if n % 5 == 0 else "")
        for n in range(1, 21)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["loss"] == [*range(1, 21)]
    assert steps["evaluation/loss"] == [5, 10, 15, 20]


def test_lines_about_data_sets_by_name_have_labels_but_the_first(tmp_path: Path) -> None:
    text = "".join(
        f"[2026-01-02 10:00:00 Train.py-INFO:epoch: {n}, dataset: {name}, dice: 0.{n}]\n"
        for n in range(1, 7)
        for name in ("CVC-300", "Kvasir", "CVC-ColonDB")
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    names = ("dice", "dice/dataset=Kvasir", "dice/dataset=CVC-ColonDB")
    assert steps_of(run) == {name: [*range(1, 7)] for name in names}
    alone = "".join(f"epoch: {n}, dataset: cifar10, loss: 0.{n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, alone)) == {"loss": [*range(1, 7)]}


def _epochs(val: str, epochs: range = range(4)) -> str:
    """Batches 0 to 20 of each epoch, and below them those of its validation."""
    return "".join(
        "".join(
            f"Epoch {n} - TRAIN - Batch {batch} - Loss = 2.{n} | Acc = 0.5\n" for batch in range(0, 21, 5)
        )
        + val.format(n)
        for n in epochs
    )


def test_batches_of_an_evaluation_are_behind_the_step_that_it_is_of(tmp_path: Path) -> None:
    val = "".join(
        f"Epoch {{0}} - VAL - Batch {batch} - Loss = 1.{{0}}{batch} | Acc = 0.7\n" for batch in (0, 2, 4)
    )
    run = read_log(tmp_path, _epochs(val) * 2)
    assert run.attempts == 2
    steps = [at + n for at in (20, 41, 62, 83) for n in range(3)]
    assert steps_of(run)["val/Loss"] == [*steps, *steps]
    assert len(steps_of(run)["Loss"]) == 40


@pytest.mark.parametrize("mean", ["Val Epoch {0}: Loss = 1.5\n", "Validation: Loss = 1.5, Acc = 0.7\n"])
def test_means_of_the_batches_of_an_evaluation_have_a_name_of_their_own(tmp_path: Path, mean: str) -> None:
    batches = "".join(f"Val [{batch}/4] Loss = 1.{{0}}{batch} | Acc = 0.7\n" for batch in (2, 4))
    steps = steps_of(read_log(tmp_path, _epochs(batches + mean.replace("Validation", "Val"))))
    assert steps["val/Loss"] == [20, 21, 41, 42, 62, 63, 83, 84]
    assert steps["val/epoch/Loss"] == [20, 41, 62, 83]


def _passes(batches: tuple[int, ...], result: str) -> str:
    """Three epochs, each with a pass of a test below it, and the result of the pass."""
    return "".join(
        "".join(f"10:00:0{n},120:INFO: Epoch: [{n}][{batch}/30]\tLoss 2.{n} (2.5)\n" for batch in (0, 10, 20))
        + "".join(f"10:00:0{n},120:INFO: Test: [{batch}/2]\tDrift 1.{n}\tTilt 2.{n}\n" for batch in batches)
        + result.format(n)
        for n in range(3)
    )


_STARRED = "10:00:01,120:INFO:  * Drift  1.{0}5 Tilt  2.{0}5\n"


def test_a_starred_line_with_names_of_the_batches_above_has_the_means_of_these(tmp_path: Path) -> None:
    run = read_log(tmp_path, _passes((0, 1), _STARRED))
    assert steps_of(run)["test/Drift"] == [20, 21, 50, 51, 80, 81]
    means = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert means["test/epoch/Drift"] == [1.05, 1.15, 1.25]
    assert means["test/epoch/Tilt"] == [2.05, 2.15, 2.25]


def test_the_starred_result_replaces_the_values_of_the_only_line_of_its_pass(tmp_path: Path) -> None:
    run = read_log(tmp_path, _passes((0,), _STARRED))
    values = {key: series.value.tolist() for key, series in run.data.series.items()}
    assert {key.metric: of for key, of in values.items()}["test/Tilt"] == [2.05, 2.15, 2.25]
    assert all(not key.labels for key in values)


@pytest.mark.parametrize("line", [" * Depth 3.5 Width 4.5\n", " * saved 2.5 MB\n"])
def test_a_starred_line_with_other_names_than_the_batches_above_is_no_result(
    tmp_path: Path, line: str
) -> None:
    without = read_log(tmp_path, _passes((0, 1), ""))
    assert steps_of(read_log(tmp_path, _passes((0, 1), line))) == steps_of(without)


def test_batches_without_room_before_the_next_evaluation_are_at_its_last_step(tmp_path: Path) -> None:
    val = "".join(f"Epoch {{0}} - VAL - Batch {batch} - Loss = 1.{{0}} | Acc = 0.7\n" for batch in range(30))
    steps = steps_of(read_log(tmp_path, _epochs(val)))["val/Loss"]
    assert steps == [*range(20, 40), *range(41, 104)]
    epochs = "".join(f"Epoch {n} loss 0.5\nval 1/2 loss 0.6\nval 2/2 loss 0.6\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, epochs))["val/loss"] == [1, 2, 3]


def test_batches_of_an_evaluation_show_no_step_back(tmp_path: Path) -> None:
    val = "".join(f"Epoch {{0}} - VAL - Batch {batch} - Loss = 1.{{0}} | Acc = 0.7\n" for batch in (0, 2, 4))
    text = _epochs(val + "Loading the data\n")
    assert read_log(tmp_path, f"Loading the data\n{text}").attempts == 1


@pytest.mark.parametrize(
    "heading", ["Validation:", f"{'*' * 20}Validation of the whole set of images{'*' * 20}"]
)
@pytest.mark.parametrize(
    "row", ["Batch {} loss: 0.2{}", "Batch : {}  Final error: 0.2{}", "Batch {}, val_loss: 0.2{}"]
)
def test_batches_without_an_epoch_below_a_heading_are_those_of_the_evaluation(
    heading: str, row: str, tmp_path: Path
) -> None:
    text = "".join(
        f"Training begins\n{epoch_lines(epoch)}{heading}\n"
        + "".join(f"{row.format(batch, batch)}\n" for batch in (1, 2, 3))
        + f"Epoch {epoch}, mean of all: 0.3{epoch}\n"
        for epoch in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    steps = steps_of(run)
    assert (run.attempts, steps["loss"]) == (1, [*range(1, 16)])
    assert not [name for name in steps if "training=" in name]
    of_batches = next(name for name in steps if name.startswith("val"))
    assert steps[of_batches] == [5, 6, 7, 10, 11, 12, 15, 16, 17]


def epoch_lines(epoch: int) -> str:
    return "".join(f"Epoch {epoch} batch {batch} loss: {epoch}.{batch}\n" for batch in range(1, 6))


def second_passes(epoch: str, line: str, heading: str = "", behind: str = "") -> str:
    """Three epochs of two passes through as many batches, the second one below a heading."""
    passes = "".join(line.format(batch, "{0}") for batch in range(10, 51, 10))
    return "".join((epoch + passes + heading + passes + behind).format(n) for n in range(1, 4))


@pytest.mark.parametrize(
    ("epoch", "line", "heading", "name"),
    [
        ("Epoch {0}\n", "[{0}/50] loss: 0.{0}\n", "Evaluating...\n", "evaluating/loss"),
        ("Epoch {0}/3\n", "[{0}/50] loss: 0.{0}\n", "", "eval/loss"),
        ("", "Epoch {1} [{0}/50] loss: 0.{0}\n", "", "eval/loss"),
        ("Training\n", "[{0}/50] loss: 0.{0}\n", "Testing\n", "testing/loss"),
    ],
)
def test_a_second_pass_through_as_many_batches_is_of_an_evaluation(
    tmp_path: Path, epoch: str, line: str, heading: str, name: str
) -> None:
    run = read_log(tmp_path, "Using device cpu\n" + second_passes(epoch, line, heading))
    assert run.attempts == 1
    steps = steps_of(run)
    assert len(steps["loss"]) + len(steps[name]) == 30
    assert steps["loss"] == sorted({*steps["loss"]})


def test_a_second_pass_with_other_names_is_at_the_steps_of_its_epoch(tmp_path: Path) -> None:
    rows = ["".join(f"[{at}/50] {name} loss: 0.{at}\n" for at in range(10, 51, 10)) for name in ("G", "D")]
    run = read_log(tmp_path, "".join(f"Epoch {n}/3\n{rows[0]}{rows[1]}" for n in range(1, 4)))
    assert run.attempts == 1
    assert steps_of(run) == {"G loss": [*range(10, 151, 10)], "D loss": [*range(10, 151, 10)]}


def test_a_launch_that_repeats_an_epoch_below_its_opening_line_is_no_evaluation(tmp_path: Path) -> None:
    launch = "Loading the images of oaks\n" + "".join(
        f"Epoch 1 [{batch}/50] loss: 0.{batch}\n" for batch in range(10, 51, 10)
    )
    run = read_log(tmp_path, 2 * launch)
    assert run.attempts == 2
    assert steps_of(run)["loss"] == 2 * [*range(10, 51, 10)]


def batches(kind: str, loss: str, *, last: int = 8) -> str:
    return "".join(kind.format(batch) + f"loss: {loss}{batch}\n" for batch in range(last))


@pytest.mark.parametrize("kind", ["Batch {0} ", "[{0}/8] "])
@pytest.mark.parametrize("means", ["", "Train loss epoch {0}: 0.5\n"])
def test_the_first_pass_below_the_heading_of_an_evaluation_is_of_it_without_epochs(
    tmp_path: Path, kind: str, means: str
) -> None:
    run = read_log(
        tmp_path,
        "".join(
            batches(kind, f"2.{n}") + means.format(n) + "Evaluating...\n" + batches(kind, f"1.{n}", last=6)
            for n in range(3)
        ),
    )
    steps = steps_of(run)
    assert run.attempts == 1
    assert {*steps} == {"loss", "evaluating/loss"} | ({"Train loss"} if means else set())
    assert len({*steps["loss"]}) == len(steps["loss"]) == 3 * 8
    assert len(steps["evaluating/loss"]) == 3 * 6
    trained = next(series for key, series in run.data.series.items() if key.metric == "loss")
    assert trained.value.min() >= 2


@pytest.mark.parametrize("result", ["Test accuracy: 0.5\n", "Average: loss 0.7\n"])
def test_a_pass_below_the_result_of_an_evaluation_is_of_the_training(tmp_path: Path, result: str) -> None:
    text = "".join(batches("Batch {0} ", f"2.{n}") + "Evaluating...\n" + result for n in range(3))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert len(steps_of(run)["loss"]) == 3 * 8


def test_headings_of_evaluations_that_print_nothing_leave_passes_to_the_training(tmp_path: Path) -> None:
    text = "".join(batches("Batch {0} ", f"2.{n}") + "Evaluating...\n" for n in range(6))
    steps = steps_of(read_log(tmp_path, text))
    # the first pass, below which nothing was known yet; there is room for all but one
    assert len(steps["evaluating/loss"]) == 7
    assert len(steps["loss"]) == 5 * 8


def _passes_of_epochs(epochs: int) -> str:
    """Steps of each epoch with a total, its line, and batches of a test below it, with another total."""
    return "".join(
        "".join(f"Step {step}/12: loss = 1.{n}{step:02}\n" for step in range(1, 13))
        + f"Epoch {n}/{epochs}, Train: Loss = 1.{n}5\n"
        + "".join(f"Steps {batch}/4: hit10 = 3{batch}.{n}\n" for batch in range(4))
        + f"Epoch {n}/{epochs}, Test: HR = 0.3{n}\n\n"
        for n in range(epochs)
    )


def test_passes_with_other_names_and_another_total_below_an_epoch_are_evaluations(
    tmp_path: Path,
) -> None:
    run = read_log(tmp_path, _passes_of_epochs(3))
    steps = steps_of(run)
    assert run.attempts == 1
    assert steps["loss"] == [*range(1, 37)]
    assert steps["Loss"] == steps["test/HR"] == [12, 24, 36]
    assert len(steps["eval/hit10"]) == 3 * 4


def test_steps_behind_the_last_epoch_of_all_are_of_another_launch(tmp_path: Path) -> None:
    launch = "Start\nLoad data\nusers 290, items 240\n" + _passes_of_epochs(3)
    run = read_log(tmp_path, launch * 2)
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*range(1, 37)] * 2
