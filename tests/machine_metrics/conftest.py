"""A real server for all tests of a file, with an active run for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx
import numpy as np
import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from holter.types import SeriesKey
from tests.support.servers import quiet_surroundings, served

__all__ = ["quiet_surroundings"]

StoredSeries = dict[SeriesKey, np.ndarray]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerContext, str]]:
    """The context of a running server, and its address."""
    folder = tmp_path_factory.mktemp("server")
    with served(Settings(database_url=f"sqlite:///{folder / 'holter.db'}")) as running:
        yield running


@pytest.fixture
def run(server: tuple[ServerContext, str], request: pytest.FixtureRequest) -> str:
    """The name of a run of the project "llm" that trains now."""
    now = time.time()
    columns = {"step": [1, 2], "time": [now - 1, now], "loss": [2.0, 1.9]}
    body = {"project": "llm", "run": request.node.name[:60], "columns": columns}
    httpx.post(f"{server[1]}/api/v1/ingest", json=body).raise_for_status()
    return str(body["run"])


@pytest.fixture
def stored(server: tuple[ServerContext, str], run: str) -> Callable[[], dict[str, list[float]]]:
    """Reads the series of the run that have wall times, by name, in order of time."""

    def read() -> dict[str, list[float]]:
        context, address = server
        runs = httpx.get(f"{address}/api/v1/runs").json()["runs"]
        public_id = next(each["id"] for each in runs if each["name"] == run)
        series = context.store.read(context.runs.run_id(public_id))
        return {
            str(key).replace(",steps=milliseconds", ""): found.value.tolist()
            for key, found in series.items()
            if key.step_unit is not None
        }

    return read
