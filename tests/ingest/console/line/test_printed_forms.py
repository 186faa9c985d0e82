"""Forms of lines, tables and headings that training scripts print: each record at its step, in its series."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
_BATCHES = "".join(f"\r {at * 25}%|██  | {at}/4 [00:00<00:02,  9.70it/s]" for at in range(1, 5)) + "\n"
_RULE = "+-------+------+\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a metric named after what it is of, behind the line of its epoch": (
        "".join(f"Train Epoch {n}\nloss_epoch: 2.{n}\n" for n in N),
        {"loss_epoch": [*N]},
    ),
    "the same beside another one": (
        "".join(f"Epoch {n} | loss: 2.{n} | loss_epoch: 1.{n}\n" for n in N),
        {name: [*N] for name in ("loss", "loss_epoch")},
    ),
    "stages of an epoch in brackets": (
        "".join(
            f"** Epoch:[{n}/6][{stage} stage]\n{_BATCHES}Time 0.412 \nLoss {n}.5{at} Prec@1 1.{n}\n"
            for n in N
            for at, stage in enumerate(("training", "validation"))
        ),
        {name: [*N] for name in ("Loss", "Prec@1", "validation/Loss", "validation/Prec@1")},
    ),
    "a warning between the bar of an epoch, which counts from 0, and its line": (
        "".join(
            "".join(
                f"\rEpoch {n}: {at * 25}%|██  | {at}/4 [00:00<00:02,  9.70it/s, loss={n}.{at}5]"
                for at in range(1, 5)
            )
            + "\n/opt/lib/torch/nn/functional.py:1967: UserWarning: it is deprecated.\n" * (n == 2)
            + f"\nEpoch {n + 1} Average Loss: 2.{n}\n"
            for n in N
        ),
        {"loss": [*range(1, 25)], "Average Loss": [*range(4, 25, 4)]},
    ),
    "the data of a part of an epoch behind its number": (
        "".join(f"Epoch {n}\nloss {n}.5\nEpoch {n} - testing ...\nloss {n}.25\n" for n in N),
        {"loss": [*N], "testing/loss": [*N]},
    ),
    "an epoch in brackets between a loss of some data and its value": (
        "".join(
            "".join(f"[{n + 1},    {batch}] loss: {n}.{batch}\n" for batch in (10, 20))
            + f"Validation Loss [{n + 1}]: {n}.25\n"
            for n in N
        ),
        {
            "epoch": [*range(10, 121, 10)],
            "loss": [*range(10, 121, 10)],
            "Validation Loss": [*range(20, 121, 20)],
        },
    ),
    "an epoch that is entered": (
        "".join(f"Entering Epoch:{n}\nTrain Loss:{n}.5\nValidation Loss:{n}.25\n" for n in N),
        {"Train Loss": [*N], "Validation Loss": [*N]},
    ),
    "the length of a game": (
        "".join(f"Episode {n}\n  Average game length: {n}7.5\n  Average reward: 0.{n}\n" for n in N),
        {"Average game length": [*N], "Average reward": [*N]},
    ),
    "an epoch of the training and of the validation that it says to start": (
        "".join(
            "".join(
                f"Iter: [{at}/4]  Epoch: [{n + 1}/6]  Loss: 2.{at}{n}  Acc: 0.{n}{at}\n" for at in range(1, 5)
            )
            + f"Epoch: {n + 1}  Loss: 2.{n}  Accuracy: 0.{n}\nEpoch: {n + 1}  Start Validation\n"
            + "".join(
                f"Iter: [{at}/2]  Epoch: [{n + 1}/6]  Loss: 3.{at}{n}  Acc: 0.{n}{at}\n" for at in (1, 2)
            )
            + f"Epoch: {n + 1}  Loss: 3.{n}  Accuracy: 0.{n}5\n"
            for n in N
        ),
        {name: [*range(1, 25)] for name in ("Epoch", "Loss", "Acc")}
        | {name: [*range(4, 25, 4)] for name in ("epoch/Loss", "Accuracy")}
        | {f"validation/{name}": [*range(4, 25, 4)] for name in ("epoch/Loss", "Accuracy")}
        | {
            f"validation/{name}": sorted((*range(4, 25, 4), *range(5, 26, 4)))
            for name in ("Epoch", "Loss", "Acc")
        },
    ),
    "cycles of several epochs": (
        "".join(
            f"{'=' * 40}\nCYCLE {cycle}/3\n{'=' * 40}\n"
            + "".join(f"  Epoch {n + 1}/6 - loss: {n}.{cycle}, value_loss: 1.{n}\n" for n in N)
            for cycle in (1, 2, 3)
        ),
        {"loss": [*range(1, 19)], "value_loss": [*range(1, 19)]},
    ),
    "losses of parts of a model that have numbers": (
        "".join(f"Episode {n}, Critic 1 Loss: 2.{n}, Critic 2 loss: 3.{n}, ent loss: 0.{n}\n" for n in N),
        {name: [*N] for name in ("Critic 1 Loss", "Critic 2 loss", "ent loss")},
    ),
    "names in brackets with a sign behind them": (
        "".join(
            f"[{n}/6][{at}/40]: 2.3{n}e-01 [PSNR]: 2{n}.{at} +/- 1.20 [den]: 1{n}.{at} [r-mse]: 0.{n}\n"
            for n in N
            for at in (0, 20)
        ),
        {name: [n * 40 + at for n in N for at in (0, 20)] for name in ("PSNR", "PSNR (std)", "den", "r-mse")},
    ),
    "scores at a rank": (
        "".join(f"model epoch:{n} loss:2.{n}\nprecision at 100: 0.{n}5\n" for n in N),
        {"loss": [*N], "precision at 100": [*N]},
    ),
    "names of classes that are padded": (
        "".join(
            f"Epoch {n} loss: 2.{n}\nAccuracy for class: cat   is 9{n}.1 %\n"
            f"Accuracy for class: horse is 8{n}.1 %\n"
            for n in N
        ),
        {"loss": [*N]} | {f"Accuracy for class: {name}/class={name}": [*N] for name in ("cat", "horse")},
    ),
    "a remark behind the last cell": (
        "epoch | loss | val loss\n-----------------\n"
        + "".join(f"  {n} | {n}.5 | {n}.25{'' if n % 3 else '  <- best'}\n" for n in N),
        {"loss": [*N], "val loss": [*N]},
    ),
    "a sign behind the last column": (
        "Epoch    Loss       Val P@10     Time\n----------------\n"
        + "".join(f"{n}        {n}.3436     0.0814       0.{n}m{' ' if n % 3 else ' ★'}\n" for n in N),
        {"Loss": [*N], "Val P@10": [*N]},
    ),
    "an empty last cell": (
        "epoch | loss | mae\n" + "".join(f"  {n} | {n}.5 |{'' if n % 3 else '  7.25'}\n" for n in N),
        {"loss": [*N], "mae": [0, 3]},
    ),
    "a table that is printed anew with each row": (
        "".join(
            f"{_RULE}| epoch | loss |\n{_RULE}"
            + "".join(f"|   {row}   | {row}.5  |\n" for row in range(n + 1))
            + _RULE
            for n in N
        ),
        {"loss": [*N]},
    ),
    "results of an evaluation that comes once, with how much the first one varies": (
        "".join(f"Episode {n}0 | Reward: {n}.5\n" for n in (1, 2))
        + "Mean Reward: 1.25 ± 0.10\nMean Episode Length: 164.0\nMean Velocity: 0.25\nShare: 36.40%\n",
        {
            "Reward": [10, 20],
            "Mean Reward": [20],
            "Mean Reward (std)": [20],
            **{name: [20] for name in ("Mean Episode Length", "Mean Velocity", "Share")},
        },
    ),
    "bars of Keras without a time": (
        "".join(
            f"Epoch {n + 1}/6\n"
            + "".join(f"\r{at}/20 [{'=' * at}>] - loss: 2.5 - accuracy: 0.25" for at in (5, 10))
            + f"\r20/20 [==========] - loss: {n}.5 - accuracy: 0.5\n"
            for n in N
        ),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "bars that count nothing above the line of their epoch": (
        "".join(
            "".join(f"\r[{'=' * at}>{'-' * (4 - at)}] {4 - at}s Loss D: 2.{at}" for at in range(5))
            + f"\nEpoch {n} - Loss D: {n}.5\n"
            for n in N
        ),
        {"Loss D": [*N]},
    ),
    "losses of batches without a number above the line of their epoch": (
        "".join(
            "".join(f"DEBUG: Batch Loss: {n}.{at}5\n" for at in range(10))
            + f"Epoch {n + 1} finished. Average Loss: {n}.5\n{'-' * 40}\n"
            for n in range(3)
        ),
        {"Batch Loss": [*range(1, 31)], "Average Loss": [10, 20, 30]},
    ),
    "as many losses without a number as the step below them": (
        "".join(
            "".join(f"g_loss:{n}.5, d_loss:-{n}.{at}, atom:4{at}.5\n" for at in range(5))
            + f"Elapsed [0:00:0{n}], Iteration [{5 * n + 5}/500], D/loss_real: -1.5\n"
            for n in range(2)
        ),
        {
            **{name: [*range(1, 11)] for name in ("g_loss", "d_loss", "atom")},
            "D/loss_real": [5, 10],
        },
    ),
    "how many values a mean is of": (
        "".join(f"episode: {n}     reward: 2{n}.5     avg 5 reward: 3{n}.5     avg reward: 3.5\n" for n in N),
        {name: [*N] for name in ("reward", "avg 5 reward", "avg reward")},
    ),
    "a level before a metric of a network": (
        "".join(
            f"[2021-01-01 10:00 net] (a.py 101): INFO Train: [{n}/6][0/100]\tloss 2.{n}\n"
            f"[2021-01-01 10:00 net] (a.py 9): INFO Accuracy of the network on the 500 test images: 3{n}%\n"
            for n in N
        ),
        {
            name: [100 * n for n in N]
            for name in ("loss", "epoch", "Accuracy of the network on the 500 test images")
        },
    ),
    "a table of losses below the heading of an epoch": (
        "".join(
            f"   Epoch {n}00 Losses   \n┏━━━━━━━━━┳━━━━━━━┓\n┃ Loss Type ┃ Loss Value ┃\n┡━━━━━╇━━━━━┩\n"
            f"│ Total Loss │ 1.{n}3e+00   │\n│ Obs 1 Loss │ 9.{n}9e-01   │\n└─────┴─────┘\n"
            for n in N
        ),
        {name: [100 * n for n in N] for name in ("Total Loss", "Obs 1 Loss")},
    ),
    "a sum above the line of its mean": (
        "".join(f"val_loss:  {20 - n}.5\nnum steps:  12\nepoch:  {n}  val_loss: 1.{n}\n" for n in N),
        {"val_loss": [*N]},
    ),
    "an evaluation at the end of an epoch behind the last line of its steps": (
        "".join(
            f"[E {n} | it {at}] loss {{total 1.5{at}, nll 2.5}}\n"
            + "".join(f"[Validation] {{recall 7.{n}{k}E-01, loss/total 6.{at}E-01}}\n" for k in range(times))
            for n in range(2)
            for at, times in ((0, 1), (10, 1), (20, 1), (30, 2))[n:]
        ),
        {
            **{name: [0, 10, 20, 30, 41, 51, 61] for name in ("E", "loss/nll", "loss/total")},
            **{
                name: [0, 10, 20, 30, 31, 41, 51, 61, 62]
                for name in ("validation/recall", "validation/loss/total")
            },
        },
    ),
    "an evaluation of an unknown name that comes once": (
        "epoch: 0, train_batch_id: 0, loss: 1.5\nepoch: 0, train_batch_id: 50, loss: 1.25\n"
        "Validation overall tour: 6.25 +- 0.01\n",
        {
            "loss": [0, 50],
            "epoch": [0, 50],
            "Validation overall tour": [50],
            "Validation overall tour (std)": [50],
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
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


def test_tables_of_models_in_turn_are_one_launch(tmp_path: Path) -> None:
    rows = "".join(f"{n}         2.{n}92867    0.{n}42270  00:02\n" for n in range(4))
    text = "".join(
        f"Training small model {model}/3 with a cycle, lr 0.01\nepoch     train_loss  mae       time\n{rows}"
        for model in (1, 2, 3)
    )
    names = [f"{name}{label}" for name in ("train_loss", "mae") for label in ("", "/model=2", "/model=3")]
    assert_steps(tmp_path, text, {name: [*range(4)] for name in names})


def test_a_launch_after_tables_that_grow_has_rows_of_its_own(tmp_path: Path) -> None:
    def tables(launch: int) -> str:
        rows = [f"|   {row}   | {launch}.{row}  |\n" for row in N]
        return "".join(
            f"{_RULE}| epoch | loss |\n{_RULE}{''.join(rows[: n + 1])}{_RULE}" for n in range(len(rows))
        )

    run = read_log(tmp_path, tables(1) + tables(2))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*N, *N]
