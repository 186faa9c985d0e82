"""What a line counts behind a preposition: `score: 0.5 in batch: 10`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

LINES = [
    "higher score: 0.5{n} in batch: {at}, save model\n",
    "score: 0.5{n} in iteration: {at}\n",
    "score: 0.5{n} for step: {at}\n",
    "score 0.5{n} on step: {at} (saved)\n",
]


@pytest.mark.parametrize("line", LINES)
def test_a_preposition_is_no_part_of_the_name_of_what_counts(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n, at=10 * n) for n in range(1, 7))
    (steps,) = steps_of(read_log(tmp_path, text)).values()
    assert steps == [10 * n for n in range(1, 7)]


def test_rows_are_not_numbered_where_other_lines_count(tmp_path: Path) -> None:
    text = "".join(
        f"10:00:0{n} | fit:35 - loss: 2.{n}\n"
        f"10:00:0{n} | fit:41 - higher corrcoef: 0.5{n} in batch: {10 * n}\n"
        for n in range(1, 7)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["higher corrcoef"] == [10 * n for n in range(1, 7)]
    assert {*steps["loss"]} <= {*steps["higher corrcoef"]}


def test_durations_for_an_epoch_count_none(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 2.{n}\ntime for epoch: 3{n}.5\n" for n in range(6))
    assert_steps(tmp_path, text, {"loss": [*range(6)], "time for epoch": [*range(6)]})


@pytest.mark.parametrize("total", ["/ all 3", "/ total 3", "of total 3"])
def test_a_total_may_have_a_word_before_it(total: str, tmp_path: Path) -> None:
    epochs = (
        f"\repoch: {n}, [iter: {at} {total}], err_label: 0.{n}{at}, " for n in (0, 1) for at in (1, 2, 3)
    )
    run = read_log(tmp_path, "".join(epochs) + "\n")
    assert steps_of(run) == {name: [1, 2, 3, 4, 5, 6] for name in ("epoch", "err_label")}
