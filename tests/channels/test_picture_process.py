"""The process that draws pictures: one for many, started early, replaced where it ends, fails or hangs."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from holter.server.rendering.picture_process import PictureProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def process() -> Iterator[PictureProcess]:
    process = PictureProcess("tests.support.picture_echo")
    yield process
    process.close()


def test_pictures_in_sequence_are_drawn_by_one_process(process: PictureProcess) -> None:
    process.prepare()
    process.prepare()
    drawn = {process.draw(b"a picture" * 50_000, timeout=60) for _ in range(3)}
    assert len(drawn) == 1


def test_a_process_that_has_ended_for_want_of_work_is_replaced(process: PictureProcess) -> None:
    first = process.draw(b"the last", timeout=60)
    assert process.draw(b"next", timeout=60) != first
    second = process.draw(b"next", timeout=60)
    process.close()
    wait_until_gone(int(second))
    assert process.draw(b"next", timeout=60) not in {first, second}


def test_one_that_fails_or_hangs_costs_one_picture(process: PictureProcess) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        process.draw(b"fail", timeout=60)
    first = process.draw(b"next", timeout=60)
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        process.draw(b"hang", timeout=0.2)
    assert time.monotonic() - began < 30
    assert process.draw(b"next", timeout=60) != first


def test_a_picture_in_progress_ends_with_the_process(process: PictureProcess) -> None:
    errors: list[type[Exception]] = []
    process.draw(b"next", timeout=60)

    def draw() -> None:
        try:
            process.draw(b"hang", timeout=60)
        except subprocess.SubprocessError as error:
            errors.append(type(error))

    thread = threading.Thread(target=draw)
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    process.close()
    thread.join()
    assert errors == [subprocess.CalledProcessError]
    assert time.monotonic() - began < 30


def wait_until_gone(number: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {number} still runs")
