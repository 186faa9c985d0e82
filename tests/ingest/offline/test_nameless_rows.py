"""Numbers without any name behind a count and its total, between lines that have names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

BATCHES = [*range(20, 201, 20)]


def text_of(row: str, numbers: list[float]) -> str:
    """Two epochs with rows of these numbers, and a result below each."""
    rows = "".join(row.format(at=at, number=number) for at, number in zip(BATCHES, numbers, strict=True))
    return "".join(f"Epoch {n}\n{rows}test accuracy: 0.{n}5\n" for n in (1, 2))


CURVE = [2.317, 2.105, 1.998, 1.904, 1.711, 1.602, 1.533, 1.402, 1.331, 1.204]


@pytest.mark.parametrize("row", ["[{at}/200]  {number}\n", "{at}/200 {number}\n", "{at}/200: {number}\n"])
def test_rows_that_go_on_as_curves_are_named_after_their_place(row: str, tmp_path: Path) -> None:
    steps = steps_of(read_log(tmp_path, text_of(row, CURVE)))
    assert steps == {"column 2": [*BATCHES, *(200 + at for at in BATCHES)], "test accuracy": [200, 400]}


def test_a_second_number_of_such_rows_is_read_as_well(tmp_path: Path) -> None:
    steps = steps_of(read_log(tmp_path, text_of("[{at}/200] {number} 0.71\n", CURVE)))
    assert steps["column 2"] == steps["column 3"]


def test_numbers_in_any_order_are_not_read(tmp_path: Path) -> None:
    mixed = [CURVE[(3 * place) % 10] for place in range(10)]
    assert {*steps_of(read_log(tmp_path, text_of("[{at}/200]  {number}\n", mixed)))} == {"test accuracy"}


@pytest.mark.parametrize(
    "line",
    ["<module 'net' from 'a.pyd'>", "saved to disk", "2022-05-09 19:29:16 - copied from '/data/x.npy'"],
)
@pytest.mark.parametrize("between", ["\t", " ", ", "])
def test_words_of_a_line_above_columns_are_no_names_of_these(tmp_path: Path, line: str, between: str) -> None:
    logger = "2022-05-09 19:29:18 - " if line.startswith("2022") else ""
    rows = "".join(f"{logger}{n}{between}{k}{between}0.{9 - n}{k}4183\n" for n in range(4) for k in range(6))
    found = {*steps_of(read_log(tmp_path, f"{line}\n{rows}"))}
    assert found - {"epoch"} == {"column 3"}


@pytest.mark.parametrize("escape", ["\x1b[?1034h", "\x1b[0m"])
def test_a_first_row_of_numbers_alone_behind_an_escape_sequence_is_read(tmp_path: Path, escape: str) -> None:
    rows = "".join(f"{0.004 * n + 0.0002:.6f}\t{1 / (n + 1.3):.6f}\t\n" for n in range(40))
    steps = steps_of(read_log(tmp_path, escape + rows))
    assert steps == {name: [*range(40)] for name in ("column 1", "column 2")}
