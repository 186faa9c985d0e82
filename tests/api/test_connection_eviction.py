"""Which connection is closed for a new one where an address has as many as it may have."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from holter.server.client_address import ProxyNetworks
from holter.server.connections import ConnectionTable, Evictable, Use
from holter.settings.http import HttpSettings

LIMIT = 8


@dataclass(eq=False)
class FakeConnection:
    """A connection that is in a state for ever."""

    order: Evictable | None
    arrived: bool = False
    host: str = "10.0.0.1"
    closed: bool = False

    def evictable(self) -> Evictable | None:
        return self.order

    def has_arrived_input(self) -> bool:
        return self.arrived

    def abort(self) -> None:
        self.closed = True

    def check(self, now: float, limits: HttpSettings) -> None:
        """Exceeds no time-out."""


def closed_for_another(connections: list[FakeConnection]) -> list[int]:
    """The indices of those that are closed for one more connection; the others of the address are in use."""
    limits = HttpSettings(max_connections_per_address=LIMIT)
    table = ConnectionTable(limits, ProxyNetworks(()), descriptors=1000)
    busy = [FakeConnection(None) for _ in range(LIMIT - len(connections))]
    for each in [*connections, *busy]:
        assert table.add(each)
    table.add(FakeConnection(None))
    assert not any(each.closed for each in busy)
    return [index for index, each in enumerate(connections) if each.closed]


def of(use: Use, since: float, *, arrived: bool = False) -> FakeConnection:
    return FakeConnection(Evictable(use, since), arrived)


@pytest.mark.parametrize(
    ("connections", "closed"),
    [
        ([of(Use.IDLE, 2), of(Use.IDLE, 1), of(Use.IDLE, 3)], [1]),
        ([of(Use.IDLE, 1), of(Use.SILENT, 9), of(Use.IN_BODY, 0)], [1]),
        ([of(Use.IN_BODY, 0), of(Use.IDLE, 9)], [1]),
        ([of(Use.IDLE, 1, arrived=True), of(Use.IDLE, 2)], [1]),
        ([of(Use.IDLE, 2, arrived=True), of(Use.IDLE, 1, arrived=True)], [1]),
        ([], []),
    ],
    ids=["the oldest", "silent ones first", "bodies last", "a request has arrived", "all have input", "none"],
)
def test_the_connection_that_is_needed_least_is_closed(
    connections: list[FakeConnection], closed: list[int]
) -> None:
    assert closed_for_another(connections) == closed
