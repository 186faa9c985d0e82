"""Evaluations: at which step of the training they are, and where their lines begin and end."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "results of evaluations alone": (
        "".join(
            f"Eval num_timesteps={n}00. Reward: 0.{n}+/-0.1\nReward Negative: -0.{n}+/-0.1\n"
            for n in range(6)
        ),
        {
            name: [100 * n for n in range(6)]
            for of in ("eval/Reward", "Reward Negative")
            for name in (of, f"{of} (std)")
        },
    ),
    "whole numbers of an evaluation": (
        "".join(
            f"Episode: {n}, Score: 0.{n}\n"
            f"Evaluating... Score: 1.{n}, Changes: 8{n}%, Length: 54{n}, Time: 0.5s\n"
            for n in range(6)
        ),
        {
            name: [*range(6)]
            for name in ("Score", *(f"evaluating/{each}" for each in ("Score", "Changes", "Length", "Time")))
        },
    ),
    "an evaluation below a heading in colour": (
        "".join(
            f"\x1b[1m   --> TIME: 2023-01-01 12:0{n}:11 -- STEP: {n}/406 -- GLOBAL_STEP: {n}\x1b[0m\n"
            f"     | > loss_disc: 2.{n}  (1.3)\n\n\x1b[1m > EVALUATION \x1b[0m\n\n"
            "  \x1b[1m--> EVAL PERFORMANCE\x1b[0m\n"
            f"     | > avg_loss_disc:\x1b[91m 0.6{n} \x1b[0m(+0.01)\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("loss_disc", "eval/avg_loss_disc")},
    ),
    "evaluations that are printed behind the bars of later steps": (
        "".join(
            f"Training: {n}0%|#| {n}000/4000 [14:43<00:00, 33.97it/s, Loss=0.037{n}]\r" for n in range(1, 5)
        )
        + "\n"
        + "".join(
            f"\n[ITER {n}000] Evaluating test: L1 0.0{n} PSNR 19.92 [22/06 10:48:10]\n" for n in range(1, 5)
        ),
        {name: [1000, 2000, 3000, 4000] for name in ("Loss", "test/L1", "test/PSNR")},
    ),
    "a heading of an evaluation right below a record": (
        "".join(
            f"[Epoch: {n}, numImages:  1464]\nLoss: 16.{n}\nValidation:\n[Epoch: {n}, numImages:  1449]\n"
            f"Acc:0.9{n}, mIoU:0.7{n}\nLoss: 2.{n}\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("Loss", "validation/Acc", "validation/mIoU", "validation/Loss")},
    ),
    "any name before the step of an evaluation": (
        "".join(
            f"2025-12-03 19:02:01,701 INFO     Training average loss at step {n}00: 2.3\n"
            f"2025-12-03 19:02:02,701 INFO     Valid MR at step {n}00: 70{n}.9\n"
            f"2025-12-03 19:02:02,702 INFO     Valid HITS@10 at step {n}00: 0.00{n}\n"
            for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("Training average loss", "Valid MR", "Valid HITS@10")},
    ),
    "a line of the training below the heading of an evaluation": (
        "".join(
            f"Train: [ {n}/4] Step {step:03}/100 Loss 0.5\n" for n in range(1, 5) for step in (50, 100)
        ).replace("Step 100/100 Loss 0.5\n", "Step 100/100 Loss 0.5\nValid Scores By Category: \n"),
        {"Loss": [50, 100, 150, 200, 250, 300, 350, 400]},
    ),
    "the step of an evaluation above its results": (
        "".join(
            f"Starting epoch {n}...\nEvaluating at updates {n}512...\nDev F1: 15.{n}, EM: 13.{n}\n"
            for n in range(1, 5)
        ),
        {name: [1512, 2512, 3512, 4512] for name in ("Dev F1", "Dev EM")},
    ),
    "lines below evaluations alone": (
        "".join(
            f"Epoch 000{n} [Test seq (all)] | Loss 42.{n} | NFE 26.0\nKL coef: 0.0\n"
            f"Train loss (one batch): 38.95{n}\nTest MSE: 0.006{n}\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("test/Loss", "test/NFE", "Train loss (one batch)", "Test MSE")},
    ),
    "batches of an evaluation after the training's": (
        "".join(
            f"step {n}: loss 0.5\nEvaluated 1/7 with L2 loss 0.{n}\nEvaluated 7/7 with L2 loss 0.{n}\n"
            for n in N
        ),
        {"loss": [1, 2, 3], "evaluated/L2 loss": [1, 2, 3]},
    ),
    "headings of training and evaluation in turn": (
        "".join(
            f"Epoch {n}\n Learning rate is 0.00{n}\n  Training measures:\n    loss = 0.5, accuracy = 0.7{n}\n"
            f"  Validation measures:\n    accuracy = 0.78, AUC = 0.5\n"
            for n in N
        ),
        {
            "Learning rate": [1, 2, 3],
            **{name: [1, 2, 3] for name in ("loss", "accuracy", "validation/accuracy", "validation/AUC")},
        },
    ),
    "headings of steps of an evaluation, where those of the training state the step of all": (
        "".join(
            f" > EPOCH: {n}/9\n\n > TRAINING (2024-01-02 03:04:05) \n"
            + "".join(
                f"\n   --> STEP: {at}/100 -- GLOBAL_STEP: {100 * n + at}\n     | > loss: 0.{n}{at}  (0.5)\n"
                for at in (0, 50)
            )
            + f"\n > EVALUATION \n\n   --> STEP: 0\n     | > loss: 0.{n}1  (0.6)\n"
            f"\n  --> EVAL PERFORMANCE\n     | > avg_loss: 0.{n}2 (+0)\n\n"
            for n in range(3)
        ),
        _at([0, 50, 100, 150, 200, 250], "loss") | _at([50, 150, 250], "evaluation/loss", "eval/avg_loss"),
    ),
    "results above rows that have others of an evaluation": (
        "".join(
            f"Accuracy: 0.{n}\nPrecision: 0.{n}2 Recall: 0.{n}3\n"
            f"Epoch {n}, train loss 2.{n}, val loss 2.{n}5\n"
            for n in range(1, 6)
        ),
        {name: [*range(1, 6)] for name in ("Accuracy", "Precision", "Recall", "train loss", "val loss")},
    ),
    "evaluations that count themselves": (
        "".join(
            f"iter {n} loss 1.{n:03}\n" + (f"Step {n // 50}: test score {n}.5\n" if n % 50 == 49 else "")
            for n in range(400)
        ),
        {"loss": [*range(400)], "test score": [*range(49, 400, 50)]},
    ),
    "phases that count their batches below the heading of an epoch": (
        "".join(
            f"Epoch {n}/3\n"
            + "".join(f"train {batch}/30 loss {n}.5\n" for batch in (10, 20, 30))
            + f"val 5/10 loss {n}.25\nval 10/10 loss {n}.5\n"
            for n in N
        ),
        {"loss": [*range(10, 100, 10)], "val/loss": [30, 31, 60, 61, 90, 91]},
    ),
    "the same with signs and without epochs": (
        "".join(
            "".join(f"train: {batch}/30, loss: {n}.5, acc: 0.5\n" for batch in (10, 20, 30))
            + f"val: 10/10, loss: {n}.5\n"
            for n in N
        ),
        {"loss": [*range(10, 100, 10)], "acc": [*range(10, 100, 10)], "val/loss": [30, 60, 90]},
    ),
    "headings of batches below the heading of an evaluation": (
        "".join(
            f"==== EPOCH {n:03} ====\n"
            + "".join(f"-- batch: {batch:03} --\nloss: {n}.{batch}\n" for batch in (10, 20, 30))
            + "Validating ...\n"
            + "".join(f"-- batch: {batch:03} --\n" for batch in (10, 20))
            + f"val loss: {n}.25\n"
            for n in range(3)
        ),
        {"loss": [*range(10, 100, 10)], "val loss": [30, 60, 90]},
    ),
    "the same with losses of the batches of the evaluation": (
        "".join(
            f"Epoch {n}\n"
            + "".join(f"Step {step}\nloss: {n}.{step}\n" for step in (10, 20, 30))
            + "Evaluation:\n"
            + "".join(f"Step {step}\nloss: {n}.{step}5\n" for step in (10, 20))
            for n in N
        ),
        {"loss": [*range(10, 100, 10)]}
        | {name: [30, 60, 90] for name in ("evaluation/loss", "evaluation/loss/repeat=2")},
    ),
    "metrics below the heading of an epoch behind the record of an evaluation": (
        "".join(f"Epoch {n}\nloss: {n}.5\nacc: 0.{n}\nTest Epoch {n}: loss {n}.75\nacc: 0.{n}5\n" for n in N),
        {name: [*N] for name in ("loss", "acc", "test/loss", "test/acc")},
    ),
    "an evaluation that counts its own steps in each epoch": (
        "".join(
            "".join(f"loss: 0.{n} (epoch: {n}, step: {step})\n" for step in (0, 50, 100))
            + "".join(f"VAL loss: 0.{n} (epoch: {n}, step: {step})\n" for step in (0, 50))
            for n in N
        ),
        {
            "loss": [0, 50, 100, 101, 151, 201, 202, 252, 302],
            "epoch": [0, 50, 100, 101, 151, 201, 202, 252, 302],
            "VAL loss": [100, 101, 201, 202, 302, 303],
            "eval/epoch": [100, 101, 201, 202, 302, 303],
        },
    ),
    "evaluations beside tables of steps": (
        "".join(
            f"{'-' * 40}\n| mean 100 episode reward | 0.{n}      |\n| steps                   | {n}2243   |\n"
            f"{'-' * 40}\nEval num_timesteps={n}5000, episode_reward=-4.8{n} +/- 0.47\n"
            for n in N
        ),
        {
            "mean 100 episode reward": [12243, 22243, 32243],
            "eval/episode_reward": [15000, 25000, 35000],
            "eval/episode_reward (std)": [15000, 25000, 35000],
        },
    ),
    "evaluations over some episodes": (
        "".join(
            f"Episode {n}: reward 1.{n}\n-----\nEvaluation over 10 episodes: {sign}22.{n}\n-----\n"
            for n, sign in zip(range(6), ("", "-", "", "-", "", "-"), strict=True)
        ),
        {"reward": [*range(6)], "Evaluation": [*range(6)]},
    ),
    "evaluations of unknown names over some episodes": (
        "".join(
            f"Episode {n}: reward 1.{n}\n  >>> eval over 10 eps: mean R 22.{n}, success 6{n}.5%\n"
            for n in range(6)
        ),
        {"reward": [*range(6)], "eval/mean R": [*range(6)], "eval/success": [*range(6)]},
    ),
    "means of an evaluation behind its last batch": (
        "".join(
            f"epoch {n} loss: 1.{n} (1.{n}5)\nVal Loss 1.{n}2 (1.{n}1)\n"
            f"Test: [9/10] Loss 1.{n} (1.5) Acc@1 70.{n} (60.{n}) accuracy: 0.8 (40)\n"
            for n in range(6)
        ),
        {
            name: [*range(6)]
            for name in (
                *("loss", "Val Loss", "Val Loss/mean", "test/Loss", "test/Loss/mean"),
                *("test/Acc@1", "test/Acc@1/mean", "test/accuracy"),
            )
        },
    ),
    "a dictionary of an evaluation below a global step": (
        "".join(
            f"Epoch: 0 Global step: {n}00 Loss: 2.5\nGlobal step: {n}00 VAL res:\n"
            f" {{'eval_loss': 1.{n}, 'f1': 0.5}}\n"
            for n in range(6)
        ),
        {name: [100 * n for n in range(6)] for name in ("Epoch", "Loss", "eval_loss", "f1")},
    ),
    "an evaluation above the training line of its epoch": (
        "".join(
            f"第{n}轮评估完成，评估准确率为: 0.{n}\n第{n}轮训练完成，loss值为: 2.{n}\n" for n in range(6)
        ),
        {"评估准确率": [*range(6)], "loss值": [*range(6)]},
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
            for n in range(6)
        ),
        {name: [*range(1, 25)] for name in ("Epoch", "Loss", "Acc")}
        | {name: [*range(4, 25, 4)] for name in ("epoch/Loss", "Accuracy")}
        | {f"validation/{name}": [*range(4, 25, 4)] for name in ("epoch/Loss", "Accuracy")}
        | {
            f"validation/{name}": sorted((*range(4, 25, 4), *range(5, 26, 4)))
            for name in ("Epoch", "Loss", "Acc")
        },
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
    "an unknown metric of an evaluation and a time at some of the steps": (
        "".join(
            f"{{'it': {100 * n}, 'loss': {9 - n}.5, 'gap': {n}2.5}}\n"
            + (f"{{'it': {100 * n + 50}, 'val_Q': 0.{n}3, 'gap': {n}7.5}}\n" if n % 2 else "")
            for n in range(1, 7)
        ),
        {
            "loss": [100 * n for n in range(1, 7)],
            "gap": sorted([*(100 * n for n in range(1, 7)), 150, 350, 550]),
            "val_Q": [150, 350, 550],
        },
    ),
    "batches below the heading of an evaluation": (
        "".join(
            f"Epoch {n}/3\nstep 10/20 - loss: 0.5{n}\nstep 20/20 - loss: 0.4{n}\nEval begin...\n"
            f"step 10/12 - loss: 0.6 - AUC: 0.7\nstep 12/12 - loss: 0.6 - AUC: 0.8\nEval samples: 110\n"
            for n in N
        ),
        {
            "loss": [10, 20, 30, 40, 50, 60],
            **{f"eval/{name}": [20, 21, 40, 41, 60, 61] for name in ("loss", "AUC")},
        },
    ),
    "evaluations alone": (
        "INFO:root:Model is ready.\n"
        + "".join(f"INFO:__main__:Eval Metrics — Hits@1: 0.4, MRR: 0.{n}\n" for n in N),
        {"eval/Hits@1": [0, 1, 2], "eval/MRR": [0, 1, 2]},
    ),
    "the steps over all epochs of a validation": (
        "".join(
            f"Epoch: {n - 1}/3, Steps: 20, Train Loss: 0.5\nEpoch: {n - 1}/3, Steps: 40, Train Loss: 0.4\n"
            f"**Validation**, Epoch: {n - 1}/3, GlobalSteps: {47 * n}, val_f1: 0.5\n"
            for n in (1, 2)
        ),
        {"Epoch": [20, 40, 60, 80], "Train Loss": [20, 40, 60, 80], "val_f1": [47, 94]},
    ),
    "results whose step is among them": (
        "".join(
            f"INFO - main -   ***** Eval results *****\nINFO - main -     acc = 0.{n}\n"
            f"INFO - main -     global_step = {n}00\nINFO - main -     loss = 0.5\n"
            for n in N
        ),
        {"eval/acc": [100, 200, 300], "eval/loss": [100, 200, 300]},
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
}


@pytest.mark.parametrize("case", CASES)
def test_evaluations_are_at_the_steps_of_the_training(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_more_batches_than_those_of_the_training_are_no_evaluation(tmp_path: Path) -> None:
    def launch(total: int) -> str:
        return "".join(
            f"[INFO] step={step}/{total} loss=0.5\n[INFO] val results: Top-1: 0.6\n"
            if step == total
            else f"[INFO] Epoch {epoch}/30 started\n[INFO] step={step}/{total} loss=0.5\n"
            for epoch in (1, 2)
            for step in (total // 2, total)
        )

    assert {*steps_of(read_log(tmp_path, launch(144) + "\n" + launch(288)))} == {"loss", "val/Top-1"}


@pytest.mark.parametrize(
    ("training", "evaluation", "data"),
    [
        ("Training\n", "Validation\n", "validation"),
        ("", "Val\n", "val"),
        ("Training...\n", "Validating...\n", "validating"),
        ("", "Evaluating\n", "evaluating"),
        ("--- training ---\n", "--- test ---\n", "test"),
    ],
)
@pytest.mark.parametrize("every", [1, 3])
def test_an_epoch_again_below_the_heading_of_an_evaluation_is_of_it(
    tmp_path: Path, training: str, evaluation: str, data: str, every: int
) -> None:
    text = "".join(
        f"{training}Epoch {n} loss = 0.{n}\n" + f"{evaluation}Epoch {n} loss = 0.{n}5\n" * (n % every == 0)
        for n in range(9)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(9)], f"{data}/loss": [*range(0, 9, every)]}


def test_a_heading_with_the_batches_of_the_training_ends_an_evaluation(tmp_path: Path) -> None:
    text = "".join(
        f"epoch {n}\n" * (at == 20)
        + f"batch count {at}/60\ntotal loss 2.{n}{at}\nTesting...\naccuracy 0.{n}{at}\n"
        for n in range(3)
        for at in (20, 40, 60)
    )
    steps = [20, 40, 60, 80, 100, 120, 140, 160, 180]
    assert steps_of(read_log(tmp_path, text)) == {"total loss": steps, "testing/accuracy": steps}


def epoch_of_batches(n: int, mean: str = "", below: str = "Validation\n") -> str:
    """An epoch with three batches, its mean, and a line of the epoch again below a heading."""
    batches = "".join(f"Epoch {n}, batch {at}, loss = 1.{n}{at}\n" for at in (1, 2, 3))
    return f"{batches}{mean}{below}Epoch {n} loss = 0.{n}\n"


@pytest.mark.parametrize("heading", ["Validation", "Validating epoch {n}", "--- evaluation ---", "Test"])
@pytest.mark.parametrize("has_mean", [True, False])
def test_the_first_line_of_an_epoch_below_the_heading_of_an_evaluation_is_of_it(
    tmp_path: Path, heading: str, has_mean: bool
) -> None:
    text = "".join(
        epoch_of_batches(n, f"Epoch {n} loss = 0.{n}9\n" * has_mean, f"{heading.format(n=n)}\n")
        for n in range(1, 5)
    )
    found = steps_of(read_log(tmp_path, text))
    evaluated = next(name for name in found if name not in ("loss", "epoch/loss", "Epoch"))
    assert evaluated.endswith("/loss")
    assert found[evaluated] == [3, 6, 9, 12]
    assert found["loss"] == [*range(1, 13)]
    assert ("epoch/loss" in found) == has_mean


def test_the_line_of_an_epoch_behind_the_results_of_an_evaluation_has_its_means(tmp_path: Path) -> None:
    text = "".join(epoch_of_batches(n, below=f"Validation\naccuracy: 0.7{n}\n") for n in range(1, 5))
    found = steps_of(read_log(tmp_path, text))
    assert found["validation/accuracy"] == found["epoch/loss"] == [3, 6, 9, 12]
    named = "".join(f"{epoch_of_batches(n)}Val loss: 0.6{n}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, named))["epoch/loss"] == [6, 9, 12]


@pytest.mark.parametrize(
    "counted", ["| {:5} batches | ms/batch 12.50 | loss {:5.2f}\n", "batch {} loss {:.2f}\n"]
)
@pytest.mark.parametrize(
    ("below", "is_next"),
    [("valid loss: 2.3\n", True), ("Test set: Average loss: 0.5\n", True), ("Saved the weights\n", False)],
)
def test_batches_without_an_epoch_go_on_behind_an_evaluation(
    tmp_path: Path, counted: str, below: str, *, is_next: bool
) -> None:
    opening = "Loading the data\nUsing device cuda\nThe model has 3 layers\n"
    epochs = [
        "".join(counted.format(at, 5.0 / (n + at / 20)) for at in range(20, 101, 20)) + below
        for n in range(1, 4)
    ]
    run = read_log(tmp_path, "".join(epochs))
    assert run.attempts == (1 if is_next else 3)
    assert steps_of(run)["loss"] == ([*range(20, 301, 20)] if is_next else 3 * [*range(20, 101, 20)])
    again = read_log(tmp_path, 2 * (opening + epochs[0].replace("5.", "4.")))
    assert again.attempts == 2


def test_averaged_statistics_are_of_the_evaluation_whose_batches_are_above(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}]  [ 0/20]  eta: 0:00:03  lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Epoch: [{n}]  [19/20]  eta: 0:00:00  lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Averaged stats: lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Test:  [0/5]  eta: 0:00:00  loss: 9.{n} (9.1)  myo: 0.5 (0.5)\n"
        f"Test: Total time: 0:00:00 (0.01 s / it)\n"
        f"Averaged stats: loss: 9.{n} (9.1)  myo: 0.5 (0.5)\n"
        for n in range(3)
    )
    run = read_log(tmp_path, text)
    ends = [19, 39, 59]
    assert steps_of(run)["epoch/loss"] == steps_of(run)["test/loss"] == steps_of(run)["test/myo"] == ends
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["epoch/loss"] == [2.0, 2.1, 2.2]
    assert values["test/loss"] == [9.0, 9.1, 9.2]


def test_averaged_times_alone_are_of_the_evaluation_too(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}]  [ 0/20]  loss: 2.{n} (2.1)  wait: 0.3 (0.3)\n"
        f"Epoch: [{n}]  [19/20]  loss: 2.{n} (2.1)  wait: 0.3 (0.3)\n"
        f"Test:  [0/9]  box_wait: 0.1{n} (0.2)  wait: 0.3\n"
        f"Test:  [8/9]  box_wait: 0.2{n} (0.2)  wait: 0.3\n"
        f"Averaged stats: box_wait: 0.2{n} (0.2)\n"
        for n in range(3)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["test/epoch/box_wait"] == [19, 39, 59]
    assert "box_wait" not in steps


@pytest.mark.parametrize("between", ["][", "] [", "]  ["])
def test_batches_of_a_test_may_be_far_from_its_epoch(tmp_path: Path, between: str) -> None:
    text = "".join(
        "".join(f"Epoch: [{n}]  [{at:3d}/30]  eta: 0:49:12  loss: 0.5 (0.3)\n" for at in (0, 20))
        + "".join(f"Test: [{n}{between}{at:3d}/9]  eta: 0:00:02  f1: 0.6 (0.7)\n" for at in (0, 8))
        for n in range(3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["loss"] == [0, 20, 30, 50, 60, 80]
    assert steps["test/f1"] == [20, 21, 50, 51, 80, 81]


def test_a_heading_of_an_evaluation_may_be_behind_what_a_logger_prints(tmp_path: Path) -> None:
    text = "".join(f"[LINE:148] INFO     [2026-01-02 10:00:0{n},123]  Step 34{n}: Loss = 0.{n}\n" for n in N)
    text += "[LINE:32] INFO     [2026-01-02 10:00:09,123]  valid: metrics for gestures\n"
    text += "[LINE:33] INFO     [2026-01-02 10:00:09,123]  {'accuracy': 0.85, 'f1_score': 0.86}\n"
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "valid/accuracy", "valid/f1_score"}


def test_the_step_behind_results_is_theirs(tmp_path: Path) -> None:
    for prefix in ("INFO:tensorflow:  ", "INFO:tensorflow:", "03/05/2024 14:02:31 - INFO - __main__ -     "):
        text = "".join(
            f"INFO:tensorflow:loss = 2.{n}, step = {n}000 (12.345 sec)\n"
            f"INFO:tensorflow:***** Eval results *****\n{prefix}eval_accuracy = 0.7{n}\n"
            f"{prefix}eval_loss = 0.5{n}\n{prefix}global_step = {n}000\n"
            for n in range(1, 5)
        )
        steps = [1000, 2000, 3000, 4000]
        assert_steps(tmp_path, text, {name: steps for name in ("loss", "eval_accuracy", "eval_loss")})


def test_results_whose_like_were_below_headings_all_along_are_of_their_data_without_one(
    tmp_path: Path,
) -> None:
    text = "".join(
        f"Epoch {n}\nEpoch: [{n}][1/2] Loss 2.{n}\nEpoch: [{n}][2/2] Loss 1.{n}\n"
        + "Start to evaluate...\n" * (n < 4)
        + f"{{'ACC': 0.{n}, 'NMI': 0.3{n}}}\n"
        for n in range(1, 5)
    )
    values = {
        key.metric: points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()
    }
    assert values["evaluate/ACC"] == [0.1, 0.2, 0.3, 0.4]
    assert values["evaluate/NMI"] == [0.31, 0.32, 0.33, 0.34]
    assert "ACC" not in values


def test_a_training_with_fewer_columns_than_the_one_before_has_its_first_step(tmp_path: Path) -> None:
    first = "".join(
        f"[{n}]\tvalid_0-error:0.{90 - n // 5}\tvalid_1-error:0.{95 - n // 5}\n" for n in range(0, 200, 25)
    )
    second = "".join(f"[{n}]\tvalid_0-error:0.{80 - n // 5}\n" for n in range(0, 250, 25))
    run = read_log(tmp_path, f"{first}Rows are loaded\n{second}")
    assert run.attempts == 1
    assert {key.metric for key in run.data.series if not key.labels} == {"valid_0-error", "valid_1-error"}
    again = run.data.series[SeriesKey("valid_0-error", (("training", "2"),))]
    assert again.step.tolist() == [*range(0, 250, 25)]
