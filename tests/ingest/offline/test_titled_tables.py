"""Tables below the name of what they measure, whose columns name data alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = range(1, 6)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Epoch  Train  Val\n", "{0}      0.{0}5   0.{0}7\n"),
        ("| Epoch | Train | Val |\n|---|---|---|\n", "| {0} | 0.{0}5 | 0.{0}7 |\n"),
    ],
)
@pytest.mark.parametrize("opening", ["", "Reading the oaks\n\n"])
def test_the_title_of_a_table_is_in_the_names_of_its_columns(
    tmp_path: Path, header: str, row: str, opening: str
) -> None:
    text = opening + "".join(
        f"{title}\n{header}" + "".join(row.format(n) for n in EPOCHS) for title in ("Loss:", "Accuracy:")
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    names = ("Loss/Train", "Loss/Val", "Accuracy/Train", "Accuracy/Val")
    assert steps_of(run) == {name: [*EPOCHS] for name in names}


def test_a_sentence_above_a_table_is_no_title(tmp_path: Path) -> None:
    rows = "".join(f"{n}      0.{n}5   0.{n}7\n" for n in EPOCHS)
    assert {*steps_of(read_log(tmp_path, "The oaks\nEpoch  Train  Val\n" + rows))}.isdisjoint(
        {"The_oaks/Train", "Loss/Train"}
    )
