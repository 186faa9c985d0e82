"""`holter db`: everything about the database and what it keeps."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from holter.cli.commands.serve import refuse
from holter.cli.report.progress import progress
from holter.server.context import create_data_dir
from holter.server.database import connect, is_missing
from holter.server.maintenance.backup import BackupError, back_up, restore
from holter.server.maintenance.copy_database import CopyError, copy_database
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.find_run import RunLookupError, find_run
from holter.server.maintenance.retention import apply_retention
from holter.server.maintenance.vacuum import vacuum
from holter.server.migrate import MigrationError, upgrade
from holter.server.store import Store, StoreLockedError
from holter.settings import Settings, SettingsError, load

Action = Callable[[argparse.Namespace, Engine, Settings], int]


def add_database_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say which database is meant."""
    parser.add_argument("--data-dir", type=Path, help="folder of the database file")
    parser.add_argument("--database-url", help="e.g. postgresql+psycopg://user:password@host/database")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One action each."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("upgrade", help="bring the tables to this version (a server does it itself)")
    backing_up = actions.add_parser("backup", help="write everything to one file, also while a server runs")
    backing_up.add_argument("file", type=Path)
    restoring = actions.add_parser("restore", help="read a backup into an empty database, of either kind")
    restoring.add_argument("file", type=Path)
    moving = actions.add_parser("move", help="copy everything into an empty database, of either kind")
    moving.add_argument("--to", metavar="URL", required=True, help="where to, e.g. postgresql+psycopg://…")
    actions.add_parser("check", help="read everything and compare checksums and counts")
    thinning = actions.add_parser("thin", help="thin and delete old runs now, as retention settings say")
    thinning.add_argument("--dry-run", action="store_true", help="only say what would be done")
    deleting = actions.add_parser("delete", help="delete a run with everything that belongs to it")
    deleting.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME")
    vacuuming = actions.add_parser("vacuum", help="give free space back to the disk")
    vacuuming.add_argument("--full", action="store_true", help="write all anew, while others wait")
    for action in actions.choices.values():
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: it could not be done, or the check found something."""
    migrate = arguments.action not in {"backup", "restore", "move"}
    make = arguments.action in {"upgrade", "restore"}
    with on_database(arguments, migrate=migrate, make=make) as (engine, settings):
        try:
            return _ACTIONS[arguments.action](arguments, engine, settings)
        except (BackupError, CopyError, RunLookupError) as error:
            return refuse(str(error))


def _upgrade(_: argparse.Namespace, __: Engine, settings: Settings) -> int:
    print(f"{_shown(settings.database)} is up to date")
    return 0


def _back_up(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("backing up", "rows") as told:
        rows = back_up(engine, arguments.file, on_progress=told)
    print(f"{arguments.file}: {rows} rows, {arguments.file.stat().st_size / 1e6:.1f} MB")
    return 0


def _restore(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("restoring", "rows") as told:
        rows = restore(engine, arguments.file, on_progress=told)
    print(f"{rows} rows restored from {arguments.file}")
    return 0


def _move(arguments: argparse.Namespace, engine: Engine, settings: Settings) -> int:
    try:
        target = connect(load({"database_url": arguments.to}).database)
    except (SettingsError, ValueError) as error:
        return refuse(f"--to: {str(error).rpartition('database_url: ')[2]}")
    if target.url == engine.url:
        return refuse(f"{_shown(arguments.to)} is where everything is already")
    try:
        with progress("copying, then reading back", "rows") as told:
            counts = copy_database(engine, target, on_progress=told)
    except SQLAlchemyError as error:
        return refuse(f"{_shown(arguments.to)} cannot be used: {_said(error)}")
    finally:
        target.dispose()
    for table, rows in counts.items():
        print(f"{table:<16}{rows:>12}")
    print(
        f"{sum(counts.values())} rows moved to {_shown(arguments.to)}; every row, checksum and count compared"
    )
    print(f"{_shown(settings.database)} is as it was: set database_url to the new address, then remove it")
    return 0


def _check(_: argparse.Namespace, engine: Engine, __: Settings) -> int:
    with progress("checking"):
        problems = Store(engine).check()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "every checksum and count holds")
    return 1 if problems else 0


def _thin(arguments: argparse.Namespace, engine: Engine, settings: Settings) -> int:
    nothing = True
    apply = not arguments.dry_run
    for kept in apply_retention(engine, lambda name: settings.project(name).retention, time.time(), apply=apply):
        nothing = False
        would = "" if apply or kept.problem else "would be: "
        print(f"{kept.run.public_id}  {kept.run.project}/{kept.run.name}: {would}{kept.description}")
    if nothing:
        print("nothing to do: nothing is older than retention settings allow, or it was thinned within a day")
    return 0


def _delete(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    one = find_run(engine, arguments.run)
    delete_run(engine, one.id, time.time())
    purge(engine)
    print(f"{one} is deleted, with everything that belonged to it")
    return 0


def _vacuum(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("making room"):
        sizes = vacuum(engine, full=arguments.full)
    print(f"{sizes.before:,} bytes before, {sizes.after:,} after")
    return 0


_ACTIONS: Mapping[str, Action] = {
    "upgrade": _upgrade,
    "backup": _back_up,
    "restore": _restore,
    "move": _move,
    "check": _check,
    "thin": _thin,
    "delete": _delete,
    "vacuum": _vacuum,
}


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
            where = _shown(settings.database)
            sys.exit(refuse(f"{where} is not there: say where with --data-dir or --database-url"))
        create_data_dir(settings)
        engine = connect(settings.database)
    except (SettingsError, ValueError) as error:
        sys.exit(refuse(str(error)))
    try:
        if migrate:
            upgrade(engine)
        yield engine, settings
    except SQLAlchemyError as error:
        sys.exit(refuse(f"{_shown(settings.database)} cannot be used: {_said(error)}"))
    except (MigrationError, StoreLockedError) as error:
        sys.exit(refuse(f"{_shown(settings.database)}: {error}"))
    finally:
        engine.dispose()


def _said(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def _shown(address: str) -> str:
    return make_url(address).render_as_string(hide_password=True)
