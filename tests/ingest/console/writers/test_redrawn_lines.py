"""Lines that are drawn again in one: what a launcher prints before the first is before all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_reading import Reading
from tests.support.log_runs import read_log, steps_of

PREFIXES = ["trainer-1  | ", "0: ", "[default0]:", "[rank0]: ", "May 04 10:00:01 gpu01 python[123]: "]
_BATCHES = range(10, 50, 10)


def _bar(epoch: int, batch: int, loss: float) -> str:
    return (
        f"\r {batch * 2}%|██  | {batch}/40 [00:00<00:02,  9.70it/s, loss={loss / (epoch * 40 + batch):.4f}]"
    )


def _bars(loss: float = 3.0) -> str:
    return "".join(
        "".join(_bar(epoch, batch, loss) for batch in _BATCHES)
        + f"\nEpoch [{epoch}/5], Average Loss: {loss / epoch:.4f}\n"
        for epoch in range(1, 6)
    )


def _lines(loss: float = 3.0) -> str:
    return "".join(
        "\r".join(
            f"[Epoch {epoch}/5] [Batch {batch}/40] [D loss: {loss / (epoch * 40 + batch):.4f}]"
            for batch in _BATCHES
        )
        + f"\nval loss: {loss / epoch:.4f}\n"
        for epoch in range(1, 6)
    )


def _behind(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.split("\n")[:-1])


LOGS = {"bars": _bars, "lines": _lines}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_launcher_changes_nothing(tmp_path: Path, log: str, prefix: str) -> None:
    plain, behind = (read_log(tmp_path, text) for text in (LOGS[log](), _behind(prefix, LOGS[log]())))
    assert behind.attempts == 1
    assert steps_of(behind) == steps_of(plain)


@pytest.mark.parametrize("log", LOGS)
def test_each_process_has_its_own(tmp_path: Path, log: str) -> None:
    plain = steps_of(read_log(tmp_path, LOGS[log]()))
    lines = [_behind(f"[default{rank}]:", LOGS[log](3.0 + rank)).split("\n")[:-1] for rank in (0, 1)]
    run = read_log(tmp_path, "".join(f"{first}\n{second}\n" for first, second in zip(*lines, strict=True)))
    steps = steps_of(run)
    assert run.attempts == 1
    assert {name: steps[name] for name in plain} == plain
    assert {name: steps[f"{name}/local_rank=1"] for name in plain} == plain


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("size", [53, 401])
def test_it_may_come_in_pieces(reading: Reading, log: str, size: int) -> None:
    first, second = (_behind(f"[default{rank}]:", LOGS[log](3.0 + rank)).split("\n") for rank in (0, 1))
    content = "\n".join(line for pair in zip(first, second, strict=True) for line in pair).encode()
    chosen = reading.format_of("train.log", content)
    sizes = [*range(0, len(content), size), len(content)]
    complete = reading.read_complete("train.log", content)
    assert reading.read_growing("train.log", content, sizes, chosen=chosen) == complete


def test_a_line_that_waited_until_the_end_is_read_behind_redrawn_ones(tmp_path: Path) -> None:
    epoch = "=> epoch # {0}\n [=>...] 1/2  ETA: 3s \r [====>] 2/2  Tot: 5s \nTrain accuracy: 6{0}.12 %\n"
    run = read_log(tmp_path, "".join(map(epoch.format, range(1, 5))))
    assert run.unreadable == []
    assert steps_of(run) == {"Train accuracy": [1, 2, 3, 4]}
