"""Decimal commas are read as points, and no other commas are."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.decimal_commas import with_decimal_points
from holter.ingest.offline.read_run import read_run
from tests.support.log_runs import assert_steps, read_log

N = (1, 2, 3)

WITH = {
    "loss = 0,5 (moy. 0,6)": "loss = 0.5 (moy. 0.6)",
    "perte : 1,8229 ; exactitude = 44,94 %": "perte : 1.8229 ; exactitude = 44.94 %",
    "loss: 2,5, acc: 3,5": "loss: 2.5, acc: 3.5",
    "loss: 1,234 acc: 0,5": "loss: 1.234 acc: 0.5",
    "2026-03-05 14:02:11,123 loss: 0,51": "2026-03-05 14:02:11,123 loss: 0.51",
    "[1,100] loss: 2,5\rloss: 1,234\nloss: 1,2": "[1,100] loss: 2.5\rloss: 1,234\nloss: 1.2",
    "Fehler: 0,0125": "Fehler: 0.0125",
}
WITHOUT = [
    "tokens: 1,234 loss: 2",
    "loss: 1,234",
    "loss: 0.5, pairs: 0,1",
    "loss: 0.5 acc: 0,1",
    "gpus: 0,1",
    "img_size: 512,1024",
    "milestones: 30,60",
    "betas: 0,9,0,99",
    "acc: (3,5)",
    "loss: [0,5 0,6]",
]


@pytest.mark.parametrize("text", WITH)
def test_decimal_commas_become_points(text: str) -> None:
    assert with_decimal_points(text.encode()).decode() == WITH[text]


@pytest.mark.parametrize("text", WITHOUT)
def test_other_commas_stay(text: str) -> None:
    assert with_decimal_points(text.encode()).decode() == text


def test_lines_with_decimal_commas_are_read(tmp_path: Path) -> None:
    lines = "".join(f"Époque {n}/3 : perte = {n},8229 ; perte (validation) = {n},91\n" for n in N)
    assert_steps(tmp_path, lines, {"perte": [*N], "validation/perte": [*N]})


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_cells_of_a_csv_file_with_decimal_commas_are_read(tmp_path: Path, delimiter: str) -> None:
    rows = ["epoch;train;val", *(f"{n};{n},1000;-0,2{n}4" for n in N)]
    (path := tmp_path / "log.csv").write_text("".join(f"{row}\n" for row in rows).replace(";", delimiter))
    series = read_run(path).data.series
    found = {key.metric: [round(float(value), 4) for value in each.value] for key, each in series.items()}
    assert found == {"train": [1.1, 2.1, 3.1], "val": [-0.214, -0.224, -0.234]}


@pytest.mark.parametrize(
    ("rows", "second"),
    [
        ("1;1,234;7\n2;12,345;8\n3;1,234,567;9\n", 12345),  # two commas
        ("1;1,234;0.5\n2;12,345;\n3;900;0.25\n", 12345),  # a point
        ("1;1,234;0,875\n2;12,345;0,750\n3;1,234,567;0,625\n", 12.345),  # decimals elsewhere
        ("1;1,234;7\n2;12,345;8\n3;0,567;9\n", 12.345),
    ],
)
def test_commas_between_semicolons_are_what_the_file_shows(tmp_path: Path, rows: str, second: float) -> None:
    run = read_log(tmp_path, "step;reward;loss\n" + rows, "log.csv")
    reward = next(series for key, series in run.data.series.items() if key.metric == "reward")
    assert reward.value[reward.step == 2].tolist() == [second]
