"""A real server for all tests of a file, a project of it for each test, and trackio's client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holter.server.context import ServerContext
from tests.support.install_trackio import trackio_python
from tests.support.requirements import skip_missing
from tests.support.servers import module_server, quiet_surroundings
from tests.support.trackio_project import TrackioProject

__all__ = ["module_server", "quiet_surroundings"]


@pytest.fixture(scope="session")
def client_python() -> Path:
    """The Python that has trackio's newest client."""
    python = trackio_python()
    if python is None:
        skip_missing("trackio: python -m tests.support.install_trackio")
    return python


@pytest.fixture
def trackio(server: tuple[ServerContext, str], request: pytest.FixtureRequest) -> Iterator[TrackioProject]:
    """A project of the test's own."""
    with httpx.Client(base_url=server[1], headers={"x-trackio-write-token": "any"}, timeout=60) as client:
        yield TrackioProject(server[0], client, request.node.name[:60])
