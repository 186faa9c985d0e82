"""Which words and signs beside a number are the name of a metric, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
EPOCHS = range(1, 4)
_LOGGER = "2026-01-01 10:00:00,123 - __main__ - INFO - "
_STATS = "[INFO 10:0{n}:05] runner Recent Stats | t_env: {at:>10} | Episode: {n:>8}\n"


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


def _aligned(*pairs: tuple[str, str]) -> str:
    """Names and values in columns as wide as the longest name: `loss:                   0.5`."""
    return "\t".join(f"{name + ':':<25}{value:>8}" for name, value in pairs) + "\n"


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "errors in two dimensions behind epochs": (
        "".join(f"Epoch {n}: loss=0.{n}\n" for n in N)
        + "".join(f"@{n}.5s (step {n}0): 3D=0.{n}m, Speed=1.{n}m/s\n" for n in EPOCHS),
        {"loss": [*N], "3D": [5, 20, 30], "Speed": [5, 20, 30]},
    ),
    "ranks in names": (
        "".join(f"Epoch {n}, Loss: 2.{n}, Top 1 Acc: 0.3{n}, Top 5 Acc: 0.5{n}\n" for n in N),
        {name: [*N] for name in ("Loss", "Top 1 Acc", "Top 5 Acc")},
    ),
    "a second loss": (
        "".join(f"Epoch: {n} --> train loss:  0.7{n} second loss:  0.6{n}\n" for n in N),
        {"train loss": [*N], "second loss": [*N]},
    ),
    "seconds before a name": (
        "".join(f"Epoch: {n} took 2.5 seconds loss: 0.6{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "a unit at the end of a name": (
        "".join(f"Iter {n}: loss=1.{n}\n[memory] Iter {n} RSS_MB={900 + n}.5\n" for n in N),
        {"loss": [*N], "RSS_MB": [*N]},
    ),
    "a metric over an epoch": (
        "".join(f"{_LOGGER}Epoch {n}...\n{_LOGGER}Training acc over epoch: 0.3{n}\n" for n in N),
        {"Training acc": [*N]},
    ),
    "a function of a metric": (
        "".join(f"Generation: {n}\nmax(fitness): 0.3{n}\nGoal: 1111\n" for n in N),
        {"max(fitness)": [*N]},
    ),
    "dots from a name to its number": (
        "".join(f"Epoch {n}\n  train loss ....... 2.{n}\n  lr ............... 0.00{n}\n" for n in N),
        {"train loss": [*N], "lr": [*N]},
    ),
    "unknown names beside a step of their own": (
        "".join(f"[Memory] Iter {n} RSS_MB=99{n}.5\nIter {n} reward=1.{n} kl=0.{n}\n" for n in range(1, 7)),
        {name: [*range(1, 7)] for name in ("RSS_MB", "reward", "kl")},
    ),
    "a name in brackets behind an epoch": (
        "".join(f"Epoch {n} >> (mean accuracy): 0.{n}\n" for n in N),
        {"mean accuracy": [*N]},
    ),
    "extremes of an evaluation": (
        "".join(
            f"Episode {n}: loss = 0.{n}\nValidation: max height = {n}12, avg height = 3.{n}\n" for n in N
        ),
        {name: [*N] for name in ("loss", "validation/max height", "validation/avg height")},
    ),
    "a sentence that ends with its number": (
        "".join(f"iter: {n}, loss: 2.{n}\nCurrent L2-norm of gradients is 9{n}.52\n" for n in N),
        {name: [*N] for name in ("loss", "Current L2-norm of gradients")},
    ),
    "names of a letter without signs": (
        "".join(
            f"=== Epoch {n} ===\nTraining loss: 2.{n}\nDev: P 0.81 R 0.7{n} F1 0.76\n" for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("Training loss", "dev/P", "dev/R", "dev/F1")},
    ),
    "short forms in parentheses": (
        "".join(
            f"Epoch {n} Dev Evaluation Results\n  Micro-F1 (Mi-F): 0.44{n}\n  Macro-F1 (Ma-F): 0.2302\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("Micro-F1 (Mi-F)", "Macro-F1 (Ma-F)")},
    ),
    "an index before an equals sign": (
        "".join(
            f"Epoch{n} [0/78] Stage 0 = 39.{n}(39)\tStage 1 = 38.{n}(38)\tStage 2 = 1.{n}(1)\n"
            for n in range(1, 5)
        ),
        {name: [0, 78, 156, 234] for name in ("Epoch", "Stage 0", "Stage 1", "Stage 2")},
    ),
    "an epoch and its total in brackets before unknown names": (
        "epoch | d_loss | g_loss | g_lr | d_lr \n"
        + "".join(
            f"[{n:03d}/100] D: 0.64{n} | G: 0.8379 | g_lr=0.000200 | d_lr=0.000025 \n" for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("D", "G", "g_lr", "d_lr")},
    ),
    "names that begin with a number": (
        "".join(
            f"[{n}] time=1.23, avg_loss=1.4{n}\nEval: 16_h1=2.1{n}, 32_h1=1.3{n}, 1px: 0.8{n}\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("time", "avg_loss", "eval/16_h1", "eval/32_h1", "eval/1px")},
    ),
    "two losses between which is nothing but a letter": (
        "".join(f"[{n}/5] D loss 1.2{n} G loss 1.3{n}\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("D loss", "G loss")},
    ),
    "a name behind its number": (
        "".join(
            f"Training Epoch {n}  ┃ Batch: {batch} ended with 0.5{batch} loss.\n"
            for n in (1, 2)
            for batch in (1, 2)
        ),
        {name: [1, 2, 3, 4] for name in ("Training Epoch", "loss")},
    ),
    "names with a rank in them": (
        "".join(f"Epoch: [{n}/300]\t Top 1-err 60.1  Top 5-err 10.1\t Train Loss 2.3\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("Top 1-err", "Top 5-err", "Train Loss")},
    ),
    "two names of one word": (
        "".join(
            f"Updates {n}0, num timesteps {n}2800, FPS 900 \n"
            " Last 10 training episodes: mean/median reward 12.3/11.0, min/max reward 5.0/20.0\n\n"
            for n in range(1, 5)
        ),
        {f"{name} reward": [10, 20, 30, 40] for name in ("mean", "median", "min", "max")},
    ),
    "a rate whose name ends in step": (
        "".join(f"fps step: 12{n}00 fps total: 9000 epoch: {n}/500 frames: {n}6384\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("epoch", "frames", "fps step", "fps total")},
    ),
    "a unit at the end of a sentence": (
        "".join(f"Step: {n}2000. Time Elapsed: 12.{n} s. Mean Reward: 1.2. Training.\n" for n in range(1, 5)),
        {name: [12000, 22000, 32000, 42000] for name in ("Time Elapsed", "Mean Reward")},
    ),
    "a name with a stroke, like a unit": (
        "".join(f"Epoch: 0 Update: {n}000 Loss/word: 6.{n} Words/sec: 3000.1\n" for n in range(1, 5)),
        {name: [1000, 2000, 3000, 4000] for name in ("Epoch", "Loss/word", "Words/sec")},
    ),
    "a sentence in Chinese": (
        "".join(f"Epoch [{n}/30], Loss: 0.9\n当前模型在验证集上的准确率为： 0.6{n}\n" for n in range(1, 5)),
        {"Loss": [*range(1, 5)], "当前模型在验证集上的准确率": [*range(1, 5)]},
    ),
    "rows with a letter for each name": (
        "".join(
            f"| train | F: {n}000 | S: {n}00 | E: {n} | R: 12.{n} | FPS: 50.1 | T: 0:00:12\n"
            f"| eval  | F: {n}000 | S: {n}00 | E: {n} | R: 13.1 | T: 0:00:14\n"
            for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("F", "E", "R", "FPS", "eval/F", "eval/E", "eval/R")},
    ),
    "a note behind the name of a metric": (
        "".join(
            f"[Train] epoch:{n}, lr:0.1, total:0.4\n[Test] t2m RMSE(标准化): 0.5{n}\n" for n in range(1, 5)
        ),
        {"lr": [*range(1, 5)], "total": [*range(1, 5)], "test/t2m RMSE(标准化)": [*range(1, 5)]},
    ),
    "names with an index": (
        "".join(f"Epoch{n} [50/100] Stage 0 = 39.1{n}(39.1)\tStage 1 = 38.8(38.9)\n" for n in range(1, 5)),
        {"Epoch": [50, 150, 250, 350], "Stage 0": [50, 150, 250, 350], "Stage 1": [50, 150, 250, 350]},
    ),
    "per cent next to a known metric": (
        "".join(
            f"Epoch {n}, loss: 0.5\nDev WER: 62.{n}%   Dev del 48.78%  Dev ins 00.60%\n" for n in range(1, 5)
        ),
        {name: [1, 2, 3, 4] for name in ("loss", "Dev WER", "Dev del", "Dev ins")},
    ),
    "short names of metrics behind others": (
        "".join(f"  [epoch {n}.00] eval_wer=8.6{n}%  eval_cer=2.9{n}%  (n=12033)\n" for n in range(1, 5)),
        {name: [1, 2, 3, 4] for name in ("eval_wer", "eval_cer", "n")},
    ),
    "a word before the first name": (
        "".join(f"EPOCH[{n}/50] metrics PSNR=7.8{n}\tSSIM=0.16{n}\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("PSNR", "SSIM")},
    ),
    "a number within a name": (
        "".join(f"Episode {n}0/90 | Reward: -1.5 | Avg (10): -0.{n} | Loss: 2.5\n" for n in range(1, 4)),
        {name: [10, 20, 30] for name in ("Reward", "Avg", "Loss")},
    ),
    "values far behind their names, as in columns": (
        "".join(
            _STATS.format(n=n, at=n * 1000 + 90)
            + _aligned(("ep_length_mean", f"4{n}.5"), ("epsilon", f"0.{n}5"), ("grad_norm", f"1.{n}"))
            + _aligned(("loss", f"0.0{n}1"), ("q_taken_mean", f"0.{n}2"))
            + "\n"
            for n in N
        ),
        _at([n * 1000 + 90 for n in N], "ep_length_mean", "epsilon", "grad_norm", "loss", "q_taken_mean"),
    ),
    "fields between slashes, with names that are no known metrics": (
        "".join(f"[{n * 500}] fps 1{n}.5 / train_length 13{n}.0 / model_loss 2.{n}\n" for n in N),
        _at([n * 500 for n in N], "fps", "train_length", "model_loss"),
    ),
    "a hyphen and a number in brackets": (
        "".join(
            f"Epoch: {n}\nTraining Loss: 2.{n}\nTraining Accuracy (Top-1): 0.{n}1\n"
            f"Training Accuracy (Top-5): 0.{n}5\n"
            for n in range(1, 6)
        ),
        {
            name: [*range(1, 6)]
            for name in ("Training Loss", "Training Accuracy (Top-1)", "Training Accuracy (Top-5)")
        },
    ),
    "a condition, a norm and thresholds in brackets": (
        "".join(
            f"Epoch {n}/5 loss: 2.{n} Acc (k=5): 0.{n}2 Error (L2-norm): 0.{n}3 mAP (0.5:0.95): 0.{n}4\n"
            for n in range(1, 6)
        ),
        {name: [*range(1, 6)] for name in ("loss", "Acc (k=5)", "Error (L2-norm)", "mAP (0.5:0.95)")},
    ),
    "shares of which one may also count sentences": (
        "".join(
            f"{4 * n} epoch\n训练集 acc: 1.0000 sen: 0.{n}234 auc: 0.8{n}21 loss: 0.{n}121\n"
            f"验证集 acc: 0.{n}364 sen: 0.{n}893 auc: 0.6{n}93 loss: 2.{n}811\n"
            for n in range(1, 6)
        ),
        {
            f"{data}{name}": [4 * n for n in range(1, 6)]
            for data, names in (
                ("", ("训练集 acc", "sen", "auc", "loss")),
                ("验证集 ", ("acc", "sen", "auc", "loss")),
            )
            for name in names
        },
    ),
    "names in bold": (
        "".join(
            f"### Epoch {n}/5\n- **Time:** 1{n}\n- **Train Loss:** 0.{n}9\n- **Test Accuracy:** 9{n}.5%\n\n"
            for n in range(1, 6)
        ),
        {"Train Loss": [*range(1, 6)], "Test Accuracy": [*range(1, 6)]},
    ),
    "a mean and a deviation that are no more than that": (
        "".join(
            f"Epoch {n} | loss: 0.{n}1 | mean=0.{n}2, std=0.{n}3, relative MAE: 0.{n}4\n" for n in range(1, 6)
        ),
        {name: [*range(1, 6)] for name in ("loss", "mean", "std", "relative MAE")},
    ),
    "lines of nothing but pairs whose names are plain words or end with a digit": (
        "".join(
            f"Epoch {n} | loss {2 / (n + 1):.4f}\n    foo=0.{n} bar=1.{n} baz={n}.5\n  NC1=2.{n} NC2=0.{n}1\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "foo", "bar", "baz", "NC1", "NC2")},
    ),
    "the class of a metric behind its name": (
        "".join(f"#quality: host=algo-1, epoch={n}, train loss <loss>=2.{n}\n" for n in N),
        {"train loss": [*N]},
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
    "a number at the end of a name": (
        "".join(f"| Epoch {n}/9 |\n| Train Sup Loss 1: 2.5   | Train Sup Loss 2: 1.5   |\n" for n in N),
        {"Train Sup Loss 1": [*N], "Train Sup Loss 2": [*N]},
    ),
    "unknown names alone in all lines": (
        "".join(f"errG: 5.{n} errL2: 87{n}.1 errsum 74{n}.7\n" for n in range(12)),
        {name: [*range(12)] for name in ("errG", "errL2", "errsum")},
    ),
    "names and numbers between commas": (
        "".join(f"Step, {n}, Loss, 0.1{n}, PSNR, 9.{n}, StepTime, 5.{n},\n" for n in range(8)),
        {name: [*range(8)] for name in ("Loss", "PSNR", "StepTime")},
    ),
    "a share in a name": (
        "".join(f"[Step    {n}00/900] Train 9.{n} | Val~20% 8.{n}\n" for n in N),
        {"Train": [100 * n for n in N], "Val~20%": [100 * n for n in N]},
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
    "names of several words in brackets": (
        "".join(f"Epoch: [{n}]  [Avg Train Loss] 2.{n}\nEpoch: [{n}]  [Test Accuracy] 0.{n}\n" for n in N),
        {"Avg Train Loss": [*N], "Test Accuracy": [*N]},
    ),
    "a loss of this epoch": (
        "".join(f"10:02:11 - INFO - Epoch {n}\n10:02:11 - INFO - Train loss this epoch: 2.{n}\n" for n in N),
        {"Train loss": [*N]},
    ),
    "scores in capitals": (
        "".join(f"epoch: {n}\nAUC_ROC_SCORE: 0.8{n}\nAUC_PR_SCORE: 0.7{n}\nDICE: 0.3{n}\n" for n in N),
        {name: [*N] for name in ("AUC_ROC_SCORE", "AUC_PR_SCORE", "DICE")},
    ),
    "unknown names in other scripts, next to known ones": (
        "".join(f"INFO - Epoch {n}/6\nINFO -   训练损失: 2.{n}\nINFO -   相似度分离度: 0.{n}\n" for n in N),
        {"训练损失": [*N], "相似度分离度": [*N]},
    ),
    "a metric named after what it is of, behind the line of its epoch": (
        "".join(f"Train Epoch {n}\nloss_epoch: 2.{n}\n" for n in N),
        {"loss_epoch": [*N]},
    ),
    "the same beside another one": (
        "".join(f"Epoch {n} | loss: 2.{n} | loss_epoch: 1.{n}\n" for n in N),
        {name: [*N] for name in ("loss", "loss_epoch")},
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
    "how many values a mean is of": (
        "".join(f"episode: {n}     reward: 2{n}.5     avg 5 reward: 3{n}.5     avg reward: 3.5\n" for n in N),
        {name: [*N] for name in ("reward", "avg 5 reward", "avg reward")},
    ),
    "a sum above the line of its mean": (
        "".join(f"val_loss:  {20 - n}.5\nnum steps:  12\nepoch:  {n}  val_loss: 1.{n}\n" for n in N),
        {"val_loss": [*N]},
    ),
    "a mean over the last episodes, in a sentence": (
        "".join(
            f"Episode {10 * n} finished after {n}7 steps with return {n}.5\n"
            f"Mean return over the last 10 episodes is {n}.25\n"
            for n in range(1, 7)
        ),
        {"return": [10 * n for n in range(1, 7)], "Mean return": [10 * n for n in range(1, 7)]},
    ),
    "names between signs of mathematics": (
        "".join(f"epoch {n} loss=0.{n} ‖w‖=1.{n} ⟨cos(a, b)⟩=0.{n}5\n" for n in range(1, 7)),
        {"loss": [*range(1, 7)], "‖w‖": [*range(1, 7)], "⟨cos(a, b)⟩": [*range(1, 7)]},
    ),
    "metrics of parts behind a plural": (
        "".join(
            f"Epoch {n}: loss {9 - n}.5\nTest Accuracies: All 0.{n}1 | Seen 0.{n}2\n" for n in range(1, 7)
        ),
        {name: [*range(1, 7)] for name in ("loss", "Test Accuracies/All", "Test Seen")},
    ),
    "a number in a name behind vs": (
        "".join(f"ep {100 * n} | len {n}4 | vs 2 random: {n}3% | vs 2 greedy: {n}1%\n" for n in range(1, 7)),
        {name: [100 * n for n in range(1, 7)] for name in ("len", "random", "greedy")},
    ),
    "the extremes of values, one of which never changes": (
        "".join(
            f"Val RMSE={90 - n}.25 at iter={100 * n}\n"
            f"Max val in depth is 700 and Max val in Re-depth is 6{n}1\n"
            for n in range(1, 7)
        ),
        {
            name: [100 * n for n in range(1, 7)]
            for name in ("Val RMSE", "Max val in depth", "Max val in Re-depth")
        },
    ),
    "names with brackets in brackets": (
        "".join(f"[{n}/9][0/40]\tLoss_D: 1.5\tD(G(z)): 0.5 / 0.0{n}\n" for n in range(1, 4)),
        {name: [0, 40, 80] for name in ("Loss_D", "D(G(z))", "D(G(z)) 2")},
    ),
    "a number right behind the name of a loss": (
        "".join(f"EPOCH[{n}/90] loss0.{n}53-|Sample:1.2|\n" for n in range(1, 4)),
        {"loss": [1, 2, 3], "Sample": [1, 2, 3]},
    ),
    "numbers right behind the names of several metrics": (
        "".join(f"Epoch{n}/4 loss{n}.253 perplexity{n}40.75 Accuracy0.{n}5\n" for n in range(1, 4)),
        {name: [1, 2, 3] for name in ("loss", "perplexity", "Accuracy")},
    ),
    "arrows behind names": (
        "".join(f"[Epoch {n}] train loss -> 0.{n} | val loss -> 0.5\n" for n in range(1, 4)),
        {"train loss": [1, 2, 3], "val loss": [1, 2, 3]},
    ),
    "unknown names behind an epoch": (
        "".join(f"epoch   {n} | D^2=+0.05 | cross=1.1 rr=0.2 ff=0.3 | 159.6s\n" for n in range(1, 4)),
        {name: [1, 2, 3] for name in ("D^2", "cross", "rr", "ff")},
    ),
    "unknown names next to known ones": (
        "".join(
            f"Epoch {n}: train_loss=0.{n}\nVal metrics: acc=0.81 zed=0.7{n} cm=[[2, 1], [2, 0]]\n"
            for n in range(1, 4)
        ),
        {"train_loss": [1, 2, 3], "val/acc": [1, 2, 3], "val/zed": [1, 2, 3]},
    ),
    "names of one letter": (
        "".join(
            f"[Epoch 0/9, Batch {n}/70] [Losses: x 0.2, y 0.3, w 4.8, h 4.6, conf 4.3, loss 5.{n}]\n"
            for n in range(1, 4)
        ),
        {"Epoch": [1, 2, 3], **{name: [1, 2, 3] for name in ("x", "y", "w", "h", "conf", "loss")}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_have_their_names(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_a_mean_over_episodes_is_not_their_number(tmp_path: Path) -> None:
    text = "".join(f"Episode {n}0, Average Reward over last 100 episodes: 12.{n}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, text)) == {"Average Reward": [10, 20, 30, 40]}


@pytest.mark.parametrize(
    "header", ["epoch,train_loss,val_acc", "epoch, train_loss, val_acc", "epoch\ttrain_loss\tval_acc"]
)
@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("{0}\t0.{0}\t0.5", "log.txt"),
        ("{0}\t0.{0}\t0.5", "log.csv"),
        ("{0}, 0.{0}, 0.5", "log.txt"),
        ("{0}, 0.{0}, 0.5", "log.csv"),
        ("{0}  0.{0}  0.5", "log.txt"),  # spaces separate nothing in a CSV file
    ],
)
def test_names_and_numbers_may_be_separated_otherwise(
    tmp_path: Path, header: str, row: str, name: str
) -> None:
    run = read_log(tmp_path, f"{header}\n" + "".join(row.format(n) + "\n" for n in range(1, 4)), name)
    assert {metric: steps for metric, steps in steps_of(run).items() if metric != "epoch"} == {
        "train_loss": [1, 2, 3],
        "val_acc": [1, 2, 3],
    }


@pytest.mark.parametrize("part", ["last 100", "last 100 episodes", "100 ep avg", "over last 5"])
def test_a_number_may_be_a_part_of_a_name_with_words_around_it(tmp_path: Path, part: str) -> None:
    text = "".join(f"Episode {n}\tMean reward ({part}): 0.{n}\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {"Mean reward": [*range(1, 4)]}


def test_names_may_have_parts_with_dots(tmp_path: Path) -> None:
    lines = "".join(f"runtime.step={n}0, runtime.steptime=2.1, loss.cls_loss=0.{n}\n" for n in range(1, 4))
    steps = steps_of(read_log(tmp_path, lines))
    assert steps["loss.cls_loss"] == [10, 20, 30]
    lines = "".join(
        f"Epoch {n}\nSegment Type@Avg. F1: 40.{n}\nEvent Type@Avg. F1: 39.{n}\n" for n in range(1, 4)
    )
    assert steps_of(read_log(tmp_path, lines)) == {
        f"{x} Type@Avg. F1": [*range(1, 4)] for x in ("Segment", "Event")
    }


def test_losses_may_be_named_by_a_letter_and_what_they_are_of(tmp_path: Path) -> None:
    text = "".join(f"[Epoch {n}] A | t_pos:0.10{n} L_cons:0.0{n} L_sup:0.006\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {
        name: [*range(1, 4)] for name in ("t_pos", "L_cons", "L_sup")
    }


def test_a_rate_names_the_number_before_it(tmp_path: Path) -> None:
    text = "".join(f"Step {n}00/900; acc: 95.{n}; 44580/39616 tok/s;   {n} sec;\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)).keys() == {"acc", "tok/s", "tok/s 2"}


def test_words_before_an_epoch_are_no_list_of_names(tmp_path: Path) -> None:
    text = "".join(f"Training.., epoch: {n}, 5/10, acc: 6.25, loss: 2.3\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {name: [5, 15, 25] for name in ("epoch", "acc", "loss")}


def test_rows_before_arrows_keep_their_names(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nbird --> mAP : 0.{n}\nboat --> mAP : 0.{n}\nmAP:0.{n}\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {
        name: [*range(1, 4)] for name in ("bird/mAP", "boat/mAP", "mAP")
    }


@pytest.mark.parametrize("before", ["Losses ", "Epoch {n}: losses: ", "Epoch {n} - Losses = "])
def test_parts_of_losses_in_a_dictionary_are_losses(tmp_path: Path, before: str) -> None:
    heading = "" if "Epoch" in before else "Epoch {n}\n"
    line = heading + before + "{{'parser': {n}.5, 'text loss': 0.{n}}}, speed: {n}0.5\n"
    run = read_log(tmp_path, "".join(line.format(n=n) for n in range(1, 6)))
    assert {*steps_of(run)} - {"speed"} == {"parser loss", "text loss"}


def test_losses_in_dictionaries_without_a_step_are_numbered(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Losses {{'parser': {n}.512}}\n" for n in range(1, 40)))
    assert steps_of(run) == {"parser loss": [*range(39)]}
