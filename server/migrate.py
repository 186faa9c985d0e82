"""Upgrades a database to the tables of this version."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from holter.server.database import unavailable_reason, writing
from holter.server.store.file_lock import exclusive_access

_LOCK = 0x486F6C746572  # key of the advisory lock: one server migrates at a time


class MigrationError(ValueError):
    """The tables cannot be upgraded; they are unchanged."""


def upgrade(engine: Engine, revision: str = "head", *, exclusive: bool = False) -> None:
    """Apply missing migrations in one transaction; an interruption at any moment changes nothing.

    `exclusive`: the caller holds the file lock, which is otherwise taken. Raises MigrationError,
    StoreLockedError, or SQLAlchemyError where the database is unavailable.
    """
    try:
        with ExitStack() as stack, writing(engine) as connection:
            _lock_migrations(connection)
            config = _config(connection)
            if is_at(connection, config, revision):
                return
            if not exclusive:  # a running server expects the old tables
                stack.enter_context(exclusive_access(engine))
            command.upgrade(config, revision)
    except CommandError as error:
        raise MigrationError("the tables were created by a newer Holter: update this one") from error
    except DBAPIError as error:
        if unavailable_reason(error):
            raise
        reason = str(error.orig).strip().splitlines()[0]
        raise MigrationError(
            f"the tables could not be upgraded to this version, and are unchanged: {reason}"
        ) from error


def is_at(connection: Connection, config: Config, revision: str) -> bool:
    """Whether the tables are those of a revision."""
    script = ScriptDirectory.from_config(config)
    wanted = script.get_current_head() if revision == "head" else revision
    return MigrationContext.configure(connection).get_current_revision() == wanted


def downgrade(engine: Engine, revision: str) -> None:
    """Downgrade to a revision ("base": no tables at all) in one transaction."""
    with writing(engine) as connection:
        _lock_migrations(connection)
        command.downgrade(_config(connection), revision)


def check(engine: Engine) -> None:
    """Raise alembic's CommandError where the database differs from the models."""
    with writing(engine) as connection:
        command.check(_config(connection))


def migrations() -> Path:
    """Return the folder of the migrations: of the installed package, else of the checkout."""
    module_path = Path(__file__)
    candidates = (module_path.parents[1] / "migrations", module_path.resolve().parents[1] / "alembic")
    # identified by env.py: a folder named alembic may be the library's own
    folder_path = next((folder for folder in candidates if (folder / "env.py").is_file()), None)
    if folder_path is None:
        raise FileNotFoundError(f"no migrations in {' or '.join(map(str, candidates))}")
    return folder_path


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _lock_migrations(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
