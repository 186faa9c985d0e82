"""`... | holter agent -`: reads what a job prints until the pipe ends, and sends it to a server."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from holter.cli.agent.environment import PipeEnvironment
from holter.cli.agent.heartbeat import AgentHealth, AgentIdentity, HeartbeatThread, agent_name
from holter.cli.agent.http_sink import ZSTD
from holter.cli.agent.stdin_reader import StdinReader
from holter.cli.agent.stdin_spool import BatchSpooler, PipedRun, StopSignal, read_chunks
from holter.client.identity import ProcessIdentity, detect
from holter.client.notices import Notices
from holter.client.pipeline import open_spool
from holter.client.run import spool_folders, spool_limit
from holter.client.spool import Spool
from holter.client.uploader import IngestClient, ServerAccess, Uploader
from holter.client.values import clean_name
from holter.custom_format import CustomFormat
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.plurals import counted, verb
from holter.terminal_text import printable

UPLOADER_CLOSE_SECONDS = 5.0  # after the wait for the server is over


def run(
    arguments: argparse.Namespace,
    access: ServerAccess,
    custom_formats: Sequence[CustomFormat],
    environ: Mapping[str, str],
) -> int:
    """Send standard input until it ends. Exit code 1 where something is left on disk."""
    stop, notices = StopSignal(), Notices()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    print_line(f"sending standard input to {access.server}")
    chunks = read_chunks(sys.stdin.fileno(), stop, sys.stdout.fileno() if arguments.tee else None)
    first = next(filter(None, chunks), b"")
    identity = detect(environ)
    piped_run = identify_run(arguments, identity, environ, first)
    header = {
        "server": access.server,
        "host": identity.host,
        "project": piped_run.project,
        "run": piped_run.run,
    }
    name = f"{identity.host}-{identity.pid}-{identity.nonce}"
    spool = open_spool(spool_folders(None, environ), name, header, spool_limit(environ), notices)
    stop_sending, rng = threading.Event(), random.Random(identity.nonce)
    client = IngestClient(access, notices, stop=stop_sending, rng=rng, compression=ZSTD)
    uploader = Uploader(spool, client)
    uploader.start_run(header, notices)
    uploader.start()
    print_line(f"run {piped_run.run} of project {piped_run.project}; spool {spool.folder}")
    environment = PipeEnvironment(environ, identity.host, arguments.process, sys.stdin.fileno())
    environment.start()
    spooler = BatchSpooler(piped_run, StdinReader(custom_formats), spool, notices, environment)
    heartbeat = HeartbeatThread(
        access, identify_agent(piped_run, identity), lambda: measure_health(spooler, spool)
    )
    heartbeat.start()
    spooler.run(chain([first] if first else [], chunks), uploader.written.set)
    code = finish(spooler, uploader, spool, stop, arguments.wait)
    heartbeat.close()
    return code


def identify_agent(run: PipedRun, identity: ProcessIdentity) -> AgentIdentity:
    """The agent's identity: the same for the next launch of the run on this host."""
    name = agent_name(identity.host, f"{run.project}/{run.run}")
    return AgentIdentity(agent=name, host=identity.host, kind="pipe", project=run.project, paths=[run.run])


def measure_health(spooler: BatchSpooler, spool: Spool) -> AgentHealth:
    """The agent's current health."""
    return AgentHealth(
        points=spooler.points,
        dropped=spooler.dropped,
        unreadable=spooler.unreadable,
        spool_bytes=spool.waiting(),
        last_error=spooler.last_problem,
    )


def finish(
    spooler: BatchSpooler, uploader: Uploader, spool: Spool, stop: StopSignal, wait_seconds: float
) -> int:
    """Wait until the spool is sent, for `wait_seconds` at most; print what was sent and what is left."""
    deadline = time.monotonic() + wait_seconds
    while spool.waiting() and time.monotonic() < deadline and not stop.over:
        uploader.written.set()
        time.sleep(0.05)
    left = spool.waiting()
    ended = uploader.close(UPLOADER_CLOSE_SECONDS)
    print_line(
        f"the pipe has ended: {counted(spooler.points, 'point')} in {counted(spooler.bytes, 'byte')} of text"
    )
    if spooler.dropped:
        dropped = counted(spooler.dropped, "point")
        print_line(f"{dropped} did not fit into the spool and {verb(spooler.dropped, 'is', 'are')} lost")
    if not spooler.points:
        print_line("no metrics were recognised; run `holter doctor FILE` on a copy of the text to see why")
    if ended and not spool.folder.exists():
        return 1 if spooler.dropped else 0
    print_line(
        f"about {left:,} bytes are unsent, stored in {spool.folder}. To send them: holter agent --spool"
    )
    return 1


def identify_run(
    arguments: argparse.Namespace, identity: ProcessIdentity, environ: Mapping[str, str], first: bytes
) -> PipedRun:
    """The run of the text, by the flags, the launcher's variables, or the prefix of the first line."""
    name = arguments.run or environ.get("HOLTER_RUN") or next(_candidate_names(identity, environ, first))
    return PipedRun(
        project=clean_name(arguments.project, 200) or "default",
        run=clean_name(name, 500) or "pipe",
        writer=f"{identity.writer}-pipe",
        attempt=clean_name(arguments.attempt or environ.get("HOLTER_ATTEMPT"), 200) or None,
        restarts=environ.get("SLURM_RESTART_COUNT", "0") != "0",
    )


def _candidate_names(identity: ProcessIdentity, environ: Mapping[str, str], first: bytes) -> Iterator[str]:
    """Names for the run, best first. A requeued job keeps its number, so its launches are one run."""
    job = environ.get("SLURM_ARRAY_JOB_ID") or environ.get("SLURM_JOB_ID")
    if job:
        task = f"_{environ['SLURM_ARRAY_TASK_ID']}" if "SLURM_ARRAY_TASK_ID" in environ else ""
        yield f"{environ.get('SLURM_JOB_NAME', 'slurm')}-{job}{task}"
    pod = dict(strip_prefixes(first.partition(b"\n")[0]).labels).get("pod")
    if pod:
        yield pod
    if "KUBERNETES_SERVICE_HOST" in environ:
        yield environ.get("POD_NAME") or environ.get("HOSTNAME") or identity.host
    yield f"{identity.host}-{time.strftime('%Y%m%d-%H%M%S')}"


def print_line(text: str) -> None:
    """Print to standard error, because standard output may be the job's (--tee)."""
    sys.stderr.write(printable(f"Holter: {text}") + "\n")
    sys.stderr.flush()
