"""`holter serve`: runs the server without following files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from holter.cli.commands import fail
from holter.server.channels import ChannelError
from holter.server.context import ServerContext, UnprotectedServerError
from holter.server.serve import (
    AddressUnavailableError,
    bind,
    configure_logging,
    end_process,
    serve_until_stopped,
)
from holter.server.store import StoreLockedError
from holter.settings import Settings, SettingsError, load

SETTING_FLAGS = ("host", "port", "data_dir", "database_url", "database_url_file", "public_url")
START_ERRORS = (
    SettingsError,
    ChannelError,
    UnprotectedServerError,
    AddressUnavailableError,
    StoreLockedError,
    ValueError,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings that are also flags; secrets are not, because other users can read command lines."""
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1: this machine only)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8765; 0: any free one)")
    parser.add_argument(
        "--data-dir", type=Path, help="folder of the database file (default: see holter doctor)"
    )
    parser.add_argument(
        "--database-url",
        help="e.g. postgresql+psycopg://user@host/database; with a password: use HOLTER_DATABASE_URL",
    )
    parser.add_argument(
        "--database-url-file", type=Path, metavar="FILE", help="file that contains the database's address"
    )
    parser.add_argument("--public-url", help="address that users open, if the server is behind a proxy")
    parser.add_argument(
        "--scrape",
        action="append",
        metavar="URL",
        help="Prometheus exporter to scrape for the active runs, e.g. http://node1:9400/metrics",
    )
    parser.add_argument("--verbose", action="store_true", help="log events, not only problems")


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings that were given as flags; None where a flag was not given."""
    endpoints = getattr(arguments, "scrape", None)
    scrape = {"scrape": {"endpoints": endpoints}} if endpoints else {}
    return {name: getattr(arguments, name) for name in SETTING_FLAGS} | scrape


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted. Exit code 1: the server could not start."""
    return serve(arguments, lambda context: print(greeting(context.settings), flush=True))


def serve(arguments: argparse.Namespace, before: Callable[[ServerContext], None]) -> int:
    """Start, call `before`, serve until interrupted; prints the reason where the server cannot start."""
    configure_logging(verbose=arguments.verbose)
    try:
        settings = load(given_flags(arguments))
        listener = bind(settings.host, settings.port)
        with listener:
            context = ServerContext(settings.model_copy(update={"port": listener.getsockname()[1]}))
            serve_until_stopped(context, listener, before=lambda: before(context))
    except DBAPIError as error:
        return fail(f"the database cannot be used: {str(error.orig).strip().splitlines()[0]}")
    except START_ERRORS as error:
        return fail(str(error))
    print("Holter has stopped.", flush=True)
    end_process(0)
    return 0


def greeting(settings: Settings) -> str:
    """The dashboard's addresses, and the listening address if users open a different one."""
    listening = f", listening on {settings.host} port {settings.port}" if settings.public_url else ""
    others = [] if settings.public_url else settings.addresses[1:]
    more = "".join(f"\n        {address}" for address in others)
    return f"Holter: {settings.address}{listening}   (Ctrl-C stops){more}"
