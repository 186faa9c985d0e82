"""Brings a database to the tables of this version."""

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

from holter.server.database import why_away, writing
from holter.server.store.file_lock import exclusive_access

_LOCK = 0x486F6C746572  # "Holter": one server migrates at a time


class TablesError(ValueError):
    """The tables cannot be brought to this version; they are as they were."""


def upgrade(engine: Engine, revision: str = "head", *, sole: bool = False) -> None:
    """Apply what is missing, in one transaction: ended at any moment, it has changed nothing.

    `sole`: nobody else has the file, which is otherwise made sure of. Raises TablesError, StoreLockedError,
    or SQLAlchemyError where the database is away.
    """
    try:
        with ExitStack() as held, writing(engine) as connection:
            _alone(connection)
            config = _config(connection)
            if is_at(connection, config, revision):
                return
            if not sole:  # not under a server that knows the old ones
                held.enter_context(exclusive_access(engine))
            command.upgrade(config, revision)
    except CommandError as error:
        raise TablesError("the tables were made by a newer Holter: update this one") from error
    except DBAPIError as error:
        if why_away(error):
            raise
        said = str(error.orig).strip().splitlines()[0]
        raise TablesError(
            f"the tables could not be brought to this version, and are as they were: {said}"
        ) from error


def is_at(connection: Connection, config: Config, revision: str) -> bool:
    """Whether the tables are those of a revision."""
    script = ScriptDirectory.from_config(config)
    wanted = script.get_current_head() if revision == "head" else revision
    return MigrationContext.configure(connection).get_current_revision() == wanted


def downgrade(engine: Engine, revision: str) -> None:
    """Go back to a revision ("base": no tables at all), in one transaction."""
    with writing(engine) as connection:
        _alone(connection)
        command.downgrade(_config(connection), revision)


def check(engine: Engine) -> None:
    """Raises alembic's CommandError where the database differs from the models."""
    with writing(engine) as connection:
        command.check(_config(connection))


def migrations() -> Path:
    """The folder of the migrations: in an installed package, else in a checkout."""
    here = Path(__file__)
    candidates = (here.parents[1] / "migrations", here.resolve().parents[1] / "alembic")
    # by its env.py: a folder named alembic may be the library's own
    found = next((folder for folder in candidates if (folder / "env.py").is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no migrations in {' or '.join(map(str, candidates))}")
    return found


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _alone(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
