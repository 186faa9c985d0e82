"""Logs composed of the lines of one launch, or of several: each is an attempt, and every value is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.ingest.offline.read_run import OfflineRun, read_run

EPOCHS = [
    "Epoch {epoch}: train_loss={a} val_loss={b}",
    "Epoch [{epoch}/{epochs}] loss: {a}, acc: {b}",
    "Epoch {epoch}/{epochs}, Train Loss: {a}, Val Loss: {b}",
    "epoch {epoch} | loss {a} | acc {b}",
    "{{'epoch': {epoch}, 'loss': {a}, 'acc': {b}}}",
    "====> Epoch: {epoch} Average loss: {a}\n====> Test set loss: {b}",
    "Epoch: {epoch}\n  loss: {a}\n  acc: {b}",
    "Epoch {epoch}/{epochs}\n----------\ntrain Loss: {a} Acc: {b}\nval Loss: {d} Acc: {e}",
    "epoch {epoch}: 100%|█████| {batches}/{batches} [00:03<00:00,  3.1it/s, loss={a}]\nEpoch {epoch} acc {b}",
]
BATCHES = [
    "",
    "Epoch [{epoch}/{epochs}], Step [{batch}/{batches}], Loss: {c}",
    "Train Epoch: {epoch} [{batch}/{batches}]\tLoss: {c}",
    "epoch {epoch} | batch {batch}/{batches} | train loss {c}",
]
EVALUATIONS = [
    "",
    "Test set: Average loss: {d}, Accuracy: {e}",
    "Validating ...\nval loss: {d}\nval acc: {e}",
    "[Eval] loss: {d}, acc: {e}",
]
OPENINGS = [
    "Namespace(lr=0.1, batch_size=8, epochs={epochs})\nLoading the data from data\nBuilding the model\n",
    "lr: 0.1\nbatch_size: 8\nUsing the device cuda\nParameters of the model: 1234567\nStart training\n",
    "Start of the program on Mon May  4 10:0{number}:00 2026\nLoading the data\nInitializing the network\n"
    "Loading the weights of the model\n",
    "{{'lr': 0.1, 'batch_size': 8, 'device': 'cuda'}}\nLoading the tokenizer\nModel with 1234567 parameters\n"
    "Loading the data set\n",
    "Namespace(lr=0.1, batch_size=8, epochs={epochs})\n",
    "=========== Started at 2026-05-04 10:0{number}:00 ===========\nUsing the device cuda\n",
    "------------ Options -------------\nbatch_size: 8\ndataroot: data/train\nlr: 0.1\nname: test\nseed: 3\n"
    "-------------- End ----------------\n",
]
PREFIXES = ["", "2026-05-21 {hour:02}:{minute:02}:{second:02},101 - INFO - ", "INFO:root:"]
OTHER_PREFIXES = [
    "trainer-1  | ",
    "2026-05-21T{hour:02}:{minute:02}:{second:02}.123456789Z ",
    "0: ",
    "[rank0]: ",
    "May 21 {hour:02}:{minute:02}:{second:02} host python[123]: ",
    "[2026-05-21 {hour:02}:{minute:02}:{second:02},101][INFO][train.py:55] ",
    "INFO:root:",
    "2026-05-21 {hour:02}:{minute:02}:{second:02}.101 | INFO     | __main__:main:55 - ",
    "trainer-1  | 2026-05-21 {hour:02}:{minute:02}:{second:02},101 - train - INFO - ",
]


@dataclass(frozen=True)
class Program:
    """How a program prints: the lines of an epoch, those of its batches and evaluations, and its opening."""

    epoch: str
    batch: str
    evaluation: str
    opening: str
    prefix: str
    epochs: int
    batches: int
    noise: bool
    seconds: int

    def launches(self, *lasts: int) -> tuple[str, list[list[str]]]:
        """The text of launches that end after so many epochs each, and the values that each prints."""
        lines: list[str] = []
        values: list[list[str]] = []
        for number, last in enumerate(lasts):
            lines += self.opening.format(epochs=self.epochs, number=number).splitlines()
            values.append([])
            for epoch in range(1, last + 1):
                lines += self._lines(number, epoch, values[-1])
        return "".join(f"{self._prefix(at)}{line}\n" for at, line in enumerate(lines)), values

    def _prefix(self, line: int) -> str:
        minutes, second = divmod(line * self.seconds, 60)
        return self.prefix.format(hour=minutes // 60 % 24, minute=minutes % 60, second=second)

    def _lines(self, number: int, epoch: int, values: list[str]) -> list[str]:
        lines = []
        for batch in range(10, self.batches + 1, 10) if self.batch else ():
            lines.append(self._filled(self.batch, number, epoch, batch, values))
        lines += self._filled(self.epoch, number, epoch, self.batches, values).split("\n")
        if self.evaluation:
            lines += self._filled(self.evaluation, number, epoch, self.batches, values).split("\n")
        return [*lines, "Saved the model"] if self.noise else lines

    def _filled(self, line: str, number: int, epoch: int, batch: int, values: list[str]) -> str:
        measured = {name: f"{3 + number}.{len(values) + at:05}" for at, name in enumerate("abcde")}
        values += [measured[name] for name in "abcde" if f"{{{name}}}" in line]
        return line.format(epoch=epoch, epochs=self.epochs, batch=batch, batches=self.batches, **measured)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any program."""
    return Program(
        epoch=draw(st.sampled_from(EPOCHS)),
        batch=draw(st.sampled_from(BATCHES)),
        evaluation=draw(st.sampled_from(EVALUATIONS)),
        opening=draw(st.sampled_from(OPENINGS)),
        prefix=draw(st.sampled_from(PREFIXES)),
        epochs=draw(st.integers(5, 9)),
        batches=draw(st.sampled_from([20, 50])),
        noise=draw(st.booleans()),
        seconds=draw(st.sampled_from([1, 7, 60])),
    )


