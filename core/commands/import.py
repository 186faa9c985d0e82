"""`holter import`: files that `holter export` wrote, and the runs that another tracker keeps."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import Engine

from holter.commands.db import add_database_flags, on_database
from holter.commands.serve import refuse
from holter.ingest.imports import collection_at
from holter.ingest.imports.collection import Collection, CollectionError
from holter.server.exchange import ImportRefusedError, MissingPyarrowError, import_file
from holter.server.exchange.collections import Taken, import_collection
from holter.server.store import Store, StoreLockedError

_TOLD = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which files, and what to call their runs."""
    parser.add_argument(
        "path",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="a file of holter export (Parquet, Arrow, JSON, CSV); MLflow's mlflow.db or mlruns; a trackio "
        "database or the folder of them; what neptune-exporter wrote; a CSV export of W&B's page",
    )
    parser.add_argument("--project", help="default: as the source says, else default")
    parser.add_argument("--run", help="name of the run, for a file that holds one; default: as the file says")
    parser.add_argument(
        "--dry-run", action="store_true", help="read another tracker's runs and say what would be taken"
    )
    parser.add_argument(
        "--keep-private", action="store_true", help="take settings that name people, machines, secrets, too"
    )
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """One PATH after the other. Exit code 1: one could not be imported; those before it are."""
    if arguments.run is not None and len(arguments.path) > 1:
        return refuse("--run names one run: import one file at a time with it")
    found = {path: collection_at(path) for path in arguments.path}
    for path, collection in found.items():
        if collection is None and not path.exists():
            return refuse(f"{path}: no such file or folder")
        if collection is None and path.is_dir():
            return refuse(f"{path}: no runs of MLflow, trackio or Neptune there (docs/import.md)")
        if collection is None and arguments.dry_run:
            return refuse(
                f"{path}: no runs of another tracker there, and --dry-run is for those (docs/import.md)"
            )
        if collection is not None and arguments.run is not None:
            return refuse(f"{path}: its runs have names; --run is for a file that holds one run")
    if arguments.dry_run:
        return max(_take(arguments, path, one, None) for path, one in found.items() if one is not None)
    with on_database(arguments, make=True) as (engine, _):
        store = Store(engine)
        try:
            store.start()
        except StoreLockedError as error:
            return refuse(str(error))
        try:
            return max(_import(arguments, path, one, engine, store) for path, one in found.items())
        except (ImportRefusedError, MissingPyarrowError) as error:
            return refuse(str(error))
        finally:
            store.close()


def _import(
    arguments: argparse.Namespace, path: Path, collection: Collection | None, engine: Engine, store: Store
) -> int:
    if collection is not None:
        return _take(arguments, path, collection, (engine, store))
    done = import_file(engine, store, path, project=arguments.project, run=arguments.run, clock=time.time)
    said = "was imported before" if done.duplicate else f"{done.points} points"
    print(f"{path}: {said}, run {done.public_id}  {done.project}/{done.run}")
    return 0


def _take(
    arguments: argparse.Namespace, path: Path, collection: Collection, into: tuple[Engine, Store] | None
) -> int:
    """A line a run, what was left out below it, and the sum."""
    everything: list[Taken] = []
    try:
        runs = import_collection(
            collection, path, into, project=arguments.project, private=arguments.keep_private
        )
        for taken in runs:
            everything.append(taken)
            _tell(taken, dry=into is None)
    except (CollectionError, OSError) as error:
        return refuse(str(error))
    there = [taken for taken in everything if not taken.why_not]
    new, known = sum(taken.points for taken in there), sum(taken.known for taken in there)
    verb = "would be taken" if into is None else "taken"
    told = f"{path} ({collection.name}): {_count(len(there), 'run')}, {_count(new, 'point')} {verb}"
    told += f", {_count(known, 'point')} there before" if known else ""
    print(
        told
        + (f"; {_count(len(everything) - len(there), 'run')} not" if len(there) < len(everything) else "")
    )
    return 0 if there else 1


def _tell(taken: Taken, *, dry: bool) -> None:
    name = f"{taken.project}/{taken.run}"
    if taken.why_not:
        print(f"  not taken: {name}: {taken.why_not}")
        return
    new = f"{_count(taken.points, 'point')}" if taken.points or not taken.known else "nothing new"
    launches = f", {taken.attempts} attempts" if taken.attempts > 1 else ""
    place = "" if dry else f"run {taken.public_id}  "
    print(f"  {place}{name}: {new}, {taken.series} series{launches}")
    for unreadable in taken.left_out[:_TOLD]:
        print(f"    {unreadable.place}: {unreadable.reason}")
    if len(taken.left_out) > _TOLD:
        print(f"    {len(taken.left_out) - _TOLD} more places like these")
    if taken.private:
        names = ", ".join(list(Counter(taken.private))[:_TOLD])
        print(f"    not taken, since they may name people, machines or secrets: {names} (--keep-private)")


def _count(number: int, thing: str) -> str:
    plural = thing if thing == "series" or number == 1 else f"{thing}s"
    return f"{number:,} {plural}"
