"""Lanes of tests (markers), and real databases: a SQLite file and a PostgreSQL server, both migrated."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import ssl
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default as transports
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from sqlalchemy import Engine

from holter.server.database import connect
from holter.server.migrate import upgrade
from holter.server.store import Store
from tests.support.postgresql import Postgres, postgres
from tests.support.postgresql_databases import Databases
from tests.support.postgresql_relay import Relay, relayed
from tests.support.requirements import list_missing
from tests.support.unsynced_sqlite import skip_waiting_for_disk


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGTERM end the tests as Ctrl-C does: fixtures still stop servers and unmount disks."""
    os.environ.setdefault("HOLTER_ENVIRONMENT", "0")  # of this machine: tests of it pass one of their own
    _set_up_hypothesis(is_exploring=config.getoption("--hypothesis-profile", None) == "exploring")
    _load_certificates_once()
    skip_waiting_for_disk()
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _load_certificates_once() -> None:
    """Let all clients of httpx share what they trust: each would load 140 certificates in 22 ms of processor
    time, which is most of what a request to a server of this machine costs, and of waiting for an answer."""
    create = transports.create_ssl_context

    @cache
    def trusting(trust_env: bool) -> ssl.SSLContext:
        return create(True, None, trust_env)

    def create_or_share(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        return trusting(trust_env) if verify is True and cert is None else create(verify, cert, trust_env)

    transports.create_ssl_context = create_or_share


def _set_up_hypothesis(*, is_exploring: bool) -> None:
    """Give a test the same examples each time: a change of something else must not bring a failure to light.

    `make explore` (`--hypothesis-profile=exploring`) looks for such failures.
    """
    # how long an input takes depends on what else the machine does
    settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    any_load = settings.get_profile("any load")
    settings.register_profile("repeatable", any_load, derandomize=True, database=None)
    settings.register_profile("exploring", any_load, derandomize=False, print_blob=True)
    settings.load_profile("repeatable")
    if not is_exploring:
        # otherwise numbers and texts of all modules that are imported by then are among the examples
        assert callable(providers._get_local_constants)
        providers._get_local_constants = Constants


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: thousands of tests stay, and it would go through all of them
    again and again, here and while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors, since many tests wait for other processes; four at most."""
    return min((os.cpu_count() or 1) + 1, 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use; files that take long first, so that no process has one left at the end."""
    _mark(items)
    lanes = ("browser", "postgresql", "slow")
    long = {item.path for item in items if any(item.get_closest_marker(lane) for lane in lanes)}
    number = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in long, -number[item.path]))


def _mark(items: list[pytest.Item]) -> None:
    """Mark tests that use a browser or PostgreSQL, by their fixtures and parameters."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)
        on_postgresql = any(isinstance(value, str) and value == "postgresql" for value in parameters)
        if on_postgresql or any(name.startswith("postgres_") for name in fixtures):
            item.add_marker(pytest.mark.postgresql)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was not tested, in red."""
    list_missing(terminalreporter)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Postgres]:
    """A PostgreSQL server of our own. Who stops it starts it again."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(postgres_cluster: Postgres) -> str:
    """The address of the PostgreSQL server."""
    return postgres_cluster.address


@pytest.fixture(scope="session")
def postgres_template(postgres_cluster: Postgres) -> str:
    """The name of a migrated database that others are copied from."""
    with postgres_cluster.connection() as connection:
        connection.execute("CREATE DATABASE migrated")
    engine = connect(postgres_cluster.url("migrated"))
    upgrade(engine)
    engine.dispose()
    return "migrated"


@pytest.fixture(scope="session")
def postgres_databases(postgres_cluster: Postgres, postgres_template: str) -> Databases:
    """The databases of the tests, which use them one after the other."""
    return Databases(postgres_cluster, postgres_template)


@pytest.fixture
def postgres_url(postgres_cluster: Postgres, postgres_databases: Databases) -> Iterator[str]:
    """The address of a migrated, empty PostgreSQL database."""
    name = postgres_databases.take()
    yield postgres_cluster.url(name)
    postgres_databases.give_back(name)


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


@pytest.fixture
def relay(postgres_url: str) -> Iterator[Relay]:
    """Something between client and database that counts, delays and cuts."""
    with relayed(postgres_url) as between:
        yield between


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
