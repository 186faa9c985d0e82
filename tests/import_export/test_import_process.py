"""Imported files are read in a process of their own: one that takes too long is refused."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest

from holter.server.import_export.read_file import read_file
from holter.server.import_export.reading_process import ReadingProcess
from tests.support.servers import Printed, forked, stop
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

HEADER = b"metric,labels,attempt,step,time,value\n"


def write_csv(path: Path, rows: int) -> Path:
    lines = b"".join(
        b'loss,"{""rank"": ""%d""}",0,%d,,2.5\n' % (row % 20, row // 20) for row in range(20_000)
    )
    path.write_bytes(HEADER + lines * (rows // 20_000))
    return path


def reader_of(pid: int) -> psutil.Process | None:
    """The process that reads an imported file for a server."""
    children = psutil.Process(pid).children()
    return next((child for child in children if "reading_process" in " ".join(child.cmdline())), None)


def test_another_process_reads_the_same(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "points.csv", 20_000)
    reading = ReadingProcess(seconds=60)
    with path.open("rb") as file, path.open("rb") as same:
        try:
            there, here = list(reading.read(file).rows), list(read_file(same).rows)
        finally:
            reading.close()
    assert len(there) == len(here)
    for apart, expected in zip(there, here, strict=True):
        assert apart.keys == expected.keys
        for name in ("key_index", "attempt", "step", "time", "value"):
            assert np.array_equal(getattr(apart, name), getattr(expected, name), equal_nan=True)


def test_what_is_wrong_with_a_file_is_said_by_line(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "points.csv", 20_000)
    with path.open("ab") as file:
        file.write(b"loss,,0,x,,2.5\n")
    reading = ReadingProcess(seconds=60)
    try:
        with path.open("rb") as file, pytest.raises(ValueError, match=r"line 20002: step: expected a whole"):
            list(reading.read(file).rows)
    finally:
        reading.close()


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "points.csv", 2_000_000)
    reading = ReadingProcess(seconds=60)
    try:
        with path.open("rb") as file:
            rows = reading.read(file).rows
            next(rows)
            child = reader_of(os.getpid())
            assert child is not None
            child.kill()
            with pytest.raises(ValueError, match="killed by SIGKILL"):
                list(rows)
    finally:
        reading.close()


def test_a_file_that_takes_too_long_is_refused_and_nothing_remains(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "points.csv", 2_000_000)
    with forked("serve", "--data-dir", tmp_path / "data", HOLTER_PARSE_SECONDS="0.01") as (process, url):
        response = httpx.post(f"{url}/api/v1/import", content=path.read_bytes(), timeout=60)
        assert "more than 0.01 s of processor time for each MiB" in response.text
        assert httpx.get(f"{url}/api/v1/runs", timeout=60).json()["runs"] == []
        assert reader_of(process.pid) is None
        stop(process, signal.SIGTERM)


def test_a_server_answers_and_stops_during_an_import(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "points.csv", 4_000_000)
    answers: list[Any] = []

    def send(url: str) -> None:
        try:
            answers.append(httpx.post(f"{url}/api/v1/import", content=path.read_bytes(), timeout=60).text)
        except httpx.TransportError as error:
            answers.append(str(error))

    with forked("serve", "--data-dir", tmp_path / "data") as (process, url):
        sender = threading.Thread(target=send, args=(url,))
        sender.start()
        reader = wait_for(lambda: reader_of(process.pid))
        assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200
        stop(process, signal.SIGTERM)
        assert not reader.is_running()
        sender.join()
    assert len(answers) == 1


@pytest.mark.parametrize("arguments", [["--dry-run"], []], ids=["dry run", "into a database"])
def test_a_command_that_imports_limits_the_processor_time_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holter: Printed, arguments: list[str]
) -> None:
    monkeypatch.setenv("HOLTER_PARSE_SECONDS", "0.01")
    path = write_csv(tmp_path / "points.csv", 2_000_000)
    code, _, errors = holter("import", *arguments, path, "--data-dir", tmp_path / "data")
    assert code == 1
    assert "more than 0.01 s of processor time for each MiB (parse_seconds)" in errors
