"""Reads the text of a log as `holter analyze` does, and names the steps of its series."""

from __future__ import annotations

from pathlib import Path

from holter.ingest.offline.read_run import OfflineRun, read_run


def read_log(tmp_path: Path, text: str | bytes, name: str = "train.log") -> OfflineRun:
    """The run of a file with this text."""
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run(file)


def steps_of(run: OfflineRun) -> dict[str, list[int]]:
    """The steps of each series, by its metric and the values of its labels."""
    return {
        "/".join((key.metric, *(f"{name}={value}" for name, value in key.labels))): series.step.tolist()
        for key, series in run.data.series.items()
    }
