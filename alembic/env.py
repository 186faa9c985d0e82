"""How Alembic reaches the tables: over the server's connection, or HOLTER_DATABASE_URL for developers."""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import Connection

from holter.server.database import connect, writing
from holter.server.models import Base


def migrate(connection: Connection) -> None:
    """Run what was asked for over this connection."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite alters a table by copying it
        transactional_ddl=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    engine = connect(os.environ.get("HOLTER_DATABASE_URL", "sqlite:///holter.db"))
    with writing(engine) as opened:
        migrate(opened)
    engine.dispose()
