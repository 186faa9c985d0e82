"""Progress bars of many programs: the values in, before and behind them, at their epoch or step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

BATCHES = range(1, 7)
N = range(1, 4)
_BARS = "\r  0%|          | 0/120 [00:00<?, ?it/s]\r100%|██████████| 120/120 [00:12<00:00,  9.70it/s]\n"
KERAS = (
    "\r\x1b[1m{at}/9\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━\x1b[0m \x1b[1m2s\x1b[0m 9ms/step"
    " - loss: 0.{loss}{more}"
)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a bar with a per cent in brackets": (
        "".join(
            f"Epoch: {n}/9\n|████    | 30/60 [50%] in 1s (5.1/s, eta: 9s) train_loss: 2.{n}\r"
            f"|████████| 60/60 [100%] in 11.2s (5.35/s) val_loss: 1.{n} \n"
            for n in range(6)
        ),
        {"val_loss": [*range(6)]},
    ),
    "a bar behind its epoch": (
        "".join(
            f"  {n}/9: |==>    |       | - Loss: 2.{n}   \r"
            f"  {n}/9: |=======|=======| - Loss: 1.{n} - Val loss: 3.{n}\n"
            for n in range(6)
        ),
        {"Loss": [*range(6)], "Val loss": [*range(6)]},
    ),
    "an epoch before a bar": (
        "".join(
            f"{n}/4 * Epoch (train): 100% 391/391 [00:1{n}<00:00, 29.9it/s, acc=92.500, loss=0.{n}]\n"
            f"{n}/4 * Epoch {n} (train): acc=91.2{n} | loss=0.4{n}\n"
            f"{n}/4 * Epoch {n} (valid): acc=90.1{n} | loss=0.5{n}\n"
            for n in range(1, 5)
        ),
        {
            name: [391, 782, 1173, 1564]
            for name in ("acc", "loss", "epoch/acc", "epoch/loss", "valid/acc", "valid/loss")
        },
    ),
    "a record glued to the bar of its epoch": (
        "".join(
            f"  {n}%|          | {n}/100 [31:27<51:54:28, 1887.57s/it]Epoch {n + 1}, Training loss: 3.9{n}\n"
            for n in range(1, 5)
        ),
        {"Training loss": [2, 3, 4, 5]},
    ),
    "a bar below epochs in the plural": (
        "".join(
            f"Epochs {n}/4. Running Loss:    1.2{n}: 100%|#| 100/100 [00:10<00:00,  8.1it/s]\n"
            for n in range(4)
        ),
        {"Running Loss": [100, 200, 300, 400]},
    ),
    "bars of an evaluation that are empty": (
        "".join(
            f"  Epoch 00{n} [Train]:   0%|          | 0/20 [00:00<?, ?it/s]\r"
            f"  Epoch 00{n} [Train]: 100%|##########| 20/20 [06:28<00:00,  3.19s/it, loss=1.{n}]\r"
            f"  Epoch 00{n} [Val]  :   0%|          | 0/5 [00:00<?, ?it/s]\r"
            f"  Epoch 00{n} [Val]  : 100%|##########| 5/5 [01:07<00:00,  2.40s/it, loss=0.9{n}]\r     \r"
            f"2026-05-08 22:49:56 | INFO | Epoch [00{n}/4] TrainLoss=1.8{n} | ValLoss=1.30 | LR=1.00e-04\n"
            for n in range(1, 5)
        ),
        {name: [20, 40, 60, 80] for name in ("loss", "val/loss", "TrainLoss", "ValLoss", "LR")},
    ),
    "a bar with a name without a sign": (
        "\r".join(f"loss 1.{n}:  {n}%|#   | {n}/100 [00:01<01:12,  1.2it/s]" for n in range(1, 5)) + "\n",
        {"loss": [*range(1, 5)]},
    ),
    "wide bars of epochs": (
        "".join(
            f"Epoch: {n}: 100%|{'█' * 240}| 383/383 [05:12<00:00,  1.23it/s, train_loss=67{n}]\n"
            for n in range(1, 5)
        ),
        {"train_loss": [383, 766, 1149, 1532]},
    ),
    "bars with dashes for signs": (
        "".join(
            f"\nEpoch: {n}\ntrain: 100%|███| 100/100 [00:10<00:00,  9.1it/s, dice_loss - 0.{n}, iou - 0.5]\n"
            "valid: 100%|███| 20/20 [00:02<00:00,  9.1it/s, dice_loss - 0.4, iou - 0.6]\n"
            for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("dice_loss", "iou", "valid/dice_loss", "valid/iou")},
    ),
    "steps of all before a bar": (
        "".join(
            f"Training ({n}0 / 900 Steps) (loss=0.7{n}): 100%|███| 98/98 [00:10<00:00,  9.1it/s]\n"
            for n in range(1, 5)
        ),
        {"loss": [10, 20, 30, 40]},
    ),
    "bars without a total repeat the last epoch": (
        "".join(
            f"Epoch {n}: : 0it [04:20, ?it/s, loss=1.3{n}, avg_reward=0.5]"
            f"Epoch {n}, global step {n}8: saving\n"
            f"Epoch {n + 1}: : 0it [04:20, ?it/s, loss=1.3{n}, avg_reward=0.5]\n"
            for n in range(1, 6)
        ),
        {name: [18, 28, 38, 48, 58] for name in ("Epoch", "loss", "avg_reward")},
    ),
    "bars of which the last state is left": (
        "".join(
            f"Epoch: {n}\n [==== 391/391 ====>]  Step: 1s194ms | Tot: 4s8ms | Loss: 2.7 | Acc: 15.3% (7/50)\n"
            f" [==== 100/100 ====>]  Step: 34ms | Tot: 3s829ms | Loss: 1.9{n} | Acc: 26.1% (2/10)\nSaving..\n"
            for n in range(1, 5)
        ),
        {name: [391, 782, 1173, 1564] for name in ("Loss", "Acc", "eval/Loss", "eval/Acc")},
    ),
    "the bar of an epoch that is reset at its end": (
        "".join(
            f"Epoch {epoch}: 0%| | 0/2 [00:00<?, ?it/s]\n"
            f"Epoch {epoch}: 50%|# | 1/2 [00:01<00:01, 1.2it/s, v_num=1, loss=0.5{epoch}]\n"
            f"Epoch {epoch}: 100%|##| 2/2 [00:02<00:00, 1.2it/s, v_num=1, loss=0.4{epoch}]\n"
            f"Epoch {epoch}: 0%| | 0/2 [00:00<?, ?it/s, v_num=1, loss=0.4{epoch}, val_loss=0.3{epoch}]\n"
            for epoch in range(3)
        ),
        {"loss": [1, 2, 3, 4, 5, 6], "val_loss": [2, 4, 6]},
    ),
    "bars with other signs between their values": (
        "".join(
            f"Epoch {n}/5\n" + "".join(f"{b}/6 [{'=' * b}] loss: 2.{n}{b} acc: 0.{b}\n" for b in BATCHES)
            for n in range(1, 6)
        ),
        {"loss": [*range(5)], "acc": [*range(5)]},
    ),
    "epochs of bars that count from zero": (
        "".join(
            f"Epoch {n - 1}/3\n30/30 [=====] - 1s - loss: 0.{n} - acc: 0.5\n"
            f"Validation 10/10 [=====] - 1s - loss: 0.3{n} - acc: 0.5\n"
            for n in N
        ),
        {name: [0, 1, 2] for name in ("loss", "acc", "validation/loss", "validation/acc")},
    ),
    "bars of an epoch that begin without a metric": (
        "".join(
            "".join(
                f"\rEpoch {n} [Train]: {batch:2d}%|##| {batch}/90 [00:01<00:10, 20.66it/s{loss}]"
                for batch, loss in ((0, ""), (45, f", loss={n}.5"), (90, f", loss={n}.25"))
            )
            + f"\nEpoch {n}:\n  Train Loss: {n}.7\n"
            for n in (0, 1, 2)
        ),
        {"loss": [45, 90, 135, 180, 225, 270], "Train Loss": [90, 180, 270]},
    ),
    "a bar of values that are no numbers": (
        "".join(
            f"Epoch 0:   {n}%|  | {n}/90 [00:01<00:10, 20.66it/s, v_num=0, train_loss={value}]\n"
            for n, value in zip(N, ("2.5", "inf.0", "nan.0"), strict=True)
        ),
        {"train_loss": [1, 2, 3]},
    ),
    "a bar of more batches than there are": (
        "".join(f"Epoch {n}/3\n53/52 [=====] - 23s 441ms/step - loss: 0.{n} - val_loss: 0.4\n" for n in N),
        {"loss": [0, 1, 2], "val_loss": [0, 1, 2]},
    ),
    "results behind bars that name no epoch": (
        "".join(f"{_BARS}Train loss : 0.{n}\nValidation loss : 0.{n}5\n" for n in range(6)),
        {"Train loss": [*range(6)], "Validation loss": [*range(6)]},
    ),
    "results behind the bar of all epochs": (
        "Length of Dataloader: 34\n"
        + "".join(f"\r {n}%|▏    | {n}/50 [00:02<02:02,  0.40it/s]Train loss:  9{n}.75\n" for n in range(6)),
        {"Train loss": [*range(6)]},
    ),
    "a warning between the bar of an epoch, which counts from 0, and its line": (
        "".join(
            "".join(
                f"\rEpoch {n}: {at * 25}%|██  | {at}/4 [00:00<00:02,  9.70it/s, loss={n}.{at}5]"
                for at in range(1, 5)
            )
            + "\n/opt/lib/torch/nn/functional.py:1967: UserWarning: it is deprecated.\n" * (n == 2)
            + f"\nEpoch {n + 1} Average Loss: 2.{n}\n"
            for n in range(6)
        ),
        {"loss": [*range(1, 25)], "Average Loss": [*range(4, 25, 4)]},
    ),
    "bars of Keras without a time": (
        "".join(
            f"Epoch {n + 1}/6\n"
            + "".join(f"\r{at}/20 [{'=' * at}>] - loss: 2.5 - accuracy: 0.25" for at in (5, 10))
            + f"\r20/20 [==========] - loss: {n}.5 - accuracy: 0.5\n"
            for n in range(6)
        ),
        {"loss": [*range(6)], "accuracy": [*range(6)]},
    ),
    "bars that count nothing above the line of their epoch": (
        "".join(
            "".join(f"\r[{'=' * at}>{'-' * (4 - at)}] {4 - at}s Loss D: 2.{at}" for at in range(5))
            + f"\nEpoch {n} - Loss D: {n}.5\n"
            for n in range(6)
        ),
        {"Loss D": [*range(6)]},
    ),
    "a coloured bar of Keras": (
        "".join(
            f"Epoch {n}/3\n"
            + "".join(KERAS.format(at=at, loss=at, more="") + "\b" * 40 for at in (1, 5, 9))
            + KERAS.format(at=9, loss=70 + n, more=" - val_loss: 0.5")
            + "\n"
            for n in N
        ),
        {"loss": [0, 1, 2], "val_loss": [0, 1, 2]},
    ),
    "bars of an epoch between signs": (
        "".join(
            f"\nEpoch: [{n} | 9] LR: 0.1\n"
            + "".join(
                f"\rProcessing |{'#' * at}| ({at}/{total}) Data: 0.011s | Loss: 1.{n} | top1:  44.5"
                for total in (3, 2)
                for at in range(1, total + 1)
            )
            + "\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("LR", "Loss", "top1", "eval/Loss", "eval/top1")},
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
}


@pytest.mark.parametrize("case", CASES)
def test_values_of_bars_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_the_description_of_a_bar_names_its_fold(tmp_path: Path) -> None:
    def fold(number: int) -> str:
        bars = "".join(
            f"\rFold {number} Training:  30%|▎    | {at}/6 [00:00<00:02,  9.70it/s, Train_Acc=0.{number}{at}]"
            for at in range(1, 7)
        )
        return (
            f"{bars}\n12:00:00 - INFO - Fold {number} Results:\n12:00:00 - INFO -   Accuracy: 0.9{number}\n"
        )

    steps = {"Train_Acc": [*range(1, 7)], "Accuracy": [6]}
    assert_steps(
        tmp_path,
        "".join(map(fold, (1, 2, 3))),
        {**steps, **{f"{name}/fold={fold}": at for fold in (2, 3) for name, at in steps.items()}},
    )


def test_a_bar_of_keras_ends_with_the_means_of_the_epoch(tmp_path: Path) -> None:
    text, _ = CASES["a coloured bar of Keras"]
    values = {
        key.metric: series.value.tolist() for key, series in read_log(tmp_path, text).data.series.items()
    }
    assert values["loss"] == [0.71, 0.72, 0.73]


def test_a_bar_without_counts_names_its_data(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/3\nEpoch {n} - Train: 100%|####| [-sisdr=-8.{n}, sdr=8.1]\nTrain  -SI-SDRi: -8.{n}\n"
        f"Epoch {n} - Valid: 100%|####| [-sisdr=-9.{n}, sdr=9.1]\nValid  -SI-SDRi: -9.{n}\n"
        f"Save the best model (SI-SDRi=10.{n})\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    names = {"sisdr", "sdr", "SI-SDRi", "valid/sisdr", "valid/sdr", "valid/SI-SDRi", "best/SI-SDRi"}
    assert steps_of(run) == {name: [*N] for name in names}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["SI-SDRi"] == [-8.1, -8.2, -8.3]


def test_lines_between_bars_that_count_less_than_these_are_of_epochs(tmp_path: Path) -> None:
    bars = [
        "".join(
            f"\r{at / 3:.0f}%|##| {at}/300 [00:01<00:10,  1.00it/s, loss={epoch}.{at}]"
            for at in (0, 150, 300)
        )
        for epoch in range(1, 7)
    ]
    text = "".join(f"{bar}\n[{n}] loss: 2.{n}\ntest average ELBO= -3.{n}\n" for n, bar in enumerate(bars, 1))
    run = read_log(tmp_path, text)
    ends = [300 * n for n in range(1, 7)]
    assert run.attempts == 1
    assert steps_of(run) == {
        "loss": [*range(0, 1801, 150)],
        "epoch/loss": ends,
        "test average ELBO": ends,
    }


def test_the_time_of_a_bar_is_no_metric_whatever_its_units_are(tmp_path: Path) -> None:
    times = ("45s885ms", "1m25s", "59s12ms", "1h2m", "1m2s")
    text = "".join(
        f"\nEpoch: {n}\n [=====>]  Step: 7{n}ms | Tot: {time} | Loss: 1.{n}83 | Acc: 5{n}.122% (2{n}/50)\n"
        for n, time in enumerate(times)
    )
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "Acc"}


def test_a_bar_of_any_program_may_have_its_counts_behind_a_per_cent(tmp_path: Path) -> None:
    text = "".join(f"Training [==   ] {n}.5% {n}00/9000 | 4.6 it/s | ETA: 84.2 s | loss=3.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [100, 200, 300]}


def test_the_first_epoch_of_keras_may_lack_its_heading(tmp_path: Path) -> None:
    epoch = "9/9 ━━━━━━━━━━ 3s 49ms/step - loss: 1.{0} - val_loss: 1.5\n"
    text = epoch.format(1) + "".join(f"Epoch {n}/3\n{epoch.format(n)}" for n in (2, 3))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [0, 1, 2], "val_loss": [0, 1, 2]}
    assert steps_of(read_log(tmp_path, "".join(map(epoch.format, N))))["loss"] == [0, 1, 2]


def test_values_of_a_callback_above_the_bar_are_of_the_epoch_of_the_heading(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/4\n - val_f1: 0.4{n} - val_recall: 0.5{n}\n125/125 - 3s - loss: 1.{n} - val_loss: 1.2\n"
        for n in range(1, 5)
    )
    names = ("loss", "val_loss", "val_f1", "val_recall")
    assert_steps(tmp_path, text, {name: [0, 1, 2, 3] for name in names})


def test_a_bar_at_a_larger_step_than_can_be_stored_is_none(tmp_path: Path) -> None:
    log = read_log(tmp_path, "Epoch 2:  33%|###  | 3/9999999999999999999 [00:01<00:05, loss=1.5]")
    assert log.points == 0
    assert all("OverflowError" not in each.reason for each in log.unreadable)
