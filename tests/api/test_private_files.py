"""Files that Holter writes can be read by their owner only, from the moment they exist."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.cli.agent.http_sink import write_atomically
from holter.cli.commands.agent import lock_folder
from holter.client import spool as spools
from holter.private_files import create_private_folder, restrict_to_owner
from holter.server import tokens
from holter.server.context import create_data_dir
from holter.server.database import connect, without_password
from holter.server.maintenance import backup
from holter.server.models import Token
from holter.settings import Settings
from holter.settings.settings import default_data_dir
from tests.support.servers import Printed, Serve
from tests.support.stored_runs import LOSS, delivery, points_of, run_id_of, running_store


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    """No help from the environment."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def observed_modes(tmp_path: Path) -> Iterator[set[tuple[str, int]]]:
    """Files that others could read at any moment; a thread observes them all the time."""
    stop, wide = threading.Event(), set[tuple[str, int]]()

    def observe() -> None:
        while not stop.is_set():
            for folder, _, names in os.walk(tmp_path / "observed"):
                for name in names:
                    try:
                        bits = os.stat(os.path.join(folder, name)).st_mode & 0o777
                    except FileNotFoundError:
                        continue
                    if bits & 0o077:
                        wide.add((name, bits))

    thread = threading.Thread(target=observe)
    thread.start()
    yield wide
    stop.set()
    thread.join()


def test_a_server_and_its_exports_and_backups_are_private(
    serve: Serve, holter: Printed, observed_modes: set[tuple[str, int]], tmp_path: Path
) -> None:
    data = tmp_path / "observed" / "data"
    with serve(Settings(data_dir=data, password="correct horse")) as (context, _):  # type: ignore[arg-type]
        context.store.accept(delivery(np.arange(9), {LOSS: np.ones(9)}, batch_id="0"))
        context.authenticator.create_session("correct horse")
        names = {path.name: mode(path) for path in data.iterdir()}
        assert {"holter.db", "holter.db-wal", "holter.db-shm", "holter.db.lock", "session.key"} <= set(names)
        assert set(names.values()) == {0o600}
        assert mode(data) == 0o700
        backup_file, export = tmp_path / "observed" / "a.backup", tmp_path / "observed" / "a.parquet"
        export.write_text("an earlier export")
        assert holter("db", "backup", backup_file, "--data-dir", data)[0] == 0
        export.chmod(0o600)
        assert holter("export", "llm/a", "--output", export, "--data-dir", data)[0] == 0
        assert (mode(backup_file), mode(export)) == (0o600, 0o600)
    observed_modes -= {("a.parquet", 0o666)}  # as the test itself wrote it
    assert observed_modes == set()


def test_files_of_earlier_versions_are_tightened_and_shared_folders_are_not(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    engine = connect(f"sqlite:///{shared / 'holter.db'}")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE a (b)")
        connection.commit()
        wal = shared / "holter.db-wal"
        for path in (shared / "holter.db", wal):
            path.chmod(0o644)
        create_data_dir(Settings(data_dir=shared))
        assert (mode(shared / "holter.db"), mode(wal), mode(shared)) == (0o600, 0o600, 0o755)
    engine.dispose()
    default = default_data_dir()
    default.mkdir(parents=True, mode=0o755)
    create_data_dir(Settings())
    assert mode(default) == 0o700


def test_links_and_files_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch(0o644)
    link.symlink_to(file)
    restrict_to_owner(link)
    restrict_to_owner(tmp_path / "missing")
    assert mode(file) == 0o644
    monkeypatch.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
    restrict_to_owner(file)
    assert mode(file) == 0o644
    monkeypatch.undo()
    restrict_to_owner(file)
    assert mode(file) == 0o600
    with pytest.raises(FileExistsError):
        create_private_folder(file)


def test_state_and_spools_of_agents_and_clients_are_private(tmp_path: Path) -> None:
    state = tmp_path / "state" / "0123"
    state.mkdir(parents=True, mode=0o755)
    with lock_folder(state) as locked:
        assert locked
        (state / "a.cursor.new").touch(0o666)  # left by an earlier version that was killed
        write_atomically(state / "a.cursor.json", b"{}")
        assert (mode(state), mode(state / "a.cursor.json"), mode(state / "lock")) == (0o700, 0o600, 0o600)
    spool = spools.create(tmp_path / "cache" / "spool", "host-1-a", {"run": "a"}, limit=10**6)
    assert spool.append(b"body")
    rejected = spool.reject(spool.next() or b"", "refused")
    assert mode(tmp_path / "cache" / "spool") == mode(spool.folder) == 0o700
    assert {mode(path) for path in spool.folder.iterdir()} == {0o600}
    assert rejected.parent == spool.folder
    spool.close()


def test_backups_have_no_tokens_and_those_of_earlier_versions_restore_theirs(
    sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(sqlite_engine) as session, session.begin():
        token = tokens.create(session, "job", now=0.0)
    with running_store(sqlite_engine) as store:
        store.accept(delivery(np.arange(9), {LOSS: np.ones(9)}, batch_id="0"))
    digest = tokens.digest(token)
    for name, omitted, expected in (("new", backup._OMITTED_TABLES, []), ("old", frozenset(), [digest])):
        monkeypatch.setattr(backup, "_OMITTED_TABLES", omitted)
        backup.back_up(sqlite_engine, tmp_path / f"{name}.backup")
        engine = connect(f"sqlite:///{tmp_path / name}.db")
        backup.restore(engine, tmp_path / f"{name}.backup")
        with Session(engine) as session:
            assert session.scalars(select(Token.digest)).all() == expected
        assert points_of(engine, run_id_of(engine, "a")) == points_of(
            sqlite_engine, run_id_of(sqlite_engine, "a")
        )
        assert mode(tmp_path / f"{name}.db") == 0o600
        engine.dispose()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://ana:hunter2@127.0.0.1:1/db",
        "postgresql://ana@127.0.0.1:1/db?password=hunter2&sslpassword=hunter2",
        "postgresql://ana:x@hunter2@127.0.0.1:1/db",
        "postgresql://ana:x/hunter2@127.0.0.1:1/db",
    ],
)
def test_a_password_in_the_address_of_the_database_is_not_printed(
    holter: Printed, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    output = without_password(address) + repr(Settings(database_url=address))
    for command in (("doctor", "--port", 0), ("db", "check"), ("db", "upgrade"), ("serve", "--port", 0)):
        code, printed, complaint = holter(*command, "--database-url", address)
        assert code == 1
        output += printed + complaint
    assert "hunter2" not in output + caplog.text
