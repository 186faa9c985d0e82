"""Tables whose steps are printed with three digits, as OpenAI's loggers print them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

_RULE = "-" * 24 + "\n"


def _tables(steps: list[int]) -> str:
    return "".join(
        f"{_RULE}| loss      | {1 / n:<8.3g} |\n| step      | {step:<8.3g} |\n{_RULE}"
        for n, step in enumerate(steps, 1)
    )


@pytest.mark.parametrize("every", [10, 64, 512, 2048])
def test_steps_with_three_digits_are_as_far_apart_as_those_before(tmp_path: Path, every: int) -> None:
    steps = [every * n for n in range(1500)]
    run = read_log(tmp_path, _tables(steps))
    assert run.attempts == 1
    [(name, read)] = steps_of(run).items()
    assert name == "loss"
    assert read == sorted({*read})
    assert all(
        abs(one - other) <= max(one / 1000, every / 20) for one, other in zip(read, steps, strict=True)
    )


def test_steps_with_three_digits_are_as_far_apart_as_those_with_all_digits(tmp_path: Path) -> None:
    steps = [n for n in range(0, 30000, 10) if not 100 < n < 350]
    assert steps_of(read_log(tmp_path, _tables(steps)))["loss"] == steps


def test_rounded_steps_that_go_back_begin_a_launch(tmp_path: Path) -> None:
    run = read_log(tmp_path, _tables([*range(0, 12000, 10), *range(10000, 11000, 10)]))
    assert run.attempts == 2
    assert steps_of(run)["loss"][1200] == 10000
