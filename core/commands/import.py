"""`holter import`: files that `holter export` wrote, back into the store."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from holter.commands.db import add_database_flags, on_database
from holter.commands.serve import refuse
from holter.server.exchange import ImportRefusedError, MissingPyarrowError, import_file
from holter.server.store import Store, StoreLockedError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which files, and what to call their runs."""
    parser.add_argument("file", type=Path, nargs="+", metavar="FILE", help="Parquet, Arrow, JSON or CSV")
    parser.add_argument("--project", help="default: as the file says, else default")
    parser.add_argument("--run", help="name of the run; default: as the file says, else the file's name")
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Each file is a run. Exit code 1: a file could not be imported; those before it are."""
    if arguments.run is not None and len(arguments.file) > 1:
        return refuse("--run names one run: import one file at a time with it")
    with on_database(arguments, make=True) as (engine, _):
        store = Store(engine)
        try:
            store.start()
        except StoreLockedError as error:
            return refuse(str(error))
        try:
            for path in arguments.file:
                done = import_file(
                    engine, store, path, project=arguments.project, run=arguments.run, clock=time.time
                )
                said = "was imported before" if done.duplicate else f"{done.points} points"
                print(f"{path}: {said}, run {done.public_id}  {done.project}/{done.run}")
        except (ImportRefusedError, MissingPyarrowError) as error:
            return refuse(str(error))
        finally:
            store.close()
    return 0
