"""Stands between a client and a PostgreSQL server: counts how often the client waits, cuts connections."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import URL, make_url

Lost = Literal["question", "answer"]


class Relay:
    """Listens on a socket of its own. `turns`: how many questions there were, each of as many statements."""

    def __init__(self, url: str) -> None:
        self.turns = 0
        self._address = make_url(url)
        self._cut: tuple[int, Lost] | None = None
        self._counting = threading.Lock()
        self._room = tempfile.TemporaryDirectory(prefix="holter-pg-")  # the path of a socket must be short
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self._room.name}/.s.PGSQL.5432")
        self._listener.listen()
        self._sockets = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> URL:
        """The address of the database by way of this."""
        return self._address.update_query_dict({"host": self._room.name})

    def cut(self, number: int, lost: Lost) -> None:
        """Cut the connection at the n-th turn from now: its question does not arrive, or its answer."""
        self._cut = (self.turns + number, lost)

    def is_cut(self) -> bool:
        """Whether that has happened; from now on nothing is cut any more."""
        done, self._cut = self._cut is None, None
        return done

    def close(self) -> None:
        """End all connections, and take no more."""
        for thread in self._threads:  # the first one makes the others
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            thread.join()
        for one in self._sockets:
            one.close()
        self._room.cleanup()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(Path(str(self._address.query["host"])) / ".s.PGSQL.5432"))
                self._sockets += (client, server)
                turn = _Turn()
                for ends in ((client, server, True), (server, client, False)):
                    self._threads.append(threading.Thread(target=self._hand_on, args=(*ends, turn)))
                    self._threads[-1].start()

    def _hand_on(self, source: socket.socket, target: socket.socket, asking: bool, turn: _Turn) -> None:
        with suppress(OSError):
            while data := source.recv(2**20):
                with self._counting:  # both directions of all connections count
                    self.turns += asking and not turn.asking
                    turn.asking = asking
                if self._cut == (self.turns, "question" if asking else "answer"):
                    self._cut = None
                    source.shutdown(socket.SHUT_RDWR)
                    break
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@dataclass
class _Turn:
    """Whose turn it is on one connection: the client's question passes, or the server's answer."""

    asking: bool = False


@contextmanager
def relayed(url: str) -> Iterator[Relay]:
    """A relay to a database, until the end."""
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.close()
