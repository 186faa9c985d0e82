"""`holter doctor`: check set-up, database and channels."""

from __future__ import annotations

import argparse
import json
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from rich.console import Console
from rich.text import Text
from sqlalchemy import Engine, inspect, make_url
from sqlalchemy.exc import SQLAlchemyError

import holter
from holter.cli.commands.serve import add_arguments as add_server_flags
from holter.cli.commands.serve import given_flags
from holter.cli.report import logs
from holter.ingest import formats
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.tracker_runs import explain_tracker_runs
from holter.ingest.trackers import collection_at
from holter.ingest.trackers.base import Collection, CollectionError
from holter.plurals import counted, verb
from holter.server.agents import AgentRegistry
from holter.server.analysis import failed_analyses
from holter.server.auth import missing_credentials
from holter.server.channels import ChannelError, open_channels
from holter.server.database import connect, is_missing
from holter.server.migrate import migrations
from holter.server.serve import AddressUnavailableError, bind
from holter.settings import FILE, Settings, SettingsError, load

ASK_SECONDS = 5.0
TOLD_AGENTS = 5
_TO_COPY = re.compile(r"\s+(\[\[|\w+ = )")
"""Lines of a holter.toml."""
OF_CLIENTS = {"SERVER", "TOKEN", "RUN", "ATTEMPT", "SPOOL_DIR", "SPOOL_BYTES"}
VARIABLES = {f"HOLTER_{name.upper()}" for name in OF_CLIENTS | set(Settings.model_fields)}


class Unwell(Exception):
    """Something is not as it must be; the text says what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at beside the settings."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="logs that should be readable")
    add_server_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look at everything, a line each. Exit code 1 when something is wrong."""
    print(f"holter {holter.__version__}")
    try:
        settings = load(given_flags(arguments))
    except SettingsError as error:
        print(f"wrong  {error}")
        return 1
    looks: dict[str, Callable[[], str]] = {
        "settings": _settings,
        "data": partial(_data_dir, settings),
        "database": partial(_database, settings),
        "analysis": partial(_analysis, settings),
        "access": partial(_access, settings),
        "port": partial(_port, settings),
        "channels": partial(_channels, settings),
    }
    looks |= {"agents": partial(_agents, settings)}
    looks |= {f"path {path}": partial(_path, path, settings) for path in arguments.paths}
    return max([_look(name, look) for name, look in looks.items()])


def _look(name: str, look: Callable[[], str]) -> int:
    try:
        _say("ok", "green", f"{name}: {look()}")
    except Unwell as error:
        _say("wrong", "bold red", f"{name}: {error}")
        return 1
    return 0


def _say(word: str, style: str, text: str) -> None:
    """A look's outcome; in a terminal its word is coloured, what stands below it is quieter, and long lines
    go on below their beginning. Elsewhere a line stays one, for grep."""
    console = Console(highlight=False)
    lines = f"{word:7}{text}".split("\n")
    if console.is_terminal:
        lines = [_folded(line, console.width, further=7 if line is lines[0] else 2) for line in lines]
    head, *rest = lines
    below = "".join(f"\n{line}" for line in rest)
    console.print(Text.assemble((head[:7], style), head[7:], (below, "dim")), soft_wrap=True)


def _folded(line: str, width: int, *, further: int) -> str:
    """A line within a width, indented where it goes on. Paths, and what is to be copied, stay whole."""
    if _TO_COPY.match(line):
        return line
    indent = " " * (len(line) - len(line.lstrip()) + further)
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip


def _settings() -> str:
    sources = [str(FILE.absolute())] if FILE.exists() else []
    variables = sorted(name for name in os.environ if name.startswith("HOLTER_"))
    if unknown := [name for name in variables if name not in VARIABLES]:
        raise Unwell(f"{', '.join(unknown)}: no such setting, so it does nothing (docs/settings.md)")
    sources += variables
    return f"from {', '.join(sources)}" if sources else "all defaults"


def _data_dir(settings: Settings) -> str:
    folder = settings.data_dir.expanduser().absolute()
    standing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        raise Unwell(f"{standing} cannot be written: choose another folder with --data-dir")
    return str(folder) if standing == folder else f"{folder}, made when first needed"


@contextmanager
def _stored(settings: Settings) -> Iterator[Engine | None]:
    """The database; None where its file is not there yet, for looking must not make it."""
    if is_missing(settings.database):
        yield None
        return
    engine = connect(settings.database)
    try:
        yield engine
    finally:
        engine.dispose()


