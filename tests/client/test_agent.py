"""`holter agent` with real files and a real server: each point arrives once, after kills and outages too."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from holter.cli.agent.http_sink import encode_delivery
from holter.ingest.tailing.follower import Follower
from holter.server.ingest_http.json_body import LayoutCache
from holter.server.ingest_http.validate import delivery_from_msgpack
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey
from tests.support.forked_commands import ForkedCommand, run_command

if TYPE_CHECKING:
    from tests.support.client_server import Moody, Server

pytestmark = pytest.mark.slow

Eventually = Callable[..., Any]


class Agents:
    """Starts agents on one folder of logs, with one folder of cursors."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.state = folder / "logs", folder / "state"
        self.logs.mkdir()
        self.started: list[subprocess.Popen[str]] = []

    def start(self, server: str) -> subprocess.Popen[str]:
        process = ForkedCommand(
            ["agent", self.logs, "--server", server, "--state", self.state, "--poll", "0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def append(self, run: str, first: int, last: int) -> None:
        path = self.logs / run / "metrics.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.writelines(
                f'{{"step": {step}, "loss": {10 - step / 1000}}}\n' for step in range(first, last)
            )


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    agents = Agents(tmp_path)
    yield agents
    for process in agents.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def output_until(process: subprocess.Popen[str], text: str) -> str:
    """The output of an agent up to the line with this text."""
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if text in line:
            return output
    raise AssertionError(f"the agent ended: {output}")


def curve(first: int, last: int) -> list[tuple[int, int, float]]:
    return [(0, step, 10 - step / 1000) for step in range(first, last)]


def test_growing_files_arrive_and_ctrl_c_stops_the_agent(
    server: Server, agents: Agents, eventually: Eventually
) -> None:
    agents.append("grows", 0, 500)
    process = agents.start(server.url)
    eventually(lambda: len(server.points("grows", "loss")) == 500)
    agents.append("grows", 500, 600)
    agents.append("appears", 0, 50)
    eventually(lambda: len(server.points("appears", "loss")) == 50)
    eventually(lambda: len(server.points("grows", "loss")) == 600)
    assert server.points("grows", "loss") == curve(0, 600)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "continues where it was" in output


def test_an_agent_that_is_killed_repeatedly_sends_everything_once(
    server: Server, agents: Agents, eventually: Eventually
) -> None:
    rng = random.Random(7)
    written = 0
    for _ in range(4):  # no wall times: a point that came twice would open an attempt
        agents.append("kills", written, written + 3_000)
        written += 3_000
        process = agents.start(server.url)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.4))
        process.kill()
        process.wait()
    agents.start(server.url)
    eventually(lambda: len(server.points("kills", "loss")) == written)
    assert server.points("kills", "loss") == curve(0, written)


def test_a_server_that_is_away_is_waited_for(fickle: Server, agents: Agents, eventually: Eventually) -> None:
    agents.append("waits", 0, 300)
    process = agents.start(fickle.url)
    output = output_until(process, "cannot be reached")
    agents.append("waits", 300, 400)
    fickle.start()
    eventually(lambda: len(fickle.points("waits", "loss")) == 400)
    process.send_signal(signal.SIGTERM)
    output += process.communicate(timeout=60)[0]
    assert output.count("cannot be reached") == 1
    assert output.count("reading pauses; the files keep what is written meanwhile") == 1


def test_an_agent_can_be_stopped_while_the_server_is_away(agents: Agents) -> None:
    agents.append("away", 0, 300)
    process = agents.start("http://127.0.0.1:9")
    output_until(process, "cannot be reached")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


def test_only_one_agent_sends_from_one_state_folder(server: Server, agents: Agents) -> None:
    first = agents.start(server.url)
    assert first.stdout is not None
    first.stdout.readline()
    second = agents.start(server.url)
    output, _ = second.communicate(timeout=60)
    assert second.returncode == 1
    assert "another agent" in output


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ([], 2, "--spool"),
        (["/nowhere"], 3, "/nowhere"),
        (["/tmp", "--spool"], 2, "--spool"),
        (["/tmp", "--server", "10.0.0.1:8765"], 2, "http://HOST"),
    ],
)
def test_wrong_usage_is_reported(arguments: list[str], code: int, word: str) -> None:
    refused = run_command(["agent", *arguments])
    assert refused.returncode == code
    assert word in refused.stderr


