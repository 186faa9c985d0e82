"""Headings of epochs that no process is named in, above the values of several: `Rank 1: loss 0.5`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = range(1, 5)


@pytest.mark.parametrize("line", ["Rank: {rank} | Train Loss: {loss}", "[rank {rank}] Train Loss: {loss}"])
def test_values_of_processes_are_at_the_epoch_that_a_line_without_one_states(
    line: str, tmp_path: Path
) -> None:
    text = "".join(
        f"==> Epoch: {epoch}\n"
        + "".join(line.format(rank=rank, loss=f"1.{9 - epoch}{rank}") + "\n" for rank in (1, 0))
        for epoch in EPOCHS
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["Train Loss"] == [*EPOCHS]
    assert steps["Train Loss/rank=0"] == [*EPOCHS]


def test_processes_that_count_steps_themselves_follow_no_heading_of_others(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {epoch}\n"
        + "".join(f"[rank {rank}] step {10 * epoch} loss: 1.{9 - epoch}{rank}\n" for rank in (0, 1))
        for epoch in EPOCHS
    )
    assert steps_of(read_log(tmp_path, text))["loss"] == [10 * epoch for epoch in EPOCHS]