def read(tmp_path_factory: pytest.TempPathFactory, text: str) -> OfflineRun:
    file: Path = tmp_path_factory.mktemp("log") / "train.log"
    file.write_text(text)
    return read_run(file)


def points_of(run: OfflineRun) -> dict[str, list[tuple[int, int, float]]]:
    return {
        str(key): [*zip(series.attempt.tolist(), series.step.tolist(), series.value.tolist(), strict=True)]
        for key, series in run.data.series.items()
    }


def values_of(run: OfflineRun, attempt: int) -> set[float]:
    return {
        float(value)
        for series in run.data.series.values()
        for value in series.value[series.attempt == attempt]
    }


@settings(max_examples=80, deadline=None)
@given(program=programs(), has_opening=st.booleans())
def test_the_lines_of_a_launch_are_one_attempt_that_loses_no_value(
    tmp_path_factory: pytest.TempPathFactory, program: Program, has_opening: bool
) -> None:
    shown = program if has_opening else replace(program, opening="")
    text, [values] = shown.launches(program.epochs)
    run = read(tmp_path_factory, text)
    assert run.attempts == 1, text[:2000]
    assert not {*map(float, values)} - values_of(run, 0), text[:2000]


@settings(max_examples=80, deadline=None)
@given(program=programs(), lasts=st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_each_launch_that_prints_its_opening_is_an_attempt_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, program: Program, lasts: list[int]
) -> None:
    text, values = program.launches(*lasts)
    run = read(tmp_path_factory, text)
    assert run.attempts == len(lasts), text[:3000]
    for attempt, expected in enumerate(values):
        assert not {*map(float, expected)} - values_of(run, attempt), text[:3000]


@settings(max_examples=60, deadline=None)
@given(
    program=programs(),
    lasts=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    prefix=st.sampled_from(OTHER_PREFIXES),
)
def test_what_stands_before_the_lines_of_launches_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, program: Program, lasts: list[int], prefix: str
) -> None:
    plain, _ = replace(program, prefix="").launches(*lasts)
    prefixed, _ = replace(program, prefix=prefix).launches(*lasts)
    expected, run = read(tmp_path_factory, plain), read(tmp_path_factory, prefixed)
    assert run.attempts == expected.attempts, prefixed[:3000]
    assert points_of(run) == points_of(expected), prefixed[:3000]
