"""`holter agent`: follow files here and send them elsewhere, or send what training processes left."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import random
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from holter.cli.agent import files, stdin
from holter.cli.agent.http_sink import ZSTD
from holter.client.notices import Notices
from holter.client.run import DEFAULT_SERVER, spool_folders
from holter.client.spool import orphaned_spools
from holter.client.uploader import IngestClient, ServerAccess
from holter.ingest import formats
from holter.plurals import counted
from holter.settings import SettingsError, load

PIPE = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Paths or spool, where to, and what must survive a restart."""
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="log file or folder to follow; -: standard input"
    )
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument(
        "--token", help="access token (better in HOLTER_TOKEN: others can read command lines)"
    )
    parser.add_argument("--project", default="default", help="project of the runs (default: default)")
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="formats of your own, instead of the holter.toml here"
    )
    parser.add_argument(
        "--scrape",
        action="append",
        metavar="URL",
        help="a Prometheus exporter to scrape (http://localhost:9400/metrics), for the runs under way here",
    )
    parser.add_argument("--state", type=Path, help="folder for cursors (default ~/.local/state/holter/agent)")
    parser.add_argument(
        "--poll",
        type=float,
        metavar="SECONDS",
        help="look again this often (default: as the file system allows)",
    )
    parser.add_argument(
        "--spool",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FOLDER",
        help="send what training processes left in their spool, then exit",
    )
    _add_arguments_of_a_pipe(parser)


def _add_arguments_of_a_pipe(parser: argparse.ArgumentParser) -> None:
    pipe = parser.add_argument_group("what comes through a pipe (PATH is -)")
    pipe.add_argument(
        "--run", metavar="NAME", help="its run (HOLTER_RUN; default: the job, the pod, or this host)"
    )
    pipe.add_argument(
        "--attempt", metavar="NAME", help="its launch (HOLTER_ATTEMPT; default: told by the steps)"
    )
    pipe.add_argument("--tee", action="store_true", help="pass the text through to standard output")
    pipe.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="at the pipe's end, for a server that is away (default 60)",
    )


def run(arguments: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Follow until interrupted. Exit codes: 1 in use, or the spool was not sent; 2 usage; 3 nothing there."""
    if bool(arguments.paths) == (arguments.spool is not None):
        return refuse("give paths to follow, - for standard input, or --spool", 2)
    if PIPE in arguments.paths and len(arguments.paths) > 1:
        return refuse("standard input (-) goes alone: start another agent for the files", 2)
    if missing := [path for path in arguments.paths if path != PIPE and not path.exists()]:
        return refuse(f"{missing[0]}: no such file or folder", 3)
    try:
        scrape = {"scrape": {"endpoints": arguments.scrape}} if arguments.scrape else None
        settings = load(scrape, file=arguments.settings)
        house = settings.formats
    except SettingsError as error:
        return refuse(str(error), 2)
    access = ServerAccess(
        server=arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER,
        token=arguments.token or environ.get("HOLTER_TOKEN"),
    )
    if not address(access.server):
        return refuse(f"--server {access.server}: expected http://HOST or https://HOST, with :PORT if any", 2)
    if arguments.spool is not None:
        return send_spool(
            spool_folders(arguments.spool if arguments.spool.name else None, environ)[0], access
        )
    if PIPE in arguments.paths:
        return stdin.run(arguments, access, house, environ)
    folder = state_folder(arguments.state, access, environ)
    with claim(folder) as claimed:
        if not claimed:
            return refuse(f"another agent sends from here to {access.server} (it holds {folder})", 1)
        return files.run(arguments, access, folder, formats(house), settings.scrape)


def address(server: str) -> bool:
    """Whether it can be one of a server at all: a scheme, a host, and a port that is one."""
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def send_spool(root: Path, access: ServerAccess) -> int:
    """Send everything that lies below `root` and no living process holds, once."""
    notices, stop = Notices(), threading.Event()
    stop.set()  # one try for each: whoever calls this is watching
    courier = IngestClient(access, notices, stop=stop, rng=random.Random(), compression=ZSTD)
    sent = left = 0
    for spool in orphaned_spools(root, lambda _: True):
        try:
            whole = courier.drain(spool)
        finally:
            spool.close()
        sent, left = sent + whole, left + (not whole)
    notices.flush()
    print(f"Holter: {counted(sent, 'spool')} below {root} sent to {access.server}, {left} left.")
    return 0 if not left else 1


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[bool]:
    """Hold the folder against other agents; freed with this process at the latest. False: it is held."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield locked(lock)
    finally:
        os.close(lock)


def locked(descriptor: int) -> bool:
    """Lock an open file against others; False where another process has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def state_folder(chosen: Path | None, access: ServerAccess, environ: Mapping[str, str]) -> Path:
    """A folder for each server: what one has been sent says nothing about another."""
    home = Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "holter" / "agent"
    return (chosen or home) / hashlib.sha256(access.server.rstrip("/").encode()).hexdigest()[:16]


def refuse(reason: str, code: int) -> int:
    """Say why not."""
    print(f"holter: {reason}", file=sys.stderr)
    return code
