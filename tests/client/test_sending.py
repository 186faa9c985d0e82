"""From a training process to the server: everything logged is stored once, whatever dies or is away."""

from __future__ import annotations

import base64
import json
import logging
import math
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import msgpack

import holter
from tests.support.client_server import columns_of
from tests.support.forked_commands import run_command
from tests.support.waiting import wait_until_at_rest

if TYPE_CHECKING:
    from tests.support.client_server import Moody, Server

pytestmark = pytest.mark.slow

Start = Callable[..., "subprocess.Popen[str]"]
Eventually = Callable[..., Any]

TRAIN = """
import os, sys, time, holter
run = holter.init("tests", {name!r}, server={server!r})
for step in range({first}, {last}):
    run.log({{"loss": 10.0 - step / 1000, "lr": 0.001}}, step=step)
    time.sleep({pause})
print("logged", flush=True)
{then}
"""


def training(
    name: str,
    server: str,
    *,
    steps: tuple[int, int] = (0, 200),
    pause: float = 0.0,
    then: str = "run.finish()",
) -> str:
    """A script that trains, and what it does when it is through."""
    return TRAIN.format(name=name, server=server, first=steps[0], last=steps[1], pause=pause, then=then)


def curve(first: int, last: int, attempt: int = 0) -> list[tuple[int, int, float]]:
    return [(attempt, step, 10.0 - step / 1000) for step in range(first, last)]


def wait_until_spooled(spool: Path) -> None:
    """Wait until a process has flushed what it logged."""
    wait_until_at_rest(lambda: sum(path.stat().st_size for path in spool.rglob("*") if path.is_file()))


def send_spool(spool: Path, server: Server) -> str:
    """Send a spool that was left with `holter agent --spool`; returns what it printed."""
    return run_command(["agent", "--spool", spool, "--server", server.url], check=True).stdout


def send_what_is_left(spool: Path, server: Server) -> None:
    """Send what a script that has ended did not: on a busy machine it ends before all is sent."""
    if any(spool.iterdir()):
        send_spool(spool, server)


def test_what_a_training_script_logs_is_stored_and_the_run_is_finished(server: Server, python: Start) -> None:
    process = python(training("plain", server.url))
    assert process.wait(60) == 0
    assert server.points("plain", "loss") == curve(0, 200)
    run = server.run("plain")
    assert run is not None
    assert run["state"] == "finished"


def test_four_calls_a_step_are_four_points(server: Server, tmp_path: Path) -> None:
    logged = [(step, step + part / 4) for step in range(100) for part in range(4)]
    with holter.init("tests", "micro-batches", server=server.url, spool=tmp_path) as run:
        for step, value in logged:
            run.log({"loss": value}, step=step)
    assert server.points("micro-batches", "loss") == [(0, *point) for point in logged]


def test_configuration_labels_and_nonfinite_values_arrive(server: Server, tmp_path: Path) -> None:
    config = {"lr": 1e-3, "data": {"seed": 7}}
    with holter.init("tests", "told", config, server=server.url, labels={"rank": 3}, spool=tmp_path) as run:
        for step, value in enumerate((1.0, math.nan, math.inf, -math.inf)):
            run.log({"loss": value}, step=step)
    assert server.points("told", "loss") == [
        (0, 0, 1.0),
        (0, 1, "NaN"),
        (0, 2, "Infinity"),
        (0, 3, "-Infinity"),
    ]
    stored = server.run("told")
    assert stored is not None
    assert server.get(f"/runs/{stored['id']}")["config"] == {"lr": 1e-3, "data.seed": 7}
    series = server.get(f"/runs/{stored['id']}/series")["series"]
    assert [(one["metric"], one["labels"]) for one in series] == [("loss", {"rank": "3"})]


@pytest.mark.parametrize("then", ["", "sys.exit()", "sys.exit(0)"])
def test_a_script_that_comes_to_its_end_has_sent_everything_and_is_finished(
    server: Server, python: Start, then: str
) -> None:
    name = f"ends {then}"
    process = python(training(name, server.url, then=then))
    assert process.wait(60) == 0
    assert server.points(name, "loss") == curve(0, 200)
    run = server.run(name)
    assert run is not None
    assert run["state"] == "finished"


