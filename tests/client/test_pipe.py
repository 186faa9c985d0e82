"""`... | holter agent -` between real pipes and a real server: the job never waits, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from tests.support.forked_commands import ForkedCommand, run_command
from tests.support.waiting import wait_until_at_rest

if TYPE_CHECKING:
    from tests.support.client_server import Server

pytestmark = pytest.mark.slow

Eventually = Callable[..., Any]
SLURM = {"SLURM_JOB_ID": "812", "SLURM_JOB_NAME": "gpt"}


class Pipes:
    """Starts agents that read standard input, with one folder for spools."""

    def __init__(self, folder: Path) -> None:
        self.spool = folder / "spool"
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, server: str, *flags: str, **environ: str) -> subprocess.Popen[bytes]:
        process = ForkedCommand(
            ["agent", "-", "--server", server, *flags],
            cwd=self.folder,
            env={**os.environ, "HOLTER_SPOOL_DIR": str(self.spool), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def spooled(self) -> int:
        return sum(path.stat().st_size for path in self.spool.glob("*/*.spool"))


@pytest.fixture
def pipes(tmp_path: Path) -> Iterator[Pipes]:
    pipes = Pipes(tmp_path)
    yield pipes
    for process in pipes.started:
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def lines(first: int, last: int) -> bytes:
    return b"".join(
        f"iter {step}: loss {10 - step / 1000:.3f}, time 1970.20ms, mfu 0.19%\n".encode()
        for step in range(first, last)
    )


def curve(first: int, last: int, attempt: int = 0) -> list[tuple[int, int, float]]:
    return [(attempt, step, round(10 - step / 1000, 3)) for step in range(first, last)]


def sink(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def test_what_a_job_prints_is_sent_to_its_end_and_passed_through(server: Server, pipes: Pipes) -> None:
    text = b"loading\n" * 5 + lines(0, 500) + b"iter 500: loss 9.500, time 1970.20ms, mfu 0.19%"
    process = pipes.start(server.url, "--tee", **SLURM)
    passed, said = process.communicate(text, timeout=60)
    assert process.returncode == 0, said.decode()
    assert passed == text
    assert server.points("gpt-812", "loss") == curve(0, 501)
    assert b"1,503 points" in said
    assert not list(pipes.spool.iterdir()), "nothing is left behind"


def test_a_format_that_begins_late_is_heard_and_every_rank_by_its_prefix(
    server: Server, pipes: Pipes
) -> None:
    before = b"WARNING: nothing to see here, 17 of 18 shards at step none\n" * 50_000
    spoken = b"".join(
        f"[pod/late-{pod}/main] 2026-08-22T10:00:{step:02d}.500000000Z [rank{pod}]: iter {step}: "
        f"loss {pod}.5, time 1970.20ms, mfu 0.19%\n".encode()
        for step in range(20)
        for pod in (0, 1)
    )
    process = pipes.start(server.url, "--run", "late")
    _, said = process.communicate(before + spoken, timeout=60)
    assert process.returncode == 0, said.decode()
    run = server.run("late")
    assert run is not None
    found = server.get(f"/runs/{run['id']}/series", q="loss")["series"]
    assert {tuple(one["labels"].items()): one["points"] for one in found} == {
        (): 20,
        (("rank", "0"),): 19,  # once others speak, the voice is told among them as well
        (("rank", "1"),): 20,
    }
    assert found[0]["last_time"] == 1787392819.5


def test_objects_with_a_step_are_read_between_text(server: Server, pipes: Pipes) -> None:
    text = b"".join(
        b'[pod/train-worker-0/pytorch] {"step": %d, "loss": 2.5, "lr": 0.1}\n'
        b'[pod/train-worker-0/pytorch] {"level": "info", "msg": "checkpoint"}\nplain\n' % step
        for step in range(30)
    )
    process = pipes.start(server.url)
    _, said = process.communicate(text, timeout=60)
    assert process.returncode == 0, said.decode()
    assert b"run train-worker-0 of" in said
    run = server.run("train-worker-0")
    assert run is not None
    (found,) = server.get(f"/runs/{run['id']}/series", q="loss")["series"]
    assert (found["points"], found["labels"]) == (30, {})


def test_the_job_never_waits_for_a_server_that_is_away(
    fickle: Server, pipes: Pipes, eventually: Eventually
) -> None:
    process = pipes.start(fickle.url, "--run", "away")
    began = time.monotonic()
    sink(process).write(lines(0, 50_000))
    sink(process).flush()
    assert time.monotonic() - began < 60
    eventually(lambda: pipes.spooled() > 0)
    fickle.start()
    sink(process).close()
    assert process.wait(120) == 0
    assert len(fickle.points("away", "loss")) == 50_000


def test_killed_without_warning_its_spool_is_sent_at_the_next_start(
    fickle: Server, pipes: Pipes, eventually: Eventually
) -> None:
    process = pipes.start(fickle.url, "--run", "killed")
    sink(process).write(lines(0, 1_000))
    sink(process).flush()
    eventually(lambda: pipes.spooled() > 10_000)
    wait_until_at_rest(pipes.spooled)
    process.kill()
    process.wait()
    fickle.start()
    again = pipes.start(fickle.url, "--run", "killed")
    _, said = again.communicate(lines(1_000, 1_100), timeout=60)
    assert again.returncode == 0, said.decode()
    assert fickle.points("killed", "loss") == curve(0, 1_100)


def test_a_server_that_stays_away_is_waited_for_so_long_and_what_is_left_is_said(pipes: Pipes) -> None:
    process = pipes.start("http://127.0.0.1:9", "--run", "left", "--wait", "1")
    _, said = process.communicate(lines(0, 100), timeout=60)
    assert process.returncode == 1
    assert str(pipes.spool).encode() in said
    assert b"holter agent --spool" in said
    assert pipes.spooled() > 0


def test_a_spool_that_is_full_is_said_and_what_is_lost_is_counted(pipes: Pipes) -> None:
    process = pipes.start("http://127.0.0.1:9", "--run", "full", "--wait", "0", HOLTER_SPOOL_BYTES="1")
    _, said = process.communicate(lines(0, 200_000), timeout=120)
    assert process.returncode == 1
    assert b"has reached its limit (HOLTER_SPOOL_BYTES)" in said
    assert b"did not fit into the spool and are lost" in said
    assert pipes.spooled() <= 2**21, "the least that a spool may be bounded to"


def test_a_requeued_job_goes_on_in_its_run_as_another_attempt(server: Server, pipes: Pipes) -> None:
    job = {"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "requeued"}
    for restart, (first, last) in enumerate([(0, 100), (60, 150)]):
        process = pipes.start(server.url, **job, SLURM_RESTART_COUNT=str(restart))
        process.communicate(lines(first, last), timeout=60)
        assert process.returncode == 0
    assert server.points("requeued-77", "loss") == curve(0, 100) + curve(60, 150, attempt=1)


def test_a_signal_lets_the_last_words_of_the_job_in(
    server: Server, pipes: Pipes, eventually: Eventually
) -> None:
    process = pipes.start(server.url, "--run", "interrupted")
    sink(process).write(lines(0, 10))
    sink(process).flush()
    eventually(lambda: len(server.points("interrupted", "loss")) == 10)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    _, said = process.communicate(lines(10, 20), timeout=60)
    assert process.returncode == 0, said.decode()
    assert len(server.points("interrupted", "loss")) == 20


def test_standard_input_cannot_be_combined_with_files() -> None:
    refused = run_command(["agent", "-", "/tmp"])
    assert refused.returncode == 2
    assert "cannot be combined with files" in refused.stderr