def test_a_rejected_batch_is_stored_and_reported_and_the_rest_is_sent(
    moody: tuple[str, type[Moody]], agents: Agents, eventually: Eventually
) -> None:
    url, server = moody
    server.answers = [(422, {})]
    agents.append("refused", 0, 10)
    process = agents.start(url)
    eventually(lambda: server.seen)
    agents.append("refused", 10, 30)
    eventually(lambda: len(server.seen) == 2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "as told" in output
    [path] = agents.state.glob("*/refused/*.msgpack")
    assert str(path) in output
    sent = [np.frombuffer(body["steps"], "<i8").tolist() for _, _, body in server.seen]
    assert sent == [list(range(10)), list(range(10, 30))]


def test_unreadable_lines_are_reported_up_to_a_limit(
    server: Server, agents: Agents, eventually: Eventually
) -> None:
    agents.append("noisy", 0, 10)
    with (agents.logs / "noisy" / "metrics.jsonl").open("a") as file:
        file.writelines(f'{{"step": {number}, "loss": oops}}\n' for number in range(100))
    agents.append("noisy", 10, 20)
    process = agents.start(server.url)
    eventually(lambda: len(server.points("noisy", "loss")) == 20)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "line 11" in output
    assert "more locations cannot be read" in output
    assert len(output.splitlines()) < 20


def test_a_delivery_arrives_unchanged() -> None:
    delivery = Delivery(
        project="p",
        run="r",
        writer="node-1",
        batch_id="x" * 300,
        batch=Batch(
            steps=np.array([3, 4, 5]),
            times=np.array([1.5, np.nan, 2.5]),
            columns=(
                Column(key=SeriesKey("loss"), values=np.array([1.0, np.nan, -np.inf])),
                Column(key=SeriesKey("time", (("rank", "3"),)), values=np.array([0.5]), rows=np.array([1])),
            ),
            attempt="slurm-7",
            restarts=True,
            config={ConfigKey("lr"): 0.1, ConfigKey("nccl.net", (("rank", "3"),)): "IB"},
        ),
    )
    arrived = delivery_from_msgpack(encode_delivery(delivery), LayoutCache())
    assert (arrived.project, arrived.run, arrived.writer) == ("p", "r", "node-1")
    assert (arrived.batch.attempt, arrived.batch.restarts) == ("slurm-7", True)
    assert arrived.batch.config == delivery.batch.config
    assert len(arrived.batch_id) <= 200
    assert np.array_equal(arrived.batch.steps, delivery.batch.steps)
    assert np.array_equal(arrived.batch.times, delivery.batch.times, equal_nan=True)
    for received, sent in zip(arrived.batch.columns, delivery.batch.columns, strict=True):
        assert received.key == sent.key
        assert np.array_equal(received.values, sent.values, equal_nan=True)
        assert (received.rows is None) == (sent.rows is None)
        assert sent.rows is None or np.array_equal(received.rows, sent.rows)


def test_an_agent_sends_heartbeats_and_reports_its_end(
    server: Server, agents: Agents, eventually: Eventually
) -> None:
    agents.append("reports", 0, 50)

    def heartbeat() -> dict[str, Any]:
        reported = server.get("/agents")["agents"]
        own = [agent for agent in reported if agent["paths"] == [str(agents.logs)]]
        return own[0] if own else {}

    process = agents.start(server.url)
    eventually(lambda: heartbeat().get("files") == 1)
    assert (heartbeat()["state"], heartbeat()["kind"], heartbeat()["ended"]) == ("well", "files", False)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (heartbeat()["state"], heartbeat()["points"], heartbeat()["unreadable"]) == ("ended", 50, 0)


def test_the_lag_is_measured_while_the_server_is_away(tmp_path: Path) -> None:
    now = [0.0]

    class Away:
        """A sink whose server is away."""

        def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
            raise OSError("away")

        def cursor(self, source: str) -> None:
            return None

        def save_cursor(self, cursor: object) -> None: ...

        def report_unreadable(self, _: object, **__: object) -> None: ...

    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    follower = Follower([tmp_path], Away(), clock=lambda: now[0])
    follower.catch_up()
    assert (follower.lag().files, follower.lag().files_behind) == (1, 0), "no lag at once"
    now[0] = 90.0
    lag = follower.lag()
    assert (lag.files_behind, lag.bytes_behind, lag.seconds_behind) == (1, 25, 90.0)
    assert "away" in lag.last_error
