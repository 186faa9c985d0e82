"""A real server on a free port, and what a wandb client sends to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from tests.support.servers import quiet_surroundings, serve, served
from tests.support.wandb_protocol import ProtocolClient

__all__ = ["quiet_surroundings", "serve"]


@pytest.fixture
def server(sqlite_url: str) -> Iterator[tuple[ServerContext, str]]:
    with served(Settings(database_url=sqlite_url)) as running:
        yield running


@pytest.fixture
def context(server: tuple[ServerContext, str]) -> ServerContext:
    return server[0]


@pytest.fixture
def wandb(server: tuple[ServerContext, str]) -> ProtocolClient:
    return ProtocolClient(server[1])
