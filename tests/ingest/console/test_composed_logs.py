"""Logs composed from a grammar of what programs print: every number is found at its step, in one attempt."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter import detectors
from holter.ingest.offline.read_run import read_run
from holter.types import Kind, SeriesKey

PREFIXES = [
    "2026-05-21 02:45:36.101 | INFO     | __main__:train:42 - ",
    "\x1b[2m2026-05-21 02:45:36\x1b[0m [\x1b[32minfo\x1b[0m] ",
    "",
    "INFO ",
    "2026-05-21 02:45:36,101 ",
    "[2024/03/09 15:15:33] app INFO: ",
    "train.py:357 ",
]
WRITERS = [
    "",
    "[rank{0}]: ",
    "{0}: ",
    "[1,{0}]<stdout>:",
    "[default{0}]:",
    "trainer-{0}  | ",
    "10.0.0.{0}: ",
    "2026-05-21T02:45:36.101Z [rank{0}]: ",
    "trainer-7d9f8b6c5-x2x4{0} main 2026-05-21T02:45:36.101Z ",
]


@dataclass(frozen=True)
class Program:
    """How a program prints: positions and metrics of a line, its epochs, splits, writers and noise."""

    position: str
    """The place of a line, in which `{epoch}`, `{inner}`, `{total}` and `{step}` are filled in."""
    restarts: bool
    evaluates: str
    sign: str
    between: str
    prefix: str
    writer: str
    names: tuple[str, ...]
    position_first: bool
    epochs: int
    steps: int
    interval: int

    def lines(self) -> list[str]:
        """The lines of all writers."""
        writers = [self._lines(number) for number in range(2 if self.writer else 1)]
        return [line for lines in zip_longest(*writers) for line in lines if line is not None]

    def _lines(self, writer: int) -> list[str]:
        lines = []
        for step in range(self.interval, self.epochs * self.steps + 1, self.interval):
            epoch, inner = divmod(step - 1, self.steps)
            position = self.position.format(
                epoch=epoch + 1, inner=inner + 1 if self.restarts else step, total=self.steps, step=step
            )
            lines.append(self._line(writer, position, step))
            if inner + 1 == self.steps and self.evaluates:
                lines += [
                    "Saving the model",
                    self._line(writer, f"{self.evaluates}[Epoch {epoch + 1}]", step),
                ]
        return [f"{self.writer.format(writer)}{line}" for line in lines]

    def _line(self, writer: int, position: str, step: int) -> str:
        metrics = [
            f"{name}{self.sign}{value_at(step, writer, index)}" for index, name in enumerate(self.names)
        ]
        fields = [position, *metrics] if self.position_first else [*metrics, position]
        return self.prefix + self.between.join(fields)


def value_at(step: int, writer: int, index: int) -> str:
    """A value that no other line has."""
    return f"{writer + index + 1 / (1 + step):.6f}"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any program."""
    position, restarts, epochs = draw(
        st.sampled_from(
            [
                ("step{s}{{step}}", False, 1),
                ("Iteration {{step}}/90000", False, 1),
                ("global_step{s}{{step}}", False, 3),
                ("epoch{s}{{epoch}}, global_step{s}{{step}}", False, 3),
                ("Epoch [{{epoch}}/3] [{{inner}}/{{total}}]", True, 3),
                ("Epoch [{{epoch}}/3], Step [{{inner}}/{{total}}]", True, 3),
                ("epoch{s}{{epoch}}, batch{s}{{inner}}", True, 3),
                ("epoch {{epoch}} | iter {{inner}}", True, 3),
                ("[Train][Epoch {{epoch}}/3][Iter: {{inner}}/{{total}}]", True, 3),
                ("步数{s}{{step}}", False, 1),
                ("第 {{epoch}} 轮 [{{inner}}/{{total}}]", True, 3),
                ("エポック {{epoch}}/3 バッチ {{inner}}/{{total}}", True, 3),
                ("에폭 {{epoch}}/3, 스텝 {{inner}}/{{total}}", True, 3),
                ("Эпоха {{epoch}}/3, шаг {{inner}}/{{total}}", True, 3),
            ]
        )
    )
    sign = draw(st.sampled_from([": ", "=", " = ", ":", "：", "＝"]))
    interval = draw(st.sampled_from([1, 10]))
    return Program(
        position=position.format(s=sign),
        restarts=restarts,
        evaluates=draw(st.sampled_from(["", "[Eval]", "[Val]", "Test "])),
        sign=sign,
        between=draw(st.sampled_from([", ", " | ", "  ", "\t", " || ", "; ", "，", "　", "；", "。"])),
        prefix=draw(st.sampled_from(PREFIXES)),
        writer=draw(st.sampled_from(WRITERS)),
        names=(
            "loss",
            *draw(
                st.lists(
                    st.sampled_from(["lr", "CE Loss", "grad_norm", "acc", "损失", "정확도"]),
                    max_size=3,
                    unique=True,
                )
            ),
        ),
        position_first=draw(st.booleans()),
        epochs=epochs,
        steps=interval * draw(st.integers(5, 12)),
        interval=interval,
    )


@settings(max_examples=120, deadline=None)
@given(program=programs())
def test_every_number_of_a_program_is_found(
    tmp_path_factory: pytest.TempPathFactory, program: Program
) -> None:
    file = tmp_path_factory.mktemp("log") / "train.log"
    file.write_text("".join(f"{line}\n" for line in program.lines()))
    run = read_run(file)
    assert run.attempts == 1, program.lines()[:30]
    steps = [*range(program.interval, program.epochs * program.steps + 1, program.interval)]
    evaluated = steps[program.steps // program.interval - 1 :: program.steps // program.interval]
    split = {"[Eval]": "eval", "[Val]": "val", "Test ": "test"}.get(program.evaluates, "")
    for name_index, name in enumerate(program.names):
        series = run.data.series[SeriesKey(name, ())]
        assert series.step.tolist() == steps, program.lines()[:30]
        assert series.value.tolist() == [float(value_at(step, 0, name_index)) for step in steps]
        if split:
            series = run.data.series[SeriesKey(f"{split}/{name}", ())]
            assert series.step.tolist() == evaluated, program.lines()[:30]
    writers = {key.labels for key in run.data.series if key.metric == "loss"}
    assert len(writers) == (3 if program.writer else 1)  # the main process has labels, and stands for all


@pytest.mark.parametrize("banner", ["", "Loading the model\nNumber of parameters: 1.2 M\n" * 3])
def test_a_fresh_run_in_the_same_file_is_an_attempt_and_no_incident(tmp_path: Path, banner: str) -> None:
    lines = [f"step: {step} loss: {2 + 3 / (1 + step / 50) + step % 7 / 50:.4f}\n" for step in range(1, 600)]
    file = tmp_path / "train.log"
    file.write_text(banner + "".join(lines) + banner + "".join(lines))
    run = read_run(file)
    assert run.attempts == 2
    kinds = {finding.kind for finding in detectors.find(run.data)}
    assert Kind.RESUME_ARTIFACT not in kinds
