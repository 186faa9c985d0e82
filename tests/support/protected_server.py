"""A server with a password, for the tests and pictures of shared pages."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.pages import Server

PASSWORD = "a password of the test"


class ProtectedServer:
    """A server with a password, and requests of somebody who is logged in."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder, HOLTER_PASSWORD=PASSWORD)
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.post("/session", {"password": PASSWORD})

    def post(self, path: str, body: object) -> Any:
        """The response to a POST request."""
        request = urllib.request.Request(
            f"{self.server.address}/api/v1{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with self._opener.open(request, timeout=60) as response:
            return json.load(response)

    def share(self, path: str) -> str:
        """The address of a new link to a page."""
        return str(self.post("/shares", {"path": path})["address"])
