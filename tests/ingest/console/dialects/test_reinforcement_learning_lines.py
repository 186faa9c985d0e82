"""Lines as libraries of reinforcement learning print them: every number at its step, in one attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)
BAR = "-" * 40 + "\n"
GROUPS = f"{'-' * 36}  {'-' * 14}\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "rows without bars below lines of two groups of dashes": (
        "".join(
            f"2021-05-11 12:1{n}:22.123 UTC | [sac] Epoch {n} finished\n{GROUPS}"
            f"replay_buffer/size                    {n}000\ntrainer/QF1 Loss                      0.9{n}210\n"
            f"trainer/Policy Loss                  -1.2{n}\nEpoch                             {n}\n{GROUPS}"
            for n in N
        ),
        {name: [*N] for name in ("replay_buffer/size", "trainer/QF1 Loss", "trainer/Policy Loss")},
    ),
    "such a table whose rows have a logger's prefix": (
        "".join(
            f"2017-06-2{n} 12:11:11.123 PDT | [trpo] {line}\n"
            for n in N
            for line in (
                *(GROUPS.strip(), f"Iteration                               {n}"),
                *(f"AverageReturn                          {n}2.5", GROUPS.strip()),
            )
        ),
        {"AverageReturn": [*N]},
    ),
    "notes of an iteration above its table are no opening": (
        "".join(
            f"2019-11-19 05:3{n}:26.384291  | dqn_0 itr #{n}99 saving snapshot...\n{GROUPS}"
            f"Diagnostics/NewCompletedTrajs         {n}\nDiagnostics/CumSteps                  {n}6400\n"
            f"ReturnAverage                         1{n}.3\ngradNormAverage                   0.{n}\n{GROUPS}"
            for n in N
        ),
        {
            name: [16400, 26400, 36400, 46400]
            for name in ("Diagnostics/NewCompletedTrajs", "ReturnAverage", "gradNormAverage")
        },
    ),
    "loggers in turn, each with its own steps and those of others": (
        "".join(
            f"[Environment Loop] Actor Episodes = {n} | Actor Steps = {n}00 | Episode Return = {n}.5\n"
            f"[Learner] Actor Steps = {n}00 | Critic Loss = 0.{n} | Learner Steps = {n}0 | Time = {n}.25\n"
            f"[Evaluator] Actor Steps = {n}00 | Episode Return = {n}.9 | Evaluator Episodes = {n}\n"
            for n in N
        ),
        {
            **{name: [n * 100 for n in N] for name in ("Actor Episodes", "Episode Return")},
            **{
                f"{name}/logger=Learner": [n * 10 for n in N]
                for name in ("Critic Loss", "Time", "Actor Steps")
            },
            **{f"{name}/logger=Evaluator": [*N] for name in ("Episode Return", "Actor Steps")},
        },
    ),
    "an arrow with a long tail": (
        "".join(f"Episode * {n} * Avg Reward is ==> {n}0.5\n" for n in N),
        {"Avg Reward": [*N]},
    ),
    "results whose keys are in alphabetical order, the counter among the last ones": (
        "".join(
            f"date: 2024-03-05_10-00-0{n}\nepisode_reward_mean: {n}0.5\ntime_total_s: {n}2.5\n"
            f"training_iteration: {n}\n\n"
            for n in N
        ),
        {name: [*N] for name in ("episode_reward_mean", "time_total_s")},
    ),
    "levels of a logger are no tags": (
        "".join(f"[INFO] Loss = 0.{n} | Steps = {n}0\n[WARNING] Reward = 1.{n} | Steps = {n}0\n" for n in N),
        {name: [n * 10 for n in N] for name in ("Loss", "Reward")},
    ),
    "a table whose steps are in the plural": (
        "".join(
            f"{BAR}| % time spent exploring  | {98 - n}       |\n| episodes                | {n}00      |\n"
            f"| mean 100 episode reward | {n}1.1     |\n| steps                   | {n}980     |\n{BAR}"
            for n in N
        ),
        {
            name: [1980, 2980, 3980, 4980]
            for name in ("episodes", "mean 100 episode reward", "% time spent exploring")
        },
    ),
    "a table that counts frames": (
        "".join(f"{BAR}| return | {n}.5      |\n| frame  | {n}28      |\n{BAR}" for n in N)
        + f"{BAR}| return | 9.5      |\n| frame  | 1.28e+03 |\n{BAR}",
        {"return": [128, 228, 328, 428, 1280]},
    ),
    "a table that counts frames and updates": (
        "".join(f"{BAR}| epoch | {n} |\n| frames | {n}00 |\n| return | {n}.5 |\n{BAR}" for n in N),
        {name: [*N] for name in ("frames", "return")},
    ),
    "headings between drawn lines": (
        "".join(
            f"──────────── Step {n}000 ────────────\nepisode/score 1.{n} / train/loss/image 1.99\n" for n in N
        ),
        {name: [1000, 2000, 3000, 4000] for name in ("episode/score", "train/loss/image")},
    ),
    "the epoch in which the best one was": (
        "".join(f"Epoch #{n}: test_reward: 146.8 ± 1.2, best_reward: 20{n}.0 ± 0.0 in #{n}\n" for n in N),
        {name: [*N] for of in ("test_reward", "best_reward") for name in (of, f"{of} (std)")},
    ),
    "notes that say why an update ended": (
        "".join(
            f"Early stopping at step {(3 * n) % 5} due to reaching max kl: 0.0{n}\n"
            f"iteration {n} reward: 1{n}.5\n"
            for n in N
        ),
        {"reward": [*N]},
    ),
    "pairs of names and numbers with unknown names": (
        "".join(
            f"INFO:train_agent:outdir:results step:{n}00 episode:{n} R:13.{n}\n"
            f"INFO:train_agent:statistics:[('average_q', 1.4{n}), ('average_loss', 0.9{n})]\n"
            for n in N
        ),
        {name: [100 * n for n in N] for name in ("R", "episode", "average_q", "average_loss")},
    ),
    "bars with names of a letter and a per cent": (
        "".join(
            f"RL Training:   {n}%|          | {n}000/100000 [00:01<09:11,  7.91it/s, R=0.0{n}, U=1{n}.0%]\r"
            for n in N
        )
        + "\n",
        {name: [1000, 2000, 3000, 4000] for name in ("R", "U")},
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_numbers_are_at_their_steps(text: str, expected: dict[str, list[int]], tmp_path: Path) -> None:
    assert_steps(tmp_path, text, expected)


def _epochs_of_episodes(word: str, *, parts: int = 1) -> str:
    text = ""
    for epoch in (1, 2, 3):
        rows = "".join(
            f"    {word} {n}0/40 | Steps: {4 + n * epoch % 3} | Reward: {epoch}.{n} | Success: True\n"
            for n in range(1, 5)
        )
        text += (
            f"[Epoch   {epoch}/25] maps: ['a', 'b']\n{parts * rows}  success=0.{epoch}\n  loss=1.{epoch}\n"
        )
    return text


@pytest.mark.parametrize("word", ["Ep", "Episode"])
@pytest.mark.parametrize("parts", [1, 2])
def test_episodes_are_counted_through_the_epochs_above(tmp_path: Path, word: str, parts: int) -> None:
    run = read_log(tmp_path, _epochs_of_episodes(word, parts=parts))
    episodes, ends = [*range(10, 120 * parts + 10, 10)], [*range(40 * parts, 120 * parts + 10, 40 * parts)]
    assert run.attempts == 1
    assert steps_of(run) == {"Steps": episodes, "Reward": episodes, "success": ends, "loss": ends}


@pytest.mark.parametrize("word", ["Ep", "Episode"])
def test_episodes_behind_the_epochs_of_another_part_begin_launches(tmp_path: Path, word: str) -> None:
    epochs = "".join(f"Pretrain Epoch {n}/10\n  loss: 0.{50 - n}\n" for n in range(1, 11))
    episodes = "".join(f"{word} {n}/500 | Reward: {n}.5 | Len: {n % 7}\n" for n in range(10, 501, 10))
    run = read_log(tmp_path, (epochs + episodes) * 2)
    assert run.attempts == 2
    assert steps_of(run)["Reward"] == 2 * [*range(10, 501, 10)]


@pytest.mark.parametrize(
    "heading", ["{} timesteps", "Num timesteps: {}", "Timestep {}", "[Num timesteps: {}]"]
)
def test_values_below_the_timesteps_so_far_are_at_these(tmp_path: Path, heading: str) -> None:
    steps = [*range(2000, 20000, 2000)]
    text = "Num timesteps: 20000 in all\n" + "".join(
        f"{heading.format(n)}\nBest mean reward: 1{n}.5 - Last mean reward per episode: 2{n}.25\nSaving it\n"
        for n in steps
    )
    names = ("Best mean reward", "Last mean reward per episode")
    assert_steps(tmp_path, text, {name: steps for name in names})
    assert read_log(tmp_path, text * 2).attempts == 2


@pytest.mark.parametrize(
    "amount", ["total_timesteps: 9000", "num_timesteps: 9000", "Timesteps: 9000", "9000 steps"]
)
def test_amounts_of_timesteps_are_no_steps(tmp_path: Path, amount: str) -> None:
    text = f"{amount}\nmean reward: 0.5\n" + "".join(f"Step {n}: loss {n}.5\n" for n in range(5))
    assert 9000 not in {step for steps in steps_of(read_log(tmp_path, text)).values() for step in steps}
