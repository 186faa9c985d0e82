"""What programs of other trades and languages print: reinforcement learning, equations, Julia, Chinese."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(6)
_STATS = "[INFO 10:0{n}:05] runner Recent Stats | t_env: {at:>10} | Episode: {n:>8}\n"


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


def _aligned(*pairs: tuple[str, str]) -> str:
    """Names and values in columns as wide as the longest name: `loss:                   0.5`."""
    return "\t".join(f"{name + ':':<25}{value:>8}" for name, value in pairs) + "\n"


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
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
    "numbers of single precision in Julia": (
        "".join(f"Epoch: {n}   (loss = 0.{n}5f0, acc = 9{n}.5)   rate = 1.{n}f-5\n" for n in N),
        {"loss": [*N], "acc": [*N], "rate": [*N]},
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
    "fields between slashes, with names that are no known metrics": (
        "".join(f"[{n * 500}] fps 1{n}.5 / train_length 13{n}.0 / model_loss 2.{n}\n" for n in N),
        _at([n * 500 for n in N], "fps", "train_length", "model_loss"),
    ),
    "headings of steps of an evaluation, where those of the training state the step of all": (
        "".join(
            f" > EPOCH: {n}/9\n\n > TRAINING (2024-01-02 03:04:05) \n"
            + "".join(
                f"\n   --> STEP: {at}/100 -- GLOBAL_STEP: {100 * n + at}\n     | > loss: 0.{n}{at}  (0.5)\n"
                for at in (0, 50)
            )
            + f"\n > EVALUATION \n\n   --> STEP: 0\n     | > loss: 0.{n}1  (0.6)\n"
            f"\n  --> EVAL PERFORMANCE\n     | > avg_loss: 0.{n}2 (+0)\n\n"
            for n in range(3)
        ),
        _at([0, 50, 100, 150, 200, 250], "loss") | _at([50, 150, 250], "evaluation/loss", "eval/avg_loss"),
    ),
    "sums with their terms": (
        "".join(
            f"Epoch {n} [9.1s]: train==[0.5{n}=0.4{n} + 0.1]\n"
            if n % 3
            else f"Epoch {n} [9.1s + 1.2s]: test==[0.6{n}=0.5{n} + 0.1], recall=[0.1{n}, 0.2{n}]\n"
            for n in range(1, 10)
        )
        + "Best Iter=[3]@[99.1]\trecall=[0.16\t0.26]\n",
        _at([1, 2, 4, 5, 7, 8], "train", "train 2", "train 3")
        | _at([3, 6, 9], "test", "test 2", "test 3", "recall", "recall 2")
        | _at([9], "best/recall", "best/recall 2"),
    ),
    "a table of boosted trees whose column of the evaluation is empty": (
        "Iter   TrainDeviance   ValidDeviance   StepSize   Improve\n"
        + "".join(f"{n:6}        1.2{n}00             nan     0.1000    0.0{n}00\n" for n in range(1, 8)),
        _at([*range(1, 8)], "TrainDeviance", "ValidDeviance", "StepSize", "Improve"),
    ),
    "the history behind the rounds of a federated training": (
        "".join(
            f"INFO :      \nINFO :      [ROUND {n}]\nINFO :      received {n} results\n" for n in (1, 2, 3)
        )
        + "INFO :      [SUMMARY]\nINFO :      \tHistory (loss, distributed):\n"
        + "".join(f"INFO :      \t\tround {n}: 0.{n}5\n" for n in (1, 2, 3))
        + "INFO :      \tHistory (metrics, distributed, evaluate):\n"
        + "INFO :      \t{'accuracy': [(1, 0.25),\n"
        + "INFO :      \t              (2, 0.5),\nINFO :      \t              (3, 0.75)]}\n",
        _at([1, 2, 3], "distributed/loss", "distributed/evaluate/accuracy"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_of_trades_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_a_number_of_single_precision_has_its_exponent(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"(epoch = {n}, loss = 2.5f-3, acc = 1.25f0)\n" for n in N))
    assert {key.metric: series.value.tolist()[0] for key, series in run.data.series.items()} == {
        "loss": 0.0025,
        "acc": 1.25,
    }


def _table(losses: int, metrics: int, ratio: float = 1.0) -> str:
    """A table of so many losses on two sets of points, and of other values, as numpy saves them."""

    def row(step: int) -> str:
        of_train = [10.0**-number * (1 + step / 5000) for number in range(losses)]
        values = [step, *of_train, *(ratio * loss for loss in of_train), *[0.5] * metrics]
        return " ".join(f"{value:.18e}" for value in values) + "\n"

    return "# step, loss_train, loss_test, metrics_test\n" + "".join(
        row(step) for step in range(0, 6000, 1000)
    )


@pytest.mark.parametrize(
    ("losses", "metrics", "ratio"), [(3, 0, 1.2), (3, 1, 0.9), (2, 2, 1.0), (1, 0, 1.1), (20, 1, 1.0)]
)
def test_several_columns_below_one_name_are_numbered(
    tmp_path: Path, losses: int, metrics: int, ratio: float
) -> None:
    run = read_log(tmp_path, _table(losses, metrics, ratio), "loss.dat")
    names = [
        *(
            f"{name} {number}" if number > 1 else name
            for name in ("loss_train", "loss_test")
            for number in range(1, losses + 1)
        ),
        *("metrics_test" if number == 1 else f"metrics_test {number}" for number in range(1, metrics + 1)),
    ]
    assert steps_of(run) == _at([*range(0, 6000, 1000)], *sorted(names))
