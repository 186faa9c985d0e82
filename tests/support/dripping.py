"""A receiver on loopback whose answers come a byte at a time and never end."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

DRIP_SECONDS = 0.05


@dataclass
class DrippingReceiver:
    """Answers each request line or body with the next of `answers` at once, then drips `endless`, if any."""

    answers: tuple[bytes, ...]
    endless: bytes
    port: int = 0
    connections: int = 0
    received: bytes = b""
    stopping: threading.Event = field(default_factory=threading.Event)

    def serve(self, connection: socket.socket) -> None:
        """Talk to one sender until it leaves."""
        self.connections += 1
        try:
            for answer in self.answers:
                connection.sendall(answer)
                self.received += connection.recv(2**20)
            if not self.endless:
                self.stopping.wait()
            while not self.stopping.is_set():
                for byte in self.endless:
                    connection.sendall(bytes([byte]))
                    time.sleep(DRIP_SECONDS)
        except OSError:
            pass  # the sender has ended the connection
        finally:
            connection.close()


@contextmanager
def dripping(
    endless: bytes, answers: tuple[bytes, ...] = (), *, certificate: Path | None = None
) -> Iterator[DrippingReceiver]:
    """A dripping receiver on a free port, with TLS from the start where there is a certificate."""
    receiver = DrippingReceiver(answers, endless)
    listener = socket.create_server(("127.0.0.1", 0))
    receiver.port = listener.getsockname()[1]
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
                if certificate is not None:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(certificate)
                    connection = context.wrap_socket(connection, server_side=True)
            except OSError:
                if receiver.stopping.is_set():
                    return
                continue
            threads.append(threading.Thread(target=receiver.serve, args=(connection,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield receiver
    finally:
        receiver.stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in [accepting, *threads]:
            thread.join()
