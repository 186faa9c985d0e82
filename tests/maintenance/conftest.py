"""Fixtures of the tests of maintenance."""

from __future__ import annotations

from tests.support.servers import holter, quiet_surroundings, serve

__all__ = ["holter", "quiet_surroundings", "serve"]
