"""Files given by hand that no format claims: lists of all values, records on one line, tables of numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.offline.guessed_format import source_by_hand
from holter.ingest.offline.read_run import read_run
from holter.ingest.offline.row_forms import counted_table
from holter.ingest.offline.titled_tables import TitledTables
from holter.ingest.offline.value_histories import rows_of_histories
from holter.types import Batch, Unreadable
from tests.support.log_runs import assert_steps, read_log, steps_of

LOSS, OTHERS = [2.5, 1.25, 0.75, 0.5], [2.75, 1.5, 1.0, 0.875]
RECORDS = [{"epoch": epoch, "loss": loss} for epoch, loss in enumerate(LOSS, 1)]

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the history of Keras": (
        json.dumps({"loss": LOSS, "val_loss": OTHERS}),
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3]},
    ),
    "the same as Python prints it": (
        f"{{'loss': {LOSS}, 'val_loss': {OTHERS}, 'lr': [0.1]}}\n",
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3]},
    ),
    "a history with its epochs": (
        json.dumps({"epochs": [5, 10, 15, 20], "loss": LOSS, "temperature": OTHERS}, indent=2),
        {"loss": [5, 10, 15, 20], "temperature": [5, 10, 15, 20]},
    ),
    "histories of several parts": (
        json.dumps({"fold 1": {"loss": LOSS, "name": "x"}, "fold 2": {"loss": OTHERS}}),
        {"fold 1/loss": [0, 1, 2, 3], "fold 2/loss": [0, 1, 2, 3]},
    ),
    "two histories of the same names": (
        f"{{'loss': {LOSS}}}\n{{'loss': {OTHERS}}}\n",
        {"loss": [0, 1, 2, 3], "loss/training=2": [0, 1, 2, 3]},
    ),
    "lists behind words": (
        f"Done. It took 12.5 s\ntrain losses: {LOSS}\nval losses =\n{OTHERS}\n",
        {"train losses": [0, 1, 2, 3], "val losses": [0, 1, 2, 3]},
    ),
    "lists of numpy and torch": (
        "train_loss [np.float32(0.5), np.float32(0.4), np.float32(nan)]\n"
        "acc = array([0.5, 0.4, 0.3], dtype=float32)\n"
        "test error tensor([0.5000, 0.4000,\n        0.3000], device='cuda:0')\n",
        {"train_loss": [0, 1, 2], "acc": [0, 1, 2], "test error": [0, 1, 2]},
    ),
    "lists that grow": (
        "".join(f"losses: {LOSS[:count]}\n" for count in range(1, 5)),
        {"losses": [0, 1, 2, 3]},
    ),
    "blocks of several lines, of which few have a known metric": (
        "".join(
            f"mean reward: {loss}\nSteps taken: {16 * loss:.0f}\nLeaks: {n}\n\n"
            for n, loss in enumerate(LOSS)
        ),
        {name: [0, 1, 2, 3] for name in ("mean reward", "Steps taken", "Leaks")},
    ),
    "blocks whose lines have no signs": (
        "".join(f"sound {n}\nreal out D 0.6{n}234\nrecon loss {loss:.5f}\n" for n, loss in enumerate(LOSS)),
        {name: [0, 1, 2, 3] for name in ("real out D", "recon loss")},
    ),
    "blocks of tensors": (
        "".join(
            f"Recon Loss: tensor({loss}, grad_fn=<MulBackward0>)\nMu tensor(1.{n}5, device='cuda:0')\n"
            for n, loss in enumerate(LOSS)
        ),
        {name: [0, 1, 2, 3] for name in ("Recon Loss", "Mu")},
    ),
    "records of a list on one line": (json.dumps(RECORDS), {"loss": [1, 2, 3, 4]}),
    "records of a list on many lines, without steps": (
        json.dumps([{"loss": record["loss"], "gap": 0.5} for record in RECORDS], indent=2),
        {"loss": [0, 1, 2, 3], "gap": [0, 1, 2, 3]},
    ),
    "records of a list without a step": (
        json.dumps([{"rate": 0.5, "loss": loss} for loss in LOSS]),
        {"rate": [0, 1, 2, 3], "loss": [0, 1, 2, 3]},
    ),
    "each in a list of its own, the last one without a value": (
        json.dumps([*([{"a": "x", "rate": 0.5, "loss": loss}] for loss in LOSS), [{"a": "x", "loss": 0.25}]]),
        {"rate": [0, 1, 2, 3], "loss": [0, 1, 2, 3, 4]},
    ),
    "lines of objects without a step, whose first value is of an unknown name": (
        "".join(json.dumps({"err_r": 1.5, "mse": loss}) + "\n" for loss in LOSS),
        {"err_r": [0, 1, 2, 3], "mse": [0, 1, 2, 3]},
    ),
    "the same in an object": (json.dumps({"log": RECORDS, "best": 1}), {"loss": [1, 2, 3, 4]}),
    "a text without any end of line": (
        " ".join(f"Epoch {epoch}/4 loss: {loss} acc: 0.5" for epoch, loss in enumerate(LOSS, 1)),
        {"loss": [1, 2, 3, 4], "acc": [1, 2, 3, 4]},
    ),
    "columns that numpy saves": (
        "# epoch loss\n" + "".join(f"{epoch:.18e} {loss:.18e}\n" for epoch, loss in enumerate(LOSS, 1)),
        {"loss": [1, 2, 3, 4]},
    ),
    "the logbook of DEAP": (
        "gen\tnevals\tavg   \tmax\n"
        + "".join(f"{gen}  \t30    \t{loss}\t9.5\n" for gen, loss in enumerate(LOSS)),
        {"nevals": [0, 1, 2, 3], "avg": [0, 1, 2, 3], "max": [0, 1, 2, 3]},
    ),
    "columns that bars part": (
        "".join(f"{2 + n / 7:.4f}|{n / 11:.6f}\n" for n in range(12)),
        {"column 1": [*range(12)], "column 2": [*range(12)]},
    ),
    "columns that semicolons part": (
        "".join(f"{2 + n / 7:.4f};{n / 11:.6f}\n" for n in range(12)),
        {"column 1": [*range(12)], "column 2": [*range(12)]},
    ),
    "measurements ahead of the epoch": (
        "".join(f"vit_b16, 0.{n}184, 0.9{n}, {n}, 24, 90{n}.5\n" for n in range(6)),
        {"column 1": [*range(6)], "column 2": [*range(6)], "column 5": [*range(6)]},
    ),
    "columns of the training and of the validation in turn": (
        "".join(f"train\t{n}\t0.{n}5\n" + (f"val\t{n}\t0.{n}4\n" if n % 2 else "") for n in range(1, 10)),
        {"train/column 2": [*range(1, 10)], "val/column 2": [*range(1, 10, 2)]},
    ),
    "results on a set alone": (
        "".join(
            f"Test set: Average loss: {loss}, Accuracy: 12{n}/400 (3{n}%)\n\n" for n, loss in enumerate(LOSS)
        ),
        {"test/Average loss": [0, 1, 2, 3], "test/Accuracy": [0, 1, 2, 3]},
    ),
    "times ahead of what counts": (
        "".join(f"1700000{n}00.25, {n}, 0.{n}5\n[{n}.25 s] saved\n" for n in range(6)),
        {"column 3": [*range(6)]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


@pytest.mark.parametrize(
    "row", ["tensor(0.{}5, device='cuda:0')", "tensor(0.{}5, grad_fn=<MeanBackward0>)", "[0.{}5]", "9{}.5%"]
)
def test_numbers_in_a_file_of_losses_may_be_wrapped(tmp_path: Path, row: str) -> None:
    text = "".join(f"{row.format(n)}\n" for n in range(6))
    assert steps_of(read_log(tmp_path, text, "val_loss.txt")) == {"val_loss": [*range(6)]}


_CURVES = [f"{2 + n / 7:.4f},{3 - n / 11:.4f}" for n in range(12)]


@pytest.mark.parametrize("file", ["train_loss.csv", "losses.txt"])
def test_columns_of_any_names_are_read_in_a_file_of_losses(tmp_path: Path, file: str) -> None:
    text = "\n".join(("coarse_a,coarse_b,fine_a", *(f"{row},0.5" for row in _CURVES), ""))
    names = ("coarse_a", "coarse_b", "fine_a")
    assert steps_of(read_log(tmp_path, text, file)) == {name: [*range(12)] for name in names}


@pytest.mark.parametrize("file", ["table.csv", "points.txt"])
def test_columns_of_any_names_are_nothing_in_other_files(tmp_path: Path, file: str) -> None:
    assert not steps_of(read_log(tmp_path, "\n".join(("coarse,fine", *_CURVES)), file))


_RUNS = "wide_net,deep_net,both"
_FALLING = [(3 * 0.9**n + 0.02 * (n % 3), 5 * 0.8**n + 0.1, 2 / (1 + n)) for n in range(24)]


def test_curves_below_any_names_are_read_though_some_end_before_others(tmp_path: Path) -> None:
    rows = (f"{a:.6f},{b if n < 15 else ''},{c if n < 20 else ''}" for n, (a, b, c) in enumerate(_FALLING))
    found = steps_of(read_log(tmp_path, "\n".join((_RUNS, *rows, "")), "runs.csv"))
    assert found == {"wide_net": [*range(24)], "deep_net": [*range(15)], "both": [*range(20)]}


@pytest.mark.parametrize(
    "rows",
    [
        [_FALLING[n * 7 % 24] for n in range(24)],  # records in any order
        [(0.5 * n, b, c) for n, (_, b, c) in enumerate(_FALLING)],  # what is at places of an axis
        [(a, b, n // 8 + 0.5) for n, (a, b, _) in enumerate(_FALLING)],  # with a category
        [tuple(int(100 * number) for number in row) for row in _FALLING],  # counts of anything
        _FALLING[:8],
    ],
)
def test_other_numbers_below_any_names_are_no_curves(tmp_path: Path, rows: list[tuple[float, ...]]) -> None:
    text = "\n".join((_RUNS, *(",".join(map(str, row)) for row in rows), ""))
    assert not steps_of(read_log(tmp_path, text, "records.csv"))


@pytest.mark.parametrize("end", ["", ","])
def test_a_column_may_end_before_the_others(tmp_path: Path, end: str) -> None:
    rows = (*(f"{row},0.{n}5" for n, row in enumerate(_CURVES[:7])), *(f"{row}," for row in _CURVES[7:]))
    text = "".join(f"{row}{end}\n" for row in ("coarse,fine,aux_loss", *rows))
    found = steps_of(read_log(tmp_path, text, "curves.csv"))
    assert found == {"coarse": [*range(12)], "fine": [*range(12)], "aux_loss": [*range(7)]}


@pytest.mark.parametrize(("file", "name"), [("val_loss.txt", "val_loss"), ("numbers.txt", "column 2")])
def test_a_single_column_is_named_after_a_file_of_a_metric(tmp_path: Path, file: str, name: str) -> None:
    text = "".join(f"{n:04}-{2 + n / 7:.4f}\n" for n in range(1, 13))
    assert steps_of(read_log(tmp_path, text, file)) == {name: [*range(1, 13)]}


def test_pairs_of_counts_are_nothing_measured(tmp_path: Path) -> None:
    assert not steps_of(read_log(tmp_path, "".join(f"({n}, {n + 1})\n" for n in range(20))))


@pytest.mark.parametrize("begin", ["B{}", "B{:3}", "it{}", "batch{}", "[T{}]"])
def test_a_counter_may_be_glued_to_its_word(tmp_path: Path, begin: str) -> None:
    steps = [*range(0, 200, 20)]
    rows = "".join(
        f"{begin.format(n)} loss: {2 / (n + 1):.4f} (digits: 87.{n}, presence: 3.{n})\n"
        + "time for 60 batches 46.5\n" * (n % 60 == 0)
        for n in steps
    )
    assert_steps(tmp_path, rows, {name: steps for name in ("loss", "digits", "presence")})


@pytest.mark.parametrize("word", ["B", "layer", "conv"])
def test_numbers_of_parts_are_no_counts(tmp_path: Path, word: str) -> None:
    assert not steps_of(read_log(tmp_path, "".join(f"{word}{n} loss: 0.{n} size: 5.{n}\n" for n in range(9))))


_EVERY_FIFTH = (1, *range(5, 30, 5))


@pytest.mark.parametrize(
    "begin",
    [
        *(
            "e={}",
            "LSTM iter={}",
            "LSTM e {}",
            "LSTM ep={}",
            "[x] it {}",
            "gen {}",
            "cur_it={}",
            "epoch_i: {}",
        ),
        *("t={}", "#{}", "{})"),
    ],
)
def test_a_counter_that_is_named_may_go_up_unevenly(tmp_path: Path, begin: str) -> None:
    rows = "".join(f"{begin.format(n)} train_loss={2 / n:.4f} acc=0.{n:02}\n" for n in _EVERY_FIFTH)
    assert_steps(tmp_path, rows, {name: [*_EVERY_FIFTH] for name in ("train_loss", "acc")})


@pytest.mark.parametrize(
    "row", ["{}\t0.{}1\t0.{}2\n", "{}  0.{}1  0.{}2\n", "E: {} | A: 0.{}1 | R: -0.{}2\n"]
)
@pytest.mark.parametrize(
    "launches", [(20, 1, 1, 3, 8), (5, 1, 1, 1, 4, 30), (9, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2)]
)
def test_launches_of_a_single_row_are_kept(tmp_path: Path, row: str, launches: tuple[int, ...]) -> None:
    run = read_log(tmp_path, "".join(row.format(n, n + 1, n + 2) for rows in launches for n in range(rows)))
    assert run.attempts == len(launches)
    assert [*steps_of(run).values()] == 2 * [[n for rows in launches for n in range(rows)]]


@pytest.mark.parametrize("begin", ["t={}", "#{}", "{})", "size {}"])
def test_a_first_number_that_falls_is_no_step(tmp_path: Path, begin: str) -> None:
    rows = "".join(f"{begin.format(n)} loss=0.{n:02} rate=1.{n}\n" for n in (3, 1, 4, 9, 5, 8))
    assert {3, 4, 9} - {step for steps in steps_of(read_log(tmp_path, rows)).values() for step in steps}


@pytest.mark.parametrize("classes", [3, 4, 10])
def test_the_same_rows_again_and_again_are_no_launches(tmp_path: Path, classes: int) -> None:
    rows = "".join(f"{n} 0.{n}5 {n}.75\n" for _ in range(12) for n in range(classes))
    assert not steps_of(read_log(tmp_path, rows))


def test_results_of_a_search_are_no_trainings(tmp_path: Path) -> None:
    rows = "".join(f"mlp, 0.{n}184, {size}, {n}0\n" for size in (8, 9) for n in range(1, 7))
    assert not steps_of(read_log(tmp_path, rows))


def test_a_table_in_csv_with_a_single_row_is_read(tmp_path: Path) -> None:
    row = "epoch,accuracy,loss,val_loss\n0,0.51,1.5,1.25\n"
    assert_steps(tmp_path, row, {"accuracy": [0], "loss": [0], "val_loss": [0]})
    assert read_log(tmp_path, "epoch,notes\nsome, text here\n").points == 0


def test_a_table_in_csv_has_its_names_whatever_stands_before_the_epoch(tmp_path: Path) -> None:
    rows = "".join(f"net-v{n}.pt,a-60k.pkl,0.001,32,{n},{1 / (n + 1)}\n" for n in range(6))
    run = read_log(tmp_path, f"net,source,rate,size,epoch,train_loss\n{rows}", "log.txt")
    assert steps_of(run) == {name: [*range(6)] for name in ("rate", "size", "train_loss")}


@pytest.mark.parametrize("between", [" | ", ",", ";", "\t"])
def test_columns_of_texts_are_left_out_of_a_table(between: str, tmp_path: Path) -> None:
    rows = [(n, f"0.{n + 1}", "tanh" if n % 2 else "relu", n / 8) for n in range(1, 6)]
    table = [("Net", "Accuracy", "Activation", "Time"), *rows]
    run = read_log(tmp_path, "".join(between.join(map(str, row)) + "\n" for row in table), "log.txt")
    assert steps_of(run) == {"Accuracy": [1, 2, 3, 4, 5], "Time": [1, 2, 3, 4, 5]}


def test_cells_with_a_number_and_a_text_are_no_texts(tmp_path: Path) -> None:
    rows = "".join(f"{n} | 0.{n + 1} | {n * 3} relu\n" for n in range(1, 6))
    run = read_log(tmp_path, f"Net | Accuracy | Layer\n{rows}", "log.txt")
    assert {len(steps) for steps in steps_of(run).values()} == {5}
    assert len(run.data.series) == 2


def test_losses_between_other_lines_are_steps(tmp_path: Path) -> None:
    blocks = (f"Training with case {n % 2}\nmask of size (16, {n})\nLoss: 1.{90 - n}\n" for n in range(12))
    run = read_log(tmp_path, "".join(blocks))
    assert (run.attempts, steps_of(run)) == (1, {"Loss": [*range(12)]})


def test_a_few_losses_in_a_text_about_something_else_are_none(tmp_path: Path) -> None:
    text = "".join(f"The weather of day {n}\nis as it was\nLoss: 1.{n}\n" for n in range(5))
    assert not steps_of(read_log(tmp_path, text))


def test_losses_below_headings_of_their_data_are_not_one_series(tmp_path: Path) -> None:
    text = "".join(f"--- {'TEST' if n % 5 == 0 else 'TRAIN'} ---\nLoss: 1.{90 - n}\n{n}\n" for n in range(20))
    assert not steps_of(read_log(tmp_path, text))


def test_learning_rates_between_other_lines_are_settings(tmp_path: Path) -> None:
    text = "".join(
        f"An experiment of day {n}\nwith learning rate\nlearning rate: 0.0{n}\n" for n in range(12)
    )
    assert not steps_of(read_log(tmp_path, text))


def test_a_line_before_each_row_begins_no_launch(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"training on the next batch\nLoss: 1.{90 - n}\n" for n in range(12)))
    assert (run.attempts, steps_of(run)) == (1, {"Loss": [*range(12)]})


def test_lists_without_a_name_are_named_after_the_file(tmp_path: Path) -> None:
    run = read_log(tmp_path, f"{LOSS}\n{OTHERS}\n", "val_loss.txt")
    assert steps_of(run) == {"val_loss": [0, 1, 2, 3], "val_loss_2": [0, 1, 2, 3]}
    assert steps_of(read_log(tmp_path, ",".join(map(str, LOSS)), "loss.txt")) == {"loss": [0, 1, 2, 3]}
    assert not steps_of(read_log(tmp_path, f"{LOSS}\n", "weights.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "shape of the data [60000, 28, 28]\nloss weights: [1.0, 0.5, 0.25]\n",
        "losses: [2.5, 1.25, ..., 0.5]\n",
        "".join(f"{number} 0.5 words\n" for number in range(20)) + f"losses: {LOSS}\n",
    ],
    ids=["settings", "a list that was cut", "a list in a text about something else"],
)
def test_other_lists_are_no_histories(tmp_path: Path, text: str) -> None:
    assert not steps_of(read_log(tmp_path, text))


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.lists(st.floats(allow_infinity=False, allow_nan=False), min_size=4, max_size=4),
        min_size=1,
        max_size=4,
    )
)
def test_a_history_is_read_whatever_its_values_are(columns: dict[str, list[float]]) -> None:
    columns = {f"loss_{name}": values for name, values in columns.items()}
    for text in (json.dumps(columns), json.dumps(columns, indent=1), str(columns)):
        rows = rows_of_histories(text, "results")
        assert {name: [row.values[name] for row in rows] for name in columns} == columns
        assert [row.step for row in rows] == [0, 1, 2, 3]


@given(st.text(alphabet="[]{}'\",: .0123456789loss\n=("))
def test_no_text_fails(text: str) -> None:
    rows_of_histories(text, "loss")


def test_words_that_differ_in_every_row_are_no_metrics(tmp_path: Path) -> None:
    plates = [f"MAP-395 {n % 2}.0 <-> {chr(65 + n % 26)}QL-{100 + n} 1.0\n" for n in range(40)]
    others = "".join(f"{plate}the next plate\nand one more\n" for plate in plates)
    assert read_log(tmp_path, others, "plates.log").points == 0


def test_columns_named_after_their_places_are_read_if_they_look_measured(tmp_path: Path) -> None:
    rows = "".join(f"{1 / n:.5f},{1.25 / n:.5f}\n" for n in range(1, 13))
    run = read_log(tmp_path, f"Column1,Column2\n{rows}", "values.csv")
    assert steps_of(run) == {"Column1": [*range(12)], "Column2": [*range(12)]}
    whole = "".join(f"{n % 5},{n % 3}\n" for n in range(1, 13))
    assert steps_of(read_log(tmp_path, f"Column1,Column2\n{whole}", "whole.csv")) == {}


def test_a_total_is_in_the_column_of_what_counts_up_to_it(tmp_path: Path) -> None:
    rows = "".join(f"  {n}/29   2.{n}1G   {3 / (1 + n):.4f}   {0.5 + n / 60:.3f}   640\n" for n in range(30))
    found = steps_of(read_log(tmp_path, rows, "rows.txt"))
    assert found == {f"column {place}": [*range(30)] for place in (2, 3, 4)}


def test_an_evaluation_over_several_lines_is_at_the_last_step_of_the_training(tmp_path: Path) -> None:
    text = "".join(
        f"2026-05-04 10:00:{n:02},125 Tagger INFO: progress: 0.{n:02}  loss: 2.{n:02} (2.5{n:02})\n"
        + (
            "2026-05-04 10:01:15,577 Tagger INFO: val\n"
            "2026-05-04 10:01:15,577 Tagger INFO: recall\n"
            f"2026-05-04 10:01:15,577 Tagger INFO: tensor(0.2{n}, device='cuda:0')\n"
            "2026-05-04 10:01:15,588 Tagger INFO: final score\n"
            f"2026-05-04 10:01:15,588 Tagger INFO: 0.54{n}\n"
            if n % 8 == 7
            else ""
        )
        for n in range(32)
    )
    at = [7, 15, 23, 31]
    assert steps_of(read_log(tmp_path, text)) == {
        "progress": [*range(32)],
        "loss": [*range(32)],
        "val recall": at,
        "val final score": at,
    }


def of_folds(heading: str, *, again: bool = False) -> str:
    """Results of three folds without an epoch, and those of all."""
    folds = "".join(
        f"\n{heading.format(1 if again else n)}\n[Rows] Reading 40 rows\n  left out 3 of them\n"
        f"  Best val acc: 7{n}.5%\n"
        for n in (1, 2, 3)
    )
    return f"Device : cuda\n{folds}\n=====\n  All folds\n=====\n  Overall accuracy: 74.4% (29/39)\n"


@pytest.mark.parametrize("heading", ["Fold {}/3: 40 train / 9 val rows", "===== Fold {} =====", "fold={}"])
def test_results_of_folds_without_an_epoch_have_their_labels(tmp_path: Path, heading: str) -> None:
    run = read_log(tmp_path, of_folds(heading), "train.txt")
    assert run.attempts == 1
    assert {(key.metric, key.labels): series.value.tolist() for key, series in run.data.series.items()} == {
        ("Best val acc", (("fold", str(n)),)): [70.5 + n] for n in (1, 2, 3)
    }


@pytest.mark.parametrize("line", ["Fold {} R2: 0.4{}\n", "12:30:01 INFO - [Fold {}] R2 = 0.4{}\n"])
def test_results_of_folds_may_be_in_their_own_lines(tmp_path: Path, line: str) -> None:
    text = "".join(f"[Trees] 40 rows, gain: -inf\n{line.format(n, n)}" for n in (1, 2, 3))
    run = read_log(tmp_path, f"{text}OOF R2: 0.39\n", "train.txt")
    assert run.attempts == 1
    assert {(key.metric, key.labels): series.value.tolist() for key, series in run.data.series.items()} == {
        **{("R2", (("fold", str(n)),)): [float(f"0.4{n}")] for n in (1, 2, 3)},
        ("OOF R2", ()): [0.39],
    }


def test_results_of_the_same_fold_again_are_not_guessed(tmp_path: Path) -> None:
    text = "".join(f"Fold {n} R2: 0.4{n}\n" for n in (1, 2, 1, 2))
    assert steps_of(read_log(tmp_path, text, "train.txt")) == {}


def test_results_below_the_same_fold_or_none_are_not_guessed(tmp_path: Path) -> None:
    assert steps_of(read_log(tmp_path, of_folds("Fold {}/3", again=True), "train.txt")) == {}
    assert steps_of(read_log(tmp_path, of_folds("Rows of {}"), "train.txt")) == {}


def test_sentences_about_a_metric_in_a_row_are_counted(tmp_path: Path) -> None:
    text = "GPU available: True\nusing: 0 cores\nMetric dev_loss improved. New best score: 0.95\n" + "".join(
        f"Metric dev_loss improved by 0.00{n} >= min_delta = 0.001. New best score: 0.{90 - n}\n"
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"best/dev_loss": [*range(7)]}


def test_a_limit_with_a_name_is_no_value(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss 0.{90 - n}, change 0.{n}5 >= tolerance = 0.001\n" for n in range(6))
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(6)] for name in ("loss", "change")}


class _CountingLines(ConsoleLog):
    """Printed lines that count how often they read a file, apart from texts that were made of it."""

    reads = 0

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConsoleReader:
        lines = self

        class Reader(ConsoleReader):
            def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
                lines.reads += not isinstance(stream, io.BytesIO)
                return super().read(stream)

        return Reader(PLAIN_LINES, state)


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_file_without_any_point_is_read_once_as_printed_lines(tmp_path: Path, is_claimed: bool) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("The oaks grow\nin epoch one\nand in others\n")
    lines = _CountingLines(PLAIN_LINES)
    claimed = Source(path=file, format=lines, assignment=assign_tree(file, [file], one_run=True)[file])
    assert source_by_hand(file, [claimed] if is_claimed else [], {lines.name: lines}) is None
    assert lines.reads == 1


@pytest.mark.parametrize("text", ["", "\n", "\n \n\t\n", "\n\nloss\n", "loading 3 of 12 shards from val 7\n"])
def test_a_file_with_next_to_nothing_in_it_has_no_point(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.log"
    file.write_text(text)
    run = read_run(file)
    assert (run.points, run.unreadable) == (0, [])


def test_rows_that_end_in_a_word_for_data_are_no_rows_of_the_headings_above(tmp_path: Path) -> None:
    rows = [f"card rank: {n}, device: cuda:{n}, of 1, distributed training: True, type: bf16" for n in (6, 3)]
    assert counted_table(['"width": 640', *rows, '"width": 640']) == []


def test_a_guess_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: TitledTables, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        raise LookupError(path)

    monkeypatch.setattr(TitledTables, "records", fail)
    assert read_run(_written(tmp_path, "0.91\n0.74\n0.63\n0.58\n")).points == 4


def _written(folder: Path, text: str) -> Path:
    file = folder / "loss.log"
    file.write_text(text)
    return file


EPISODES = [(f"-{n}.25", 240, f"{n}.5", 900 + 7 * (n % 3)) for n in range(1, 8)]


@pytest.mark.parametrize(
    "texts",
    ["x{n}", '"lost, {n} of 9 loss 0.5"', "\"{{'step': {n}, 'loss': 0.{n}}}\"", '"{{""reward"": {n}}}"'],
)
@pytest.mark.parametrize("above", ["", '#{"t_start": 1637674807.07, "env_id": null}\n'])
def test_texts_and_objects_in_cells_are_no_values_of_a_table(tmp_path: Path, texts: str, above: str) -> None:
    rows = "".join(
        ",".join(map(str, row)) + f",{texts.format(n=n) if n > 1 else 'none yet'}\n"
        for n, row in enumerate(EPISODES, 1)
    )
    run = read_log(tmp_path, f"{above}r,l,t,total,account\n{rows}", "monitor.csv")
    assert steps_of(run) == {name: [*range(7)] for name in ("r", "l", "t", "total")}


def test_a_column_that_counts_by_its_name_is_the_step_before_one_that_goes_up(tmp_path: Path) -> None:
    rows = "".join(f"{n + 500},{n * 20},0.{n}1\n" for n in range(1, 8))
    run = read_log(tmp_path, f"total,steps,reward\n{rows}", "log.csv")
    assert steps_of(run) == {name: [*range(20, 141, 20)] for name in ("total", "reward")}
