"""Settings of the HTTP server: how much of it a client may occupy, and for how long."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode


class HttpSettings(BaseModel):
    """The table `[http]` of holter.toml (docs/settings.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    max_connections: int = Field(default=2000, ge=16)
    """Connections at once, of all addresses together."""
    max_connections_per_address: int = Field(default=500, ge=8)
    """Connections at once of one address (of one /64 network with IPv6), trusted proxies excepted."""
    max_header_kb: int = Field(default=64, ge=8, le=1024)
    """The URL and the headers of a request, in KiB; the same for trailers."""
    max_body_kb: int = Field(default=1024, ge=64)
    """The body of a request, in KiB, except where a route has a limit of its own."""
    header_seconds: float = Field(default=20, gt=0)
    """Seconds within which the headers of a request must have arrived."""
    body_seconds: float = Field(default=30, gt=0)
    """Seconds in which another 32 KiB of a body, or its end, must arrive."""
    idle_seconds: int = Field(default=75, ge=1)
    """Seconds for which a connection is open between two requests."""
    write_seconds: float = Field(default=30, gt=0)
    """Seconds in which a client must read some of the response that waits for it."""


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _check_network(value: str) -> str:
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(f"expected an address or a network such as 10.0.0.0/8 ({error})") from error
    return value


TrustedProxies = Annotated[
    tuple[Annotated[str, BeforeValidator(_check_network)], ...], NoDecode, BeforeValidator(_split)
]
"""Addresses and networks of proxies; text is split at commas."""
