"""A network that cuts lines: in the middle of requests, and of answers to what has been stored by then."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST = 200  # bytes of an answer after which a line is cut, at the latest


class CuttingProxy:
    """Passes on what clients and a server say; with a `chance`, a line ends somewhere in an answer."""

    def __init__(self, port: int, chance: float) -> None:
        self._server, self._chance, self._random = port, chance, random.Random(4)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._server)) as server:
            there = threading.Thread(
                target=self._pass_on, args=(client, server, self._chance / 4), daemon=True
            )
            there.start()
            self._pass_on(server, client, self._chance)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            there.join()

    def _pass_on(self, source: socket.socket, target: socket.socket, chance: float) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                if self._random.random() < chance:
                    target.sendall(piece[: self._random.randrange(min(_MOST, len(piece)))])
                    self.cuts += 1
                    break
                target.sendall(piece)
            for end in (source, target):
                end.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        """Cut no more."""
        self._chance = 0.0

    def close(self) -> None:
        """Take no more lines."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@contextmanager
def cutting_proxy(port: int, chance: float) -> Iterator[CuttingProxy]:
    """A network before a server, until the end."""
    proxy = CuttingProxy(port, chance)
    try:
        yield proxy
    finally:
        proxy.close()
