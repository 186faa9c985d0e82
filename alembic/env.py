"""Alembic's environment: uses the server's connection, or HOLTER_DATABASE_URL for developers."""

from __future__ import annotations

import os
from typing import Any

from alembic import context
from sqlalchemy import Connection

from holter.server.database import connect, writing
from holter.server.models import Base


def is_of_dialect(dialect: str, item: Any) -> bool:
    """Whether a part of a table exists on this kind of database: models mark an index of one kind only."""
    return bool(item.info.get("dialect", dialect) == dialect)


def migrate(connection: Connection) -> None:
    """Run the requested migrations over this connection."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite alters a table by copying it
        transactional_ddl=True,
        compare_server_default=True,
        include_object=lambda item, *_: is_of_dialect(connection.dialect.name, item),
    )
    with context.begin_transaction():
        context.run_migrations()


server_connection = context.config.attributes.get("connection")
if server_connection is not None:
    migrate(server_connection)
else:
    engine = connect(os.environ.get("HOLTER_DATABASE_URL", "sqlite:///holter.db"))
    with writing(engine) as connection:
        migrate(connection)
    engine.dispose()
