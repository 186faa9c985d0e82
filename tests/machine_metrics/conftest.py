"""A real server for all tests of a file, with an active run for each."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

from holter.server.context import ServerContext
from tests.support.servers import module_server, quiet_surroundings

__all__ = ["module_server", "quiet_surroundings"]


@pytest.fixture
def run(server: tuple[ServerContext, str], request: pytest.FixtureRequest) -> str:
    """The name of a run that trains now, and of its project: active runs are cached by project."""
    now, name = time.time(), request.node.name[:60]
    columns = {"step": [1, 2], "time": [now - 1, now], "loss": [2.0, 1.9]}
    body = {"project": name, "run": name, "columns": columns}
    httpx.post(f"{server[1]}/api/v1/ingest", json=body, timeout=60).raise_for_status()
    return str(name)


@pytest.fixture
def stored(server: tuple[ServerContext, str], run: str) -> Callable[[], dict[str, list[float]]]:
    """Reads the series of the run that have wall times, by name, in order of time."""

    def read() -> dict[str, list[float]]:
        context, address = server
        runs = httpx.get(f"{address}/api/v1/runs", timeout=60).json()["runs"]
        public_id = next(each["id"] for each in runs if each["name"] == run)
        series = context.store.read(context.runs.run_id(public_id))
        return {
            str(key).replace(",steps=milliseconds", ""): found.value.tolist()
            for key, found in series.items()
            if key.step_unit is not None
        }

    return read