@pytest.mark.parametrize("then", ["1 / 0", "sys.exit(3)", "sys.exit('no such checkpoint')", "raise KeyError"])
def test_a_script_that_fails_has_sent_everything_up_to_there_and_is_not_finished(
    server: Server, python: Start, then: str
) -> None:
    name = f"fails {then}"
    process = python(training(name, server.url, then=then))
    assert process.wait(60) in (1, 3)
    assert server.points(name, "loss") == curve(0, 200)
    run = server.run(name)
    assert run is not None
    assert run["state"] == "running"


def test_a_thread_that_exits_does_not_make_a_script_fail(server: Server, python: Start) -> None:
    then = "import threading; thread = threading.Thread(target=sys.exit, args=(1,)); thread.start()"
    assert python(training("threads", server.url, then=f"{then}; thread.join()")).wait(60) == 0
    run = server.run("threads")
    assert run is not None
    assert run["state"] == "finished"


def test_many_open_runs_hold_up_the_exit_no_longer_than_one(
    moody: tuple[str, type[Moody]], python: Start
) -> None:
    url, server = moody
    server.answers = [(503, {"Retry-After": "600"})] * 100
    more = f"more = [holter.init('tests', str(n), server={url!r}) for n in range(19)]"
    more += "\nfor one in more:\n    one.log({'loss': 1})"
    process = python(training("many", url, then=more))
    assert process.stdout is not None
    process.stdout.readline()
    assert process.wait(60) == 0  # twenty runs, one after the other, would take 100 seconds


def test_a_killed_process_loses_at_most_the_last_second(
    fickle: Server, python: Start, eventually: Eventually, tmp_path: Path
) -> None:
    process = python(training("killed", fickle.url, steps=(0, 3_000), pause=0.001, then="time.sleep(600)"))
    assert process.stdout is not None
    process.stdout.readline()
    wait_until_spooled(tmp_path / "spool")
    process.kill()
    process.wait()
    fickle.start()
    with holter.init("tests", "other", server=fickle.url, spool=tmp_path / "spool"):
        eventually(lambda: len(fickle.points("killed", "loss")) == 3_000)
    assert fickle.points("killed", "loss") == curve(0, 3_000)


def test_the_next_attempt_sends_what_a_killed_one_left_before_its_own(
    fickle: Server, python: Start, eventually: Eventually, tmp_path: Path
) -> None:
    first = python(training("again", fickle.url, steps=(0, 500), then="time.sleep(600)"))
    assert first.stdout is not None
    first.stdout.readline()
    wait_until_spooled(tmp_path / "spool")
    first.kill()
    first.wait()
    fickle.start()
    assert python(training("again", fickle.url, steps=(400, 600))).wait(60) == 0
    send_what_is_left(tmp_path / "spool", fickle)
    assert eventually(lambda: fickle.points("again", "loss")) == curve(0, 500) + curve(400, 600, attempt=1)


def test_the_server_may_go_away_and_come_back(
    fickle: Server, python: Start, eventually: Eventually, tmp_path: Path
) -> None:
    fickle.start()
    process = python(training("patient", fickle.url, steps=(0, 2_000), pause=0.002))
    eventually(lambda: len(fickle.points("patient", "loss")) > 100)
    fickle.stop(signal.SIGKILL)
    time.sleep(1.0)
    fickle.start()
    assert process.wait(60) == 0
    send_what_is_left(tmp_path / "spool", fickle)
    assert fickle.points("patient", "loss") == curve(0, 2_000)


def test_without_a_server_a_script_ends_soon_and_says_where_its_metrics_are(
    python: Start, tmp_path: Path
) -> None:
    process = python(training("alone", "http://127.0.0.1:9"))
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert time.monotonic() - began < 30
    assert said.count("cannot be reached") == 1
    assert str(tmp_path / "spool") in said


