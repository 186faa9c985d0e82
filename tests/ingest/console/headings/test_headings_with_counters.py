"""Headings with further counters, and names of which a part counts or says what was computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log

N = range(6)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "further counters behind a heading, and a record that begins with words": (
        "".join(
            f"Actor/Critic updates {n}, num timesteps {n}600, FPS 8{n} \n"
            f" Last 8 training episodes: mean/median reward 1.{n}/0.{n}, min/max reward -3.{n}/4.{n}\n\n"
            for n in N
        ),
        {"FPS": [*N], **{f"{name} reward": [*N] for name in ("mean", "median", "min", "max")}},
    ),
    "an amount of updates below an epoch": (
        "".join(
            f"Epoch {n}\n  Total weight updates {n + 1}00\nTarget updates {n}7\nLoss: 2.{n}\n" for n in N
        ),
        {"Loss": [*N]},
    ),
    "a label with numbers between a count and its metric": (
        "".join(f"[{n + 1}/6] - 3-way-5-shot - Acc: 7{n}.5 - 9.25 s - ['cat', 'dog']\n" for n in N),
        {"Acc": [*range(1, 7)]},
    ),
    "names of nothing known above rows between bars": (
        "opened\n|  iter  |  target  |  depth  |\n------------------------------\n"
        + "".join(f"| {n}      | 0.4{n}     | 3.{n}     |\n" for n in N),
        {"target": [*N], "depth": [*N]},
    ),
    "names of nothing known above rows with a prefix, and a remark behind the last one": (
        "Begin [1]\nChain [1]   iter   EL   delta mean   notes\n"
        + "".join(f"Chain [1]    {n}00   -6{n}.4        0.7{n}{'   CONVERGED' * (n == N[-1])}\n" for n in N),
        {"EL": [100 * n for n in N], "delta mean": [100 * n for n in N]},
    ),
    "rows with blank cells, below the beginnings of their names, and a bar between them": (
        "epoch  main/loss  val/loss  elapsed_time\n"
        + "".join(
            f"\x1b[{4 * (n > 0)}A\x1b[J{n}      1.{n}        {f'2.{n}' if n % 2 else '   '}       1{n}.5\n"
            "   total [##........] 20.00%\n"
            for n in N
        ),
        {"main/loss": [*N], "val/loss": [n for n in N if n % 2], "elapsed_time": [*N]},
    ),
    "rows with blank cells, below the ends of their names": (
        "  epoch    train_loss    cp     dur\n-------  ------------  ----  ------\n"
        + "".join(f"      {n}        1.{n}000     {'+ '[n % 2]}  3{n}.231\n" for n in N),
        {"train_loss": [*N], "dur": [*N]},
    ),
    "rows with fewer cells than names, in no places of theirs": (
        "  epoch    train_loss    acc     dur\n"
        + "".join(f"      {n}        1.{n}000   0.5  3{n}.231\n" for n in N)
        + "      9   4.5  3\n",
        {"train_loss": [*N], "acc": [*N], "dur": [*N]},
    ),
    "words above rows that are not as many as their cells": (
        "opened\nsome words\n" + "".join(f"{n}  0.4{n}  3.{n}\n" for n in N),
        {"column 2": [*N], "column 3": [*N]},
    ),
    "rows that end with other words each time": (
        "".join(f"({n}, 0.5{n}, {['cat', 'dog'] if n % 2 else ['dog', 'cat']})\n" for n in N),
        {"column 2": [*N]},
    ),
    "durations of what is counted": (
        "".join(
            f'Train Epoch {n}\n{{\n    "Loss": 2.{n},\n    "Time_Epoch": 3.{n},\n'
            f'    "Time_Train_Batch": 0.{n}\n}}\n'
            for n in N
        ),
        {name: [*N] for name in ("Loss", "Time_Epoch", "Time_Train_Batch")},
    ),
    "the same in a line": (
        "".join(f"Epoch {n} | loss: 2.{n} | time_epoch: 9.{n} | max time steps: 500\n" for n in N),
        {name: [*N] for name in ("loss", "time_epoch")},
    ),
    "whole numbers of an evaluation": (
        "".join(
            f"Episode: {n}, Score: 0.{n}\n"
            f"Evaluating... Score: 1.{n}, Changes: 8{n}%, Length: 54{n}, Time: 0.5s\n"
            for n in N
        ),
        {
            name: [*N]
            for name in ("Score", *(f"evaluating/{each}" for each in ("Score", "Changes", "Length", "Time")))
        },
    ),
    "what was computed of a value, in brackets behind it": (
        "".join(
            f"Epoch {n} train loss 2.{n}\n Recall@9: 0.{n} (window: 0.{n})\n"
            f" Place: 60{n}.0 (window: 61{n}.0)\n"
            for n in N
        ),
        {name: [*N] for name in ("train loss", "Recall@9", "Recall@9 (window)", "Place", "Place (window)")},
    ),
    "several of these": (
        "".join(f"Epoch {n} reward: 2.{n} (mean: 1.{n}, std: 0.{n}) loss: 0.{n} (mean: 0.5)\n" for n in N),
        {name: [*N] for name in ("reward", "reward (mean)", "reward (std)", "loss", "loss (mean)")},
    ),
    "a number before a value in brackets, with a colon": (
        "".join(f"Epoch {n}\nTraining loss (progress: 0.50): 1.{n}\n" for n in N),
        {"Training loss": [*N]},
    ),
    "a counter with two letters in the wrong order": (
        "".join(f"Epoch: {n}/3 Setp: {step}, loss: 2.{n}\n" for n in (1, 2) for step in (50, 100)),
        {"loss": [50, 100, 150, 200], "Epoch": [50, 100, 150, 200]},
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
    "a best value behind a rate": (
        "".join(f"Epoch {n} | acc: 0.{n} | lr: 0.01 | best: 0.9\n" for n in N),
        {name: [*N] for name in ("acc", "lr", "best/acc")},
    ),
    "a best value behind one in brackets": (
        "".join(f"Epoch {n} | Rew=1.{n} | H=3.{n}(c=0.{n}) | Best=2.{n}\n" for n in N),
        {name: [*N] for name in ("Rew", "H", "c", "Best")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    text, steps = CASES[case]
    assert_steps(tmp_path, text, steps)


def test_no_amount_is_a_step(tmp_path: Path) -> None:
    assert read_log(tmp_path, "Total weight updates 300\nmean reward 1.5, max reward 2.5\n").points == 0
