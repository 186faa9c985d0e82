"""Reads the text of a log as `holter analyze` does, and names the steps of its series."""

from __future__ import annotations

from pathlib import Path

from holter.ingest.offline.read_run import OfflineRun, read_run


def read_log(tmp_path: Path, text: str | bytes, name: str = "train.log") -> OfflineRun:
    """The run of a file with this text."""
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run(file)


def assert_steps(tmp_path: Path, text: str | bytes, expected: dict[str, list[int]]) -> None:
    """A text is read as one attempt with exactly these series, each at these steps."""
    run = read_log(tmp_path, text)
    assert {name: sorted({*steps}) for name, steps in steps_of(run).items()} == expected
    assert run.attempts == 1


def steps_of(run: OfflineRun) -> dict[str, list[int]]:
    """The steps of each series, by its metric and the values of its labels."""
    return {
        "/".join((key.metric, *(f"{name}={value}" for name, value in key.labels))): series.step.tolist()
        for key, series in run.data.series.items()
    }
