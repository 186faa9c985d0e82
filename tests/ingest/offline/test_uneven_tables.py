"""Tables given by hand whose rows are not as their header says, and tables that lie on their side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = [*range(6)]


def losses(count: int) -> list[str]:
    return [f"{3 - number / 8:.3f}" for number in range(count)]


@pytest.mark.parametrize("evaluated", [(0, 3), (2, 5)], ids=["first row is long", "first row is short"])
@pytest.mark.parametrize("name", ["log.csv", "log.txt"])
def test_rows_may_lack_their_last_cells(evaluated: tuple[int, ...], name: str, tmp_path: Path) -> None:
    rows = [
        f"{n},{loss}" + (f",{float(loss) + 0.5},0.5" if n in evaluated else "")
        for n, loss in enumerate(losses(6))
    ]
    run = read_log(tmp_path, "\n".join(["epoch,train_loss,val_loss,val_acc", *rows, ""]), name)
    assert (run.attempts, run.unreadable) == (1, [])
    assert steps_of(run) == {"train_loss": EPOCHS, "val_loss": [*evaluated], "val_acc": [*evaluated]}


def test_a_torn_row_is_reported(tmp_path: Path) -> None:
    rows = [f"{n},{loss},0.5" for n, loss in enumerate(losses(6))]
    rows[3] = "3,2."
    run = read_log(tmp_path, "\n".join(["epoch,loss,acc", *rows, ""]), "log.csv")
    assert steps_of(run) == {"loss": [0, 1, 2, 4, 5], "acc": [0, 1, 2, 4, 5]}
    assert [each.location for each in run.unreadable] == ["line 5"]


def test_more_cells_than_names_have_their_places_as_names(tmp_path: Path) -> None:
    rows = [f"{n},{loss},0.25" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["epoch,loss", *rows, ""]), "log.csv")
    assert steps_of(run) == {"loss": EPOCHS, "column 3": EPOCHS}


def test_another_header_below_rows_is_that_of_the_next_launch(tmp_path: Path) -> None:
    first = [f"{n},{loss}" for n, loss in enumerate(losses(6))]
    second = [f"{n},{loss},0.5" for n, loss in enumerate(losses(4))]
    text = "\n".join(["epoch,loss", *first, "epoch,loss,val_loss", *second, ""])
    run = read_log(tmp_path, text, "log.csv")
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [*EPOCHS, 0, 1, 2, 3], "val_loss": [0, 1, 2, 3]}


def test_a_header_above_each_row_may_get_more_names(tmp_path: Path) -> None:
    header = "train/loss,time/total timesteps"
    rows = [f"{header},reward\n0.{n},{n}00,{n}.5" for n in range(3, 7)]
    text = "\n".join([f"{header}\n0.1,100\n{header}\n0.2,200", *rows, ""])
    run = read_log(tmp_path, text, "progress.csv")
    assert (run.attempts, run.unreadable) == (1, [])
    assert steps_of(run) == {
        "train/loss": [100, 200, 300, 400, 500, 600],
        "reward": [300, 400, 500, 600],
    }


def test_results_below_names_of_their_own_are_at_the_last_step(tmp_path: Path) -> None:
    rows = [f"{n},{loss}" for n, loss in enumerate(losses(6))]
    text = "\n".join(["epoch,loss", *rows, "", "test_acc,test_f1", "0.81,0.79", ""])
    run = read_log(tmp_path, text, "log.csv")
    assert run.attempts == 1
    assert steps_of(run) == {"loss": EPOCHS, "test_acc": [5], "test_f1": [5]}


@pytest.mark.parametrize("column", ["name", "tag", "key"])
def test_rows_of_a_value_each_have_its_name(column: str, tmp_path: Path) -> None:
    rows = [f"{n},{name},{loss}" for n, loss in enumerate(losses(6)) for name in ("loss", "val_loss")]
    run = read_log(tmp_path, "\n".join([f"step,{column},value", *rows, ""]), "log.csv")
    assert steps_of(run) == {"loss": EPOCHS, "val_loss": EPOCHS}


def test_the_index_of_a_data_frame_counts(tmp_path: Path) -> None:
    rows = [f"{n},{loss},0.5" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["Unnamed: 0,train_loss,acc", *rows, ""]), "log.csv")
    assert steps_of(run) == {"train_loss": EPOCHS, "acc": EPOCHS}


@pytest.mark.parametrize(
    ("header", "first"),
    [
        ("metric,1,2,3,4,5,6", 1),
        (",epoch_1,epoch_2,epoch_3,epoch_4,epoch_5,epoch_6", 1),
        ("", 0),
        ("epoch,1,2,3,4,5,6", 1),
        (",0,1,2,3,4,5\nepoch,1,2,3,4,5,6", 1),
    ],
)
@pytest.mark.parametrize("name", ["history.csv", "history.txt"])
def test_lines_may_be_the_metrics_and_columns_the_epochs(
    header: str, first: int, name: str, tmp_path: Path
) -> None:
    rows = [f"{metric},{','.join(losses(6))}" for metric in ("train_loss", "val_loss", "seconds")]
    run = read_log(tmp_path, "\n".join([*filter(None, [header]), *rows, ""]), name)
    epochs = [*range(first, first + 6)]
    assert steps_of(run) == {"train_loss": epochs, "val_loss": epochs, "seconds": epochs}


def test_lines_of_metrics_may_be_between_blanks(tmp_path: Path) -> None:
    rows = [f"{metric} {' '.join(losses(9))}" for metric in ("train_loss", "val_loss")]
    run = read_log(tmp_path, "\n".join([*rows, ""]), "history.txt")
    assert steps_of(run) == {"train_loss": [*range(9)], "val_loss": [*range(9)]}


def test_rows_of_classes_are_no_metrics_of_epochs(tmp_path: Path) -> None:
    text = "class,iou,acc,f1\nroad,0.5,0.625,0.75\nsky,0.25,0.5,0.5\ncar,0.125,0.25,0.375\n"
    assert read_log(tmp_path, text, "classes.csv").points == 0


def test_empty_cells_between_tabs_keep_their_places(tmp_path: Path) -> None:
    rows = [f"{n}\t\t{loss}\t" for n, loss in enumerate(losses(6))]
    text = "\n".join(["epoch\ttrain_loss\tval_loss\tbest", *rows, ""])
    assert steps_of(read_log(tmp_path, text, "log.txt")) == {"val_loss": EPOCHS}


def test_a_last_column_of_remarks_may_be_empty(tmp_path: Path) -> None:
    rows = [f"{n} {loss} 0.5" + " saved" * (n == 3) for n, loss in enumerate(losses(6))]
    text = "\n".join(["step loss accuracy notes", *rows, ""])
    assert steps_of(read_log(tmp_path, text, "log.txt")) == {"loss": EPOCHS, "accuracy": EPOCHS}


@pytest.mark.parametrize(("heading", "between"), [("Class    IoU", "     "), ("class\tIoU", "\t")])
def test_classes_with_a_single_score_are_of_the_evaluation(
    heading: str, between: str, tmp_path: Path
) -> None:
    text = "".join(
        f"Epoch {n} train loss: {3 - n / 8}\n{heading}\nroad{between}0.{n}1\nsky{between}0.{n}2\n"
        for n in (1, 2, 3)
    )
    found = steps_of(read_log(tmp_path, text, "train.log"))
    assert found == {"train loss": [1, 2, 3], "eval/road/IoU": [1, 2, 3], "eval/sky/IoU": [1, 2, 3]}


def test_a_metric_below_the_name_of_a_model_is_no_score_of_a_class(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n} train loss: {3 - n / 8}\nModel    mAP\nAccuracy     0.{n}1\n" for n in (1, 2, 3)
    )
    assert "eval/Accuracy/mAP" not in steps_of(read_log(tmp_path, text, "train.log"))


@pytest.mark.parametrize("columns", [1, 3])
def test_the_places_of_columns_are_no_row(columns: int, tmp_path: Path) -> None:
    header = ",".join(map(str, range(columns)))
    text = "\n".join([header, *(",".join([loss] * columns) for loss in losses(6)), ""])
    names = ["train_loss", "train_loss_2", "train_loss_3"][:columns]
    assert steps_of(read_log(tmp_path, text, "train_loss.csv")) == dict.fromkeys(names, EPOCHS)


def test_a_column_that_goes_up_by_its_name_is_the_step(tmp_path: Path) -> None:
    rows = [f"{loss},{n * n}" for n, loss in enumerate(losses(12))]
    run = read_log(tmp_path, "\n".join(["exploitability,t", *rows, ""]), "progress.csv")
    assert steps_of(run) == {"exploitability": [n * n for n in range(12)]}


@pytest.mark.parametrize("cell", ['"[{x}, {x}]"', "[{x} {x}]", '"({x}, {x})"'])
def test_numbers_of_a_list_are_columns(cell: str, tmp_path: Path) -> None:
    rows = [f"{n},{cell.format(x=loss)},0.5" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["epoch,iou,acc", *rows, ""]), "log.csv")
    assert steps_of(run) == {"iou": EPOCHS, "iou 2": EPOCHS, "acc": EPOCHS}


def test_rounds_count_whatever_is_measured(tmp_path: Path) -> None:
    rows = [f"{n},mean,{loss}" for _ in range(2) for n, loss in enumerate(losses(6))]
    rows += [f"{n},mean,{loss},1.0" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["round,method,distance", *rows, ""]), "metrics.csv")
    assert (run.attempts, steps_of(run)) == (3, {"distance": EPOCHS * 3, "column 4": EPOCHS})


@pytest.mark.parametrize(("between", "cell"), [(",", "tensor({x}, device='cuda:0')"), (";", "0,{x}")])
def test_cells_of_a_program_have_their_own_commas(between: str, cell: str, tmp_path: Path) -> None:
    rows = [between.join([str(n), cell.format(x=7 - n), *[cell.format(x=5)] * (n < 3)]) for n in EPOCHS]
    run = read_log(tmp_path, "\n".join([between.join(["epoch", "loss", "acc"]), *rows, ""]), "log.csv")
    assert steps_of(run) == {"loss": EPOCHS, "acc": [0, 1, 2]}


def test_times_without_a_date_are_left_out(tmp_path: Path) -> None:
    rows = [f"{n}\t10:2{n}:33\t{loss}\t_" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["EPOCH\tTIMESTAMP\tTRAIN_LOSS\tDEV_LOSS", *rows, ""]), "loss.tsv")
    assert (run.unreadable, steps_of(run)) == ([], {"TRAIN_LOSS": EPOCHS})


def test_episodes_of_a_monitor_are_counted(tmp_path: Path) -> None:
    rows = [f"{loss},{20 + n % 3},{1.25 * n}" for n, loss in enumerate(losses(6))]
    text = "\n".join(['#{"t_start": 1700000000.5, "env_id": "Walk-v1"}', "r,l,t", *rows, ""])
    assert steps_of(read_log(tmp_path, text, "monitor.csv")) == {"r": EPOCHS, "l": EPOCHS, "t": EPOCHS}


def test_what_was_tried_is_no_training(tmp_path: Path) -> None:
    rows = [f"{n % 3},0.0{n},64,{20.5 + n}" for n in range(9)]
    text = "\n".join(["n_hidden,learning_rate,batch_size,seconds", *rows, ""])
    assert read_log(tmp_path, text, "trials.csv").points == 0


@pytest.mark.parametrize("columns", [["epoch", "train_loss", "val_loss"], ["train_loss", "val_loss"]])
def test_data_frames_are_read_behind_their_index(columns: list[str], tmp_path: Path) -> None:
    header = "   " + "".join(f"{name:>12}" for name in columns)
    rows = [
        f"{n:<3}" + "".join(f"{10 * n if name == 'epoch' else loss:>12}" for name in columns)
        for n, loss in enumerate(losses(12))
    ]
    steps = [n * (10 if "epoch" in columns else 1) for n in range(12)]
    run = read_log(tmp_path, "\n".join([header, *rows, ""]), "train.log")
    assert (run.attempts, steps_of(run)) == (1, {"train_loss": steps, "val_loss": steps})


def test_tabs_side_by_side_in_a_header_are_one_where_rows_have_other_numbers_of_them(tmp_path: Path) -> None:
    rows = [
        f"{n}\t0.00{n}\t{loss}" + (f"\t\t0.9{n}\t\t0.4{n}\t   0.3{n}    {{0: 0.5}}" if n in (0, 2, 4) else "")
        for n, loss in enumerate(losses(6))
    ]
    text = "\n".join(["Epoch\t   lr\t\tLoss(Tr)\tLoss(Val)\tIOU(Val)\t\tAcc(Val)", *rows, ""])
    run = read_log(tmp_path, text, "table.txt")
    evaluated = {name: [0, 2, 4] for name in ("Loss(Val)", "IOU(Val)", "Acc(Val)")}
    assert steps_of(run) == {"lr": EPOCHS, "Loss(Tr)": EPOCHS, **evaluated}


def test_tabs_side_by_side_are_empty_cells_where_all_rows_have_as_many(tmp_path: Path) -> None:
    rows = [f"{n}\t\t{loss}\t0.5" for n, loss in enumerate(losses(6))]
    run = read_log(tmp_path, "\n".join(["epoch\t\tloss\tacc", *rows, ""]), "table.tsv")
    assert steps_of(run) == {"loss": EPOCHS, "acc": EPOCHS}
