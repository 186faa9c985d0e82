"""`holter db`: upgrade, back up, restore or check the database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from holter.commands.serve import refuse
from holter.server.backup import BackupError, back_up, restore
from holter.server.database import connect, is_missing
from holter.server.migrate import upgrade
from holter.server.parts import make_folder
from holter.server.store import Store
from holter.settings import Settings, SettingsError, load


def add_database_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say which database is meant."""
    parser.add_argument("--data-dir", type=Path, help="folder of the database file")
    parser.add_argument("--database-url", help="e.g. postgresql+psycopg://user:password@host/database")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One action each."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    upgrading = actions.add_parser(
        "upgrade", help="bring the tables to this version (a server does it itself)"
    )
    backing_up = actions.add_parser("backup", help="write everything to one file, also while a server runs")
    backing_up.add_argument("file", type=Path)
    restoring = actions.add_parser("restore", help="read a backup into an empty database, of either kind")
    restoring.add_argument("file", type=Path)
    checking = actions.add_parser("check", help="read everything and compare checksums and counts")
    for action in (upgrading, backing_up, restoring, checking):
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: it could not be done, or the check found something."""
    migrate = arguments.action in {"upgrade", "check"}
    make = arguments.action in {"upgrade", "restore"}
    with on_database(arguments, migrate=migrate, make=make) as (engine, settings):
        try:
            if arguments.action == "backup":
                rows = back_up(engine, arguments.file)
                print(f"{arguments.file}: {rows} rows, {arguments.file.stat().st_size / 1e6:.1f} MB")
            elif arguments.action == "restore":
                print(f"{restore(engine, arguments.file)} rows restored from {arguments.file}")
            elif arguments.action == "check":
                return _check(engine)
            else:
                print(f"{_shown(settings)} is up to date")
        except BackupError as error:
            return refuse(str(error))
    return 0


def _check(engine: Engine) -> int:
    problems = Store(engine).check()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "every checksum and count holds")
    return 1 if problems else 0


@contextmanager
def on_database(
    arguments: argparse.Namespace, *, migrate: bool = True, make: bool = False
) -> Iterator[tuple[Engine, Settings]]:
    """The database that flags and settings mean. Exits with code 1 and a sentence where it cannot be used.

    `make`: a file that is not there is made, where it would otherwise be a mistyped folder.
    """
    try:
        settings = load({"data_dir": arguments.data_dir, "database_url": arguments.database_url})
        if not make and is_missing(settings.database):
            sys.exit(refuse(f"{_shown(settings)} is not there: say where with --data-dir or --database-url"))
        make_folder(settings)
        engine = connect(settings.database)
    except (SettingsError, ValueError) as error:
        sys.exit(refuse(str(error)))
    try:
        if migrate:
            upgrade(engine)
        yield engine, settings
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        sys.exit(refuse(f"{_shown(settings)} cannot be used: {said}"))
    finally:
        engine.dispose()


def _shown(settings: Settings) -> str:
    return make_url(settings.database).render_as_string(hide_password=True)
