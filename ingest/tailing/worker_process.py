"""The process that follows files: a Follower whose sink and supervisor are in the process that started it.

It may be killed at any moment: only the other process stores anything.
"""

from __future__ import annotations

import logging
import mmap
import os
import threading
from dataclasses import asdict
from multiprocessing.connection import Connection

from holter.ingest import formats
from holter.ingest.child_process import end_with_parent, write_no_core
from holter.ingest.file_tasks import set_observer
from holter.ingest.memory_limit import limit_memory
from holter.ingest.tailing.follower import Follower
from holter.ingest.tailing.messages import Reply, decode_reply
from holter.ingest.tailing.remote_sink import RemoteSink
from holter.ingest.tailing.task_table import TaskTable
from holter.ingest.tailing.worker_options import STOP, WorkerOptions
from holter.terminal_text import TerminalFormatter

_STACK_BYTES = 8 * 2**20
"""Memory of a thread's stack; only its used part is real."""
_SPARE_THREADS = 8


def main(connection_descriptor: int, table_descriptor: int) -> None:
    """Follow until the connection ends."""
    end_with_parent()
    write_no_core()
    connection = Connection(connection_descriptor)
    try:
        options: WorkerOptions = decode_reply(connection.recv_bytes()).value
    except (OSError, EOFError):
        return
    if options.log_level is not None:
        handler = logging.StreamHandler()
        handler.setFormatter(TerminalFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=options.log_level, handlers=[handler])
    table = TaskTable(mmap.mmap(table_descriptor, 0))
    set_observer(table)
    follow(connection, options, table)


def follow(connection: Connection, options: WorkerOptions, table: TaskTable) -> None:
    """Follow with these options; ends the process."""
    stop, ready = threading.Event(), threading.Event()

    def answer(request: Reply) -> None:
        if request.value == STOP:
            stop.set()
        elif ready.is_set():
            sink.tell("lag", asdict(follower.lag()))

    sink = RemoteSink(connection, waits=table.wait, on_request=answer)
    try:
        follower = Follower(
            options.roots,
            sink,
            project=options.project,
            poll=options.poll,
            host=options.host,
            known=formats(options.custom_formats),
            at_once=options.at_once,
            stop=stop,
            failures=options.failures,
            expect_cursors=sink.expect_cursors,
        )
    except Exception as error:  # a package announces a format that is none: no other process can do better
        sink.tell("failed", f"{type(error).__name__}: {error}")
        raise
    limit_memory(options.memory + (options.at_once + _SPARE_THREADS) * _STACK_BYTES)
    ready.set()
    follower.catch_up()
    sink.tell("caught_up", follower.summary())
    follower.run()
    os._exit(0)  # no other thread is waited for
