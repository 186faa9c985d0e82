"""All open connections of a server: how many one address may have, and which are closed for new ones."""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple, Protocol

from holter.server.client_address import ProxyNetworks, client_group
from holter.server.turns import TurnQueue
from holter.settings import is_loopback
from holter.settings.http import HttpSettings

MAX_DESCRIPTORS = 65_536
"""Files that a server may have open; more would only make limits of the system matter."""
_CHECKS_PER_TIMEOUT = 4
_MAX_CHECK_SECONDS = 1.0


class Use(IntEnum):
    """What a connection that may be closed for another one is used for; lower ones are closed first."""

    SILENT = 0  # no request of it was ever answered
    IDLE = 1  # between two requests
    IN_BODY = 2  # a body is arriving


class Evictable(NamedTuple):
    """That a connection may be closed for another, in the order of preference: by use, then the oldest."""

    use: Use
    since: float


class Connection(Protocol):
    """What the table needs to know of a connection."""

    host: str

    def evictable(self) -> Evictable | None:
        """Whether it may be closed for another connection; None while a request is handled."""

    def has_arrived_input(self) -> bool:
        """Whether the system has received something that was not read so far: a request, perhaps."""

    def abort(self) -> None:
        """Close it at once."""

    def check(self, now: float, limits: HttpSettings) -> None:
        """Close it where the client has exceeded a time-out. `now`: time of the event loop, in seconds."""


class ConnectionTable:
    """The open connections by address. Used in the event loop only.

    At a limit the oldest idle connection is closed for the new one, first of those that never had a request;
    where none is idle, the new one is refused. Connections of loopback are limited as one address, but not
    by those of others, so that checks of this machine reach a server that others occupy; those of trusted
    proxies are limited in total only.
    """

    def __init__(self, limits: HttpSettings, proxies: ProxyNetworks, *, descriptors: int) -> None:
        """`descriptors`: how many files the process may have open; connections get half of them at most."""
        total = min(limits.max_connections, descriptors // 2)
        self.limits = limits.model_copy(
            update={
                "max_connections": total,
                "max_connections_per_address": min(limits.max_connections_per_address, total),
            }
        )
        self._proxies = proxies
        self._groups: dict[str, dict[Connection, None]] = {}
        self.count = 0
        self.turns = TurnQueue()

    def add(self, connection: Connection) -> bool:
        """Whether a new connection may stay; another may be closed for it."""
        group = client_group(connection.host)
        trusted = connection.host in self._proxies
        if not trusted and len(self._groups.get(group, ())) >= self.limits.max_connections_per_address:
            if not self._evict(group):
                return False
        elif self.count >= self.limits.max_connections and (trusted or not is_loopback(group)):
            by_size = sorted(self._groups, key=lambda name: len(self._groups[name]), reverse=True)
            if not any(self._evict(name) for name in by_size):
                return False
        self._groups.setdefault(group, {})[connection] = None
        self.count += 1
        return True

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended, or was refused."""
        group = client_group(connection.host)
        members = self._groups.get(group, {})
        if connection in members:
            del members[connection]
            self.count -= 1
            if not members:
                del self._groups[group]

    def _evict(self, group: str) -> bool:
        """Close the connection of a group that can be spared most easily; whether there was one."""
        candidates = ((connection.evictable(), connection) for connection in self._groups.get(group, ()))
        spare = [(order, connection) for order, connection in candidates if order is not None]
        if not spare:
            return False
        spare.sort(key=lambda pair: pair[0])
        # hundreds of connections may be accepted before requests that arrived earlier are read
        idle = (connection for _, connection in spare if not connection.has_arrived_input())
        victim = next(idle, spare[0][1])
        self.remove(victim)
        victim.abort()
        return True

    async def check_forever(self) -> None:
        """Close connections whose clients exceed a time-out, until cancelled."""
        loop = asyncio.get_running_loop()
        shortest = min(self.limits.header_seconds, self.limits.body_seconds, self.limits.write_seconds)
        while True:
            await asyncio.sleep(min(_MAX_CHECK_SECONDS, shortest / _CHECKS_PER_TIMEOUT))
            now = loop.time()
            for connection in [member for members in self._groups.values() for member in members]:
                connection.check(now, self.limits)


def raise_descriptor_limit() -> int:
    """Raise the number of files that this process may open as far as permitted; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    with suppress(OSError, ValueError):  # some systems permit less than their hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
