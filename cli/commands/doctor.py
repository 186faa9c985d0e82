"""`holter doctor`: checks settings, database, channels, agents, and whether logs can be read."""

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
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

import holter
from holter.cli.commands.serve import add_arguments as add_server_flags
from holter.cli.commands.serve import given_flags
from holter.cli.report import logs
from holter.cli.report.line_report import explain_paths
from holter.ingest import formats
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.tracker_runs import explain_tracker_runs
from holter.ingest.processor_time import limited_file_time
from holter.ingest.trackers import find_collection
from holter.ingest.trackers.base import Collection, CollectionError
from holter.plurals import counted, verb
from holter.server import tokens
from holter.server.agents import AgentRegistry
from holter.server.analysis import failed_analyses
from holter.server.auth import missing_credentials
from holter.server.channels import ChannelError, open_channels
from holter.server.database import connect, is_missing, without_password
from holter.server.migrate import migrations
from holter.server.serve import AddressUnavailableError, bind
from holter.settings import FILE, Settings, SettingsError, load
from holter.terminal_text import printable, printable_lines

REQUEST_TIMEOUT_SECONDS = 5.0
MAX_AGENTS_LISTED = 5
MAX_TOKENS_LISTED = 5
_TOML_LINE = re.compile(r"\s+(\[\[|\w+ = )")
"""Lines of a suggested holter.toml, which users copy."""
CLIENT_VARIABLES = {
    "SERVER", "TOKEN", "RUN", "ATTEMPT", "SPOOL_DIR", "SPOOL_BYTES", "TARGET_DATABASE_URL", "ENVIRONMENT",
    "LIGHTNING", "PROJECT",
}  # fmt: skip
KNOWN_VARIABLES = {f"HOLTER_{name.upper()}" for name in CLIENT_VARIABLES | set(Settings.model_fields)}


class CheckFailedError(Exception):
    """A check has found a problem; the message says what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The paths to check, and the settings that are flags."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="log file or folder to check")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print every line of these log files with what was read from it, and nothing else",
    )
    add_server_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run every check and print a line for each. Exit code 1 when one fails."""
    print(f"holter {holter.__version__}")
    try:
        settings = load(given_flags(arguments))
    except SettingsError as error:
        print(printable_lines(f"wrong  {error}"))
        return 1
    if arguments.explain:
        return explain_paths(arguments.paths, settings)
    checks: dict[str, Callable[[], str]] = {
        "settings": _check_settings,
        "data": partial(_check_data_dir, settings),
        "database": partial(_check_database, settings),
        "analysis": partial(_check_analysis, settings),
        "access": partial(_check_access, settings),
        "port": partial(_check_port, settings),
        "channels": partial(_check_channels, settings),
        "agents": partial(_check_agents, settings),
    }
    checks |= {
        f"path {printable(str(path))}": partial(_check_path, path, settings) for path in arguments.paths
    }
    return max([_run_check(name, check) for name, check in checks.items()])


def _run_check(name: str, check: Callable[[], str]) -> int:
    try:
        _print_line("ok", "green", f"{name}: {check()}")
    except CheckFailedError as error:
        _print_line("wrong", "bold red", f"{name}: {error}")
        return 1
    return 0


def _print_line(word: str, style: str, text: str) -> None:
    """Print the outcome of a check.

    In a terminal the word is coloured, further lines are dimmed, and long lines wrap with an indentation.
    Elsewhere lines do not wrap, for grep.
    """
    console = Console(highlight=False)
    lines = printable_lines(f"{word:7}{text}").split("\n")
    if console.is_terminal:
        lines = [_wrap(line, console.width, indent_by=7 if line is lines[0] else 2) for line in lines]
    head, *rest = lines
    below = "".join(f"\n{line}" for line in rest)
    console.print(Text.assemble((head[:7], style), head[7:], (below, "dim")), soft_wrap=True)


