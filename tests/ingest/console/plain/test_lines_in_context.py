"""Lines whose meaning follows from those around them: evaluations below headings, bars, epochs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run

N = range(1, 4)

CASES = {
    "unknown names next to known ones": (
        "".join(
            f"Epoch {n}: train_loss=0.{n}\nVal metrics: acc=0.81 zed=0.7{n} cm=[[2, 1], [2, 0]]\n" for n in N
        ),
        {"train_loss": [1, 2, 3], "val/acc": [1, 2, 3], "val/zed": [1, 2, 3]},
    ),
    "names of one letter": (
        "".join(
            f"[Epoch 0/9, Batch {n}/70] [Losses: x 0.2, y 0.3, w 4.8, h 4.6, conf 4.3, loss 5.{n}]\n"
            for n in N
        ),
        {"Epoch": [1, 2, 3], **{name: [1, 2, 3] for name in ("x", "y", "w", "h", "conf", "loss")}},
    ),
    "settings that look like steps": (
        "[START] 3/4 args: Namespace(step=10, loss=1.5)\n[INFO] check_every=10  val_iter=10\nnum_epochs: 50\n"
        + "".join(f"Epoch {n}/199  train_loss=0.{n}\n" for n in N),
        {"train_loss": [1, 2, 3]},
    ),
    "amounts announce nothing": (
        "num_epochs: 50\ntraining_steps: 1882\nSTEPS: (10000, 16000)\n"
        + "".join(f"Epoch: {n} | loss: 0.{n}\nBest Loss: 0.{n}5 | Best Dice: 0.5\n" for n in N),
        {"loss": [1, 2, 3], "Best Loss": [1, 2, 3], "Best Dice": [1, 2, 3]},
    ),
    "evaluations below headings": (
        "".join(
            f"2026-01-01 10:00:0{n} - train - INFO - iteration:{n} step:4/4, loss: 0.{n}\n"
            f"2026-01-01 10:00:0{n} - train - INFO - evaluate:dev\n"
            f"accuracy:  9{n}.1%; precision:  7{n}.2%\n"
            f"            ORG: precision:  6{n}.1%; recall:  5{n}.2%\n"
            for n in N
        ),
        {
            "loss": [4, 8, 12],
            **{name: [4, 8, 12] for name in ("dev/accuracy", "dev/precision")},
            **{name: [4, 8, 12] for name in ("dev/ORG/precision", "dev/ORG/recall")},
        },
    ),
    "lists of names": (
        "".join(f"Epoch: [{n}][10/10] Loss 2.{n}\nloss_a_s,loss_b_s 7.1 5.{n}\n" for n in range(3)),
        {"Epoch": [10, 20, 30], "Loss": [10, 20, 30], "loss_a_s": [10, 20, 30], "loss_b_s": [10, 20, 30]},
    ),
    "pairs of names": (
        "".join(f"step {n}: loss/acc: 0.5/0.{n}\n" for n in N),
        {"loss": [1, 2, 3], "acc": [1, 2, 3]},
    ),
    "a name before its step behind a time": (
        "2026-01-01 10:00:00,123:\tStart training epoch 1.\n"
        + "".join(f"2026-01-01 10:00:0{n},123:\tLoss at step {n}: 8.{n}\n" for n in N),
        {"Loss": [1, 2, 3]},
    ),
    "an epoch without a space": (
        "".join(
            f"2026-01-01 10:00:00.1 | INFO | __main__:<module>:8 - epoch{n}/3:\ntrain_loss:1.{n}\n" for n in N
        ),
        {"train_loss": [1, 2, 3]},
    ),
    "the data before the step in brackets": (
        "".join(f"t.py:577] [Train {n}0/99] {{'train_loss': 0.{n}, 'loss_scale': 1.0}}\n" for n in N),
        {"train_loss": [10, 20, 30], "loss_scale": [10, 20, 30]},
    ),
    "bars without a loss": (
        "".join(f"d: 0.{n};gen: 0.1{n}:   {n}%|#    | {n}/100 [00:0{n}<01:00,  1.20s/it]\n" for n in N),
        {"d": [1, 2, 3], "gen": [1, 2, 3]},
    ),
    "bars and a summary of the epoch": (
        "".join(
            f"Epoch {n}: 100%|##| 5/5 [00:01<00:00, 5.1it/s, loss=0.{n}]\n"
            f"Epoch {n} Summary:\n   Accuracy: 8{n}.5%\n"
            for n in N
        ),
        {"loss": [5, 10, 15], "Accuracy": [5, 10, 15]},
    ),
    "bars of training and evaluation": (
        "".join(
            f"Train: 100%|##| 5/5 [00:01<00:00, 5.1it/s, loss=0.{n}]\n"
            f"Val: 100%|##| 2/2 [00:01<00:00, 5.1it/s, loss=0.5{n}]\n"
            for n in N
        ),
        {"loss": [5, 10, 15], "val/loss": [5, 10, 15]},
    ),
    "bars of epochs around those of batches": (
        "".join(
            f"100%|##| 5.00/5 [00:01<00:00, 5.1batch/s, loss=0.{n}]\n"
            f"{n}0%|#  | {n}/9 [00:01<00:00, 5.1s/epoch, loss=0.{n}, val_loss=0.4]\n"
            for n in N
        ),
        {"loss": [5, 10, 15], "epoch/loss": [5, 10, 15], "val_loss": [5, 10, 15]},
    ),
    "bars that vanish before their end": (
        "".join(f" {at}0%|# | {at}/10 [00:01<00:00, 5.1it/s, loss=0.5]\n" for _ in range(3) for at in (5, 9)),
        {"loss": [5, 9, 15, 19, 25, 29]},
    ),
    "epochs without steps behind stray steps": (
        "Step 7: loss 0.9\nStep 8: loss 0.9\n"
        + "".join(f"Epoch {n}: train_loss 0.5\n" for n in range(1, 12)),
        {"loss": [7, 8], "train_loss": [*range(8, 19)]},
    ),
    "losses of batches that name their epoch alone": (
        "".join(f"Epoch {epoch} Loss 0.5\n" for epoch in (1, 2) for _ in range(40)),
        {"Loss": [*range(1, 81)]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_log_is_one_attempt_with_every_record_at_its_step(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    file = tmp_path / "train.log"
    file.write_text(text)
    run = read_run(file)
    assert {
        key.metric: sorted({*series.step.tolist()}) for key, series in run.data.series.items()
    } == expected
    assert run.attempts == 1


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"2026-01-01 10:00:0{n},123 - INFO - Loss: 1{n}.5, Total Steps: 200\n" for n in range(9)),
        "".join(f"{n} 0.20{n} 0.87\n" for n in range(9)),
    ],
)
def test_rows_behind_a_logger_and_columns_without_a_header_are_guessed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.txt"
    file.write_text(text)
    (report,) = explain_files(file)
    assert report.is_guessed
    assert (report.first_step, report.last_step) == (0, 8)


def test_lines_of_an_epoch_from_several_processes_stay_at_the_epoch(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("".join(f"Epoch {epoch} Loss 0.5\n" for epoch in (1, 2, 3) for _ in range(8)))
    run = read_run(file)
    assert {key.metric: series.step.tolist() for key, series in run.data.series.items()} == {
        "Loss": [1, 2, 3]
    }


def test_that_lines_are_counted_is_said_to_be_a_guess(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text(CASES["losses of batches that name their epoch alone"][0])
    (report,) = explain_files(file)
    assert report.lines is not None
    assert any("guess" in axis for axis in report.lines.axes)
