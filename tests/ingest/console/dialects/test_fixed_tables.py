"""Tables of libraries with columns that are always the same: each row is at its step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

N = range(1, 7)

PROGRESS = (
    "average  since         example        example  current  current  current\n"
    "loss     last          counter         weight    label  predict features\n"
)
SEARCH = (
    "(4_w,9)-aCMA-ES (mu_w=2.8,w_1=49%) in dimension 5 (seed=1, Tue Mar  5 10:00:00 2024)\n"
    "Iterat #Fevals   function value  axis ratio  sigma  min&max std  t[m:s]\n"
)
EQUATION = "Training model...\n\nStep      Train loss              Test loss               Test metric\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "an average and that since the last row, in front of what is counted": (
        "Num weight bits = 18\nlearning rate = 0.5\n"
        + PROGRESS
        + "".join(
            f"0.9{n}1294 0.8{n}2328 {2**n:12d} {2**n:14d}.0   1.0000   0.{n}000       5{n}\n" for n in N
        ),
        {name: [2**n for n in N] for name in ("average loss", "since last", "current features")},
    ),
    "losses of held out examples": (
        PROGRESS + "".join(f"0.9{n}1294 0.8{n}2328 {n * 8} {n * 8}.0 unknown 0.{n}000 5{n} h\n" for n in N),
        {name: [n * 8 for n in N] for name in ("average loss", "since last", "current features")},
    ),
    "averages and those since the last row, in front of the examples": (
        " average      since    average      since      examples\n"
        "    loss       last     metric       last              \n"
        + " "
        + "-" * 54
        + "\n"
        + "".join(
            f"     {9 - n}.52     {9 - n}.5      0.{9 - n}44      0.944            {16 * n}\n" for n in N
        ),
        {
            name: [16 * n for n in N]
            for name in ("average loss", "loss since last", "average metric", "metric since last")
        },
    ),
    "names of several words between single blanks": (
        SEARCH
        + "".join(
            f"{n * 100:5d} {n * 900:6d} {9 - n}.270278172e+02 {n}.0e+00 5.0{n}e-01  7e-02  8e-02 0:0{n}.0\n"
            for n in N
        ),
        {
            name: [n * 100 for n in N]
            for name in ("function value", "axis ratio", "sigma", "min std", "max std", "Fevals")
        },
    ),
    "lists in columns": (
        EQUATION
        + "".join(
            f"{n}000      [1.4{n}e+00, 7.95e-01]    [1.48e+00, 7.5{n}e-01]    [{n}.5e-02]\n" for n in N
        ),
        {
            name: [n * 1000 for n in N]
            for name in ("Train loss", "Train loss 2", "Test loss", "Test loss 2", "Test metric")
        },
    ),
    "lists of which one has nothing": (
        EQUATION + "".join(f"{n}000      [1.4{n}e+00]    [1.4{n}e+00]    []\n" for n in N),
        {name: [n * 1000 for n in N] for name in ("Train loss", "Test loss")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_of_fixed_columns_are_at_their_steps(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert_steps(tmp_path, text, expected)
