"""`holter agent`: sends files or standard input of this machine to a server, or what clients left unsent."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import random
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from holter.cli.agent import files, stdin
from holter.cli.agent.environment import WRITER
from holter.cli.agent.http_sink import ZSTD
from holter.cli.commands import fail
from holter.client.notices import Notices
from holter.client.run import DEFAULT_SERVER, spool_folders
from holter.client.spool import orphaned_spools
from holter.client.uploader import IngestClient, ServerAccess
from holter.plurals import counted
from holter.private_files import create_private_folder
from holter.settings import SettingsError, load

PIPE = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The paths or the spool, the server, and the folder for state that survives a restart."""
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="log file or folder to follow; -: standard input"
    )
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument(
        "--token", help="access token (better in HOLTER_TOKEN: others can read command lines)"
    )
    parser.add_argument("--project", default="default", help="project of the runs (default: default)")
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="settings file (default: holter.toml in this folder)"
    )
    parser.add_argument(
        "--scrape",
        action="append",
        metavar="URL",
        help="Prometheus exporter to scrape (http://localhost:9400/metrics) for the runs active here",
    )
    parser.add_argument("--state", type=Path, help="folder for cursors (default ~/.local/state/holter/agent)")
    parser.add_argument(
        "--poll",
        type=float,
        metavar="SECONDS",
        help="polling interval (default: depends on the file system)",
    )
    parser.add_argument(
        "--spool",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FOLDER",
        help="send the unsent data of training processes from their spool, then exit",
    )
    parser.add_argument(
        "--process",
        type=parse_process,
        metavar="PID",
        help="also state the environment of this training process, or with `writer` of the one that writes\n"
        "the file or the pipe: variables, packages, git commit",
    )
    _add_pipe_arguments(parser)


def _add_pipe_arguments(parser: argparse.ArgumentParser) -> None:
    pipe = parser.add_argument_group("standard input (PATH is -)")
    pipe.add_argument(
        "--run", metavar="NAME", help="name of the run (HOLTER_RUN; default: job, pod, or host and time)"
    )
    pipe.add_argument(
        "--attempt", metavar="NAME", help="name of the attempt (HOLTER_ATTEMPT; default: from the steps)"
    )
    pipe.add_argument("--tee", action="store_true", help="copy the text to standard output")
    pipe.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for the server after the pipe has ended (default 60)",
    )


def run(arguments: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Follow until interrupted. Exit codes: 1 in use, or the spool was not sent; 2 usage; 3 no such path."""
    if bool(arguments.paths) == (arguments.spool is not None):
        return fail("give paths to follow, - for standard input, or --spool", 2)
    if PIPE in arguments.paths and len(arguments.paths) > 1:
        return fail("standard input (-) cannot be combined with files: start another agent for them", 2)
    if missing := [path for path in arguments.paths if path != PIPE and not path.exists()]:
        return fail(f"{missing[0]}: no such file or folder", 3)
    try:
        scrape = {"scrape": {"endpoints": arguments.scrape}} if arguments.scrape else None
        settings = load(scrape, file=arguments.settings)
    except SettingsError as error:
        return fail(str(error), 2)
    access = ServerAccess(
        server=arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER,
        token=arguments.token or environ.get("HOLTER_TOKEN"),
    )
    if not is_server_address(access.server):
        return fail(f"--server {access.server}: expected http://HOST[:PORT] or https://HOST[:PORT]", 2)
    if arguments.spool is not None:
        return send_spool(
            spool_folders(arguments.spool if arguments.spool.name else None, environ)[0], access
        )
    if PIPE in arguments.paths:
        return stdin.run(arguments, access, settings.formats, environ)
    folder = state_folder(arguments.state, access, environ)
    with lock_folder(folder) as locked:
        if not locked:
            return fail(f"another agent is sending to {access.server} (it has locked {folder})", 1)
        return files.run(arguments, access, folder, settings, environ)


def parse_process(text: str) -> int:
    """The number of a process, or WRITER."""
    if text == "writer":
        return WRITER
    if not text.isdecimal() or int(text) == WRITER:
        raise argparse.ArgumentTypeError(f"{text}: expected the number of a process, or `writer`")
    return int(text)


def is_server_address(server: str) -> bool:
    """Whether the address has a scheme, a host and, if any, a valid port."""
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def send_spool(root: Path, access: ServerAccess) -> int:
    """Try once to send every spool below `root` that no running process has locked."""
    notices, stop = Notices(), threading.Event()
    stop.set()  # one try for each: somebody is waiting for the answer
    client = IngestClient(access, notices, stop=stop, rng=random.Random(), compression=ZSTD)
    sent = left = 0
    for spool in orphaned_spools(root, lambda _: True):
        try:
            complete = client.drain(spool)
        finally:
            spool.close()
        sent, left = sent + complete, left + (not complete)
    notices.flush()
    print(f"Holter: {counted(sent, 'spool')} below {root} sent to {access.server}, {left} left.")
    return 0 if not left else 1


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[bool]:
    """Lock the folder against other agents until the block or the process ends. False: already locked."""
    create_private_folder(folder, tighten=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file; False when another process has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def state_folder(chosen: Path | None, access: ServerAccess, environ: Mapping[str, str]) -> Path:
    """The state folder for this server: each server has its own cursors."""
    home = Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "holter" / "agent"
    return (chosen or home) / hashlib.sha256(access.server.rstrip("/").encode()).hexdigest()[:16]
