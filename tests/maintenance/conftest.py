"""Fixtures of the tests of maintenance."""

from __future__ import annotations

from tests.api.conftest import holter, quiet_surroundings, serve

__all__ = ["holter", "quiet_surroundings", "serve"]
