"""Which addresses a channel may connect to: those of the public network, unless its settings allow others."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_TRANSLATED = ip_network("64:ff9b::/96")
"""IPv6 addresses whose last four bytes are the IPv4 address that a gateway connects to (RFC 6052)."""
REFUSED = "the address is not a public one; allow_private = true permits it"


class PrivateAddressError(OSError):
    """A host's address is private, loopback, link-local or reserved."""

    def __init__(self) -> None:
        super().__init__(None, REFUSED)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public network, also where an IPv6 address contains an IPv4 one."""
    found = ip_address(address.partition("%")[0])
    addresses = [found, *_embedded(found)]
    return all(each.is_global and not each.is_multicast for each in addresses)


def is_private_literal(host: str) -> bool:
    """Whether a host is written as an IP address that is not public."""
    try:
        return not is_public(host)
    except ValueError:
        return False


def check_url(url: str) -> str:
    """The address of a service. Raises ValueError, without the address, which may hold a secret."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("expected an address such as https://example.com/path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("expected an address without user and password")
    return url


def _embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    teredo = address.teredo[1] if address.teredo else None
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in _TRANSLATED else None
    candidates = (address.ipv4_mapped, address.sixtofour, teredo, translated)
    return [each for each in candidates if each is not None]