def _wrap(line: str, width: int, *, indent_by: int) -> str:
    """Wrap a line to a width, with an indentation. Paths, and lines to be copied, are not broken."""
    if _TOML_LINE.match(line):
        return line
    indent = " " * (len(line) - len(line.lstrip()) + indent_by)
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip


def _check_settings() -> str:
    sources = [str(FILE.absolute())] if FILE.exists() else []
    variables = sorted(name for name in os.environ if name.startswith("HOLTER_"))
    if unknown := [name for name in variables if name not in KNOWN_VARIABLES]:
        raise CheckFailedError(
            f"{', '.join(unknown)}: unknown setting, which has no effect (docs/settings.md)"
        )
    sources += variables
    return f"from {', '.join(sources)}" if sources else "all defaults"


def _check_data_dir(settings: Settings) -> str:
    folder = settings.data_dir.expanduser().absolute()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise CheckFailedError(f"{existing} cannot be written: choose another folder with --data-dir")
    return str(folder) if existing == folder else f"{folder}, created at first use"


@contextmanager
def _open_database(settings: Settings) -> Iterator[Engine | None]:
    """The database; None where its file does not exist yet, because a check must not create it."""
    if is_missing(settings.database):
        yield None
        return
    engine = connect(settings.database)
    try:
        yield engine
    finally:
        engine.dispose()


def _check_database(settings: Settings) -> str:
    try:
        shown = without_password(settings.database)
        with _open_database(settings) as engine:
            return f"{shown}, {'created at first use' if engine is None else _check_tables(engine)}"
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise CheckFailedError(f"cannot be used: {reason}") from error
    except ValueError as error:
        raise CheckFailedError(str(error)) from error


def _check_tables(engine: Engine) -> str:
    script = ScriptDirectory(str(migrations()))
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current is None:
        return "no tables yet: the server creates them"
    if current == script.get_current_head():
        return "tables are up to date"
    if current in {revision.revision for revision in script.walk_revisions()}:
        return f"tables {current} are outdated: the server will upgrade them (or: holter db upgrade)"
    raise CheckFailedError(f"tables {current} are of a newer version of Holter: update this one")


def _check_analysis(settings: Settings) -> str:
    try:
        with _open_database(settings) as engine:
            if engine is None or not inspect(engine).has_table("analysis"):
                return "no runs yet"
            reasons = failed_analyses(engine)
    except (SQLAlchemyError, ValueError) as error:
        raise CheckFailedError("runs cannot be read: see the database check") from error
    if not reasons:
        return "every run was analysed without errors"
    run, reason = next(iter(reasons.items()))
    example = printable(f"{run} ({reason})")
    raise CheckFailedError(
        f"the analysis of {counted(len(reasons), 'run')} failed, for example {example}; it is retried "
        "automatically. To check the stored data: holter db check"
    )


def _check_access(settings: Settings) -> str:
    if not settings.login_required:
        return "this machine only, without login"
    if settings.password is None:
        try:
            with _open_database(settings) as engine:
                missing = (
                    "no token yet"
                    if engine is None or not inspect(engine).has_table("token")
                    else missing_credentials(settings, engine)
                )
        except (SQLAlchemyError, ValueError) as error:
            raise CheckFailedError("tokens cannot be read: see the database check") from error
        if missing:
            raise CheckFailedError(
                "set HOLTER_PASSWORD, or create a token: holter token create NAME --scope all"
            )
    return f"login required{_describe_tokens(settings)}"


