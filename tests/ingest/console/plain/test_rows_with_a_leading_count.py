"""Rows that begin with a bare number that counts, between lines that state a step."""

from __future__ import annotations

import pytest

from tests.support.log_reading import Reading


@pytest.fixture
def reading() -> Reading:
    return Reading()


def text_of(form: str, every: int = 1) -> bytes:
    """Forty rows of a form, and behind every tenth one an evaluation that states its step."""
    lines = ["Using device: cpu"]
    for number in range(40):
        step = number * every
        lines.append(form.format(step=step, loss=7.5 - number / 8, acc=number / 64))
        if number % 10 == 9:
            lines.append(f"Step {step}: eval loss {7.75 - number / 8}")
    return "\n".join([*lines, ""]).encode()


class TestCountsAhead:
    @pytest.mark.parametrize(
        ("form", "every"),
        [
            ("{step} | loss {loss} | acc {acc}", 1),
            ("{step}, loss: {loss}, acc: {acc}", 1),
            ("{step:5d} | loss = {loss}, acc = {acc}", 25),
            ("  {step} loss {loss} acc {acc}", 10),
            ("{step}> loss {loss}, acc {acc}", 1),
        ],
    )
    def test_they_are_the_steps_of_their_rows(self, reading: Reading, form: str, every: int) -> None:
        found = reading.read_complete("train.log", text_of(form, every))

        expected = range(0, 40 * every, every)
        assert found.values("loss") == [(step, 7.5 - step / every / 8) for step in expected]
        assert found.values("acc") == [(step, step / every / 64) for step in expected]
        assert [step for step, _ in found.values("eval loss")] == [*expected][9::10]
        assert not found.restarts

    def test_numbers_that_come_again_are_no_counts(self, reading: Reading) -> None:
        lines = ["Step 0: eval loss 3.5"]
        for step in range(1, 6):
            lines += [f"{process} | loss {4 - step / 4 + process / 64}" for process in range(2)]
            lines.append(f"Step {step}: eval loss {3.5 - step / 8}")

        found = reading.read_complete("train.log", "\n".join([*lines, ""]).encode())

        assert [step for step, _ in found.values("eval loss")] == [0, 1, 2, 3, 4, 5]
        assert {step for key in found.points for _, step, _, _ in found.points[key]} <= {*range(6)}

    def test_below_an_epoch_they_are_its_rows(self, reading: Reading) -> None:
        lines = []
        for epoch in range(3):
            lines.append(f"Epoch {epoch}")
            lines += [f"{batch} | loss {5 - epoch - batch / 64}" for batch in range(0, 100, 10)]
            lines.append(f"validation loss: {5.5 - epoch}")

        found = reading.read_complete("train.log", "\n".join([*lines, ""]).encode())

        assert len(found.values("loss")) == 30
        assert len({step for step, _ in found.values("loss")}) == 30
