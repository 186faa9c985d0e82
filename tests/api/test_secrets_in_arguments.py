"""Passwords and tokens in arguments, and the variables and files that should have them instead."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from holter.cli.secrets_in_arguments import TARGET_VARIABLE, has_password, without_values
from holter.settings import Settings, SettingsError, load
from tests.support.servers import Printed
from tests.support.waiting import wait_for

SECRET = "correct-horse"


def test_only_the_values_and_their_flags_are_left_out() -> None:
    command = ["python", "-m", "holter", "db", "move", "--to", "U", "--database-url=V", "--verbose"]
    assert without_values(command, {"U", "V"}) == ["python", "-m", "holter", "db", "move", "--verbose"]
    assert without_values(["holter", "export", "U"], {"U"}) is None  # it is no flag's value
    assert without_values(["holter", "--to", "U"], set()) == ["holter", "--to", "U"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql+psycopg://u:p@host/db", True),
        ("postgresql://host/db?user=u&password=p", True),
        ("postgresql+psycopg://u@host/db?sslmode=require", False),
        ("sqlite:////tmp/a.db", False),
        ("postgresql://[", False),
    ],
)
def test_addresses_with_passwords_are_recognised(url: str, expected: bool) -> None:
    assert has_password(url) is expected


@pytest.mark.slow
def test_a_password_in_an_argument_is_hidden_from_the_list_of_processes(postgres_url: str) -> None:
    url = postgres_url.replace("postgres@", f"postgres:{SECRET}@")
    assert SECRET in url
    command = [sys.executable, "-m", "holter", "serve", "--database-url", url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert address
            wait_for(lambda: httpx.get(f"{address[0]}/readyz", timeout=60).is_success)
            arguments = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
            assert SECRET not in "".join(arguments)
            assert arguments[-3:-1] == ["--port", "0"]
        finally:
            process.terminate()
        complaint = process.stderr.read()
    assert "use HOLTER_DATABASE_URL, or a file (--database-url-file, --to-file)" in complaint
    assert SECRET not in complaint


@pytest.mark.slow
def test_a_server_that_is_told_to_stop_right_after_its_greeting_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holter", "serve", "--data-dir", str(tmp_path / "data"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.terminate()
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_the_address_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "address"
    file.write_text("sqlite:////tmp/of-file.db\n")
    assert load({"database_url_file": file}).database == "sqlite:////tmp/of-file.db"
    monkeypatch.setenv("HOLTER_DATABASE_URL", "sqlite:////tmp/of-variable.db")
    assert load({"database_url_file": file}).database == "sqlite:////tmp/of-file.db"
    monkeypatch.setenv("HOLTER_DATABASE_URL_FILE", str(file))
    assert load({"database_url": "sqlite:////tmp/of-flag.db"}).database == "sqlite:////tmp/of-flag.db"
    with pytest.raises(SettingsError, match="one of database_url and database_url_file, not both"):
        load()
    monkeypatch.delenv("HOLTER_DATABASE_URL")
    assert Settings().database == "sqlite:////tmp/of-file.db"
    monkeypatch.setenv("HOLTER_DATABASE_URL_FILE", str(tmp_path / "missing"))
    with pytest.raises(SettingsError, match=r"missing cannot be read: No such file"):
        load()


def test_the_target_of_a_move_may_come_from_a_variable_or_a_file(
    holter: Printed, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "address"
    file.write_text(f"sqlite:///{tmp_path / 'one.db'}\n")
    monkeypatch.setenv("HOLTER_DATABASE_URL", sqlite_url)
    assert "as one of --to, --to-file" in holter("db", "move")[2]
    assert "as one of --to, --to-file" in holter("db", "move", "--to", "sqlite:///x", "--to-file", file)[2]
    assert holter("db", "move", "--to-file", file)[0] == 0
    monkeypatch.setenv(TARGET_VARIABLE, f"sqlite:///{tmp_path / 'two.db'}")
    assert holter("db", "move")[0] == 0
    assert (tmp_path / "one.db").exists()
    assert (tmp_path / "two.db").exists()
