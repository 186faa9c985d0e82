"""`holter serve`: the server alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from holter.server.channels import ChannelError
from holter.server.context import ServerContext, UnprotectedServerError
from holter.server.serve import AddressUnavailableError, bind, configure_logging, serve_until_stopped
from holter.server.store import StoreLockedError
from holter.settings import Settings, SettingsError, load

FLAGS = ("host", "port", "data_dir", "database_url", "public_url")
CANNOT_START = (SettingsError, ChannelError, UnprotectedServerError, AddressUnavailableError, StoreLockedError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings that are flags too; passwords and webhooks are not, for others can read command lines."""
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1: this machine only)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8765; 0: any free one)")
    parser.add_argument("--data-dir", type=Path, help="folder of the database file (default: see doctor)")
    parser.add_argument("--database-url", help="e.g. postgresql+psycopg://user:password@host/database")
    parser.add_argument("--public-url", help="the address people open, where a proxy stands in front")
    parser.add_argument(
        "--scrape",
        action="append",
        metavar="URL",
        help="a Prometheus exporter to scrape, e.g. http://node1:9400/metrics; for the runs under way",
    )
    parser.add_argument("--verbose", action="store_true", help="say what happens, not only what goes wrong")


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """The flags that are settings."""
    named = getattr(arguments, "scrape", None)
    scrape = {"scrape": {"endpoints": named}} if named else {}
    return {name: getattr(arguments, name) for name in FLAGS} | scrape


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted. Exit code 1: could not start."""
    return serve(arguments, lambda context: print(greeting(context.settings), flush=True))


def serve(arguments: argparse.Namespace, before: Callable[[ServerContext], None]) -> int:
    """Set up, start, call `before`, serve until interrupted; says in a sentence why it could not start."""
    configure_logging(verbose=arguments.verbose)
    try:
        settings = load(given_flags(arguments))
        listener = bind(settings.host, settings.port)
        with listener:
            context = ServerContext(settings.model_copy(update={"port": listener.getsockname()[1]}))
            serve_until_stopped(context, listener, before=lambda: before(context))
    except DBAPIError as error:
        return refuse(f"the database cannot be used: {str(error.orig).strip().splitlines()[0]}")
    except CANNOT_START as error:
        return refuse(str(error))
    print("Holter has stopped.")
    return 0


def greeting(settings: Settings) -> str:
    """Where the dashboard is, and where the server listens if people come in elsewhere."""
    where = f", listening on {settings.host} port {settings.port}" if settings.public_url else ""
    others = [] if settings.public_url else settings.addresses[1:]
    also = "".join(f"\n        {one}" for one in others)
    return f"Holter: {settings.address}{where}   (Ctrl-C stops){also}"


def refuse(reason: str, code: int = 1) -> int:
    """Say why something cannot be done."""
    print(f"holter: {reason}", file=sys.stderr)
    return code
