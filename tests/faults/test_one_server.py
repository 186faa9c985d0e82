"""One server per SQLite file: the second is told, whatever way it takes; after a kill the next starts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from holter.cli.main import main
from holter.server.database import WAL_BYTES, connect, writing
from holter.server.database.free_space import checkpoint
from holter.server.database.sqlite import DatabasePathError, check_path
from holter.server.store import Store, StoreLockedError
from tests.support.command_runner import CommandRunner
from tests.support.mounts import unmount
from tests.support.requirements import skip_missing

pytestmark = pytest.mark.slow


@pytest.fixture
def linked(sqlite_url: str, tmp_path: Path) -> list[str]:
    """Addresses of one file: its own, through a linked folder, a link to the file, and a detour."""
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    (tmp_path / "folder").symlink_to(file.parent)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link.db").symlink_to(file)
    names = [file.name, f"folder/{file.name}", "other/link.db", f"other/../{file.name}"]
    return [f"sqlite:///{tmp_path / name}" for name in names]


def test_a_second_server_is_refused_whatever_path_it_takes_until_the_first_is_gone(
    linked: list[str],
    command_runner: CommandRunner,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    linked.append("sqlite:///holter.db")
    command_runner.serve(linked[0])
    holder = command_runner.child
    for address in linked:
        assert main(["serve", "--port", "0", "--database-url", address]) == 1
        said = capsys.readouterr().err
        assert f"is in use by another Holter server (process {holder} on {socket.gethostname()})" in said
        assert "Traceback" not in said
    assert command_runner.answers("/readyz") == 200
    command_runner.end(signal.SIGKILL)
    for address in linked:
        command_runner.serve(address)
        assert command_runner.end(signal.SIGKILL) == -signal.SIGKILL
    assert main(["db", "check", "--database-url", linked[0]]) == 0


def test_lock_file_of_a_dead_server_is_ignored(sqlite_url: str) -> None:
    lock = Path(sqlite_url.removeprefix("sqlite:///") + ".lock")
    lock.write_text("4194304000 and what not")
    engine = connect(sqlite_url)
    store = Store(engine)
    store.start()
    assert lock.read_text() == f"{os.getpid()} on {socket.gethostname()}"
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()} on"):
        Store(engine).start()
    store.close()
    engine.dispose()


def test_write_ahead_log_of_a_linked_file_is_checkpointed(linked: list[str]) -> None:
    engine = connect(linked[2])
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE heap (blob BLOB)"))
        connection.execute(text(f"INSERT INTO heap VALUES (zeroblob({WAL_BYTES}))"))
    file = Path(linked[0].removeprefix("sqlite:///"))
    before = file.stat().st_size
    checkpoint(engine)
    assert file.stat().st_size > before + WAL_BYTES / 2
    engine.dispose()


def refused(*arguments: object, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that is refused in a sentence."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr().err
    assert code == 1
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["db", "check"]])
def test_database_file_with_a_hard_link_is_refused(
    sqlite_url: str, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "same.db"
    other.hardlink_to(sqlite_url.removeprefix("sqlite:///"))
    for address in (sqlite_url, f"sqlite:///{other}"):
        said = refused(*command, "--database-url", address, capsys=capsys)
        assert "a hard link" in said
    assert list(other.parent.iterdir()) == [other]
    other.unlink()
    assert main(["db", "check", "--database-url", sqlite_url]) == 0


def test_a_file_that_is_mounted_by_itself_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    file = tmp_path / "with space.db"
    Path(sqlite_url.removeprefix("sqlite:///")).rename(file)
    line = f"36 35 98:0 /a {str(file).replace(' ', chr(92) + '040')} rw,noatime - ext4 /dev/root rw"
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 0:21 / {tmp_path} rw - tmpfs tmpfs rw\nnonsense\n")
    check_path(file, mounts=table)
    table.write_text(f"{table.read_text()}{line}\n")
    with pytest.raises(DatabasePathError, match="mount the folder"):
        check_path(file, mounts=table)


@contextmanager
def mounted(source: Path, target: Path) -> Iterator[None]:
    """A folder seen at another place, where nothing can be written."""
    try:
        for arguments in (["--bind", source, target], ["-o", "remount,bind,ro", target]):
            done = subprocess.run(
                ["mount", *map(str, arguments)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                skip_missing(f"permission to mount: {done.stderr.strip()}", fails_in_ci=False)
        yield
    finally:
        unmount(target)


def test_read_only_folder_is_reported(
    sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "seen").mkdir()
    Path(sqlite_url.removeprefix("sqlite:///")).rename(tmp_path / "data" / "holter.db")
    with mounted(tmp_path / "data", tmp_path / "seen"):
        for command in (["serve", "--port", "0"], ["db", "check"]):
            said = refused(*command, "--data-dir", tmp_path / "seen", capsys=capsys)
            assert f"{tmp_path / 'seen'} is not writable" in said


def test_a_server_in_another_container_is_seen(
    sqlite_url: str, command_runner: CommandRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = ["unshare", "--pid", "--uts", "--fork", "--mount-proc", "--kill-child"]
    try:
        subprocess.run([*apart, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        skip_missing(f"permission to make namespaces: {error}", fails_in_ci=False)
    told = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    program = (
        "from holter.server.database import connect; from holter.server.store import Store\n"
        f"import socket, sys; socket.sethostname('node7'); Store(connect(sys.argv[1])).start(); {told}"
    )
    with subprocess.Popen(
        [*apart, sys.executable, "-c", program, sqlite_url],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        said = refused("serve", "--port", "0", "--database-url", sqlite_url, capsys=capsys)
        assert "in use by another Holter server (process 1 on node7)" in said
        other.kill()
    command_runner.serve(sqlite_url)


def test_migration_is_refused_while_a_server_runs(
    sqlite_url: str, command_runner: CommandRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    command_runner.serve(sqlite_url)
    engine = connect(sqlite_url)
    with writing(engine) as connection:  # as this server had them, before it was updated on the disk
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    for command in (["serve", "--port", "0"], ["db", "upgrade"], ["db", "check"]):
        said = refused(*command, "--database-url", sqlite_url, capsys=capsys)
        assert f"in use by another Holter server (process {command_runner.child} on" in said
    assert command_runner.answers("/readyz") == 200
    engine.dispose()
