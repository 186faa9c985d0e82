"""Names with signs in brackets, words in the place of a step, and rows that their results stand above."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 6)
BATCHES = range(1, 7)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a hyphen and a number in brackets": (
        "".join(
            f"Epoch: {n}\nTraining Loss: 2.{n}\nTraining Accuracy (Top-1): 0.{n}1\n"
            f"Training Accuracy (Top-5): 0.{n}5\n"
            for n in N
        ),
        {name: [*N] for name in ("Training Loss", "Training Accuracy (Top-1)", "Training Accuracy (Top-5)")},
    ),
    "a condition, a norm and thresholds in brackets": (
        "".join(
            f"Epoch {n}/5 loss: 2.{n} Acc (k=5): 0.{n}2 Error (L2-norm): 0.{n}3 mAP (0.5:0.95): 0.{n}4\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "Acc (k=5)", "Error (L2-norm)", "mAP (0.5:0.95)")},
    ),
    "a word in the place of the first epoch": (
        "Epoch: init  loss: 2.31  acc: 0.09\n"
        + "".join(f"Epoch: {n}  loss: 1.{9 - n}  acc: 0.{n}\n" for n in N),
        {"loss": [0, *N], "acc": [0, *N]},
    ),
    "a word in brackets in the place of the first step": (
        "[Step initial] loss=2.31\n" + "".join(f"[Step {100 * n}] loss=1.{9 - n}\n" for n in N),
        {"loss": [0, *(100 * n for n in N)]},
    ),
    "a model at the end of each row": (
        "".join(
            f"Epoch {n}/5 | loss 1.{n}{len(name)} | acc 0.{n}{len(name)} | Model {name}\n"
            for n in N
            for name in ("unet", "segformer")
        ),
        {name: [*N] for name in ("loss", "acc", "loss/model=segformer", "acc/model=segformer")},
    ),
    "results above rows that have others of an evaluation": (
        "".join(
            f"Accuracy: 0.{n}\nPrecision: 0.{n}2 Recall: 0.{n}3\n"
            f"Epoch {n}, train loss 2.{n}, val loss 2.{n}5\n"
            for n in N
        ),
        {name: [*N] for name in ("Accuracy", "Precision", "Recall", "train loss", "val loss")},
    ),
    "batches above the heading that closes their epoch": (
        "".join(
            "".join(f"batch {b}: loss = 2.{n}{b}\n" for b in BATCHES) + f"======= Epoch {n} =======\n"
            for n in N
        ),
        {"loss": [*range(1, 31)]},
    ),
    "batches from 0 above the heading that closes their epoch": (
        "".join(
            "".join(f"batch {b}: loss = 2.{n}{b}\n" for b in range(6)) + f"======= Epoch {n} =======\n"
            for n in N
        ),
        {"loss": [*range(30)]},
    ),
    "records of a Trainer below the steps that the program counts": (
        "".join(
            f"Loss at step {10 * n}: 1.{n}\n"
            + (f"{{'loss': 1.{n}5, 'grad_norm': 0.{n}, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" * (n % 2))
            for n in N
        ),
        {
            "Loss": [10 * n for n in N],
            **{
                name: [10, 30, 50]
                for name in ("train/loss", "train/grad_norm", "train/learning_rate", "epoch")
            },
        },
    ),
    "headings of an epoch that name the data of the block below": (
        "".join(
            f"Epoch {n} - Train Metrics:\n  Loss: 2.{n}\n  Recall: 0.{n}\n"
            f"Epoch {n} - Validation Metrics:\n  Loss: 3.{n}\n  Recall: 0.{n}5\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "Recall", "validation/Loss", "validation/Recall")},
    ),
    "how long the training of an epoch took": (
        "".join(f"Epoch {n:02} loss 2.{n} | train 1.{n}s | Acc 9.{n}%\n" for n in N),
        {name: [*N] for name in ("loss", "train time", "Acc")},
    ),
    "numbers of a list in quotes": (
        "".join(
            f"[epoch: {n}]\ntrain_loss: 2.{n}\nrow hits: ['9{n}.2', '8{n}.5']\nIoU: ['7{n}', '6{n}', '50']\n"
            for n in N
        ),
        {name: [*N] for name in ("train_loss", "row hits", "row hits 2", "IoU", "IoU 2", "IoU 3")},
    ),
    "what is saved of the best epochs of two models": (
        "".join(
            f"Training {model}\n"
            + "".join(
                f"Epoch {n}/5 - Train Loss: 2.{n}\nSaved new best model with val_iou: 0.{n}{len(model)}\n"
                for n in N
            )
            for model in ("fcn16_plain", "fcn32_tuned_b")
        ),
        {
            name: [*N]
            for name in (
                "Train Loss",
                "Train Loss/model=fcn32_tuned_b",
                "best/val_iou",
                "best/val_iou/model=fcn32_tuned_b",
            )
        },
    ),
    "rows of horizons before their word, with a value for each of two data": (
        "".join(
            f"Epoch {n}: \n"
            + "".join(
                f"| {h:<2} Horizon | RMSE: {h}.{n}, {h}.{n}5; MAE: {h - 1}.{n}, {h - 1}.{n}5;\n"
                for h in (3, 12)
            )
            for n in N
        ),
        {f"{name}/horizon={h}": [*N] for name in ("RMSE", "RMSE 2", "MAE", "MAE 2") for h in (3, 12)},
    ),
    "the history of the training of each client, and its evaluation": (
        "".join(
            f"Round {n} Results\n"
            + "".join(
                f"client{c}:\nTraining History (Final Epoch):\n- accuracy: 0.{c}{n}\n- loss: 1.{c}{n}\n\n"
                f"Evaluation Metrics:\n- loss: 2.{c}{n}\n\n"
                for c in (1, 2)
            )
            for n in N
        ),
        {
            name: [*N]
            for name in (
                "accuracy",
                "loss",
                "evaluation/loss",
                "accuracy/client=2",
                "loss/client=2",
                "evaluation/loss/client=2",
            )
        },
    ),
    "tasks in turn with their classes, each of which ends as a step": (
        "".join(
            f"TRAINING TASK-{t}\tCLASSES: [1{t} 3{t} 5{t}]\n"
            + "".join(f"Epoch: {n}/5\tloss: 2.{t}{n}\tacc: 0.{t}{n}\n" for n in N)
            + f"FINISH STEP {t + 1}\nTEST ACC: 0.5{t}\n"
            for t in range(3)
        ),
        {
            name: steps
            for task in ("", "/task=1", "/task=2")
            for name, steps in ((f"loss{task}", [*N]), (f"acc{task}", [*N]), (f"TEST ACC{task}", [5]))
        },
    ),
    "shares of which one may also count sentences": (
        "".join(
            f"{4 * n} epoch\n训练集 acc: 1.0000 sen: 0.{n}234 auc: 0.8{n}21 loss: 0.{n}121\n"
            f"验证集 acc: 0.{n}364 sen: 0.{n}893 auc: 0.6{n}93 loss: 2.{n}811\n"
            for n in N
        ),
        {
            f"{data}{name}": [4 * n for n in N]
            for data, names in (
                ("", ("训练集 acc", "sen", "auc", "loss")),
                ("验证集 ", ("acc", "sen", "auc", "loss")),
            )
            for name in names
        },
    ),
    "results that examples of the Trainer print behind its records": (
        "".join(f"{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" for n in N)
        + "{'eval_loss': 0.71234, 'eval_f1': 0.61234, 'epoch': 0.5}\n"
        + "***** train metrics *****\n  epoch      =        0.5\n  train_loss =     1.3\n\n"
        + "***** eval metrics *****\n  epoch     =   0.5\n  eval_f1   = 0.6123\n  eval_loss = 0.7123\n\n"
        + "***** predict metrics *****\n  predict_f1      =   0.5812\n  predict_samples =   872\n",
        {
            **{name: [*N] for name in ("train/loss", "train/learning_rate", "epoch")},
            **{name: [5] for name in ("eval/loss", "eval/f1", "test/f1")},
        },
    ),
    "names in bold": (
        "".join(
            f"### Epoch {n}/5\n- **Time:** 1{n}\n- **Train Loss:** 0.{n}9\n- **Test Accuracy:** 9{n}.5%\n\n"
            for n in N
        ),
        {"Train Loss": [*N], "Test Accuracy": [*N]},
    ),
    "a mean and a deviation that are no more than that": (
        "".join(f"Epoch {n} | loss: 0.{n}1 | mean=0.{n}2, std=0.{n}3, relative MAE: 0.{n}4\n" for n in N),
        {name: [*N] for name in ("loss", "mean", "std", "relative MAE")},
    ),
    "evaluations that count themselves": (
        "".join(
            f"iter {n} loss 1.{n:03}\n" + (f"Step {n // 50}: test score {n}.5\n" if n % 50 == 49 else "")
            for n in range(400)
        ),
        {"loss": [*range(400)], "test score": [*range(49, 400, 50)]},
    ),
    "bars with other signs between their values": (
        "".join(
            f"Epoch {n}/5\n" + "".join(f"{b}/6 [{'=' * b}] loss: 2.{n}{b} acc: 0.{b}\n" for b in BATCHES)
            for n in N
        ),
        {"loss": [*range(5)], "acc": [*range(5)]},
    ),
}


def test_rows_of_folds_that_end_with_their_best_epoch(tmp_path: Path) -> None:
    text = "".join(
        f"fold {n}: train acc: 8{n}.5, valid acc: 7{n}.25, train loss: 0.{n}1, best epoch: {3 * n}\n"
        for n in N
    )
    steps = steps_of(read_log(tmp_path, text))
    assert [steps[name] for name in ("train acc", "valid acc", "train loss")] == [[*N]] * 3


@pytest.mark.parametrize("case", CASES)
def test_the_series_and_their_steps(case: str, tmp_path: Path) -> None:
    assert_steps(tmp_path, *CASES[case])
