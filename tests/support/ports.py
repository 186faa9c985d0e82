"""Ports that a process is told before it listens, or that it leaves and takes again."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_TRIED = 1_000
"""More ports in use than that, one after the other, are a mistake."""


def free_port() -> int:
    """A port of this machine on which nobody listens, which the kernel gives to nobody.

    A port that the kernel chose itself (0) may, once it is free again, be the next process's.
    """
    for _ in range(_TRIED):
        port = next(_NEXT)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"{_TRIED} ports are in use, up to {port}")


def outside(chosen_by_kernel: range) -> range:
    """The more ports of those below and those above a range, without the well-known ones."""
    below, above = range(10_000, chosen_by_kernel.start), range(chosen_by_kernel.stop, 2**16)
    found = max(below, above, key=len)
    return found or range(10_000, 2**16)  # nothing better, where the kernel chooses from all


def _chosen_by_kernel() -> range:
    try:
        first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except OSError:
        return range(49_152, 2**16)  # macOS, and what IANA recommends
    return range(first, last + 1)


def _ports() -> Iterator[int]:
    """One port after the other, each process from a place of its own."""
    ports = outside(_chosen_by_kernel())
    place = 97 * os.getpid()
    while True:
        yield ports[place % len(ports)]
        place += 1


_NEXT = _ports()
