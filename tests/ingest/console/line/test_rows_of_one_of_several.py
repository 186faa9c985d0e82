"""Lines of a step with the same names, each of one of several: evaluations, classes, players, scales."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(2, 6)
THREE = range(3)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "scores of tasks without a word for their data": (
        "".join(
            f"Epoch {n} loss: 0.{n}\n" + "".join(f"Task {k} accuracy: 0.{n}{k}\n" for k in THREE) for n in N
        ),
        {"loss": [*N]} | {f"accuracy/task={k}": [*N] for k in THREE},
    ),
    "losses of classes, named like that of all": (
        "".join(
            f"Epoch {n} loss: 0.{n}\n" + "".join(f"  Class {k}: loss 0.{n}{k}\n" for k in THREE) for n in N
        ),
        {"loss": [*N]} | {f"loss/class={k}": [*N] for k in THREE},
    ),
    "tasks in turn, behind each of which all so far are tested": (
        "".join(
            f"Task {task}/3: classes {2 * task}-{2 * task + 1}\n"
            + "".join(f"Epoch {n} loss: 0.{n}\n" for n in N)
            + "".join(f"Task {k} acc: 0.{k}{task}\n" for k in range(1, task + 1))
            for task in (1, 2, 3)
        ),
        {f"loss{task}": [*N] for task in ("", "/task=2", "/task=3")}
        | {f"acc/task={k}": [5] for k in (1, 2, 3)}
        | {f"acc/task={k}/training=task {task}": [5] for k, task in ((1, 2), (1, 3), (2, 3))},
    ),
    "numbered evaluations": (
        "".join(
            f"[{n}0] Total: 0.{n} | Rate: 0.3{n}\n"
            + "".join(f"[ Test{k:2d} ] Total: 0.{n}{k + 1} | PSNR: 3{n}.{k + 1}\n" for k in (-1, 0, 10))
            for n in N
        ),
        {"Total": [20, 30, 40, 50], "Rate": [20, 30, 40, 50]}
        | {f"test/{name}/test={k}": [20, 30, 40, 50] for name in ("Total", "PSNR") for k in (-1, 0, 10)},
    ),
    "numbered evaluations from one on, of which the first line may be that of an epoch": (
        "".join(
            f"Epoch {n} loss: 0.{n}\n" + "".join(f"Test {k}: PSNR: 3{n}.{k} SSIM: 0.{n}{k}\n" for k in (1, 2))
            for n in N
        ),
        {"loss": [*N], "test/PSNR": [2], "test/SSIM": [2]}
        | {f"test/{name}/test=1": [3, 4, 5] for name in ("PSNR", "SSIM")}
        | {f"test/{name}/test=2": [*N] for name in ("PSNR", "SSIM")},
    ),
    "an evaluation with the number of its epoch": (
        "".join(f"Epoch {n} loss: 0.{n}\nTest {n}: loss: 0.5{n} acc: 0.6{n}\n" for n in N),
        {"loss": [*N], "test/loss": [*N], "test/acc": [*N]},
    ),
    "evaluations that are counted": (
        "".join(
            f"Epoch {n} loss: 0.{n}\n" + (f"[Eval {n // 2}] acc: 0.6{n} f1: 0.5{n}\n" if n % 2 else "")
            for n in range(1, 9)
        ),
        {"loss": [*range(1, 9)], "eval/acc": [1, 3, 5, 7], "eval/f1": [1, 3, 5, 7]},
    ),
    "scales in brackets": (
        "".join(
            f"Epoch {n}/9 loss: 0.{n}\n"
            + "".join(f"[Faces x{k}.5] PSNR: 3{n}.{k} SSIM: 0.{n}{k}\n" for k in THREE)
            for n in N
        ),
        {"loss": [*N], "PSNR": [2], "SSIM": [2]}
        | {f"Faces x{k}.5/{name}": [*N] for name in ("PSNR", "SSIM") for k in THREE},
    ),
    "a word and a number": (
        "".join(
            f"Epoch {n}/9 loss: 0.{n}\n" + "".join(f"Zone {k}: acc: 0.{n}{k} dice: 0.{n}{k}\n" for k in THREE)
            for n in N
        ),
        {"loss": [*N]}
        | {f"{name}{repeat}": [2] for name in ("acc", "dice") for repeat in ("", "/repeat=2", "/repeat=3")}
        | {f"Zone {k}/{name}": [*N] for name in ("acc", "dice") for k in THREE},
    ),
    "thresholds": (
        "".join(
            f"Epoch {n}/9 loss: 0.{n}\n"
            + "".join(f"threshold {k}: precision: 0.{n}1 recall: 0.{n}2\n" for k in (0.3, 0.5))
            + "".join(f"k={k}: hr@k: 0.{n}3 ndcg: 0.{n}4\n" for k in (5, 10))
            for n in N
        ),
        {"loss": [*N], "precision": [2], "recall": [2]}
        | {f"threshold {k}/{name}": [*N] for name in ("precision", "recall") for k in (0.3, 0.5)}
        | {f"k={k}/{name}": [*N] for name in ("hr@k", "ndcg") for k in (5, 10)},
    ),
    "numbered parts below the heading of an epoch, which may be its batches": (
        "".join(f"Epoch {n}/9\n" + "".join(f"Chunk {k}: loss: 0.{n}{k}\n" for k in range(9)) for n in (1, 2)),
        {"loss": [*range(1, 19)]},
    ),
    "scales of a metric each, below the heading of an epoch": (
        "".join(f"Epoch {n}/9\n" + "".join(f"[Faces x{k}] PSNR: 3{n}.{k}\n" for k in THREE) for n in N),
        {"PSNR": [2]} | {f"Faces x{k}/PSNR": [*N] for k in THREE},
    ),
    "a report of each sample behind the training": (
        "".join(f"Epoch {n}/9 loss: 0.{n}\n" for n in N)
        + "".join(f"Sample {k}: PSNR: 3{k}.5 SSIM: 0.{k}5\n" for k in THREE),
        {"loss": [*N]}
        | {f"{name}{repeat}": [5] for name in ("PSNR", "SSIM") for repeat in ("", "/repeat=2", "/repeat=3")},
    ),
    "a number that counts": (
        "".join(f"Epoch {n}/9 loss: 0.{n}\nPatience 0: acc: 0.{n} dice: 0.{n}\n" for n in N)
        + "Epoch 6/9 loss: 0.6\nPatience 0: acc: 0.5 dice: 0.5\nPatience 1: acc: 0.6 dice: 0.6\n",
        {name: [*N, 6] for name in ("loss", "acc", "dice")}
        | {f"{name}/repeat=2": [6] for name in ("acc", "dice")},
    ),
    "players behind two blanks": (
        "".join(
            f"Episode {n}00/900 | avg_turns=1{n}.5\n"
            + "".join(f"    player_{k}  avg_reward=+{n}.{k}  pl=-0.{n}{k}\n" for k in THREE)
            for n in N
        ),
        {"avg_turns": [200, 300, 400, 500]}
        | {f"player_{k}/{name}": [200, 300, 400, 500] for name in ("avg_reward", "pl") for k in THREE},
    ),
    "players with a sign, below a line with known metrics": (
        "".join(
            f"Episode {n}00/900 | loss=0.{n}\n"
            + "".join(f"player_{k}: avg_reward={n}.{k} pl=-0.{n}{k}\n" for k in THREE)
            for n in N
        ),
        {"loss": [200, 300, 400, 500]}
        | {f"player_{k}/{name}": [200, 300, 400, 500] for name in ("avg_reward", "pl") for k in THREE},
    ),
    "the parts of a whole that has the same names": (
        "".join(
            f"epoch: {n}/9 loss: 0.{n}\nevaluation ...\n"
            + "".join(f"{part}: {{'precision': 0.{n}1, 'recall': 0.{n}2}}\n" for part in ("minus", "plus"))
            + f"precision: 0.{n}3 recall: 0.{n}4\n"
            for n in N
        ),
        {"loss": [*N]}
        | {f"evaluation/{name}": [*N] for name in ("precision", "recall")}
        | {f"evaluation/{name}/repeat=2": [2] for name in ("precision", "recall")}
        | {
            f"{part}/evaluation/{name}": [*N]
            for part in ("minus", "plus")
            for name in ("precision", "recall")
        },
    ),
    "ranks in two blocks of a line each": (
        "".join(f"Epoch {n}:\n  Loss: 0.{n}\n  Top-1: 2{n}.5%\n  Top-3: 7{n}.5%\n" for n in (1, 2)),
        {name: [1, 2] for name in ("Loss", "Top-1", "Top-3")},
    ),
    "results with a setting of theirs behind the last epoch": (
        "".join(
            f"==== Training tau = {tau} ====\n"
            + "".join(f"Epoch {n}/3, loss: {tau}{n}\n" for n in (1, 2, 3))
            + f"Accuracy with tau = {tau}: 7{tau}%\n"
            for tau in (0.1, 0.2)
        ),
        {"loss": [1, 2, 3], "Accuracy with tau = 0.1": [3]}
        | {
            f"{name}/training=Training tau = 0.2": steps
            for name, steps in (("loss", [1, 2, 3]), ("Accuracy with tau = 0.2", [3]))
        },
    ),
    "unknown names that recur": (
        "".join(
            f"Epoch {n}/9 loss: 0.{n}\n"
            + "".join(f"[Faces x{k}] foo: 0.{n}{k} bar: 0.{n}{k}\n" for k in THREE)
            for n in N
        ),
        {"loss": [*N]} | {f"Faces x{k}/{name}": [*N] for name in ("foo", "bar") for k in THREE},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_of_several_has_its_series(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert_steps(tmp_path, text, expected)


@pytest.mark.parametrize("prefix", ["", "[2026-01-02 10:00:00] ", "INFO - "])
def test_a_word_in_brackets_names_a_line_within_the_epoch(prefix: str, tmp_path: Path) -> None:
    text = "".join(
        f"{prefix}Epoch: [0/2] [{batch}/9] g_err: 0.4{batch}, d_err: 1.3{batch}, loss: 2.1{batch}\n"
        + f"{prefix}[Sample] g_err: 0.6{batch}, loss: 2.5{batch}\n" * (batch in (2, 5))
        for batch in range(9)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["sample/loss"] == steps["sample/g_err"] == [2, 5]
    assert steps["loss"] == steps["g_err"] == [*range(9)]


@pytest.mark.parametrize("batches", [[3, 6, 9], [0, 4, 8]])
def test_a_line_with_a_word_in_brackets_may_have_the_means_where_no_step_of_the_epoch_follows(
    batches: list[int], tmp_path: Path
) -> None:
    lines = "".join(f"Epoch: [0/2] [{batch}/9] loss: 2.1{batch}\n" for batch in batches)
    steps = steps_of(read_log(tmp_path, f"{lines}[Total] loss: 2.15\n"))
    assert steps == {"Epoch": batches, "loss": batches, "epoch/loss": batches[-1:]}
