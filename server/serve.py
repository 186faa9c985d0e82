"""The HTTP server process: listens on an address until SIGINT or SIGTERM, and shuts down cleanly."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn

from holter.server.app import app_from_context, prepare_routes
from holter.server.client_address import ProxyNetworks
from holter.server.connections import ConnectionTable, raise_descriptor_limit
from holter.server.context import ServerContext
from holter.server.http_protocol import BoundedHttpProtocol
from holter.terminal_text import TerminalFormatter

UNSENT_BYTES = 128 * 1024
"""Bytes of a response that the system accepts for a connection before they can be sent."""


class AddressUnavailableError(OSError):
    """The server cannot listen on an address."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; port 0 takes a free one; `::` means all IPv4 and IPv6 addresses.

    Raises AddressUnavailableError with the reason.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except OSError as error:
        flag = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        reason = (error.strerror or str(error)).split(" (while attempting")[0]
        raise AddressUnavailableError(
            f"cannot listen on {host} port {port} ({reason}): choose another with {flag}"
        ) from error
    # connections inherit it: of a response that nobody reads, the system keeps 128 KiB instead of megabytes
    with suppress(OSError, AttributeError):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    return listener


GRACE_SECONDS = 0.4
"""Seconds that requests in progress have to end when the server stops; clients send again what was cut."""
_CANCEL_SECONDS = 0.1
"""Seconds in which cancelled requests must end; those that compute in a thread do not."""


class HolterServer(uvicorn.Server):
    """A uvicorn server of a context, started or not. Ends live streams before it waits for responses."""

    def __init__(self, context: ServerContext) -> None:
        settings = context.settings
        app = app_from_context(context)
        prepare_routes(app)  # before background work begins, which would slow it down
        self._connections = ConnectionTable(
            settings.http, ProxyNetworks(settings.trusted_proxies), descriptors=raise_descriptor_limit()
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(BoundedHttpProtocol, table=self._connections),  # type: ignore[arg-type]
                log_config=None,
                access_log=False,
                timeout_keep_alive=settings.http.idle_seconds,
                timeout_graceful_shutdown=GRACE_SECONDS,  # type: ignore[arg-type]  # a float works, too
                server_header=False,
                ws="none",
                # without the setting uvicorn would believe what any process of this machine states
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
            )
        )
        self._context = context
        self._checks: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and close those whose clients exceed a time-out."""
        await super().startup(sockets)
        self._checks = asyncio.create_task(self._connections.check_forever())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests and wait for those in progress, for `GRACE_SECONDS` at most."""
        self._context.begin_to_stop()
        await super().shutdown(sockets)
        if self._checks is not None:
            self._checks.cancel()


def serve_until_stopped(
    context: ServerContext, listener: socket.socket, *, before: Callable[[], None] = lambda: None
) -> None:
    """Start the context and serve until SIGINT or SIGTERM; calls `before` once everything is started.

    On return everything that was acknowledged is stored, and the store is closed. Threads of requests that
    were cut may still compute answers that nobody gets: `end_process` does not wait for them.
    """
    server = HolterServer(context)
    # uvicorn raises a signal again after its shutdown, which would end the process before its cleanup; one
    # that arrives before uvicorn listens to signals must end the server, too
    earlier = {
        number: signal.signal(number, partial(_exit_on_signal, server))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        context.start()
        context.store.publish_address(local_url(listener))
        before()
        tune_interpreter()
        _run(server, listener)
    finally:
        context.close()
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _run(server: HolterServer, listener: socket.socket) -> None:
    """Like `server.run`, which would wait for the threads of cancelled requests, however long they take."""
    loop = (server.config.get_loop_factory() or asyncio.new_event_loop)()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(server.serve(sockets=[listener]))
    finally:
        unfinished = asyncio.all_tasks(loop)
        for task in unfinished:
            task.cancel()
        if unfinished:
            _, unfinished = loop.run_until_complete(asyncio.wait(unfinished, timeout=_CANCEL_SECONDS))
        asyncio.set_event_loop(None)
        if not unfinished:  # a closed loop would destroy tasks that are pending, with a message for each
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def end_process(code: int) -> None:
    """End this process with its exit code where threads still run; else return.

    Threads cannot be interrupted, and the interpreter would wait for them. To be called when everything that
    was acknowledged is stored: what such a thread does to the database from then on was promised to nobody.
    """
    deadline = time.monotonic() + _CANCEL_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
    if threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def local_url(listener: socket.socket) -> str:
    """The URL at which processes on this machine reach a listening socket."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def tune_interpreter() -> None:
    """Keep threads that compute from delaying those that write or respond."""
    # the objects that exist now stay: collecting garbage among them would stop all threads for 0.1 s
    gc.collect()
    gc.freeze()
    # a thread that returns from I/O waits this long for one that computes
    sys.setswitchinterval(0.0005)


class _CutRequestFilter(logging.Filter):
    """Drops the tracebacks of requests that were cancelled because the server stops: nothing is wrong."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, asyncio.CancelledError)


def configure_logging(*, verbose: bool = False) -> None:
    """Log warnings and errors to standard error; `verbose`: informational messages, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(TerminalFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(_CutRequestFilter())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


def _exit_on_signal(server: HolterServer, _number: int, _frame: FrameType | None) -> None:
    server.should_exit = True
