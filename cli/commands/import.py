"""`holter import`: imports files of `holter export`, and the runs of other trackers."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from holter.cli.commands import fail
from holter.cli.commands.agent import is_server_address
from holter.cli.commands.db import add_database_flags, on_database
from holter.cli.report.progress import progress
from holter.ingest.trackers import find_collection
from holter.ingest.trackers.base import Collection, CollectionError
from holter.plurals import counted
from holter.server.import_export.file_formats import MissingPyarrowError
from holter.server.import_export.import_file import ImportRefusedError, inspect_file
from holter.server.import_export.import_targets import (
    HttpImportTarget,
    ImportRejectedError,
    LocalImportTarget,
    ServerAddress,
    ServerUnavailableError,
)
from holter.server.import_export.importer import ImportContext
from holter.server.import_export.reading_process import ReadingProcess
from holter.server.import_export.trackers import (
    RunImporter,
    TrackerImportResult,
    dry_run_importer,
    import_collection,
)
from holter.server.store import Store, StoreLockedError
from holter.settings import SettingsError, load
from holter.terminal_text import printable

_MAX_LISTED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the names of their runs, and the target."""
    parser.add_argument(
        "path",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="a file of holter export (Parquet, JSON, CSV), MLflow's mlflow.db or mlruns, a trackio database "
        "or folder, the output of neptune-exporter, or a CSV export of the W&B page",
    )
    parser.add_argument("--project", help="default: as in the source, else default")
    parser.add_argument("--run", help="name of the run, for a file with one run; default: as in the file")
    parser.add_argument(
        "--dry-run", action="store_true", help="read everything and print what would be imported"
    )
    parser.add_argument(
        "--keep-private", action="store_true", help="also import settings that name people, machines, secrets"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="server to import through (default: the server that uses the database, else the database)",
    )
    parser.add_argument(
        "--token", help="access token (better in HOLTER_TOKEN: others can read command lines)"
    )
    add_database_flags(parser)


