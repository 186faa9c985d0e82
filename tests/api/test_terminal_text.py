"""Names and lines of others on a terminal: no control characters, overrides or lines of their own."""

from __future__ import annotations

import io
import json
import logging
import math
import re
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from holter.cli.agent import files, stdin
from holter.cli.commands.watch import PrintingSink, incident_printer
from holter.cli.demo.narrator import describe_change
from holter.client.notices import Notices
from holter.terminal_text import TerminalFormatter, printable, printable_lines
from holter.types import Unreadable
from tests.support.receivers import make_incident
from tests.support.servers import Printed
from tests.support.stored_runs import LOSS, delivery, running_store

HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202eb\u2066c\u2028d\r\x00\nok     access: forged"
"""Clears the screen, sets the title, colours, overrides the direction, and begins a line of its own."""
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def assert_safe(text: str) -> None:
    assert not UNSAFE.findall(text)
    assert not [line for line in text.splitlines() if line.startswith("ok     access: forged")]


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder whose names of files, runs, metrics and labels, and whose texts are hostile."""
    folder = tmp_path / "logs" / HOSTILE.replace("\0", "").replace("/", "")
    folder.mkdir(parents=True)
    rows = [{"step": step, HOSTILE: 2.0, "loss": 2.0 if step < 300 else math.nan} for step in range(400)]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    name = HOSTILE.replace("\0", "").replace("/", "")
    (folder / f"{name}.jsonl").write_text(lines + f'{{"step": "{HOSTILE}"\n', encoding="utf-8", newline="")
    (folder / f"{name}.txt").write_text(HOSTILE * 20, newline="")
    (folder / "\udcff.log").write_text(f"at=1 {HOSTILE} 1.5 ok\n" * 50, newline="")
    (folder / "config.json").write_text(json.dumps({HOSTILE: HOSTILE}))
    return folder.parent


def test_escapes_are_visible_and_ordinary_text_stays() -> None:
    assert (
        printable("Grad-Norm µ/s \u00fc \u4e2d \U0001f600 a=1")
        == "Grad-Norm µ/s \u00fc \u4e2d \U0001f600 a=1"
    )
    assert printable("a\u00a0b\x1b\u202e\n\udcff") == r"a b\x1b\u202e\n\udcff"
    assert printable_lines("a\x1b\nb\r") == "a\\x1b\nb\\r"
    assert_safe(printable(HOSTILE))


def test_doctor_and_analyze_print_foreign_text_safely(
    holter: Printed, hostile_folder: Path, tmp_path: Path
) -> None:
    _, printed, complaint = holter("doctor", hostile_folder, "--port", 0, "--data-dir", tmp_path / "data")
    assert "path " in printed
    assert r"\x1b" in printed
    assert_safe(printed + complaint)
    code, printed, complaint = holter("analyze", hostile_folder)
    assert code == 0
    assert "NaN" in printed
    assert_safe(printed + complaint)


def test_commands_on_the_database_print_foreign_text_safely(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path
) -> None:
    name = HOSTILE.replace("\0", "")
    with running_store(sqlite_engine) as store:
        store.accept(delivery(np.arange(3), {LOSS: np.ones(3)}, batch_id="0", run=name))
    output = ""
    for command in (
        ("export", f"llm/{name}", "--output", tmp_path / "a.json"),
        ("import", tmp_path / "a.json", "--run", f"{name}2"),
        ("import", "--dry-run", tmp_path / "a.json"),
        ("db", "check"),
        ("db", "delete", f"llm/{name}"),
        ("db", "delete", f"llm/{name}"),
    ):
        address = () if "--dry-run" in command else ("--database-url", sqlite_url)
        _, printed, complaint = holter(*command, *address)
        output += printed + complaint
    assert "are deleted" in output
    assert_safe(output)


def test_watch_and_the_demo_print_incidents_and_locations_safely(
    sqlite_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    incident = make_incident(run=HOSTILE, summary=HOSTILE)
    incident_printer("http://h")(incident)
    name = HOSTILE.replace("\0", "")
    unreadable = Unreadable(source=name, location=name, reason=name, project="p", run="r")
    with running_store(sqlite_engine) as store:
        PrintingSink(store).report_unreadable(unreadable)
    printed, complaint = capsys.readouterr()
    assert printed.count("\n") == 2
    assert complaint.count("\n") == 1
    assert_safe(printed + complaint)
    row = {"kind": "spike_slow", "state": "open", "severity": "warning", "run": HOSTILE, "summary": HOSTILE}
    assert_safe(describe_change(row, None, 0.0))


def test_the_agent_and_the_log_print_foreign_text_safely(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    files.print_line(HOSTILE)
    stdin.print_line(HOSTILE)
    notices = Notices()
    notices.note("a", HOSTILE)
    notices.flush()
    assert_safe("".join(capsys.readouterr()) + caplog.text)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TerminalFormatter("%(levelname)s %(message)s"))
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        record = logging.LogRecord("x", 40, "", 1, "failed: %s", (error,), (ValueError, error, None))
    handler.handle(record)
    assert "failed" in stream.getvalue()
    assert not UNSAFE.findall(stream.getvalue())