def _database(settings: Settings) -> str:
    try:
        shown = make_url(settings.database).render_as_string(hide_password=True)
        with _stored(settings) as engine:
            return f"{shown}, {'made when first needed' if engine is None else _tables(engine)}"
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise Unwell(f"cannot be used: {said}") from error
    except ValueError as error:
        raise Unwell(str(error)) from error


def _tables(engine: Engine) -> str:
    script = ScriptDirectory(str(migrations()))
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current is None:
        return "no tables yet: the server makes them"
    if current == script.get_current_head():
        return "tables are up to date"
    if current in {revision.revision for revision in script.walk_revisions()}:
        return f"tables {current} are older: the server will upgrade them (or: holter db upgrade)"
    raise Unwell(f"tables {current} come from a newer Holter: update this one")


def _analysis(settings: Settings) -> str:
    try:
        with _stored(settings) as engine:
            if engine is None or not inspect(engine).has_table("analysis"):
                return "no runs yet"
            reasons = failed_analyses(engine)
    except (SQLAlchemyError, ValueError) as error:
        raise Unwell("runs cannot be read: see database") from error
    if not reasons:
        return "the detectors could look at every run"
    run, reason = next(iter(reasons.items()))
    raise Unwell(
        f"the detectors could not look at {counted(len(reasons), 'run')}, {run} for one ({reason}); they try "
        "again by themselves. Is what is stored whole? Ask: holter db check"
    )


def _access(settings: Settings) -> str:
    if not settings.login_required:
        return "this machine only, without login"
    if settings.password is None:
        try:
            with _stored(settings) as engine:
                known = engine is not None and inspect(engine).has_table("token")
                refusal = (
                    "no token yet" if engine is None or not known else missing_credentials(settings, engine)
                )
        except (SQLAlchemyError, ValueError) as error:
            raise Unwell("tokens cannot be read: see database") from error
        if refusal:
            raise Unwell("set HOLTER_PASSWORD, or make a token: holter token create NAME")
    return "login required"


def _port(settings: Settings) -> str:
    try:
        bind(settings.host, settings.port).close()
    except AddressUnavailableError as error:
        if _is_holter(settings):
            return f"{settings.host} port {settings.port}: Holter is running there"
        raise Unwell(str(error)) from error
    return f"{settings.host} port {settings.port} is free"


def _is_holter(settings: Settings) -> bool:
    try:
        with urlopen(f"{settings.addresses[-1]}/healthz", timeout=ASK_SECONDS) as answer:
            return bool(json.load(answer) == {"status": "alive"})
    except (OSError, ValueError):
        return False


def _channels(settings: Settings) -> str:
    try:
        channels = open_channels(settings.all_channels())
    except ChannelError as error:
        raise Unwell(str(error)) from error
    if not channels:
        return "none: nobody is told (docs/alerts.md)"
    told = ", ".join(f"{name} ({opened.channel.destination})" for name, opened in channels.items())
    return f"{told}; try one with: holter alert test NAME"


def _agents(settings: Settings) -> str:
    try:
        with _stored(settings) as engine:
            there = engine is not None and inspect(engine).has_table("agent")
            agents = AgentRegistry(engine).statuses() if engine is not None and there else []
    except (SQLAlchemyError, ValueError) as error:
        raise Unwell("agents cannot be read: see database") from error
    if trouble := [one["trouble"] for one in agents if one["trouble"]]:
        more = f"; and {len(trouble) - TOLD_AGENTS} more" if len(trouble) > TOLD_AGENTS else ""
        raise Unwell("; ".join(trouble[:TOLD_AGENTS]) + more)
    return (
        f"{counted(len(agents), 'agent')} {verb(len(agents), 'reports', 'report')} here, all is well"
        if agents
        else "none reports here (docs/agent.md)"
    )


def _path(path: Path, settings: Settings) -> str:
    if not path.exists():
        raise Unwell("no such file or folder")
    try:
        if (collection := collection_at(path)) is not None:
            return _collection(path, collection)
        files = explain_files(path, known=formats(settings.formats))
    except CollectionError as error:
        raise Unwell(str(error)) from error
    except OSError as error:
        raise Unwell(f"{path}: {error.strerror}") from error
    told = "".join(f"\n       {line}" for line in logs.lines(files, path))
    if not any(file.format for file in files):
        raise Unwell(logs.summary(files) + told)
    return logs.summary(files) + told


def _collection(path: Path, collection: Collection) -> str:
    runs = explain_tracker_runs(path, collection)
    told = "".join(f"\n       {line}" for line in logs.lines(runs, path))
    taken = sum(run.format is not None for run in runs)
    summary = (
        f"{collection.name}: {taken} of {counted(len(runs), 'run')} can be taken with holter import{told}"
    )
    if not taken:
        raise Unwell(summary)
    return summary
