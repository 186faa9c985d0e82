"""A real server, and trainings that log to it with MLflow's own client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from tests.support.mlflow_trainings import train
from tests.support.servers import quiet_surroundings, serve, served

__all__ = ["quiet_surroundings", "serve", "train"]


@pytest.fixture
def server(sqlite_url: str) -> Iterator[tuple[ServerContext, str]]:
    """The context of a running server, and its address."""
    with served(Settings(database_url=sqlite_url)) as running:
        yield running
