"""Listens on an address until it is told to stop, and stops cleanly.

HTTP as uvicorn speaks it, but for a client that sends request after request and reads no answers.
"""

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


class BoundedPipelineProtocol(HttpToolsProtocol):
    """Reads no further while requests wait for the one before them.

    uvicorn reads on with each answer, many requests at a time: they would be held without bound.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self.flow = _PipelineFlowControl(transport, self.pipeline)


class _PipelineFlowControl(FlowControl):
    def __init__(self, transport: asyncio.Transport, waiting: Any) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        # a request that others wait behind has been read whole: it does not need what is held back
        if not self._waiting:
            super().resume_reading()


class AddressUnavailableError(OSError):
    """The address cannot be listened on."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; port 0 takes a free one; `::` is all addresses of both kinds.

    Raises PortTakenError, saying why.
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
    """The application over parts, started or not. Ends streams of live news before it waits for answers."""

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
        self._parts = context

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop taking requests and wait for those in progress."""
        self._parts.live.close()
        await super().shutdown(sockets)


def serve_until_stopped(context: ServerContext, listener: socket.socket, *, before: Callable[[], None] = lambda: None) -> None:
    """Start the parts and serve until SIGINT or SIGTERM; `before` is called once all is started."""
    # uvicorn repeats a signal after its own clean end, which would end us before we say goodbye
    earlier = {which: signal.signal(which, _already_heard) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        context.start()
        context.store.publish_address(local_url(listener))
        server = HolterServer(context)
        before()
        tune_interpreter()
        server.run(sockets=[listener])
    finally:
        context.close()
        for which, handler in earlier.items():
            signal.signal(which, handler)


def local_url(listener: socket.socket) -> str:
    """The address at which processes of this machine reach what listens here."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def tune_interpreter() -> None:
    """Keep what works for long from holding up what only writes or answers."""
    # what is there now stays: to look through it for garbage would stop everything for 0.1 s at a time
    gc.collect()
    gc.freeze()
    # a thread that comes back from the disk or a socket waits this long for one that computes
    sys.setswitchinterval(0.0005)


def configure_logging(*, verbose: bool = False) -> None:
    """Warnings and errors to standard error, one line each; `verbose`: what happens, too."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


def _already_heard(_number: int, _frame: FrameType | None) -> None:
    pass
