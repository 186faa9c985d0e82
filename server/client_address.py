"""Addresses of clients: which of them count as one client, and which belong to trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
IPV6_PREFIX = 64
"""Bits of an IPv6 address that one client has in common: it is free to choose the others."""


@lru_cache(maxsize=4096)
def client_group(host: str) -> str:
    """The address, or for IPv6 the /64 network, whose clients are limited together; other text as it is."""
    address = _parse(host)
    if address is None:
        return host[:100]
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))


class ProxyNetworks:
    """The addresses and networks of the proxies that are trusted."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(network) for network in networks)

    def __contains__(self, host: str) -> bool:
        address = _parse(host)
        return address is not None and any(address in network for network in self._networks)


def _parse(host: str) -> Address | None:
    """The address; IPv4 where an IPv6 socket has written it as ::ffff:10.0.0.1."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
