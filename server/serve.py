"""The HTTP server process: listens on an address until SIGINT or SIGTERM, and shuts down cleanly."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holter.server.app import app_from_context
from holter.server.context import ServerContext
from holter.terminal_text import TerminalFormatter


class BoundedPipelineProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which reads nothing more while pipelined requests wait for earlier ones.

    uvicorn itself continues to read with each response, so that the requests of a client that sends
    without reading responses would take unbounded memory.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Replace the flow control of a new connection."""
        super().connection_made(transport)
        self.flow = _PipelineFlowControl(transport, self.pipeline)


class _PipelineFlowControl(FlowControl):
    def __init__(self, transport: asyncio.Transport, pipeline: Any) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        # a request with others behind it has been read completely: it needs no more data
        if not self._pipeline:
            super().resume_reading()


class AddressUnavailableError(OSError):
    """The server cannot listen on an address."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; port 0 takes a free one; `::` means all IPv4 and IPv6 addresses.

    Raises AddressUnavailableError with the reason.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except OSError as error:
        flag = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        reason = (error.strerror or str(error)).split(" (while attempting")[0]
        raise AddressUnavailableError(
            f"cannot listen on {host} port {port} ({reason}): choose another with {flag}"
        ) from error


class HolterServer(uvicorn.Server):
    """A uvicorn server of a context, started or not. Ends live streams before it waits for responses."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(
            uvicorn.Config(
                app_from_context(context),
                http=BoundedPipelineProtocol,
                log_config=None,
                access_log=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=10,
                server_header=False,
                ws="none",
            )
        )
        self._context = context

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests and wait for those in progress."""
        self._context.live.close()
        await super().shutdown(sockets)


def serve_until_stopped(
    context: ServerContext, listener: socket.socket, *, before: Callable[[], None] = lambda: None
) -> None:
    """Start the context and serve until SIGINT or SIGTERM; calls `before` once everything is started."""
    # uvicorn raises a signal again after its shutdown, which would end the process before its cleanup
    earlier = {number: signal.signal(number, _ignore_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        context.start()
        context.store.publish_address(local_url(listener))
        server = HolterServer(context)
        before()
        tune_interpreter()
        server.run(sockets=[listener])
    finally:
        context.close()
        for number, handler in earlier.items():
            signal.signal(number, handler)


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


def configure_logging(*, verbose: bool = False) -> None:
    """Log warnings and errors to standard error; `verbose`: informational messages, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(TerminalFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    pass
