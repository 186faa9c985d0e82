"""Lines that training scripts print in forms of their own: each value at its step, in its launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 7)


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a mean over the last episodes, in a sentence": (
        "".join(
            f"Episode {10 * n} finished after {n}7 steps with return {n}.5\n"
            f"Mean return over the last 10 episodes is {n}.25\n"
            for n in N
        ),
        {"return": [10 * n for n in N], "Mean return": [10 * n for n in N]},
    ),
    "what is counted has the name of a metric before it": (
        "".join(
            f"Loss during epoch {n} / 6, batch {at} / 20: batch loss = {9 - n}.{at}, lr = 0.001\n"
            for n in N
            for at in (5, 15)
        ),
        {name: [at + 20 * n for n in range(6) for at in (5, 15)] for name in ("batch loss", "epoch", "lr")},
    ),
    "an arrow before the heading of an epoch, and values with names that are none of metrics": (
        "".join(f"→ Epoch {n}/6\n  drift: 0.{n}1 | torsion: 0.{n}7\n" for n in N),
        {"drift": [*N], "torsion": [*N]},
    ),
    "names between signs of mathematics": (
        "".join(f"epoch {n} loss=0.{n} ‖w‖=1.{n} ⟨cos(a, b)⟩=0.{n}5\n" for n in N),
        {"loss": [*N], "‖w‖": [*N], "⟨cos(a, b)⟩": [*N]},
    ),
    "positions with commas between thousands": (
        "".join(f"  [{n},500/60,000] Win rate vs basic: {n}1.5% (best: 90.0%)\n" for n in N),
        {f"{best}Win rate vs basic": [1000 * n + 500 for n in N] for best in ("", "best/")},
    ),
    "many lines of a step with a name that is no known metric": (
        "".join(f"Generation {n}/6\n" + "".join(f"Thrust: {n}.{at}5\n" for at in range(5)) for n in N),
        {"Thrust": [*N], **{f"Thrust/repeat={n}": [*N] for n in range(2, 6)}},
    ),
    "a step and an epoch in sentences above their values": (
        "".join(
            f"current step is {50 * n}\ncurrent epoch is {n // 3}\n\ntrain loss is: {9 - n}.5\n" for n in N
        ),
        {"train loss": [50 * n for n in N]},
    ),
    "a name before the steps of an epoch that begin anew with each": (
        "".join(
            f"==== Epoch {n}/3 ====\n"
            + "".join(f"Average reward after {at}00 timesteps: {n}.{at}\n" for at in range(1, 5))
            for n in (1, 2, 3)
        ),
        {"Average reward": [100 * at for at in range(1, 13)]},
    ),
    "losses of batches in sentences below their epoch": (
        "".join(
            f"Epoch: {n}\n" + "".join(f"train loss is: {9 - n}.{at}5\n" for at in (1, 2, 3)) for n in range(4)
        ),
        {"train loss": [*range(12)]},
    ),
    "trainings with the files of their settings": (
        "".join(
            f"Training with {name}.yaml\n" + "".join(f"[{n}/6] train_loss={9 - n}.1\n" for n in N)
            for name in ("small", "large")
        ),
        {"train_loss": [*N], "train_loss/training=large.yaml": [*N]},
    ),
    "trainings for several amounts of something": (
        "".join(
            f"Starting training for hidden units: {size}-----------\n"
            + "".join(f"Epoch {n}: loss {9 - n}.1\n" for n in N)
            for size in (10, 20)
        ),
        {"loss": [*N], "loss/training=hidden units: 20": [*N]},
    ),
    "trainings below headings in Chinese, and rounds that are none": (
        "".join(
            f"----- 训练 beta = 0.{n} -----\n"
            + "".join(f"===== 第 {each} 轮 =====\nbatch 1 loss: 0.{each}\n" for each in (1, 2, 3))
            for n in (1, 2)
        ),
        {"loss": [1, 2, 3], "loss/training=训练 beta = 0.2": [1, 2, 3]},
    ),
    "a class before the first of the names of its line": (
        "".join(
            f"Epoch {n}/6\n"
            + "".join(
                f"  {name} precision: 0.{n}{at} | recall: 0.{at}{n}\n"
                for at, name in ((1, "oak"), (2, "elm"))
            )
            for n in N
        ),
        {name: [*N] for name in ("oak precision", "recall", "elm precision", "elm/recall")},
    ),
    "metrics of parts behind a plural": (
        "".join(f"Epoch {n}: loss {9 - n}.5\nTest Accuracies: All 0.{n}1 | Seen 0.{n}2\n" for n in N),
        {name: [*N] for name in ("loss", "Test Accuracies/All", "Test Seen")},
    ),
    "ranks in a list before that of the values at them": (
        "".join(
            f"| epoch {n} | loss: {9 - n}.5 Hit@[5, 10]: [0.{n}1, 0.{n}3], NDCG@[5, 10]: [0.{n}2, 0.{n}4]\n"
            for n in N
        ),
        {name: [*N] for name in ("loss", "Hit@5", "Hit@10", "NDCG@5", "NDCG@10")},
    ),
    "a step before its name, and units in a sentence": (
        "".join(
            f"{n}000 global_step: rotation error {n}.2 degrees, drift {n}.1 px, loss {9 - n}.5\n" for n in N
        ),
        {name: [1000 * n for n in N] for name in ("rotation error", "drift", "loss")},
    ),
    "a number in a name behind vs": (
        "".join(f"ep {100 * n} | len {n}4 | vs 2 random: {n}3% | vs 2 greedy: {n}1%\n" for n in N),
        {name: [100 * n for n in N] for name in ("len", "random", "greedy")},
    ),
    "the step of a stage in brackets before an epoch and its batch": (
        "".join(
            f"[9-3 / step {stage}] Epoch {epoch}, Itrs {batch}/40, Loss={9 - epoch}.{batch}\n"
            for stage, epoch in ((1, 0), (1, 1), (1, 2))
            for batch in range(0, 40, 10)
        ),
        {name: [*range(0, 120, 10)] for name in ("Loss", "Epoch")},
    ),
    "the step in brackets before an epoch without a batch": (
        "".join(f"[gpu 0 / step {10 * n}] Epoch {n}, Loss={9 - n}.5\n" for n in N),
        {name: [10 * n for n in N] for name in ("Loss", "Epoch")},
    ),
    "an unknown metric of an evaluation and a time at some of the steps": (
        "".join(
            f"{{'it': {100 * n}, 'loss': {9 - n}.5, 'gap': {n}2.5}}\n"
            + (f"{{'it': {100 * n + 50}, 'val_Q': 0.{n}3, 'gap': {n}7.5}}\n" if n % 2 else "")
            for n in N
        ),
        {
            "loss": [100 * n for n in N],
            "gap": sorted([*(100 * n for n in N), 150, 350, 550]),
            "val_Q": [150, 350, 550],
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
            **{name: [*range(20, 1200, 40)] for name in ("Top_dev", "Top_dev 2", "Top_test", "Top_test 2")},
        },
    ),
    "the extremes of values, one of which never changes": (
        "".join(
            f"Val RMSE={90 - n}.25 at iter={100 * n}\n"
            f"Max val in depth is 700 and Max val in Re-depth is 6{n}1\n"
            for n in N
        ),
        {name: [100 * n for n in N] for name in ("Val RMSE", "Max val in depth", "Max val in Re-depth")},
    ),
    "a line that says that an epoch is done, behind its record": (
        "".join(f"Epoch = {n}, Loss = 2.{9 - n}\nRun-up = 1.{n}\nEpoch {n} done in 3.{n}.\n" for n in N),
        {"Loss": [*N], "Run-up": [*N]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_value_is_at_its_step(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    assert_steps(tmp_path, text, expected)


def test_what_the_shell_says_of_an_ended_program_shows_the_next_launch(tmp_path: Path) -> None:
    def launch(last: int) -> str:
        return "".join(f"Epoch [{n}/40]\n  Train: CVW={n}.5\n" for n in range(5, last + 1, 5))

    run = read_log(tmp_path, launch(20) + "Killed\n" + launch(40))
    assert run.attempts == 2
    assert steps_of(run)["CVW"] == [5, 10, 15, 20, *range(5, 41, 5)]
