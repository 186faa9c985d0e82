"""Lines of programs that nobody here has seen: names, dictionaries, headings, settings, epochs, launches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a line of the training below the heading of an evaluation": (
        "".join(
            f"Train: [ {n}/4] Step {step:03}/100 Loss 0.5\n" for n in N for step in (50, 100)
        ).replace("Step 100/100 Loss 0.5\n", "Step 100/100 Loss 0.5\nValid Scores By Category: \n"),
        {"Loss": [50, 100, 150, 200, 250, 300, 350, 400]},
    ),
    "an epoch with its total behind batches with theirs": (
        "".join(
            f"Train: [ {n}/4] Step 100/100 Loss 0.5\nTrain: [ {n}/4] Final Loss 0.4\n"
            f"Valid: [ {n}/4] Final Accuracy 0.3\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("Loss", "Final Loss", "valid/Final Accuracy")},
    ),
    "rows by category": (
        "".join(
            f"Epoch {n}, loss: 0.5\nCategory: person Accuracy 0.2 F1 0.{n}\n"
            "Category: street Accuracy 0.3 F1 0.4\n"
            for n in N
        ),
        {
            "loss": [1, 2, 3, 4],
            **{
                f"{name}/category={of}": [1, 2, 3, 4]
                for name in ("Accuracy", "F1")
                for of in ("person", "street")
            },
        },
    ),
    "names in brackets before the numbers": (
        "".join(f"INFO - Epoch {n}0    [Avg. Loss, Loss]: [10.4{n}, 7.1], 0\n" for n in N),
        {"Avg. Loss": [10, 20, 30, 40], "Loss": [10, 20, 30, 40]},
    ),
    "a dictionary of dictionaries": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in N)
        + "INFO - {'daily': {'MASE': 3.12, 'SMAPE': 2.93}, 'hourly': {'MASE': 4.1, 'SMAPE': 1.5}}\n",
        {
            "loss": [1, 2, 3, 4],
            **{f"{of}/{name}": [4] for of in ("daily", "hourly") for name in ("MASE", "SMAPE")},
        },
    ),
    "an ordered dictionary": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in N)
        + "INFO: OrderedDict([('bbox', OrderedDict([('AP', 0.43), ('AP50', 0.7)])), "
        "('segm', OrderedDict([('AP', 0.4)]))])\n",
        {"loss": [1, 2, 3, 4], "bbox/AP": [4], "bbox/AP50": [4], "segm/AP": [4]},
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
    "the epoch in brackets behind the name": (
        "".join(f"Training Loss (epoch {n}): 0.{n}\n" for n in N),
        {"Training Loss": [1, 2, 3, 4]},
    ),
    "a batch before a bar": (
        "".join(f"Epoch: {n}/4 | lr: 2e-4\n[0050/0100]| Loss pose:9.6{n} force:1.0\n" for n in N),
        {"lr": [1, 50, 150, 250], "Loss pose": [50, 150, 250, 350], "force": [50, 150, 250, 350]},
    ),
    "rounds between dashes": (
        "".join(f"---Round number: {n}---\nAveraged Train Loss: 0.{n}\nAveraged Train AUC: 0.5\n" for n in N),
        {"Averaged Train Loss": [1, 2, 3, 4], "Averaged Train AUC": [1, 2, 3, 4]},
    ),
    "names with an index": (
        "".join(f"Epoch{n} [50/100] Stage 0 = 39.1{n}(39.1)\tStage 1 = 38.8(38.9)\n" for n in N),
        {"Epoch": [50, 150, 250, 350], "Stage 0": [50, 150, 250, 350], "Stage 1": [50, 150, 250, 350]},
    ),
    "epochs of which other batches are printed last": (
        "".join(f"(epoch: {n}, iters: {1000 - 50 * n}, time: 0.2) G_GAN: 0.8 D: 0.{n}\n" for n in N),
        {name: [950, 1850, 2750, 3650] for name in ("epoch", "time", "G_GAN", "D")},
    ),
    "per cent next to a known metric": (
        "".join(f"Epoch {n}, loss: 0.5\nDev WER: 62.{n}%   Dev del 48.78%  Dev ins 00.60%\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("loss", "Dev WER", "Dev del", "Dev ins")},
    ),
    "results behind the training": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in N)
        + "12:00:00 - Error u: 1.2e+00\n12:00:00 - Error v: 1.3\n",
        {"loss": [1, 2, 3, 4], "Error u": [4], "Error v": [4]},
    ),
    "a share and what it is of": (
        "".join(f"[Seq 1, Epoch {n}] val accuracy: 0.7{n} (323 / 423), avg loss: 0.13 .\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("Seq", "val accuracy", "val avg loss")},
    ),
    "an epoch of a stage with a total": (
        "".join(f"INFO:  Fully_supervised-Train Epoch: [{n}/15], lr: 0.001, Loss: 1.5{n}\n" for n in N),
        {"lr": [1, 2, 3, 4], "Loss": [1, 2, 3, 4]},
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
    "data behind the words of a logger": (
        "".join(
            f"INFO - main.py - train - 99 - [train] epoch:0 {n}/9 loss:2.5\n"
            f"INFO - main.py - train - 105 - [eval] loss:0.3 f1_score=0.{n}\n"
            for n in N
        ),
        {name: [1, 2, 3, 4] for name in ("epoch", "loss", "eval/loss", "eval/f1_score")},
    ),
    "batches from 0 without a total": (
        "".join(
            "".join(f"Train Batch {batch:04} || Loss: 0.4{batch}\n" for batch in range(3))
            + f"Epoch {n:03} || Loss: 0.5 | Test Dice: 0.{n}\n"
            for n in N
        ),
        {"Loss": [*range(12)], "epoch/Loss": [2, 5, 8, 11], "Test Dice": [2, 5, 8, 11]},
    ),
    "batches of the training by the name of the data": (
        "".join(f"epoch {n}, train {batch}/20, loss=36.{batch}\n" for n in N for batch in (10, 20)),
        {"epoch": [10, 20, 30, 40, 50, 60, 70, 80], "loss": [10, 20, 30, 40, 50, 60, 70, 80]},
    ),
    "bars of which the last state is left": (
        "".join(
            f"Epoch: {n}\n [==== 391/391 ====>]  Step: 1s194ms | Tot: 4s8ms | Loss: 2.7 | Acc: 15.3% (7/50)\n"
            f" [==== 100/100 ====>]  Step: 34ms | Tot: 3s829ms | Loss: 1.9{n} | Acc: 26.1% (2/10)\nSaving..\n"
            for n in N
        ),
        {name: [391, 782, 1173, 1564] for name in ("Loss", "Acc", "eval/Loss", "eval/Acc")},
    ),
    "updates of all epochs next to batches": (
        "".join(
            f"Epoch[{n}] Batch [20]\tSpeed: 69.2 samples/sec\tTrain-Acc=0.5\n"
            f"Update[{40 * n + 30}]: Change learning rate to 9.0e-04\n"
            f"Epoch[{n}] Batch [40]\tSpeed: 69.2 samples/sec\tTrain-Acc=0.{n}\n"
            for n in range(4)
        ),
        {
            **{name: [20, 40, 60, 80, 100, 120, 140, 160] for name in ("Epoch", "Speed", "Train-Acc")},
            "Change learning rate": [30, 70, 110, 150],
        },
    ),
    "the best model": (
        "".join(f"Epoch {n}, loss: 0.{n}\nSaved new best model with accuracy: 7.2{n}%\n" for n in N),
        {"loss": [1, 2, 3, 4], "best/accuracy": [1, 2, 3, 4]},
    ),
    "tables without outer bars": (
        "".join(f"{'-' * 40}\n  timestep     |  {n}00\n  reward       |  0.{n}\n{'-' * 40}\n" for n in N),
        {"reward": [100, 200, 300, 400]},
    ),
    "a table of groups": (
        "            |----- VALID -----|----- TRAIN -----|----------|\n"
        "lr   epoch  | loss   top-1    | loss   top-1    | time     |\n"
        + "".join(f"0.1   {n}.0  | 0.5{n}   80.3   | 0.65   66.6    | 0 hr 0{n} min\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("lr", "valid/loss", "valid/top-1", "train/loss", "train/top-1")},
    ),
    "a position above its metrics": (
        "".join(
            f"[TRAIN] Epoch 000 | batch 00{n}0/95 (0.1%) | 0.5s/batch\n[TRAIN] mean loss: 25.{n}\n" for n in N
        ),
        {"mean loss": [10, 20, 30, 40]},
    ),
    "dictionaries over several lines": (
        "".join(
            f'Epoch {n}, loss: 0.5\nTest Metrics:\n{{\n    "Ulcer": {{\n        "precision": 0.77{n},\n'
            '        "specificity": 0.97\n    },\n    "Polyp": {\n        "precision": 0.8\n    },\n'
            '    "accuracy": 0.7\n}\n'
            for n in N
        ),
        {
            "loss": [1, 2, 3, 4],
            **{
                f"test/{name}": [1, 2, 3, 4]
                for name in ("Ulcer/precision", "Ulcer/specificity", "Polyp/precision", "accuracy")
            },
        },
    ),
    "Polish": (
        "".join(f"Epoka {n} | Krok {krok}/100 | Strata: 0.6{n}\n" for n in N for krok in (50, 100)),
        {"Epoka": [50, 100, 150, 200, 250, 300, 350, 400], "Strata": [50, 100, 150, 200, 250, 300, 350, 400]},
    ),
    "a word before what is counted": (
        "".join(f"Optimization Iteration:  {n}01, Training Accuracy:  15.{n}%\n" for n in N),
        {"Training Accuracy": [101, 201, 301, 401]},
    ),
    "batches of a range": (
        "".join(
            f"INFO:root:Epoch[{n}] Batch [{batch}-{batch + 20}]\tSpeed: 23.1 samples/sec\tacc=0.{batch + 1}\n"
            for n in range(2)
            for batch in (0, 20, 40)
        ),
        {name: [20, 40, 60, 80, 100, 120] for name in ("Epoch", "Speed", "acc")},
    ),
    "parts of a loss in brackets": (
        "".join(f"[FT] Ep 00{n} | Loss 1.6{n} (R:116.3 M:0.80) | AUC 0.6\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("Loss", "R", "M", "AUC")},
    ),
    "a log that begins in a later epoch": (
        "".join(f"Epoch: [{n}]  [{batch:2}/48]  loss: 0.3{n} (0.4)\n" for n in (2, 3) for batch in (0, 47)),
        {name: [96, 143, 144, 191] for name in ("Epoch", "loss")},
    ),
    "a command line": (
        "INFO:train.py --gpus 1,2 --batch_size 16 --load_epoch 26 --lr 0.001 --prefix test\n"
        + "".join(f"Epoch {n}: loss 0.{n}\n" for n in N),
        {"loss": [1, 2, 3, 4]},
    ),
    "rows of cells below their record": (
        "".join(
            f"  iter  {n}0 | frames  1310 | actor_loss  -0.00{n} | critic_loss  0.1\n"
            f"        episodes   57 | mean_ep_rew  70{n}.6 | mean_ep_len  191.{n} | collision 0.000\n"
            f"  [Eval] mean_reward=172{n}.3 | episodes=570\n"
            for n in N
        ),
        {
            name: [10, 20, 30, 40]
            for name in (
                *("frames", "actor_loss", "critic_loss", "mean_ep_rew", "mean_ep_len", "collision"),
                "eval/mean_reward",
            )
        },
    ),
    "stages with epochs of one letter": (
        "".join(f"Head E{n}/4: train_loss=405.{n} val_MSE=39.1\n" for n in N),
        {"train_loss": [1, 2, 3, 4], "val_MSE": [1, 2, 3, 4]},
    ),
    "short names of metrics behind others": (
        "".join(f"  [epoch {n}.00] eval_wer=8.6{n}%  eval_cer=2.9{n}%  (n=12033)\n" for n in N),
        {name: [1, 2, 3, 4] for name in ("eval_wer", "eval_cer", "n")},
    ),
    "generations of neat": (
        "".join(
            f"\n ****** Running generation {n} ****** \n\nPopulation's average fitness: 5.3{n} stdev: 5.2\n"
            f"Best fitness: 2{n}.0 - size: (1, 3) - species 1 - id 2\n"
            "   ID   age  size  fitness  adj fit  stag\n  ====  ===  ====  =======  =======  ====\n"
            f"     1    {n}    10     20.0    0.174     0\n"
            for n in N
        ),
        {name: [*N] for name in ("Population's average fitness", "stdev", "Best fitness")},
    ),
    "a generation and its fitness in a line": (
        "".join(f"Generation {n}: best fitness = 1.{n}, mean fitness = 0.{n}\n" for n in N),
        {name: [*N] for name in ("best fitness", "mean fitness")},
    ),
    "the time that the generation of texts took": (
        "".join(f"step {n}00, loss: 0.5\n" for n in N)
        + "Decoding on dev set...\nEvaluation result (beam) bleu: 1.5, generation: 9.7[sec]\n"
        + "Decoding on test set...\nEvaluation result (beam) bleu: 1.4, generation: 9.5[sec]\n",
        {"loss": [100, 200, 300, 400]}
        | {name: [400] for name in ("dev/bleu", "dev/generation", "test/bleu", "test/generation")},
    ),
    "the short form of an epoch with its number": (
        "".join(f"Load file: None, EP{n}, avg_loss=0.001{n}\n" for n in N),
        {"avg_loss": [*N]},
    ),
    "the best of evaluations alone": (
        "".join(f"Epoch {n} : dev done \t LM_Loss = 26300.{n}\tAUC = 0.63{n}\n" for n in N)
        + "BEST_SCORE : epoch: 2\tAUC = 0.632\n",
        {"dev/LM_Loss": [*N], "dev/AUC": [*N], "best/AUC": [2]},
    ),
    "tensors of TensorFlow": (
        "".join(f"Epoch {n}, loss: tf.Tensor({n}.07, shape=(), dtype=float32)\n" for n in N),
        {"loss": [*N]},
    ),
    "the step of an evaluation above its results": (
        "".join(
            f"Starting epoch {n}...\nEvaluating at updates {n}512...\nDev F1: 15.{n}, EM: 13.{n}\n" for n in N
        ),
        {name: [1512, 2512, 3512, 4512] for name in ("Dev F1", "Dev EM")},
    ),
    "a word before the first name": (
        "".join(f"EPOCH[{n}/50] metrics PSNR=7.8{n}\tSSIM=0.16{n}\n" for n in N),
        {name: [*N] for name in ("PSNR", "SSIM")},
    ),
    "lines below evaluations alone": (
        "".join(
            f"Epoch 000{n} [Test seq (all)] | Loss 42.{n} | NFE 26.0\nKL coef: 0.0\n"
            f"Train loss (one batch): 38.95{n}\nTest MSE: 0.006{n}\n"
            for n in N
        ),
        {
            name: [*N]
            for name in ("test/Loss", "test/NFE", "Train loss (one batch)", "Test MSE")
        },
    ),
    "metrics of several models in a line": (
        "".join(
            f"==> valid iteration {n}00: unet metrics: {{'dc': 0.35{n}}}, ynet metrics: {{'dc': 0.34{n}}}\n"
            f"iteration {n}00 | teacher loss 0.1, acc 0.2 | student loss 0.3, acc 0.4 | ema loss 2, acc 1\n"
            for n in N
        ),
        {
            name: [100, 200, 300, 400]
            for name in ("valid/unet/dc", "valid/ynet/dc", "teacher loss", "teacher/acc", "student loss",
                         "student/acc", "ema loss", "ema/acc")
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


YAML = """\
  DATASETS:
    TEST: ("city_val",)
  SOLVER:
    BASE_LR: 0.004
    GAMMA: 0.1
  TEST:
    SCORE_THRESH: 0.05
    NMS_TH: 0.5
