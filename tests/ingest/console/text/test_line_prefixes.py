"""What launchers and loggers print before each line changes nothing of what is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holter.ingest.console.text.messages import texts_alone, texts_in_place
from holter.ingest.console.text.prefixes import message_of, strip_prefixes
from holter.ingest.offline.read_run import read_run

Reading = tuple[int, dict[str, list[tuple[int, int, float]]]]

PREFIXES: dict[str, Callable[[int], str]] = {
    "docker compose": lambda _: "trainer-1  | ",
    "docker compose in colour": lambda _: "\x1b[36mtrainer-1  | \x1b[0m",
    "kubectl": lambda at: f"2026-05-04T10:{at // 60:02}:{at % 60:02}.123456789Z ",
    "srun": lambda _: "0: ",
    "torchrun": lambda _: "[rank0]: ",
    "mpirun": lambda _: "[1,0]<stdout>: ",
    "Ray": lambda _: "(train_fn pid=1234) ",
    "journal": lambda at: f"May 04 10:{at // 60:02}:{at % 60:02} host python[123]: ",
    "logger with a place": lambda at: f"[2026-05-04 10:{at // 60:02}:{at % 60:02},123][INFO][train.py:55] ",
    "logger with a place between bars": lambda at: (
        f"2026-05-04 10:{at // 60:02}:{at % 60:02},123 [INFO] (train.py | <module> | 55) "
    ),
    "basic logger": lambda _: "INFO:root:",
    "loguru": lambda at: f"2026-05-04 10:{at // 60:02}:{at % 60:02}.123 | INFO     | __main__:main:55 - ",
    "loguru in colour": lambda at: (
        f"\x1b[32m2026-05-04 10:{at // 60:02}:{at % 60:02}.123\x1b[0m | \x1b[1mINFO    \x1b[0m | "
        "\x1b[36m__main__\x1b[0m:\x1b[36mmain\x1b[0m:\x1b[36m55\x1b[0m - "
    ),
    "logger with a name": lambda at: f"2026-05-04 10:{at // 60:02}:{at % 60:02},123 - train - INFO - ",
    "logger without seconds": lambda at: f"05-04 10:{at // 60:02} train        INFO     ",
    "logger without seconds or name": lambda at: f"2026-05-04 10:{at // 60:02} INFO     ",
    "logger without seconds in brackets": lambda at: f"[2026-05-04 10:{at // 60:02}][INFO] ",
    "logger with a wide name": lambda at: f"05-04 10:{at // 60:02} root         INFO     ",
    "a minute in brackets": lambda at: f"[2026-05-04 10:{at // 60:02}] ",
    "logger with a place in braces": lambda at: (
        f"[2026-05-04 10:{at // 60:02}:{at % 60:02},123] {{train.py:55}} INFO - "
    ),
    "logger with a name behind the level": lambda at: (
        f"05/04/2026 10:{at // 60:02}:{at % 60:02} - INFO - train -   "
    ),
    "logger with a compact date": lambda at: f"20260504-10:{at // 60:02}:{at % 60:02} INFO: ",
    "level and time in brackets": lambda at: f"[ INFO : 2026-05-04 10:{at // 60:02}:{at % 60:02} ] ",
    "time": lambda at: f"[10:{at // 60:02}:{at % 60:02}] ",
    "absl": lambda at: f"I0504 10:{at // 60:02}:{at % 60:02}.123456 1234 train.py:55] ",
    "level": lambda _: "INFO     ",
    "docker compose and a logger": lambda at: f"trainer-1  | 2026-05-04 10:{at // 60:02}:{at % 60:02} INFO: ",
}
LOGS = {
    "commas": "epoch,loss,accuracy\n"
    + "".join(f"{at},{3 / at:.4f},{1 - 1 / at:.4f}\n" for at in range(1, 9)),
    "columns": "epoch  train_loss  valid_loss\n"
    + "".join(f"{at:>5}  {3 / at:>10.4f}  {4 / at:>10.4f}\n" for at in range(1, 9)),
    "cells": "Epoch | Train Loss | Val Loss\n"
    + "".join(f"{at} | {3 / at:.4f} | {4 / at:.4f}\n" for at in range(1, 9)),
    "cells with outer lines": "| Epoch | Train Loss | Val Loss |\n|-------|------------|----------|\n"
    + "".join(f"| {at} | {3 / at:.4f} | {4 / at:.4f} |\n" for at in range(1, 9)),
    "headings": "".join(
        f"Epoch {at}\nTraining\nloss: {3 / at:.4f}\nValidation\nloss: {4 / at:.4f}\nacc: {1 - 1 / at:.4f}\n"
        for at in range(1, 6)
    ),
    "framed headings": "".join(
        f"===== Epoch {at}/10 =====\ntrain loss {3 / at:.4f}\nval loss {4 / at:.4f}\n\n" for at in range(1, 6)
    ),
    "bars": "".join(
        f"Epoch {at}: 100%|##########| 20/20 [00:02<00:00,  9.5it/s, loss={3 / at:.3f}]\n"
        for at in range(1, 6)
    ),
    "bars of Keras": "".join(
        f"Epoch {at}/5\n20/20 [==============================] - 2s 9ms/step - loss: {3 / at:.4f}\n"
        for at in range(1, 6)
    ),
    "names above": "".join(
        f"Epoch: {at}\nG_LOSS:\n{3 / at:.4f}\nD_LOSS:\n{4 / at:.4f}\n" for at in range(1, 6)
    ),
    "results": "".join(f"Epoch {at}: loss: {3 / at:.4f}\n" for at in range(1, 4))
    + "Evaluating ...\nAccuracy: 0.9123\nDetection rate: 0.8812\n",
    "batches": "".join(
        f"Epoch [{at}/3] [{batch}/40] Loss: {3 / (at + batch):.4f}\n"
        for at in range(1, 4)
        for batch in range(0, 40, 5)
    ),
    "launches": "".join(
        "Namespace(lr=0.1, batch_size=8)\nLoading the data\nBuilding the model\n"
        + "".join(f"Epoch {at}: loss: {3 / at + launch:.4f}\n" for at in range(1, 5 + launch))
        for launch in range(3)
    ),
    "a crash": "".join(
        "Loading the data\n"
        + "".join(f"step {at} loss {3 / at:.4f}\n" for at in range(first, first + 5))
        + "Traceback (most recent call last):\n  File 'train.py', line 3, in <module>\n"
        "RuntimeError: out of memory\n"
        "Resuming from checkpoint last.pt\n"
        for first in (1, 6)
    ),
    "bare columns": "".join(f"{at} {3 / (at + 1):.4f} {4 / (at + 1):.4f}\n" for at in range(15)),
}


def reading(folder: Path, text: str) -> Reading:
    file = folder / "train.log"
    file.write_text(text)
    run = read_run(file)
    return run.attempts, {
        str(key): [*zip(series.attempt.tolist(), series.step.tolist(), series.value.tolist(), strict=True)]
        for key, series in run.data.series.items()
    }


def behind(prefix: Callable[[int], str], text: str) -> str:
    return "".join(f"{prefix(at)}{line}\n" for at, line in enumerate(text.splitlines()))


@pytest.mark.parametrize("log", LOGS)
def test_what_stands_before_each_line_changes_nothing(tmp_path: Path, log: str) -> None:
    plain = reading(tmp_path, LOGS[log])
    assert plain[1], "something is read"
    for name, prefix in PREFIXES.items():
        assert reading(tmp_path, behind(prefix, LOGS[log])) == plain, name


@pytest.mark.parametrize("log", ["commas", "headings", "cells"])
def test_each_rank_has_its_own_tables_and_headings(tmp_path: Path, log: str) -> None:
    _, plain = reading(tmp_path, LOGS[log])
    lines = LOGS[log].splitlines()
    _, several = reading(tmp_path, "".join(f"0: {line}\n1: {line}\n" for line in lines))
    assert {name: several[name] for name in plain} == plain
    for rank in ("0", "1"):
        assert sum(f"rank={rank}" in name for name in several) == len(plain)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2026-05-04 10:00:01,123 - train - INFO -   epoch  loss", "  epoch  loss"),
        ("[2026-05-04 10:00:01] [INFO] [Epoch 1] loss 0.5", "[Epoch 1] loss 0.5"),
        ("INFO:root:1,0.5,0.3", "1,0.5,0.3"),
        ("INFO:root:  loss: 0.5", "  loss: 0.5"),
        ("INFO - train - loss: 0.5", "train - loss: 0.5"),
        ("[INFO|train.py:55] 2026-05-04 10:00:01,123 >> loss: 0.5", "loss: 0.5"),
        ("[05/04 10:00:01 engine.events]: iter: 19 loss: 0.5", "iter: 19 loss: 0.5"),
        ("2026-05-04 10:00:01,123 INFO --- Epoch 3 ---", "--- Epoch 3 ---"),
        ("[I 260504 10:00:01 train:55] loss 0.5", "loss 0.5"),
        ("INFO | | 1 | 0.5 |", "| | 1 | 0.5 |"),
        ("10:00:01 1,0.5", "1,0.5"),
        ("(2026-05-04 10:00:01.123 INFO) - train: 1   / 20 |   0.5 |   0.4", "1   / 20 |   0.5 |   0.4"),
        ("2026-05-04 10:00:01 3 epoch, loss 0.5", "3 epoch, loss 0.5"),
        ("10:00:01 12 steps: loss 0.5", "12 steps: loss 0.5"),
        # a time that may be a cell
        ("05-04 10:00 1 0.5", "05-04 10:00 1 0.5"),
        ("05/04 10:00:01 AM | Train: [ 1/50] loss 0.5", "Train: [ 1/50] loss 0.5"),
        ("05/04 10:00:01 AM | 1 | 0.5 |", "05/04 10:00:01 AM | 1 | 0.5 |"),
        ("10:00:01 3 train 0.5", "10:00:01 3 train 0.5"),
        ("2026-05-04 10:00:01,1,0.5", "2026-05-04 10:00:01,1,0.5"),
        ("10:00:01  1  0.5", "10:00:01  1  0.5"),
        ("10:00:01 | 1 | 0.5", "10:00:01 | 1 | 0.5"),
        ("loss: 0.5 INFO", "loss: 0.5 INFO"),
        ("ERROR: 0.5", "ERROR: 0.5"),
        ("[Epoch 1] loss 0.5", "[Epoch 1] loss 0.5"),
        ("[10/500] loss 0.5", "[10/500] loss 0.5"),
        ("val | loss 0.5", "val | loss 0.5"),
    ],
)
def test_the_message_is_what_neither_a_launcher_nor_a_logger_printed(line: str, message: str) -> None:
    assert message_of(line.encode()).decode() == message
    assert strip_prefixes(line.encode()).message == message


def test_lines_begin_where_they_do_in_the_text() -> None:
    text = b"trainer-1  | INFO:root:epoch,loss\nepoch 1\n\x1b[32m0: 1,0.5\x1b[0m\n"
    texts = texts_in_place(text)
    assert [*map(len, texts)] == [len(text)] * 3
    for line in (b"epoch,loss", b"epoch 1", b"1,0.5"):
        at = texts.messages.index(line)
        assert (
            at == text.rindex(b"\n", 0, text.index(line)) + 1
            if b"\n" in text[: text.index(line)]
            else at == 0
        )
    assert texts_alone(text).messages == b"epoch,loss\nepoch 1\n1,0.5\n"
    assert texts_alone(text).bare == b"INFO:root:epoch,loss\nepoch 1\n1,0.5\n"


def test_the_prefix_that_each_line_has_is_found_fast() -> None:
    """The quick look at a block misses no prefix."""
    for prefix in PREFIXES.values():
        assert not texts_in_place(f"{prefix(3)}step\n".encode()).are_same
