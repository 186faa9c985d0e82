"""Lines as widespread libraries and repositories print them: every number at its step, in one attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)

OPENING = (
    "Namespace(lr=0.1, batch_size=64)\nLoading data from disk ...\nBuilding the model\nUsing device cuda\n"
)
KERAS = "100/100 [==============================] - 2s 12ms/step - loss: 1.2 - val_loss: 1.3\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "an epoch before a bar": (
        "".join(
            f"{n}/4 * Epoch (train): 100% 391/391 [00:1{n}<00:00, 29.9it/s, acc=92.500, loss=0.{n}]\n"
            f"{n}/4 * Epoch {n} (train): acc=91.2{n} | loss=0.4{n}\n"
            f"{n}/4 * Epoch {n} (valid): acc=90.1{n} | loss=0.5{n}\n"
            for n in N
        ),
        {
            name: [391, 782, 1173, 1564]
            for name in ("acc", "loss", "epoch/acc", "epoch/loss", "valid/acc", "valid/loss")
        },
    ),
    "the data before what is counted in parentheses": (
        "".join(
            f"train ({n}/4) loss: 1.9{n} | lr: 0.001\nvalid ({n}/4) accuracy: 0.2{n} | loss: 2.1{n}\n"
            f"* Epoch ({n}/4) \n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "lr", "valid/accuracy", "valid/loss")},
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
    "a program that trains an epoch at a time": (
        "".join(f"Iteration {n}\nEpoch 1/1\n{KERAS}" for n in N),
        {name: [0, 1, 2, 3] for name in ("loss", "val_loss")},
    ),
    "a dictionary whose keys are numbers": (
        "".join(
            f"epoch {n}, loss 1.{n}\nper class iou: {{0: 0.6{n}, 1: 0.{n}, 2: 0.3}} mean iou 0.33\n"
            for n in N
        ),
        {
            name: [*N]
            for name in ("loss", "per class iou/0", "per class iou/1", "per class iou/2", "mean iou")
        },
    ),
    "names of a letter without signs": (
        "".join(f"=== Epoch {n} ===\nTraining loss: 2.{n}\nDev: P 0.81 R 0.7{n} F1 0.76\n" for n in N),
        {name: [*N] for name in ("Training loss", "dev/P", "dev/R", "dev/F1")},
    ),
    "nothing but the data and a loss": (
        "".join(f"Epoch #{n}\nTrain: 0.98{n}\nValidation: 51.7{n}\n" for n in N),
        {name: [*N] for name in ("Train", "Validation")},
    ),
    "a batch behind a sign for numbers": (
        "".join(
            f"2024-04-25 15:1{batch}:57 [INFO ] [{n}/50] #{batch}0 clf_loss: 0.86, total_loss:1.8{batch}\n"
            for n in range(1, 3)
            for batch in range(1, 4)
        ),
        {name: [10, 20, 30, 40, 50, 60] for name in ("clf_loss", "total_loss")},
    ),
    "steps behind their total before a rate that is a whole number": (
        "".join(f"|    5{n}000/  100000 steps| 140{n}7.00 tokens/s| loss    2.1{n}\n" for n in N),
        {name: [51000, 52000, 53000, 54000] for name in ("tokens/s", "loss")},
    ),
    "a score of two words behind the training": (
        "".join(f"Epoch {n}/4\n{KERAS}" for n in N)
        + "Predicting masks on test data...\nMean Dice Coeff :  0.0551\n",
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3], "test/Mean Dice Coeff": [3]},
    ),
    "an evaluation below a heading in colour": (
        "".join(
            f"\x1b[1m   --> TIME: 2023-01-01 12:0{n}:11 -- STEP: {n}/406 -- GLOBAL_STEP: {n}\x1b[0m\n"
            f"     | > loss_disc: 2.{n}  (1.3)\n\n\x1b[1m > EVALUATION \x1b[0m\n\n"
            "  \x1b[1m--> EVAL PERFORMANCE\x1b[0m\n"
            f"     | > avg_loss_disc:\x1b[91m 0.6{n} \x1b[0m(+0.01)\n"
            for n in N
        ),
        {name: [*N] for name in ("loss_disc", "eval/avg_loss_disc")},
    ),
    "a table of classes without lines between the cells": (
        "".join(
            f"Epoch {n} loss 0.{n}\nClass     IoU    Acc\nroad      0.42{n}  0.47\n"
            f"traffic light  0.77{n}  0.02\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("loss", "eval/road/IoU", "eval/road/Acc", "eval/traffic light/IoU"),
                "eval/traffic light/Acc",
            )
        },
    ),
    "tables of a detector's classes below headings, without bars or losses": (
        "".join(
            f"Epoch: {n}\n"
            "                 Class     Images  Instances          P          R     mAP@.5 mAP@.5:.95\n"
            f"                   all         40         52    0.6{n}      0.5{n}       0.61   4.{n}2e-05\n"
            for n in N
        ),
        {f"eval/all/{name}": [*N] for name in ("P", "R", "mAP@.5", "mAP@.5:.95")},
    ),
    "such tables whose names are indented": (
        "".join(
            f"Epoch {n} loss 0.{n}\nEvaluation on subtest dataset: 13128\nregression: \n"
            f"         MJE PA_MJE\nright  21.38   7.9{n}\nMean Pose: \n"
            f"                       MCE    ADD01d\n002_chef_can    115.{n}  0.82%\n"
            for n in N
        ),
        {
            name: [*N]
            for name in (
                *("loss", "eval/right/MJE", "eval/right/PA_MJE", "eval/002_chef_can/MCE"),
                "eval/002_chef_can/ADD01d",
            )
        },
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
    "amounts of money": (
        "".join(f"step=   {n}000 | capital=$ 1286.2{n} | loss=0.0057{n}\n" for n in N),
        {name: [1000, 2000, 3000, 4000] for name in ("capital", "loss")},
    ),
    "short forms in parentheses": (
        "".join(
            f"Epoch {n} Dev Evaluation Results\n  Micro-F1 (Mi-F): 0.44{n}\n  Macro-F1 (Ma-F): 0.2302\n"
            for n in N
        ),
        {name: [*N] for name in ("Micro-F1 (Mi-F)", "Macro-F1 (Ma-F)")},
    ),
    "an index before an equals sign": (
        "".join(
            f"Epoch{n} [0/78] Stage 0 = 39.{n}(39)\tStage 1 = 38.{n}(38)\tStage 2 = 1.{n}(1)\n" for n in N
        ),
        {name: [0, 78, 156, 234] for name in ("Epoch", "Stage 0", "Stage 1", "Stage 2")},
    ),
    "an epoch and its total in brackets before unknown names": (
        "epoch | d_loss | g_loss | g_lr | d_lr \n"
        + "".join(f"[{n:03d}/100] D: 0.64{n} | G: 0.8379 | g_lr=0.000200 | d_lr=0.000025 \n" for n in N),
        {name: [*N] for name in ("D", "G", "g_lr", "d_lr")},
    ),
    "evaluations that are printed behind the bars of later steps": (
        "".join(f"Training: {n}0%|#| {n}000/4000 [14:43<00:00, 33.97it/s, Loss=0.037{n}]\r" for n in N)
        + "\n"
        + "".join(f"\n[ITER {n}000] Evaluating test: L1 0.0{n} PSNR 19.92 [22/06 10:48:10]\n" for n in N),
        {name: [1000, 2000, 3000, 4000] for name in ("Loss", "test/L1", "test/PSNR")},
    ),
    "the number before a change and that after it": (
        "".join(
            f"[{n}00/9000] batch loss : 6.3{n} | time : 0.16s\n"
            f"[{n}00/9000] mean test loss : 6.3{n} -> 5.7{n} by 1 grad steps\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("batch loss", "time", "mean test loss", "mean test loss 2")},
    ),
    "a heading of an evaluation right below a record": (
        "".join(
            f"[Epoch: {n}, numImages:  1464]\nLoss: 16.{n}\nValidation:\n[Epoch: {n}, numImages:  1449]\n"
            f"Acc:0.9{n}, mIoU:0.7{n}\nLoss: 2.{n}\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "validation/Acc", "validation/mIoU", "validation/Loss")},
    ),
    "the size of a batch behind a tick": (
        "".join(f"tick {n}     kimg {n}.1      lod 0.00  minibatch 32   sec/tick 12.1\n" for n in N),
        {name: [*N] for name in ("tick", "kimg", "lod", "sec/tick")},
    ),
    "a bar of an epoch before the step of all": (
        "".join(f"{n}/3000 (  0.0{n}%) itr: {500 + n}, G_loss : +2.1{n}, D_loss_real : +0.8\n" for n in N),
        {name: [501, 502, 503, 504] for name in ("G_loss", "D_loss_real")},
    ),
    "words that say that an epoch begins": (
        "".join(
            f"==> Start Training Epoch {n}, lr=0.010000 ...\n"
            f"loss=0.00{n}1 (0.0021), lr=0.009: : 100% 100/100 [00:05<00:00, 18.2it/s]\n"
            f"==> Finished Epoch {n}.\n++> Evaluate at epoch {n} ...\nPSNR = 2{n}.12\n"
            for n in N
        ),
        {
            "loss": [100, 200, 300, 400],
            "lr": [1, 100, 200, 300, 400],
            "epoch/lr": [100, 200, 300],
            "evaluate/PSNR": [100, 200, 300, 400],
        },
    ),
    "steps in brackets before unknown names": (
        "".join(
            f"[step{n * 3200:8d}] pg=-0.05{n}  vf=27.5{n}  ent=3.42\n"
            f"  [eval] return=12{n}.3±168.1  win_rate=0.1{n}\n"
            for n in N
        ),
        {
            name: [3200, 6400, 9600, 12800]
            for name in ("pg", "vf", "ent", "eval/return", "eval/return (std)", "eval/win_rate")
        },
    ),
    "an epoch in brackets with a letter": (
        "".join(f"[E{n:02d}] train_mse=0.6{n}  val: MAE=2.9{n} R2=0.3898  (34.8s)\n" for n in N),
        {name: [*N] for name in ("train_mse", "val/MAE", "val/R2")},
    ),
    "a record glued to the bar of its epoch": (
        "".join(
            f"  {n}%|          | {n}/100 [31:27<51:54:28, 1887.57s/it]Epoch {n + 1}, Training loss: 3.9{n}\n"
            for n in N
        ),
        {"Training loss": [2, 3, 4, 5]},
    ),
    "settings below the heading of each epoch": (
        "".join(
            f"Epoch {n}/4\n----------Current Parameters----------\nis use GPU: True\nmodel_type: resnet50\n"
            f"name of the data set: cifar\n[12:13:0{n}]\tTraining Batch[5/5]\t Class Loss: 7.0{n}\t\n"
            for n in N
        ),
        {"Class Loss": [5, 10, 15, 20]},
    ),
    "an evaluation of Keras behind the training": (
        "".join(f"Epoch {n}/4\n{KERAS}" for n in N)
        + "84/84 [==============================] - 23s 27ms/step - loss: 41.9264\n",
        {"loss": [0, 1, 2, 3], "val_loss": [0, 1, 2, 3], "eval/loss": [3]},
    ),
    "results of KITTI": (
        "".join(
            f"2026-03-25 17:51:57,243   INFO  Test Epoch {n}\n2026-03-25 17:53:24   INFO  ==> Saving\n"
            f"2026-03-25 17:53:52,875   INFO  Car AP_R40@0.70, 0.50, 0.50:\nbev  AP:1.78, 2.35, 2.3{n}\n"
            "2026-03-25 17:53:54,881   INFO  Best Result:0.0006, epoch:1\n"
            for n in N
        ),
        {
            "Best Result": [1],
            **{
                f"val/Car AP_R40@0.70,0.50,0.50/bev {difficulty}": [*N]
                for difficulty in ("easy", "moderate", "hard")
            },
        },
    ),
    "batches between dashes below an epoch": (
        "".join(
            f"**** EPOCH 00{n} ****\nCurrent learning rate: 0.001000\n"
            + "".join(
                f" ---- batch: 0{batch}0 ----\nmean loss/overall_loss: 1.7{batch}\n"
                f"mean objectness_prec: 0.57{batch}\n"
                for batch in (1, 2)
            )
            + f"eval mean loss: 0.{n}12\n"
            for n in range(2)
        ),
        {
            "Current learning rate": [0, 20],
            "mean loss/overall_loss": [10, 20, 30, 40],
            "mean objectness_prec": [10, 20, 30, 40],
            "eval mean loss": [20, 40],
        },
    ),
    "metrics of StyleGAN in JSON between its ticks": (
        "".join(
            f"tick {n}     kimg {n}.0      sec/tick 21.1    augment 0.000\nEvaluating metrics...\n"
            f'{{"results": {{"fid50k_full": 24{n}.7}}, "metric": "fid50k_full", "total_time": 98.05}}\n'
            for n in N
        ),
        {name: [*N] for name in ("tick", "kimg", "sec/tick", "augment", "eval/fid50k_full")},
    ),
    "the ends of lines cleared before rows": (
        "epoch       main/loss   validation/main/loss\n"
        + "".join(f"\x1b[J{n}           0.7{n}    0.9{n}\n" for n in N),
        {name: [*N] for name in ("main/loss", "validation/main/loss")},
    ),
    "a bar below epochs in the plural": (
        "".join(
            f"Epochs {n}/4. Running Loss:    1.2{n}: 100%|#| 100/100 [00:10<00:00,  8.1it/s]\n"
            for n in range(4)
        ),
        {"Running Loss": [100, 200, 300, 400]},
    ),
    "a step in parentheses behind brackets": (
        "".join(f"[proc 0][Train]({n}00/1000) average pos_loss: 2.4{n}\n" for n in N),
        {"average pos_loss": [100, 200, 300, 400]},
    ),
    "names that begin with a number": (
        "".join(
            f"[{n}] time=1.23, avg_loss=1.4{n}\nEval: 16_h1=2.1{n}, 32_h1=1.3{n}, 1px: 0.8{n}\n" for n in N
        ),
        {name: [*N] for name in ("time", "avg_loss", "eval/16_h1", "eval/32_h1", "eval/1px")},
    ),
    "tuples of names and numbers": (
        "".join(f"('Epoch: ', {n}, ' Loss: ', 1.0{n}, 'acc', 0.{n})\n" for n in N),
        {name: [*N] for name in ("Loss", "acc")},
    ),
    "rows of a notebook without a loss": (
        "Step\tTraining Loss\tValidation Loss\n"
        + "".join(f"{n}00\t{'No log' if n < 3 else '0.5'}\t1.2{n}\n" for n in N),
        {"Training Loss": [300, 400], "Validation Loss": [100, 200, 300, 400]},
    ),
    "an epoch behind an underscore": (
        "".join(f"epoch_{n}: train_loss=1.5{n}, val_loss=1.57\n" for n in N),
        {name: [*N] for name in ("train_loss", "val_loss")},
    ),
    "tables of a metric per row": (
        "".join(
            f"       Epoch {n}       \n┏━━━━━━━━┳━━━━━━━┓\n┃ Metric ┃ Value ┃\n┡━━━━━━━━╇━━━━━━━┩\n"
            f"│ loss   │ 1.9{n}  │\n│ acc    │ 0.{n}   │\n└────────┴───────┘\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "acc")},
    ),
    "tables of the data per row": (
        "".join(
            f"       Epoch {n}       \n┃ Split ┃ Loss ┃ Acc ┃\n"
            f"│ train │ 1.2{n} │ 0.{n} │\n│ val   │ 2.2{n} │ 0.1 │\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "Acc", "val/Loss", "val/Acc")},
    ),
    "the lines of epochs behind steps that begin anew": (
        "".join(
            "".join(f"Iter: {step:03d}, Train Loss: 0.8{n}, Train MAPE: 0.0123\n" for step in (0, 50, 100))
            + f"Epoch: 00{n}, Inference Time: 1.2 s\nEpoch: 00{n}, Train Loss: 3.1{n}, Valid Loss: 3.0{n}\n"
            for n in (1, 2)
        ),
        {
            "Train Loss": [0, 50, 100, 101, 151, 201],
            "Train MAPE": [0, 50, 100, 101, 151, 201],
            "epoch/Train Loss": [100, 201],
            "Valid Loss": [100, 201],
        },
    ),
    "data and their losses in one name": (
        "".join(f"Epoch {n}: loss (train/val) 1.9{n}/0.76\n" for n in N),
        {name: [*N] for name in ("loss/train", "loss/val")},
    ),
    "the same of other data in parentheses": (
        "".join(f"Epoch {n}: loss 2.3{n} (val 2.08), acc 0.1 (val 0.11)\n" for n in N),
        {name: [*N] for name in ("loss", "loss/val", "acc", "acc/val")},
    ),
    "runs of an optimiser": (
        "".join(f"run [{n}0]:\nStyle Loss : 0.55{n} Content Loss: 1.018\n\n" for n in N),
        {name: [10, 20, 30, 40] for name in ("Style Loss", "Content Loss")},
    ),
    "a row in colour below lines of dashes": (
        "  epoch    train loss    valid loss\n-------  ------------  ------------\n"
        + "".join(f"      {n}       \x1b[36m0.90{n}\x1b[0m       \x1b[32m2.2{n}\x1b[0m\n" for n in N),
        {name: [*N] for name in ("train loss", "valid loss")},
    ),
    "the numbers of all data": (
        "".join(f"Epoch  {n} Update  {n}0 Cost  1.53\nTrain 0.1{n} Valid 0.12 Test 0.13\n" for n in N),
        {name: [10, 20, 30, 40] for name in ("Epoch", "Cost", "Train", "Valid", "Test")},
    ),
    "horizons of a forecast": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "Horizon 01, MAE: 2.67, RMSE: 5.12\nHorizon 02, MAE: 2.97, RMSE: 5.92\n",
        {
            "loss": [*N],
            **{f"{name}/horizon={number}": [4] for number in (1, 2) for name in ("MAE", "RMSE")},
        },
    ),
    "bars of an evaluation that are empty": (
        "".join(
            f"  Epoch 00{n} [Train]:   0%|          | 0/20 [00:00<?, ?it/s]\r"
            f"  Epoch 00{n} [Train]: 100%|##########| 20/20 [06:28<00:00,  3.19s/it, loss=1.{n}]\r"
            f"  Epoch 00{n} [Val]  :   0%|          | 0/5 [00:00<?, ?it/s]\r"
            f"  Epoch 00{n} [Val]  : 100%|##########| 5/5 [01:07<00:00,  2.40s/it, loss=0.9{n}]\r     \r"
            f"2026-05-08 22:49:56 | INFO | Epoch [00{n}/4] TrainLoss=1.8{n} | ValLoss=1.30 | LR=1.00e-04\n"
            for n in N
        ),
        {name: [20, 40, 60, 80] for name in ("loss", "val/loss", "TrainLoss", "ValLoss", "LR")},
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
    "episodes in brackets": (
        "".join(f"  [   {n}000 eps] reward=-0.7{n}+/-0.650  steps=10000.0  action_time=0.033ms\n" for n in N),
        {name: [1000, 2000, 3000, 4000] for name in ("reward", "reward (std)", "steps", "action_time")},
    ),
    "an epoch and its iteration glued to their words": (
        "".join(f"epoch{n}, iter{batch}, loss: 3.6{n}\n" for n in range(2) for batch in (0, 10, 20)),
        {name: [0, 10, 20, 21, 31, 41] for name in ("epoch", "loss")},
    ),
    "columns behind a logger's time": (
        "[2022/02/21 14:22:58] - Epoch \t LR \t \t Train Loss \t Test Acc\n"
        + "".join(f"[2022/02/21 14:26:1{n}] - {n} \t 0.1000 \t 2.0{n} \t \t 0.26\n" for n in N),
        {name: [*N] for name in ("LR", "Train Loss", "Test Acc")},
    ),
    "a per cent behind a step": (
        "".join(f"[ {n}00/3000]   {n}.3%   train=3.2{n}   val=3.3   elapsed=12s     best!\n" for n in N),
        {name: [100, 200, 300, 400] for name in ("train", "val")},
    ),
    "two losses between which is nothing but a letter": (
        "".join(f"[{n}/5] D loss 1.2{n} G loss 1.3{n}\n" for n in N),
        {name: [*N] for name in ("D loss", "G loss")},
    ),
    "steps that begin anew with each episode": (
        "".join(f"Episode {n}\n" + "".join(f"step {step} reward 0.8{n}\n" for step in (0, 10)) for n in N),
        {"reward": [0, 10, 11, 21, 22, 32, 33, 43]},
    ),
    "a name behind its number": (
        "".join(
            f"Training Epoch {n}  ┃ Batch: {batch} ended with 0.5{batch} loss.\n"
            for n in (1, 2)
            for batch in (1, 2)
        ),
        {name: [1, 2, 3, 4] for name in ("Training Epoch", "loss")},
    ),
    "the checkpoint that was loaded": (
        "Initialized from checkpoints/best.pt  (epoch 19, val MSE 0.027752)\n"
        + "".join(f"Epoch {n}: loss 0.{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "results of Pascal VOC": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N) + "AP for car = 0.7123\nMean AP = 0.6512\n",
        {"loss": [*N], "test/car/AP": [4], "test/Mean AP": [4]},
    ),
    "a bar with a name without a sign": (
        "\r".join(f"loss 1.{n}:  {n}%|#   | {n}/100 [00:01<01:12,  1.2it/s]" for n in N) + "\n",
        {"loss": [*N]},
    ),
    "the data on a line of their own": (
        "".join(
            f"Epoch: {n}\nTrain\n\tLoss: 1.1{n}\n\tAcc: 0.{n}\nTest\n\tLoss: 0.6{n}\n\tAcc: 0.{n}\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "Acc", "test/Loss", "test/Acc")},
    ),
    "names of columns in two lines": (
        "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Base Learning  |\n"
        "|         |             |   (hh:mm:ss)   |     Loss     |      Rate       |\n"
        + "".join(f"| {n}  |      {n}0 |       00:00:0{n} |       1.5{n} |          0.0100 |\n" for n in N),
        {name: [10, 20, 30, 40] for name in ("Epoch", "Mini-batch Loss", "Base Learning Rate")},
    ),
    "what a metric is of, behind the training": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "Accuracy of the network on the test images: 97.45%\nAccuracy of   car : 71 %\n",
        {"loss": [*N], "Accuracy of the network on the test images": [4], "Accuracy of car": [4]},
    ),
    "steps glued to their word": (
        "1 epoch = 82 batches\n" + "".join(f"step{n}00, loss: 10.9{n}, lr: 1.00e-04\n" for n in N),
        {name: [100, 200, 300, 400] for name in ("loss", "lr")},
    ),
    "the parts of a model and their sizes": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N)
        + "   | Name | Type           | Params | Mode\n2  | acc  | BinaryAccuracy | 0      | train\n",
        {"loss": [*N]},
    ),
    "several lines of an epoch that name it alone, where the program opens once": (
        OPENING + "".join(f"Epoch {n} loss {n}.{line}\n" for n in N for line in range(10)),
        {"loss": [*range(1, 41)]},
    ),
    "per cents of epochs before those of batches": (
        "".join(
            f"INFO  Train:    {n}/80 (  {n}%) [{batch:3}/928 ( {batch // 93:2}%)]  Loss: 5.1 (5.2)\n"
            for n in N
            for batch in (0, 500)
        ),
        {
            "epoch": [0, 500, 928, 1428, 1856, 2356, 2784, 3284],
            "Loss": [0, 500, 928, 1428, 1856, 2356, 2784, 3284],
        },
    ),
    "names with a rank in them": (
        "".join(f"Epoch: [{n}/300]\t Top 1-err 60.1  Top 5-err 10.1\t Train Loss 2.3\n" for n in N),
        {name: [*N] for name in ("Top 1-err", "Top 5-err", "Train Loss")},
    ),
    "an epoch and a batch in brackets": (
        "".join(
            f"[{n}: {batch}/100] train loss: 2.{n} accuracy: 0.06\n" for n in range(3) for batch in (0, 50)
        ),
        {name: [0, 50, 100, 150, 200, 250] for name in ("epoch", "train loss", "accuracy")},
    ),
    "two names of one word": (
        "".join(
            f"Updates {n}0, num timesteps {n}2800, FPS 900 \n"
            " Last 10 training episodes: mean/median reward 12.3/11.0, min/max reward 5.0/20.0\n\n"
            for n in N
        ),
        {f"{name} reward": [10, 20, 30, 40] for name in ("mean", "median", "min", "max")},
    ),
    "training and test of one word": (
        "".join(f"[Step {n}00] Train / Test accuracy: 0.91{n} / 0.90\n" for n in N),
        {name: [100, 200, 300, 400] for name in ("Train accuracy", "Test accuracy")},
    ),
    "a rate whose name ends in step": (
        "".join(f"fps step: 12{n}00 fps total: 9000 epoch: {n}/500 frames: {n}6384\n" for n in N),
        {name: [*N] for name in ("epoch", "frames", "fps step", "fps total")},
    ),
    "blocks below an epoch and a batch between dashes": (
        "".join(
            f"---- [Epoch {n}/100, Batch {batch}/2] ----\nTotal loss 36.{n}\n"
            for n in N
            for batch in range(2)
        ),
        {"Total loss": [*range(8)]},
    ),
    "a heading with a name and a date around the step": (
        "".join(
            f"=== RUN first STEP {n}00 @ 2025-12-05 22:16:09 ===\ntrain loss: 1.5{n}\nval   loss: 1.4\n"
            for n in N
        ),
        {"train loss": [100, 200, 300, 400], "val/loss": [100, 200, 300, 400]},
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
    "a clock of twelve hours": (
        "".join(
            f"11/25 12:00:00 PM epoch {n} lr 2.5e-02\n11/25 12:10:00 PM train_acc 12.{n}\n"
            "11/25 12:11:00 PM valid_acc 11.1\n"
            for n in N
        ),
        {name: [*N] for name in ("lr", "train_acc", "valid_acc")},
    ),
    "tuples of a name and a number": (
        "".join(
            f"epoch: 0/50, data_slice: 0/1, step_in_epoch: {n}0, total step: {n}0, (lr: 1.0e-05), "
            f"[('loss_att', 1.{n}), ('acc', 0.7)]\n"
            for n in N
        ),
        {name: [10, 20, 30, 40] for name in ("epoch", "lr", "loss_att", "acc")},
    ),
    "a unit at the end of a sentence": (
        "".join(f"Step: {n}2000. Time Elapsed: 12.{n} s. Mean Reward: 1.2. Training.\n" for n in N),
        {name: [12000, 22000, 32000, 42000] for name in ("Time Elapsed", "Mean Reward")},
    ),
    "a name with a stroke, like a unit": (
        "".join(f"Epoch: 0 Update: {n}000 Loss/word: 6.{n} Words/sec: 3000.1\n" for n in N),
        {name: [1000, 2000, 3000, 4000] for name in ("Epoch", "Loss/word", "Words/sec")},
    ),
    "the prefix of absl": (
        "".join(
            f"I1125 12:00:00.123 140 run_experiment.py:400] Starting iteration {n}\n"
            f"I1125 12:00:01.123 140 run_experiment.py:331] Average return per training episode: 12.{n}\n"
            for n in N
        ),
        {"Average return per training episode": [*N]},
    ),
    "a function between the file and the line": (
        "".join(f"root | INFO | train.py:<module>:213 | [1, {n}000] loss: 2.{n}\n" for n in N),
        {"epoch": [1000, 2000, 3000, 4000], "loss": [1000, 2000, 3000, 4000]},
    ),
    "global steps as a heading": (
        "".join(
            f"INFO - Validation Results\nINFO - Global Steps: {n}00\nINFO - Valid Loss: 0.{n}\n" for n in N
        ),
        {"Valid Loss": [100, 200, 300, 400]},
    ),
    "the data that are evaluated": (
        "".join(
            f"[ITER {n}000] Evaluating test: L1 0.0{n} PSNR 24.1\n"
            f"[ITER {n}000] Evaluating train: L1 0.02 PSNR 28.1\n"
            for n in N
        ),
        {
            f"{data}/{name}": [1000, 2000, 3000, 4000]
            for data in ("test", "eval/train")
            for name in ("L1", "PSNR")
        },
    ),
    "lists of several evaluations": (
        "".join(f"step: {n}0 \ttraining acc: [0.1 0.2]\nTest acc: [0.{n} 0.4]\n" for n in N),
        {name: [10, 20, 30, 40] for name in ("training acc", "training acc 2", "Test acc", "Test acc 2")},
    ),
    "any name before the step of an evaluation": (
        "".join(
            f"2025-12-03 19:02:01,701 INFO     Training average loss at step {n}00: 2.3\n"
            f"2025-12-03 19:02:02,701 INFO     Valid MR at step {n}00: 70{n}.9\n"
            f"2025-12-03 19:02:02,702 INFO     Valid HITS@10 at step {n}00: 0.00{n}\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("Training average loss", "Valid MR", "Valid HITS@10")},
    ),
    "numbers in brackets behind a name": (
        "".join(
            f"[Update {n}/4] PolicyLoss=0.8 Adv(mean=0.{n}, std=1.0) GradNorm(P=23.9, V=76.6)\n" for n in N
        ),
        {name: [*N] for name in ("PolicyLoss", "Adv/mean", "Adv/std", "GradNorm/P", "GradNorm/V")},
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
    "epochs of other lengths, each step of which is printed": (
        "".join(
            f"Ep: {epoch}, steps: {step}, D loss: 0.2\n"
            for epoch, steps in enumerate((3, 3, 6, 3, 3))
            for step in range(1, steps + 1)
        ),
        {"Ep": [*range(1, 19)], "D loss": [*range(1, 19)]},
    ),
    "an ordinal number of an epoch in Chinese": (
        "".join(
            f"--------第{n}个epoch--------\n0/100 batch Loss: 0.{n}\n50/100 batch Loss: 0.3\n"
            for n in range(3)
        ),
        {"Loss": [0, 50, 100, 150, 200, 250]},
    ),
    "a sentence in Chinese": (
        "".join(f"Epoch [{n}/30], Loss: 0.9\n当前模型在验证集上的准确率为： 0.6{n}\n" for n in N),
        {"Loss": [*N], "当前模型在验证集上的准确率": [*N]},
    ),
    "scores between vertical lines": (
        "".join(
            f"iter: {n}9  total_loss: 2.{n}\n|   AP   |  AP50  |  APs   |\n|:------:|:------:|:------:|\n"
            f"| 37.91{n} | 58.112 | 21.100 |\n"
            for n in N
        ),
        {
            "total_loss": [19, 29, 39, 49],
            **{f"eval/{name}": [19, 29, 39, 49] for name in ("AP", "AP50", "APs")},
        },
    ),
    "scores of a model between vertical lines": (
        "".join(
            f"Epoch: {n}, loss 0.5\n2019-11-25 12:00:00,123 | Arch | AP | AP (M) |\n"
            f"2019-11-25 12:00:00,123 |---|---|---|\n2019-11-25 12:00:00,123 | pose | 0.{n} | 0.7 |\n"
            for n in N
        ),
        {"loss": [*N], "eval/pose/AP": [*N], "eval/pose/AP (M)": [*N]},
    ),
    "rows with a letter for each name": (
        "".join(
            f"| train | F: {n}000 | S: {n}00 | E: {n} | R: 12.{n} | FPS: 50.1 | T: 0:00:12\n"
            f"| eval  | F: {n}000 | S: {n}00 | E: {n} | R: 13.1 | T: 0:00:14\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("F", "E", "R", "FPS", "eval/F", "eval/E", "eval/R")},
    ),
    "batches of a search without names": (
        "".join(
            f"11/25 12:00:00 PM epoch {n} lr 2.5e-02\n"
            "11/25 12:00:01 PM train 000 2.3e+00 12.500000 50.000000\n"
            "11/25 12:00:02 PM train 050 2.1e+00 14.500000 52.000000\n"
            "11/25 12:00:03 PM valid 000 2.2e+00 13.500000 51.000000\n"
            "11/25 12:00:04 PM valid_acc 13.5\n"
            for n in range(2)
        ),
        {
            "lr": [0, 51],
            **{name: [0, 50, 51, 101] for name in ("loss", "top1", "top5")},
            **{name: [50, 101] for name in ("valid/loss", "valid/top1", "valid/top5", "valid_acc")},
        },
    ),
    "rounds of Flower": (
        "".join(
            f"INFO flwr 2021-11-25 12:00:00,123 | server.py:125 | fit progress: ({n}, 0.5, "
            f"{{'accuracy': 0.7{n}}}, 36.1)\n"
            for n in N
        ),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "data sets of faces": (
        "".join(
            f"Training: 2021-11-25 12:00:00,123-[lfw][{n}000]XNorm: 12.{n}\n"
            f"Training: 2021-11-25 12:00:00,123-[lfw][{n}000]Accuracy-Flip: 0.98{n}+-0.006\n"
            for n in N
        ),
        {f"lfw/{name}": [1000, 2000, 3000, 4000] for name in ("XNorm", "Accuracy-Flip")},
    ),
    "fairseq before it had names of its parts": (
        "".join(
            f"| epoch 00{n}:   500 / 1000 loss=9.{n}, num_updates={n}500, lr=1e-5\n"
            f"| epoch 00{n} | loss 9.1 | num_updates {n}999\n"
            f"| epoch 00{n} | valid on 'valid' subset | loss 8.{n} | num_updates {n}999\n"
            for n in N
        ),
        {
            "loss": [1500, 2500, 3500, 4500],
            "lr": [1500, 2500, 3500, 4500],
            "train_loss": [1999, 2999, 3999, 4999],
            "valid_loss": [1999, 2999, 3999, 4999],
        },
    ),
    "wide bars of epochs": (
        "".join(
            f"Epoch: {n}: 100%|{'█' * 240}| 383/383 [05:12<00:00,  1.23it/s, train_loss=67{n}]\n" for n in N
        ),
        {"train_loss": [383, 766, 1149, 1532]},
    ),
    "bars with dashes for signs": (
        "".join(
            f"\nEpoch: {n}\ntrain: 100%|███| 100/100 [00:10<00:00,  9.1it/s, dice_loss - 0.{n}, iou - 0.5]\n"
            "valid: 100%|███| 20/20 [00:02<00:00,  9.1it/s, dice_loss - 0.4, iou - 0.6]\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("dice_loss", "iou", "valid/dice_loss", "valid/iou")},
    ),
    "steps of all before a bar": (
        "".join(
            f"Training ({n}0 / 900 Steps) (loss=0.7{n}): 100%|███| 98/98 [00:10<00:00,  9.1it/s]\n" for n in N
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
}
CASES |= {
    "the best iteration of LightGBM": (
        "".join(f"[{n}0]\tvalid_0's l2: 0.2{n}\n" for n in N)
        + "Early stopping, best iteration is:\n[31]\tvalid_0's l2: 0.219\n",
        {"valid_0's l2": [10, 20, 30, 40], "best/valid_0's l2": [31]},
    ),
    "settings with a size of batches": (
        "training : 15000 iters, batch 64, crop 64->128, lr 0.0002\n"
        + "".join(f"  step  {n:5}/15000  loss 0.0{n}  lr 4.0e-07  0.01 it/s\n" for n in N),
        {"loss": [*N], "lr": [*N]},
    ),
    "a batch with any name": (
        "".join(f"Train Epoch: {n} dl: {batch}/40 Loss: 5.{n}\n" for n in N for batch in (0, 20)),
        {name: [0, 20, 40, 60, 80, 100, 120, 140] for name in ("Train Epoch", "Loss")},
    ),
    "a note behind the name of a metric": (
        "".join(f"[Train] epoch:{n}, lr:0.1, total:0.4\n[Test] t2m RMSE(标准化): 0.5{n}\n" for n in N),
        {"lr": [*N], "total": [*N], "test/t2m RMSE(标准化)": [*N]},
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
    "a header behind a sign for comments": (
        "#  step      rmse_val    rmse_trn         lr\n"
        + "".join(f"    {n}00      2.0{n}e+01    2.1e+01    1.0e-03\n" for n in N),
        {name: [100, 200, 300, 400] for name in ("rmse_val", "rmse_trn", "lr")},
    ),
    "a table behind the prefixes of a logger": (
        "INFO:main:   epoch   train_loss   val_loss\n"
        + "".join(f"INFO:main:   {n}       1.{n}         2.{n}\n" for n in N),
        {name: [*N] for name in ("train_loss", "val_loss")},
    ),
    "a table behind times and levels": (
        "2026-01-02 10:00:00,123 - INFO - Epoch  Loss  Acc\n"
        + "".join(f"2026-01-02 10:00:0{n},123 - INFO - {n}/4  1.{n}  0.{n}\n" for n in N),
        {name: [*N] for name in ("Loss", "Acc")},
    ),
    "a table whose second column counts": (
        "Date        Epoch  Loss\n" + "".join(f"2026-01-02  {n}  1.{n}\n" for n in N),
        {"Loss": [*N]},
    ),
    "a table with single spaces, between names of several words as well": (
        "Epoch Train Loss Val Loss\n" + "".join(f"{n} 1.{n} 2.{n}\n" for n in N),
        {name: [*N] for name in ("Train Loss", "Val Loss")},
    ),
    "groups of columns between thin lines": (
        "  Ep │  TrainLoss   Tr_MSE │   ValLoss   Va_MSE │      LR   Time       ETA\n"
        + "".join(f"   {n} │   0.39846{n} 0.040 │  0.315 0.035 │ 1.0e-05   289s      1.5h\n" for n in N),
        {name: [*N] for name in ("TrainLoss", "Tr_MSE", "ValLoss", "Va_MSE", "LR")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_number_is_read_at_its_step(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert_steps(tmp_path, text, expected)


def test_a_mean_over_episodes_is_not_their_number(tmp_path: Path) -> None:
    text = "".join(f"Episode {n}0, Average Reward over last 100 episodes: 12.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Average Reward": [10, 20, 30, 40]}


def test_a_line_that_the_program_starts_and_its_arguments_show_a_launch(tmp_path: Path) -> None:
    arguments = ("{'epoch_number': 1}, {'log_root': '/logs'}", "{'log_root': '/logs'}, {'epoch_number': 1}")
    text = "".join(
        f"05/15/2018 09:0{n}:56 [Program starts.]\n05/15/2018 09:0{n}:56 [Arg used:][{arguments[n % 2]}]\n"
        f"05/15/2018 09:0{n}:57 Average Training loss 0.25{n} - epoch 1/1\n"
        for n in N
    )
    assert read_log(tmp_path, text).attempts == len(N)


def test_the_rate_of_each_epoch_names_no_training(tmp_path: Path) -> None:
    training = "".join(f"Epoch {n}/4\nLR: {0.1 / n}\nTrain Loss: 2.{n}, Val Loss: 2.4\n" for n in N)
    run = read_log(tmp_path, f"{training}\nTraining finished\n{training}")
    assert {*steps_of(run)} == {"LR", "Train Loss", "Val Loss"}


def test_settings_behind_a_training_are_no_results(tmp_path: Path) -> None:
    records = "".join(f"[Train] epoch:{n}, lr:0.1, total:0.4\n" for n in N)
    settings = "".join(
        f"INFO - \t{setting}\n"
        for setting in ("hidden_dim: 64", "dropout: 0.1", "lr: 0.001", "alpha: 0.5", "beta: 0.3")
    )
    series = steps_of(read_log(tmp_path, f"{records}INFO - Args:\n{settings}"))
    assert {*series} == {"lr", "total"}


def test_the_name_of_a_logger_is_no_series(tmp_path: Path) -> None:
    text = "".join(
        f"INFO:mi-test:Train Epoch: {n} [0%]\nINFO:mi-test:[{n}0, 0.0001]\n"
        f"INFO:mi-test:loss_disc=4.{n}, loss_gen=3.2\n"
        for n in N
    )
    steps = [10, 20, 30, 40]
    assert steps_of(read_log(tmp_path, text)) == {"lr": steps, "loss_disc": steps, "loss_gen": steps}


@pytest.mark.parametrize(
    "heading",
    ["[1D] job {}/45 | layers=2 | fold=2/5 | seed=53002", "开始训练第 {}/5 折..."],
    ids=["job", "折"],
)
def test_trainings_of_a_study_are_one_launch(heading: str, tmp_path: Path) -> None:
    text = "".join(
        heading.format(n) + "\n" + "".join(f"epoch={epoch}/3 loss=7.{epoch}\n" for epoch in range(1, 4))
        for n in range(1, 4)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    label = "job" if "job" in heading else "fold"
    assert steps_of(run) == {name: [1, 2, 3] for name in ("loss", f"loss/{label}=2", f"loss/{label}=3")}


def test_folds_below_which_epochs_are_announced_are_trainings(tmp_path: Path) -> None:
    text = "".join(
        f"FOLD {fold}\n--------------------------------\n"
        + "".join(
            f"Starting epoch {epoch}\nLoss after mini-batch   500: 2.{epoch}\n"
            "Loss after mini-batch  1000: 1.9\n"
            for epoch in (1, 2)
        )
        for fold in range(3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = [500, 1000, 1500, 2000]
    assert steps_of(run) == {name: steps for name in ("Loss", "Loss/fold=1", "Loss/fold=2")}


def test_the_long_summary_of_a_model_is_no_record_and_no_launch_where_each_fit_prints_it(
    tmp_path: Path,
) -> None:
    """Rows count up, each behind a bar, as rows of records may; a launch's opening lines come once."""
    names = ("model", "loss_fn", "train_acc", "val_acc", "val_f1", "test_acc", "test_f1", "test_auc")
    summary = "GPU available: False, used: False\nTPU available: False, using: 0 TPU cores\n"
    summary += "   | Name      | Type     | Params | Mode  | FLOPs\n" + "-" * 50 + "\n"
    summary += "".join(
        f"{n}  | {name:9} | {name.title().replace('_', '')} | 0      | train | 0    \n"
        for n, name in enumerate(names)
    )
    summary += "-" * 50 + "\n8.8 K     Trainable params\n822 K     Non-trainable params\n"
    bars = [
        "".join(
            f"\rEpoch {epoch}: 100%|####| 28/28 [00:05<00:00, 5.0it/s, train_loss=0.{value + epoch}]"
            for epoch in range(4)
        )
        + "\n"
        for value in (60, 40)
    ]
    opening = "Seed set to 42\nLoaded 200 regions of the brain\nLoaded encoder from a checkpoint\n"
    run = read_log(tmp_path, f"{opening}{summary}{bars[0]}\n{summary}{bars[1]}")
    assert run.attempts == 1
    assert {key.metric for key in run.data.series} == {"train_loss"}
