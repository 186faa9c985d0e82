"""Databases for measurements: a new one each time, so that no earlier data is compacted meanwhile."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sqlalchemy import make_url, text

from holter.server.database import connect
from holter.server.migrate import upgrade


@contextmanager
def temporary_database(server: str | None) -> Iterator[str]:
    """Yield the address of a new database with all tables, and remove the database afterwards.

    `server`: the address of any database of a PostgreSQL server where the user may create others; None: a
    SQLite file.
    """
    with tempfile.TemporaryDirectory() as folder:
        if server is None:
            yield _migrated(f"sqlite:///{Path(folder) / 'bench.db'}")
            return
    name = f"holter_bench_{uuid4().hex[:12]}"
    _execute(server, f"CREATE DATABASE {name}")
    try:
        yield _migrated(make_url(server).set(database=name).render_as_string(hide_password=False))
    finally:
        _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def _migrated(address: str) -> str:
    engine = connect(address)
    upgrade(engine)
    engine.dispose()
    return address


def _execute(server: str, statement: str) -> None:
    engine = connect(server)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(statement))
    engine.dispose()