"""


def test_nested_settings_are_neither_results_nor_headings_of_an_evaluation(tmp_path: Path) -> None:
    launch = YAML + "Start training\n" + "".join(f"eta: 1:00:00  iter: {n}0  loss: 0.{n}\n" for n in N)
    run = read_log(tmp_path, launch + launch)
    assert {*steps_of(run)} == {"loss"}
    assert run.attempts == 2


def test_blocks_of_launches_appended_to_one_another_are_not_torn(tmp_path: Path) -> None:
    def block(epoch: int) -> str:
        losses = f"train loss: 29.{epoch}\nvalid loss: 28.1\nbest val: 28.{epoch}\n"
        return f"epoch: {epoch}\n{losses}time spent: 1{epoch}.5\n"

    epochs = [*range(1, 9), 1, *range(1, 4), 1, 2, *range(1, 10)]
    run = read_log(tmp_path, "".join(map(block, epochs)))
    starts = {name: series.attempt.tolist() for (name, _), series in run.data.series.items()}
    assert starts["train loss"] == starts["valid loss"] == starts["best val"]
    assert run.attempts == 5, "one of them ended after an epoch"


def test_settings_with_a_rate_among_them_show_the_next_launch(tmp_path: Path) -> None:
    settings = ("datapath:data/train", "epoch:20", "gamma:0.7", "loss_weights:[1.0, 2.0]", "lr:0.01")
    opening = "".join(f"[main.py:48] INFO {setting}\n" for setting in (*settings, "save_path:results"))
    opening += "[main.py:57] INFO Number of model parameters: 61610\n"
    records = "".join(f"[main.py:110] INFO Epoch: {n}/20   Training Loss: 0.{n}\n" for n in N)
    run = read_log(tmp_path, 2 * (opening + records))
    assert steps_of(run)["Training Loss"] == 2 * [*N]
    assert run.attempts == 2


def test_rows_that_wait_are_not_those_of_the_next_launch(tmp_path: Path) -> None:
    interrupted = "Epoch 5/50\n" + "Details - Var: 0.1, Dist: 0.2\n" * 2
    launch = "".join(f"Epoch {n}/50\nTraining loss: 0.{n}\nDetails - Var: 0.{n}, Dist: 0.2\n" for n in N)
    steps = steps_of(read_log(tmp_path, f"Epoch 4/50\nTraining loss: 0.5\n{interrupted}{launch}"))
    assert steps["Var"] == [*N]


@pytest.mark.parametrize("hole", [100, 100_000])
def test_a_log_that_was_emptied_while_a_program_wrote_to_it_is_read(tmp_path: Path, hole: int) -> None:
    before = "".join(f"step: {n}, loss: 0.{n}\n" for n in N)
    after = "".join(f"step: {n}, loss: 0.5\n" for n in range(5, 9))
    assert steps_of(read_log(tmp_path, b"\0" * hole + before.encode())) == {"loss": [*N]}
    run = read_log(tmp_path, before.encode() + b"\0" * hole + after.encode())
    assert steps_of(run) == {"loss": [*range(1, 9)]}


def test_a_few_zeros_between_the_lines_of_two_programs_make_no_binary_file(tmp_path: Path) -> None:
    lines = "".join(f"saved model_{n}.pt\n\0\0\0step: {n}, loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, lines)) == {"loss": [*N]}


def test_each_start_of_the_training_is_a_launch_even_if_it_ends_after_a_record(tmp_path: Path) -> None:
    launch = "INFO:root:Start Training for Task: collar\n[Epoch 0] loss: 0.5\n"
    run = read_log(tmp_path, 3 * launch + "[Epoch 1] loss: 0.4\n")
    assert (steps_of(run), run.attempts) == ({"loss": [0, 0, 0, 1]}, 3)


def test_columns_that_count_again_are_of_another_launch(tmp_path: Path) -> None:
    columns = ["".join(f"{n},{size / n}\n" for n in N) for size in (10.5, 12.5)]
    run = read_log(tmp_path, "".join(columns), "train_loss.txt")
    assert (steps_of(run), run.attempts) == ({"train_loss": 2 * [*N]}, 2)


def test_a_table_with_semicolons_has_its_names(tmp_path: Path) -> None:
    table = "episode;steps;reward\n" + "".join(f"{n};7{n};-1.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, table)) == {"steps": [*N], "reward": [*N]}


def test_guessed_rows_may_have_results_below_them(tmp_path: Path) -> None:
    rows = "".join(f"INFO: progress: 0.0{n}  loss: 3.{n} (4.1)\n" for n in N)
    steps = steps_of(read_log(tmp_path, rows + "**** Final test accuracy: 65.57. ****\n"))
    assert steps == {"progress": [0, 1, 2, 3], "loss": [0, 1, 2, 3], "Final test accuracy": [3]}


def test_a_heading_names_the_training_of_epochs_below_it(tmp_path: Path) -> None:
    def training(name: str) -> str:
        return f"Training {name}...\n" + "".join(f"Epoch: {n}\nLoss: 0.{n}\nAcc: 44.5%\n" for n in N)

    run = read_log(tmp_path, "Reading the embedding\n" + training("RNN") + training("CNN"))
    assert run.attempts == 1
    assert {name for name in steps_of(run) if re.match("Loss", name)} == {"Loss", "Loss/model=CNN"}


def test_reports_on_classes_are_named_after_their_data(tmp_path: Path) -> None:
    report = (
        "         precision    recall  f1-score   support\n\n   0      1.000     0.143     0.250        14\n"
    )
    text = "".join(f"Epoch {n}, loss: 0.{n}\n" for n in N)
    text += f"INFO - Running validation evaluation...\n{report}INFO - Running test evaluation...\n{report}"
    names = {*steps_of(read_log(tmp_path, text))}
    assert names == {
        "loss",
        *(f"{of}/0/{name}" for of in ("validation", "test") for name in ("precision", "recall", "f1")),
    }


def test_a_report_behind_a_line_of_the_opening_begins_no_launch(tmp_path: Path) -> None:
    opening = "INFO - utils.py - load_model_and_parallel - 108 - Use single gpu in: ['0']\n"
    report = (
        "         precision    recall  f1-score   support\n\nplant      0.90     0.14     0.25        14\n"
    )
    text = opening + "".join(f"epoch:0 {n}/4 loss:2.{n}\n" for n in N) + opening + report
    assert read_log(tmp_path, text + text).attempts == 2


def test_a_first_column_that_counts_evenly_is_the_step(tmp_path: Path) -> None:
    table = "Frame,Reward,Loss\n" + "".join(f"{n}000,20{n}.5,0.1\n" for n in N)
    assert steps_of(read_log(tmp_path, table)) == {
        name: [1000, 2000, 3000, 4000] for name in ("Reward", "Loss")
    }


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


def test_a_table_with_an_epoch_and_a_batch_goes_on_through_the_epochs(tmp_path: Path) -> None:
    rows = [f"{epoch},{batch},0.6{batch},0.5\n" for epoch in (1, 2) for batch in N]
    rows.insert(4, "Epoch 1 Summary,train_loss=0.72,val_loss=1.86\n")
    steps = steps_of(read_log(tmp_path, "epoch,batch,loss,accuracy\n" + "".join(rows)))
    assert (steps["loss"], steps["val_loss"]) == ([*range(1, 9)], [4])


def test_a_heading_with_a_time_that_comes_again_shows_another_launch(tmp_path: Path) -> None:
    heading = "================ Training Loss (Thu Oct 31 2{}:57:18 2024) ================\n"
    record = "(epoch: 60, iters: {}, time: 2.0) D_A: 0.0{}\n"
    text = heading.format(1) + record.format(100, 1) + record.format(200, 2)
    text += heading.format(2) + record.format(100, 3) + heading.format(3) + heading.format(4)
    assert read_log(tmp_path, text + record.format(100, 4) + record.format(200, 5)).attempts == 3


def test_a_dictionary_that_does_not_end_names_nothing_behind_the_next_record(tmp_path: Path) -> None:
    text = (
        "".join(f'Epoch {n}, loss: 0.5\n"scores": {{\n    "precision": 0.77{n},\n' for n in N)
        + "Epoch 5, loss: 0.4\nTest accuracy: 0.9\n"
    )
    assert {*steps_of(read_log(tmp_path, text))} == {"loss", "scores/precision", "Test accuracy"}


def test_lines_of_a_queue_do_not_hide_those_of_a_program_that_no_format_claims(tmp_path: Path) -> None:
    epochs = [
        f"Epoch {n}, Phase train\ntrain Loss: {2 / n:.4f} Acc: {1 - 0.5 / n:.4f}\n" for n in range(1, 9)
    ]
    end = "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2021-01-01T10:00:00 DUE TO TIME LIMIT ***\n"
    run = read_log(
        tmp_path, "".join(epochs[:5]) + end + "Restored the weights of epoch 4\n" + "".join(epochs[4:])
    )
    assert run.attempts == 2
    assert steps_of(run)["train Loss"] == [1, 2, 3, 4, 5, 5, 6, 7, 8]
    alone = read_log(tmp_path, end)
    assert {key.metric for key in alone.data.series} == {"job_ends"}
