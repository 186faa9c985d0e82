"""`holter import`: files that `holter export` wrote, and the runs that another tracker keeps."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holter.cli.commands.agent import address
from holter.cli.commands.db import add_database_flags, on_database
from holter.cli.commands.serve import refuse
from holter.cli.report.progress import progress
from holter.ingest.trackers import collection_at
from holter.ingest.trackers.base import Collection, CollectionError
from holter.plurals import counted
from holter.server.import_export import ImportContext, ImportRefusedError, MissingPyarrowError
from holter.server.import_export.import_file import inspect_file
from holter.server.import_export.import_targets import (
    HttpImportTarget,
    ImportRejectedError,
    LocalImportTarget,
    ServerAddress,
    ServerUnavailableError,
)
from holter.server.import_export.trackers import (
    RunImporter,
    TrackerImportResult,
    dry_run_importer,
    import_collection,
)
from holter.server.store import Store, StoreLockedError

_TOLD = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which files, what to call their runs, and where to."""
    parser.add_argument(
        "path",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="a file of holter export (Parquet, JSON, CSV); MLflow's mlflow.db or mlruns; a trackio "
        "database or the folder of them; what neptune-exporter wrote; a CSV export of W&B's page",
    )
    parser.add_argument("--project", help="default: as the source says, else default")
    parser.add_argument("--run", help="name of the run, for a file that holds one; default: as the file says")
    parser.add_argument("--dry-run", action="store_true", help="read everything and say what would be taken")
    parser.add_argument(
        "--keep-private", action="store_true", help="take settings that name people, machines, secrets, too"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server that takes them (default: whichever has the database, else the database itself)",
    )
    parser.add_argument(
        "--token", help="access token (better in HOLTER_TOKEN: others can read command lines)"
    )
    add_database_flags(parser)


