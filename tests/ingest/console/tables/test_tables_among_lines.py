"""Printed tables among lines of the training: lists in cells, and the position that a row states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

_LOGGED = "2022-05-06 10:00:0{n},123 - fit.py[line:80] - INFO: "


def _table(epoch: int, hits: str) -> str:
    rule = "+-------+-------+---------------+\n"
    return f"{rule}| Epoch |  Loss |      hits     |\n{rule}|   {epoch}   | 5.{epoch}50 | {hits} |\n{rule}"


LISTS = ["[0.25  0.5  0.75 ]", "[0.25, 0.5, 0.75]", "[0.25 0.5  0.75]", "[ 0.25,0.5,0.75 ]"]


@pytest.mark.parametrize("cell", LISTS)
def test_each_number_of_a_list_in_a_cell_has_the_name_of_its_column(cell: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(_table(n, cell) for n in range(1, 5)))
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert {name: values[name] for name in ("hits", "hits 2", "hits 3")} == {
        "hits": [0.25] * 4,
        "hits 2": [0.5] * 4,
        "hits 3": [0.75] * 4,
    }


@pytest.mark.parametrize("cell", ["[0.5 low]", "[low, high]", "[]", "[0.5", "0.5 0.4"])
def test_other_cells_in_brackets_are_no_numbers(cell: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(_table(n, cell) for n in range(1, 5)))
    assert steps_of(run) == {"Loss": [1, 2, 3, 4]}


def test_lines_of_the_epochs_between_those_of_a_table_are_read(tmp_path: Path) -> None:
    text = "".join(
        _table(n, "[0.5 0.4]")
        if n % 3 == 2
        else _LOGGED.format(n=n) + f"using time 30.{n}, training loss at epoch {n}: 9.{n}\n"
        for n in range(9)
    )
    between = [n for n in range(9) if n % 3 != 2]
    tables = {name: [2, 5, 8] for name in ("Loss", "hits", "hits 2")}
    assert_steps(tmp_path, text, {"training loss": between, "using time": between, **tables})


def test_a_result_below_a_table_is_at_the_epoch_of_its_last_row(tmp_path: Path) -> None:
    text = "".join(f"training loss at epoch {n}: 9.{n}\n" for n in range(4))
    text += _table(4, "[0.5 0.4]") + "Final recall@20: 0.25\n"
    assert steps_of(read_log(tmp_path, text))["Final recall@20"] == [4]
