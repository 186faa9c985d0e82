"""What a line is about, and where its numbers are: rows of classes, tables, pairs, lists, settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)
KERAS = (
    "\r\x1b[1m{at}/9\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━\x1b[0m \x1b[1m2s\x1b[0m 9ms/step"
    " - loss: 0.{loss}{more}"
)


def bar(step: int, total: int, time: str) -> str:
    return f"\r{100 * step // total:3}%|{'█' * 5}| {step}/{total} [{time}<9:10:11,  9.99s/it]"


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a table whose first name is that of a metric": (
        "epoch\tloss\tprec1\tlr\r\n" + "".join(f"{n}\t2.{n}\t35.5\t0.1\r\n" for n in N),
        {"loss": [1, 2, 3], "prec1": [1, 2, 3], "lr": [1, 2, 3]},
    ),
    "a table whose steps have a point": (
        "NumIters,Seconds,accuracy,total_loss\n" + "".join(f"{n}00.0,2{n}.5,0.5,0.{n}\n" for n in N),
        {"Seconds": [100, 200, 300], "accuracy": [100, 200, 300], "total_loss": [100, 200, 300]},
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
    "a Trainer that evaluates after more than an hour": (
        "".join(
            "".join(bar(10 * n + step, 900, f"{n}:06:{step:02}") for step in range(11))
            + f"\n{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.1}}\n"
            + "".join(bar(step, 25, f"00:{step:02}") for step in range(26))
            + "\n\x1b[A{'eval_loss': 3.5, 'eval_runtime': 364.8, 'epoch': 0.1}\n"
            + bar(10 * n + 10, 900, f"{n}:07:00")
            + "\n"
            for n in range(3)
        ),
        {
            name: [10, 20, 30]
            for name in ("train/loss", "train/learning_rate", "epoch", "eval/loss", "eval/runtime")
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
    "the outputs of the nets of Caffe": (
        "".join(
            f"I0101 10:00:0{n}.13  77 solver.cpp:228] Iteration {n}00 (3 iter/s, 31s/100 iters), loss = 2.5\n"
            f"I0101 10:00:0{n}.14  77 solver.cpp:244]     Train net output #0: top/acc = 0.5\n"
            f"I0101 10:00:0{n}.15  77 solver.cpp:244]     Train net output #1: aux = 1.4 (* 1 = 1.4 loss)\n"
            f"I0101 10:00:0{n}.16  77 sgd_solver.cpp:106] Iteration {n}00, lr = 0.01\n"
            + "".join(
                f"I0101 10:00:0{n}.17  77 solver.cpp:337] Iteration {n}00, Testing net (#{net})\n"
                f"I0101 10:00:0{n}.18  77 solver.cpp:404]     Test net output #0: top/acc = 0.{n}\n"
                for net in range(2)
            )
            for n in N
        ),
        {
            name: [100, 200, 300]
            for name in ("loss", "train/top/acc", "train/aux", "lr", "test/top/acc", "test 1/top/acc")
        },
    ),
    "what a layer and a program print between the lines of Caffe": (
        "I0101 10:00:00.10  77 box_layer.cpp:88] iou: 0.1 count: 3\n"  # before the first iteration
        + "".join(
            f"I0101 10:00:0{n}.13  77 solver.cpp:228] Iteration {n}00, loss = 2.5\n"
            f"I0101 10:00:0{n}.14  77 box_layer.cpp:88] iou: 0.{n} far: 1e-0{n} count: 3\n"
            f"I0101 10:00:0{n}.14  77 main.cpp:17] episode reward({n}): 3\n"
            f"I0101 10:00:0{n}.15  77 net.cpp:165] Memory required for data: 4096\n"
            f"I0101 10:00:0{n}.15  77 data_layer.cpp:40] loss: {n} of 3 images\n"
            f"I0101 10:00:0{n}.17  77 solver.cpp:337] Iteration {n}00, Testing net (#0)\n"
            f"I0101 10:00:0{n}.17  77 box_layer.cpp:88] iou: 0.{n}5 count: 3\n"
            f"I0101 10:00:0{n}.18  77 solver.cpp:404]     Test net output #0: top/acc = 0.{n}\n"
            for n in N
        )
        + "I0101 10:00:09.18  77 caffe.cpp:330] accuracy = 0.5\n",
        {
            name: [100, 200, 300]
            for name in (
                *("loss", "iou", "far", "count", "episode reward"),
                *("test/iou", "test/count", "test/top/acc"),
            )
        },
    ),
    "evaluations alone": (
        "INFO:root:Model is ready.\n"
        + "".join(f"INFO:__main__:Eval Metrics — Hits@1: 0.4, MRR: 0.{n}\n" for n in N),
        {"eval/Hits@1": [0, 1, 2], "eval/MRR": [0, 1, 2]},
    ),
    "columns of an epoch, its batches and a value": (
        "\n" + "".join(f"{epoch}\t\t{batch}\t\t0.7{batch}\n" for epoch in N for batch in range(2)),
        {"epoch": [0, 1, 2, 3, 4, 5], "column 3": [0, 1, 2, 3, 4, 5]},
    ),
    "batches within an epoch that name the data": (
        "".join(f"train: {n} @ epoch:0/160 loss: 3.5 cls_loss: 0.{n}\n" for n in N),
        {"epoch": [1, 2, 3], "loss": [1, 2, 3], "cls_loss": [1, 2, 3]},
    ),
    "losses of batches below an epoch": (
        "".join(
            f"Epoch {n}/2\n"
            + "".join(f"Average Training loss: 0.{batch}\n" for batch in range(50))
            + "Average Eval loss: 0.5\n"
            for n in (1, 2)
        ),
        {"Average Training loss": [*range(1, 101)], "Average Eval loss": [50, 100]},
    ),
    "a row before the training": (
        "data\tepoch\tloss\n"
        + "".join(f"{data}\t{n}\t0.{n + 3}\n" for n in (-1, 0, 1) for data in ("train", "eval")),
        {"loss": [-1, 0, 1], "eval/loss": [-1, 0, 1]},
    ),
    "parts of a loss in brackets": (
        "".join(f"epoch   {n}00 | loss 2.3e-01 (pde 2.2e-01, bc 0.0e+00) | lr 9.50e-05\n" for n in N),
        {name: [100, 200, 300] for name in ("loss", "pde", "bc", "lr")},
    ),
    "amounts before the steps": (
        "[train] tokens/iter = 393,216 | train tokens = 239,182,819 | vocab = 16384\n"
        + "".join(f"[eval] iter {n}0: val 9.{n} lr 7.50e-07\n[train] iter {n}1: loss 8.5\n" for n in N),
        {"val": [10, 20, 30], "eval/lr": [10, 20, 30], "loss": [11, 21, 31]},
    ),
    "the stages of a script": (
        "".join(f"[{n}/5] Building the model...\n  Total parameters: 125,433,088\n" for n in N)
        + "".join(f"Epoch {n}/3\n  Train loss: 0.5\n" for n in N),
        {"Train loss": [1, 2, 3]},
    ),
    "nothing but the data as names": (
        "".join(f"[{{3667621017.py:45}} INFO - Epoch    {n}, trlast = 0.3, val = 0.4\n" for n in N),
        {"trlast": [1, 2, 3], "val": [1, 2, 3]},
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
    "runs of one script": (
        "".join(f"Run: 0{run}, Epoch: 0{n}, Loss: 1.5, Test: 69.1%\n" for run in (1, 2) for n in N),
        {f"{name}/run={run}": [1, 2, 3] for name in ("Loss", "Test") for run in (1, 2)},
    ),
    "names with brackets in brackets": (
        "".join(f"[{n}/9][0/40]\tLoss_D: 1.5\tD(G(z)): 0.5 / 0.0{n}\n" for n in N),
        {name: [0, 40, 80] for name in ("Loss_D", "D(G(z))", "D(G(z)) 2")},
    ),
    "a number right behind the name of a loss": (
        "".join(f"EPOCH[{n}/90] loss0.{n}53-|Sample:1.2|\n" for n in N),
        {"loss": [1, 2, 3], "Sample": [1, 2, 3]},
    ),
    "numbers right behind the names of several metrics": (
        "".join(f"Epoch{n}/4 loss{n}.253 perplexity{n}40.75 Accuracy0.{n}5\n" for n in N),
        {name: [1, 2, 3] for name in ("loss", "perplexity", "Accuracy")},
    ),
    "a table whose first name begins with a sign": (
        "".join(
            f"{'-' * 34}\n| % time spent resting | 4{n}       |\n| steps                | {n}400     |\n"
            for n in N
        )
        + f"{'-' * 34}\n",
        {"% time spent resting": [1400, 2400, 3400]},
    ),
    "ranks within the name of a metric": (
        "".join(
            f"Epoch {n}/3, loss: 0.{n}\nPrecision of top-[2, 7] guesses on test set is 4{n}.5, 3{n}.5\n"
            for n in N
        ),
        {
            "loss": [1, 2, 3],
            "Precision of top-2 guesses on test set": [1, 2, 3],
            "Precision of top-7 guesses on test set": [1, 2, 3],
        },
    ),
    "three ranks, behind batches": (
        "".join(f"Epoch: [{n}][{batch}/20] Loss 0.{n}\n" for n in (0,) for batch in (0, 10))
        + "Recall of top-[1,4,9]: 4.5, 3.5, 2.5\n",
        {"Epoch": [0, 10], "Loss": [0, 10], **{f"Recall of top-{rank}": [10] for rank in (1, 4, 9)}},
    ),
    "the steps over all epochs of a validation": (
        "".join(
            f"Epoch: {n - 1}/3, Steps: 20, Train Loss: 0.5\nEpoch: {n - 1}/3, Steps: 40, Train Loss: 0.4\n"
            f"**Validation**, Epoch: {n - 1}/3, GlobalSteps: {47 * n}, val_f1: 0.5\n"
            for n in (1, 2)
        ),
        {"Epoch": [20, 40, 60, 80], "Train Loss": [20, 40, 60, 80], "val_f1": [47, 94]},
    ),
    "arrays of one number": (
        "".join(f"Epoch {n}\ntrain loss: 0.5\n[TEST]\n{{'precision': array([0.0{n}])}}\n" for n in N),
        {"train loss": [1, 2, 3], "test/precision": [1, 2, 3]},
    ),
    "a dictionary over several lines": (
        "".join(
            f"Step {n}00 per-step time 0.5s\nI01 lib.py:7] {{'Loss/total': 0.{n},\n 'learning_rate': 0.1}}\n"
            for n in N
        ),
        {"Loss/total": [100, 200, 300], "learning_rate": [100, 200, 300]},
    ),
    "folds in lines of epochs": (
        "".join(f"Fold {fold}, Epoch {n}: train_loss 0.5 val_auc 0.{n}\n" for fold in (1, 2) for n in N),
        {f"{name}/fold={fold}": [1, 2, 3] for name in ("train_loss", "val_auc") for fold in (1, 2)},
    ),
    "clients below a round": (
        "".join(
            f"------ Round {n} ------\nClient 0: loss 0.{n}\nClient 1: loss 0.5\nGlobal accuracy: 0.{n}\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("loss/client=0", "loss/client=1", "Global accuracy")},
    ),
    "the length of an episode": (
        "".join(f"Episode: {n}, total reward: 1{n}.0, steps: 120, epsilon: 0.9\n" for n in N),
        {name: [1, 2, 3] for name in ("total reward", "steps", "epsilon")},
    ),
    "steps of an environment above their metrics": (
        "".join(
            f"[INFO 10:00:0{n}] main Recent Stats | t_env:   {n}0050 | Episode:     {n}00\n"
            f"ep_length_mean:   50.{n}000\tloss:    0.5000\n"
            for n in N
        ),
        {name: [10050, 20050, 30050] for name in ("ep_length_mean", "loss")},
    ),
    "results whose step is among them": (
        "".join(
            f"INFO - main -   ***** Eval results *****\nINFO - main -     acc = 0.{n}\n"
            f"INFO - main -     global_step = {n}00\nINFO - main -     loss = 0.5\n"
            for n in N
        ),
        {"eval/acc": [100, 200, 300], "eval/loss": [100, 200, 300]},
    ),
    "arrows behind names": (
        "".join(f"[Epoch {n}] train loss -> 0.{n} | val loss -> 0.5\n" for n in N),
        {"train loss": [1, 2, 3], "val loss": [1, 2, 3]},
    ),
    "an epoch in brackets before its steps": (
        "".join(
            f"10:00:0{n} Train: [ {n}/3] Step {step:03}/335 Loss 7.9\n" for n in N for step in (50, 100, 335)
        ),
        {"Loss": [50, 100, 335, 385, 435, 670, 720, 770, 1005]},
    ),
    "keys of a dictionary with numbers": (
        "".join(
            f"iter: {n}00, total_loss: 0.5\nEvaluating...\n"
            f"Evaluation result: {{'Dice - all, class 1': 0.{n}, 'Dice - all, class 2': 0.5, 'loss': 0.4}}\n"
            for n in N
        ),
        {
            "total_loss": [100, 200, 300],
            "evaluation/Dice - all, class 1": [100, 200, 300],
            "evaluation/Dice - all, class 2": [100, 200, 300],
            "evaluation/loss": [100, 200, 300],
        },
    ),
    "parts of the losses of the data": (
        "".join(
            f"epoch {n} | train 1.1 (seg 0.7, thick 1.0) | val 1.3 (seg 0.8, thick 1.2) | lr 1e-5\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("train", "seg", "thick", "val", "val seg", "val thick", "lr")},
    ),
    "an epoch that is stated twice": (
        "".join(
            f"INFO - Epoch {n} ({n}/9):\nINFO - Train Instance Accuracy: 0.5\n"
            f"INFO - Test Instance Accuracy: 0.6{n}\n"
            for n in range(1, 7)
        ),
        {f"{name} Instance Accuracy": [1, 2, 3, 4, 5, 6] for name in ("Train", "Test")},
    ),
    "tasks in turn": (
        "".join(f"Task: {task} Epoch: {n} loss 0.5\n" for task in (1, 2) for n in N),
        {"loss/task=1": [1, 2, 3], "loss/task=2": [1, 2, 3]},
    ),
    "stages in turn": (
        "".join(
            f"Stage {stage}: fine-tuning\n" + "".join(f"Epoch {n}/3: loss=0.5\n" for n in N)
            for stage in (1, 2)
        ),
        {"loss": [1, 2, 3], "loss/phase=2": [1, 2, 3]},
    ),
    "settings behind the name of a stage": (
        "".join(f"Epoch {n}/3: loss=0.5\n" for n in N)
        + "Evaluate\nPhase 2: tune (LR=0.0005, enc_scale=0.1)\n",
        {"loss": [1, 2, 3]},
    ),
    "rows of several data sets at an epoch": (
        "".join(f"Epoch 00{n} | Dataset 0{row} | NMI 0.1 | AUC 0.5\n" for n in N for row in range(2)),
        {f"{name}/dataset={row}": [1, 2, 3] for name in ("NMI", "AUC") for row in range(2)},
    ),
    "rows of classes below an epoch": (
        "".join(
            f"Epoch {n}/9\n  Train Loss: 0.5\n"
            + "".join(
                f"  Class {row}: Acc → Train: 0.9, Val: 0.8;  AUC → Train: 0.7, Val: 0.6\n" for row in N
            )
            for n in N
        ),
        {
            "Train Loss": [1, 2, 3],
            **{
                f"{name}/{data}/class={row}": [1, 2, 3]
                for name in ("Acc", "AUC")
                for data in ("Train", "Val")
                for row in N
            },
        },
    ),
    "the data behind a metric": (
        "".join(f"Epoch {n} | Loss: train 0.5, val 0.6 | Accuracy -> Train: 0.9, Val: 0.8\n" for n in N),
        {name: [1, 2, 3] for name in ("Loss/train", "Loss/val", "Accuracy/Train", "Accuracy/Val")},
    ),
    "unknown names behind an epoch": (
        "".join(f"epoch   {n} | D^2=+0.05 | cross=1.1 rr=0.2 ff=0.3 | 159.6s\n" for n in N),
        {name: [1, 2, 3] for name in ("D^2", "cross", "rr", "ff")},
    ),
    "an epoch and a batch with its total in brackets": (
        "".join(f"INFO:root:[1,  {n}0/ 256] - train_losses - Class: 6.0 - Loss (total): 4.5\n" for n in N),
        {name: [10, 20, 30] for name in ("epoch", "Class", "Loss (total)")},
    ),
    "a list of numpy's numbers": (
        "".join(f"Epoch {n}\nval_loss 0.5\nPseudo dice [np.float32(0.5), np.float32(0.{n})]\n" for n in N),
        {"val_loss": [1, 2, 3], "Pseudo dice": [1, 2, 3], "Pseudo dice 2": [1, 2, 3]},
    ),
    "settings next to a number of epochs": (
        "{'batch_size': 1024, 'epochs': 200, 'learning_rate': 0.005, 'weight_decay': 0.1}\n"
        + "".join(f"epoch: {n}/200\tbatch: 4/11\tloss: 0.5\n" for n in N),
        {"epoch": [4, 15, 26], "loss": [4, 15, 26]},
    ),
    "a setting with the name of a metric below an epoch": (
        "".join(f"epoch {n} | FID=20.5\n" for n in N) + "n_epochs: 18\nfid_every: 3\n",
        {"FID": [1, 2, 3]},
    ),
    "means that are not a number": (
        "".join(f"Training epoch: {n}\n\tmean_loss: nan\nEval epoch: {n}\n\tTop1: 20.00%\n" for n in N),
        {"mean_loss": [1, 2, 3], "eval/Top1": [1, 2, 3]},
    ),
    "steps that are rarer than epochs": (
        "".join(
            f"Training epoch: {n}\n" + "\tIter 0 Done. | loss: 0.5\n" * (n == 0) + "\tmean_loss: 0.4\n"
            for n in range(4)
        ),
        {"loss": [0], "mean_loss": [0, 1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


@pytest.mark.parametrize("name", ["Success ratio", "recall", "Precision of boxes"])
def test_metrics_at_thresholds_are_told_apart(name: str, tmp_path: Path) -> None:
    rows = "".join(f"0.3 {name} :0.4{n}\n.75 {name}: 0.2{n}\nPair loss: 1.{n}\n\n" for n in (1, 2, 1, 3))
    run = read_log(tmp_path, rows)
    assert run.attempts == 1
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values == {
        f"0.3 {name}": [0.41, 0.42, 0.41, 0.43],
        f".75 {name}": [0.21, 0.22, 0.21, 0.23],
        "Pair loss": [1.1, 1.2, 1.1, 1.3],
    }


def test_a_first_line_whose_value_comes_again_shows_no_launch(tmp_path: Path) -> None:
    rows = "".join(f"share of pairs kept :0.4{n}\nPair loss: 1.{n}\n\n" for n in (1, 2, 3, 1, 4, 5, 6))
    run = read_log(tmp_path, rows)
    assert run.attempts == 1
    [series] = (series for key, series in run.data.series.items() if key.metric == "Pair loss")
    assert series.step.tolist() == [*range(7)]


def test_columns_without_names_are_those_of_a_file_of_losses(tmp_path: Path) -> None:
    rows = "".join(f"6.3e-0{n} 5.{n}e-01\n" for n in range(4))
    assert steps_of(read_log(tmp_path, rows, "val_loss.txt")) == {
        name: [0, 1, 2, 3] for name in ("val_loss", "val_loss_2")
    }
    assert steps_of(read_log(tmp_path, rows, "points.txt")) == {}


def test_bare_rows_may_have_several_values_at_each_step(tmp_path: Path) -> None:
    rows = "".join(f"{5 * n},{n + 2}.{n}{again}7\n" for n in range(1, 8) for again in range(3))
    steps = [*range(5, 40, 5)]
    for launches in (1, 2):
        run = read_log(tmp_path, launches * rows, "val_loss.txt")
        assert run.attempts == launches
        assert {
            (key.metric, key.labels): series.step.tolist() for key, series in run.data.series.items()
        } == {
            ("val_loss", ()): launches * steps,
            ("val_loss", (("repeat", "2"),)): launches * steps,
            ("val_loss", (("repeat", "3"),)): launches * steps,
        }


def test_bare_rows_of_few_classes_are_no_steps(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n + 2}.{n}{again}7\n" for n in range(3) for again in range(9))
    assert steps_of(read_log(tmp_path, rows, "points.txt")) == {}


def test_a_table_may_have_a_separator_behind_its_names(tmp_path: Path) -> None:
    for end in ("", "\t"):
        text = "Learning Rate\tTrain Loss\t\n" + "".join(f"0.1\t1.{n}{end}\n" for n in N)
        assert steps_of(read_log(tmp_path, text, "log.txt")) == {
            "Learning Rate": [0, 1, 2],
            "Train Loss": [0, 1, 2],
        }


def test_values_behind_epochs_are_named_after_the_file(tmp_path: Path) -> None:
    text = "".join(f"epoch{n}\t0.{n}5491\n" for n in N)
    assert steps_of(read_log(tmp_path, text, "train_loss.txt")) == {"train_loss": [1, 2, 3]}


OPENING = (
    "Seed set to 42\nUsing the device cuda:0\nLoaded the encoder from checkpoint\nBuilt the model of 12M\n"
)


def test_two_fits_of_lightning_in_one_launch_are_told_apart(tmp_path: Path) -> None:
    fits = [
        "Loading the data\n"
        + "".join(
            f"\rEpoch {epoch}: 100%|##| {at}/2 [00:01<00:01, 4.8it/s, v_num={fit}, train_loss=0.{epoch}{at}]"
            for epoch in range(2)
            for at in (1, 2)
        )
        + "\n"
        for fit in (28, 29)
    ]
    run = read_log(tmp_path, OPENING + "".join(fits))
    assert run.attempts == 1
    assert steps_of(run) == {"train_loss": [1, 2, 3, 4], "train_loss/trainer=2": [1, 2, 3, 4]}
    assert read_log(tmp_path, (OPENING + fits[0]) + (OPENING + fits[1])).attempts == 2


def test_the_arguments_of_a_program_show_its_launches(tmp_path: Path) -> None:
    launch = (
        "Namespace(lr=0.1, epochs=5, batch_size=8)\n" + '{"epoch": 0, "train_loss": 2.5, "test_acc": 0.5}\n'
    )
    assert read_log(tmp_path, launch * 3).attempts == 3


def test_launches_that_end_in_their_first_epoch_are_attempts(tmp_path: Path) -> None:
    launch = "Loading the datasets...\nEpoch 1/5\n" + "Training loss: 0.5\n" * 30
    assert read_log(tmp_path, launch * 3).attempts == 3


def test_a_bar_of_keras_ends_with_the_means_of_the_epoch(tmp_path: Path) -> None:
    text, _ = CASES["a coloured bar of Keras"]
    values = {
        key.metric: series.value.tolist() for key, series in read_log(tmp_path, text).data.series.items()
    }
    assert values["loss"] == [0.71, 0.72, 0.73]


def test_a_table_of_steps_below_each_epoch_goes_on(tmp_path: Path) -> None:
    table = "Step  Action    Reward\n----------------------\n"
    text = "".join(
        f"Epoch {epoch}/3 Running...\n{table}" + "".join(f"{step}     Up        -{step}.5\n" for step in N)
        for epoch in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Reward": [*range(1, 10)]}


def test_lines_beside_a_table_are_read_too(tmp_path: Path) -> None:
    rows = "".join(f"Episodes {n}0/50, Avg Reward: 1{n}.5\n" for n in N)
    table = "epoch  train_loss  valid_loss\n" + "".join(f"{n}      0.{n}         0.5\n" for n in N)
    assert steps_of(read_log(tmp_path, rows + table)).keys() == {"Avg Reward", "train_loss", "valid_loss"}


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


@pytest.mark.parametrize("row", ["Fold {0}, k={1}: ", "Client {0}, tau=0.{1}: ", "[Class {0}] top={1}: "])
@pytest.mark.parametrize("above", ["Epoch {0}: train loss 0.{0}", "step {0}: train loss 0.{0}"])
def test_a_setting_behind_the_label_of_a_row_is_one_where_rows_of_a_step_differ(
    tmp_path: Path, above: str, row: str
) -> None:
    text = "".join(
        above.format(step)
        + "\n"
        + "".join(f"{row.format(n, k)}recall = 0.4, ndcg = 0.3{step}\n" for n in (1, 2) for k in (5, 10))
        for step in (1, 2, 3)
    )
    steps = steps_of(read_log(tmp_path, text))
    found = {name: at for name, at in steps.items() if name.startswith("ndcg")}
    assert len(found) == 4
    assert all(at == [1, 2, 3] for at in found.values())
    assert sum("=10" in name or "=0.10" in name for name in found) == 2
    assert not any(name.startswith(("k", "tau", "top", "k/")) for name in steps)


def test_a_value_that_differs_from_step_to_step_is_no_label_of_its_row(tmp_path: Path) -> None:
    text = "".join(
        f"step {n}: loss 0.{n}\nFold 1, k={9 - n}: recall = 0.4, ndcg = 0.3{n}\n" for n in range(1, 5)
    )
    assert {name for name in steps_of(read_log(tmp_path, text)) if name.startswith("ndcg")} == {"ndcg/fold=1"}
