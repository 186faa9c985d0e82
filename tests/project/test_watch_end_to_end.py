"""`holter watch` from end to end: TensorBoard logs, an incident on the page, a message in Slack."""

from __future__ import annotations

import json
import math
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.support.forked_commands import ForkedCommand
from tests.support.ports import free_port
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


class Slack:
    """An HTTP server in place of Slack's incoming webhooks; records the requests."""

    def __init__(self) -> None:
        received: queue.Queue[dict[str, Any]] = queue.Queue()

        class Webhook(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.received = received
        self.server = HTTPServer(("127.0.0.1", 0), Webhook)
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T/B/X"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Holter:
    """`holter watch` on a folder, in a separate process."""

    def __init__(self, runs: Path, data: Path, slack: Slack) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        watch = ["watch", runs, "--port", port, "--data-dir", data]
        local = json.dumps({"slack": {"allow_private": True}})
        environment = {**os.environ, "HOLTER_SLACK_WEBHOOK_URL": slack.url, "HOLTER_CHANNELS": local}
        self.process = ForkedCommand(watch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def incidents(self, *kinds: str) -> list[dict[str, Any]]:
        return [
            incident
            for incident in self.get("/incidents?state=all")["incidents"]
            if incident["kind"] in kinds
        ]

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(with_signal)
        return self.process.communicate(timeout=60)[0].decode()


eventually = wait_for


@pytest.fixture
def start(tmp_path: Path, slack: Slack) -> Iterator[Callable[[], Holter]]:
    """Starts Holter on the folder `runs`; processes left running by a failing test are killed."""
    started: list[Holter] = []

    def start() -> Holter:
        started.append(Holter(tmp_path / "runs", tmp_path / "data", slack))
        return started[-1]

    yield start
    for holter in started:
        if holter.process.poll() is None:
            sys.stdout.write(holter.stop(signal.SIGKILL))


@pytest.fixture
def slack() -> Iterator[Slack]:
    slack = Slack()
    yield slack
    slack.close()


def healthy(step: int, noise: random.Random) -> float:
    return 2.0 + 3.0 * math.exp(-step / 200) + noise.gauss(0, 0.02)


def write(writer: EventFileWriter, first: int, last: int, loss: Callable[[int], float]) -> None:
    for step in range(first, last):
        values = {"train/loss": loss(step), "train/grad_norm": 0.5}
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))
    writer.flush()


def test_a_spike_in_a_tensorboard_log_reaches_the_page_and_slack_and_survives_a_kill(
    tmp_path: Path, slack: Slack, start: Callable[[], Holter]
) -> None:
    noise = random.Random(7)
    writer = EventFileWriter(str(tmp_path / "runs" / "tiny-gpt"))
    write(writer, 0, 600, lambda step: healthy(step, noise))

    holter = start()
    run = eventually(lambda: [run for run in holter.get("/runs")["runs"] if run["points"] == 1200])[0]
    assert run["name"] == "tiny-gpt"
    assert run["health"] == "ok"
    assert holter.incidents("spike_fast", "spike_slow", "spike_unrecovered") == []

    write(writer, 600, 615, lambda step: healthy(step, noise) + 2.5)
    spike = eventually(lambda: holter.incidents("spike_fast", "spike_slow", "spike_unrecovered"))[0]
    assert 598 <= spike["start_step"] <= 602
    assert spike["state"] == "open"
    message = slack.received.get(timeout=60)
    assert "tiny-gpt" in json.dumps(message)
    holter.stop(signal.SIGKILL)

    write(writer, 615, 900, lambda step: healthy(step, noise))
    holter = start()
    eventually(lambda: [run for run in holter.get("/runs")["runs"] if run["points"] == 1800])
    recovered = eventually(
        lambda: [each for each in holter.incidents("spike_fast") if each["state"] == "recovered"]
    )
    assert [each["id"] for each in recovered] == [spike["id"]], "one real event is one incident"
    curve = holter.get(f"/runs/{run['id']}/data?metric=train/loss&points=5000")["series"][0]
    assert curve["count"] == 900
    output = holter.stop()
    assert "Traceback" not in output, output
    writer.close()
