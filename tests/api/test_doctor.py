"""`holter doctor`: what it checks and prints."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.models import RunRecord
from holter.server.models.alerting import AnalysisRow
from tests.support.servers import Printed, forked
from tests.support.stored_runs import some_run


@pytest.mark.slow
def test_doctor_checks_everything(holter: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n1,2.0\n")
    code, printed, _ = holter("doctor", tmp_path / "log.csv", "--port", 0, "--data-dir", tmp_path / "data")
    assert code == 0, printed
    assert "ok     database" in printed
    assert "1 csv of 1 file\n" in printed
    assert not (tmp_path / "data").exists(), "looking changes nothing"
    monkeypatch.setenv("HOLTER_SLACK_WEBHOOK_URL", "not an address")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, printed, _ = holter("doctor", tmp_path / "typo", "--port", port, "--host", "127.0.0.1")
    assert code == 1
    for name in ("channels", "port", f"path {tmp_path / 'typo'}"):
        assert f"wrong  {name}: " in printed
    assert "not an address" not in printed, "a mistyped secret is not printed"
    code, printed, _ = holter("doctor", "--port", 0, "--host", "0.0.0.0", "--data-dir", tmp_path)
    assert code == 1
    assert "wrong  access: set HOLTER_PASSWORD" in printed
    assert not (tmp_path / "holter.db").exists(), "looking changes nothing"


def test_in_a_narrow_terminal_lines_wrap_with_indentation(
    holter: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text(f"step,{','.join(f'metric_{n}' for n in range(9))}\n1{',1' * 9}\n")
    (tmp_path / "print.out").write_text(
        "".join(f"at={n} its_loss {1 / (n + 1):.4f} ok\n" for n in range(200))
    )
    asked = ("doctor", tmp_path, "--port", 0, "--data-dir", tmp_path / "data")
    wide = holter(*asked)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", holter(*asked)[1])
    assert narrow.split() == wide.split(), "nothing is left out"
    long = [line for line in narrow.splitlines() if len(line) > 80]
    assert all(len(line.split()) <= 2 or " = " in line for line in long), "paths and settings are not broken"
    assert max(map(len, wide.splitlines())) > 80, "elsewhere a line stays one"
    metrics = narrow[narrow.index("    metric_0") :].splitlines()
    assert re.match(r" {13}\S", metrics[1])


def test_doctor_knows_a_misspelt_variable(holter: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_TOKEN", "of a client")
    assert holter("doctor", "--port", 0)[0] == 0
    monkeypatch.setenv("HOLTER_PASWORD", "long enough")
    code, printed, _ = holter("doctor", "--port", 0)
    assert code == 1
    assert "wrong  settings: HOLTER_PASWORD" in printed


def test_doctor_reports_runs_whose_analysis_fails(holter: Printed, engine: Engine, tmp_path: Path) -> None:
    some_run(engine)
    address = engine.url.set(drivername=engine.url.drivername.replace("holter", "psycopg"))
    where = ("--port", 0, "--data-dir", tmp_path, "--database-url", address.render_as_string(False))
    assert "ok     analysis" in holter("doctor", *where)[1]
    with Session(engine) as session, session.begin():
        run_id = session.scalars(select(RunRecord.id)).one()
        session.add(
            AnalysisRow(run_id=run_id, seen_at=1, looked_at=1, cost=1, error="CorruptDataError: entry 1")
        )
    code, printed, _ = holter("doctor", *where)
    assert code == 1
    assert "wrong  analysis: the analysis of 1 run failed, for example llm/a (CorruptData" in printed


@pytest.mark.slow
def test_doctor_knows_a_running_holter_from_another_program(holter: Printed, tmp_path: Path) -> None:
    with forked("serve", "--data-dir", tmp_path / "data") as (_, address):
        code, printed, _ = holter("doctor", "--port", address.rpartition(":")[2])
    assert code == 0
    assert "Holter is running there" in printed
