"""What the print statements of public training scripts write: each record at its step, in its series."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
_BARS = "\r  0%|          | 0/120 [00:00<?, ?it/s]\r100%|██████████| 120/120 [00:12<00:00,  9.70it/s]\n"
_SERVER = "2021-01-01 10:00:00.123 | INFO     | server:train_subset_of_clients:41 - "
_LOGURU = "2021-01-01 10:00:00.123 | INFO     | __main__:train:139 - "

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "an epoch behind its number, and values behind is": (
        "".join(
            f"this is the {n} epoch\nrmse loss on training set is 1.{n}\nrmse loss on test set is 2.{n}\n"
            f"for this epoch using 7{n}.2 seconds\n"
            for n in N
        ),
        {"rmse loss on training set": [*N], "rmse loss on test set": [*N]},
    ),
    "the place that loguru puts before a message": (
        "".join(f"{_LOGURU}[{n},   {batch}] loss: 1.5\n" for n in (1, 2) for batch in (100, 200)),
        {"loss": [100, 200, 300, 400], "epoch": [100, 200, 300, 400]},
    ),
    "a remark one blank behind the last cell of a table": (
        " epoch      loss      F1    recall\n"
        + "".join(
            f"{n:6}  {2 / (n + 1):8.4f}  {n / 10:6.4f}  {n * 9.1:8.1f}%{' <- saved' * (n % 2)}\n" for n in N
        ),
        {"loss": [*N], "F1": [*N], "recall": [*N]},
    ),
    "an array of one value, and one in a tensor": (
        "".join(f"Epoch {n}: Loss = {9 - n}.5, Theta = [[{n}.25]], Bias = tensor([[0.{n}]])\n" for n in N),
        {"Loss": [*N], "Theta": [*N], "Bias": [*N]},
    ),
    "a name that is no known metric, with a sign for the first data alone": (
        "".join(f"Epoch: {n}\nTrain overlaps: 0.{n}5, Validation overlaps 0.{n}2\n" for n in N),
        {"Train overlaps": [*N], "Validation overlaps": [*N]},
    ),
    "an epoch with a line below it before the next word": (
        "".join(
            f"Epoch: {n}_Iter:{at}  loss: 1.{n}{at} || dice: 0.{at + 1}\n"
            for n in (0, 1)
            for at in (0, 5, 10)
        ),
        {name: [0, 5, 10, 11, 16, 21] for name in ("loss", "dice", "Epoch")},
    ),
    "an epoch and its batch before a total and a name, and lines of epochs": (
        "".join(
            "".join(
                f" {n:3}  {at:3} /  320 {name} = 0.{at}{n} time = 2025-06-05 03:19:11.165537\n"
                for at in (0, 100, 200, 300)
                for name in ("whole_loss", "L1_loss")
            )
            + f"\nepoch =  {n:3} , L1_loss = 0.5{n} , time = 534.18 s\n\n"
            for n in (1, 2)
        ),
        {
            **{name: [0, 100, 200, 300, 320, 420, 520, 620] for name in ("whole_loss", "L1_loss", "epoch")},
            **{name: [300, 620] for name in ("epoch/L1_loss", "time")},
        },
    ),
    "a heading of a step and of what stops the training": (
        "".join(
            f"Step / patience: {10 * n} / {n % 3}\nTrain loss: 1.{n}\nValidation loss: 2.{n}\n" for n in N
        ),
        {name: [10 * n for n in N] for name in ("Train loss", "Validation loss")},
    ),
    "a heading of an epoch and its total, and a name that ends with such a word": (
        "".join(f"Epoch / total: {n + 1} / 9\nTrain loss: 1.{n}\nloss/total: 0.{n}\n" for n in N),
        {name: [n + 1 for n in N] for name in ("Train loss", "loss/total")},
    ),
    "two names and two numbers with a slash between blanks": (
        "".join(f"Epoch {n}, loss / acc: 1.{n} / 0.{n}\n" for n in N),
        {"loss": [*N], "acc": [*N]},
    ),
    "settings of when a training begins and ends": (
        "TRAIN:\n  BEGIN_EPOCH: 0\n  END_EPOCH: 520\n  EXTRA_LR: 0.1\n  LR: 0.05\n  end_epoch: 52\n"
        + "".join(f"Epoch: [{n}/520] Iter:[{at}/90], Loss: 0.{at}\n" for n in (0, 1) for at in (0, 30, 60)),
        {name: [0, 30, 60, 90, 120, 150] for name in ("Epoch", "Loss")},
    ),
    "a word before ep, and a sentence about such ones": (
        "".join(
            f"LSTM ep={n} train_loss=0.{n:02} acc=0.5{n}\nmuch better from ep{n} to ep{n + 1}\n"
            for n in (1, 5, 9)
        ),
        {name: [1, 5, 9] for name in ("train_loss", "acc")},
    ),
    "the best epoch in other words": (
        "epoch  train_loss  val_acc\n"
        + "".join(f"{n:5}  {1 / (n + 1):9.3f}  {50 + n}.25%\n" for n in range(1, 9))
        + "4 轮未提升，提前停止。最佳 epoch 5，val_acc 55.25%\n",
        {"train_loss": [*range(1, 9)], "val_acc": [*range(1, 9)], "best/val_acc": [5]},
    ),
    "lines of nothing but pairs whose names are plain words or end with a digit": (
        "".join(
            f"Epoch {n} | loss {2 / (n + 1):.4f}\n    foo=0.{n} bar=1.{n} baz={n}.5\n  NC1=2.{n} NC2=0.{n}1\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "foo", "bar", "baz", "NC1", "NC2")},
    ),
    "epochs behind a letter": (
        "".join(f"e{n:03} | lr 1.0e-03 | trn 2.{n} | val 2.5{n}\n" for n in N),
        {"lr": [*N], "trn": [*N], "val": [*N]},
    ),
    "epochs behind a letter, and names with signs": (
        "".join(f"E{n:02} loss=1.{n} acc=0.1{n}\n" for n in N),
        {"loss": [*N], "acc": [*N]},
    ),
    "tokens count": (
        "".join(f"tokens 0.{n}B loss 7.{n} ppl 60.{n}\n" for n in N),
        {name: [100_000_000 * n for n in N] for name in ("loss", "ppl")},
    ),
    "the class of a metric behind its name": (
        "".join(f"#quality: host=algo-1, epoch={n}, train loss <loss>=2.{n}\n" for n in N),
        {"train loss": [*N]},
    ),
    "evaluations over some episodes": (
        "".join(
            f"Episode {n}: reward 1.{n}\n-----\nEvaluation over 10 episodes: {sign}22.{n}\n-----\n"
            for n, sign in zip(N, ("", "-", "", "-", "", "-"), strict=True)
        ),
        {"reward": [*N], "Evaluation": [*N]},
    ),
    "evaluations of unknown names over some episodes": (
        "".join(
            f"Episode {n}: reward 1.{n}\n  >>> eval over 10 eps: mean R 22.{n}, success 6{n}.5%\n" for n in N
        ),
        {"reward": [*N], "eval/mean R": [*N], "eval/success": [*N]},
    ),
    "games of a test that are counted alone": (
        "".join(f"step {n}: loss 1.{n}\nTest on 10 games: {n} won, 2 lost\n" for n in N),
        {"loss": [*N]},
    ),
    "data in the first cell, in colours": (
        "".join(
            f"| \x1b[33mtrain\x1b[0m | E: {n} | S: {n}000 | R: 76.{n}\n"
            f"| \x1b[32meval\x1b[0m  | E: {n} | S: {n}000 | R: 80.{n}\n"
            for n in N
        ),
        {name: [1000 * n for n in N] for name in ("E", "R", "eval/E", "eval/R")},
    ),
    "a result below its name": (
        "".join(
            f"INFO - epoch {n} loss: 1.{n}\nINFO - val result score:\nINFO - 0.5{n}\n"
            f"INFO - Test accuracy:\nINFO - 0.6{n}\n"
            for n in N
        ),
        {"loss": [*N], "val result score": [*N], "Test accuracy": [*N]},
    ),
    "means of an evaluation behind its last batch": (
        "".join(
            f"epoch {n} loss: 1.{n} (1.{n}5)\nVal Loss 1.{n}2 (1.{n}1)\n"
            f"Test: [9/10] Loss 1.{n} (1.5) Acc@1 70.{n} (60.{n}) accuracy: 0.8 (40)\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("loss", "Val Loss", "Val Loss/mean", "test/Loss", "test/Loss/mean"),
                *("test/Acc@1", "test/Acc@1/mean", "test/accuracy"),
            )
        },
    ),
    "gradients of the parts of a model": (
        "".join(
            f"Epoch {n}\nhead.weight gradient: 0.1{n}\nhead.rate: 0.2{n}\nneck.weight gradient: 0.3{n}\n"
            for n in N
        ),
        {name: [*N] for name in ("head.weight gradient", "head.rate", "neck.weight gradient")},
    ),
    "lines of what became smaller, without a counter": (
        "".join(
            f"val loss decrease from 1.{n}5 to 1.{n}, save model to ./best.pth\nred.bias gradient: 0.{n}\n"
            for n in range(12)
        ),
        {"val loss": [*range(12)], "red.bias gradient": [*range(12)]},
    ),
    "extremes next to unknown names": (
        "".join(
            f"[{agent}] step {n}00: eval mean_width={n}.5 median={n}.2 max=1{n}\n"
            for agent in ("red", "blue")
            for n in N
        ),
        {
            f"eval {name}{label}": [100 * n for n in N]
            for name in ("mean_width", "median", "max")
            for label in ("", "/training=blue")
        },
    ),
    "brackets with nothing in them behind a name": (
        "".join(f"step {n} loss (): 2.{n}, acc() = 0.{n}\n" for n in N),
        {"loss": [*N], "acc": [*N]},
    ),
    "sizes in braces, which are settings": (
        "".join(
            f"Input size: {{'node': 2{n}, 'edge': 1{n}}}\nLoaded 19 rows\nepoch: {n}, score 0.{n}\n"
            for n in N
        ),
        {"score": [*N]},
    ),
    "an epoch and a batch without a space between them": (
        "".join(f"[{n},{batch}] loss:1.5\n" for n in (1, 2) for batch in (100, 200)),
        {"loss": [100, 200, 300, 400], "epoch": [100, 200, 300, 400]},
    ),
    "data that are aligned": (
        "".join(f"Train {n}, loss: 2.5, acc: 0.5\nVal   {n}, loss: 2.5, acc: 0.25\n" for n in N),
        {"loss": [*N], "acc": [*N], "val/loss": [*N], "val/acc": [*N]},
    ),
    "a number at the end of a name": (
        "".join(f"| Epoch {n}/9 |\n| Train Sup Loss 1: 2.5   | Train Sup Loss 2: 1.5   |\n" for n in N),
        {"Train Sup Loss 1": [*N], "Train Sup Loss 2": [*N]},
    ),
    "rows that end with a phase": (
        "Episode: 1\n" + "".join(f"Step: {n} | Action: 1 | Reward: -10.{n} | Phase: 1\n" for n in N),
        {"Action": [*N], "Reward": [*N], "Phase": [*N]},
    ),
    "a dictionary of an evaluation below a global step": (
        "".join(
            f"Epoch: 0 Global step: {n}00 Loss: 2.5\nGlobal step: {n}00 VAL res:\n"
            f" {{'eval_loss': 1.{n}, 'f1': 0.5}}\n"
            for n in N
        ),
        {name: [100 * n for n in N] for name in ("Epoch", "Loss", "eval_loss", "f1")},
    ),
    "a table whose steps begin anew with each epoch": (
        "epoch    step      loss      perp\n-----    -----    ------    ------\n"
        + "".join(f"    {n}    {step}     2.161      8.68\n" for n in (1, 2) for step in (100, 200)),
        {"loss": [100, 200, 300, 400], "perp": [100, 200, 300, 400]},
    ),
    "an epoch between a name and its number": (
        "".join(f"Train loss epoch[{n}] = 2.{n}\nVal loss epoch[{n}] = 3.{n}\nUpgrade in LOSS!\n" for n in N),
        {"Train loss": [*N], "Val loss": [*N]},
    ),
    "a batch far behind its loss": (
        "".join(
            "".join(f"train loss 2.5 at batch                 {batch}\n" for batch in (100, 200, 300))
            + f"...start evaluation\nepoch {n} validation sdr 3.{n}\n"
            for n in range(2)
        ),
        {"train loss": [*range(100, 700, 100)], "validation sdr": [300, 600]},
    ),
    "an evaluation above the training line of its epoch": (
        "".join(f"第{n}轮评估完成，评估准确率为: 0.{n}\n第{n}轮训练完成，loss值为: 2.{n}\n" for n in N),
        {"评估准确率": [*N], "loss值": [*N]},
    ),
    "results behind bars that name no epoch": (
        "".join(f"{_BARS}Train loss : 0.{n}\nValidation loss : 0.{n}5\n" for n in N),
        {"Train loss": [*N], "Validation loss": [*N]},
    ),
    "results behind the bar of all epochs": (
        "Length of Dataloader: 34\n"
        + "".join(f"\r {n}%|▏    | {n}/50 [00:02<02:02,  0.40it/s]Train loss:  9{n}.75\n" for n in N),
        {"Train loss": [*N]},
    ),
    "unknown names alone in all lines": (
        "".join(f"errG: 5.{n} errL2: 87{n}.1 errsum 74{n}.7\n" for n in range(12)),
        {name: [*range(12)] for name in ("errG", "errL2", "errsum")},
    ),
}


GUESSED: dict[str, tuple[str, dict[str, list[int]]]] = {
    "names and numbers between commas": (
        "".join(f"Step, {n}, Loss, 0.1{n}, PSNR, 9.{n}, StepTime, 5.{n},\n" for n in range(8)),
        {name: [*range(8)] for name in ("Loss", "PSNR", "StepTime")},
    ),
    "numbers below epochs, between other lines": (
        "Namespace(lr=0.1)\n50000\n" + "".join(f"Epoch {n}\n2{n}.43\n" for n in range(30)) + "finish\n",
        {"train": [*range(30)]},
    ),
}


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([f"{n}.25" for n in range(12)], "0.log"),
        ([f"{n}.25\t0.5\t" for n in range(12)], "slurm.out"),
        ([f"{n}: 0.{n}" for n in (0, 1, 2, 3)], "loss.txt"),
    ],
    ids=["numbers", "columns", "numbers that are counted"],
)
def test_bare_numbers_are_a_curve_where_a_person_gave_the_file(
    tmp_path: Path, lines: list[str], name: str
) -> None:
    run = read_log(tmp_path, "".join(f"{line}\n" for line in lines), name)
    assert all(steps == [*range(len(lines))] for steps in steps_of(run).values())
    assert steps_of(run)


def test_whole_numbers_are_no_curve(tmp_path: Path) -> None:
    assert not steps_of(read_log(tmp_path, "".join(f"{n * n}\n" for n in range(30)), "ids.txt"))


def test_the_first_line_again_begins_a_launch_of_rows_without_steps(tmp_path: Path) -> None:
    launch = "Namespace(batch_size=32, lr=0.1)\n" + "".join(
        f"Train  loss: 2.{n}, train acc: 0.5\n" for n in N
    )
    run = read_log(tmp_path, launch * 2)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [*N, *N], "train acc": [*N, *N]}


def test_a_short_launch_is_followed_by_the_next_one(tmp_path: Path) -> None:
    def epochs(count: int) -> str:
        return "".join(
            "".join(f"| epoch {n} | {batch}/1782 batches | accuracy 0.5\n" for batch in (500, 1000, 1500))
            + f"{'-' * 59}\n| end of epoch {n} | valid accuracy 0.{n}\n{'-' * 59}\n"
            * (n < count or count > 2)
            for n in range(1, count + 1)
        )

    run = read_log(tmp_path, epochs(2) + epochs(5))
    assert run.attempts == 2
    assert all(set(key.labels) == set() for key in run.data.series)


def test_a_single_record_is_a_launch_where_the_next_one_logs_the_same_epoch(tmp_path: Path) -> None:
    launches = (3, 1, 4)
    rows = "".join(
        f'{{"train_loss": 2.{n}, "test_loss": 2.5, "test_acc": 0.{launch}, "epoch": {n}}}\n'
        for launch in launches
        for n in range(launch)
    )
    run = read_log(tmp_path, rows)
    assert run.attempts == 3
    assert len(next(iter(run.data.series.values())).step) == sum(launches)


def test_rows_of_an_epoch_are_no_launches(tmp_path: Path) -> None:
    rows = "".join(
        f'{{"train_loss": 2.{n}, "lr": 0.5, "acc": 0.{row}, "epoch": {n}}}\n'
        for n in range(4)
        for row in (1, 2)
    )
    assert read_log(tmp_path, rows).attempts == 1


def test_a_trainer_whose_epoch_goes_back_was_started_again(tmp_path: Path) -> None:
    def record(n: int, epoch: float) -> str:
        return f"{{'loss': 2.{n}, 'grad_norm': 0.5, 'learning_rate': 0.00015, 'epoch': {epoch}}}\n"

    launches = [[record(n, 0.1 * n) for n in range(1, count)] for count in (6, 14)]
    run = read_log(tmp_path, "".join(line for launch in launches for line in launch))
    assert run.attempts == 2
    assert steps_of(run)["train/loss"] == [*range(1, 6), *range(1, 14)]
    twice = read_log(tmp_path, "".join(line * 2 for line in launches[1]))
    assert steps_of(twice)["train/loss"] == [*range(1, 14)]


def test_a_heading_of_cyclegan_begins_a_launch(tmp_path: Path) -> None:
    def launch(*iterations: int) -> str:
        return "================ Training Loss (Fri Jul  2 10:44:51 2021) ================\n" + "".join(
            f"(epoch: 1, iters: {n}, time: 0.780, data: 7.131) idt: 3.866 disc: 0.803 \n" for n in iterations
        )

    assert read_log(tmp_path, launch(100) + launch(500, 1000, 1500)).attempts == 2


def test_a_training_hours_later_is_that_of_another_launch(tmp_path: Path) -> None:
    def training(hour: int) -> str:
        return "".join(
            f"[2025-05-19 {hour}:0{n}:30] Epoch {n}\n[2025-05-19 {hour}:0{n}:40] loss: 0.{n}5\n" for n in N
        )

    text = "[2025-05-19 10:00:00] Using the big model\n" + training(10) + "[2025-05-19 20:00:00] Hello\n"
    assert read_log(tmp_path, text + training(20)).attempts == 2


BLOCKS: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the tutorial of PyTorch": (
        "".join(
            f"EPOCH {n}:\n"
            + "".join(f"  batch {batch}000 loss: 2.{batch}\n" for batch in (1, 2, 3))
            + f"LOSS train 2.{n} valid 3.{n}\n"
            for n in (1, 2)
        ),
        {"loss": [*range(1000, 7000, 1000)], "LOSS train": [3000, 6000], "LOSS/valid": [3000, 6000]},
    ),
    "the tutorial of image captioning": (
        "".join(
            "".join(f"Epoch: [{n}][{batch}/500]\tLoss 8.9 (8.9)\n" for batch in (0, 100))
            + f" * Training: Time - 912.1, LOSS - 8.{n}, TOP-5 ACCURACY - 30.{n}\n"
            + f" * LOSS - 7.{n}, TOP-5 ACCURACY - 28.{n}, BLEU-4 - 0.0{n}\n"
            for n in (0, 1)
        ),
        {
            **{name: [0, 100, 500, 600] for name in ("Epoch", "Loss")},
            **{name: [100, 600] for name in ("LOSS", "TOP-5 ACCURACY")},
            **{f"eval/{name}": [100, 600] for name in ("LOSS", "TOP-5 ACCURACY", "BLEU-4")},
        },
    ),
    "correct ones of all": (
        "".join(
            f"Epoch {n}, loss = 1.{n}\nChecking accuracy on training data\nGot 97 / 100 correct (97.00)\n"
            f"Checking accuracy on test data\nGot 396 / 1000 with accuracy 39.6{n}\n\n"
            for n in (1, 2)
        ),
        {"loss": [1, 2], "eval/train/accuracy": [1, 2], "test/accuracy": [1, 2]},
    ),
    "an epoch and a step behind their numbers": (
        "".join(f"{n} epoch {50 * n} step train loss : 1.9 acc: 0.3{n}\nSave model in step:5\n" for n in N),
        {name: [50 * n for n in N] for name in ("train loss", "acc", "epoch")},
    ),
    "an epoch behind its number above several losses": (
        "".join(f"{n} epoch training loss: 2.{n}\n{n} epoch -- valid loss : 3.{n} e-3, 4 sec\n" for n in N),
        {"training loss": [*N], "valid loss": [*N]},
    ),
    "counts that begin anew with each epoch": (
        "".join(
            f"INFO:root:train epoch: {n}\n"
            + "".join(f"INFO:root:count: {count}, loss:2.5: \n" for count in (0, 50, 100))
            for n in (0, 1)
        ),
        {"loss": [0, 50, 100, 101, 151, 201]},
    ),
    "a schedule that counts epochs from 1": (
        "".join(
            f"Epoch: {n}\nTraining: 4.{n}\n"
            + f"Epoch    {n + 1}: reducing learning rate of group 0 to 1.0000e-04.\n" * (n % 2)
            + f"Validation: 3.{n}\n"
            for n in N
        ),
        {"Training": [*N], "Validation": [*N]},
    ),
    "a share in a name": (
        "".join(f"[Step    {n}00/900] Train 9.{n} | Val~20% 8.{n}\n" for n in N),
        {"Train": [100 * n for n in N], "Val~20%": [100 * n for n in N]},
    ),
    "a global step in parentheses": (
        "".join(
            f"phase {phase} step   {step} (global    {phase * 60 + step}) | loss 0.9 | lr 3e-4\n"
            for phase in (0, 1)
            for step in (0, 20, 40)
        ),
        {name: [*range(0, 120, 20)] for name in ("loss", "lr", "phase")},
    ),
    "epochs behind the last batch": (
        "".join(f"Epoch: 0  Batch: {batch} Loss: 0.5\n" for batch in (0, 100))
        + "".join(f"====> Epoch: {n} Average training loss:    2.{n}\n" for n in (0, 1, 2)),
        {"Loss": [0, 100], "Epoch": [0, 100], "Average training loss": [100, 101, 102]},
    ),
    "a number of images in a name": (
        "".join(
            f"Epoch [{n}/9], Step [704/704], Loss: 2.{n}\n"
            f"Accuracy of the network on the 5000 validation images: 3{n}.5 %\n"
            for n in (1, 2)
        ),
        {
            name: [704, 1408]
            for name in ("Epoch", "Loss", "Accuracy of the network on the 5000 validation images")
        },
    ),
    "the language model of TensorFlow's tutorial": (
        "".join(
            f"Epoch: {n} Learning rate: 1.000\n"
            + "".join(f"0.{part}04 perplexity: 5{part}9.2 speed: 9100 wps\n" for part in range(5))
            + f"Epoch: {n} Train Perplexity: 28{n}.4\n"
            for n in (1, 2)
        ),
        {
            **{name: [*range(1, 11)] for name in ("perplexity", "speed")},
            "Learning rate": [1, 6],
            "Train Perplexity": [5, 10],
        },
    ),
    "batches of a dataset with a name": (
        "".join(
            f"Epoch  {n}, CIFAR-10 Batch {batch}:  Loss:     1.7 Validation Accuracy: 0.3{batch}\n"
            for n in (1, 2)
            for batch in (1, 2, 3)
        ),
        {name: [*range(1, 7)] for name in ("Epoch", "Loss", "Validation Accuracy")},
    ),
    "batches between bars": (
        "".join(
            "".join(f"Epoch: {n} | {batch} | Loss: 1.6\n" for batch in (0, 100)) + f"Epoch: {n} | Loss: 1.5\n"
            for n in (1, 2)
        ),
        {"Epoch": [0, 100, 101, 201], "Loss": [0, 100, 101, 201], "epoch/Loss": [100, 201]},
    ),
    "the data before an underscore": (
        "".join(f"train_epoch: {n},  loss is: 1.{n}\neval_epoch: {n},  loss is: 2.{n}\n" for n in N),
        {"loss": [*N], "eval/loss": [*N]},
    ),
    "names of several words in brackets": (
        "".join(f"Epoch: [{n}]  [Avg Train Loss] 2.{n}\nEpoch: [{n}]  [Test Accuracy] 0.{n}\n" for n in N),
        {"Avg Train Loss": [*N], "Test Accuracy": [*N]},
    ),
    "a loss of this epoch": (
        "".join(f"10:02:11 - INFO - Epoch {n}\n10:02:11 - INFO - Train loss this epoch: 2.{n}\n" for n in N),
        {"Train loss": [*N]},
    ),
    "an epoch behind a hash": (
        "".join(f"[epoch: #  {n}/9, 0.{n}0%]\n---- train start! ----\ntrain loss: 2.{n}\n" for n in N),
        {"train loss": [*N]},
    ),
    "steps of a game in an iteration": (
        "".join(f"iteration: {n}0 | loss: 94.{n} | steps: 14{n} | avg_reward: 1.0\n" for n in N),
        {name: [10 * n for n in N] for name in ("loss", "steps", "avg_reward")},
    ),
    "losses of batches below the only heading of an epoch": (
        "".join(f"epoch {n}\n" + "".join(f"average loss: 1.{b}\n" for b in range(5)) for n in (1, 2)),
        {"average loss": [*range(1, 11)]},
    ),
    "correct ones and nothing else": (
        "".join(f"Epoch {n}: {3077 + n}/10000\n" for n in N),
        {"correct": [*N]},
    ),
    "a number below what Julia logs": (
        "".join(f"[ Info: Epoch {n}\n2.{n}\n" for n in N),
        {"train": [*N]},
    ),
    "how many of a batch are right": (
        "".join(f"Epoch {n} step {n}0 loss 2.{n} valid acc {n}/16\n" for n in N),
        {name: [10 * n for n in N] for name in ("Epoch", "loss", "valid acc")},
    ),
    "scores in capitals": (
        "".join(f"epoch: {n}\nAUC_ROC_SCORE: 0.8{n}\nAUC_PR_SCORE: 0.7{n}\nDICE: 0.3{n}\n" for n in N),
        {name: [*N] for name in ("AUC_ROC_SCORE", "AUC_PR_SCORE", "DICE")},
    ),
    "steps of a game in parentheses": (
        "".join(
            f"Iter {n}: SR 66.9%, Q 21.7, Pi -6.3, CE 4.6, Buffer 11\n  Ex 1: Won (Steps: 6)\n" for n in N
        ),
        {name: [*N] for name in ("SR", "Q", "Pi", "CE", "Buffer")},
    ),
    "data named behind the metrics of the training": (
        "".join(f"Época   {n} | lr=9.00e-04 | loss=1.{n} | dev: acc=0.3{n} f1=0.4\n" for n in N),
        {name: [*N] for name in ("lr", "loss", "dev/acc", "dev/f1")},
    ),
    "parts of epochs": (
        "".join(
            f"[TRAIN] epoch {n / 4:.2f}, train_loss 2.{n}\n"
            + f"[EVAL] epoch 1, eval_loss 0.{n}\n" * (n % 4 == 0)
            for n in range(1, 9)
        ),
        {"train_loss": [*range(1, 9)], "epoch": [*range(1, 9)], "eval_loss": [4, 8]},
    ),
    "unknown names in other scripts, next to known ones": (
        "".join(f"INFO - Epoch {n}/6\nINFO -   训练损失: 2.{n}\nINFO -   相似度分离度: 0.{n}\n" for n in N),
        {"训练损失": [*N], "相似度分离度": [*N]},
    ),
    "clients in turn": (
        "".join(
            f"{_SERVER}Training epoch #{n} on client #{client}\n"
            + "".join(f"{_LOGURU}[{n},   {batch}] loss: 0.5\n" for batch in (0, 100))
            for n in (1, 2)
            for client in (5, 3)
        ),
        {
            **{f"loss{client}": [0, 100, 101, 201] for client in ("", "/client=3")},
            **{f"epoch{client}": [0, 100, 101, 201] for client in ("", "/client=3")},
        },
    ),
}


ALL_CASES = CASES | BLOCKS | GUESSED


@pytest.mark.parametrize("case", ALL_CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *ALL_CASES[case])


def test_no_case_has_the_name_of_another() -> None:
    assert len(ALL_CASES) == len(CASES) + len(BLOCKS) + len(GUESSED)


def losses(n: int, number: int = 11) -> str:
    return "".join(f"loss:  {1 / (n + k / 20):.4f}\n" for k in range(number))


def test_losses_above_the_line_of_their_epoch_are_steps_where_its_results_are_below(tmp_path: Path) -> None:
    text = "".join(f"{losses(n)}Epoch:  {n}\nAccuracy on test data:  6{n}.5\n" for n in range(1, 6))
    expected = {"loss": [*range(1, 56)], "Accuracy on test data": [11, 22, 33, 44, 55]}
    assert_steps(tmp_path, text, expected)


def test_losses_above_the_first_epoch_are_none_of_it_where_others_are_below(tmp_path: Path) -> None:
    epochs = (f"Epoch: {n}\ntrain_loss: 0.{n}\nval_loss: 0.{n}2\n" for n in range(1, 5))
    assert_steps(
        tmp_path, losses(1, 20) + "".join(epochs), {"train_loss": [1, 2, 3, 4], "val_loss": [1, 2, 3, 4]}
    )


def test_losses_below_the_line_of_their_epoch_are_its_own(tmp_path: Path) -> None:
    text = "".join(f"Epoch: {n}\n{losses(n)}Accuracy: 6{n}.5\n" for n in range(1, 5))
    assert_steps(tmp_path, text, {"loss": [*range(1, 45)], "Accuracy": [11, 22, 33, 44]})
