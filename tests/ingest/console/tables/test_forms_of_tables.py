"""Printed tables: which column counts, what their names are, blank cells, remarks, rules and prefixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


_RULE = "+-------+------+\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "names of nothing known above rows between bars": (
        "opened\n|  iter  |  target  |  depth  |\n------------------------------\n"
        + "".join(f"| {n}      | 0.4{n}     | 3.{n}     |\n" for n in range(6)),
        {"target": [*range(6)], "depth": [*range(6)]},
    ),
    "names of nothing known above rows with a prefix, and a remark behind the last one": (
        "Begin [1]\nChain [1]   iter   EL   delta mean   notes\n"
        + "".join(
            f"Chain [1]    {n}00   -6{n}.4        0.7{n}{'   CONVERGED' * (n == range(6)[-1])}\n"
            for n in range(6)
        ),
        {"EL": [100 * n for n in range(6)], "delta mean": [100 * n for n in range(6)]},
    ),
    "rows with blank cells, below the beginnings of their names, and a bar between them": (
        "epoch  main/loss  val/loss  elapsed_time\n"
        + "".join(
            f"\x1b[{4 * (n > 0)}A\x1b[J{n}      1.{n}        {f'2.{n}' if n % 2 else '   '}       1{n}.5\n"
            "   total [##........] 20.00%\n"
            for n in range(6)
        ),
        {"main/loss": [*range(6)], "val/loss": [n for n in range(6) if n % 2], "elapsed_time": [*range(6)]},
    ),
    "rows with blank cells, below the ends of their names": (
        "  epoch    train_loss    cp     dur\n-------  ------------  ----  ------\n"
        + "".join(f"      {n}        1.{n}000     {'+ '[n % 2]}  3{n}.231\n" for n in range(6)),
        {"train_loss": [*range(6)], "dur": [*range(6)]},
    ),
    "rows with fewer cells than names, in no places of theirs": (
        "  epoch    train_loss    acc     dur\n"
        + "".join(f"      {n}        1.{n}000   0.5  3{n}.231\n" for n in range(6))
        + "      9   4.5  3\n",
        {"train_loss": [*range(6)], "acc": [*range(6)], "dur": [*range(6)]},
    ),
    "a last column without a name": (
        "".join(
            f"{line}\n"
            for line in (
                "  epoch    train_loss     acc",
                *(f"      {n}        1.{n}000   0.5{n}0    3{n}.2" for n in range(6)),
            )
        ),
        {"train_loss": [*range(6)], "acc": [*range(6)]},
    ),
    "a last column without a name, behind a prefix": (
        "".join(
            f"2026-05-04 10:00:01 INFO {line}\n"
            for line in (
                "epoch    train_loss     acc",
                *(f"    {n}        1.{n}000   0.5{n}0    3{n}.2" for n in range(6)),
            )
        ),
        {"train_loss": [*range(6)], "acc": [*range(6)]},
    ),
    "a last column without a name, between bars": (
        "| epoch | train_loss |\n" + "".join(f"| {n} | 1.{n} | 0.5{n} |\n" for n in range(6)),
        {"train_loss": [*range(6)]},
    ),
    "words above rows that are not as many as their cells": (
        "opened\nsome words\n" + "".join(f"{n}  0.4{n}  3.{n}\n" for n in range(6)),
        {"column 2": [*range(6)], "column 3": [*range(6)]},
    ),
    "a table of classes without lines between the cells": (
        "".join(
            f"Epoch {n} loss 0.{n}\nClass     IoU    Acc\nroad      0.42{n}  0.47\n"
            f"traffic light  0.77{n}  0.02\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("loss", "eval/road/IoU", "eval/road/Acc", "eval/traffic light/IoU"),
                "eval/traffic light/Acc",
            )
        },
    ),
    "scores of stations in columns with names of several words": (
        "".join(f"Epoch {n} loss 0.{n}\n" for n in N)
        + "----------\nStation     RMSE      Hit Rate    MAE\n--------------------\n"
        + "North Pier  2.0%      5.6         6.1\nOslo        1.5%      5.0         7.0\n",
        {
            "loss": [*N],
            **{
                f"eval/{row}/{name}": [N[-1]]
                for row in ("North Pier", "Oslo")
                for name in ("RMSE", "Hit Rate", "MAE")
            },
        },
    ),
    "tables of a detector's classes below headings, without bars or losses": (
        "".join(
            f"Epoch: {n}\n"
            "                 Class     Images  Instances          P          R     mAP@.5 mAP@.5:.95\n"
            f"                   all         40         52    0.6{n}      0.5{n}       0.61   4.{n}2e-05\n"
            for n in N
        ),
        {f"eval/all/{name}": [*N] for name in ("P", "R", "mAP@.5", "mAP@.5:.95")},
    ),
    "such tables whose names are indented": (
        "".join(
            f"Epoch {n} loss 0.{n}\nEvaluation on subtest dataset: 13128\nregression: \n"
            f"         MJE PA_MJE\nright  21.38   7.9{n}\nMean Pose: \n"
            f"                       MCE    ADD01d\n002_chef_can    115.{n}  0.82%\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("loss", "eval/right/MJE", "eval/right/PA_MJE", "eval/002_chef_can/MCE"),
                "eval/002_chef_can/ADD01d",
            )
        },
    ),
    "the ends of lines cleared before rows": (
        "epoch       main/loss   validation/main/loss\n"
        + "".join(f"\x1b[J{n}           0.7{n}    0.9{n}\n" for n in N),
        {name: [*N] for name in ("main/loss", "validation/main/loss")},
    ),
    "rows of a notebook without a loss": (
        "Step\tTraining Loss\tValidation Loss\n"
        + "".join(f"{n}00\t{'No log' if n < 3 else '0.5'}\t1.2{n}\n" for n in N),
        {"Training Loss": [300, 400], "Validation Loss": [100, 200, 300, 400]},
    ),
    "tables of a metric per row": (
        "".join(
            f"       Epoch {n}       \n┏━━━━━━━━┳━━━━━━━┓\n┃ Metric ┃ Value ┃\n┡━━━━━━━━╇━━━━━━━┩\n"
            f"│ loss   │ 1.9{n}  │\n│ acc    │ 0.{n}   │\n└────────┴───────┘\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "acc")},
    ),
    "tables of the data per row": (
        "".join(
            f"       Epoch {n}       \n┃ Split ┃ Loss ┃ Acc ┃\n"
            f"│ train │ 1.2{n} │ 0.{n} │\n│ val   │ 2.2{n} │ 0.1 │\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "Acc", "val/Loss", "val/Acc")},
    ),
    "a row in colour below lines of dashes": (
        "  epoch    train loss    valid loss\n-------  ------------  ------------\n"
        + "".join(f"      {n}       \x1b[36m0.90{n}\x1b[0m       \x1b[32m2.2{n}\x1b[0m\n" for n in N),
        {name: [*N] for name in ("train loss", "valid loss")},
    ),
    "columns behind a logger's time": (
        "[2022/02/21 14:22:58] - Epoch \t LR \t \t Train Loss \t Test Acc\n"
        + "".join(f"[2022/02/21 14:26:1{n}] - {n} \t 0.1000 \t 2.0{n} \t \t 0.26\n" for n in N),
        {name: [*N] for name in ("LR", "Train Loss", "Test Acc")},
    ),
    "names of columns in two lines": (
        "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Base Learning  |\n"
        "|         |             |   (hh:mm:ss)   |     Loss     |      Rate       |\n"
        + "".join(f"| {n}  |      {n}0 |       00:00:0{n} |       1.5{n} |          0.0100 |\n" for n in N),
        {name: [10, 20, 30, 40] for name in ("Epoch", "Mini-batch Loss", "Base Learning Rate")},
    ),
    "scores between vertical lines": (
        "".join(
            f"iter: {n}9  total_loss: 2.{n}\n|   AP   |  AP50  |  APs   |\n|:------:|:------:|:------:|\n"
            f"| 37.91{n} | 58.112 | 21.100 |\n"
            for n in N
        ),
        {
            "total_loss": [19, 29, 39, 49],
            **{f"eval/{name}": [19, 29, 39, 49] for name in ("AP", "AP50", "APs")},
        },
    ),
    "scores of a model between vertical lines": (
        "".join(
            f"Epoch: {n}, loss 0.5\n2019-11-25 12:00:00,123 | Arch | AP | AP (M) |\n"
            f"2019-11-25 12:00:00,123 |---|---|---|\n2019-11-25 12:00:00,123 | pose | 0.{n} | 0.7 |\n"
            for n in N
        ),
        {"loss": [*N], "eval/pose/AP": [*N], "eval/pose/AP (M)": [*N]},
    ),
    "a header behind a sign for comments": (
        "#  step      rmse_val    rmse_trn         lr\n"
        + "".join(f"    {n}00      2.0{n}e+01    2.1e+01    1.0e-03\n" for n in N),
        {name: [100, 200, 300, 400] for name in ("rmse_val", "rmse_trn", "lr")},
    ),
    "a table behind the prefixes of a logger": (
        "INFO:main:   epoch   train_loss   val_loss\n"
        + "".join(f"INFO:main:   {n}       1.{n}         2.{n}\n" for n in N),
        {name: [*N] for name in ("train_loss", "val_loss")},
    ),
    "a table behind times and levels": (
        "2026-01-02 10:00:00,123 - INFO - Epoch  Loss  Acc\n"
        + "".join(f"2026-01-02 10:00:0{n},123 - INFO - {n}/4  1.{n}  0.{n}\n" for n in N),
        {name: [*N] for name in ("Loss", "Acc")},
    ),
    "a table whose second column counts": (
        "Date        Epoch  Loss\n" + "".join(f"2026-01-02  {n}  1.{n}\n" for n in N),
        {"Loss": [*N]},
    ),
    "a table with single spaces, between names of several words as well": (
        "Epoch Train Loss Val Loss\n" + "".join(f"{n} 1.{n} 2.{n}\n" for n in N),
        {name: [*N] for name in ("Train Loss", "Val Loss")},
    ),
    "groups of columns between thin lines": (
        "  Ep │  TrainLoss   Tr_MSE │   ValLoss   Va_MSE │      LR   Time       ETA\n"
        + "".join(f"   {n} │   0.39846{n} 0.040 │  0.315 0.035 │ 1.0e-05   289s      1.5h\n" for n in N),
        {name: [*N] for name in ("TrainLoss", "Tr_MSE", "ValLoss", "Va_MSE", "LR")},
    ),
    "tables without outer bars": (
        "".join(f"{'-' * 40}\n  timestep     |  {n}00\n  reward       |  0.{n}\n{'-' * 40}\n" for n in N),
        {"reward": [100, 200, 300, 400]},
    ),
    "a table of groups": (
        "            |----- VALID -----|----- TRAIN -----|----------|\n"
        "lr   epoch  | loss   top-1    | loss   top-1    | time     |\n"
        + "".join(f"0.1   {n}.0  | 0.5{n}   80.3   | 0.65   66.6    | 0 hr 0{n} min\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("lr", "valid/loss", "valid/top-1", "train/loss", "train/top-1")},
    ),
    "a table of boosted trees whose column of the evaluation is empty": (
        "Iter   TrainDeviance   ValidDeviance   StepSize   Improve\n"
        + "".join(f"{n:6}        1.2{n}00             nan     0.1000    0.0{n}00\n" for n in range(1, 8)),
        _at([*range(1, 8)], "TrainDeviance", "ValidDeviance", "StepSize", "Improve"),
    ),
    "samples within epochs, in columns": (
        "epoch\tsample\tloss\n"
        + "".join(f"{n}\t{sample}\t{n}.{sample}\n" for n in range(1, 4) for sample in range(1, 51)),
        {"loss": [*range(1, 151)]},
    ),
    "rows of data with other short forms": (
        "dset      epoch    cost    cerr\n------  -------  ------  ------\n"
        + "".join(
            f"trn           {n}    0.4{n}    0.18\ndev           {n}    0.5    0.2\n" for n in range(1, 4)
        ),
        {name: [1, 2, 3] for name in ("cost", "cerr", "dev/cost", "dev/cerr")},
    ),
    "a table of an axis and a metric": (
        "+-------+------+\n| epoch | loss |\n+-------+------+\n"
        + "".join(f"|   {n}   | 0.{n} |\n" for n in range(1, 4))
        + "+-------+------+\n",
        {"loss": [1, 2, 3]},
    ),
    "tables of names and values between lines with corners": (
        "".join(
            f"+--------+-------+\n| Metric | Value |\n+--------+-------+\n"
            f"| epoch | {n} |\n| loss | 0.{n} |\n+--------+-------+\n"
            for n in range(1, 4)
        ),
        {"loss": [1, 2, 3]},
    ),
    "a remark one blank behind the last cell of a table": (
        " epoch      loss      F1    recall\n"
        + "".join(
            f"{n:6}  {2 / (n + 1):8.4f}  {n / 10:6.4f}  {n * 9.1:8.1f}%{' <- saved' * (n % 2)}\n"
            for n in range(6)
        ),
        {"loss": [*range(6)], "F1": [*range(6)], "recall": [*range(6)]},
    ),
    "a table whose steps begin anew with each epoch": (
        "epoch    step      loss      perp\n-----    -----    ------    ------\n"
        + "".join(f"    {n}    {step}     2.161      8.68\n" for n in (1, 2) for step in (100, 200)),
        {"loss": [100, 200, 300, 400], "perp": [100, 200, 300, 400]},
    ),
    "a remark behind the last cell": (
        "epoch | loss | val loss\n-----------------\n"
        + "".join(f"  {n} | {n}.5 | {n}.25{'' if n % 3 else '  <- best'}\n" for n in range(6)),
        {"loss": [*range(6)], "val loss": [*range(6)]},
    ),
    "a sign behind the last column": (
        "Epoch    Loss       Val P@10     Time\n----------------\n"
        + "".join(f"{n}        {n}.3436     0.0814       0.{n}m{' ' if n % 3 else ' ★'}\n" for n in range(6)),
        {"Loss": [*range(6)], "Val P@10": [*range(6)]},
    ),
    "an empty last cell": (
        "epoch | loss | mae\n" + "".join(f"  {n} | {n}.5 |{'' if n % 3 else '  7.25'}\n" for n in range(6)),
        {"loss": [*range(6)], "mae": [0, 3]},
    ),
    "a table that is printed anew with each row": (
        "".join(
            f"{_RULE}| epoch | loss |\n{_RULE}"
            + "".join(f"|   {row}   | {row}.5  |\n" for row in range(n + 1))
            + _RULE
            for n in range(6)
        ),
        {"loss": [*range(6)]},
    ),
    "a table of losses below the heading of an epoch": (
        "".join(
            f"   Epoch {n}00 Losses   \n┏━━━━━━━━━┳━━━━━━━┓\n┃ Loss Type ┃ Loss Value ┃\n┡━━━━━╇━━━━━┩\n"
            f"│ Total Loss │ 1.{n}3e+00   │\n│ Obs 1 Loss │ 9.{n}9e-01   │\n└─────┴─────┘\n"
            for n in range(6)
        ),
        {name: [100 * n for n in range(6)] for name in ("Total Loss", "Obs 1 Loss")},
    ),
    "a table whose first name is that of a metric": (
        "epoch\tloss\tprec1\tlr\r\n" + "".join(f"{n}\t2.{n}\t35.5\t0.1\r\n" for n in range(1, 4)),
        {"loss": [1, 2, 3], "prec1": [1, 2, 3], "lr": [1, 2, 3]},
    ),
    "a table whose steps have a point": (
        "NumIters,Seconds,accuracy,total_loss\n"
        + "".join(f"{n}00.0,2{n}.5,0.5,0.{n}\n" for n in range(1, 4)),
        {"Seconds": [100, 200, 300], "accuracy": [100, 200, 300], "total_loss": [100, 200, 300]},
    ),
    "columns of an epoch, its batches and a value": (
        "\n" + "".join(f"{epoch}\t\t{batch}\t\t0.7{batch}\n" for epoch in range(1, 4) for batch in range(2)),
        {"epoch": [0, 1, 2, 3, 4, 5], "column 3": [0, 1, 2, 3, 4, 5]},
    ),
    "a row before the training": (
        "data\tepoch\tloss\n"
        + "".join(f"{data}\t{n}\t0.{n + 3}\n" for n in (-1, 0, 1) for data in ("train", "eval")),
        {"loss": [-1, 0, 1], "eval/loss": [-1, 0, 1]},
    ),
    "a table whose first name begins with a sign": (
        "".join(
            f"{'-' * 34}\n| % time spent resting | 4{n}       |\n| steps                | {n}400     |\n"
            for n in range(1, 4)
        )
        + f"{'-' * 34}\n",
        {"% time spent resting": [1400, 2400, 3400]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_of_tables_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_a_table_with_semicolons_has_its_names(tmp_path: Path) -> None:
    table = "episode;steps;reward\n" + "".join(f"{n};7{n};-1.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, table)) == {"steps": [*N], "reward": [*N]}


def test_a_first_column_that_counts_evenly_is_the_step(tmp_path: Path) -> None:
    table = "Frame,Reward,Loss\n" + "".join(f"{n}000,20{n}.5,0.1\n" for n in N)
    assert steps_of(read_log(tmp_path, table)) == {
        name: [1000, 2000, 3000, 4000] for name in ("Reward", "Loss")
    }


def test_a_table_with_an_epoch_and_a_batch_goes_on_through_the_epochs(tmp_path: Path) -> None:
    rows = [f"{epoch},{batch},0.6{batch},0.5\n" for epoch in (1, 2) for batch in N]
    rows.insert(4, "Epoch 1 Summary,train_loss=0.72,val_loss=1.86\n")
    steps = steps_of(read_log(tmp_path, "epoch,batch,loss,accuracy\n" + "".join(rows)))
    assert (steps["loss"], steps["val_loss"]) == ([*range(1, 9)], [4])


def _table(losses: int, metrics: int, ratio: float = 1.0) -> str:
    """A table of so many losses on two sets of points, and of other values, as numpy saves them."""

    def row(step: int) -> str:
        of_train = [10.0**-number * (1 + step / 5000) for number in range(losses)]
        values = [step, *of_train, *(ratio * loss for loss in of_train), *[0.5] * metrics]
        return " ".join(f"{value:.18e}" for value in values) + "\n"

    return "# step, loss_train, loss_test, metrics_test\n" + "".join(
        row(step) for step in range(0, 6000, 1000)
    )


@pytest.mark.parametrize(
    ("losses", "metrics", "ratio"), [(3, 0, 1.2), (3, 1, 0.9), (2, 2, 1.0), (1, 0, 1.1), (20, 1, 1.0)]
)
def test_several_columns_below_one_name_are_numbered(
    tmp_path: Path, losses: int, metrics: int, ratio: float
) -> None:
    run = read_log(tmp_path, _table(losses, metrics, ratio), "loss.dat")
    names = [
        *(
            f"{name} {number}" if number > 1 else name
            for name in ("loss_train", "loss_test")
            for number in range(1, losses + 1)
        ),
        *("metrics_test" if number == 1 else f"metrics_test {number}" for number in range(1, metrics + 1)),
    ]
    assert steps_of(run) == _at([*range(0, 6000, 1000)], *sorted(names))


def test_a_table_may_have_a_separator_behind_its_names(tmp_path: Path) -> None:
    for end in ("", "\t"):
        text = "Learning Rate\tTrain Loss\t\n" + "".join(f"0.1\t1.{n}{end}\n" for n in range(1, 4))
        assert steps_of(read_log(tmp_path, text, "log.txt")) == {
            "Learning Rate": [0, 1, 2],
            "Train Loss": [0, 1, 2],
        }


def test_a_table_of_steps_below_each_epoch_goes_on(tmp_path: Path) -> None:
    table = "Step  Action    Reward\n----------------------\n"
    text = "".join(
        f"Epoch {epoch}/3 Running...\n{table}"
        + "".join(f"{step}     Up        -{step}.5\n" for step in range(1, 4))
        for epoch in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Reward": [*range(1, 10)]}


def test_lines_beside_a_table_are_read_too(tmp_path: Path) -> None:
    rows = "".join(f"Episodes {n}0/50, Avg Reward: 1{n}.5\n" for n in range(1, 4))
    table = "epoch  train_loss  valid_loss\n" + "".join(f"{n}      0.{n}         0.5\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, rows + table)).keys() == {"Avg Reward", "train_loss", "valid_loss"}


@pytest.mark.parametrize("between", ["\t", "  ", ","])
def test_the_first_column_of_a_table_may_name_the_data(tmp_path: Path, between: str) -> None:
    rows = [("Split", "Epoch", "F1", "Accuracy")]
    rows += [(split, str(n), "0.8", f"0.{n}") for n in range(1, 4) for split in ("train", "val")]
    text = "".join(f"{between.join(row)}\n" for row in rows)
    names = [f"{split}{name}" for split in ("", "val/") for name in ("F1", "Accuracy")]
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(1, 4)] for name in names}


TABLES = (
    "training\n# Epoch  batch  loss  f_mae\n"
    + "".join(f"   {{n}}  {at}  {at}.5  {at}.25\n" for at in (1, 2, 3))
    + "\n\n  Train   #   Epoch   wal   loss   f_mae\n! Train  {n}  1{n}.5  0.{n}  1.{n}\n"
    + "! Validation  {n}  1{n}.7  2.{n}  3.{n}\n\n"
)


def test_rows_with_a_mark_name_their_data_below_a_table_of_batches(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(TABLES.format(n=n) for n in range(1, 7)))
    steps = {key.metric: series.step.tolist() for key, series in run.data.series.items()}
    ends = [3 * n for n in range(1, 7)]
    assert (steps["loss"], run.attempts) == ([*range(1, 19)], 1)
    means = ("epoch/loss", "epoch/f_mae", "wal", "validation/loss", "validation/f_mae", "validation/wal")
    assert {name: steps[name] for name in means} == dict.fromkeys(means, ends)


_PREFIX = "(2024-01-02 10:00:00.000 INFO) - "


COLUMNS_OF_TABLES: dict[str, tuple[str, str, list[str]]] = {
    "behind what a logger prints, with totals": (
        f"{_PREFIX}main:    Epoch | Train loss | Time (seconds)\n",
        f"{_PREFIX}train: {{n}}  / 200 | 0.{{n}} | 4{{n}}.5\n",
        ["Train loss", "Time (seconds)"],
    ),
    "behind bars of a logger": (
        "[INFO] 2024-01-02 10:00:00 | Epoch | Loss |\n",
        "[INFO] 2024-01-02 10:00:00 | {n} | 2.{n} |\n",
        ["Loss"],
    ),
    "without outer bars": ("Epoch|Loss|Acc\n", "{n}|2.{n}|0.{n}\n", ["Loss", "Acc"]),
    "with the names above each row": ("", "Epoch|Loss|Acc\n{n}|2.{n}|0.{n}\n", ["Loss", "Acc"]),
    "of episodes": ("| episode | reward | length |\n", "| {n} | 2.{n} | 12{n} |\n", ["reward", "length"]),
    "in Chinese": ("| 轮次 | 损失 | 准确率 |\n", "| {n} | 2.{n} | 0.{n} |\n", ["损失", "准确率"]),
    "with double lines": ("║ Epoch ║ Train Loss ║\n", "║ {n} ║ 2.{n} ║\n", ["Train Loss"]),
    "with the data in a column": (
        "| epoch | phase | loss |\n",
        "| {n} | train | 2.{n} |\n| {n} | valid | 3.{n} |\n",
        ["loss", "valid/loss"],
    ),
    "of tabs with the data in a column": (
        "epoch\tphase\tloss\n",
        "{n}\ttrain\t2.{n}\n{n}\tvalid\t3.{n}\n",
        ["loss", "valid/loss"],
    ),
    "with spreads": ("| Epoch | Loss | Acc |\n", "| {n} | 2.{n}±0.1 | 0.{n} (0.9) |\n", ["Loss", "Acc"]),
    "with an empty column": (
        " Epoch  |  Batch  |  Train Loss  |  Val Acc  |  Elapsed\n",
        "   {n}    |    -    |   0.{n}   |   8{n}.5   |   12.25\n",
        ["Train Loss", "Val Acc", "Elapsed"],
    ),
    "without spaces": ("|epoch|loss|acc|\n|-|-|-|\n", "|{n}|2.{n}|0.{n}|\n", ["loss", "acc"]),
    "behind bars and the place of a logger": (
        "2024-01-02 10:00:00 | INFO | __main__:train:44 - | epoch | loss |\n",
        "2024-01-02 10:00:00 | INFO | __main__:train:44 - | {n} | 2.{n} |\n",
        ["loss"],
    ),
    "of the data in columns": (
        "",
        "Epoch {n}\n|      | train | val  |\n|------|-------|------|\n| loss | 2.{n} | 3.{n} |\n",
        ["loss", "val/loss"],
    ),
    "behind a logger's prefix and spaces": (
        "2024-01-02 10:00:00,123 - INFO -   Epoch    loss    val_loss\n",
        "2024-01-02 10:00:00,123 - INFO -   {n}    2.{n}    3.{n}\n",
        ["loss", "val_loss"],
    ),
}


@pytest.mark.parametrize("table", COLUMNS_OF_TABLES)
def test_numbers_of_tables_have_the_names_of_their_columns(table: str, tmp_path: Path) -> None:
    heading, row, names = COLUMNS_OF_TABLES[table]
    text = heading + "".join(row.format(n=n) for n in range(1, 7))
    assert_steps(tmp_path, text, {name: [*range(1, 7)] for name in names})


@pytest.mark.parametrize(
    "heading", ["Evaluation results for {}: ", "Test results of {}:", "=== Eval metrics on {} ==="]
)
def test_tables_below_headings_that_name_what_is_evaluated_are_of_it(heading: str, tmp_path: Path) -> None:
    table = "| AP | AP50 | AP75 |\n|:--:|:--:|:--:|\n| 0.{n}1 | 0.{n}2 | nan |\n"
    text = "".join(
        f"iter: {n}0  total_loss: 1.{n}\n"
        + "".join(f"{heading.format(task)}\n{table.format(n=n)}" for task in ("box", "mask"))
        for n in (1, 2, 3)
    )
    data = heading.split()[0 if heading[0] != "=" else 1].lower()
    steps = steps_of(read_log(tmp_path, text))
    expected = {f"{data}/{task}/{name}" for task in ("box", "mask") for name in ("AP", "AP50", "AP75")}
    assert steps == {name: [10, 20, 30] for name in (*expected, "total_loss")}
