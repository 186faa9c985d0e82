"""Addresses of listeners: whether only this machine reaches them, and the names and URLs for users."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from functools import cache

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS = frozenset({"0.0.0.0", "::"})
"""Listening on one of these means on all addresses of the machine; they cannot be opened in a browser."""
# networks reserved for documentation (RFC 5737, RFC 3849): used to look up a route, nothing is sent
_REMOTE_ADDRESSES = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def reachable(host: str) -> tuple[str, ...]:
    """The names and addresses by which a listener on `host` is reached, those for other machines first.

    The machine's name is first if it resolves to an address of the machine; loopback is last.
    """
    if host not in WILDCARDS:
        return (host,)
    families = (socket.AF_INET, socket.AF_INET6) if host == "::" else (socket.AF_INET,)
    outward = [address for family in families if (address := _outward(family))]
    name = socket.gethostname()
    resolved = _resolve(name)
    others = [
        address for address in resolved if address not in outward and (host == "::" or ":" not in address)
    ]
    names = [name] if resolved & {*outward, *others} else []
    return (*names, *outward, *sorted(others), "127.0.0.1", *(("::1",) if host == "::" else ()))


def url(host: str, port: int) -> str:
    """The address to open in a browser."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _outward(family: socket.AddressFamily) -> str:
    """The source address of packets to other networks; empty without a route."""
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((_REMOTE_ADDRESSES[family], 9))  # a datagram socket: no packet is sent
        address = str(probe.getsockname()[0])
        return address if _is_reachable(address) else ""
    return ""


def _resolve(name: str) -> set[str]:
    with contextlib.suppress(OSError, UnicodeError):
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
        return {address for address in addresses if _is_reachable(address)}
    return set()


def _is_reachable(address: str) -> bool:
    """Whether other machines can open it: no loopback address, and none that is valid on one link only."""
    plain = ipaddress.ip_address(address.partition("%")[0])
    return not (plain.is_loopback or plain.is_link_local or plain.is_unspecified)
