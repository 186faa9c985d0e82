"""Lines whose names say nothing to a reader, but which come again and again with other numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import read_run
from tests.support.log_runs import read_log, steps_of

N = range(1, 7)


@pytest.mark.parametrize(
    "line",
    [
        "Current zeta: 0.{0}, Current eta_b: 0.5{0}",
        "INFO zeta = 0.{0}",
        "** Running evaluation **\nEM 0.{0}",
        "Evaluating ...\nHit percent {0}4%",
        "  H = 2.{0}",
        "Total loss 3.{0}",
    ],
)
def test_lines_that_recur_between_records_are_read_from_the_first_one_on(tmp_path: Path, line: str) -> None:
    text = "".join(f"Epoch {n}/9 | Loss: 0.{n}\n{line.format(n)}\n" for n in N)
    steps = steps_of(read_log(tmp_path, text))
    assert len(steps) > 1
    assert set(map(tuple, steps.values())) == {tuple(N)}


def test_zeros_next_to_lines_that_vary_never_happened(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/9 | Loss: 0.{n}\nmissed: 0\nfound: {n}\nof: 7\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("Loss", "missed", "found")}
    text = "".join(f"Epoch {n}/9 | Loss: 0.{n}\noffset: 0\nzeta: 7\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


def test_a_line_with_a_position_and_unknown_names_is_read_if_it_recurs(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 0.{n}\nEpoch {n} zeta: 1.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*N], "zeta": [*N]}


@pytest.mark.parametrize(
    "line",
    [
        "zeta: 0.5",
        "batch size: {0}",
        "DONE (t=0.0{0}s)",
        "i = {0}",
        "Loading images {0}4%",
        "on the 500{0} test images: 0.{0}",
        "shape: ({0}, 2)",
        "Saved checkpoint to model_{0}.pt",
        "found {0} files in 3 folders",
    ],
    ids=[
        "a constant",
        "a setting",
        "a letter",
        "an index",
        "what is done",
        "a phrase",
        "a tuple",
        "a file",
        "a sentence",
    ],
)
def test_other_lines_between_records_are_none(tmp_path: Path, line: str) -> None:
    text = "".join(f"Epoch {n}/9 | Loss: 0.{n}\n{line.format(n)}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


def test_a_line_that_comes_twice_is_no_record(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/9 | Loss: 0.{n}\n" + f"zeta: 0.{n}\n" * (n < 3) for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("E: {0} | A: 0.1{0} | R: -0.7{0}\n", ["A", "R"]),
        ("INFO:root:(datetime.datetime(2017, 7, 19, 15, 49), {0}, 0.01, 43.{0})\n", ["column 8"]),
        ("2026-01-01 10:00:0{0} worker {0} 43.{0} of 0.{0}7\n", ["column 2", "column 3"]),
    ],
)
def test_of_lines_that_differ_in_numbers_one_that_counts_up_is_the_step(
    tmp_path: Path, line: str, names: list[str]
) -> None:
    text = "".join(line.format(n) for n in N)
    run = read_log(tmp_path, text)
    assert steps_of(run).keys() == set(names)
    assert steps_of(run)[names[0]] == [*N]
    assert read_log(tmp_path, text * 2).attempts == 2


@pytest.mark.parametrize("line", ["Epoch {0}, batch {1}: 0.{1}\n", "({0}, {1:>4}) 0.{1}\n"])
def test_a_number_that_counts_within_one_before_it_goes_on_through_all_epochs(
    tmp_path: Path, line: str
) -> None:
    launch = "".join(line.format(epoch, batch) for epoch in range(12) for batch in (0, 20, 40))
    run = read_log(tmp_path, launch)
    (steps,) = steps_of(run).values()
    assert steps[:7] == [0, 20, 40, 41, 61, 81, 82]
    assert run.attempts == 1
    assert read_log(tmp_path, launch * 2).attempts == 2


def test_lines_in_which_nothing_counts_are_no_table(tmp_path: Path) -> None:
    text = "".join(f"request {n * n % 7} took 0.{n} seconds\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {}


def test_a_table_that_comes_again_and_again_is_no_table_of_steps(tmp_path: Path) -> None:
    rows = "".join(f"Top  {n}: 0.{n} cum 0.{n + 1}\n" for n in range(1, 9))
    assert read_log(tmp_path, rows * 3).points > 0
    assert read_log(tmp_path, rows * 30).points == 0


def test_lines_with_steps_and_values_of_their_own_are_no_headings(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"Epoch: [{n}]  [{at}/40]  loss: 0.5\n" for at in (0, 20))
        + "".join(
            f"Step {at}: logits = [0.{at}]\nTest: [{n}]  [{at}/3]  f1: 0.5  max mem: 27\n" for at in (0, 1, 2)
        )
        for n in range(3)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["test/f1"] == [20, 21, 22, 60, 61, 62, 100, 101, 102]


def test_steps_with_unknown_values_are_those_of_the_epoch_above(tmp_path: Path) -> None:
    text = "".join(
        f"=== epoch {n} ===\nsearch\n"
        + "".join(f"iteration: {at}/4 ( amplitude: {n}.{at} )\n[[1.0], [1.{at}]]\n" for at in range(1, 5))
        for n in range(1, 4)
    )
    assert steps_of(read_log(tmp_path, text)) == {"amplitude": [*range(1, 13)]}


def test_the_first_lines_that_recur_are_no_step_back(tmp_path: Path) -> None:
    text = "Using device: cuda:0\nLoading data from /data\n" + "".join(
        f" Iteration:   {n}  Time: {100 + n}.5\n  MAE:    1.6{n}  over  11236  points\n"
        f" RMSE:   1.7{n}   over  11236  points\n LM step start   Time: {100 + n}.6\n"
        f" LM step has NOT been accepted!   Time: {100 + n}.7\n\n"
        for n in range(30)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert not any("training=" in name or "process=" in name for name in steps_of(run))


def test_an_epoch_beyond_all_steps_and_half_a_pair_in_a_name_stop_nothing(tmp_path: Path) -> None:
    table = tmp_path / "run.csv"
    table.write_text("epoch,step,loss\n0,49,0.5\n1e18,1,0.4\n")
    assert read_run(table).points > 0
    line = ':::MLLOG {"key": "tracked_stats", "value": {"\\ud800": 6}, "metadata": {"step": 2}}\n'
    assert read_log(tmp_path, line).attempts == 1


@pytest.mark.parametrize("sign", [" - ", ": ", ", ", " | "])
def test_a_number_ahead_of_a_loss_that_always_rises_is_the_step(tmp_path: Path, sign: str) -> None:
    steps = [1, 2, 3, 5, 8, 40, 41, 420, 7211]
    text = "".join(f"{step}{sign}loss: {1 / step:.4f}, val_loss: {1.1 / step:.4f}\n" for step in steps)
    assert steps_of(read_log(tmp_path, text)) == {"loss": steps, "val_loss": steps}


@pytest.mark.parametrize("line", ["{} - loss: 0.{}1, val_loss: 0.4", "{} correct, loss: 0.{}1"])
def test_a_number_ahead_of_a_loss_that_falls_or_has_a_name_is_no_step(tmp_path: Path, line: str) -> None:
    counts = [31, 40, 38, 52, 57, 70] if "correct" not in line else [31, 40, 48, 52, 57, 70]
    text = "".join(f"{line.format(count, number)}\n" for number, count in enumerate(counts, 1))
    assert all(steps == [*range(6)] for steps in steps_of(read_log(tmp_path, text)).values())


@pytest.mark.parametrize("mean", ["last 80 batches", "(last 80 batches)", "over 80 batches"])
def test_a_number_in_the_name_of_a_recurring_value_is_no_sentence(mean: str, tmp_path: Path) -> None:
    text = "".join(
        f"step {n}0 loss: 0.{9 - n}\nTrain error {mean}: 0.65{n}\nDropped the last 80 batches: 0.2{n}\n"
        for n in range(1, 6)
    )
    steps = steps_of(read_log(tmp_path, text))
    [error] = steps.keys() - {"loss"}
    assert error.startswith("Train error")
    assert steps[error] == steps["loss"] == [10, 20, 30, 40, 50]


def test_lines_of_a_launch_that_was_left_are_not_of_the_next_one(tmp_path: Path) -> None:
    def launch(last: int, evaluated: range, best: int) -> str:
        return (
            "10:00:01 Device: cuda\n10:00:02 Train samples=134\n10:00:03 Parameters of the network read\n"
            + (
                "".join(
                    f"10:00:04 step={n} loss=0.{9000 - n}\n"
                    + (f"  [val] new best: 0.{best - n} saved best.pt\n" if n in evaluated else "")
                    for n in range(100, last, 100)
                )
            )
        )

    run = read_log(tmp_path, launch(500, range(200, 300), 8000) + launch(1500, range(200, 1500, 200), 7000))
    assert run.attempts == 2
    [best] = [series for key, series in run.data.series.items() if "best" in key.metric]
    assert {*best.attempt.tolist()} == {1}
    assert best.step.tolist() == [*range(200, 1500, 200)]


def test_how_long_the_first_epoch_took_is_read_once_its_values_are(tmp_path: Path) -> None:
    text = "".join(f"Epoch: 0{n} | Time: 0m 1{n}s\n\tTrain Loss: 2.{n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"Time": [*range(1, 7)], "Train Loss": [*range(1, 7)]}


def test_how_long_epochs_took_is_nothing_without_values(tmp_path: Path) -> None:
    text = "".join(f"Epoch: 0{n} | Time: 0m 1{n}s\n" for n in range(1, 7)) + "Epoch: 07 loss: 0.5\n"
    assert steps_of(read_log(tmp_path, text)).keys() == {"loss"}
