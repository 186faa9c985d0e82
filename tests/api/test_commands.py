"""The commands in real processes, with real files and signals."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.cli import main as cli_main
from holter.server.database import connect
from holter.server.models import Base, RunRecord
from holter.server.store import Store
from tests.support.forked_commands import run_command
from tests.support.requirements import skip_missing
from tests.support.servers import Printed, forked, started, stop
from tests.support.stored_runs import some_run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_address_and_ends_cleanly(how: signal.Signals, tmp_path: Path) -> None:
    with started("serve", "--data-dir", tmp_path / "data") as (process, address, _):
        assert httpx.get(address, timeout=60).status_code == 200
        assert "stopped" in stop(process, how)
    assert (tmp_path / "data" / "holter.db").exists()


def test_the_server_starts_and_stays_small(tmp_path: Path) -> None:
    with started("serve", "--data-dir", tmp_path / "data") as (process, address, seconds):
        body = {"project": "p", "run": "r", "columns": {"step": [1, 2], "loss": [1, 2]}}
        for step in range(20):
            body["columns"] = {"step": [step], "loss": [1.0]}
            httpx.post(f"{address}/api/v1/ingest", json=body, timeout=60).raise_for_status()
        httpx.get(f"{address}/api/v1/runs", timeout=60).raise_for_status()
        httpx.get(f"{address}/", timeout=60).raise_for_status()
        megabytes = psutil.Process(process.pid).memory_info().rss / 2**20
    assert seconds < 60, f"{seconds:.1f} s from start to first answer"  # 2 s when nothing else runs
    assert megabytes < 175, f"{megabytes:.0f} MiB"


def test_a_second_server_on_the_same_data_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with forked("serve", "--data-dir", tmp_path / "data"):
        other = run_command(["serve", "--port", "0", "--data-dir", tmp_path / "data"])
    assert other.returncode == 1
    assert "in use by another Holter server" in other.stderr
    assert "Traceback" not in other.stderr


def test_watch_follows_serves_and_reports_incidents(tmp_path: Path) -> None:
    logs = tmp_path / "runs" / "a"
    logs.mkdir(parents=True)
    log = logs / "log.csv"
    log.write_text("step,wall_time,loss\n")
    with forked("watch", tmp_path / "runs", "--data-dir", tmp_path / "data") as (process, address):
        assert f"following {tmp_path / 'runs'}" in process.stdout.readline()
        assert f"{tmp_path / 'runs'}: 1 log of 1 run" in process.stdout.readline()
        now = time.time()
        with log.open("a") as out:
            for step in range(100):
                out.write(f"{step},{now - 100 + step},{2.0 if step < 60 else 'nan'}\n")
        began = time.monotonic()
        line = process.stdout.readline()
        took = time.monotonic() - began
        assert "NaN or infinity" in line
        assert "a, step 60" in line
        assert f"{address}/incidents/1" in process.stdout.readline()
        (run,) = httpx.get(f"{address}/api/v1/runs", timeout=60).json()["runs"]
        assert (run["name"], run["points"]) == ("a", 100)
        stop(process, signal.SIGINT)
    assert took < 60, f"{took:.1f} s from line to incident"  # 2 s when nothing else runs


def test_watch_reports_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no log")
    with forked("watch", tmp_path, "--data-dir", tmp_path / "data") as (process, _):
        process.stdout.readline()
        assert f"{tmp_path}: no logs of a known format yet" in process.stdout.readline()


def test_watch_reports_unreadable_locations(tmp_path: Path) -> None:
    log = tmp_path / "runs" / "log.csv"
    log.parent.mkdir()
    log.write_text("step,loss\n1,2.0\n")
    with forked("watch", log, "--data-dir", tmp_path / "data") as (process, address):
        for _ in range(2):
            process.stdout.readline()
        with log.open("a") as out:
            out.write("two,2.0\n3,2.0\n")
        assert f"holter: {log}, line 3: column step: expected a whole number" in process.stdout.readline()
        (run,) = httpx.get(f"{address}/api/v1/runs", timeout=60).json()["runs"]
        detail = httpx.get(f"{address}/api/v1/runs/{run['id']}", timeout=60).json()
        assert detail["unreadable_count"] == 1
        assert detail["unreadable"][0]["source"] == str(log)
        deadline = time.monotonic() + 60
        while "holter_points_total 2.0" not in httpx.get(f"{address}/metrics", timeout=60).text:
            assert time.monotonic() < deadline, "points that were followed are counted too"
            time.sleep(0.05)


def test_watch_refuses_a_missing_path(holter: Printed, tmp_path: Path) -> None:
    code, _, complaint = holter("watch", tmp_path / "typo")
    assert code == 3
    assert "typo: no such file or folder" in complaint


def test_serve_refuses_to_start_unprotected_with_advice(holter: Printed, tmp_path: Path) -> None:
    code, _, complaint = holter("serve", "--host", "0.0.0.0", "--port", 0, "--data-dir", tmp_path)
    assert code == 1
    assert "HOLTER_PASSWORD=" in complaint
    assert "holter token create" in complaint


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_that_serve_prints_can_be_opened(host: str, tmp_path: Path) -> None:
    if host == "::" and not socket.has_dualstack_ipv6():
        skip_missing("IPv6", fails_in_ci=False)
    command = [sys.executable, "-m", "holter", "serve", "--host", host, "--port", "0", "--data-dir", tmp_path]
    secret = {"HOLTER_PASSWORD": "long enough", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | secret) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            addresses = [first.split()[1]]
            while not addresses[-1].startswith(f"http://{'[::1]' if host == '::' else '127.0.0.1'}:"):
                addresses.append(process.stdout.readline().strip())
            for address in addresses:
                assert httpx.get(f"{address}/healthz", trust_env=False, timeout=60).json() == {
                    "status": "alive"
                }
        finally:
            process.kill()
    assert f"http://{host}:" not in " ".join(addresses)
    assert "(Ctrl-C stops)" in first


def test_serve_reports_a_port_in_use(holter: Printed, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, complaint = holter("serve", "--port", port, "--data-dir", tmp_path)
    assert code == 1
    assert f"port {port}" in complaint
    assert "--port" in complaint
    code, _, complaint = holter("serve", "--host", "999.1.1.1", "--data-dir", tmp_path)
    assert code == 1
    assert "not known): choose another with --host" in complaint


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m holter doctor --data-dir {tmp_path} | true; echo ${{PIPESTATUS[0]}}"
    finished = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=True
    )
    assert (finished.stdout, finished.stderr) == ("141\n", "")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "70000"], "port"),
        (["--database-url", "mysql://x/y"], "postgresql+psycopg"),
        (["--database-url", "nonsense"], "sqlite:///FILE"),
        (["--database-url", "postgresql+psycopg://127.0.0.1:1/x"], "cannot be used"),
        (["--public-url", "holter.example.com"], "https://"),
    ],
)
def test_a_failed_start_has_a_reason(holter: Printed, arguments: list[str], reason: str) -> None:
    code, _, complaint = holter("serve", "--port", 0, *arguments)
    assert code == 1
    assert reason in complaint
    assert "Traceback" not in complaint


def test_tokens_are_made_listed_and_revoked(holter: Printed, tmp_path: Path) -> None:
    where = ("--data-dir", tmp_path)
    assert holter("db", "upgrade", *where)[0] == 0
    assert "holter token create" in holter("token", "list", *where)[1]
    code, token, _ = holter("token", "create", "agents", *where)
    assert code == 0
    assert re.fullmatch(r"holter_[A-Za-z0-9]{33}\n", token)
    code, _, complaint = holter("token", "create", "agents", *where)
    assert code == 1
    assert "already" in complaint
    assert "agents\tscope ingest\tcreated" in holter("token", "list", *where)[1]
    assert holter("token", "revoke", "agents", *where)[0] == 0
    assert "revoked" in holter("token", "list", *where)[1]
    code, _, complaint = holter("token", "revoke", "agents", *where)
    assert code == 1
    assert "no active token is called 'agents'" in complaint
    assert holter("token", "create", " ", *where)[0] == 1


def everything(engine: Engine) -> dict[str, list[Any]]:
    with engine.connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)).all()))
            for table in Base.metadata.sorted_tables
        }


@pytest.mark.parametrize(
    ("source", "target"), [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "sqlite")]
)
def test_a_backup_restores_into_either_database_and_accepts_more(
    holter: Printed, sqlite_url: str, postgres_url: str, source: str, target: str, tmp_path: Path
) -> None:
    database_url = sqlite_url if source == "sqlite" else postgres_url
    engine = connect(database_url)
    run_id = some_run(engine)
    Store(engine).compact()
    some_run(engine, "b")
    file = tmp_path / "all.backup"
    assert holter("db", "backup", file, "--database-url", database_url)[0] == 0
    assert holter("db", "backup", file, "--database-url", database_url)[0] == 1
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}" if target == "sqlite" else postgres_url
    code, printed, complaint = holter("db", "restore", file, "--database-url", fresh)
    assert code == 0, complaint
    assert "rows restored" in printed
    other = connect(fresh)
    assert everything(other) == everything(engine)
    assert holter("db", "check", "--database-url", fresh)[:2] == (0, "every checksum and count is correct\n")
    some_run(other, "c")  # ids continue
    with Session(other) as session:
        assert session.scalar(select(RunRecord.name).where(RunRecord.public_id == run_id)) == "a"
    other.dispose()
    engine.dispose()
    code, _, complaint = holter("db", "restore", file, "--database-url", fresh)
    assert code == 1
    assert "not empty" in complaint


def test_a_damaged_backup_restores_nothing(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path
) -> None:
    some_run(sqlite_engine)
    file = tmp_path / "all.backup"
    holter("db", "backup", file, "--database-url", sqlite_url)
    backup_bytes = file.read_bytes()
    middle = len(backup_bytes) // 2
    for number, content in enumerate(
        (
            backup_bytes[:-1],
            backup_bytes[:middle],
            backup_bytes[:middle] + bytes([backup_bytes[middle] ^ 0xFF]) + backup_bytes[middle + 1 :],
            b"",
            b"nonsense",
        )
    ):
        file.write_bytes(content)
        fresh = f"sqlite:///{tmp_path / f'fresh{number}.db'}"
        code, _, complaint = holter("db", "restore", file, "--database-url", fresh)
        assert code == 1, number
        assert "all.backup" in complaint
        if (tmp_path / f"fresh{number}.db").exists():
            engine = connect(fresh)
            with Session(engine) as session:
                assert session.scalars(select(RunRecord.id)).all() == []
            engine.dispose()


def test_check_names_what_is_damaged(holter: Printed, sqlite_engine: Engine, sqlite_url: str) -> None:
    some_run(sqlite_engine)
    with sqlite_engine.begin() as connection:
        connection.exec_driver_sql("UPDATE log SET payload = x'00' WHERE id = 1")
    code, printed, _ = holter("db", "check", "--database-url", sqlite_url)
    assert code == 1
    assert "1 problem" in printed


def test_export_writes_every_point_as_it_is_stored(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path
) -> None:
    run_id = some_run(sqlite_engine)
    where = ("--database-url", sqlite_url)
    code, printed, _ = holter("export", run_id, *where)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(printed)))
    loss = [
        (row["attempt"], row["step"], row["value"], row["superseded"])
        for row in rows
        if row["metric"] == "loss"
    ]
    assert loss == [
        ("0", "1", "3.0", "0"), ("0", "2", "NaN", "0"), ("0", "3", "0.1", "1"),
        ("1", "3", "2.5", "0"), ("1", "4", "Infinity", "0"),
    ]  # fmt: skip
    assert {row["labels"] for row in rows if row["metric"] == "t"} == {'{"rank": "3"}'}
    file = tmp_path / "out.json"
    assert holter("export", "llm/a", "--metric", "lo*", "--output", file, *where)[0] == 0
    (series,) = json.loads(file.read_text())["series"]
    assert (series["metric"], series["labels"]) == ("loss", {})
    assert series["step"] == [1, 2, 3, 3, 4]
    assert series["value"] == [3.0, "NaN", 0.1, 2.5, "Infinity"]
    assert series["superseded"] == [False, False, True, False, False]
    code, _, complaint = holter("export", "nothing", *where)
    assert code == 1
    assert "there is no run 'nothing'" in complaint
    code, _, complaint = holter("export", "a", "--metric", "los", *where)
    assert code == 1
    assert "a has no metric like 'los'" in complaint


@pytest.mark.parametrize(
    "command",
    [("db", "check"), ("db", "backup", "b"), ("export", "a"), ("token", "list"), ("token", "revoke", "a")],
)
def test_a_mistyped_folder_is_no_empty_database(
    holter: Printed, tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, _, complaint = holter(*command, "--data-dir", tmp_path / "typo")
    assert code == 1
    assert "typo/holter.db does not exist: set --data-dir" in complaint
    assert not (tmp_path / "typo").exists()


def test_an_interrupt_while_a_command_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_main, "import_module", interrupted)
    assert cli_main.main(["serve"]) == 130
    assert capsys.readouterr().err == "holter: interrupted\n"
