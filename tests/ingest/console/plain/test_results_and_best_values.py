"""Results behind the training, best values, and what lines about checkpoints repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)
KERAS = "100/100 [==============================] - 2s 12ms/step - loss: 1.2 - val_loss: 1.3\n"


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "rows with a star on the best, and warnings between": (
        "".join(
            f"chunk {n} | +9,200 samples | val_loss 9.{n}e-06 | best 9.{n}e-06{' *' * (n % 2)} | lr 1e-0{n}\n"
            "lib.py:8: FutureWarning: a name\n  if not hasattr(np, 'object'):\n"
            for n in range(6)
        ),
        {"val_loss": [*range(6)], "best": [*range(6)], "lr": [*range(6)]},
    ),
    "a best value behind a rate": (
        "".join(f"Epoch {n} | acc: 0.{n} | lr: 0.01 | best: 0.9\n" for n in range(6)),
        {name: [*range(6)] for name in ("acc", "lr", "best/acc")},
    ),
    "a best value behind one in brackets": (
        "".join(f"Epoch {n} | Rew=1.{n} | H=3.{n}(c=0.{n}) | Best=2.{n}\n" for n in range(6)),
        {name: [*range(6)] for name in ("Rew", "H", "c", "Best")},
    ),
    "what a callback says of a checkpoint": (
        "".join(
            f"Epoch {n}, global step {n}00: 'val_wer' reached 0.5{n} (best 0.4{n}), saving model to "
            f"'/x/y-epoch={n}.ckpt' as top 5\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("Epoch", "val_wer", "best/val_wer")},
    ),
    "the history of all epochs behind them": (
        "".join(f"Epoch {n}/4\n{KERAS}" for n in N)
        + "{'loss': [1.2, 1.1, 1.0, 0.9], 'val_loss': [1.3, 1.2, 1.1, 1]}\n",
        {name: [0, 1, 2, 3] for name in ("loss", "val_loss")},
    ),
    "a score of two words behind the training": (
        "".join(f"Epoch {n}/4\n{KERAS}" for n in N)
        + "Predicting masks on test data...\nMean Dice Coeff :  0.0551\n",
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3], "test/Mean Dice Coeff": [3]},
    ),
    "an evaluation of Keras behind the training": (
        "".join(f"Epoch {n}/4\n{KERAS}" for n in N)
        + "84/84 [==============================] - 23s 27ms/step - loss: 41.9264\n",
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3], "eval/loss": [3]},
    ),
    "final losses behind steps": (
        "".join(f"step {n}00 loss: 0.{n}\n" for n in N)
        + "Loss for final step: 0.0625.\nFinal train loss = 0.07\n"
        + "Train R2 per site: [0.7, 0.2]\nTest R2 per site: [0.6, -0.1]\n",
        {
            "loss": [100, 200, 300, 400],
            **_at(
                [400],
                *("Loss for final step", "Final train loss", "Train R2 per site", "Train R2 per site 2"),
                *("Test R2 per site", "Test R2 per site 2"),
            ),
        },
    ),
    "a final loss behind a sentence, and one in past tense": (
        "".join(f"step {n}00 loss: 0.{n}\n" for n in N)
        + "Training complete. Final loss: 0.33\nFinal validation loss was 0.43\n",
        {"loss": [100, 200, 300, 400], **_at([400], "Final loss", "Final validation loss")},
    ),
    "how a result was measured, in brackets behind it": (
        "".join(f"Epoch {n // 2}, Step: {n}00, Loss: 0.{n}\n" for n in N)
        + "Best validation result (greedy) at step 200: 0.4 eval_metric.\n"
        + " dev chrf: 0.41 [Search with beam size = 3 and alpha = 1.5]\n"
        + "test BLEU: 27.5 (using 5.5 and k=2.5), WER: 8.5\n",
        {
            "Loss": [100, 200, 300, 400],
            "Epoch": [100, 200, 300, 400],
            "Best validation result": [200],
            **_at([400], "dev chrf", "test BLEU", "test WER"),
        },
    ),
    "horizons of a forecast": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "Horizon 01, MAE: 2.67, RMSE: 5.12\nHorizon 02, MAE: 2.97, RMSE: 5.92\n",
        {
            "loss": [*N],
            **{f"{name}/horizon={number}": [4] for number in (1, 2) for name in ("MAE", "RMSE")},
        },
    ),
    "a heading with the data of a result": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "Decoding on dev set...\nEvaluation result (beam search) bleu:  16.55\n"
        + "Decoding on test set...\nEvaluation result (beam search) bleu:  18.26\n",
        {"loss": [*N], "dev/bleu": [4], "test/bleu": [4]},
    ),
    "a metric with its tokenizer": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + " dev bleu[13a]:   9.21 [Beam search]\ntest bleu[13a]:  12.00 [Beam search]\n",
        {"loss": [*N], "dev bleu[13a]": [4], "test bleu[13a]": [4]},
    ),
    "what a metric is of, behind the training": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "Accuracy of the network on the test images: 97.45%\nAccuracy of   car : 71 %\n",
        {"loss": [*N], "Accuracy of the network on the test images": [4], "Accuracy of car": [4]},
    ),
    "where the best value was reached": (
        "".join(
            f"[Epoch {n}]\tLearning rate: 1e-4\n[1600/16000]\t[L1: 12.{n}]\t1.2+0.3s\n"
            "[16000/16000]\t[L1: 12.1]\t1.2+0.3s\n\n"
            "Evaluation:\n[DIV2K x2]\tPSNR: 34.1 (Best: 34.2 @epoch 1)\n"
            for n in N
        ),
        {
            "Learning rate": [1, 16000, 32000, 48000],
            "L1": [1600, 16000, 17600, 32000, 33600, 48000, 49600, 64000],
            "evaluation/PSNR": [16000, 32000, 48000, 64000],
            "evaluation/best/PSNR": [16000, 32000, 48000, 64000],
        },
    ),
    "what was saved announces no epoch": (
        "".join(
            f"Epoch {n} completed | Time: 18.7s | Avg Loss: 5.6\n"
            + (f"Validation | EPE: 10.{n}\n" if n % 2 else f"Checkpoint saved at epoch {n}\n")
            for n in range(1, 8)
        ),
        {"Time": [*range(1, 8)], "Avg Loss": [*range(1, 8)], "validation/EPE": [1, 3, 5, 7]},
    ),
    "nor does what is saved of it before its own line": (
        "".join(
            f"Epoch {n} saved as model_{n}.pt\n" * (n % 3 == 0)
            + f"Epoch [{n}/7] loss={n}.5 acc=0.8{n}\n"
            + f"Best model saved! Score=0.9{n}\n" * (n > 3)
            for n in range(1, 8)
        ),
        {"loss": [*range(1, 8)], "acc": [*range(1, 8)], "best/Score": [4, 5, 6, 7]},
    ),
    "the best value beside its own epoch": (
        "".join(
            f"Training epoch: {n}\n\tMean training loss: 4.{n}.\nEval epoch: {n}\n"
            f"Accuracy:  0.03{n} Best 0.039 ep 0  model:  runs/2102\n"
            f"\tMean test loss of 63 batches: 4.{n}\n\tTop1: 3.7{n}%\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("Mean training loss", "eval/Accuracy", "eval/best/Accuracy", "test/Mean test loss"),
                "eval/Top1",
            )
        },
    ),
    "the step of a checkpoint": (
        "".join(
            f"saved checkpoint best.pt (epoch {n} @ {n}00 updates, score 2.{n}) (writing took 1.2 seconds)\n"
            for n in N
        ),
        {"epoch": [100, 200, 300, 400], "score": [100, 200, 300, 400]},
    ),
    "words before a name": (
        "".join(f"Saved a checkpoint in epoch {n} with mean score: 0.00{n}\n" for n in N),
        {"mean score": [1, 2, 3, 4]},
    ),
    "results behind the training": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in N)
        + "12:00:00 - Error u: 1.2e+00\n12:00:00 - Error v: 1.3\n",
        {"loss": [1, 2, 3, 4], "Error u": [4], "Error v": [4]},
    ),
    "the epoch of a checkpoint that was loaded": (
        "".join(f"epoch: {n} - train loss: 0.{n} - valid loss: 0.5, valid PER: 11.5\n" for n in N)
        + "Epoch loaded: 3 - test loss: 4.13e-01, test PER: 11.59\n",
        {
            **{name: [1, 2, 3, 4] for name in ("train loss", "valid loss", "valid PER")},
            "test loss": [4],
            "test PER": [4],
        },
    ),
    "the best model": (
        "".join(f"Epoch {n}, loss: 0.{n}\nSaved new best model with accuracy: 7.2{n}%\n" for n in N),
        {"loss": [1, 2, 3, 4], "best/accuracy": [1, 2, 3, 4]},
    ),
    "the best of evaluations alone": (
        "".join(f"Epoch {n} : dev done \t LM_Loss = 26300.{n}\tAUC = 0.63{n}\n" for n in N)
        + "BEST_SCORE : epoch: 2\tAUC = 0.632\n",
        {"dev/LM_Loss": [*N], "dev/AUC": [*N], "best/AUC": [2]},
    ),
    "a report on a classification": (
        "".join(f"epoch {n}: loss 0.5\n" for n in range(1, 4))
        + "2026-01-01 10:00:00 - INFO - Classification Report:\n"
        "              precision    recall  f1-score   support\n\n"
        "        bike       0.53      0.52      0.53        63\n"
        "     the bus       0.86      0.88      0.87       288\n\n"
        "    accuracy                           0.89      1158\n"
        "   macro avg       0.84      0.75      0.78      1158\n",
        {
            "loss": [1, 2, 3],
            "eval/accuracy": [3],
            **{
                f"eval/{name}/{metric}": [3]
                for name in ("bike", "the bus", "macro avg")
                for metric in ("precision", "recall", "f1")
            },
        },
    ),
    "the history behind the rounds of a federated training": (
        "".join(
            f"INFO :      \nINFO :      [ROUND {n}]\nINFO :      received {n} results\n" for n in (1, 2, 3)
        )
        + "INFO :      [SUMMARY]\nINFO :      \tHistory (loss, distributed):\n"
        + "".join(f"INFO :      \t\tround {n}: 0.{n}5\n" for n in (1, 2, 3))
        + "INFO :      \tHistory (metrics, distributed, evaluate):\n"
        + "INFO :      \t{'accuracy': [(1, 0.25),\n"
        + "INFO :      \t              (2, 0.5),\nINFO :      \t              (3, 0.75)]}\n",
        _at([1, 2, 3], "distributed/loss", "distributed/evaluate/accuracy"),
    ),
    "what is saved of the best epochs of two models": (
        "".join(
            f"Training {model}\n"
            + "".join(
                f"Epoch {n}/5 - Train Loss: 2.{n}\nSaved new best model with val_iou: 0.{n}{len(model)}\n"
                for n in range(1, 6)
            )
            for model in ("fcn16_plain", "fcn32_tuned_b")
        ),
        {
            name: [*range(1, 6)]
            for name in (
                "Train Loss",
                "Train Loss/model=fcn32_tuned_b",
                "best/val_iou",
                "best/val_iou/model=fcn32_tuned_b",
            )
        },
    ),
    "results between signs are no settings": (
        "".join(f"Epoch {n} loss 0.{n}\n=== lr=0.1 acc=0.{n} ===\n" for n in range(1, 4)),
        {name: [*range(1, 4)] for name in ("loss", "lr", "acc")},
    ),
    "the best epoch in other words": (
        "epoch  train_loss  val_acc\n"
        + "".join(f"{n:5}  {1 / (n + 1):9.3f}  {50 + n}.25%\n" for n in range(1, 9))
        + "4 轮未提升，提前停止。最佳 epoch 5，val_acc 55.25%\n",
        {"train_loss": [*range(1, 9)], "val_acc": [*range(1, 9)], "best/val_acc": [5]},
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
    "best values below each epoch, more of them than lines that are read one by one": (
        "".join(
            f"Epoch: {n}, Batch(0/40). Loss: {90 - n}.5\nEpoch: {n}, Batch(20/40). Loss: {90 - n}.2\n"
            f"[ Tue May  6 10:{n + 10}:00 2025 ] Top_dev: {n}.2, {n}.5, Top_test: {n}.7, {n}.1,Epoch : {n}\n"
            for n in range(30)
        ),
        {
            **{name: [*range(0, 1200, 20)] for name in ("Loss", "Epoch")},
            **{name: [*range(39, 1200, 40)] for name in ("Top_dev", "Top_dev 2", "Top_test", "Top_test 2")},
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_at_the_steps_of_their_training(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_guessed_rows_may_have_results_below_them(tmp_path: Path) -> None:
    rows = "".join(f"INFO: progress: 0.0{n}  loss: 3.{n} (4.1)\n" for n in N)
    steps = steps_of(read_log(tmp_path, rows + "**** Final test accuracy: 65.57. ****\n"))
    assert steps == {"progress": [0, 1, 2, 3], "loss": [0, 1, 2, 3], "Final test accuracy": [3]}


_BLOCKS = "".join(f"Step {n} of 40:\nTrain loss: 1.{n:02}\nTest loss: 2.{n:02}\n" for n in range(0, 40, 5))


_RESULTS = "Train loss: 0.5\nTest loss: 0.6\n"


@pytest.mark.parametrize("heading", ["Final", "Epoch: 0", "=====", "Results of the best model"])
def test_results_behind_the_last_step_do_not_replace_its_values(heading: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, f"{_BLOCKS}{heading}\n{_RESULTS}")
    assert run.attempts == 1
    assert steps_of(run) == {name: [*range(0, 40, 5), 36] for name in ("Train loss", "Test loss")}
    values = {key.metric: series.value.tolist()[-2:] for key, series in run.data.series.items()}
    assert values == {"Train loss": [1.35, 0.5], "Test loss": [2.35, 0.6]}


def test_values_below_the_same_step_again_are_of_this_step(tmp_path: Path) -> None:
    again = "".join(f"Step {n} of 40:\nTrain loss: 1.{n}\n" for n in (10, 15, 20, 20, 25, 30))
    [series] = read_log(tmp_path, again).data.series.values()
    assert {*series.step.tolist()} == {10, 15, 20, 25, 30}


@pytest.mark.parametrize(
    "line",
    [
        "Best Performance in Epoch 2: auc: 0.7{0}, acc: 0.5",
        "Best so far (epoch 2): auc: 0.7{0}, acc: 0.5",
        "INFO best model at epoch 2 | auc: 0.7{0} | acc: 0.5",
    ],
)
def test_the_best_step_is_repeated_at_its_place_and_begins_no_launch(tmp_path: Path, line: str) -> None:
    text = "".join(f"Epoch {n}/9: auc: 0.{n}\n" for n in range(1, 4))
    run = read_log(tmp_path, text + line.format(2) + "\nEpoch 4/9: auc: 0.4\n")
    assert run.attempts == 1
    assert steps_of(run) == {"auc": [1, 2, 3, 4], "best/auc": [2], "best/acc": [2]}


def test_metrics_of_the_best_model_are_no_points_of_the_training(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/60\nTrain SDR: 8.{n}\n" for n in range(1, 4))
    text += "===== Best-Model Metrics (validation set) =====\nSDR   : 15.9 dB\nPESQ  : 2.3\n"
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"Train SDR": [*range(1, 4)], "validation/best/SDR": [3], "validation/best/PESQ": [3]}


def test_the_best_value_that_a_line_of_a_checkpoint_repeats_is_none_of_the_last_epoch(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}/5\nVal Loss = 1.{n}, Val Acc = 0.3{n}\n" for n in range(1, 6))
    steps = steps_of(read_log(tmp_path, epochs + "Loaded best model with val loss: 1.1\n"))
    assert steps == {"Val Loss": [*range(1, 6)], "Val Acc": [*range(1, 6)], "best/val loss": [5]}


def test_a_line_of_several_values_is_no_result(tmp_path: Path) -> None:
    text = "".join(
        f"INFO:tensorflow:loss = 2.{n}, step = {n}00\nINFO:tensorflow:cls_loss = 1.{n}, norm = 10.{n}\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    assert {name: steps_of(run)[name] for name in ("loss", "cls_loss")} == {
        name: [100, 200, 300, 400] for name in ("loss", "cls_loss")
    }


@pytest.mark.parametrize("sign", [" = ", ": ", "= "])
def test_a_result_of_several_words_is_read_with_any_sign(sign: str, tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n} train loss=0.{n} valid acc=0.7\n" for n in range(1, 6))
    steps = steps_of(read_log(tmp_path, f"{epochs}test acc on kept model{sign}0.62\n"))
    assert steps["test acc on kept model"] == [5]


@pytest.mark.parametrize(
    "heading", ["Final Test Set Result: ", "Final evaluation: ", "Training is over. Final | "]
)
@pytest.mark.parametrize("prefix", ["", "2026-03-04 05:06:07,890 - "])
def test_a_final_result_with_the_names_of_the_epochs_is_a_series_of_its_own(
    heading: str, prefix: str, tmp_path: Path
) -> None:
    epochs = "".join(
        f"{prefix}Epoch {n} [6.3s]: loss=0.9{n}, test-recall=[0.1{n}, 0.15{n}]\n" for n in range(4)
    )
    run = read_log(tmp_path, f"{epochs}{prefix}{heading}test-recall=[0.12, 0.152]\n")
    assert steps_of(run) == {
        **{name: [0, 1, 2, 3] for name in ("loss", "test-recall", "test-recall 2")},
        **{f"final/{name}": [3] for name in ("test-recall", "test-recall 2")},
    }
