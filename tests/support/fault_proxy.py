"""A network between clients and a server that fails as asked: refused connections, answers 429 and 503."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.ports import free_port

_PIECE = 65536


class FaultProxy:
    """Passes connections on, until `refuse` or `answer`; `heal` passes them on again."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._status: tuple[int, int] | None = None
        self.refused = 0
        """Requests that were answered with the status."""
        self.port = free_port()  # it is left, and taken again
        self._listener = self._listen(self.port)

    @property
    def address(self) -> str:
        """Where clients reach the server."""
        return f"http://127.0.0.1:{self.port}"

    def refuse(self) -> None:
        """Refuse connections, and cut those there are."""
        self._close_listener()
        self._cut()

    def answer(self, status: int, retry_after: int) -> None:
        """Answer every request with a status and the header Retry-After, in seconds."""
        self._status = (status, retry_after)
        self._cut()

    def heal(self) -> None:
        """Pass connections on."""
        if self._status is not None:
            self._status = None
            self._cut()
        if self._listener.fileno() < 0:
            self._listener = self._listen(self.port)

    def close(self) -> None:
        """Take no more connections."""
        self._close_listener()
        self._cut()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port), backlog=128)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _close_listener(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # it is closed
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, self._registered(client):
            if (status := self._status) is not None:
                self._answer(client, *status)
                return
            with (
                socket.create_connection(("127.0.0.1", self._server_port)) as server,
                self._registered(server),
            ):
                there = threading.Thread(target=self._pass_on, args=(client, server), daemon=True)
                there.start()
                self._pass_on(server, client)
                there.join()

    def _answer(self, client: socket.socket, status: int, retry_after: int) -> None:
        """Read one request completely, since clients may wait until they have sent it; answer; close."""
        received = bytearray()
        while b"\r\n\r\n" not in received:
            if not (piece := client.recv(_PIECE)):
                return
            received += piece
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        fields = [line.partition(b":") for line in head.lower().split(b"\r\n")]
        length = next((int(value) for name, _, value in fields if name == b"content-length"), 0)
        rest = length - len(body)
        while rest > 0 and (piece := client.recv(_PIECE)):
            rest -= len(piece)
        content = b'{"error_code": "TEMPORARILY_UNAVAILABLE", "message": "busy", "errors": []}'
        lines = (
            f"HTTP/1.1 {status} Busy",
            f"Retry-After: {retry_after}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
            "Connection: close",
            "\r\n",
        )
        client.sendall("\r\n".join(lines).encode() + content)
        self.refused += 1

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                target.sendall(piece)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _registered(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)

    def _cut(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def fault_proxy(server_port: int) -> Iterator[FaultProxy]:
    """A network before a server, until the end."""
    proxy = FaultProxy(server_port)
    try:
        yield proxy
    finally:
        proxy.close()
