"""Values on lines below the heading of an epoch or step, without a position of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
EPOCHS = range(1, 4)
BATCHES = range(1, 5)
TWELVE = [*range(1, 13)]

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a count of batches above a block": (
        "".join(
            f"epoch {e}\n" + "".join(f"\nbatch count {k}/4\ntotal loss 2.{e}{k}\n" for k in BATCHES)
            for e in EPOCHS
        ),
        {"total loss": TWELVE},
    ),
    "names of words alone below an epoch": (
        "".join(f"Epoch {n}\n  Loss: 8.{n}\n  Feature W norm 6.{n}\n  Total updates 8936\n" for n in N),
        {"Loss": [*N], "Feature W norm": [*N]},
    ),
    "names above their numbers": (
        "".join(f"Epoch: {n}\nG_LOSS: \n3.{n}5\nD_LOSS: \n1.{n}5\n" for n in N),
        {"G_LOSS": [*N], "D_LOSS": [*N]},
    ),
    "several names above their numbers": (
        "".join(f"Epoch {n}:\nd_loss: \t | \t g_loss:\n1.3{n} \t | \t 2.9{n}\n" for n in N),
        {"d_loss": [*N], "g_loss": [*N]},
    ),
    "further counters behind a heading, and a record that begins with words": (
        "".join(
            f"Actor/Critic updates {n}, num timesteps {n}600, FPS 8{n} \n"
            f" Last 8 training episodes: mean/median reward 1.{n}/0.{n}, min/max reward -3.{n}/4.{n}\n\n"
            for n in N
        ),
        {"FPS": [*N], **{f"{name} reward": [*N] for name in ("mean", "median", "min", "max")}},
    ),
    "words that say that an epoch begins": (
        "".join(
            f"==> Start Training Epoch {n}, lr=0.010000 ...\n"
            f"loss=0.00{n}1 (0.0021), lr=0.009: : 100% 100/100 [00:05<00:00, 18.2it/s]\n"
            f"==> Finished Epoch {n}.\n++> Evaluate at epoch {n} ...\nPSNR = 2{n}.12\n"
            for n in range(1, 5)
        ),
        {
            "loss": [100, 200, 300, 400],
            "lr": [1, 100, 200, 300, 400],
            "epoch/lr": [100, 200, 300],
            "evaluate/PSNR": [100, 200, 300, 400],
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
    "blocks below an epoch and a batch between dashes": (
        "".join(
            f"---- [Epoch {n}/100, Batch {batch}/2] ----\nTotal loss 36.{n}\n"
            for n in range(1, 5)
            for batch in range(2)
        ),
        {"Total loss": [*range(8)]},
    ),
    "a heading with a name and a date around the step": (
        "".join(
            f"=== RUN first STEP {n}00 @ 2025-12-05 22:16:09 ===\ntrain loss: 1.5{n}\nval   loss: 1.4\n"
            for n in range(1, 5)
        ),
        {"train loss": [100, 200, 300, 400], "val/loss": [100, 200, 300, 400]},
    ),
    "global steps as a heading": (
        "".join(
            f"INFO - Validation Results\nINFO - Global Steps: {n}00\nINFO - Valid Loss: 0.{n}\n"
            for n in range(1, 5)
        ),
        {"Valid Loss": [100, 200, 300, 400]},
    ),
    "rounds between dashes": (
        "".join(
            f"---Round number: {n}---\nAveraged Train Loss: 0.{n}\nAveraged Train AUC: 0.5\n"
            for n in range(1, 5)
        ),
        {"Averaged Train Loss": [1, 2, 3, 4], "Averaged Train AUC": [1, 2, 3, 4]},
    ),
    "a position above its metrics": (
        "".join(
            f"[TRAIN] Epoch 000 | batch 00{n}0/95 (0.1%) | 0.5s/batch\n[TRAIN] mean loss: 25.{n}\n"
            for n in range(1, 5)
        ),
        {name: [10, 20, 30, 40] for name in ("Epoch", "mean loss", "s/batch")},
    ),
    "the end of an epoch below the heading of its evaluation": (
        "".join(
            f"Running validation for epoch {n}...\nFinished epoch {n}\n"
            f"SSD class loss: 0.{n} | SSD box loss: 1.{n}\nVal class loss: 0.{n}5 | Val box loss: 1.{n}5\n"
            for n in range(1, 5)
        ),
        {name: [1, 2, 3, 4] for name in ("SSD class loss", "SSD box loss", "Val class loss", "Val box loss")},
    ),
    "rows of cells below their record": (
        "".join(
            f"  iter  {n}0 | frames  1310 | actor_loss  -0.00{n} | critic_loss  0.1\n"
            f"        episodes   57 | mean_ep_rew  70{n}.6 | mean_ep_len  191.{n} | collision 0.000\n"
            f"  [Eval] mean_reward=172{n}.3 | episodes=570\n"
            for n in range(1, 5)
        ),
        {
            name: [10, 20, 30, 40]
            for name in (
                *("frames", "actor_loss", "critic_loss", "mean_ep_rew", "mean_ep_len", "collision"),
                "eval/mean_reward",
            )
        },
    ),
    "a result below a record": (
        "".join(f"step {n}: loss 0.5\nAccuracy: 0.{n}\n" for n in range(1, 4)),
        {"loss": [1, 2, 3], "Accuracy": [1, 2, 3]},
    ),
    "results without signs below an episode": (
        "".join(f"Episode {n}0\nAgent SUCCESS Rate 0.0{n}\nAverage Reward 5.{n}\n" for n in range(1, 4)),
        {"Agent SUCCESS Rate": [10, 20, 30], "Average Reward": [10, 20, 30]},
    ),
    "a heading of a step and of what stops the training": (
        "".join(
            f"Step / patience: {10 * n} / {n % 3}\nTrain loss: 1.{n}\nValidation loss: 2.{n}\n" for n in N
        ),
        {name: [10 * n for n in N] for name in ("Train loss", "Validation loss")},
    ),
    "a result below its name": (
        "".join(
            f"INFO - epoch {n} loss: 1.{n}\nINFO - val result score:\nINFO - 0.5{n}\n"
            f"INFO - Test accuracy:\nINFO - 0.6{n}\n"
            for n in N
        ),
        {"loss": [*N], "val result score": [*N], "Test accuracy": [*N]},
    ),
    "numbers below epochs, between other lines": (
        "Namespace(lr=0.1)\n50000\n" + "".join(f"Epoch {n}\n2{n}.43\n" for n in range(30)) + "finish\n",
        {"train": [*range(30)]},
    ),
    "a number below what Julia logs": (
        "".join(f"[ Info: Epoch {n}\n2.{n}\n" for n in N),
        {"train": [*N]},
    ),
    "an arrow before the heading of an epoch, and values with names that are none of metrics": (
        "".join(f"→ Epoch {n}/6\n  drift: 0.{n}1 | torsion: 0.{n}7\n" for n in range(1, 7)),
        {"drift": [*range(1, 7)], "torsion": [*range(1, 7)]},
    ),
    "many lines of a step with a name that is no known metric": (
        "".join(
            f"Generation {n}/6\n" + "".join(f"Thrust: {n}.{at}5\n" for at in range(5)) for n in range(1, 7)
        ),
        {"Thrust": [*range(1, 7)], **{f"Thrust/repeat={n}": [*range(1, 7)] for n in range(2, 6)}},
    ),
    "a step and an epoch in sentences above their values": (
        "".join(
            f"current step is {50 * n}\ncurrent epoch is {n // 3}\n\ntrain loss is: {9 - n}.5\n"
            for n in range(1, 7)
        ),
        {"train loss": [50 * n for n in range(1, 7)]},
    ),
    "steps of an environment above their metrics": (
        "".join(
            f"[INFO 10:00:0{n}] main Recent Stats | t_env:   {n}0050 | Episode:     {n}00\n"
            f"ep_length_mean:   50.{n}000\tloss:    0.5000\n"
            for n in range(1, 4)
        ),
        {name: [10050, 20050, 30050] for name in ("ep_length_mean", "loss")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_below_headings_are_at_their_position(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-01-02 10:00:0{}] INFO - ",
        "[2026-01-02 10:00:0{}] ",
        "2026-01-02 10:00:0{},123 | INFO | ",
        "[10:00:0{}] ",
        "(2026-01-02T10:00:0{}) ",
    ],
)
def test_metrics_behind_a_time_belong_to_the_epoch_above(tmp_path: Path, prefix: str) -> None:
    lines = [
        line
        for n in range(1, 4)
        for line in (f"Epoch {n}/3", f"  Train loss: 0.{n}  acc: 0.5", f"  Eval  acc: 0.{n}  loss: 0.7")
    ]
    text = "".join(f"{prefix.format(second)}{line}\n" for second, line in enumerate(lines))
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {name: [*range(1, 4)] for name in ("Train loss", "acc", "eval/acc", "eval/loss")}


def test_a_line_of_names_and_numbers_alone_belongs_to_the_step_above(tmp_path: Path) -> None:
    text = "".join(
        f"iter {n}0 || BOX_L: 0.{n} BOX_C: 1.1 SEG_L: 0.5 loss: 3.0 || \nall:269.5{n}  small:133.5 lr:0.003\n"
        for n in range(1, 4)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["BOX_L"] == steps["all"] == steps["small"] == steps["lr"] == [10, 20, 30]