def test_the_agent_sends_a_spool_that_was_left(server: Server, python: Start, tmp_path: Path) -> None:
    assert python(training("left", "http://127.0.0.1:9")).wait(60) == 0
    assert "1 spool " in send_spool(tmp_path / "spool", server)
    assert server.points("left", "loss") == curve(0, 200)
    run = server.run("left")
    assert run is not None
    assert run["state"] == "finished"
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_spool_that_is_sent_twice_is_stored_once(server: Server, python: Start, tmp_path: Path) -> None:
    assert python(training("twice", "http://127.0.0.1:9")).wait(60) == 0
    shutil.copytree(tmp_path / "spool", tmp_path / "copy")
    for folder in ("spool", "copy"):
        send_spool(tmp_path / folder, server)
    assert server.points("twice", "loss") == curve(0, 200)


def test_ranks_log_side_by_side_in_one_attempt(server: Server, python: Start) -> None:
    slurm = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "3"}
    ranks = [python(training("ranks", server.url), **slurm, SLURM_PROCID=str(rank)) for rank in range(3)]
    assert [process.wait(60) for process in ranks] == [0, 0, 0]
    run = server.run("ranks")
    assert run is not None
    assert (run["attempts"], run["points"]) == (1, 3 * 2 * 200)
    series = server.get(f"/runs/{run['id']}/series")["series"]
    assert {one["labels"]["rank"] for one in series} == {"0", "1", "2"}


def test_a_requeued_job_is_the_next_attempt_of_all_its_ranks(server: Server, python: Start) -> None:
    slurm = {"SLURM_JOB_ID": "78", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}
    for requeued, steps in (("0", (0, 300)), ("1", (200, 400))):
        script = training("requeued", server.url, steps=steps)
        ranks = [
            python(script, **slurm, SLURM_PROCID=str(rank), SLURM_RESTART_COUNT=requeued) for rank in range(2)
        ]
        assert [process.wait(60) for process in ranks] == [0, 0]
    assert server.points("requeued", "loss") == sorted(2 * (curve(0, 300) + curve(200, 400, attempt=1)))


