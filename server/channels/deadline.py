"""A deadline for a whole send: a receiver that answers a byte at a time cannot prolong it.

Time-outs of sockets begin again with every byte. Here a timer shuts the connections of a send down, which
ends whatever waits for them. Resolving a host's name is bounded by the system's resolver only.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from holter.server.channels.addresses import PrivateAddressError, is_public

_active: dict[threading.Thread, SendDeadline] = {}
_lock = threading.Lock()


class SendDeadline:
    """The connections of one send, which end after `seconds`. A context manager in the sending thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends_at = time.monotonic() + seconds
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._end, (f"not finished within {seconds:g} s",))
        self._timer.daemon = True
        self.reason = ""

    @property
    def over(self) -> bool:
        """Whether the connections were ended before the send was; `reason` states why."""
        return bool(self.reason)

    def __enter__(self) -> Self:
        with _lock:
            _active[threading.current_thread()] = self
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _lock:
            _active.pop(threading.current_thread(), None)
        self._timer.cancel()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def connect(self, host: str, port: int, *, timeout: float, public_only: bool = False) -> socket.socket:
        """A connection whose single reads and writes take `timeout` seconds at most. Raises OSError.

        `public_only`: addresses that are not public are refused, whatever the host's name resolves to.
        """
        failure: OSError = OSError(f"{host} has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
            if public_only and not is_public(str(address[0])):
                failure = PrivateAddressError()
                continue
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(min(timeout, max(self._ends_at - time.monotonic(), 0.001)))
                self._watch(connection)
                connection.connect(address)
                connection.settimeout(timeout)
                return connection
            except OSError as error:
                connection.close()
                failure = error
            if self.over:
                break
        raise failure

    def _watch(self, connection: socket.socket) -> None:
        with self._lock:
            if self.over:
                raise TimeoutError(self.reason)
            # TLS takes the connection's descriptor over: a duplicate can still shut it down
            self._connections.append(connection.dup())

    def _end(self, reason: str) -> None:
        with self._lock:
            self.reason = self.reason or reason
            for connection in self._connections:
                with suppress(OSError):  # the receiver has closed it already
                    connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """End the send now."""
        self._end("interrupted because the server stops")


def interrupt_send(thread: threading.Thread) -> None:
    """End the send in progress in a thread, if there is one."""
    with _lock:
        deadline = _active.get(thread)
    if deadline is not None:
        deadline.stop()
