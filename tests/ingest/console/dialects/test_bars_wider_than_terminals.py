"""Bars that are wider than the terminal whose output was saved: they go on in the next line."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import read_log

_AT = range(10, 101, 10)


def _bar(epoch: int, at: int, before: str = "") -> str:
    done = at // 5
    return (
        f"{before}Epoch {epoch}: {at:3}%|{'#' * done}{' ' * (20 - done)}| {at}/100 [00:{at // 4:02}<00:09, "
        f"7.50it/s, loss={epoch}.2{at:03}, acc=0.{epoch}{at:03}]"
    )


def _wrapped(line: str, width: int) -> str:
    return "".join(f"{line[begin : begin + width]}\n" for begin in range(0, len(line), width))


def _log(width: int, before: str = "") -> str:
    return "".join(
        "".join(_wrapped(_bar(epoch, at, before), width) for at in _AT) + f"val loss: {epoch}.5\n"
        for epoch in range(1, 4)
    )


def _points(tmp_path: Path, text: str) -> dict[SeriesKey, tuple[list[int], list[float]]]:
    series = read_log(tmp_path, text).data.series
    return {key: (each.step.tolist(), each.value.tolist()) for key, each in series.items()}


@pytest.mark.parametrize("before", ["", "a longer description of "])
@pytest.mark.parametrize("width", range(72, 90, 2))
def test_a_bar_may_end_in_the_next_line(tmp_path: Path, width: int, before: str) -> None:
    expected = _points(tmp_path, _log(200, before))
    assert {key.metric for key in expected} == {"loss", "acc", "val loss"}
    assert _points(tmp_path, _log(width, before)) == expected


def test_a_bar_that_was_cut_off_has_no_line_below_it(tmp_path: Path) -> None:
    cut_off = _bar(3, 50).partition(", loss")[0]
    log = _log(200)
    found = _points(tmp_path, f"{log}{cut_off}\nwritten to lists[1], loss=7.5]\n")
    assert found.items() >= _points(tmp_path, log).items()
