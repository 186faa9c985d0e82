"""Lines that state a metric in a sentence, without a sign before the number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

N = [*range(1, 6)]
BELOW = {
    "   test error of best model 8{n}.5 %": "test error of best model",
    "-> word error rate 5{n}.5 %": "word error rate",
    "validation accuracy of the averaged model 5{n}.5%": "validation accuracy of the averaged model",
    "mean squared error of 0.3{n}": "mean squared error",
}
NOT_READ = [
    "price of 1 sample = 1.{n}ms",
    "error on line {n}",
    "{n} errors of 12 %",
    "loss of {n} horses",
    "progress of training 4{n} %",
]


@pytest.mark.parametrize("prefix", ["", "2026-05-04 10:00:01 INFO "])
@pytest.mark.parametrize("line", BELOW)
def test_a_sentence_below_its_epoch(tmp_path: Path, line: str, prefix: str) -> None:
    lines = [f"{prefix}epoch {n} loss 1.{n}\n{prefix}{line.format(n=n)}\n" for n in N]
    assert_steps(tmp_path, "".join(lines), {"loss": N, BELOW[line]: N})


def test_a_sentence_behind_its_epoch(tmp_path: Path) -> None:
    lines = [
        f"epoch {n}, minibatch 50/50, validation error 1{n}.5 %\n"
        f"     epoch {n}, minibatch 50/50, test error of best model 2{n}.5 %\n"
        for n in N
    ]
    steps = [50 * n for n in N]
    names = ("epoch", "validation error", "test error of best model")
    assert_steps(tmp_path, "".join(lines), dict.fromkeys(names, steps))


@pytest.mark.parametrize("line", NOT_READ)
def test_other_sentences_are_not_read(tmp_path: Path, line: str) -> None:
    assert_steps(tmp_path, "".join(f"epoch {n} loss 1.{n}\n{line.format(n=n)}\n" for n in N), {"loss": N})
