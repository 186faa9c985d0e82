"""Opening a database by its address: SQLite or PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL

from holter.server.database.sqlite import sqlite_engine

# a host that is gone says nothing: without these a connection to it would wait for a quarter of an hour
_NO_WAITING_FOR_THE_DEAD = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+holter")
registry.register("postgresql.holter", "holter.server.database.postgresql", "Dialect")


def is_missing(url: str) -> bool:
    """Whether a URL names a SQLite file that is not there yet."""
    address = make_url(url)
    return address.get_backend_name() == "sqlite" and not Path(address.database or "").exists()


def connect(url: str | URL) -> Engine:
    """An engine for a database address; `postgresql://` means the psycopg driver. Opens no connection yet.

    Raises ValueError for other databases, PlaceError for a SQLite file that cannot be used where it lies.
    """
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        return sqlite_engine(address, as_json=_as_json)
    if address.drivername not in _POSTGRESQL:
        raise ValueError(f"database {address.drivername!r}: use sqlite:///FILE or postgresql+psycopg://…")
    # what the address says itself comes first
    line = {name: value for name, value in _NO_WAITING_FOR_THE_DEAD.items() if name not in address.query}
    return create_engine(
        address.set(drivername="postgresql+holter"),
        use_native_hstore=False,  # else each engine asks for that type
        pool_size=10,
        max_overflow=20,
        pool_pre_ping=True,
        json_serializer=_as_json,
        connect_args=line,
    )


def _as_json(value: Any) -> str:
    """JSON as the standard library has it, ten times as fast where the values are the usual ones."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return json.dumps(value)
