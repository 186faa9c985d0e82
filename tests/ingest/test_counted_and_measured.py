"""What a number counts where its word is unknown, and what is measured although its word counts elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

N = range(6)
EPOCHS = range(1, 4)
BATCHES = range(1, 5)
TWELVE = [*range(1, 13)]
_LOGGER = "2026-01-01 10:00:00,123 - __main__ - INFO - "

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
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
    "what stops a training is no metric": (
        "".join(
            f"Epoch {n}\nLoss: 2.{n}\nEarlyStopping counter: {n} out of 5\nPatience: {n}\n"
            f"early_stop/val_loss: 1.{n}\n"
            for n in N
        ),
        {name: [*N] for name in ("Loss", "early_stop/val_loss")},
    ),
    "errors in two dimensions behind epochs": (
        "".join(f"Epoch {n}: loss=0.{n}\n" for n in N)
        + "".join(f"@{n}.5s (step {n}0): 3D=0.{n}m, Speed=1.{n}m/s\n" for n in EPOCHS),
        {"loss": [*N], "3D": [10, 20, 30], "Speed": [10, 20, 30]},
    ),
    "a patience is no batch": (
        "".join(f"Epoch {n}/9, Patience {n}/9, Loss: 2.{n}\n" for n in N),
        {"Loss": [*N]},
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
    "iterations glued to their word": ("".join(f"iter{n} loss 2.{n}\n" for n in N), {"loss": [*N]}),
    "episodes glued to their word": (
        "".join(f"[Episode{n}] reward: 2.{n}\n" for n in N),
        {"reward": [*N]},
    ),
    "an index glued to what it counts": (
        "".join(f"epoch= {e} batchnum= {k} loss= tensor(2.{e}{k})\n" for e in EPOCHS for k in BATCHES),
        {"epoch": TWELVE, "loss": TWELVE},
    ),
    "a count of batches above a block": (
        "".join(
            f"epoch {e}\n" + "".join(f"\nbatch count {k}/4\ntotal loss 2.{e}{k}\n" for k in BATCHES)
            for e in EPOCHS
        ),
        {"total loss": TWELVE},
    ),
    "a mean number of steps that is sometimes whole": (
        "".join(f"[ {n}] ep={n}0 r= 2{n}.5 steps=1{n}{n}.{n % 2} vloss=1.{n}\n" for n in range(1, 7)),
        {name: [10 * n for n in range(1, 7)] for name in ("r", "steps", "vloss")},
    ),
    "the length of a step": (
        "".join(f"Iteration {n}\n  gnorm = 80{n}.5, xnorm = 3.{n}, step = 0.9{n}\n" for n in N),
        {"gnorm": [*N], "xnorm": [*N], "step": [*N]},
    ),
    "the length of an episode": (
        "".join(f"Episode: {n}, reward: 3{n}, it: {50 - n * (-1) ** n}, loss= 8.{n}\n" for n in N),
        {"reward": [*N], "it": [*N], "loss": [*N]},
    ),
    "the number of steps of an episode": (
        "".join(f"Episode: {n}, Number of Steps : {90 - n * (-1) ** n}, Reward: 2.{n}\n" for n in N),
        {"Number of Steps": [*N], "Reward": [*N]},
    ),
    "the step at which an episode ended": (
        "".join(f"Episode: {n}, name: W_0, reward: 3.{n}, step:200.\n" for n in N),
        {"reward": [*N], "step": [*N]},
    ),
    "the step of all before a reward": (
        "".join(f"Episode: {n}, step: {200 * n}, reward: 3.{n}\n" for n in N),
        {"Episode": [200 * n for n in N], "reward": [200 * n for n in N]},
    ),
    "epochs that are said to be over behind their steps": (
        "Loading the data\nBuilding the model\nStart training\n"
        + "".join(
            "".join(f"iter {k}/100: loss=2.{e}{k}\n" for k in (25, 50, 75)) + f"epoch {e} finished\n"
            for e in range(4)
        ),
        {"loss": [100 * e + k for e in range(4) for k in (25, 50, 75)]},
    ),
    "several numbers with per cent signs": (
        "".join(f"Epoch: {n}\n\tTrain Acc: 5{n}.5% 6{n}.5% 7{n}.5%\n" for n in N),
        {name: [*N] for name in ("Train Acc", "Train Acc 2", "Train Acc 3")},
    ),
    "the cost on an iteration of an epoch": (
        "".join(
            f"Epoch {e}: Cost on iteration {4 * e + k - 4} is 2.{e}{k}\n" for e in EPOCHS for k in BATCHES
        ),
        {"Epoch": TWELVE, "Cost": TWELVE},
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
    "results of evaluations alone": (
        "".join(f"Eval num_timesteps={n}00. Reward: 0.{n}+/-0.1\nReward Negative: -0.{n}+/-0.1\n" for n in N),
        {
            name: [100 * n for n in N]
            for of in ("eval/Reward", "Reward Negative")
            for name in (of, f"{of} (std)")
        },
    ),
    "an index right behind the epoch": (
        "".join(f"[Epoch: {e}, i: {k}] loss: 2.{e}{k}\n" for e in EPOCHS for k in BATCHES),
        {"Epoch": TWELVE, "loss": TWELVE},
    ),
    "any words before an epoch and a loss": (
        "".join(f"10:00:0{n} INFO ==> fit_encoder epoch:{n} loss:2.{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "values in braces behind the name of their sum": (
        "".join(f"[E 0 | it {n}] loss {{total 1.{n}E+00, nll 9.{n}E-01, pos 1.5E+00}}\n" for n in N),
        {name: [*N] for name in ("E", "loss/total", "loss/nll", "loss/pos")},
    ),
    "a unit at the end of a name": (
        "".join(f"Iter {n}: loss=1.{n}\n[memory] Iter {n} RSS_MB={900 + n}.5\n" for n in N),
        {"loss": [*N], "RSS_MB": [*N]},
    ),
    "names of words alone below an epoch": (
        "".join(f"Epoch {n}\n  Loss: 8.{n}\n  Feature W norm 6.{n}\n  Total updates 8936\n" for n in N),
        {"Loss": [*N], "Feature W norm": [*N]},
    ),
    "a metric over an epoch": (
        "".join(f"{_LOGGER}Epoch {n}...\n{_LOGGER}Training acc over epoch: 0.3{n}\n" for n in N),
        {"Training acc": [*N]},
    ),
    "a counter between after and its word": (
        "".join(f"INFO :      [ROUND {n}]\nAfter {n} Round: loss = 1.{n}, accuracy: 0.5{n}\n" for n in N),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "a training epoch that is completed": (
        "".join(f"{n} training epoch completed\nD_loss : 1.{n}, \t G_loss : 2.{n}\n" for n in N),
        {"D_loss": [*N], "G_loss": [*N]},
    ),
    "names above their numbers": (
        "".join(f"Epoch: {n}\nG_LOSS: \n3.{n}5\nD_LOSS: \n1.{n}5\n" for n in N),
        {"G_LOSS": [*N], "D_LOSS": [*N]},
    ),
    "several names above their numbers": (
        "".join(f"Epoch {n}:\nd_loss: \t | \t g_loss:\n1.3{n} \t | \t 2.9{n}\n" for n in N),
        {"d_loss": [*N], "g_loss": [*N]},
    ),
    "a function of a metric": (
        "".join(f"Generation: {n}\nmax(fitness): 0.3{n}\nGoal: 1111\n" for n in N),
        {"max(fitness)": [*N]},
    ),
    "a bar with a per cent in brackets": (
        "".join(
            f"Epoch: {n}/9\n|████    | 30/60 [50%] in 1s (5.1/s, eta: 9s) train_loss: 2.{n}\r"
            f"|████████| 60/60 [100%] in 11.2s (5.35/s) val_loss: 1.{n} \n"
            for n in N
        ),
        {"val_loss": [*N]},
    ),
    "a bar behind its epoch": (
        "".join(
            f"  {n}/9: |==>    |       | - Loss: 2.{n}   \r"
            f"  {n}/9: |=======|=======| - Loss: 1.{n} - Val loss: 3.{n}\n"
            for n in N
        ),
        {"Loss": [*N], "Val loss": [*N]},
    ),
    "parts of an epoch behind steps": (
        "".join(
            f"Step {n}0/60, Loss: 2.{n}\n"
            + (f"Epoch {n / 4:.2f} done - Train Loss: 3.{n}\n" if n % 2 else "")
            for n in range(1, 7)
        ),
        {"Loss": [10, 20, 30, 40, 50, 60], "Train Loss": [10, 30, 50], "epoch": [10, 30, 50]},
    ),
    "a per cent of the epoch as the step": (
        "".join(f"step : {n % 10 * 10.5} % , loss : 2.{n}\n" for n in range(20)),
        {"loss": [n // 10 * 10000 + n % 10 * 1050 for n in range(20)]},
    ),
    "epochs within announced steps": (
        "".join(f"D-Step {d}\n" + "".join(f"Epoch {e}, train loss: 0.{d}{e}\n" for e in range(3)) for d in N),
        {"train loss": [*range(18)]},
    ),
    "a share behind the total of samples": (
        "".join(
            f"Epoch: {n}\n"
            + "".join(f"[{at:5d}/60000 ({at // 600:3d}%)]  Loss: 0.{n}303\n" for at in range(0, 60000, 20000))
            + f"Average test loss: 0.{n}  Accuracy: 9{n}00/10000 (9{n}.00%)\n"
            for n in N
        ),
        {
            "Loss": [*range(0, 360000, 20000)],
            **{name: [*range(40000, 360000, 60000)] for name in ("Average test loss", "test Accuracy")},
        },
    ),
    "an epoch behind an @": (
        "".join(f"batch {b:03d}/100 @epoch{n}/6 loss: 0.{n}\n" for n in N for b in (20, 40)),
        {name: [100 * n + b for n in N for b in (20, 40)] for name in ("epoch", "loss")},
    ),
    "an epoch that goes on through announced steps": (
        "".join(f"Step {n}00\nEpoch 0, loss: 0.{n}\n" for n in range(1, 7)),
        {"loss": [0, 200, 300, 400, 500, 600]},
    ),
    "rows with a star on the best, and warnings between": (
        "".join(
            f"chunk {n} | +9,200 samples | val_loss 9.{n}e-06 | best 9.{n}e-06{' *' * (n % 2)} | lr 1e-0{n}\n"
            "lib.py:8: FutureWarning: a name\n  if not hasattr(np, 'object'):\n"
            for n in N
        ),
        {"val_loss": [*N], "best": [*N], "lr": [*N]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])