def _describe_tokens(settings: Settings) -> str:
    """What to know about the scopes of tokens; raises CheckFailedError where nobody can log in."""
    try:
        with _open_database(settings) as engine:
            columns = [] if engine is None else inspect(engine).get_columns("token")
            if engine is None or "scope" not in {column["name"] for column in columns}:
                return ""
            with Session(engine) as session:
                people, older = tokens.login_tokens(session), tokens.tokens_without_scope(session)
    except (SQLAlchemyError, ValueError):
        return ""
    if settings.password is None and not people:
        raise CheckFailedError(
            "all tokens are for programs, and nobody can log in to the pages: set HOLTER_PASSWORD, or create "
            "a token for people: holter token create NAME --scope all"
        )
    if not older:
        return ""
    names = printable(", ".join(older[:MAX_TOKENS_LISTED]))
    more = f" and {len(older) - MAX_TOKENS_LISTED} more" if len(older) > MAX_TOKENS_LISTED else ""
    return (
        f"; created before tokens had scopes, and may do everything: {names}{more} (for jobs and agents "
        "create new ones with holter token create NAME, then holter token revoke these)"
    )


def _check_port(settings: Settings) -> str:
    try:
        bind(settings.host, settings.port).close()
    except AddressUnavailableError as error:
        if _is_holter(settings):
            return f"{settings.host} port {settings.port}: Holter is running there"
        raise CheckFailedError(str(error)) from error
    return f"{settings.host} port {settings.port} is free"


def _is_holter(settings: Settings) -> bool:
    try:
        with urlopen(f"{settings.addresses[-1]}/healthz", timeout=REQUEST_TIMEOUT_SECONDS) as response:
            return bool(json.load(response) == {"status": "alive"})
    except (OSError, ValueError):
        return False


def _check_channels(settings: Settings) -> str:
    try:
        channels = open_channels(settings.all_channels())
    except ChannelError as error:
        raise CheckFailedError(str(error)) from error
    if not channels:
        return "none: no notifications are sent (docs/alerts.md)"
    destinations = ", ".join(f"{name} ({opened.channel.destination})" for name, opened in channels.items())
    return f"{destinations}; to test one: holter alert test NAME"


def _check_agents(settings: Settings) -> str:
    try:
        with _open_database(settings) as engine:
            exists = engine is not None and inspect(engine).has_table("agent")
            agents = AgentRegistry(engine).statuses() if engine is not None and exists else []
    except (SQLAlchemyError, ValueError) as error:
        raise CheckFailedError("agents cannot be read: see the database check") from error
    if problems := [agent["trouble"] for agent in agents if agent["trouble"]]:
        more = f"; and {len(problems) - MAX_AGENTS_LISTED} more" if len(problems) > MAX_AGENTS_LISTED else ""
        raise CheckFailedError(printable("; ".join(problems[:MAX_AGENTS_LISTED])) + more)
    if not agents:
        return "no agent reports to this server (docs/agent.md)"
    reports = verb(len(agents), "reports", "report")
    return f"{counted(len(agents), 'agent')} {reports} to this server, without problems"


def _check_path(path: Path, settings: Settings) -> str:
    if not path.exists():
        raise CheckFailedError("no such file or folder")
    try:
        if (collection := find_collection(path)) is not None:
            return _check_collection(path, collection)
        with limited_file_time(settings.parse_seconds):
            files = explain_files(path, known=formats(settings.formats))
    except CollectionError as error:
        raise CheckFailedError(printable(str(error))) from error
    except OSError as error:
        raise CheckFailedError(printable(f"{path}: {error.strerror}")) from error
    details = "".join(f"\n       {printable(line)}" for line in logs.describe_files(files, path))
    if not any(file.format and (file.points or file.settings) for file in files):
        raise CheckFailedError(logs.summarize_files(files) + details)
    return logs.summarize_files(files) + details


def _check_collection(path: Path, collection: Collection) -> str:
    runs = explain_tracker_runs(path, collection)
    details = "".join(f"\n       {printable(line)}" for line in logs.describe_files(runs, path))
    readable = sum(run.format is not None for run in runs)
    summary = (
        f"{collection.name}: {readable} of {counted(len(runs), 'run')} can be imported with holter import"
    )
    if not readable:
        raise CheckFailedError(summary + details)
    return summary + details
