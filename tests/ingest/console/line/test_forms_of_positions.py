"""How lines state their position: words, signs, brackets and totals of epochs, steps and batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
EPOCHS = range(1, 4)
BATCHES = range(1, 5)
TWELVE = [*range(1, 13)]


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


EPOCHS_AND_STEPS: dict[str, tuple[str, dict[str, list[int]]]] = {
    "iterations glued to their word": ("".join(f"iter{n} loss 2.{n}\n" for n in N), {"loss": [*N]}),
    "episodes glued to their word": (
        "".join(f"[Episode{n}] reward: 2.{n}\n" for n in N),
        {"reward": [*N]},
    ),
    "the step of all before a reward": (
        "".join(f"Episode: {n}, step: {200 * n}, reward: 3.{n}\n" for n in N),
        {"Episode": [200 * n for n in N], "reward": [200 * n for n in N]},
    ),
    "an epoch of a part of the training, which each batch has": (
        "".join(
            f"Int8 Finetuning {n} / 3, Loss: {n}.{k}125, LR: 1e-05\n" for n in EPOCHS for k in range(1, 41)
        ),
        _at([*range(1, 121)], "Loss", "LR"),
    ),
    "any words before an epoch and a loss": (
        "".join(f"10:00:0{n} INFO ==> fit_encoder epoch:{n} loss:2.{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "a counter between after and its word": (
        "".join(f"INFO :      [ROUND {n}]\nAfter {n} Round: loss = 1.{n}, accuracy: 0.5{n}\n" for n in N),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "a training epoch that is completed": (
        "".join(f"{n} training epoch completed\nD_loss : 1.{n}, \t G_loss : 2.{n}\n" for n in N),
        {"D_loss": [*N], "G_loss": [*N]},
    ),
    "a per cent of the epoch as the step": (
        "".join(f"step : {n % 10 * 10.5} % , loss : 2.{n}\n" for n in range(20)),
        {"loss": [n // 10 * 10000 + n % 10 * 1050 for n in range(20)]},
    ),
    "a counter with two letters in the wrong order": (
        "".join(f"Epoch: {n}/3 Setp: {step}, loss: 2.{n}\n" for n in (1, 2) for step in (50, 100)),
        {"loss": [50, 100, 150, 200], "Epoch": [50, 100, 150, 200]},
    ),
    "steps behind their total before a rate that is a whole number": (
        "".join(f"|    5{n}000/  100000 steps| 140{n}7.00 tokens/s| loss    2.1{n}\n" for n in range(1, 5)),
        {name: [51000, 52000, 53000, 54000] for name in ("tokens/s", "loss")},
    ),
    "a bar of an epoch before the step of all": (
        "".join(
            f"{n}/3000 (  0.0{n}%) itr: {500 + n}, G_loss : +2.1{n}, D_loss_real : +0.8\n"
            for n in range(1, 5)
        ),
        {name: [501, 502, 503, 504] for name in ("G_loss", "D_loss_real")},
    ),
    "steps in brackets before unknown names": (
        "".join(
            f"[step{n * 3200:8d}] pg=-0.05{n}  vf=27.5{n}  ent=3.42\n"
            f"  [eval] return=12{n}.3±168.1  win_rate=0.1{n}\n"
            for n in range(1, 5)
        ),
        {
            name: [3200, 6400, 9600, 12800]
            for name in ("pg", "vf", "ent", "eval/return", "eval/return (std)", "eval/win_rate")
        },
    ),
    "an epoch in brackets with a letter": (
        "".join(f"[E{n:02d}] train_mse=0.6{n}  val: MAE=2.9{n} R2=0.3898  (34.8s)\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("train_mse", "val/MAE", "val/R2")},
    ),
    "a step in parentheses behind brackets": (
        "".join(f"[proc 0][Train]({n}00/1000) average pos_loss: 2.4{n}\n" for n in range(1, 5)),
        {"average pos_loss": [100, 200, 300, 400]},
    ),
    "an epoch behind an underscore": (
        "".join(f"epoch_{n}: train_loss=1.5{n}, val_loss=1.57\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("train_loss", "val_loss")},
    ),
    "runs of an optimiser": (
        "".join(f"run [{n}0]:\nStyle Loss : 0.55{n} Content Loss: 1.018\n\n" for n in range(1, 5)),
        {name: [10, 20, 30, 40] for name in ("Style Loss", "Content Loss")},
    ),
    "episodes in brackets": (
        "".join(
            f"  [   {n}000 eps] reward=-0.7{n}+/-0.650  steps=10000.0  action_time=0.033ms\n"
            for n in range(1, 5)
        ),
        {name: [1000, 2000, 3000, 4000] for name in ("reward", "reward (std)", "steps", "action_time")},
    ),
    "a per cent behind a step": (
        "".join(
            f"[ {n}00/3000]   {n}.3%   train=3.2{n}   val=3.3   elapsed=12s     best!\n" for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("train", "val")},
    ),
    "steps glued to their word": (
        "1 epoch = 82 batches\n" + "".join(f"step{n}00, loss: 10.9{n}, lr: 1.00e-04\n" for n in range(1, 5)),
        {name: [100, 200, 300, 400] for name in ("loss", "lr")},
    ),
    "an ordinal number of an epoch in Chinese": (
        "".join(
            f"--------第{n}个epoch--------\n0/100 batch Loss: 0.{n}\n50/100 batch Loss: 0.3\n"
            for n in range(3)
        ),
        {"Loss": [0, 50, 100, 150, 200, 250]},
    ),
    "the epoch in brackets behind the name": (
        "".join(f"Training Loss (epoch {n}): 0.{n}\n" for n in range(1, 5)),
        {"Training Loss": [1, 2, 3, 4]},
    ),
    "an epoch of a stage with a total": (
        "".join(
            f"INFO:  Fully_supervised-Train Epoch: [{n}/15], lr: 0.001, Loss: 1.5{n}\n" for n in range(1, 5)
        ),
        {"lr": [1, 2, 3, 4], "Loss": [1, 2, 3, 4]},
    ),
    "Polish": (
        "".join(f"Epoka {n} | Krok {krok}/100 | Strata: 0.6{n}\n" for n in range(1, 5) for krok in (50, 100)),
        {"Epoka": [50, 100, 150, 200, 250, 300, 350, 400], "Strata": [50, 100, 150, 200, 250, 300, 350, 400]},
    ),
    "a word before what is counted": (
        "".join(f"Optimization Iteration:  {n}01, Training Accuracy:  15.{n}%\n" for n in range(1, 5)),
        {"Training Accuracy": [101, 201, 301, 401]},
    ),
    "stages with epochs of one letter": (
        "".join(f"Head E{n}/4: train_loss=405.{n} val_MSE=39.1\n" for n in range(1, 5)),
        {"train_loss": [1, 2, 3, 4], "val_MSE": [1, 2, 3, 4]},
    ),
    "a generation and its fitness in a line": (
        "".join(f"Generation {n}: best fitness = 1.{n}, mean fitness = 0.{n}\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("best fitness", "mean fitness")},
    ),
    "the short form of an epoch with its number": (
        "".join(f"Load file: None, EP{n}, avg_loss=0.001{n}\n" for n in range(1, 5)),
        {"avg_loss": [*range(1, 5)]},
    ),
    "a character before the epoch": (
        "".join(f"{'0' if n == 2 else ''}epoch: {n}  loss: 0.5  time: 2.5 s\n" for n in range(1, 4)),
        {"loss": [1, 2, 3], "time": [1, 2, 3]},
    ),
    "a count of trainings in Chinese, which is that of steps": (
        "".join(
            f"-------第 {n + 1} 轮训练开始-------\n"
            + "".join(f"训练次数：{n * 300 + at}, Loss: 0.{at}{n}\n" for at in (100, 200))
            for n in range(3)
        ),
        {"Loss": [100, 200, 400, 500, 700, 800]},
    ),
    "a step joined to its number, before names and values": (
        "".join(f"2021-03-04 DEBUG: Train step_{n * 20}: loss : {n}.5,loss xy : 0.{n}\n" for n in N),
        {"loss": [n * 20 for n in N], "loss xy": [n * 20 for n in N]},
    ),
    "epochs in another plural": (
        "".join(
            f"=>Epoches {n}, learning rate = 0.00{n}7, previous best = 0.{n}\n[Epoch: {n}] of 90\n"
            f"Loss: {n}.5\nValidation:\n[Epoch: {n}] of 20\nAcc: 0.{n}1, mIoU: 0.{n}2\n"
            for n in N
        ),
        _at([*N], "learning rate", "previous best", "Loss", "validation/Acc", "validation/mIoU"),
    ),
    "a word in the place of the first epoch": (
        "Epoch: init  loss: 2.31  acc: 0.09\n"
        + "".join(f"Epoch: {n}  loss: 1.{9 - n}  acc: 0.{n}\n" for n in range(1, 6)),
        {"loss": [0, *range(1, 6)], "acc": [0, *range(1, 6)]},
    ),
    "a word in brackets in the place of the first step": (
        "[Step initial] loss=2.31\n" + "".join(f"[Step {100 * n}] loss=1.{9 - n}\n" for n in range(1, 6)),
        {"loss": [0, *(100 * n for n in range(1, 6))]},
    ),
    "a count and a total with zeros before it": (
        "".join(f"{n:02}/012: loss: 1.{n}, acc: 0.{n}\n" for n in range(1, 13)),
        {name: [*range(1, 13)] for name in ("loss", "acc")},
    ),
    "what is counted behind its total": (
        "".join(f"{n}/10 epoch G_loss : 4.{n} D_loss : 0.{n}\n" for n in range(1, 4)),
        {"G_loss": [1, 2, 3], "D_loss": [1, 2, 3]},
    ),
    "a step and its total before names without a sign": (
        "".join(f"{n}0/30 loss 0.{n} acc 0.5\n" for n in range(1, 4)),
        {"loss": [10, 20, 30], "acc": [10, 20, 30]},
    ),
    "an id of an epoch": (
        "".join(
            f"Epoch {n}, batch 10/10 loss 0.{n}\nEpoch id: {n}, Type P: 0.79, Type F: 0.8{n}\n"
            for n in range(1, 4)
        ),
        {name: [10, 20, 30] for name in ("Epoch", "loss", "Type P", "Type F")},
    ),
    "an epoch behind its number, and values behind is": (
        "".join(
            f"this is the {n} epoch\nrmse loss on training set is 1.{n}\nrmse loss on test set is 2.{n}\n"
            f"for this epoch using 7{n}.2 seconds\n"
            for n in N
        ),
        {"rmse loss on training set": [*N], "rmse loss on test set": [*N]},
    ),
    "a heading of an epoch and its total, and a name that ends with such a word": (
        "".join(f"Epoch / total: {n + 1} / 9\nTrain loss: 1.{n}\nloss/total: 0.{n}\n" for n in N),
        {name: [n + 1 for n in N] for name in ("Train loss", "loss/total")},
    ),
    "a word before ep, and a sentence about such ones": (
        "".join(
            f"LSTM ep={n} train_loss=0.{n:02} acc=0.5{n}\nmuch better from ep{n} to ep{n + 1}\n"
            for n in (1, 5, 9)
        ),
        {name: [1, 5, 9] for name in ("train_loss", "acc")},
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
    "rows that end with a phase": (
        "Episode: 1\n" + "".join(f"Step: {n} | Action: 1 | Reward: -10.{n} | Phase: 1\n" for n in N),
        {"Action": [*N], "Reward": [*N], "Phase": [*N]},
    ),
    "an epoch between a name and its number": (
        "".join(f"Train loss epoch[{n}] = 2.{n}\nVal loss epoch[{n}] = 3.{n}\nUpgrade in LOSS!\n" for n in N),
        {"Train loss": [*N], "Val loss": [*N]},
    ),
    "an epoch and a step behind their numbers": (
        "".join(f"{n} epoch {50 * n} step train loss : 1.9 acc: 0.3{n}\nSave model in step:5\n" for n in N),
        {name: [50 * n for n in N] for name in ("train loss", "acc", "epoch")},
    ),
    "an epoch behind its number above several losses": (
        "".join(f"{n} epoch training loss: 2.{n}\n{n} epoch -- valid loss : 3.{n} e-3, 4 sec\n" for n in N),
        {"training loss": [*N], "valid loss": [*N]},
    ),
    "a global step in parentheses": (
        "".join(
            f"phase {phase} step   {step} (global    {phase * 60 + step}) | loss 0.9 | lr 3e-4\n"
            for phase in (0, 1)
            for step in (0, 20, 40)
        ),
        {name: [*range(0, 120, 20)] for name in ("loss", "lr", "phase")},
    ),
    "an epoch behind a hash": (
        "".join(f"[epoch: #  {n}/9, 0.{n}0%]\n---- train start! ----\ntrain loss: 2.{n}\n" for n in N),
        {"train loss": [*N]},
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
    "positions with commas between thousands": (
        "".join(f"  [{n},500/60,000] Win rate vs basic: {n}1.5% (best: 90.0%)\n" for n in range(1, 7)),
        {f"{best}Win rate vs basic": [1000 * n + 500 for n in range(1, 7)] for best in ("", "best/")},
    ),
    "a step before its name, and units in a sentence": (
        "".join(
            f"{n}000 global_step: rotation error {n}.2 degrees, drift {n}.1 px, loss {9 - n}.5\n"
            for n in range(1, 7)
        ),
        {name: [1000 * n for n in range(1, 7)] for name in ("rotation error", "drift", "loss")},
    ),
    "the step in brackets before an epoch without a batch": (
        "".join(f"[gpu 0 / step {10 * n}] Epoch {n}, Loss={9 - n}.5\n" for n in range(1, 7)),
        {name: [10 * n for n in range(1, 7)] for name in ("Loss", "Epoch")},
    ),
    "an epoch that is stated twice": (
        "".join(
            f"INFO - Epoch {n} ({n}/9):\nINFO - Train Instance Accuracy: 0.5\n"
            f"INFO - Test Instance Accuracy: 0.6{n}\n"
            for n in range(1, 7)
        ),
        {f"{name} Instance Accuracy": [1, 2, 3, 4, 5, 6] for name in ("Train", "Test")},
    ),
    "a name before its step behind a time": (
        "2026-01-01 10:00:00,123:\tStart training epoch 1.\n"
        + "".join(f"2026-01-01 10:00:0{n},123:\tLoss at step {n}: 8.{n}\n" for n in range(1, 4)),
        {"Loss": [1, 2, 3]},
    ),
    "an epoch without a space": (
        "".join(
            f"2026-01-01 10:00:00.1 | INFO | __main__:<module>:8 - epoch{n}/3:\ntrain_loss:1.{n}\n"
            for n in range(1, 4)
        ),
        {"train_loss": [1, 2, 3]},
    ),
}

BATCHES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a total behind any word in an epoch": (
        "".join(f"Epoch [{e}/3], Crop [{k}/4], Loss: 2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"Epoch": TWELVE, "Loss": TWELVE},
    ),
    "the same without brackets": (
        "".join(f"Epoch {e} shard {k}/4 - loss 2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"Epoch": TWELVE, "loss": TWELVE},
    ),
    "names of both numbers in brackets of their own": (
        "".join(f"[Epoch/iter]: [{e}/{k}00], loss: 2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"epoch": [100 * n for n in TWELVE], "loss": [100 * n for n in TWELVE]},
    ),
    "an epoch, a batch and its total with nothing else": (
        "".join(
            "".join(
                f"{e:4} {k:4} /  4 {name} = 2.{e}{k} time = 2026-01-01 10:00:0{k}.123456\n"
                for name in ("A_loss", "B_loss")
            )
            + (f"epoch = {e:4} , A_loss = 2.{e} , time = 5.{e} s\n" if k == 4 else "")
            for e in EPOCHS
            for k in BATCHES
        ),
        {
            **{name: TWELVE for name in ("epoch", "A_loss", "B_loss")},
            **{name: [4, 8, 12] for name in ("epoch/A_loss", "time")},
        },
    ),
    "letters before numbers with totals": (
        "".join(f"| E{e}/3 S{k}/4 | loss=2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"epoch": TWELVE, "loss": TWELVE},
    ),
    "an index glued to what it counts": (
        "".join(f"epoch= {e} batchnum= {k} loss= tensor(2.{e}{k})\n" for e in EPOCHS for k in BATCHES),
        {"epoch": TWELVE, "loss": TWELVE},
    ),
    "the cost on an iteration of an epoch": (
        "".join(
            f"Epoch {e}: Cost on iteration {4 * e + k - 4} is 2.{e}{k}\n" for e in EPOCHS for k in BATCHES
        ),
        {"Epoch": TWELVE, "Cost": TWELVE},
    ),
    "an index right behind the epoch": (
        "".join(f"[Epoch: {e}, i: {k}] loss: 2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"Epoch": TWELVE, "loss": TWELVE},
    ),
    "an epoch behind an @": (
        "".join(f"batch {b:03d}/100 @epoch{n}/6 loss: 0.{n}\n" for n in N for b in (20, 40)),
        {name: [100 * n + b for n in N for b in (20, 40)] for name in ("epoch", "loss")},
    ),
    "a batch behind a sign for numbers": (
        "".join(
            f"2024-04-25 15:1{batch}:57 [INFO ] [{n}/50] #{batch}0 clf_loss: 0.86, total_loss:1.8{batch}\n"
            for n in range(1, 3)
            for batch in range(1, 4)
        ),
        {name: [10, 20, 30, 40, 50, 60] for name in ("clf_loss", "total_loss")},
    ),
    "a batch with its total, whose name is that of an epoch elsewhere": (
        "".join(
            f"   TRAIN Batch {batch:04d}/1000, Loss    9.{batch}, KL-Loss    0.0517\n"
            + (f"   TRAIN Epoch {n:02d}/8, Mean Negative ELBO    5.8\n" if batch == 1000 else "")
            for n in range(2)
            for batch in (500, 1000)
        ),
        {
            "Loss": [500, 1000, 1500, 2000],
            "KL-Loss": [500, 1000, 1500, 2000],
            "Mean Negative ELBO": [1000, 2000],
        },
    ),
    "an epoch and its iteration glued to their words": (
        "".join(f"epoch{n}, iter{batch}, loss: 3.6{n}\n" for n in range(2) for batch in (0, 10, 20)),
        {name: [0, 10, 20, 21, 31, 41] for name in ("epoch", "loss")},
    ),
    "per cents of epochs before those of batches": (
        "".join(
            f"INFO  Train:    {n}/80 (  {n}%) [{batch:3}/928 ( {batch // 93:2}%)]  Loss: 5.1 (5.2)\n"
            for n in range(1, 5)
            for batch in (0, 500)
        ),
        {
            "epoch": [0, 500, 928, 1428, 1856, 2356, 2784, 3284],
            "Loss": [0, 500, 928, 1428, 1856, 2356, 2784, 3284],
        },
    ),
    "an epoch and a batch in brackets": (
        "".join(
            f"[{n}: {batch}/100] train loss: 2.{n} accuracy: 0.06\n" for n in range(3) for batch in (0, 50)
        ),
        {name: [0, 50, 100, 150, 200, 250] for name in ("epoch", "train loss", "accuracy")},
    ),
    "a batch with any name": (
        "".join(f"Train Epoch: {n} dl: {batch}/40 Loss: 5.{n}\n" for n in range(1, 5) for batch in (0, 20)),
        {name: [0, 20, 40, 60, 80, 100, 120, 140] for name in ("Train Epoch", "Loss")},
    ),
    "an epoch with its total behind batches with theirs": (
        "".join(
            f"Train: [ {n}/4] Step 100/100 Loss 0.5\nTrain: [ {n}/4] Final Loss 0.4\n"
            f"Valid: [ {n}/4] Final Accuracy 0.3\n"
            for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("Loss", "Final Loss", "valid/Final Accuracy")},
    ),
    "a batch before a bar": (
        "".join(f"Epoch: {n}/4 | lr: 2e-4\n[0050/0100]| Loss pose:9.6{n} force:1.0\n" for n in range(1, 5)),
        {"lr": [1, 50, 150, 250], "Loss pose": [50, 150, 250, 350], "force": [50, 150, 250, 350]},
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
    "batches of a range": (
        "".join(
            f"INFO:root:Epoch[{n}] Batch [{batch}-{batch + 20}]\tSpeed: 23.1 samples/sec\tacc=0.{batch + 1}\n"
            for n in range(2)
            for batch in (0, 20, 40)
        ),
        {name: [20, 40, 60, 80, 100, 120] for name in ("Epoch", "Speed", "acc")},
    ),
    "batches of an epoch behind the name of a network and a sign": (
        "".join(
            f"unet epoch: {n} batch:{batch} loss:{n}.{batch}\n" for n in range(1, 4) for batch in range(4)
        ),
        {"loss": [*range(12)], "unet epoch": [*range(12)]},
    ),
    "the same in brackets": (
        "".join(
            f"unet epoch: {n} [{batch}/4] loss:{n}.{batch}\n" for n in range(1, 4) for batch in range(1, 5)
        ),
        {"loss": [*range(1, 13)], "unet epoch": [*range(1, 13)]},
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
            **{name: [319, 639] for name in ("epoch/L1_loss", "time")},
        },
    ),
    "an epoch and a batch without a space between them": (
        "".join(f"[{n},{batch}] loss:1.5\n" for n in (1, 2) for batch in (100, 200)),
        {"loss": [100, 200, 300, 400], "epoch": [100, 200, 300, 400]},
    ),
    "a batch far behind its loss": (
        "".join(
            "".join(f"train loss 2.5 at batch                 {batch}\n" for batch in (100, 200, 300))
            + f"...start evaluation\nepoch {n} validation sdr 3.{n}\n"
            for n in range(2)
        ),
        {"train loss": [*range(100, 700, 100)], "validation sdr": [300, 600]},
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
    "what is counted has the name of a metric before it": (
        "".join(
            f"Loss during epoch {n} / 6, batch {at} / 20: batch loss = {9 - n}.{at}, lr = 0.001\n"
            for n in range(1, 7)
            for at in (5, 15)
        ),
        {name: [at + 20 * n for n in range(6) for at in (5, 15)] for name in ("batch loss", "epoch", "lr")},
    ),
    "batches within an epoch that name the data": (
        "".join(f"train: {n} @ epoch:0/160 loss: 3.5 cls_loss: 0.{n}\n" for n in range(1, 4)),
        {"epoch": [1, 2, 3], "loss": [1, 2, 3], "cls_loss": [1, 2, 3]},
    ),
    "an epoch in brackets before its steps": (
        "".join(
            f"10:00:0{n} Train: [ {n}/3] Step {step:03}/335 Loss 7.9\n"
            for n in range(1, 4)
            for step in (50, 100, 335)
        ),
        {"Loss": [50, 100, 335, 385, 435, 670, 720, 770, 1005]},
    ),
    "an epoch and a batch with its total in brackets": (
        "".join(
            f"INFO:root:[1,  {n}0/ 256] - train_losses - Class: 6.0 - Loss (total): 4.5\n"
            for n in range(1, 4)
        ),
        {name: [10, 20, 30] for name in ("epoch", "Class", "Loss (total)")},
    ),
}
CASES = EPOCHS_AND_STEPS | BATCHES


@pytest.mark.parametrize("case", CASES)
def test_positions_are_read_in_each_form(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_no_case_has_the_name_of_another() -> None:
    assert len(CASES) == len(EPOCHS_AND_STEPS) + len(BATCHES)


@pytest.mark.parametrize("left", ["", "(- 7m {0}s) "])
@pytest.mark.parametrize("name", ["", "training loss = "])
@pytest.mark.parametrize("prefix", ["", "INFO-->2026-01-02 10:00:00,123-->"])
def test_losses_behind_times_a_step_and_its_per_cent(
    tmp_path: Path, left: str, name: str, prefix: str
) -> None:
    text = "".join(f"{prefix}0m 2{n}s {left.format(n)}({n}000 {n}0%) {name}3.{n}\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1000, 2000, 3000]}


def test_ordinals_count_what_follows_them(tmp_path: Path) -> None:
    text = "".join(
        f"{epoch}th epoch, {batch}th mini-batch, loss is 9.{batch}, lreg is 5.9, outputs are\n"
        for epoch in range(3)
        for batch in (9, 19, 29)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["loss"] == steps["lreg"]
    assert steps["loss"] == sorted(set(steps["loss"]))
    assert len(steps["loss"]) == 9


@pytest.mark.parametrize("writer", ["DEBUG:root:@rank0 ", "(worker3) ", "GPU1 "])
def test_who_prints_may_be_before_the_epoch(tmp_path: Path, writer: str) -> None:
    text = "".join(f"{writer}Epoch: {n}\t<2026-01-14 15:08:4{n}> loss: 0.{n}\n" for n in range(1, 4))
    (steps,) = steps_of(read_log(tmp_path, text)).values()
    assert steps == [*range(1, 4)]


def test_a_ratio_behind_a_per_cent_is_a_position(tmp_path: Path) -> None:
    text = "".join(
        f"Training [==   ] {n}0.0% {n}00/1000 | 4.6 it/s | ETA: 9.5 s | loss=0.{n} | val_loss=1.{n}\n"
        for n in range(1, 4)
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [100, 200, 300], "val_loss": [100, 200, 300]}


def test_a_pair_before_a_name_counts_the_batches_of_an_epoch(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"2026-01-02 10:00:00,123 INFO {at}/2 MIL Loss: 0.{at}\n" for at in range(3))
        + f"2026-01-02 10:00:00,456 INFO Epoch {n}/9: auc:0.{n} | m=0.5\n"
        for n in range(2)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"MIL Loss": [0, 1, 2, 3, 4, 5], "auc": [2, 5], "m": [2, 5]}


def test_an_iteration_in_brackets_before_batches_is_an_epoch(tmp_path: Path) -> None:
    text = "".join(
        f"[10:00:0{n}] - Iter: [{n}][{at}/4]\tLoss 0.{n}{at} (0.5)\n" for n in range(3) for at in (0, 2)
    )
    assert steps_of(read_log(tmp_path, text))["Loss"] == [0, 2, 4, 6, 8, 10]
