"""What the numbers of a line are, by the text around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun, read_run

N = range(1, 4)


def read(tmp_path: Path, text: str) -> OfflineRun:
    file = tmp_path / "train.log"
    file.write_text(text)
    return read_run(file)


def steps_of(run: OfflineRun) -> dict[str, list[int]]:
    """The steps of each series."""
    return {key.metric: series.step.tolist() for key, series in run.data.series.items()}


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-01-02 10:00:0{}] INFO - ",
        "[2026-01-02 10:00:0{}] ",
        "2026-01-02 10:00:0{},123 | INFO | ",
        "[10:00:0{}] ",
        "(2026-01-02T10:00:0{}) ",
    ],
)
def test_metrics_behind_a_time_belong_to_the_epoch_above(tmp_path: Path, prefix: str) -> None:
    lines = [
        line
        for n in N
        for line in (f"Epoch {n}/3", f"  Train loss: 0.{n}  acc: 0.5", f"  Eval  acc: 0.{n}  loss: 0.7")
    ]
    text = "".join(f"{prefix.format(second)}{line}\n" for second, line in enumerate(lines))
    steps = steps_of(read(tmp_path, text))
    assert steps == {name: [*N] for name in ("Train loss", "acc", "eval/acc", "eval/loss")}