def run(arguments: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Import one PATH after the other. Exit code 1: one failed; those before it are imported."""
    gc.freeze()  # else each garbage collection during the import scans all loaded modules
    collections = {path: find_collection(path) for path in arguments.path}
    if problem := _find_usage_problem(arguments, collections):
        return fail(problem)
    try:
        if arguments.dry_run:
            with closing(ReadingProcess(seconds=load().parse_seconds)) as reading:
                return max(
                    _inspect(arguments, path, collection, reading) for path, collection in collections.items()
                )
        with _open_target(arguments, environ) as target:
            return max(
                _import(arguments, path, collection, target) for path, collection in collections.items()
            )
    except (
        ImportRefusedError,
        MissingPyarrowError,
        ImportRejectedError,
        ServerUnavailableError,
        SettingsError,
    ) as error:
        return fail(str(error))


def _find_usage_problem(
    arguments: argparse.Namespace, collections: Mapping[Path, Collection | None]
) -> str | None:
    """The reason why the arguments cannot be used together, or None."""
    if arguments.run is not None and len(arguments.path) > 1:
        return "--run names one run: import one file at a time with it"
    if arguments.server is not None and (
        arguments.database_url or arguments.database_url_file or arguments.data_dir
    ):
        return "--server cannot be combined with --database-url or --data-dir"
    if arguments.server is not None and not is_server_address(arguments.server):
        return f"--server {arguments.server}: expected http://HOST[:PORT] or https://HOST[:PORT]"
    for path, collection in collections.items():
        if collection is None and not path.exists():
            return f"{path}: no such file or folder"
        if collection is None and path.is_dir():
            return f"{path}: contains no runs of MLflow, trackio or Neptune (docs/import.md)"
        if collection is not None and arguments.run is not None:
            return f"{path}: its runs have names; --run is for a file with one run"
    return None


@contextmanager
def _open_target(
    arguments: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[LocalImportTarget | HttpImportTarget]:
    """The target of the import: the given server, the server that uses the database, or the database."""
    token = arguments.token or environ.get("HOLTER_TOKEN")
    with progress("importing", "points") as on_progress:
        if arguments.server is not None:
            with _http_target(ServerAddress(arguments.server, token), on_progress) as target:
                yield target
            return
        with on_database(arguments, create=True) as (engine, settings):
            store = Store(engine)
            try:
                store.start()
            except StoreLockedError as error:
                if not error.address:
                    raise ServerUnavailableError(str(error)) from error
                _log(f"a server is using the database: importing through it, at {error.address}")
                with _http_target(ServerAddress(error.address, token), on_progress) as target:
                    yield target
                return
            try:
                with closing(ReadingProcess(seconds=settings.parse_seconds)) as reading:
                    context = ImportContext(engine=engine, store=store, read=reading.read)
                    yield LocalImportTarget(context, stored=on_progress)
            finally:
                store.close()


def _http_target(address: ServerAddress, on_progress: Callable[..., None]) -> HttpImportTarget:
    return HttpImportTarget(
        address,
        sent=lambda size: on_progress(0, f"sending, {size / 1e6:,.0f} MB"),
        stored=on_progress,
        busy=lambda reason: _log(f"{reason}; waiting"),
    )


def _log(text: str) -> None:
    print(printable(f"holter: {text}"), file=sys.stderr, flush=True)


def _import(
    arguments: argparse.Namespace,
    path: Path,
    collection: Collection | None,
    target: LocalImportTarget | HttpImportTarget,
) -> int:
    if collection is not None:
        return _import_collection(arguments, path, collection, target.run)
    try:
        result = target.file(path, project=arguments.project, run=arguments.run)
    except OSError as error:
        return fail(f"{path}: {error.strerror}")
    content = "was imported before" if result.duplicate else counted(result.points, "point")
    print(printable(f"{path}: {content}, run {result.run_id}  {result.project}/{result.run}"))
    return 0


def _inspect(
    arguments: argparse.Namespace, path: Path, collection: Collection | None, reading: ReadingProcess
) -> int:
    if collection is not None:
        return _import_collection(arguments, path, collection, dry_run_importer(), dry=True)
    try:
        content = inspect_file(path, read=reading.read)
    except OSError as error:
        return fail(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        return fail(f"{path}: not a file of holter export or another tracker")
    except ValueError as error:
        return fail(f"{path} cannot be imported: {error}")
    project = arguments.project or content.project or "default"
    name = arguments.run or content.run or path.name.partition(".")[0]
    parts = [counted(content.points, "point"), counted(content.series, "series", "series")]
    parts += [counted(content.attempts, "attempt")] if content.attempts > 1 else []
    parts += [counted(content.incidents, "incident")] if content.incidents else []
    print(printable(f"{path}: {project}/{name}: {', '.join(parts)} would be imported"))
    return 0


def _import_collection(
    arguments: argparse.Namespace,
    path: Path,
    collection: Collection,
    importer: RunImporter,
    *,
    dry: bool = False,
) -> int:
    """Print a line for each run with what was left out below it, and the totals."""
    results: list[TrackerImportResult] = []
    try:
        runs = import_collection(
            collection, path, importer, project=arguments.project, private=arguments.keep_private
        )
        for result in runs:
            results.append(result)
            _print_result(result, dry=dry)
    except (CollectionError, OSError) as error:
        return fail(str(error))
    imported = [result for result in results if not result.reason]
    new, known = sum(result.points for result in imported), sum(result.known for result in imported)
    text = f"{path} ({collection.name}): {counted(len(imported), 'run')}, {counted(new, 'point')} "
    text += "would be imported" if dry else "imported"
    text += f", {counted(known, 'point')} imported before" if known else ""
    skipped = len(results) - len(imported)
    print(printable(text + (f"; {counted(skipped, 'run')} skipped" if skipped else "")))
    return 0 if imported else 1


def _print_result(result: TrackerImportResult, *, dry: bool) -> None:
    name = f"{result.project}/{result.run}"
    if result.reason:
        print(printable(f"  skipped: {name}: {result.reason}"))
        return
    new = counted(result.points, "point") if result.points or not result.known else "nothing new"
    attempts = f", {result.attempts} attempts" if result.attempts > 1 else ""
    run_id = "" if dry else f"run {result.run_id}  "
    print(printable(f"  {run_id}{name}: {new}, {result.series} series{attempts}"))
    for unreadable in result.left_out[:_MAX_LISTED]:
        print(printable(f"    {unreadable.location}: {unreadable.reason}"))
    if len(result.left_out) > _MAX_LISTED:
        print(f"    {len(result.left_out) - _MAX_LISTED} more locations like these")
    if result.private:
        names = printable(", ".join(list(Counter(result.private))[:_MAX_LISTED]))
        print(f"    not imported, as they may name people, machines or secrets: {names} (--keep-private)")
