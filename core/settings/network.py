"""At which addresses people reach what listens on this machine."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from functools import cache

EVERYWHERE = frozenset({"0.0.0.0", "::"})
"""Not addresses that anybody can open, but all that the machine has."""
# documentation's own networks (RFC 5737, RFC 3849): nothing is sent there, but a route is looked up
_AWAY = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


@cache
def reachable(host: str) -> tuple[str, ...]:
    """The names and addresses by which a listener on `host` is reached: what others can use first.

    The machine's name stands first if it leads to an address of the machine, loopback last.
    """
    if host not in EVERYWHERE:
        return (host,)
    families = (socket.AF_INET, socket.AF_INET6) if host == "::" else (socket.AF_INET,)
    outward = [address for family in families if (address := _outward(family))]
    name = socket.gethostname()
    named = _addresses_of(name)
    others = [one for one in named if one not in outward and (host == "::" or ":" not in one)]
    names = [name] if named & {*outward, *others} else []
    return (*names, *outward, *sorted(others), "127.0.0.1", *(("::1",) if host == "::" else ()))


def url(host: str, port: int) -> str:
    """The address to open in a browser."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _outward(family: socket.AddressFamily) -> str:
    """The address that packets to elsewhere are from; empty without a way out."""
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((_AWAY[family], 9))  # of a datagram socket: no packet goes
        address = str(probe.getsockname()[0])
        return address if _of_use(address) else ""
    return ""


def _addresses_of(name: str) -> set[str]:
    with contextlib.suppress(OSError, UnicodeError):
        return {str(one[4][0]) for one in socket.getaddrinfo(name, None) if _of_use(str(one[4][0]))}
    return set()


def _of_use(address: str) -> bool:
    """Whether others can open it: not this machine's own, nor one that needs the name of a network card."""
    plain = ipaddress.ip_address(address.partition("%")[0])
    return not (plain.is_loopback or plain.is_link_local or plain.is_unspecified)
