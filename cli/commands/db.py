"""`holter db`: backs up, copies, checks, downsamples and cleans up the database."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from holter.cli.commands import fail
from holter.cli.report.progress import progress
from holter.cli.secrets_in_arguments import TARGET_VARIABLE
from holter.plurals import counted
from holter.server.context import create_data_dir
from holter.server.database import connect, is_missing, without_password
from holter.server.maintenance.backup import BackupError, back_up, restore
from holter.server.maintenance.copy_database import CopyError, copy_database
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.find_run import RunLookupError, find_run
from holter.server.maintenance.retention import apply_retention
from holter.server.maintenance.vacuum import vacuum
from holter.server.migrate import MigrationError, upgrade
from holter.server.store import Store, StoreLockedError
from holter.settings import Settings, SettingsError, load
from holter.terminal_text import printable

Action = Callable[[argparse.Namespace, Engine, Settings], int]


def add_database_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that select the database."""
    parser.add_argument("--data-dir", type=Path, help="folder of the database file")
    parser.add_argument(
        "--database-url",
        help="e.g. postgresql+psycopg://user@host/database; with a password: use HOLTER_DATABASE_URL",
    )
    parser.add_argument(
        "--database-url-file", type=Path, metavar="FILE", help="file that contains the database's address"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One subcommand per action."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("upgrade", help="upgrade the tables to this version (a server does it at its start)")
    backing_up = actions.add_parser("backup", help="write the database to one file; a server may be running")
    backing_up.add_argument("file", type=Path)
    restoring = actions.add_parser(
        "restore", help="load a backup into an empty database (SQLite or PostgreSQL)"
    )
    restoring.add_argument("file", type=Path)
    moving = actions.add_parser("move", help="copy everything into an empty database (SQLite or PostgreSQL)")
    moving.add_argument(
        "--to",
        metavar="URL",
        help=f"the empty database, e.g. postgresql+psycopg://…; with a password: use {TARGET_VARIABLE}",
    )
    moving.add_argument("--to-file", type=Path, metavar="FILE", help="file that contains its address")
    actions.add_parser("check", help="read everything and verify checksums and counts")
    thin = actions.add_parser("thin", help="apply the retention settings now: downsample and delete old runs")
    thin.add_argument("--dry-run", action="store_true", help="only print what would be done")
    deleting = actions.add_parser("delete", help="delete a run and all its data")
    deleting.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME")
    vacuuming = actions.add_parser("vacuum", help="return free space to the file system")
    vacuuming.add_argument(
        "--full", action="store_true", help="rewrite the whole database; blocks everything else meanwhile"
    )
    for action in actions.choices.values():
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: the action failed, or the check found problems."""
    migrate = arguments.action not in {"backup", "restore", "move"}
    create = arguments.action in {"upgrade", "restore"}
    with on_database(arguments, migrate=migrate, create=create) as (engine, settings):
        try:
            return _ACTIONS[arguments.action](arguments, engine, settings)
        except (BackupError, CopyError, RunLookupError) as error:
            return fail(str(error))


def _upgrade(_: argparse.Namespace, __: Engine, settings: Settings) -> int:
    print(f"{without_password(settings.database)} is up to date")
    return 0


def _back_up(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("backing up", "rows") as on_progress:
        rows = back_up(engine, arguments.file, on_progress=on_progress)
    print(f"{arguments.file}: {rows} rows, {arguments.file.stat().st_size / 1e6:.1f} MB")
    return 0


def _restore(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("restoring", "rows") as on_progress:
        rows = restore(engine, arguments.file, on_progress=on_progress)
    print(f"{rows} rows restored from {arguments.file}")
    return 0


def _copy(arguments: argparse.Namespace, engine: Engine, settings: Settings) -> int:
    address = arguments.to or (None if arguments.to_file else os.environ.get(TARGET_VARIABLE))
    if bool(address) == bool(arguments.to_file):
        return fail(f"expected the empty database's address as one of --to, --to-file, {TARGET_VARIABLE}")
    try:
        target_settings = load({"database_url": address, "database_url_file": arguments.to_file})
        target = connect(target_settings.database)
    except (SettingsError, ValueError) as error:
        return fail(f"--to: {str(error).rpartition('database_url: ')[2]}")
    shown = without_password(target_settings.database)
    if target.url == engine.url:
        return fail(f"{shown} is the database that is copied from")
    try:
        with progress("copying, then reading back", "rows") as on_progress:
            counts = copy_database(engine, target, on_progress=on_progress)
    except SQLAlchemyError as error:
        return fail(f"{shown} cannot be used: {_first_line(error)}")
    finally:
        target.dispose()
    for table, rows in counts.items():
        print(f"{table:<16}{rows:>12}")
    total = sum(counts.values())
    print(f"{total} rows copied to {shown}; every row, checksum and count verified")
    source = without_password(settings.database)
    print(f"{source} is unchanged: set database_url to the new address, then remove it")
    return 0


def _check(_: argparse.Namespace, engine: Engine, __: Settings) -> int:
    with progress("checking"):
        problems = Store(engine).check()
    for problem in problems:
        print(printable(problem))
    print(counted(len(problems), "problem") if problems else "every checksum and count is correct")
    return 1 if problems else 0


def _thin(arguments: argparse.Namespace, engine: Engine, settings: Settings) -> int:
    any_outcome = False
    apply = not arguments.dry_run
    for outcome in apply_retention(
        engine, lambda name: settings.project(name).retention, time.time(), apply=apply
    ):
        any_outcome = True
        would = "" if apply or outcome.problem else "would be: "
        run = f"{outcome.run.public_id}  {outcome.run.project}/{outcome.run.name}"
        print(printable(f"{run}: {would}{outcome.description}"))
    if not any_outcome:
        print("nothing to do: no run exceeds the retention settings, or it was downsampled within a day")
    return 0


def _delete(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    found = find_run(engine, arguments.run)
    delete_run(engine, found.id, time.time())
    purge(engine)
    print(printable(f"{found} and all its data are deleted"))
    return 0


def _vacuum(arguments: argparse.Namespace, engine: Engine, _: Settings) -> int:
    with progress("vacuuming"):
        sizes = vacuum(engine, full=arguments.full)
    print(f"{sizes.before:,} bytes before, {sizes.after:,} after")
    return 0


_ACTIONS: Mapping[str, Action] = {
    "upgrade": _upgrade,
    "backup": _back_up,
    "restore": _restore,
    "move": _copy,
    "check": _check,
    "thin": _thin,
    "delete": _delete,
    "vacuum": _vacuum,
}


@contextmanager
def on_database(
    arguments: argparse.Namespace, *, migrate: bool = True, create: bool = False
) -> Iterator[tuple[Engine, Settings]]:
    """Open the database of the flags and settings. Exits with code 1 and a message where it cannot be used.

    `create`: create a missing database file; otherwise a missing file is an error, such as a mistyped folder.
    """
    try:
        flags = ("data_dir", "database_url", "database_url_file")
        settings = load({name: getattr(arguments, name) for name in flags})
        if not create and is_missing(settings.database):
            sys.exit(
                fail(
                    f"{without_password(settings.database)} does not exist: set --data-dir or --database-url"
                )
            )
        create_data_dir(settings)
        engine = connect(settings.database)
    except (SettingsError, ValueError) as error:
        sys.exit(fail(str(error)))
    try:
        if migrate:
            upgrade(engine)
        yield engine, settings
    except SQLAlchemyError as error:
        sys.exit(fail(f"{without_password(settings.database)} cannot be used: {_first_line(error)}"))
    except (MigrationError, StoreLockedError) as error:
        sys.exit(fail(f"{without_password(settings.database)}: {error}"))
    finally:
        engine.dispose()


def _first_line(error: SQLAlchemyError) -> str:
    """The first line of the database driver's message."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
