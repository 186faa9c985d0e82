"""What an attack is aimed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Target:
    """A server under attack: its address, and the folder that it follows (`watch` only)."""

    address: str
    logs: Path

    @property
    def host_and_port(self) -> tuple[str, int]:
        """As sockets want it."""
        parts = urlsplit(self.address)
        return parts.hostname or "127.0.0.1", parts.port or 80


Attack = Callable[[Target], None]
"""Runs in a process of its own until that is ended."""
