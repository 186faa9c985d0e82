"""Sends one message by Apprise: reads a request as JSON from its input, writes the result to its output."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from holter.server.channels.addresses import PrivateAddressError, is_public


class AddressGuard:
    """An audit hook that refuses connections of this process to addresses that are not public.

    A proxy of the environment is reached wherever it is. `refused`: it has refused one.
    """

    def __init__(self) -> None:
        self.refused = False
        self._proxies = _proxy_addresses()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter for each auditing event. Raises PrivateAddressError."""
        if event in {"socket.connect", "socket.sendto"} and not self._is_allowed(arguments[1]):
            self.refused = True
            raise PrivateAddressError

    def _is_allowed(self, address: Any) -> bool:
        host = str(address[0]) if isinstance(address, tuple) else ""
        try:
            return host in self._proxies or is_public(host)
        except ValueError:  # a name that is not resolved yet, or a socket of this machine
            return False


class _StatusListener(logging.Handler):
    """Remembers the HTTP status that Apprise logs, and nothing else: its texts may name secrets."""

    status = ""

    def emit(self, record: logging.LogRecord) -> None:
        found = re.search(r"\berror\s*=\s*([0-9]{3})\b", record.getMessage())
        self.status = found[1] if found else self.status


def main() -> None:
    """Send what the input describes."""
    request = json.load(sys.stdin)
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as output:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        json.dump(_send(request), output)


def _send(request: dict[str, Any]) -> dict[str, str]:
    import apprise  # noqa: PLC0415 - optional, and slow to import

    guard = None if request["allow_private"] else AddressGuard()
    if guard is not None:
        sys.addaudithook(guard)
    listener = _StatusListener()
    logging.getLogger("apprise").addHandler(listener)
    asset = apprise.AppriseAsset(
        app_id="Holter", http_redirects=False, secure_logging=True, async_mode=False, storage_mode="memory"
    )
    service = apprise.Apprise(asset=asset)
    if not service.add(request["url"]):
        return {"result": "unknown", "status": ""}
    for each in service:
        each.redirects = False  # whatever the URL asks for: a secret is not sent to wherever a reply points
    with tempfile.TemporaryDirectory() as folder:
        delivered = service.notify(
            title=request["title"],
            body=request["body"],
            notify_type=request["type"],
            body_format=apprise.NotifyFormat.TEXT,
            attach=_write_picture(request["picture"], folder),
        )
    result = "delivered" if delivered else "refused" if guard is not None and guard.refused else "failed"
    return {"result": result, "status": listener.status}


def _write_picture(picture: str | None, folder: str) -> str | None:
    if picture is None:
        return None
    path = Path(folder) / "curve.png"
    path.write_bytes(base64.b64decode(picture))
    return str(path)


def _proxy_addresses() -> frozenset[str]:
    addresses: set[str] = set()
    for proxy in getproxies().values():
        host = urlsplit(proxy if "://" in proxy else f"//{proxy}").hostname
        with suppress(OSError):
            addresses |= {str(found[4][0]) for found in socket.getaddrinfo(host, None)} if host else set()
    return frozenset(addresses)


if __name__ == "__main__":
    main()
