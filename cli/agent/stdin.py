"""`... | holter agent -`: what a job prints, followed to the pipe's end and sent."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from holter.cli.agent.heartbeat import Pulse, Standing, Whose, name_of
from holter.cli.agent.http_sink import ZSTD
from holter.cli.agent.stdin_reader import Listener
from holter.cli.agent.stdin_spool import Piped, Spooler, Stop, pieces
from holter.client.identity import ProcessIdentity, detect
from holter.client.notices import Notices
from holter.client.pipeline import open_spool
from holter.client.run import spool_folders, spool_limit
from holter.client.spool import Spool
from holter.client.uploader import IngestClient, ServerAccess, Uploader
from holter.client.values import clean_name
from holter.custom_format import CustomFormat
from holter.ingest.console.prefixes import strip_prefixes as without_prefix
from holter.plurals import counted, verb

LAST_SECONDS = 5.0  # for the sender to end, when nothing more is waited for


def run(
    arguments: argparse.Namespace,
    access: ServerAccess,
    house: Sequence[CustomFormat],
    environ: Mapping[str, str],
) -> int:
    """Send standard input to its end. Exit code 1 where something is left on disk."""
    stop, notices = Stop(), Notices()
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, lambda *_: stop.set())
    say(f"sending standard input to {access.server}")
    text = pieces(sys.stdin.fileno(), stop, sys.stdout.fileno() if arguments.tee else None)
    first = next(text, b"")
    identity = detect(environ)
    whose = piped(arguments, identity, environ, first)
    header = {"server": access.server, "host": identity.host, "project": whose.project, "run": whose.run}
    name = f"{identity.host}-{identity.pid}-{identity.nonce}"
    spool = open_spool(spool_folders(None, environ), name, header, spool_limit(environ), notices)
    sending = threading.Event()
    courier = IngestClient(access, notices, stop=sending, rng=random.Random(identity.nonce), compression=ZSTD)
    sender = Uploader(spool, courier)
    sender.start_run(header, notices)
    sender.start()
    say(f"run {whose.run} of project {whose.project}; spool {spool.folder}")
    spooler = Spooler(whose, Listener(house), spool, notices)
    pulse = Pulse(access, of(whose, identity), lambda: standing(spooler, spool))
    pulse.start()
    spooler.run(chain([first] if first else [], text), sender.written.set)
    code = finish(spooler, sender, spool, stop, arguments.wait)
    pulse.close()
    return code


def of(piped: Piped, identity: ProcessIdentity) -> Whose:
    """The agent as it calls itself: the same for the next launch of the run on this host."""
    name = name_of(identity.host, f"{piped.project}/{piped.run}")
    return Whose(agent=name, host=identity.host, kind="pipe", project=piped.project, paths=[piped.run])


def standing(spooler: Spooler, spool: Spool) -> Standing:
    """How it is now."""
    return Standing(
        points=spooler.points,
        dropped=spooler.dropped,
        unreadable=spooler.unreadable,
        spool_bytes=spool.waiting(),
        last_error=spooler.last_problem,
    )


def finish(spooler: Spooler, sender: Uploader, spool: Spool, stop: Stop, patience: float) -> int:
    """Wait for what is spooled to be sent; say what was, and what is left where."""
    deadline = time.monotonic() + patience
    while spool.waiting() and time.monotonic() < deadline and not stop.over:
        sender.written.set()
        time.sleep(0.05)
    left = spool.waiting()
    ended = sender.close(LAST_SECONDS)
    say(f"the pipe has ended: {counted(spooler.points, 'point')} in {counted(spooler.bytes, 'byte')} of text")
    if spooler.dropped:
        lost = counted(spooler.dropped, "point")
        say(f"{lost} found no room in the spool and {verb(spooler.dropped, 'is', 'are')} lost")
    if not spooler.points:
        say("nothing was understood; `holter doctor FILE`, on a copy of the text, says why")
    if ended and not spool.folder.exists():
        return 1 if spooler.dropped else 0
    say(f"about {left:,} bytes are not sent: they wait in {spool.folder}. To send them: holter agent --spool")
    return 1


def piped(
    arguments: argparse.Namespace, identity: ProcessIdentity, environ: Mapping[str, str], first: bytes
) -> Piped:
    """Whose text it is: by the flags, the launcher's variables, or what stands before the first line."""
    run = arguments.run or environ.get("HOLTER_RUN") or next(_names(identity, environ, first))
    return Piped(
        project=clean_name(arguments.project, 200) or "default",
        run=clean_name(run, 500) or "pipe",
        writer=f"{identity.writer}-pipe",
        attempt=clean_name(arguments.attempt or environ.get("HOLTER_ATTEMPT"), 200) or None,
        restarts=environ.get("SLURM_RESTART_COUNT", "0") != "0",
    )


def _names(identity: ProcessIdentity, environ: Mapping[str, str], first: bytes) -> Iterator[str]:
    """Names for the run, best first. A requeued job keeps its number, so its launches are one run's."""
    job = environ.get("SLURM_ARRAY_JOB_ID") or environ.get("SLURM_JOB_ID")
    if job:
        task = f"_{environ['SLURM_ARRAY_TASK_ID']}" if "SLURM_ARRAY_TASK_ID" in environ else ""
        yield f"{environ.get('SLURM_JOB_NAME', 'slurm')}-{job}{task}"
    pod = dict(without_prefix(first.partition(b"\n")[0]).labels).get("pod")
    if pod:
        yield pod
    if "KUBERNETES_SERVICE_HOST" in environ:
        yield environ.get("POD_NAME") or environ.get("HOSTNAME") or identity.host
    yield f"{identity.host}-{time.strftime('%Y%m%d-%H%M%S')}"


def say(text: str) -> None:
    """Tell whoever started it; standard output may be the job's."""
    sys.stderr.write(f"Holter: {text}\n")
    sys.stderr.flush()