def test_a_busy_server_is_left_alone_as_long_as_it_asks(
    moody: tuple[str, type[Moody]], tmp_path: Path
) -> None:
    url, server = moody
    server.answers = [(503, {"Retry-After": "2"}), (429, {})]
    run = holter.init("tests", "busy", server=url, spool=tmp_path)
    run.log({"loss": 1.0})
    deadline = time.monotonic() + 60
    while len(server.seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    run.finish()
    times = [moment for moment, _, _ in server.seen]
    assert times[1] - times[0] >= 2.0
    assert times[2] - times[1] >= 0.5
    assert len({body["batch_id"] for _, _, body in server.seen[:3]}) == 1
    assert server.seen[-1][2]["finished"] is True


def test_when_the_spool_is_full_what_is_dropped_is_counted_said_and_shown_in_the_run(
    moody: tuple[str, type[Moody]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    url, server = moody
    server.answers = [(503, {"Retry-After": "2"})]
    monkeypatch.setattr("holter.client.run.MEMORY_VALUES", 320_000)
    with caplog.at_level(logging.WARNING, logger="holter"):
        run = holter.init("tests", "full", server=url, spool=tmp_path, environ={"HOLTER_SPOOL_BYTES": "1"})
        for step in range(150_000):
            run.log({"loss": 1.0 / (step + 1), "lr": 0.001}, step=step)
        eventually(lambda: len(server.seen) > 5)
        run.log({"loss": 0.0}, step=150_000)
        run.finish()
    bodies = {body["batch_id"]: columns_of(body) for _, _, body in server.seen}
    stored: dict[str, list[float]] = {}
    for columns in bodies.values():
        for name, values in columns.items():
            stored.setdefault(name, []).extend(values)
    dropped = sum(stored["holter/dropped_points"])
    assert dropped > 0
    assert len(stored["loss"]) + len(stored["lr"]) + dropped == 300_001
    messages = [record.message for record in caplog.records]
    assert sum("is full" in message for message in messages) >= 1
    assert any(f"{dropped:,.0f} points dropped" in message for message in messages)


def test_a_body_that_is_refused_is_kept_aside_and_the_rest_is_sent(
    moody: tuple[str, type[Moody]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url, server = moody
    server.answers = [(422, {})]
    with caplog.at_level(logging.WARNING, logger="holter"):
        run = holter.init("tests", "refused", server=url, spool=tmp_path)
        run.log({"loss": 1.0}, step=0)
        while not server.seen:
            time.sleep(0.01)
        run.log({"loss": 2.0}, step=1)
        run.close(10)
    [kept] = tmp_path.glob("*/rejected.jsonl")
    refused = json.loads(kept.read_text())
    assert columns_of(msgpack.decode(base64.b64decode(refused["body"])))["step"] == [0]
    assert "as told" in refused["reason"]
    assert [columns_of(body)["step"] for _, _, body in server.seen] == [[0], [1]]
    assert any(str(kept) in record.message and "as told" in record.message for record in caplog.records)


def test_of_several_bodies_in_one_request_only_the_one_that_is_refused_is_kept_aside(
    moody: tuple[str, type[Moody]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, server = moody
    server.answers = [(503, {"Retry-After": "1"}), (200, {}), (422, {}), (200, {}), (422, {})]
    monkeypatch.setattr("holter.client.encode.MAX_VALUES", 2)
    monkeypatch.setattr("holter.client.run.MAX_VALUES", 2)
    run = holter.init("tests", "several", server=url, spool=tmp_path)
    run.log({"loss": 0.0}, step=0)
    while not server.seen:
        time.sleep(0.01)
    for step in range(1, 6):
        run.log({"loss": 1.0}, step=step)
    run.finish()
    [kept] = tmp_path.glob("*/rejected.jsonl")
    refused = msgpack.decode(base64.b64decode(json.loads(kept.read_text())["body"]))
    steps = {body["batch_id"]: columns_of(body)["step"] for _, _, body in server.seen}
    assert sorted(step for held in steps.values() for step in held) == list(range(6))
    assert columns_of(refused)["step"] == list(steps.values())[2]


def test_a_run_that_follows_soon_goes_on_with_threads_spool_and_connection(
    server: Server, tmp_path: Path, eventually: Eventually
) -> None:
    for number in range(3):
        run = holter.init("tests", f"one of three {number}", server=server.url, spool=tmp_path)
        run.log({"loss": float(number)}, step=number)
        run.finish()
        [folder] = tmp_path.iterdir()
        assert json.loads((folder / "state").read_bytes()[42:])["run"] == f"one of three {number}"
    assert [server.points(f"one of three {number}", "loss") for number in range(3)] == [
        [(0, number, float(number))] for number in range(3)
    ]
    eventually(lambda: not list(tmp_path.iterdir()))


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_a_wrong_token_or_address_is_said_once_and_loses_nothing(
    moody: tuple[str, type[Moody]], tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    url, server = moody
    server.answers = 10 * [(status, {"Location": f"{url}/elsewhere"})]
    with caplog.at_level(logging.WARNING, logger="holter"):
        run = holter.init("tests", "unwanted", server=url, token="secret", spool=tmp_path)
        run.log({"loss": 1.0})
        run.close(10)
    assert sum(f"answered {status}" in record.message for record in caplog.records) == 1
    assert list(tmp_path.glob("*/0*.spool"))
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.glob("*/*") if path.is_file())


def test_a_page_that_is_no_holter_server_is_not_taken_for_an_acknowledgement(
    moody: tuple[str, type[Moody]], tmp_path: Path
) -> None:
    url, server = moody
    server.accepted = b"<html>Please log in to the network</html>"
    run = holter.init("tests", "portal", server=url, spool=tmp_path)
    run.log({"loss": 1.0})
    run.close(10)
    assert list(tmp_path.glob("*/0*.spool"))
