"""Rows of several forms in one text that is given by hand: each form is read, at the steps that all share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.offline.glued_rows import separate_rows
from holter.ingest.offline.printed_arrays import without_arrays
from holter.ingest.offline.row_forms import counted_table
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 21)
_TWENTY = [*N]
_STAGES = ("words", "pairs")
_LOSSES = ("total_loss", "pixel_loss", "edge_loss", "style_loss", "tone_loss")

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "two forms in turn, of which one has whole numbers": (
        "".join(f"{n} th cost -> 0.{99 - n}\n{n} th misses ->{n % 3}\n" for n in N),
        {"th cost": _TWENTY, "th misses": _TWENTY},
    ),
    "a line for each of several losses": (
        "".join(
            f"{e:4} {b:4} /  320 {name} = 0.{90 - e - b // 100}\n"
            for e in range(1, 5)
            for b in range(0, 301, 100)
            for name in _LOSSES
        ),
        {name: [320 * e + b for e in range(4) for b in range(0, 301, 100)] for name in ("epoch", *_LOSSES)},
    ),
    "rows with the word for their data below its name": (
        "Split Epoch Loss Acc\n" + "".join(f"train {n} 1.{n} 0.{n}\ntest {n} 2.{n} 0.3{n}\n" for n in N),
        {f"{data}/{name}": _TWENTY for data in ("train", "test") for name in ("Loss", "Acc")},
    ),
    "rows with the word for their data below no name": (
        "Epoch Loss Acc\n" + "".join(f"train {n} 1.{n} 0.{n}\ntest {n} 2.{n} 0.3{n}\n" for n in N),
        {f"{data}/{name}": _TWENTY for data in ("train", "test") for name in ("Loss", "Acc")},
    ),
    "rows of models below the names of columns": (
        "Model Epoch Loss Acc\n" + "".join(f"oak {n} 1.{n} 0.{n}\nelm {n} 2.{n} 0.3{n}\n" for n in N),
        {f"{model}/{name}": _TWENTY for model in ("oak", "elm") for name in ("Loss", "Acc")},
    ),
    "rows of an evaluation that the same word for data is before": (
        "".join(
            f"step {n}\nL1 0.3{n} L2 0.4{n}\nval oak L1 0.5{n} L2 0.6{n}\nval elm L1 0.7{n} L2 0.8{n}\n"
            for n in N
        ),
        {name: _TWENTY for name in ("L1", "L2")}
        | {f"val {model}{name}": _TWENTY for model in ("oak", "elm") for name in (" L1", "/L2")},
    ),
    "names of columns far above the first row": (
        "Epoch Loss Acc\nloading data\nwarming up\n" + "".join(f"{n} 1.{n} 0.{n}\nsaved\n" for n in N),
        {"Loss": _TWENTY, "Acc": _TWENTY},
    ),
    "words of a sentence far above the first row": (
        "we train loss\nloading data\n" + "".join(f"{n} 1.{n} 0.{n}\nsaved\n" for n in N),
        {"column 2": _TWENTY, "column 3": _TWENTY},
    ),
    "evaluations that count as the training does, unevenly": (
        "".join(
            f"[{n // 5}/4] {n}00), Loss: 0.{99 - n}, mAP 5{n % 10}.5%\n"
            + (f"TESTING: {n}03), mAP 6{n % 10}.5%\n" if n in (3, 4, 9, 12, 20) else "")
            for n in N
        ),
        {
            **{key: [100 * n for n in N] for key in ("Loss", "mAP")},
            "testing/mAP": [303, 403, 903, 1203, 2003],
        },
    ),
    "evaluations that count nothing": (
        "".join(
            f"({n:03}) L: 0.{99 - n} R: 2.{n:02}\n" + (f"accuracy = 0.{n:02}\n" if n % 5 == 0 else "")
            for n in N
        ),
        {**dict.fromkeys(("L", "R"), _TWENTY), "accuracy": [5, 10, 15, 20]},
    ),
    "means of the epochs that the rows are counted in": (
        "".join(
            "".join(f"{e} | {b}/50 | D {e}.{b}5 | G 1.{b}\n" for b in range(10, 51, 10))
            + f"{e} mean: 0.{e}5\n"
            for e in range(1, 5)
        ),
        {**{key: [*range(10, 201, 10)] for key in ("D", "G")}, "mean": [50, 100, 150, 200]},
    ),
    "stages that are told apart by a word": (
        "".join(
            f"progress ({s}):  {n}  /  20  | time:  1.{n} s | loss:  0.{99 - n}\n" for s in _STAGES for n in N
        ),
        {f"{s}/{name}": _TWENTY for s in _STAGES for name in ("time", "loss")},
    ),
    "several processes": (
        "".join(
            f"progress ({s}):  {n}  /  20  | time:  1.{n} s | loss:  0.{99 - n}{rank}\n"
            for s in _STAGES
            for n in N
            for rank in range(4)
        ),
        {
            f"{s}/{name}{repeat}": _TWENTY
            for s in _STAGES
            for name in ("time", "loss")
            for repeat in ("", "/repeat=2", "/repeat=3", "/repeat=4")
        },
    ),
    "columns with missing cells and words behind them": (
        "".join(
            f"{n}\t0.{99 - n}\t{'None' if n in (7, 12) else f'0.1{n}'}{' <- best' if n == 9 else ''}\n"
            for n in N
        ),
        {"column 2": _TWENTY, "column 3": [n for n in N if n not in (7, 12)]},
    ),
    "a few rows are missing": (
        "".join(f"E: {n} | A: 0.{n:02} | R: -0.{99 - n}\n" for n in N if n not in (7, 15)),
        {key: [n for n in N if n not in (7, 15)] for key in ("A", "R")},
    ),
    "the first and the last row are at other distances": (
        "".join(f"E: {n} | A: 0.{n:03} | R: -0.{999 - n}\n" for n in (1, *range(5, 96, 5), 98)),
        {key: [1, *range(5, 96, 5), 98] for key in ("A", "R")},
    ),
    "rows that count from the beginning below headings": (
        "".join(
            f"--- pass {e} ---\n"
            + "".join(f"{b} J={9 - e}.{b}\n" for b in range(5))
            + f"done {e + 1}: V={e}.5\n"
            for e in range(12)
        ),
        {"J": [*range(60)], "V": [*range(4, 60, 5)]},
    ),
    "metrics with what they count behind their names": (
        "".join(f"loss {n}: 0.{99 - n}\nacc {n}: 0.{n:02}\n" for n in N),
        {name: _TWENTY for name in ("loss", "acc")},
    ),
    "rows of inner loops, which begin anew again and again": (
        "".join(
            f"out {n}: Q 0.{99 - n} P 1.{n}\n" + "".join(f"  in {k}: q 0.{k}{n}\n" for k in (1, 2, 3))
            for n in N
        ),
        {"Q": _TWENTY, "P": _TWENTY},
    ),
    "rows without a count in turn with those that have one": (
        "".join(f"k={n} f(x)=0.{99 - n}\n  ls alpha=0.{n:02} evals={n % 3}\n" for n in N),
        {name: _TWENTY for name in ("f(x)", "ls alpha", "evals")},
    ),
    "rows of several columns, and others of fewer": (
        "".join(f"{n} 0.{99 - n} 0.{n:03}\n{n} 0.5{n}\n" for n in N),
        {name: _TWENTY for name in ("column 2", "column 3", "column 2 2")},
    ),
    "two rows in turn without anything that counts": (
        "".join(f"D: 0.{99 - n} P: 0.{n:02}\nG: 1.{n}\n" for n in N),
        {name: [*range(20)] for name in ("D", "P", "G")},
    ),
    "rows of which some have a remark behind them": (
        "".join(f"loss: 0.{99 - n}{' best' if n % 4 == 0 else ''}\n" for n in N),
        {"loss": [*range(20)]},
    ),
    "rows of which some have another value": (
        "".join(f"loss: 0.{99 - n}{f' acc: 0.{n}' if n % 4 == 0 else ''}\n" for n in N),
        {"loss": [*range(20)], "acc": [3, 7, 11, 15, 19]},
    ),
    "a text without an end of line before rows": (
        "".join(f"{'connection lost!!!' if n % 5 == 0 else ''}[no: {n}] A: 0.{n:02}  R: 1.{n}\n" for n in N),
        {name: _TWENTY for name in ("A", "R")},
    ),
    "the same before rows that count nothing": (
        "".join(f"{'connection lost!!!' if n % 5 == 0 else ''}loss: 0.{99 - n}\n" for n in N),
        {"loss": [*range(20)]},
    ),
    "rows without an end of line": (
        "".join(f"loss: 0.{99 - n}" + ("" if n % 5 == 0 else "\n") for n in N),
        {"loss": [*range(20)]},
    ),
    "a text behind rows that count": (
        "".join(f"[no: {n}] A: 0.{n:02}  R: 1.{n}{'saving ...' if n % 4 == 0 else ''}\n" for n in N),
        {name: _TWENTY for name in ("A", "R")},
    ),
    "arrays of numpy over several lines": (
        "".join(
            f"all probabilities: [[[0.{n} 0.5]\n  [0.1 0.2]\n  ...\n  [0.3 0.{n}]]]\nloss: 0.{99 - n}\n"
            for n in N
        ),
        {"loss": [*range(20)]},
    ),
    "arrays of torch, without names and with a text behind them": (
        "".join(
            f"tensor([[0.{n}, 0.5],\n        [0.1, nan]], device='cuda:0', grad_fn=<AddBackward0>)\n"
            f"[[0.{n}]\n [0.5]]E: {n} | A: 0.{99 - n}\n"
            for n in N
        ),
        {"A": _TWENTY},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


@pytest.mark.parametrize(
    "rows",
    [
        [
            f"size {size} rate 0.{rate} score 0.{size}{rate}\n"
            for size in range(8, 49, 8)
            for rate in (1, 2, 3)
        ],
        [f"layers {n} heads {k} error 0.{n}{k}\n" for n in range(1, 7) for k in (3, 1, 2)],
        [f"{n * n + 3} | error 0.{n:02} | gap 0.{n % 7}\n" for n in N],
    ],
    ids=["what is tried is no process", "a whole number within another one", "distances that grow"],
)
def test_other_rows_are_no_steps(tmp_path: Path, rows: list[str]) -> None:
    assert not any(len({*steps}) == 6 for steps in steps_of(read_log(tmp_path, "".join(rows))).values())


def test_lines_of_other_counts_are_not_of_the_table(tmp_path: Path) -> None:
    text = "".join(f"E: {n} | A: 0.{n:02} | R: -0.{99 - n}\nread {n * 7 % 5} files of 3.{n} MB\n" for n in N)
    text = "".join(f"found device: {k}, memory: {k}.5\n" for k in range(3)) + text
    assert steps_of(read_log(tmp_path, text)) == {"A": _TWENTY, "R": _TWENTY}


def test_rows_below_headings_of_trainings_are_no_epochs(tmp_path: Path) -> None:
    text = "".join(
        f"--- fold {k} ---\n" + "".join(f"{b} J={9 - k}.{b}\n" for b in range(8)) for k in range(3)
    )
    run = read_log(tmp_path, text)
    assert {name: sorted({*steps}) for name, steps in steps_of(run).items()} == {"J": [*range(8)]}


def test_losses_with_numbers_over_and_over_are_several(tmp_path: Path) -> None:
    text = "".join(f"loss {k}: {9 - n}.{k}\n" for n in range(6) for k in range(1, 4))
    assert all(len({*steps}) <= 6 for steps in steps_of(read_log(tmp_path, text)).values())


def test_lists_in_rows_are_no_histories(tmp_path: Path) -> None:
    rows = "".join(f"{n},8.{n}e-29,[0.05{n:02}, 0.{n}, 2.{n}e-16]\n" for n in N)
    expected = {f"column {number}": _TWENTY for number in range(2, 6)}
    assert steps_of(read_log(tmp_path, rows, "loss.txt")) == expected
    lists = "".join(f"[0.05{n:02}, 0.{n}, 2.{n}e-16]\n" for n in N)
    expected = {name: [*range(20)] for name in ("loss", "loss_2", "loss_3")}
    assert steps_of(read_log(tmp_path, lists, "loss.txt")) == expected


def test_broken_rows_of_two_columns_stop_no_others(tmp_path: Path) -> None:
    rows = [f"{n:03}  0.9{n:02}{',' if n % 3 else ''}\n\n" for n in range(60)]
    rows[7] = "007  0.907'\n"
    rows[20], rows[40] = "", "noted by hand\n"
    steps = [n for n in range(60) if n not in (20, 40)]
    assert steps_of(read_log(tmp_path, "".join(rows), "accuracy.txt")) == {"accuracy": steps}


def test_a_name_ahead_of_a_row_is_no_text_before_it(tmp_path: Path) -> None:
    text = "".join(f"loss: 0.{99 - n}\nval_loss: 0.{n:02}\naux.loss: 1.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {
        name: [*range(20)] for name in ("loss", "val_loss", "aux.loss")
    }


@given(
    st.lists(
        st.sampled_from(
            ["E: 1 | A: 0.5", "E: 2 | A: 0.4!", "x [[1 2]", " [3 4]]E: 3 | B: 0.5", "E: 9", "[", "0.5 1"]
        )
    )
)
def test_no_lines_fail_and_none_is_lost(lines: list[str]) -> None:
    assert "".join(separate_rows(lines)) == "".join(lines)
    rest = "".join(without_arrays(lines))
    assert rest.count("A: ") == "".join(lines).count("A: ")
    counted_table(lines)


def passes(*lengths: int) -> str:
    return "".join(
        "".join(f"step {step}: A 1.{step}{number}, B 2.{step}{number}\n" for step in range(0, length, 10))
        + f"\nacc 0.6{number}\n"
        for number, length in enumerate(lengths)
    )


def test_steps_of_a_launch_that_begin_anew_go_on_through_its_passes(tmp_path: Path) -> None:
    run = read_log(tmp_path, "Preparing the data\nBuilding the model\n" + passes(60, 60, 60, 30))
    assert run.attempts == 1
    assert steps_of(run)["A"] == [*range(0, 210, 10)]


@pytest.mark.parametrize(
    "text",
    [
        passes(60, 60, 60),  # nothing shows that the launch is the same
        2 * ("Preparing the data\n" + passes(60, 60)),
        "step loss of all\n" + passes(60, 60, 60),
        "Checking which of the models are there\n"
        + 3 * ("Device: cuda:0\nModel of 3 layers\nReading the data\n" + passes(60)),
    ],
)
def test_other_steps_that_begin_anew_are_of_other_launches(tmp_path: Path, text: str) -> None:
    assert read_log(tmp_path, text).attempts > 1


def test_a_launch_that_resumes_in_an_epoch_is_at_its_steps(tmp_path: Path) -> None:
    def rows(*epochs: int) -> str:
        return "".join(
            f"   [ {epoch}/ 4]   [ {batch}/ 99]   7.{epoch}{batch}   0.{batch}\n"
            for epoch in epochs
            for batch in range(20, 100, 20)
        )

    run = read_log(tmp_path, rows(1, 2) + rows(2, 3, 4))
    assert run.attempts == 2
    steps = [99 * epoch + batch for epoch in (0, 1, 1, 2, 3) for batch in range(20, 100, 20)]
    assert list(steps_of(run).values()) == [steps, steps]


def test_rows_between_what_a_program_prints_otherwise(tmp_path: Path) -> None:
    def rows(first: int, last: int) -> str:
        return "".join(f"{n} {9.5 - n / 10:.4f}\n" for n in range(first, last))

    opening = "device: cuda\nReading 100 files\n"
    crash = 'Traceback (most recent call last):\n  File "a.py", line 8, in main\nKeyboardInterrupt\n'
    run = read_log(tmp_path, opening + rows(0, 25) + crash + opening + rows(24, 60) + "w = 2.0\n")
    assert run.attempts == 2
    assert steps_of(run)["column 2"] == [*range(25), *range(24, 60)]


def test_rows_with_two_known_metrics_may_begin_with_anything(tmp_path: Path) -> None:
    rows = "".join(f"Item: {n * 7 % 5}\tReward: 0.{n:02}\tMean Reward: 0.{n + 20}\n" for n in N)
    steps = steps_of(read_log(tmp_path, rows))
    assert steps["Reward"] == steps["Mean Reward"] == [*range(20)]


def test_the_count_of_a_block_may_have_any_name(tmp_path: Path) -> None:
    text = "".join(f"REPORT\n  Portion = {50 * n}\n  rho = 0.00{40 - n}\n  Right = {n}.25%\n\n" for n in N)
    assert_steps(tmp_path, text, {name: [50 * n for n in N] for name in ("rho", "Right")})


def test_the_count_of_a_value_may_be_on_the_line_above_with_any_name(tmp_path: Path) -> None:
    text = "+ ./fit\n" + "".join(f"Pic No. {50 * n}\nHits so far: 0.{n:02}\n" for n in N)
    assert_steps(tmp_path, text, {"Hits so far": [50 * n for n in N]})


def test_the_count_of_a_block_may_be_below_it_and_have_a_total(tmp_path: Path) -> None:
    text = "".join(f"rho = 0.00{40 - n}\nRight = {n}.25%, wrong = 0.{n}5\nLap {n}/20 is over\n" for n in N)
    assert_steps(tmp_path, text, {name: _TWENTY for name in ("rho", "Right", "wrong")})


def test_the_number_of_a_training_is_no_step_of_what_is_below_it(tmp_path: Path) -> None:
    run = read_log(
        tmp_path, "".join(f"Fold {n}\nrho = 0.00{40 - n}\nRight = {n}.25%\n\n" for n in range(1, 8))
    )
    assert not any(steps != [0] for steps in steps_of(run).values())


def test_records_without_a_count_behind_those_with_one_go_on(tmp_path: Path) -> None:
    text = "".join(f"fit: Stage1 : m = {n}, rmse = 6.{99 - n}, fit = 0.{n:02}\n" for n in N)
    text += "Interval: [1.25, 2.5]\n" + "".join(
        f"Stage {n // 11 + 2} pass rmse = 3.{99 - n}, fit = 0.{n:02}\n" for n in N
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {
        "rmse": _TWENTY,
        "Stage1 m/fit": _TWENTY,
        "pass rmse": [*range(21, 41)],
        "Stage pass/fit": [*range(21, 41)],
    }


@pytest.mark.parametrize(
    "result", ["test acc on last model = 0.62", "Test accuracy: 0.62", "* Test F1 = 0.62"]
)
def test_results_behind_rows_with_a_bare_number_are_at_the_last_step(tmp_path: Path, result: str) -> None:
    rows = "".join(f"{n}\ttrain loss=0.{99 - n}\tvalid acc=0.{40 + n}\n" for n in N)
    run = read_log(tmp_path, f"{rows}\n#####\nTEST 4-gpu\nData:\n\tTEST:560\n{result}\ntrain loss=0.5\n")
    assert {key.metric: series.step.tolist()[-1] for key, series in run.data.series.items()} == {
        "train loss": 20,
        "valid acc": 20,
        result.strip("* ")[: -len(" = 0.62") if "=" in result else -len(": 0.62")]: 20,
    }
    assert run.points == 41


def test_names_glued_to_fractions_are_rows_where_the_same_names_come_again(tmp_path: Path) -> None:
    rows = "".join(f"test{20 - n}.45\ntrain{30 - n}.25\n" for n in N)
    run = read_log(tmp_path, f"fc7\nlayer5\n(100, 3)\nrelease1.2\n{rows}final cost5.125\nThe data:\t580\n")
    assert steps_of(run) == {"test": [n - 1 for n in N], "train": [n - 1 for n in N], "final cost": [19]}


def test_a_name_whose_digits_stay_the_same_has_no_number_glued_to_it(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"cost {30 - n}.5\nlayer2.5\nconv2d_1\n" for n in N))
    assert steps_of(run) == {"cost": [n - 1 for n in N]}


def test_rows_that_count_nothing_before_a_word_of_data_are_no_table() -> None:
    lines = [
        line
        for n in range(3, 9)
        for line in (f"found 0.{n}1 in 0.{n % 4}7 parts for eval", f"part {n * n % 7}")
    ]
    assert counted_table(lines) == []


PARTS_OF_EPOCHS = ("[{share:3}%] loss: 0.{n}5\n", "Progress: {share}% loss: 0.{n}5\n")


@pytest.mark.parametrize("line", PARTS_OF_EPOCHS)
def test_per_cents_that_begin_anew_behind_a_hundred_are_of_the_next_epoch(line: str, tmp_path: Path) -> None:
    shares = [share for _ in range(3) for share in range(25, 101, 25)]
    text = "".join(line.format(share=share, n=n) for n, share in enumerate(shares))
    run = read_log(tmp_path, text)
    assert (run.attempts, steps_of(run)) == (1, {"loss": [*range(25, 301, 25)]})


def test_rows_that_begin_anew_beside_a_per_cent_are_of_another_launch(tmp_path: Path) -> None:
    text = "".join(f"{n} loss: 0.{n}5 hits 5{k}%\n" for k in range(3) for n in range(25, 101, 25))
    assert read_log(tmp_path, text).attempts == 3


def test_an_evaluation_alone_has_its_data_and_the_means_in_brackets(tmp_path: Path) -> None:
    text = "".join(f"Test: [{10 * n}/90]\tLoss 0.{n}1 (0.{n}2)\tAcc@1 5{n}.5 (6{n}.5)\n" for n in range(9))
    names = ("Loss", "Loss/mean", "Acc@1", "Acc@1/mean")
    steps = [*range(0, 90, 10)]
    assert steps_of(read_log(tmp_path, text)) == {f"test/{name}": steps for name in names}