def run(arguments: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """One PATH after the other. Exit code 1: one could not be imported; those before it are."""
    gc.freeze()  # else what is loaded is looked through for garbage with every portion of lines
    found = {path: collection_at(path) for path in arguments.path}
    if problem := _problem(arguments, found):
        return refuse(problem)
    try:
        if arguments.dry_run:
            return max(_look(arguments, path, one) for path, one in found.items())
        with _place(arguments, environ) as place:
            return max(_bring(arguments, path, one, place) for path, one in found.items())
    except (ImportRefusedError, MissingPyarrowError, ImportRejectedError, ServerUnavailableError) as error:
        return refuse(str(error))


def _problem(arguments: argparse.Namespace, found: Mapping[Path, Collection | None]) -> str | None:
    """Why this cannot be meant."""
    if arguments.run is not None and len(arguments.path) > 1:
        return "--run names one run: import one file at a time with it"
    if arguments.server is not None and (arguments.database_url or arguments.data_dir):
        return "--server says where to: --database-url and --data-dir do not go with it"
    if arguments.server is not None and not address(arguments.server):
        return f"--server {arguments.server}: expected http://HOST or https://HOST, with :PORT if any"
    for path, collection in found.items():
        if collection is None and not path.exists():
            return f"{path}: no such file or folder"
        if collection is None and path.is_dir():
            return f"{path}: no runs of MLflow, trackio or Neptune there (docs/import.md)"
        if collection is not None and arguments.run is not None:
            return f"{path}: its runs have names; --run is for a file that holds one run"
    return None


@contextmanager
def _place(
    arguments: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[LocalImportTarget | HttpImportTarget]:
    """Where the runs go: a server that was named or has the database, else the database itself."""
    token = arguments.token or environ.get("HOLTER_TOKEN")
    with progress("importing", "points") as stored:
        if arguments.server is not None:
            with _sender(ServerAddress(arguments.server, token), stored) as sender:
                yield sender
            return
        with on_database(arguments, make=True) as (engine, _):
            store = Store(engine)
            try:
                store.start()
            except StoreLockedError as error:
                if not error.address:
                    raise ServerUnavailableError(str(error)) from error
                _say(f"a server has the database: importing through it, at {error.address}")
                with _sender(ServerAddress(error.address, token), stored) as sender:
                    yield sender
                return
            try:
                yield LocalImportTarget(ImportContext(engine=engine, store=store), stored=stored)
            finally:
                store.close()


def _sender(door: ServerAddress, stored: Callable[..., None]) -> HttpImportTarget:
    return HttpImportTarget(
        door,
        sent=lambda size: stored(0, f"sending, {size / 1e6:,.0f} MB"),
        stored=stored,
        busy=lambda why: _say(f"{why}; waiting"),
    )


def _say(what: str) -> None:
    print(f"holter: {what}", file=sys.stderr, flush=True)


def _bring(
    arguments: argparse.Namespace,
    path: Path,
    collection: Collection | None,
    place: LocalImportTarget | HttpImportTarget,
) -> int:
    if collection is not None:
        return _take(arguments, path, collection, place.run)
    try:
        done = place.file(path, project=arguments.project, run=arguments.run)
    except OSError as error:
        return refuse(f"{path}: {error.strerror}")
    said = "was imported before" if done.duplicate else counted(done.points, "point")
    print(f"{path}: {said}, run {done.run_id}  {done.project}/{done.run}")
    return 0


def _look(arguments: argparse.Namespace, path: Path, collection: Collection | None) -> int:
    if collection is not None:
        return _take(arguments, path, collection, dry_run_importer(), dry=True)
    try:
        seen = inspect_file(path)
    except OSError as error:
        return refuse(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        return refuse(f"{path}: not a file of holter export or another tracker")
    except ValueError as error:
        return refuse(f"{path} cannot be imported: {error}")
    project = arguments.project or seen.project or "default"
    name = arguments.run or seen.run or path.name.partition(".")[0]
    parts = [counted(seen.points, "point"), counted(seen.series, "series", "series")]
    parts += [counted(seen.attempts, "attempt")] if seen.attempts > 1 else []
    parts += [counted(seen.incidents, "incident")] if seen.incidents else []
    print(f"{path}: {project}/{name}: {', '.join(parts)} would be taken")
    return 0


def _take(
    arguments: argparse.Namespace,
    path: Path,
    collection: Collection,
    taker: RunImporter,
    *,
    dry: bool = False,
) -> int:
    """A line a run, what was left out below it, and the sum."""
    everything: list[TrackerImportResult] = []
    try:
        runs = import_collection(
            collection, path, taker, project=arguments.project, private=arguments.keep_private
        )
        for taken in runs:
            everything.append(taken)
            _tell(taken, dry=dry)
    except (CollectionError, OSError) as error:
        return refuse(str(error))
    there = [taken for taken in everything if not taken.reason]
    new, known = sum(taken.points for taken in there), sum(taken.known for taken in there)
    told = f"{path} ({collection.name}): {counted(len(there), 'run')}, {counted(new, 'point')} "
    told += "would be taken" if dry else "taken"
    told += f", {counted(known, 'point')} there before" if known else ""
    left = len(everything) - len(there)
    print(told + (f"; {counted(left, 'run')} not" if left else ""))
    return 0 if there else 1


def _tell(taken: TrackerImportResult, *, dry: bool) -> None:
    name = f"{taken.project}/{taken.run}"
    if taken.reason:
        print(f"  not taken: {name}: {taken.reason}")
        return
    new = counted(taken.points, "point") if taken.points or not taken.known else "nothing new"
    launches = f", {taken.attempts} attempts" if taken.attempts > 1 else ""
    place = "" if dry else f"run {taken.run_id}  "
    print(f"  {place}{name}: {new}, {taken.series} series{launches}")
    for unreadable in taken.left_out[:_TOLD]:
        print(f"    {unreadable.location}: {unreadable.reason}")
    if len(taken.left_out) > _TOLD:
        print(f"    {len(taken.left_out) - _TOLD} more places like these")
    if taken.private:
        names = ", ".join(list(Counter(taken.private))[:_TOLD])
        print(f"    not taken, since they may name people, machines or secrets: {names} (--keep-private)")
