"""`holter demo`, as `make demo` runs it: real server, event files and client, every known event detected."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holter.cli.commands.demo import print_comparison
from holter.cli.demo.client_replay import ClientReplay
from holter.cli.demo.narrator import Narrator, compare_run, comparison_table
from holter.cli.demo.replay import RunReplay, write_at_once
from holter.cli.demo.runs import (
    CLOCKS,
    DATA,
    PUBLIC_LOG,
    SIMULATED_CLOCK,
    KnownEvent,
    RecordedRun,
    load_runs,
)
from holter.ingest.offline.read_run import read_run
from tests.support.pages import Server, until
from tests.support.process_tree import kill_tree

pytestmark = pytest.mark.slow


def demo(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "holter", "demo", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def live(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = demo(
        "--seconds", "20", "--run", "slower-after-restart", "--data-dir", str(tmp_path), "--port", "0"
    )
    try:
        yield process
    finally:
        kill_tree(process.pid)  # also its server, which is in a session of its own
        process.communicate()


def runs_replayed_as_files() -> list[RecordedRun]:
    return [run for run in load_runs() if run.project == SIMULATED_CLOCK]


def test_once_replays_everything_and_detects_every_known_event_and_nothing_else() -> None:
    process = demo("--once", "--port", "0")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "MISSED" not in output
    assert "FALSE ALARM" not in output
    assert "their wall times and tokens per second are simulated" in output
    assert f"{sum(run.points for run in load_runs())} points stored and analysed" in output
    assert output.count("throughput regression at step 1,531") == 1


def test_live_replay_prints_an_incident_and_runs_until_it_is_stopped(
    live: subprocess.Popen[str],
) -> None:
    assert live.stdout is not None
    lines: list[str] = []
    for line in live.stdout:
        lines.append(line)
        if "The replay is over" in line:
            break
    output = "".join(lines)
    address = re.search(r"http://127\.0\.0\.1:\d+", output)
    assert address is not None
    assert output.index(": throughput regression") < output.index("points  known")
    with urllib.request.urlopen(f"{address[0]}/api/v1/runs", timeout=60) as answer:
        assert b"slower-after-restart" in answer.read()
    live.send_signal(signal.SIGINT)
    assert live.wait(60) == 0
    port = int(address[0].rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server is still running after the demo"


def test_an_unknown_run_is_refused_with_the_known_names() -> None:
    process = demo("--once", "--run", "nonsense")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "nonsense" in output
    assert "goes-nan" in output


def test_the_replayed_files_hold_every_point_of_every_attempt(tmp_path: Path) -> None:
    runs = runs_replayed_as_files()
    write_at_once(runs, tmp_path, seconds=100)
    for run in runs:
        read = read_run(tmp_path / run.name)
        assert (read.points, read.attempts, read.unreadable) == (run.points, len(run.attempts), [])
        for series in read.data.series.values():
            logged = np.concatenate([attempt.columns[series.key.metric] for attempt in run.attempts])
            assert np.array_equal(series.value, np.float32(logged), equal_nan=True)


def test_a_replay_writes_only_rows_that_are_due_and_shifts_their_wall_times(tmp_path: Path) -> None:
    [run] = load_runs(["goes-nan"])
    begin = time.time()
    replay = RunReplay(run, tmp_path, begin=begin, seconds=100)
    replay.write(begin + 50)
    half = read_run(tmp_path / run.name)
    assert 0.3 < half.points / run.points < 0.7
    assert not replay.over
    replay.write(begin + 101)
    assert replay.over
    assert len(list((tmp_path / run.name).glob("events*"))) == len(run.attempts)
    times = np.concatenate([series.time for series in read_run(tmp_path / run.name).data.series.values()])
    assert begin - 1 <= times.min() <= times.max() <= begin + 101


def incident(**changes: Any) -> dict[str, Any]:
    identity = {
        "id": 1,
        "run": "a",
        "kind": "spike_fast",
        "attempt": 0,
        "start_step": 101,
        "detected_step": 103,
    }
    status = {"severity": "warning", "state": "open", "summary": "Loss rose.", "opened_at": 1.0}
    return {**identity, **status, **changes}


@pytest.fixture
def run() -> RecordedRun:
    [attempt] = load_runs(["fast-spikes"])[0].attempts
    event = KnownEvent(kind="spike_fast", attempt=0, start_step=100)
    return RecordedRun(
        name="a",
        origin="",
        project=SIMULATED_CLOCK,
        description="",
        points=10,
        attempts=(attempt,),
        events=(event,),
    )


@pytest.mark.parametrize(
    ("incidents", "complete", "text"),
    [
        ([incident()], True, "at step 101, after 3 steps"),
        ([incident(start_step=200)], False, "MISSED"),
        ([incident(kind="spike_slow")], False, "MISSED"),
        ([incident(attempt=1)], False, "MISSED"),
        ([], False, "MISSED"),
        ([incident(), incident(id=2, start_step=110)], True, "FALSE ALARM: fast loss spike at step 110"),
    ],
)
def test_a_comparison_matches_incidents_to_known_events(
    run: RecordedRun, incidents: list[dict[str, Any]], complete: bool, text: str
) -> None:
    comparison = compare_run(run, {"points": 10, "attempts": 1}, incidents)
    assert comparison.complete is complete
    assert text in "\n".join(comparison_table([comparison]))


@pytest.mark.parametrize(
    ("incidents", "succeeded", "message"),
    [
        ([incident()], True, ""),
        ([], False, "Not every known event was detected"),
        ([incident(), incident(id=2, start_step=110)], False, "False alarms"),
    ],
)
def test_the_demo_succeeds_if_every_known_event_and_nothing_else_was_detected(
    run: RecordedRun,
    incidents: list[dict[str, Any]],
    succeeded: bool,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    comparison = compare_run(run, {"points": 10, "attempts": 1}, incidents)
    assert print_comparison([comparison]) is succeeded
    assert message in capsys.readouterr().err


def test_an_incident_in_a_healthy_run_is_a_false_alarm(run: RecordedRun) -> None:
    healthy = replace(run, events=())
    comparison = compare_run(healthy, {"points": 10, "attempts": 1}, [incident()])
    assert comparison.false_alarms == 1
    table = "\n".join(comparison_table([comparison]))
    assert "FALSE ALARM: fast loss spike at step 101 (warning)" in table


def test_a_label_may_allow_another_kind_which_is_then_shown(run: RecordedRun) -> None:
    border = replace(run, events=(replace(run.events[0], accept=("spike_slow",)),))
    comparison = compare_run(border, {"points": 10, "attempts": 1}, [incident(kind="spike_slow")])
    assert comparison.complete
    assert "slow loss spike at step 101" in "\n".join(comparison_table([comparison]))


def test_the_table_says_how_long_before_the_last_point_an_incident_was_open(run: RecordedRun) -> None:
    live = compare_run(run, {"points": 10, "attempts": 1, "last_time": 5.0}, [incident()])
    assert "after 3 steps, 4 s before the last point" in "\n".join(comparison_table([live]))


def test_a_public_log_arrives_over_http_and_its_incident_opens_while_it_is_logged(tmp_path: Path) -> None:
    [public] = [each for each in load_runs() if each.project == PUBLIC_LOG]
    (tmp_path / "data").mkdir()
    server = Server(tmp_path / "data")
    try:
        replay = ClientReplay(public, server.address, tmp_path / "spool", begin=0.0, seconds=1.0)
        [event] = public.events
        [attempt] = public.attempts
        share = (attempt.times / public.seconds)[attempt.steps == event.start_step + 60]
        replay.log_until(float(share[0]))
        assert not replay.over
        opened = until(lambda: server.ask("/incidents?state=all")["incidents"])
        assert [event.matches(each) for each in opened] == [True]
        [stored] = server.ask("/runs")["runs"]
        assert 0 < stored["points"] < public.points
        replay.log_until(1.0)
        assert replay.over
        [stored] = until(
            lambda: [each for each in server.ask("/runs")["runs"] if each["points"] == public.points]
        )
        assert stored["project"] == PUBLIC_LOG
        config = server.ask(f"/runs/{stored['id']}")["config"]
        assert CLOCKS[PUBLIC_LOG] in config.values()
    finally:
        server.close()


def test_each_run_says_what_its_clock_is(tmp_path: Path) -> None:
    for each in runs_replayed_as_files():
        assert "simulated" in each.settings["clock"]
    [run] = load_runs(["goes-nan"])
    write_at_once([run], tmp_path, seconds=10)
    config = read_run(tmp_path / run.name).data.config
    assert {key.name: value for key, values in config.items() for value in values.values()} == {
        f"demo.{name}": value for name, value in run.settings.items()
    }


@pytest.mark.parametrize("stored", [{"points": 9, "attempts": 1}, {"points": 10, "attempts": 2}, {}])
def test_missing_points_and_wrong_attempts_are_reported(run: RecordedRun, stored: dict[str, int]) -> None:
    comparison = compare_run(run, stored, [incident()])
    assert not comparison.complete
    assert re.search("MISSING|WRONG", "\n".join(comparison_table([comparison])))


def test_the_narrator_describes_each_change_once() -> None:
    narrator = Narrator()
    described = [
        list(narrator.describe_changes([incident(**changes)], now))
        for now, changes in enumerate(
            (
                {},
                {},
                {"kind": "spike_slow"},
                {"kind": "spike_slow", "state": "recovered", "recovered_at": -9.0},
            )
        )
    ]
    assert [len(lines) for lines in described] == [1, 0, 1, 1]
    assert "warning: loss spike" in described[0][0]
    assert "reclassified: slow loss spike" in described[2][0]
    assert "recovered" in described[3][0]


def test_a_recovery_is_described_once_it_has_lasted() -> None:
    narrator = Narrator()
    recovered = {"state": "recovered", "recovered_at": 10.0}
    turns = [
        (0.0, {}),
        (10.5, recovered),
        (12.0, {}),
        (20.5, recovered | {"recovered_at": 20.0}),
        (25.5, recovered),
    ]
    described = [list(narrator.describe_changes([incident(**changes)], now)) for now, changes in turns]
    assert [len(lines) for lines in described] == [1, 0, 0, 0, 1]


def test_the_source_of_each_run_is_named() -> None:
    source = (DATA / "SOURCE").read_text()
    for each in load_runs():
        if each.project == PUBLIC_LOG:
            assert each.name in source
            assert all(part in source for part in each.origin.split(", "))
    assert "Apache-2.0" in source


def test_the_data_of_the_demo_are_small() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 3_000_000
