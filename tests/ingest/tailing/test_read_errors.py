"""Reads that fail as on a broken disk or a network file system without its server: nothing is skipped."""

from __future__ import annotations

import errno
import io
import logging
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.tailing.follower import Follower
from tests.support.format_samples import SAMPLES

MOST = sorted(key for key, (_, content) in SAMPLES.items() if len(content) <= 300_000)
"""Long logs have parts that are alike."""
ERRORS = (errno.EIO, errno.ESTALE)
"""Of a broken disk and of a network file system; a sample meets one of them, since no format knows them."""


class Disk:
    """Reads of the files below a folder fail from an offset on, for as long as it is broken."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.broken: int | None = None
        self.failed = 0
        opened, disk = Path.open, self

        class Raw(io.FileIO):
            def readinto(self, buffer: Any) -> int | None:
                if disk.broken is not None:
                    left = disk.broken - self.tell()
                    if left <= 0:
                        disk.failed += 1
                        raise OSError(disk.error, "the disk fails")
                    buffer = memoryview(buffer)[:left]
                return super().readinto(buffer)

            def readall(self) -> bytes:
                content = bytearray(1 << 20)
                size = self.readinto(content)
                return bytes(content[:size])

        def open_(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if mode == "rb" and path.is_relative_to(root):
                return io.BufferedReader(Raw(path))
            return opened(path, mode, *arguments, **named)

        self.error = errno.EIO
        patch.setattr(Path, "open", open_)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path / "logs", monkeypatch)


def place(root: Path, name: str, content: bytes) -> Path:
    path = root / "run" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "error"), [*zip(MOST, cycle(ERRORS))], indirect=["sample"])
def test_what_could_not_be_read_for_a_while_is_read_once_it_can(
    sample: tuple[str, bytes],
    memory: Any,
    disk: Disk,
    tmp_path: Path,
    error: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)
    name, content = sample
    now = [0.0]
    root = tmp_path / "logs"
    half = len(content) // 2
    path = place(root, name, content[:half])
    disk.error = error
    follower = Follower([root], memory, clock=lambda: now[0])
    for size, places in ((half, (0, half // 3)), (len(content), (half // 2, half, half + (half + 1) // 2))):
        path.write_bytes(content[:size])
        for disk.broken in (*places, size - 1, None):
            follower.catch_up()
            now[0] += 100  # a file that is paused for a while is read again
    follower.catch_up()
    assert disk.failed
    result = memory.collect(next(iter(memory.runs), ""))
    unreadable = [unreadable.reason for unreadable in memory.unreadable]
    assert (result.points, unreadable) == undisturbed(type(memory)(), tmp_path / "peace", name, content, half)


def undisturbed(memory: Any, root: Path, name: str, content: bytes, half: int) -> tuple[Any, list[str]]:
    """The content of a file that is read in two halves from an intact disk."""
    path = place(root, name, content[:half])
    follower = Follower([root], memory)
    follower.catch_up()
    path.write_bytes(content)
    follower.catch_up()
    result = memory.collect(next(iter(memory.runs), ""))
    return result.points, [unreadable.reason for unreadable in memory.unreadable]


def test_a_file_that_cannot_be_read_is_reported_once(
    memory: Any, disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place(tmp_path / "logs", "log.csv", b"step,loss\n1,2\n")
    disk.broken = 0
    follower = Follower([tmp_path / "logs"], memory)
    for _ in range(5):
        follower.catch_up()
    assert ["log.csv" in stated for stated in caplog.messages] == [True]
    disk.broken = None
    follower.catch_up()
    assert memory.collect("run").count == 1
